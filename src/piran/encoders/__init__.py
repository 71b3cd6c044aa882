"""Encoders: from texts to instances."""

from piran.encoders.base import ENCODERS, Encoder, LabelledTexts, LinearRows

__all__ = ["ENCODERS", "Encoder", "LabelledTexts", "LinearRows"]
