"""The linear method: scikit-learn's margins as probabilities, from documents not trained on."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from piran import Documents, LabelSpace, load_method
from piran.encoders.ngrams import NgramVectorizer
from piran.errors import ModelFolderError, SettingError
from piran.experiments.settings import build_method
from piran.methods.linear import LinearClassifier
from small_corpus import TAIL, small_corpus, small_documents
from telling_words import seldom_telling

CORPUS = small_corpus()
TRAIN, TEST = CORPUS.train, CORPUS.test or small_documents()


def fitted(documents: Documents = TRAIN, **settings: object) -> LinearClassifier:
    method = build_method("linear", {"tail": 3, **settings})
    assert isinstance(method, LinearClassifier)
    return method.fit(documents.texts, documents.label_sets)


@pytest.fixture(scope="module")
def method() -> LinearClassifier:
    return fitted()


def test_labels_are_learned_also_in_the_tail(method: LinearClassifier) -> None:
    is_true = method.labels_.matrix(TEST.label_sets).toarray() > 0
    scores = method.predict_scores(TEST.texts)
    assert is_true[np.arange(len(TEST)), scores.argmax(axis=1)].mean() > 0.9
    for label in TAIL:
        column = method.labels_.names.index(label)
        assert scores[is_true[:, column], column].min() > scores[~is_true[:, column], column].max()


def test_margins_are_those_of_scikit_learn_on_all_documents() -> None:
    method = fitted(weight_tolerance=0.0)
    vectorizer = NgramVectorizer()
    features = vectorizer.fit_transform(TRAIN.texts)
    theirs = OneVsRestClassifier(LinearSVC(tol=1e-6, random_state=1))
    theirs.fit(features, method.labels_.matrix(TRAIN.label_sets).toarray().astype(int))
    expected = theirs.decision_function(vectorizer.transform(TEST.texts))
    np.testing.assert_allclose(method.svm_.margins(TEST.texts), expected, atol=1e-3)


def test_without_refit_the_validation_documents_teach_nothing() -> None:
    train, other = small_documents(0), small_documents(5, scale=0.5)
    wrong = Documents(other.texts, [("zeta",)] * len(other))
    labels = LabelSpace.from_label_sets(train.label_sets, tail=3)
    plain, misled, taught = (
        LinearClassifier(tail=3, refit=refit).fit(
            train.texts, train.label_sets, validation=validation, labels=labels
        )
        for validation, refit in ((other, False), (wrong, False), (wrong, True))
    )
    np.testing.assert_array_equal(plain.svm_.margins(TEST.texts), misled.svm_.margins(TEST.texts))
    assert not np.array_equal(plain.predict_scores(TEST.texts), misled.predict_scores(TEST.texts))
    assert (
        taught.svm_.margins(TEST.texts)[:, -1].mean() > plain.svm_.margins(TEST.texts)[:, -1].mean()
    )


def test_probabilities_hold_on_new_documents_though_no_label_is_sure() -> None:
    """Where a word tells its label in three of ten cases, a score beside it should be near 0.3."""
    train, test = seldom_telling(0, 1000), seldom_telling(1, 1000)
    method = LinearClassifier(tail=20).fit(train.texts, train.label_sets)
    scores = method.predict_scores(test.texts)
    rare = [method.labels_.names.index(f"rare-{number % 20:02d}") for number in range(1000)]
    beside = scores[np.arange(1000), rare]
    assert 0.2 < beside.mean() < 0.4
    elsewhere = (scores[:, method.labels_.is_tail].sum() - beside.sum()) / (1000 * 19)
    assert elsewhere < 0.02


def test_tuned_cut_offs_find_rare_labels_that_one_half_does_not() -> None:
    train, test = seldom_telling(0), seldom_telling(1, 1000)

    def macro_f1(thresholds: str) -> float:
        method = fitted(train, tail=20, thresholds=thresholds)
        is_true = method.labels_.matrix(test.label_sets).toarray() > 0
        predicted = method.thresholds_.predict(method.predict_scores(test.texts))
        return float(f1_score(is_true, predicted, average="macro", zero_division=0))

    assert macro_f1("groups") > macro_f1("half") + 0.05


def test_an_open_c_is_chosen_on_validation_documents() -> None:
    chosen = fitted(C=None)
    assert chosen.svm_.C in (0.1, 0.3, 1.0, 3.0, 10.0)
    again = fitted(C=chosen.svm_.C)
    np.testing.assert_array_equal(
        chosen.predict_scores(TEST.texts), again.predict_scores(TEST.texts)
    )
    assert fitted(C=2.0).svm_.C == 2.0


def test_a_label_without_a_training_document_scores_zero() -> None:
    labels = LabelSpace.from_label_sets(TRAIN.label_sets, tail=3, extra_names=["omega"])
    validation = small_documents(5, scale=0.3)
    validation = Documents([*validation.texts, "omega"], [*validation.label_sets, ("omega",)])
    method = LinearClassifier(tail=3).fit(
        TRAIN.texts, TRAIN.label_sets, validation=validation, labels=labels
    )
    scores = method.predict_scores(["omega", *TEST.texts])
    assert not scores[:, labels.names.index("omega")].any()
    assert scores.any(axis=0).sum() == len(labels) - 1


def test_texts_may_be_empty_and_documents_without_labels() -> None:
    documents = Documents(["", *TRAIN.texts, "noise1 noise2"], [(), *TRAIN.label_sets, ()])
    method = fitted(documents)
    scores = method.predict_scores(["", "zebra", TEST.texts[0]])
    np.testing.assert_array_equal(scores[0], scores[1])
    assert ((scores >= 0) & (scores <= 1)).all()
    assert method.predict_scores([]).shape == (0, len(method.labels_))


def test_a_loaded_method_gives_the_same_scores(method: LinearClassifier, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    loaded = load_method(tmp_path / "model")
    texts = [*TEST.texts, ""]
    np.testing.assert_array_equal(loaded.predict_scores(texts), method.predict_scores(texts))
    assert loaded.predict(texts) == method.predict(texts)
    assert loaded.settings() == method.settings()


def test_the_same_seed_gives_the_same_scores_alone_or_together(method: LinearClassifier) -> None:
    together = fitted().predict_scores(TEST.texts)
    np.testing.assert_array_equal(together, method.predict_scores(TEST.texts))
    alone = [method.predict_scores([text])[0] for text in TEST.texts[:10]]
    np.testing.assert_array_equal(together[:10], alone)


def test_small_weights_are_not_kept(method: LinearClassifier) -> None:
    full = fitted(weight_tolerance=0.0)
    assert method.svm_.rows.weights.nnz < full.svm_.rows.weights.nnz
    assert np.abs(method.svm_.rows.weights.data).min() > 0.01


@pytest.mark.parametrize("name", ["svm.safetensors", "svm.json"])
def test_a_folder_that_lacks_a_file_is_refused(
    method: LinearClassifier, tmp_path: Path, name: str
) -> None:
    method.save(tmp_path / "model")
    (tmp_path / "model" / name).unlink()
    with pytest.raises(ModelFolderError, match=f"{name} is missing"):
        load_method(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"vocabulary": ["a"]}, "holds no SVM"), ({"C": None}, "holds no SVM")],
)
def test_a_damaged_folder_is_refused(
    method: LinearClassifier, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    method.save(tmp_path / "model")
    path = tmp_path / "model" / "svm.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(ModelFolderError, match=message):
        load_method(tmp_path / "model")


def test_files_of_different_models_are_refused(method: LinearClassifier, tmp_path: Path) -> None:
    method.save(tmp_path / "model")
    other = Documents([*TRAIN.texts, "one more"], [*TRAIN.label_sets, ("omega",)])
    fitted(other).save(tmp_path / "other")
    for name in ("svm.json", "svm.safetensors"):
        (tmp_path / "other" / name).replace(tmp_path / "model" / name)
    with pytest.raises(ModelFolderError, match="its files are of different models"):
        load_method(tmp_path / "model")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("C", 0.0), ("C", -1.0), ("min_documents", 0), ("max_ngrams", 0), ("weight_tolerance", -0.1)],
)
def test_settings_out_of_range_are_refused(setting: str, value: float) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be .*, got {value}"):
        build_method("linear", {setting: value}).fit(TRAIN.texts, TRAIN.label_sets)
