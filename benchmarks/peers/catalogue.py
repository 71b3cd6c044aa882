"""The peers: their scripts, environments and settings.

The first settings are the peer's defaults or what its makers advise. Where there are several, each is
fitted without the validation documents, and the one with the best micro-F1 on them, at the cut-off that
is best for it, is taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Settings = Mapping[str, Any]

_SVM_OPTIONS = "-s 1 -B 1 -q"  # the dual of LinearSVC's loss, with a bias
_PECOS: Settings = {"Cp": 1.0, "Cn": 1.0, "threshold": 0.1, "post_processor": "l3-hinge"}
_OMIKUJI: Settings = {"n_trees": 3, "linear_c": 1.0, "linear_weight_threshold": 0.1}
_NAPKINXC: Settings = {"liblinear_c": 10.0, "weights_threshold": 0.1, "ensemble": 1}
_FASTTEXT: Settings = {"epoch": 25, "lr": 0.5, "wordNgrams": 2, "dim": 100}


@dataclass(frozen=True)
class Entry:
    """One peer in one configuration."""

    name: str
    title: str
    script: str
    environment: str
    """Name of the file of requirements, without .txt."""
    choices: tuple[Settings, ...]
    """Settings to choose among on validation documents; the first is the usual one."""
    is_for_many_labels: bool = False
    """Whether it is meant for thousands of labels."""


PEERS = (
    Entry("sklearn-svc", "scikit-learn LinearSVC", "sklearn_svc.py", "sklearn", ({"C": 1.0},)),
    Entry(
        "sklearn-svc-tuned",
        "scikit-learn LinearSVC, C chosen",
        "sklearn_svc.py",
        "sklearn",
        ({"C": 1.0}, {"C": 0.1}, {"C": 10.0}),
    ),
    Entry(
        "libmultilabel-thresholding",
        "LibMultiLabel thresholding",
        "libmultilabel_linear.py",
        "libmultilabel",
        ({"function": "train_thresholding", "options": _SVM_OPTIONS},),
    ),
    Entry(
        "libmultilabel-cost-sensitive",
        "LibMultiLabel cost-sensitive",
        "libmultilabel_linear.py",
        "libmultilabel",
        ({"function": "train_cost_sensitive", "options": _SVM_OPTIONS},),
    ),
    Entry(
        "pecos",
        "PECOS XR-Linear",
        "pecos_xr_linear.py",
        "pecos",
        (
            _PECOS,
            {**_PECOS, "post_processor": "sigmoid"},
            {**_PECOS, "threshold": 0.01},
            {**_PECOS, "Cp": 10.0, "threshold": 0.01},
        ),
        is_for_many_labels=True,
    ),
    Entry(
        "omikuji",
        "omikuji Parabel",
        "omikuji_parabel.py",
        "omikuji",
        (
            _OMIKUJI,
            {**_OMIKUJI, "linear_weight_threshold": 0.01},
            {**_OMIKUJI, "linear_loss_type": "LOG", "linear_c": 10.0},
        ),
        is_for_many_labels=True,
    ),
    Entry(
        "napkinxc",
        "napkinXC PLT",
        "napkinxc_plt.py",
        "napkinxc",
        (
            _NAPKINXC,
            {**_NAPKINXC, "ensemble": 3},
            {**_NAPKINXC, "ensemble": 3, "liblinear_c": 100.0},
        ),
        is_for_many_labels=True,
    ),
    Entry(
        "fasttext",
        "fastText one-vs-all",
        "fasttext_ova.py",
        "fasttext",
        (_FASTTEXT, {**_FASTTEXT, "epoch": 50}),
    ),
)
