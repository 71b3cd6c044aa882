"""Stage 2 of PIRAN: relations of head labels, the map W, generated instances, adjusted tail rows."""

from piran.augment.generator import InstanceGenerator, head_directions
from piran.augment.losses import TransferMoments, TransferWeights
from piran.augment.prototypes import Prototypes
from piran.augment.relations import RelationCollector, Relations
from piran.augment.tail import GenerationSource, adjust_tail_rows
from piran.augment.variants import VARIANTS

__all__ = [
    "VARIANTS",
    "GenerationSource",
    "InstanceGenerator",
    "Prototypes",
    "RelationCollector",
    "Relations",
    "TransferMoments",
    "TransferWeights",
    "adjust_tail_rows",
    "head_directions",
]
