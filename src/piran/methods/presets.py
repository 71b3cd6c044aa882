"""Presets of PIRAN: named sets of settings, nothing more; what a user sets by hand comes on top."""

from typing import Any

from piran.errors import UnknownNameError
from piran.registry import suggestion

_WITH_VIEWS = {
    "views": ["documents", "label-texts", "label-words"],
    "has_companions": True,
    "thresholds": "expected",
}
PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"encoder": "tfidf"},
    "balanced": {"encoder": "transformer", **_WITH_VIEWS},
    "best": {
        "encoder": "finetuned",
        "max_tokens": 192,
        "attention_dropout": 0.0,
        "folds": 3,
        "has_learned_likeness": True,
        **_WITH_VIEWS,
    },
}


def preset_settings(name: str) -> dict[str, Any]:
    """Return a copy of a preset's settings."""
    if name not in PRESETS:
        raise UnknownNameError(f"Unknown preset {name!r}. {suggestion(name, list(PRESETS))}")
    return dict(PRESETS[name])
