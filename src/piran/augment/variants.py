"""The ablations of the paper (Section 4.5) and two controls of our own, by name."""

from dataclasses import dataclass

from piran.augment.losses import TransferWeights
from piran.errors import UnknownNameError
from piran.registry import suggestion


@dataclass(frozen=True)
class Variant:
    """Which parts of stage 2 are on."""

    description: str
    is_retrained: bool = True
    """Tail rows are retrained at all."""
    has_generations: bool = True
    """Retraining sees more than the real documents."""
    has_relations: bool = True
    """Generations add a relation to the prototype."""
    has_transfer: bool = True
    """W is learned; otherwise it is the identity."""
    has_diversity: bool = True
    has_variance: bool = True

    def weights(self, full: TransferWeights) -> TransferWeights:
        """Return the loss weights with those of missing terms at zero."""
        return TransferWeights(
            generation=full.generation,
            variance=full.variance if self.has_variance else 0.0,
            diversity=full.diversity if self.has_diversity else 0.0,
        )


COMPLETE = "complete"
NO_AUG = "no-aug"

VARIANTS: dict[str, Variant] = {
    NO_AUG: Variant("stage 1 alone", is_retrained=False),
    "retrain-on-real": Variant(
        "control: tail rows retrained on the real documents", has_generations=False
    ),
    "duplicate": Variant(
        "control: prototypes repeated, no relation, no map", has_relations=False, has_transfer=False
    ),
    "aug-w/o-c": Variant("W = I: relations added as they are", has_transfer=False),
    "aug-w-gen": Variant("W from L_gen alone", has_diversity=False, has_variance=False),
    "aug-w-gen-div": Variant("W from L_gen and L_div", has_variance=False),
    COMPLETE: Variant("W from all three terms"),
}
"""From the least to the whole."""
CONTROLS = ("retrain-on-real", "duplicate")
"""What a sceptic would try before believing in generated instances."""


def variant_named(name: str) -> Variant:
    """Return a variant by its name."""
    if name not in VARIANTS:
        raise UnknownNameError(f"Unknown variant {name!r}. {suggestion(name, list(VARIANTS))}")
    return VARIANTS[name]
