"""Views beside the rows: other documents and label texts, weighed on documents unknown to them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piran import PiranClassifier
from piran.data.corpus import Documents
from piran.data.labels import LabelSpace
from piran.encoders.base import LabelledTexts
from piran.encoders.bilstm import BiLstmEncoder
from piran.encoders.ngrams import NgramVectorizer
from piran.encoders.tfidf import TfidfEncoder
from piran.errors import ModelFolderError, SettingError
from piran.methods.base import Judged
from piran.methods.fusion import Fusion, gain_of_mean
from piran.methods.views import (
    DOCUMENTS,
    LABEL_TEXTS,
    LABEL_WORDS,
    ROWS,
    VIEWS,
    LabelLikeness,
    SharedWords,
)
from piran.types import BoolArray, FloatArray
from small_corpus import small_corpus, small_documents


def fitted(
    views: Sequence[str] = VIEWS,
    descriptions: dict[str, str] | None = None,
    *,
    has_companions: bool = True,
) -> PiranClassifier:
    train = small_documents(0)
    labels = LabelSpace.from_label_sets(train.label_sets, tail=3, descriptions=descriptions)
    method = PiranClassifier(tail=3, views=views, has_companions=has_companions)
    return method.fit(train.texts, train.label_sets, labels=labels)


@pytest.fixture(scope="module")
def method() -> PiranClassifier:
    return fitted()


def test_without_views_scores_are_those_of_the_rows() -> None:
    plain = fitted(views=(), has_companions=False)
    texts = small_documents(1).texts
    expected = plain.rows_.probabilities(plain.encoder_.encode(texts))
    np.testing.assert_array_equal(plain.predict_scores(texts), expected)


def test_views_find_the_labels_of_new_documents(method: PiranClassifier) -> None:
    assert method.predict(["alpha1 alpha4 alpha7 noise1"]) == [("alpha",)]
    assert method.predict(["zeta1 zeta4 zeta7 zeta2 noise1"]) == [("zeta",)]


def test_a_model_with_views_is_the_same_after_loading(
    method: PiranClassifier, tmp_path: Path
) -> None:
    texts = small_documents(2).texts
    method.save(tmp_path / "model")
    again = PiranClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_scores(texts), method.predict_scores(texts), rtol=1e-5)
    (tmp_path / "model" / "fusion.safetensors").unlink()
    with pytest.raises(ModelFolderError, match="fusion"):
        PiranClassifier.load(tmp_path / "model")


def test_companions_are_the_same_after_loading(tmp_path: Path) -> None:
    margins, is_true, labels = together()
    fusion, _ = Fusion.fit(margins, labels.matrix(_sets(is_true)), labels, has_companions=True)
    assert fusion.second_look is not None
    fusion.save(tmp_path)
    again = Fusion.load(tmp_path)
    np.testing.assert_array_equal(again.probabilities(margins), fusion.probabilities(margins))


def test_a_damaged_view_is_named_once(method: PiranClassifier, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    kept = tmp_path / "model" / "documents.safetensors"
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.raises(ModelFolderError) as caught:
        PiranClassifier.load(tmp_path / "model")
    assert str(caught.value).startswith(f"{kept} is damaged")


def test_a_saved_view_that_is_not_known_is_refused(method: PiranClassifier, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    state = tmp_path / "model" / "model.json"
    state.write_text(state.read_text().replace('"documents"', '"words"'))
    with pytest.raises(ModelFolderError, match=r"Unknown view 'words'.*Train it again"):
        PiranClassifier.load(tmp_path / "model")


def test_the_same_seed_gives_the_same_scores(method: PiranClassifier) -> None:
    texts = small_documents(2).texts
    np.testing.assert_array_equal(fitted().predict_scores(texts), method.predict_scores(texts))


def test_references_share_views_and_probabilities(method: PiranClassifier) -> None:
    blend = method.blend_
    assert blend is not None
    fusion = blend.fusion
    rows_count = {**fusion.weights, ROWS: np.ones(len(method.labels_))}
    alone = Fusion(rows_count, fusion.calibration)  # without companions, which mix labels
    method.blend_ = replace(blend, fusion=alone)
    scores = method.system_scores(small_documents(3).texts)
    method.blend_ = blend
    head = method.labels_.is_head
    np.testing.assert_array_equal(scores["piran"][:, head], scores["no-aug"][:, head])
    assert not np.allclose(scores["piran"][:, ~head], scores["no-aug"][:, ~head])


def test_more_documents_than_together_are_solved_in_parts() -> None:
    train = small_documents(0)
    method = PiranClassifier(tail=3, views=(DOCUMENTS,), max_together=len(train) // 2)
    method.fit(train.texts, train.label_sets)
    assert method.blend_ is not None
    assert method.blend_.views.documents is not None
    assert len(method.blend_.views.documents.ridge.parts) == 2
    with pytest.raises(SettingError, match="max_together must be at least 1, got 0"):
        PiranClassifier(max_together=0).fit(train.texts, train.label_sets)


def test_companions_without_views_are_refused() -> None:
    with pytest.raises(SettingError, match="has_companions needs views"):
        fitted(views=())


def together() -> tuple[dict[str, FloatArray], BoolArray, LabelSpace]:
    """Return made margins with a label of which they know little, but that follows the first."""
    margins, is_true, labels = made_margins(1200)
    is_true[:, 1] = is_true[:, 0]
    margins[DOCUMENTS][:, 1] = np.random.default_rng(1).normal(size=len(is_true))
    return margins, is_true, labels


def test_companions_know_a_label_by_its_company() -> None:
    margins, is_true, labels = together()
    first = {view: values[:800] for view, values in margins.items()}
    rest = {view: values[800:] for view, values in margins.items()}
    targets = labels.matrix(_sets(is_true[:800]))

    def error(*, has_companions: bool) -> float:
        fusion, _ = Fusion.fit(first, targets, labels, has_companions=has_companions)
        return float(np.abs(fusion.probabilities(rest) - is_true[800:])[:, 1].mean())

    assert error(has_companions=True) < 0.6 * error(has_companions=False)


def test_companions_change_nothing_where_labels_keep_no_company() -> None:
    margins, is_true, labels = made_margins(400)
    targets = labels.matrix(_sets(is_true))
    plain, _ = Fusion.fit(margins, targets, labels)
    with_companions, judge = Fusion.fit(margins, targets, labels, has_companions=True)
    assert with_companions.second_look is None
    expected = plain.probabilities(margins)
    np.testing.assert_array_equal(with_companions.probabilities(margins), expected)
    np.testing.assert_array_equal(judge(margins), expected)


def test_companions_of_few_documents_are_nobody() -> None:
    margins, is_true, labels = made_margins(15)
    fusion, judge = Fusion.fit(margins, labels.matrix(_sets(is_true)), labels, has_companions=True)
    assert fusion.second_look is None
    np.testing.assert_array_equal(judge(margins), fusion.probabilities(margins))


def test_judged_documents_do_not_speak_for_themselves() -> None:
    margins, is_true, labels = together()
    few = {view: values[:100] for view, values in margins.items()}
    targets = labels.matrix(_sets(is_true[:100]))
    fusion, judge = Fusion.fit(few, targets, labels, has_companions=True)

    def loss(scores: FloatArray) -> float:
        return float(np.square(scores - is_true[:100]).mean())

    assert loss(fusion.probabilities(few)) < loss(judge(few))


def test_rare_labels_are_left_alone_by_companions() -> None:
    margins, is_true, labels = together()
    is_true[10:, 7] = False  # ten documents are too few
    targets = labels.matrix(_sets(is_true))
    alone = Fusion.fit(margins, targets, labels)[0].probabilities(margins)
    found = Fusion.fit(margins, targets, labels, has_companions=True)[0].probabilities(margins)
    np.testing.assert_array_equal(found[:, 7], alone[:, 7])
    assert not np.allclose(found[:, 1], alone[:, 1])


def test_an_unknown_view_is_named_before_anything_is_learned() -> None:
    with pytest.raises(SettingError, match=r"Unknown view 'document'\. Did you mean 'documents'"):
        fitted(views=("document",))


def test_likeness_is_the_cosine_about_both_means() -> None:
    documents = np.array([[3.0, 1.0], [1.0, 3.0]])  # mean (2, 2)
    labels = np.array([[1.0, 0.0], [0.0, 1.0]])  # mean (½, ½)
    likeness = LabelLikeness.of(documents, labels)
    found = likeness.margins(np.array([[3.0, 1.0], [2.0, 2.0], [3.0, 2.0]]))
    np.testing.assert_allclose(found, [[1, -1], [0, 0], [0.5**0.5, -(0.5**0.5)]], atol=1e-12)


def test_shared_words_count_by_how_rare_they_are() -> None:
    ngrams = NgramVectorizer(min_documents=1)
    words = ngrams.fit_transform(["cocoa rises", "cocoa falls", "sugar rises", "tin"])
    labels = LabelSpace.from_label_sets([["cocoa", "sugar", "jet-fuel"]])
    assert labels.names == ("cocoa", "jet-fuel", "sugar")
    found = SharedWords.of(labels, ngrams).margins(words)
    once, twice = np.log(5 / 2) + 1, np.log(5 / 3) + 1  # weights of what one and two of four have
    expected = np.zeros((4, 3))
    expected[:2, 0] = (twice / (twice**2 + once**2 + np.array([twice, once]) ** 2) ** 0.5) ** 0.5
    expected[2, 2] = (once / (once**2 + twice**2 + once**2) ** 0.5) ** 0.5
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("views", [(LABEL_WORDS,), (LABEL_TEXTS, LABEL_WORDS)])
def test_words_of_a_label_are_of_use_without_other_documents(views: Sequence[str]) -> None:
    method, new = with_unseen_label(views)
    near, far = method.predict_scores(["gamma1 gamma2 gamma5 gamma6", "alpha1 alpha3"])[:, new]
    assert near > 2 * far > 0


def made_margins(n_documents: int = 400) -> tuple[dict[str, FloatArray], BoolArray, LabelSpace]:
    """Documents that know head labels, rows that know tail labels, and label texts that know nothing."""
    random = np.random.default_rng(0)
    is_true = random.random((n_documents, 8)) < [0.4, 0.4, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1]
    sign = 2.0 * is_true - 1
    noise = {name: random.normal(size=is_true.shape) for name in (ROWS, DOCUMENTS, LABEL_TEXTS)}
    is_tail = np.arange(8) >= 4
    documents = np.where(is_tail, noise[DOCUMENTS], sign + 0.5 * noise[DOCUMENTS])
    rows = np.where(is_tail, sign + 0.5 * noise[ROWS], noise[ROWS])
    counts = np.array([40, 40, 30, 30, 4, 4, 4, 4])
    labels = LabelSpace(tuple("abcdefgh"), counts, is_tail)
    return {ROWS: rows, DOCUMENTS: documents, LABEL_TEXTS: noise[LABEL_TEXTS]}, is_true, labels


def test_each_group_of_labels_weighs_the_views_by_what_they_know() -> None:
    margins, is_true, labels = made_margins()
    weights = Fusion.fit(margins, labels.matrix(_sets(is_true)), labels)[0].weights
    assert set(weights[DOCUMENTS]) == {1.0}
    assert (weights[ROWS][:4] < 0.05).all()
    assert (weights[ROWS][4:] > 3).all()
    assert (weights[LABEL_TEXTS] < 0.1).all()


def test_the_mean_of_several_members_counts_more_than_one() -> None:
    margins, is_true, labels = made_margins()
    targets = labels.matrix(_sets(is_true))
    one, three = (Fusion.fit(margins, targets, labels, n_members=n)[0] for n in (1, 3))
    assert one.weights[ROWS].min() > 0
    np.testing.assert_allclose(three.weights[ROWS], 1.5 * one.weights[ROWS])
    np.testing.assert_array_equal(three.weights[DOCUMENTS], one.weights[DOCUMENTS])


def test_the_gain_of_a_mean_is_that_of_the_best_weights() -> None:
    random = np.random.default_rng(0)
    truth = random.normal(size=200_000)
    said = truth + random.normal(size=(3, 200_000))  # half of each spread is its own
    best = [(of @ truth) / (of @ of) for of in (said[0], said[:2].mean(axis=0), said.mean(axis=0))]
    expected = [gain_of_mean(2), gain_of_mean(3)]
    assert gain_of_mean(1) == 1
    np.testing.assert_allclose([best[1] / best[0], best[2] / best[0]], expected, rtol=0.01)


def test_rows_lead_where_documents_are_no_view() -> None:
    margins, is_true, labels = made_margins()
    del margins[DOCUMENTS]
    weights = Fusion.fit(margins, labels.matrix(_sets(is_true)), labels)[0].weights
    assert set(weights[ROWS]) == {1.0}


def test_a_summary_has_the_weight_of_each_view_for_each_group() -> None:
    margins, is_true, labels = together()
    targets = labels.matrix(_sets(is_true))
    fusion, _ = Fusion.fit(margins, targets, labels, has_companions=True)
    summary = fusion.summary(labels)
    assert summary[DOCUMENTS] == {"head": 1.0, "tail": 1.0}
    assert summary[ROWS]["tail"] == pytest.approx(fusion.weights[ROWS][-1], abs=1e-4)
    assert summary["companions"] == {"head": 4, "tail": 4, "unseen": 0}
    assert "companions" not in Fusion.fit(margins, targets, labels)[0].summary(labels)


def test_the_scale_of_rows_changes_no_probability() -> None:
    margins, is_true, labels = made_margins()
    targets = labels.matrix(_sets(is_true))
    longer = {**margins, ROWS: 8 * margins[ROWS]}
    np.testing.assert_allclose(
        Fusion.fit(longer, targets, labels)[0].probabilities(longer),
        Fusion.fit(margins, targets, labels)[0].probabilities(margins),
        atol=1e-4,
    )


def test_probabilities_are_those_of_the_truth() -> None:
    margins, is_true, labels = made_margins(20_000)
    half = {view: values[:2000] for view, values in margins.items()}
    fusion, _ = Fusion.fit(half, labels.matrix(_sets(is_true[:2000])), labels)
    scores = fusion.probabilities({view: values[2000:] for view, values in margins.items()})
    for low, high in ((0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        inside = (scores >= low) & (scores < high)
        assert abs(is_true[2000:][inside].mean() - scores[inside].mean()) < 0.05


@given(st.integers(0, 2**16))
def test_a_higher_margin_of_a_view_never_lowers_a_probability(seed: int) -> None:
    margins, is_true, labels = made_margins(60)
    fusion, _ = Fusion.fit(margins, labels.matrix(_sets(is_true)), labels)
    more = np.random.default_rng(seed).exponential(size=is_true.shape)
    raised = {**margins, ROWS: margins[ROWS] + more}
    assert (fusion.probabilities(raised) >= fusion.probabilities(margins) - 1e-6).all()


def with_unseen_label(views: Sequence[str]) -> tuple[PiranClassifier, int]:
    """Return a method with a label for words of gamma that no document has, and its number."""
    train = small_documents(0)
    descriptions = {name: f"{name}1 {name}2 {name}3 {name}4" for name in ("alpha", "beta", "gamma")}
    descriptions |= {
        "delta": "delta1 delta2 delta3",
        "epsilon": "epsilon1 epsilon3",
        "zeta": "zeta4",
        "new": "gamma1 gamma2 gamma3 gamma4 gamma5 gamma6",
    }
    labels = LabelSpace.from_label_sets(
        train.label_sets, tail=3, extra_names=["new"], descriptions=descriptions
    )
    method = PiranClassifier(tail=3, views=views).fit(train.texts, train.label_sets, labels=labels)
    return method, method.labels_.names.index("new")


def test_a_label_without_documents_is_scored_by_its_text_alone() -> None:
    method, new = with_unseen_label(VIEWS)
    assert method.blend_ is not None
    weights = {view: values[new] for view, values in method.blend_.fusion.weights.items()}
    assert weights[LABEL_WORDS] > 0
    assert {**weights, LABEL_WORDS: 0.0} == {
        ROWS: 0.0,
        DOCUMENTS: 0.0,
        LABEL_TEXTS: 1.0,
        LABEL_WORDS: 0.0,
    }
    texts = ["gamma1 gamma2 gamma5 gamma6", "alpha1 alpha3 alpha4"]
    near, far = method.predict_scores(texts)[:, new]
    assert near > 2 * far > 0


def test_without_texts_a_label_without_documents_scores_0() -> None:
    method, new = with_unseen_label((DOCUMENTS,))
    assert not method.predict_scores(["gamma1 gamma2 gamma5 gamma6"])[:, new].any()


def test_an_unseen_label_leaves_the_probabilities_of_others_alone() -> None:
    margins, is_true, labels = made_margins(60)
    alone, _ = Fusion.fit(margins, labels.matrix(_sets(is_true)), labels)
    more = {view: np.hstack([values, values[:, :1]]) for view, values in margins.items()}
    space = LabelSpace(
        (*labels.names, "new"), np.append(labels.counts, 0), np.append(labels.is_tail, False)
    )
    beside = Fusion.fit(more, space.matrix(_sets(is_true)), space)[0].probabilities(more)
    assert beside.shape[1] == len(labels) + 1
    np.testing.assert_allclose(beside[:, :-1], alone.probabilities(margins), rtol=1e-5)


def test_a_corpus_tells_its_labels_what_they_mean() -> None:
    corpus = small_corpus()
    corpus.label_descriptions["zeta"] = "The last but two"
    assert corpus.label_space().texts()[-1] == "zeta. The last but two"


def test_every_document_judges_unless_others_are_given_to() -> None:
    train, others = small_documents(0), small_documents(4)
    by_all = tuned_on(PiranClassifier(tail=3, views=VIEWS), train)
    assert by_all == len(train)
    by_others = tuned_on(PiranClassifier(tail=3, views=VIEWS), train, others)
    assert by_others == len(others)


def test_folds_leave_the_rows_as_they_are() -> None:
    train = small_documents(0)
    alone = PiranClassifier(tail=3, refit=False).fit(train.texts, train.label_sets)
    beside = PiranClassifier(tail=3, refit=False, views=VIEWS).fit(train.texts, train.label_sets)
    np.testing.assert_array_equal(beside.rows_.rows, alone.rows_.rows)


def tuned_on(method: PiranClassifier, train: Documents, others: Documents | None = None) -> int:
    """Return on how many documents cut-offs are chosen."""
    seen = []
    calibrate = method._calibrate

    def watched(*documents: LabelledTexts, is_slice: bool) -> Judged:
        judged = calibrate(*documents, is_slice=is_slice)
        seen.append(judged.targets.shape[0])
        assert all(scores.shape == judged.targets.shape for scores in judged.scores.values())
        return judged

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "_calibrate", watched)
        method.fit(train.texts, train.label_sets, validation=others)
    return int(seen[0])


def test_views_do_not_learn_from_what_a_trained_encoder_saw(tmp_path: Path) -> None:
    train = small_documents(0)
    encoder = BiLstmEncoder(**{**BiLstmEncoder.quick_settings, "max_epochs": 1})
    trained = PiranClassifier(encoder=encoder, tail=3, views=VIEWS)
    trained.fit(train.texts, train.label_sets)
    assert trained.blend_ is not None
    assert isinstance(trained.blend_.encoder, TfidfEncoder)
    trained.save(tmp_path / "model")
    again = PiranClassifier.load(tmp_path / "model")
    texts = small_documents(5).texts
    np.testing.assert_allclose(
        again.predict_scores(texts), trained.predict_scores(texts), rtol=1e-4
    )


def _sets(is_true: BoolArray) -> list[tuple[str, ...]]:
    return [tuple("abcdefgh"[label] for label in np.flatnonzero(row)) for row in is_true]
