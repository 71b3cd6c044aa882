"""Settings at the border: parsed, checked against signatures, combined with presets."""

import pytest

from piran.errors import SettingError, UnknownNameError
from piran.experiments.settings import (
    PRESETS,
    build_method,
    parse_assignments,
    resolved_settings,
)
from piran.methods.piran import PiranClassifier


def test_values_are_json_where_they_can_be() -> None:
    parsed = parse_assignments(["l2=0.3", "solver=adam", "tail_l2=null", "references=[]"])
    assert parsed == {"l2": 0.3, "solver": "adam", "tail_l2": None, "references": []}


@pytest.mark.parametrize("assignment", ["l2", "=3", " =3"])
def test_an_assignment_without_key_or_value_is_refused(assignment: str) -> None:
    with pytest.raises(SettingError, match="key=value"):
        parse_assignments([assignment])


def test_a_misspelt_key_names_the_nearest() -> None:
    with pytest.raises(SettingError, match="Did you mean 'n_generated'"):
        build_method("piran", {"encoder": "tfidf", "n_genrated": 5})


def test_a_setting_of_another_encoder_is_unknown() -> None:
    with pytest.raises(SettingError, match="hidden_dim"):
        build_method("piran", {"encoder": "tfidf", "hidden_dim": 5})


@pytest.mark.parametrize(
    ("key", "value"), [("l2", "much"), ("n_generated", 1.5), ("solver", 3), ("refit", "perhaps")]
)
def test_a_value_of_the_wrong_type_is_refused(key: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{key} must be"):
        build_method("piran", {"encoder": "tfidf", key: value})


def test_flat_settings_reach_encoder_head_and_method() -> None:
    settings = {"encoder": "tfidf", "n_components": 7, "l2": 3.0, "thresholds": "half"}
    method = build_method("piran", settings)
    assert isinstance(method, PiranClassifier)
    assert settings.items() <= method.settings().items()


def test_settings_build_the_same_method_again() -> None:
    method = build_method("piran", {"encoder": "bilstm", "hidden_dim": 9, "tail": 0.25})
    assert PiranClassifier.from_settings(method.settings()).settings() == method.settings()


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_builds(preset: str) -> None:
    settings = resolved_settings("piran", preset=preset, encoder=None, assignments={})
    assert build_method("piran", settings).settings()["encoder"] == PRESETS[preset]["encoder"]


def test_what_the_user_sets_has_the_last_word() -> None:
    chosen = {"l2": 123.0}
    settings = resolved_settings("piran", preset="quick", encoder="bilstm", assignments=chosen)
    assert (settings["encoder"], settings["l2"]) == ("bilstm", 123.0)


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(UnknownNameError, match="'quick'"):
        resolved_settings("piran", preset="quik", encoder=None, assignments={})
