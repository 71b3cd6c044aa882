"""Tables of the peers' results, from records alone, with piran's own methods beside them.

python benchmarks/peers/tables.py benchmarks/results/peers --beside results/encoders
python benchmarks/peers/tables.py benchmarks/results/peers --beside results/flagship --overview
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from catalogue import PEERS

from piran.experiments.names import display_name
from piran.experiments.results import Mean, SystemRuns, read_results
from piran.experiments.table_data import Entry, Row, Score, Table, seeds_note, with_best_marked
from piran.experiments.table_formats import markdown

Record = Mapping[str, Any]
Sections = Mapping[str, Mapping[str, float]]
"""Metrics by policy, and those without a cut-off under "ranking"."""

POLICIES = {"default": "default", "global": "one", "groups": "two", "per-label": "per label"}
"""Policies in the order of columns, and what a column calls them."""
F1 = {"micro_f1": "micro", "macro_f1": "macro", "tail_f1": "tail"}
RANKING = ("P@1", "P@5")
OUR_METRICS = {"default": "{}_at_0.5", "groups": "{}"}
"""What a run record calls an F1 under the policies that it tells of."""
OURS = "piran: "
"""What the names of its own methods begin with."""
COLUMNS = (
    "peer",
    *RANKING,
    *(f"{f1} {policy}" for policy in POLICIES.values() for f1 in F1.values()),
    "seconds",
)
NOTES = (
    "Cut-offs: default is the peer's own; one for all labels, two (tail and others) and per label "
    "(where at least 10 validation documents have it) are chosen on validation documents.",
    "Seconds: CPU time of learning from all training documents, once vectors are there.",
)
OUR_NOTE = (
    "Rows that begin with piran are its own methods: default is 0.5, two is the policy that the "
    "method saves."
)
OVERVIEW = {
    "P@1": ("P@1",),
    "micro": tuple(f"micro {policy}" for policy in POLICIES.values()),
    "tail": tuple(f"tail {policy}" for policy in POLICIES.values()),
}
"""Columns of the table of all datasets side by side, and what a peer may choose from for each."""
OVERVIEW_TITLE = "P@1, micro-F1 and mean F1 of tail labels, by dataset"
OVERVIEW_NOTES = (
    "Rows that begin with piran are its own methods, at the cut-offs that they save. Of the others each "
    "number is the best that any cut-offs gave on the test documents, their own or tuned ones, which "
    "flatters them.",
    "Means over seeds where there are several; the best in bold.",
)


def dataset_tables(folder: Path, ours: Sequence[SystemRuns] = ()) -> str:
    """Return the tables of one dataset as Markdown; nothing if it has no records."""
    return "\n".join(markdown(table) for table in tables(read_records(folder), ours))


def read_records(folder: Path) -> list[Record]:
    """Return the peers' records of one dataset."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]


def tables(records: Sequence[Record], ours: Sequence[SystemRuns] = ()) -> list[Table]:
    """Return a table of a dataset's records, and one for each subset of its test documents.

    ``ours`` are piran's methods on the same dataset; those on other documents are left out.
    """
    if not records:
        return []
    dataset, checksum = records[0]["dataset"], records[0]["checksum"]
    same = [runs for runs in ours if runs.records[0].dataset.checksum == checksum]
    titles = {None: f"Peers on {dataset}"}
    titles |= {subset: f"Peers on {dataset}: {subset}" for subset in records[0]["subsets"]}
    return [_table(title, records, subset, same) for subset, title in titles.items()]


def _table(
    title: str, records: Sequence[Record], subset: str | None, ours: Sequence[SystemRuns]
) -> Table:
    by_peer: dict[str, list[Record]] = {}
    for record in records:
        by_peer.setdefault(record["peer"], []).append(record)
    peers = [by_peer[peer] for peer in _in_order(by_peer)]
    scores = [_peer_scores(seeds, subset) for seeds in peers]
    scores += [_our_scores(runs, subset) for runs in ours]
    names = [seeds[0]["title"] for seeds in peers]
    names += [f"{OURS}{display_name(runs.cell)}" for runs in ours]
    seconds: list[Entry] = [
        Score(Mean.of([record["refit"]["cpu_seconds"] for record in seeds]).value, digits=0)
        for seeds in peers
    ]
    seconds += [None] * len(ours)  # their times hold other work too
    marked = with_best_marked(scores)
    rows = tuple(
        (name, *row, taken) for name, row, taken in zip(names, marked, seconds, strict=True)
    )
    notes = (*seeds_note(marked), *NOTES, *((OUR_NOTE,) if ours else ()))
    return Table("peers", title, COLUMNS, rows, notes)


