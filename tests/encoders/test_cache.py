"""The cache of stage 1: fitted once, found again, and never in the way."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from piran.encoders import LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.encoders.cache import (
    _logic,
    digest,
    encoded,
    fitted_encoder,
    kept_arrays,
    stage1_cache,
)
from piran.encoders.embeddings import initial_embeddings
from piran.encoders.tfidf import TfidfEncoder
from piran.methods.oltr import Oltr
from piran.methods.piran import PiranClassifier

TEXTS = ["red apple pie", "green apple", "red cherry pie", "green pear", "red apple", "cherry pie"]
TARGETS = csr_array(np.array([[1, 0], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0]], dtype=np.float32))
TRAIN = LabelledTexts(TEXTS, TARGETS)


def new_encoder(**settings: Any) -> TfidfEncoder:
    return TfidfEncoder(**{"n_components": 2, "min_documents": 1, **settings})


def test_without_a_cache_an_encoder_is_just_fitted() -> None:
    encoder = fitted_encoder(new_encoder(), TRAIN)
    expected = new_encoder().fit(TRAIN)
    np.testing.assert_array_equal(encoded(encoder, TEXTS), expected.encode(TEXTS))
    assert encoder.stage1_key_ is None


def test_the_same_stage_1_is_found_again(tmp_path: Path) -> None:
    with stage1_cache(tmp_path) as savings:
        first = encoded(fitted_encoder(new_encoder(), TRAIN), TEXTS)
        assert (savings.n_made, savings.n_found) == (2, 0)
    with stage1_cache(tmp_path) as savings:
        second = encoded(fitted_encoder(new_encoder(), TRAIN), TEXTS)
        assert (savings.n_made, savings.n_found) == (0, 2)
        assert savings.seconds > 0
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    "changed",
    [
        lambda: (new_encoder(seed=1), TRAIN, None),
        lambda: (new_encoder(n_components=1), TRAIN, None),
        lambda: (new_encoder(), LabelledTexts([*TEXTS[:-1], "plum"], TARGETS), None),
        lambda: (new_encoder(), LabelledTexts(TEXTS, csr_array(TARGETS.toarray()[::-1])), None),
        lambda: (new_encoder(), TRAIN, TRAIN),
    ],
    ids=["seed", "setting", "texts", "labels", "validation"],
)
def test_another_stage_1_is_made_anew(tmp_path: Path, changed: Callable[[], Any]) -> None:
    with stage1_cache(tmp_path) as savings:
        fitted_encoder(new_encoder(), TRAIN)
        fitted_encoder(*changed())
    assert (savings.n_made, savings.n_found) == (2, 0)


def test_a_damaged_entry_is_made_anew(tmp_path: Path) -> None:
    with stage1_cache(tmp_path) as savings:
        first = encoded(fitted_encoder(new_encoder(), TRAIN), ["red"])
        for file in tmp_path.rglob("encoder.json"):
            file.write_text("{", encoding="utf-8")
        again = encoded(fitted_encoder(new_encoder(), TRAIN), ["red"])
    assert savings.n_made == 3  # the encoder twice, the instances of the one text once
    np.testing.assert_array_equal(first, again)


def test_arrays_are_kept_by_their_ingredients(tmp_path: Path) -> None:
    calls = []

    def make() -> dict[str, Any]:
        calls.append(1)
        return {"values": np.arange(3.0)}

    with stage1_cache(tmp_path):
        for strength in (0.1, 0.1, 0.2):
            kept = kept_arrays("rows", [np.eye(2), strength], make)
            np.testing.assert_array_equal(kept["values"], np.arange(3.0))
            assert list(kept) == ["values"]
    assert len(calls) == 2


def test_damaged_arrays_are_made_anew(tmp_path: Path) -> None:
    for content in (None, b"damaged"):
        with stage1_cache(tmp_path) as savings:
            if content is not None:
                (path,) = tmp_path.glob("sums-*.safetensors")
                path.write_bytes(content)
            made = kept_arrays("sums", ["a"], lambda: {"sum": np.ones(2)})
            np.testing.assert_array_equal(made["sum"], np.ones(2))
            assert (savings.n_made, savings.n_found) == (1, 0)


def test_what_code_says_of_itself_is_no_part_of_it() -> None:
    code = "x = 1\n\ndef f(a):\n    return a + x\n"
    told = '"""A module."""\nx = 1  # one\n"""Of f."""\ndef f(a):\n    """Add."""\n    return (a + x)\n'
    assert _logic(code) == _logic(told) != _logic(code.replace("+", "-"))
    assert _logic('x = "a"') != _logic('x = "b"')


def test_digests_tell_neighbouring_parts_apart() -> None:
    parts: list[list[object]] = [
        [["ab", "c"]],
        [["a", "bc"]],
        [["abc"]],
        [["ab"], ["c"]],
        [np.zeros(2)],
        [np.zeros((2, 1))],
        [np.zeros(2, dtype=np.float32)],
        [[]],
        [None],
    ]
    assert len({digest(part) for part in parts}) == len(parts)
    assert digest([["é\ud800"]]) != digest([["é"]])


def test_piran_scores_alike_with_and_without_a_cache(tmp_path: Path) -> None:
    texts, labels = TEXTS * 4, [["red"], ["green"], ["red", "pie"], ["green"], ["red"], ["pie"]] * 4
    plain = PiranClassifier(tail=1, encoder=new_encoder()).fit(texts, labels)
    with stage1_cache(tmp_path):
        PiranClassifier(tail=2, encoder=new_encoder()).fit(texts, labels)
    with stage1_cache(tmp_path) as savings:
        kept = PiranClassifier(tail=1, encoder=new_encoder()).fit(texts, labels)
    assert savings.n_made == 0  # tail is of stage 2, so nothing of stage 1 is new
    np.testing.assert_array_equal(plain.predict_scores(TEXTS), kept.predict_scores(TEXTS))


SLOW_FIT = """
import sys, time
from pathlib import Path
import numpy as np
from piran.encoders.cache import kept_arrays, stage1_cache

