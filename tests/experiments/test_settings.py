"""Settings at the border: parsed, checked against signatures, combined with presets."""

import pytest

from piran.errors import SettingError, UnknownNameError
from piran.experiments import settings as module
from piran.experiments.settings import (
    PresetChoice,
    build_method,
    choose_preset,
    parse_assignments,
    resolved_settings,
)
from piran.methods.piran import PiranClassifier
from piran.methods.presets import PRESETS


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


def with_transformers(monkeypatch: pytest.MonkeyPatch, is_available: bool) -> None:
    monkeypatch.setattr(module, "is_available", lambda: is_available)


@pytest.mark.parametrize(
    ("is_available", "preset", "encoder"),
    [
        (True, None, None),
        (False, None, "tfidf"),
        (False, "balanced", "tfidf"),
        (False, "best", "tfidf"),
    ],
)
def test_an_encoder_left_open_is_chosen_by_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, is_available: bool, preset: str | None, encoder: str | None
) -> None:
    with_transformers(monkeypatch, is_available)
    choice = choose_preset("piran", preset=preset, encoder=None)
    assert (choice.name, choice.encoder) == ("balanced", encoder)
    assert choice.reason.startswith("Preset balanced ")
    assert ("pip install" in choice.reason) != is_available


def test_without_a_transformer_the_default_keeps_its_views(monkeypatch: pytest.MonkeyPatch) -> None:
    with_transformers(monkeypatch, is_available=False)
    choice = choose_preset("piran", preset=None, encoder=None)
    settings = resolved_settings(
        "piran", preset=choice.name, encoder=choice.encoder, assignments={"l2": 3.0}
    )
    assert settings == {**PRESETS["balanced"], "encoder": "tfidf", "l2": 3.0}
    assert build_method("piran", settings).settings()["views"] == PRESETS["balanced"]["views"]


def test_python_has_the_presets_of_the_command_line() -> None:
    settings = resolved_settings(
        "piran", preset="balanced", encoder="tfidf", assignments={"tail": 5, "l2": 3.0}
    )
    method = PiranClassifier.from_preset("balanced", encoder="tfidf", tail=5, l2=3.0)
    assert method.settings() == build_method("piran", settings).settings()


def test_python_names_an_unknown_preset() -> None:
    with pytest.raises(UnknownNameError, match="'quick'"):
        PiranClassifier.from_preset("quik")


@pytest.mark.parametrize("is_available", [True, False])
@pytest.mark.parametrize(
    ("method", "preset", "encoder"),
    [
        ("piran", "quick", None),
        ("piran", "unheard-of", None),
        ("piran", None, "bilstm"),
        ("piran", "balanced", "hybrid"),
        ("linear", None, None),
    ],
)
def test_what_a_user_says_is_taken_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
    is_available: bool,
    method: str,
    preset: str | None,
    encoder: str | None,
) -> None:
    with_transformers(monkeypatch, is_available)
    assert choose_preset(method, preset=preset, encoder=encoder) == PresetChoice(preset, encoder)


def test_a_preset_that_can_be_had_is_taken_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    with_transformers(monkeypatch, is_available=True)
    assert choose_preset("piran", preset="balanced", encoder=None) == PresetChoice("balanced")


def test_suites_take_the_same_preset_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with_transformers(monkeypatch, is_available=True)
    settings = resolved_settings("piran", preset=None, encoder=None, assignments={})
    assert settings == PRESETS["quick"]


def test_the_blocks_of_the_hybrid_can_be_set() -> None:
    given = parse_assignments(['blocks=["tfidf"]', 'block_settings={"tfidf": {"damping": 1}}'])
    method = build_method("piran", {"encoder": "hybrid", **given})
    assert method.settings()["block_settings"] == {"tfidf": {"damping": 1}}
    with pytest.raises(SettingError, match="blocks must be"):
        build_method("piran", {"encoder": "hybrid", "blocks": "tfidf"})
