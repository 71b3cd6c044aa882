"""Encoders: from texts to instances."""

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts
from piran.rows import LinearRows

__all__ = ["ENCODERS", "Encoder", "LabelledTexts", "LinearRows"]
