"""What runs of Algorithm 1 give: encoders, and the rows of each system on their instances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.encoders.cache import encoded
from piran.errors import ModelFolderError
from piran.head import PiranHead
from piran.methods.base import chosen
from piran.rows import LinearRows
from piran.storage import load_state, save_state
from piran.types import BoolArray, FloatArray, IntArray

_ENCODER = "encoder"
_MEMBERS = "members"
_STATE_NAME = "head"


@dataclass(frozen=True, eq=False)
class Member:
    """An encoder and the rows of PIRAN and of its reference variants, by the name of the system."""

    encoder: Encoder
    rows: Mapping[str, LinearRows]
    head: PiranHead | None
    """What fitted the rows; None once saved and loaded."""

    def margins(self, instances: FloatArray) -> dict[str, FloatArray]:
        """Return what the rows of each system say of instances, (n_documents, n_labels) each."""
        return {system: rows.logits(instances) for system, rows in self.rows.items()}

    def save(self, folder: Path, system: str) -> None:
        """Write the encoder and the rows of one system."""
        rows = self.rows[system]
        state = {"encoder": self.encoder.name}
        save_state(folder, _STATE_NAME, state, {"rows": rows.rows, "bias": rows.bias})
        self.encoder.save(folder / _ENCODER)

    @classmethod
    def load(cls, folder: Path, system: str, *, n_labels: int) -> "Member":
        """Read what :meth:`save` wrote."""
        state, arrays = load_state(folder, _STATE_NAME)
        try:
            rows = LinearRows(arrays["rows"], arrays["bias"])
            encoder = ENCODERS[state["encoder"]].load(folder / _ENCODER)
        except KeyError as error:
            raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
        if rows.rows.shape != (n_labels, encoder.feature_dim):
            raise ModelFolderError(
                f"{folder} holds rows of shape {rows.rows.shape}, expected "
                f"{(n_labels, encoder.feature_dim)}; its files are of different models."
            )
        return cls(encoder, {system: rows}, None)


def save_members(folder: Path, members: Sequence[Member], system: str) -> None:
    """Write all members with the rows of one system, the first into the model's own folder."""
    save_state(folder, _MEMBERS, {"n_members": len(members)}, {})
    for number, member in enumerate(members):
        member.save(_member_folder(folder, number), system)


def load_members(folder: Path, system: str, *, n_labels: int) -> list[Member]:
    """Read what :func:`save_members` wrote."""
    state = load_state(folder, _MEMBERS)[0]
    try:
        folders = [_member_folder(folder, number) for number in range(state["n_members"])]
    except (KeyError, TypeError) as error:
        raise ModelFolderError(f"{folder} lacks {error}; save the model again.") from error
    return [Member.load(part, system, n_labels=n_labels) for part in folders]


def _member_folder(folder: Path, number: int) -> Path:
    return folder / f"member-{number}" if number else folder


def joint_history(members: Sequence[Member]) -> list[dict[str, float]]:
    """Return the histories of all encoders as one, their epochs numbered on."""
    history: list[dict[str, float]] = []
    for member in members:
        n_before, own = len(history), member.encoder.history_
        history += [{**entry, "epoch": n_before + entry["epoch"]} for entry in own]
    return history


def margins_by_fold(
    fold: IntArray,
    is_judged: BoolArray,
    say: Callable[[int, IntArray], Mapping[str, FloatArray]],
) -> dict[str, FloatArray]:
    """Return what is said of judged documents fold by fold, (n_judged, n_labels) for each system.

    ``say`` takes the number of a fold and the judged documents in it, and tells what rows say of them
    that were fitted to all other folds. ``fold`` and ``is_judged`` have the shape (n_documents,).
    """
    judged = np.flatnonzero(is_judged)
    margins: dict[str, FloatArray] = {}
    for number in range(int(fold.max()) + 1):
        places = np.flatnonzero(fold[judged] == number)
        for system, values in say(number, judged[places]).items():
            shape = (len(judged), values.shape[1])
            margins.setdefault(system, np.empty(shape, dtype=np.float32))[places] = values
    return margins


def unseen_instances(
    members: Sequence[Member], documents: LabelledTexts, fold: IntArray
) -> list[FloatArray]:
    """Return how each member sees the documents that it did not learn from, in their order.

    ``fold`` (n_documents,) is the number of the member that did not learn from each.
    """
    return [
        encoded(member.encoder, chosen(documents, np.flatnonzero(fold == number)).texts)
        for number, member in enumerate(members)
    ]


def in_order(unseen: Sequence[FloatArray], fold: IntArray) -> FloatArray:
    """Return the instances of :func:`unseen_instances` as one array, (n_documents, feature_dim)."""
    order = np.argsort(fold, kind="stable")
    return np.concatenate(unseen)[np.argsort(order)]


def margins_of_unseen(
    members: Sequence[Member], unseen: Sequence[FloatArray], fold: IntArray, is_judged: BoolArray
) -> dict[str, FloatArray]:
    """Return what is said of judged documents by the member that did not learn from each."""

    def say(number: int, own: IntArray) -> dict[str, FloatArray]:
        places = np.searchsorted(np.flatnonzero(fold == number), own)
        return members[number].margins(unseen[number][places])

    return margins_by_fold(fold, is_judged, say)


def mean_margins(said: Sequence[FloatArray]) -> FloatArray:
    """Return the mean of what members say, (n_documents, n_labels), each of the same shape.

    A member that had no document of a label says −∞ of it and does not count; nor does the label get
    anything but −∞ where no member had one.
    """
    stacked = np.stack(said)  # (n_members, n_documents, n_labels)
    is_known = np.isfinite(stacked)
    n_known = is_known.sum(axis=0)
    total = np.where(is_known, stacked, 0).sum(axis=0, dtype=stacked.dtype)
    return np.where(n_known > 0, total / np.maximum(n_known, 1).astype(stacked.dtype), -np.inf)
