"""What the page says in words."""

import pytest
from example_record import example_record

from piran.experiments.names import display_name
from piran.experiments.records import RunRecord, SystemScores
from piran.report.summary import (
    changes_sentence,
    convergence_sentence,
    ordered_systems,
    summary_sentence,
    tail_changes,
    unseen_sentence,
)


def with_scores(**by_system: tuple[float, float]) -> RunRecord:
    """Return a record whose systems have these (tail F1, P@1)."""
    systems = {
        name.replace("_", "-"): SystemScores.model_validate(
            {"metrics": {"tail_f1": tail, "P@1": p1}, "label_f1": [], "label_f1_at_half": []}
        )
        for name, (tail, p1) in by_system.items()
    }
    return example_record(systems=systems)


@pytest.mark.parametrize(
    ("after", "tail", "p1"),
    [
        ((30.0, 88.0), "raises F1 from 20.0 to 30.0", "leaves P@1 at 88.0"),
        ((15.0, 87.5), "lowers F1 from 20.0 to 15.0", "lowers P@1 from 88.0 to 87.5"),
        ((20.01, 88.9), "leaves F1 at 20.0", "raises P@1 from 88.0 to 88.9"),
    ],
)
def test_the_sentence_says_which_way_it_went(
    after: tuple[float, float], tail: str, p1: str
) -> None:
    sentence = summary_sentence(with_scores(no_aug=(20.0, 88.0), piran=after))
    assert sentence == (
        f"On the 157 tail labels of debtags, PIRAN {tail} against the same model without "
        f"augmentation; over all labels it {p1}."
    )


def test_a_single_system_claims_no_gain() -> None:
    sentence = summary_sentence(with_scores(piran=(24.7, 88.3)))
    assert "reaches an F1 of 24.7, and a P@1 of 88.3 over all labels" in sentence
    assert "cannot tell what augmentation adds" in sentence


def test_a_method_without_augmentation_is_not_asked_what_it_adds() -> None:
    record = with_scores(leap=(24.7, 88.3)).model_copy(update={"method": "leap", "settings": {}})
    assert summary_sentence(record) == (
        "On the 157 tail labels of debtags, LEAP reaches an F1 of 24.7, and a P@1 of 88.3 over all "
        "labels."
    )


@pytest.mark.parametrize(
    ("n_unseen", "sentence"),
    [
        (0, ""),
        (
            1,
            "1 label has no training document; it counts in macro-F1, but as neither head nor tail.",
        ),
        (
            4,
            "4 labels have no training document; they count in macro-F1, but as neither head nor tail.",
        ),
    ],
)
def test_labels_without_a_training_document_are_reported(n_unseen: int, sentence: str) -> None:
    record = example_record()
    dataset = record.dataset.model_copy(update={"n_unseen_labels": n_unseen})
    assert unseen_sentence(example_record(dataset=dataset)) == sentence


def test_a_run_that_has_not_converged_says_so() -> None:
    assert convergence_sentence(example_record()) == ""
    assert "raise max_epochs" in convergence_sentence(example_record(stop_reason="not converged"))


def test_the_reference_comes_first_and_the_method_last() -> None:
    record = example_record()
    shuffled = {name: record.systems[name] for name in ("piran", "retrain-on-real", "no-aug")}
    order = ordered_systems(example_record(systems=shuffled))
    assert order == ["no-aug", "retrain-on-real", "piran"]


def test_tail_labels_run_from_the_largest_gain_to_the_largest_loss() -> None:
    changes = tail_changes(example_record())
    assert len(changes) == 157
    assert [label.change for label in changes] == sorted((c.change for c in changes), reverse=True)


def test_changes_are_counted() -> None:
    changes = tail_changes(example_record())
    gained = sum(label.after > label.before for label in changes)
    lost = sum(label.after < label.before for label in changes)
    stayed = 157 - gained - lost
    assert changes_sentence(changes).startswith(
        f"Of 157 tail labels, {gained} gained, {lost} lost and {stayed} did not change."
    )


def test_without_a_reference_there_are_no_changes() -> None:
    record = example_record()
    assert tail_changes(example_record(systems={"piran": record.systems["piran"]})) == []


def test_unknown_systems_keep_their_name() -> None:
    assert (display_name("no-aug"), display_name("my-method")) == ("No-Aug", "my-method")
