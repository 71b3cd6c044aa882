"""Where the cells of a suite are run: in this process, in processes beside it, or on a cluster."""

from piran.experiments.engines.base import Engine, Observer, Task, Unobserved
from piran.experiments.engines.inline import InlineEngine
from piran.experiments.engines.local import LocalEngine
from piran.experiments.engines.ray import RayEngine

__all__ = ["Engine", "InlineEngine", "LocalEngine", "Observer", "RayEngine", "Task", "Unobserved"]