def make():
    with open(sys.argv[1] + "/calls", "a") as file:
        file.write("made\\n")
    time.sleep(1.0)
    return {"values": np.ones(1)}

with stage1_cache(Path(sys.argv[1])):
    kept_arrays("rows", ["the same"], make)
"""


def test_processes_that_want_the_same_wait_for_the_first(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SLOW_FIT, str(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(2)]:
        assert process.wait(60) == 0
    assert (tmp_path / "calls").read_text() == "made\n"


@pytest.mark.parametrize("embeddings", ["random", "skipgram"])
def test_methods_with_the_same_stage_1_share_it(tmp_path: Path, embeddings: str) -> None:
    texts, labels = TEXTS * 4, [["red"], ["green"], ["red", "pie"], ["green"], ["red"], ["pie"]] * 4
    quick = {**Oltr.quick_settings, "embeddings": embeddings}
    alone = Oltr(tail=1, **quick).fit(texts, labels)
    with stage1_cache(tmp_path):
        PiranClassifier(tail=1, encoder=BiLstmEncoder(**quick)).fit(texts, labels)
    with stage1_cache(tmp_path) as savings:
        shared = Oltr(tail=1, **quick).fit(texts, labels)
    assert (savings.n_made, savings.n_found) == (0, 2)  # the encoder and its training instances
    np.testing.assert_array_equal(alone.predict_scores(TEXTS), shared.predict_scores(TEXTS))
    assert shared.history_ == alone.history_


def test_networks_share_word_vectors_that_were_learned(tmp_path: Path) -> None:
    token_ids = [np.array([2, 3, 4]), np.array([3, 2])]
    with stage1_cache(tmp_path) as savings:
        first, second, other = (
            initial_embeddings("skipgram", list("abcde"), dim=3, token_ids=token_ids, seed=seed)
            for seed in (0, 0, 1)
        )
    assert (savings.n_made, savings.n_found) == (2, 1)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
