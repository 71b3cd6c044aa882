"""The paper's ranges and the points of a sweep."""

import numpy as np
import pytest

from piran.errors import SettingError
from piran.experiments.sensitivity import point_settings, scaled_values, sweep_points
from piran.head import PiranHead

AAPD = {"n_labels": 54, "n_labels_without_train_documents": 0, "documents_per_label": 2444.04}
RCV1 = {"n_labels": 103, "n_labels_without_train_documents": 2, "documents_per_label": 729.67}
SMALL = {"n_labels": 4, "n_labels_without_train_documents": 1, "documents_per_label": 3.0}


def test_the_ranges_are_the_papers_own_on_its_aapd() -> None:
    assert scaled_values("n_generated", AAPD) == [300, 600, 900, 1200, 1500, 1800]
    assert scaled_values("n_head_labels", AAPD) == [12, 18, 24, 30, 36, 42]
    assert scaled_values("n_prototype_documents", AAPD) == [1, 2, 3, 4, 5]


def test_ranges_shrink_with_the_data() -> None:
    assert scaled_values("n_generated", RCV1) == [90, 180, 270, 360, 450, 540]
    assert scaled_values("n_generated", SMALL) == [10, 20, 30, 40, 50, 60]
    assert scaled_values("n_head_labels", SMALL) == [1, 2]


def test_a_setting_without_a_range_needs_values() -> None:
    with pytest.raises(SettingError, match="'l2' has no range of the paper"):
        sweep_points({"l2": "scaled"}, AAPD)


def test_several_settings_make_a_grid() -> None:
    points = sweep_points({"variance_weight": [0, 1], "diversity_weight": [0.1, 0.2]}, AAPD)
    assert points[:3] == [
        {"variance_weight": 0, "diversity_weight": 0.1},
        {"variance_weight": 0, "diversity_weight": 0.2},
        {"variance_weight": 1, "diversity_weight": 0.1},
    ]
    assert len(points) == 4


def test_head_labels_are_what_the_tail_leaves() -> None:
    assert point_settings({"n_head_labels": 12}, AAPD) == {"tail": 42}
    assert point_settings({"n_head_labels": 60}, RCV1) == {"tail": 41}
    assert point_settings({"n_generated": 5}, AAPD) == {"n_generated": 5}


def test_there_must_be_a_tail_and_a_head() -> None:
    with pytest.raises(SettingError, match=r"between 1 and 53 .* got 54"):
        point_settings({"n_head_labels": 54}, AAPD)


def test_only_the_ratios_of_the_weights_matter() -> None:
    """So a grid over β and γ at α = 1 covers all three."""
    random = np.random.default_rng(0)
    labels = (random.random((80, 6)) < [0.5, 0.4, 0.3, 0.1, 0.1, 0.1]).astype(int)
    instances = labels @ random.normal(size=(6, 5)) + 0.3 * random.normal(size=(80, 5))
    one, three = (
        PiranHead(
            tail=3,
            generation_weight=1.0 * scale,
            variance_weight=0.5 * scale,
            diversity_weight=0.2 * scale,
        ).fit(instances, labels)
        for scale in (1, 3)
    )
    assert one.transfer_ is not None
    assert three.transfer_ is not None
    assert np.abs(one.transfer_ - three.transfer_).max() < 1e-6 * np.abs(one.transfer_).max()
