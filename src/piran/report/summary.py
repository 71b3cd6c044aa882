"""What a run gained, in numbers and in a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from piran.experiments.names import display_name
from piran.experiments.records import RunRecord
from piran.experiments.results import NOT_CONVERGED

REFERENCE = "no-aug"
"""The reference point of every difference: the same model without augmentation."""


@dataclass(frozen=True)
class LabelChange:
    """One label before and after, F1 in percent."""

    name: str
    n_train: int
    n_test: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """Points of F1 won."""
        return self.after - self.before


def has_reference(record: RunRecord) -> bool:
    """Return whether the record can tell what the method adds."""
    return REFERENCE in record.systems and record.method != REFERENCE


def ordered_systems(record: RunRecord) -> list[str]:
    """Return the systems from the reference over the controls to the method."""
    rank = {REFERENCE: 0, record.method: 2}
    return sorted(record.systems, key=lambda name: rank.get(name, 1))


def summary_sentence(record: RunRecord) -> str:
    """Say in words what happened to the tail labels and to P@1."""
    method = display_name(record.method)
    if not record.systems:
        return (
            f"{method} has learned {record.dataset.n_labels:,} labels from {record.dataset.n_train:,} "
            "documents; there was no test split to score it on."
        )
    after = record.scores
    tail = f"the {record.dataset.n_tail_labels:,} tail labels of {record.dataset.name}"
    if not has_reference(record):
        reached = (
            f"On {tail}, {method} reaches an F1 of {after['tail_f1']:.1f}, and a P@1 of "
            f"{after['P@1']:.1f} over all labels"
        )
        if "references" not in record.settings:  # it has no augmentation that could be left out
            return f"{reached}."
        return (
            f"{reached}; without {display_name(REFERENCE)} beside it, the run cannot tell what "
            "augmentation adds."
        )
    before = record.systems[REFERENCE].metrics
    f1 = _moved("F1", before["tail_f1"], after["tail_f1"])
    precision = _moved("P@1", before["P@1"], after["P@1"])
    return (
        f"On {tail}, {method} {f1} against the same model without augmentation; over all labels it "
        f"{precision}."
    )


def unseen_sentence(record: RunRecord) -> str:
    """Say how many labels have no training document; nothing if all have one."""
    n_unseen = record.dataset.n_unseen_labels
    if not n_unseen:
        return ""
    if n_unseen == 1:
        return (
            "1 label has no training document; it counts in macro-F1, but as neither head nor tail."
        )
    return (
        f"{n_unseen:,} labels have no training document; they count in macro-F1, but as neither head "
        "nor tail."
    )


def convergence_sentence(record: RunRecord) -> str:
    """Say if the best epoch was the last allowed one; nothing otherwise."""
    if record.stop_reason != NOT_CONVERGED:
        return ""
    return "Its best epoch was the last allowed one, so it has not converged; raise max_epochs."


def tail_changes(record: RunRecord) -> list[LabelChange]:
    """Return the tail labels from the largest gain to the largest loss; empty without a reference.

    Of equal changes, the label with more test documents comes first, as it is the surer one.
    """
    if not has_reference(record):
        return []
    labels = record.labels
    before = record.systems[REFERENCE].label_f1
    after = record.systems[record.method].label_f1
    rows = zip(labels.names, labels.train_counts, labels.test_counts, before, after, strict=True)
    changes = [
        LabelChange(*row) for row, group in zip(rows, labels.groups, strict=True) if group == "tail"
    ]
    return sorted(changes, key=lambda label: (-label.change, -label.n_test, label.name))


def changes_sentence(changes: Sequence[LabelChange]) -> str:
    """Count the tail labels that gained, lost and stayed."""
    gained = sum(label.change > 0 for label in changes)
    lost = sum(label.change < 0 for label in changes)
    return (
        f"Of {len(changes):,} tail labels, {gained:,} gained, {lost:,} lost and "
        f"{len(changes) - gained - lost:,} did not change. Labels with few test documents move in "
        "large steps: one document more or less can decide."
    )


def _moved(metric: str, before: float, after: float) -> str:
    """Say how a metric moved; verbs fit "the method …"."""
    if round(after, 1) == round(before, 1):
        return f"leaves {metric} at {after:.1f}"
    verb = "raises" if after > before else "lowers"
    return f"{verb} {metric} from {before:.1f} to {after:.1f}"
