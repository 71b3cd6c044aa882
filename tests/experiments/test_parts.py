"""Parts of a test split: subsets of its documents, groups of its labels."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from made_suite import comparison_records, write_made_suite
from piran.data import load_corpus
from piran.data.labels import LabelSpace
from piran.experiments.parts import members_of
from piran.experiments.results import read_results
from piran.experiments.run import evaluate, measure
from piran.experiments.table_formats import plain_text
from piran.experiments.tables import suite_tables
from piran.methods.piran import PiranClassifier
from small_corpus import small_corpus


def test_groups_are_bounded_by_training_documents() -> None:
    labels = LabelSpace.from_label_sets([("a", "b")] * 2 + [("a",)], extra_names=["c"])
    assert labels.counts.tolist() == [3, 2, 0]
    assert members_of(labels, (3, None)).tolist() == [True, False, False]
    assert members_of(labels, (1, 2)).tolist() == [False, True, False]
    assert members_of(labels, (0, 0)).tolist() == [False, False, True]


def test_a_subset_scores_as_if_it_were_the_test_split() -> None:
    corpus = small_corpus()
    assert corpus.test is not None
    rows = list(range(0, len(corpus.test), 3))
    corpus = replace(corpus, test_subsets={"third": rows}, label_groups={"rare": (1, 10)})
    method = PiranClassifier()
    record = measure(corpus, method, name="x")
    scores = record.systems["piran"]
    assert corpus.test is not None
    alone = evaluate(method, corpus.test.select(rows))
    assert scores.subsets["third"] == pytest.approx(alone, abs=1e-4)
    assert scores.groups["rare"]["n_labels"] == 3
    assert np.isfinite(scores.groups["rare"]["RP@5"])
    assert record.systems["no-aug"].groups["rare"] != scores.groups["rare"]


def test_a_card_can_mark_test_documents_by_a_field(tmp_path: Path) -> None:
    rows = [{"text": "x", "labels": ["cs"]}, {"text": "y", "labels": ["cs"], "raw_text": "Y"}]
    for split in ("train", "test"):
        path = tmp_path / "aapd" / f"{split}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert load_corpus(tmp_path / "aapd").test_subsets == {"with raw text": [1]}


def test_a_card_can_group_labels(tmp_path: Path) -> None:
    path = tmp_path / "eurlex57k" / "train.jsonl"
    path.parent.mkdir()
    path.write_text('{"text": "x", "labels": ["1"]}\n', encoding="utf-8")
    assert load_corpus(tmp_path / "eurlex57k").label_groups["few"] == (1, 50)


def test_parts_have_tables_of_their_own(tmp_path: Path) -> None:
    records = []
    for record in comparison_records("aapd"):
        own = record.systems[record.method]
        parts = {
            "subsets": {"with raw text": {**own.metrics, "P@1": 77.0, "n_documents": 655}},
            "groups": {"few": {"RP@5": 12.0 + record.seed, "nDCG@5": 9.0, "micro_f1_at_0.5": 5.0}},
        }
        systems = {**record.systems, record.method: own.model_copy(update=parts)}
        records.append(record.model_copy(update={"systems": systems}))
    results = read_results(write_made_suite(tmp_path, records))
    subsets, groups = suite_tables(results, ["subsets", "groups"])
    assert subsets.title == "Comparison on aapd, with raw text"
    assert "The 655 test documents with raw text alone." in subsets.notes
    shown = [[plain_text(entry) for entry in row] for row in subsets.rows]
    assert shown[1][:2] == ["PIRAN", "77.00 ± 0.00"]  # the paper's figure is of all documents
    assert shown[0][1] == "–"
    assert groups.columns == ("method", "few RP@5", "few nDCG@5", "few micro-F1")
    assert [plain_text(entry) for entry in groups.rows[1]][1] == "13.00 ± 1.00"