def overview(by_dataset: Mapping[str, Table]) -> Table:
    """Return few columns of the tables of several datasets side by side, a row for each tool."""
    found = {
        dataset: {str(row[0]): _short(row) for row in table.rows}
        for dataset, table in by_dataset.items()
    }
    # In the order of the dataset that has most of them
    most_first = sorted(found.values(), key=len, reverse=True)
    names = list(dict.fromkeys(name for rows in most_first for name in rows))
    titles = [entry.title for entry in PEERS]
    names.sort(key=lambda name: titles.index(name) if name in titles else len(titles))
    nothing: Row = (None,) * len(OVERVIEW)
    rows = [
        (name, *(entry for rows in found.values() for entry in rows.get(name, nothing)))
        for name in names
    ]
    columns = ("", *(f"{dataset} {column}" for dataset in found for column in OVERVIEW))
    return Table("overview", OVERVIEW_TITLE, columns, with_best_marked(rows), OVERVIEW_NOTES)


def _short(row: Row) -> Row:
    """Return a tool's part of the overview, without spreads."""
    entries = dict(zip(COLUMNS, row, strict=True))
    is_ours = str(row[0]).startswith(OURS)
    short: list[Entry] = []
    for column, policies in OVERVIEW.items():
        saved = f"{column} {POLICIES['groups']}"
        choice = [entries[name] for name in ([saved] if is_ours and saved in entries else policies)]
        scores = [entry for entry in choice if isinstance(entry, Score)]
        best = max(scores, key=lambda score: score.value, default=None)
        short.append(None if best is None else Score(best.value, digits=1))
    return tuple(short)


def _in_order(peers: Iterable[str]) -> list[str]:
    """Return peers in the order of the catalogue, unknown ones at the end."""
    known = [entry.name for entry in PEERS]
    return sorted(peers, key=lambda peer: known.index(peer) if peer in known else len(known))


def _peer_scores(seeds: Sequence[Record], subset: str | None) -> Row:
    """Return the numbers of one peer, the mean over its records."""
    sections: list[Sections] = [
        record["metrics"] if subset is None else record["subsets"][subset] for record in seeds
    ]
    wanted = [("ranking", name) for name in RANKING]
    wanted += [(policy, name) for policy in POLICIES for name in F1]
    return tuple(
        Score.of(Mean.of([found[section][name] for found in sections])) for section, name in wanted
    )


def _our_scores(runs: SystemRuns, subset: str | None) -> Row:
    """Return the numbers of one method of piran under the policies that its records tell of."""
    part = SystemRuns(runs.cell, runs.method, runs.system, runs.records, subset=subset)
    wanted: list[str | None] = list(RANKING)
    wanted += [
        OUR_METRICS[policy].format(name) if policy in OUR_METRICS else None
        for policy in POLICIES
        for name in F1
    ]
    return tuple(
        Score.of(part.mean(name)) if name is not None and part.has(name) else None
        for name in wanted
    )


def read_ours(folders: Sequence[Path]) -> dict[str, list[SystemRuns]]:
    """Return the methods of some suites by dataset."""
    if not folders:
        return {}
    return {dataset.name: dataset.systems() for dataset in read_results(*folders).datasets}


def main() -> None:
    """Print the tables of all datasets below a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="records, one folder for each dataset")
    parser.add_argument(
        "--beside", type=Path, action="append", default=[], help="a suite's results to set beside"
    )
    parser.add_argument(
        "--overview", action="store_true", help="one short table with all datasets side by side"
    )
    arguments = parser.parse_args()
    ours = read_ours(arguments.beside)
    found = {
        folder.name: tables(read_records(folder), ours.get(folder.name, []))
        for folder in sorted(folder for folder in arguments.folder.iterdir() if folder.is_dir())
    }
    if arguments.overview:
        print(markdown(overview({name: own[0] for name, own in found.items() if own})))
    else:
        print("\n".join(markdown(table) for own in found.values() for table in own))


if __name__ == "__main__":
    main()
