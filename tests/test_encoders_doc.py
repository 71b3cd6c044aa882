"""The encoder written out in docs/encoders.md works as the page says."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from piran.encoders.base import ENCODERS, Encoder
from piran.experiments.settings import build_method
from piran.methods import load_method

PAGE = Path(__file__).parent.parent / "docs" / "encoders.md"
TEXTS = ["red apple", "green apple", "red pie", "green pear"] * 5
LABELS = [["red"], ["green"], ["red", "pie"], ["green"]] * 5


@pytest.fixture
def word_list(monkeypatch: pytest.MonkeyPatch) -> type[Encoder]:
    monkeypatch.setattr(ENCODERS, "_things", {name: ENCODERS[name] for name in ENCODERS})
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "word_list"}
    exec(compile(source, "word_list.py", "exec"), names)
    encoder_class: type[Encoder] = names["WordListEncoder"]
    return encoder_class


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": "word-list", "words": "red,green,pie"},
        {
            "encoder": "hybrid",
            "blocks": ["tfidf", "word-list"],
            "block_settings": {"word-list": {"words": "red,green,pie"}},
        },
    ],
    ids=["alone", "as a block"],
)
def test_the_encoder_of_the_page_learns_and_is_saved(
    word_list: type[Encoder], settings: dict[str, Any], tmp_path: Path
) -> None:
    method = build_method("piran", {**settings, "tail": 1}).fit(TEXTS, LABELS)
    assert method.predict(["red", "green"]) == [("red",), ("green",)]
    method.save(tmp_path)
    scores = method.predict_scores(["red pie"])
    np.testing.assert_allclose(load_method(tmp_path).predict_scores(["red pie"]), scores, atol=1e-6)


def test_the_page_names_every_encoder() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in ENCODERS if f"| `{name}` |" not in page] == []
