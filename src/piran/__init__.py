"""Long-tailed multi-label text classification that rescues the rare labels."""

from piran.head import PiranHead

__all__ = ["PiranHead"]
