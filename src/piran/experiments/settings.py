"""Settings at the border: what a user writes, checked against the signatures they go to."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from piran.encoders.base import ENCODERS
from piran.encoders.pretrained import HOW_TO_INSTALL, is_available
from piran.errors import PiranError, SettingError
from piran.head import PiranHead
from piran.methods.base import METHODS, Method
from piran.methods.presets import PRESETS, preset_settings

DEFAULT_PRESET = "quick"
"""Of suites and of Python: the same on every machine."""
PREFERRED_PRESET = "balanced"
"""Of the command line, where it can be had."""
TRANSFORMER_ENCODERS = ("hybrid", "finetuned", "transformer")
"""Encoders that need the extra [transformers]."""
FALLBACK_ENCODER = "tfidf"
"""Of the preferred preset, where the extra is not installed."""


@dataclass(frozen=True)
class PresetChoice:
    """The preset that a command takes."""

    name: str | None
    encoder: str | None = None
    """In place of the preset's own; None: that."""
    reason: str = ""
    """Why, for the user to read; empty where the user said so."""


def choose_preset(method: str, *, preset: str | None, encoder: str | None) -> PresetChoice:
    """Choose for a user who left the preset or its encoder open; ``encoder`` is None for auto.

    That is the preset balanced, and where the extra [transformers] is not installed its views and
    settings on TF-IDF.
    """
    takes_presets = "encoder" in METHODS[method].setting_names({})
    wanted = preset or PREFERRED_PRESET
    needs_transformer = PRESETS.get(wanted, {}).get("encoder") in TRANSFORMER_ENCODERS
    if encoder is not None or not takes_presets or not needs_transformer:
        return PresetChoice(preset, encoder)
    if not is_available():
        return PresetChoice(
            PREFERRED_PRESET,
            FALLBACK_ENCODER,
            f"Preset {PREFERRED_PRESET} on TF-IDF, as the transformer that {wanted} needs is not "
            f"installed ({HOW_TO_INSTALL}).",
        )
    if preset is not None:
        return PresetChoice(preset)
    return PresetChoice(
        wanted,
        reason=f"Preset {wanted} (exact words and a frozen transformer), as the extra [transformers] is "
        f"installed; --preset {DEFAULT_PRESET} takes seconds.",
    )


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Turn ``key=value`` strings into settings; values are JSON where they can be, else text.

    >>> parse_assignments(["l2=0.3", "solver=adam", "tail_l2=null"])
    {'l2': 0.3, 'solver': 'adam', 'tail_l2': None}
    """
    settings: dict[str, Any] = {}
    for assignment in assignments:
        key, separator, value = assignment.partition("=")
        if not separator or not key.strip():
            raise SettingError(f"--set takes key=value, for example l2=0.3, got {assignment!r}.")
        try:
            settings[key.strip()] = json.loads(value)
        except ValueError:
            settings[key.strip()] = value
    return settings


def build_method(name: str, settings: dict[str, Any]) -> Method:
    """Build a method from flat settings, each checked against the annotation of its parameter."""
    method_class = METHODS[name]
    known = method_class.setting_names(settings)
    hints = _annotations(method_class, settings)
    checked = {
        key: _checked(key, value, hints[key]) if key in known and key in hints else value
        for key, value in settings.items()
    }
    return method_class.from_settings(checked)


def completed_settings(method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a record with those added that came after it, at their defaults.

    A default is what was done before there was a setting. What this version cannot build stays as it is.
    """
    try:
        return build_method(method, dict(settings)).settings()
    except PiranError:
        return dict(settings)


def resolved_settings(
    method: str, *, preset: str | None, encoder: str | None, assignments: dict[str, Any]
) -> dict[str, Any]:
    """Combine a preset and the user's own settings, the last word theirs.

    Presets and encoders are PIRAN's; other methods take the user's own settings alone.
    """
    base = preset_settings(preset or DEFAULT_PRESET)
    if "encoder" not in METHODS[method].setting_names({}):
        given = [f"--{name}" for name, value in (("preset", preset), ("encoder", encoder)) if value]
        if given:
            raise SettingError(f"{method} takes no {' and no '.join(given)}; those are for piran.")
        return assignments
    if encoder is not None:
        base["encoder"] = encoder
    return {**base, **assignments}


def _annotations(method_class: type[Method], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the type of each setting: of the method, its encoder and the head."""
    builders: list[Callable[..., Any]] = [method_class.__init__]
    encoder = settings.get("encoder")
    if isinstance(encoder, str):
        builders += [ENCODERS[encoder].__init__, PiranHead.__init__]
    hints: dict[str, Any] = {}
    for builder in reversed(builders):
        known = signature(builder).parameters
        hints |= {key: kind for key, kind in get_type_hints(builder).items() if key in known}
    return {key: kind for key, kind in hints.items() if key not in ("encoder", "head")}


def _checked(key: str, value: object, kind: Any) -> Any:  # noqa: ANN401
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        readable = getattr(kind, "__name__", None) or str(kind)
        raise SettingError(f"{key} must be {readable}, got {value!r}.") from None
