"""The ablations by name."""

import pytest

from piran.augment import VARIANTS, TransferWeights
from piran.augment.variants import variant_named
from piran.errors import UnknownNameError


def test_the_papers_ablations_and_our_controls_have_names() -> None:
    assert list(VARIANTS) == [
        "no-aug",
        "retrain-on-real",
        "duplicate",
        "aug-w/o-c",
        "aug-w-gen",
        "aug-w-gen-div",
        "complete",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aug-w-gen", TransferWeights(3, 0, 0)),
        ("aug-w-gen-div", TransferWeights(3, 0, 0.5)),
        ("complete", TransferWeights(3, 2, 0.5)),
    ],
)
def test_a_variant_switches_off_the_terms_it_lacks(name: str, expected: TransferWeights) -> None:
    assert variant_named(name).weights(TransferWeights(3, 2, 0.5)) == expected


def test_a_misspelt_variant_names_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown variant 'complet'. Did you mean 'complete'"
    ):
        variant_named("complet")


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(UnknownNameError, match=r"Known: aug-w-gen, .*retrain-on-real"):
        variant_named("xyz")
