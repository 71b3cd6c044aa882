"""Tables of the peers' results, from their records alone.

python benchmarks/peers/tables.py benchmarks/results/peers   # Markdown, all datasets
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from catalogue import PEERS

from piran.experiments.table_data import Row, Score, Table, seeds_note, with_best_marked
from piran.experiments.table_formats import markdown

Record = Mapping[str, Any]
Sections = Mapping[str, Mapping[str, float]]
"""Metrics by policy, and those without a cut-off under "ranking"."""

POLICIES = {"default": "default", "global": "one", "groups": "two", "per-label": "per label"}
"""Policies in the order of columns, and what a column calls them."""
F1 = {"micro_f1": "micro", "macro_f1": "macro", "tail_f1": "tail"}
NOTES = (
    "Cut-offs: default is the peer's own; one for all labels, two (tail and others) and per label "
    "(where 10 validation documents have it) are chosen on the validation documents.",
    "Seconds: CPU time of learning from all training documents, once vectors are there.",
)


def dataset_tables(folder: Path) -> str:
    """Return the tables of one dataset as Markdown; nothing if it has no records."""
    records = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    return "\n".join(markdown(table) for table in tables(records))


def tables(records: Sequence[Record]) -> list[Table]:
    """Return a table of a dataset's records, and one for each subset of its test documents."""
    if not records:
        return []
    dataset = records[0]["dataset"]
    found = [_table(f"Peers on {dataset}", records, [record["metrics"] for record in records])]
    for subset in records[0]["subsets"]:
        sections = [record["subsets"][subset] for record in records]
        found.append(_table(f"Peers on {dataset}: {subset}", records, sections))
    return found


def _table(title: str, records: Sequence[Record], sections: Sequence[Sections]) -> Table:
    columns = ("peer", "P@1", "P@5", *_f1_columns(), "seconds")
    by_peer: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        by_peer.setdefault(record["peer"], []).append(place)
    marked = with_best_marked(
        [_scores([sections[place] for place in by_peer[peer]]) for peer in _in_order(by_peer)]
    )
    rows = tuple(
        (
            records[by_peer[peer][0]]["title"],
            *scores,
            Score(
                mean(records[place]["refit"]["cpu_seconds"] for place in by_peer[peer]), digits=0
            ),
        )
        for peer, scores in zip(_in_order(by_peer), marked, strict=True)
    )
    return Table("peers", title, columns, rows, (*seeds_note(marked), *NOTES))


def _f1_columns() -> list[str]:
    return [f"{f1} {policy}" for policy in POLICIES.values() for f1 in F1.values()]


def _in_order(peers: Iterable[str]) -> list[str]:
    """Return peers in the order of the catalogue, unknown ones at the end."""
    known = [entry.name for entry in PEERS]
    return sorted(peers, key=lambda peer: known.index(peer) if peer in known else len(known))


def _scores(seeds: Sequence[Sections]) -> Row:
    wanted = [("ranking", "P@1"), ("ranking", "P@5")]
    wanted += [(policy, f1) for policy in POLICIES for f1 in F1]
    return tuple(_mean([seed[section][name] for seed in seeds]) for section, name in wanted)


def _mean(values: Sequence[float]) -> Score:
    spread = stdev(values) if len(values) > 1 else None
    return Score(mean(values), spread, len(values))


def main() -> None:
    """Print the tables of all datasets below a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="records, one folder for each dataset")
    found = [dataset_tables(folder) for folder in sorted(parser.parse_args().folder.iterdir())]
    print("\n".join(text for text in found if text))


if __name__ == "__main__":
    main()
