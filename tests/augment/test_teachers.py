"""Head labels that teach a tail label: by likeness, by company, or all alike."""

from dataclasses import replace

import numpy as np
import pytest
from labelled import HEAD_IDS, labelled

from piran import PiranHead
from piran.augment.teachers import drawn_by_share, head_shares
from piran.errors import SettingError
from piran.types import FloatArray


def shares(choice: str) -> FloatArray:
    corpus = labelled()
    found = head_shares(choice, corpus.relations(), corpus.prototypes(), corpus.targets)
    assert found is not None
    return found


def test_by_default_all_head_labels_teach_alike() -> None:
    corpus = labelled()
    assert head_shares("all", corpus.relations(), corpus.prototypes(), corpus.targets) is None


def test_company_counts_documents_that_have_both_labels() -> None:
    dense = labelled().targets.toarray()
    counts = dense[:, 3:6].T @ dense[:, list(HEAD_IDS)] + 1 / 3
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares("together"), expected, rtol=1e-6)


def test_likeness_is_a_softmax_over_cosines_of_the_mean_documents() -> None:
    corpus = labelled()
    mean = {j: corpus.instances[corpus.documents_of(j)].mean(axis=0) for j in range(6)}
    tail, head = mean[4], mean[1]
    cosine = tail @ head / np.linalg.norm(tail) / np.linalg.norm(head)
    other = tail @ mean[2] / np.linalg.norm(tail) / np.linalg.norm(mean[2])
    found = shares("alike")
    assert found.shape == (3, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(found[1, 1] / found[1, 2]), (cosine - other) / 0.1, rtol=1e-6)


def test_relations_are_drawn_by_the_shares_and_evenly_within_a_label() -> None:
    relations = labelled().relations(n_pairs=20)
    drawn = drawn_by_share(relations, np.array([0.0, 0.75, 0.25]), 4000, np.random.default_rng(0))
    of_label = np.bincount(relations.label_ids[drawn], minlength=3)
    np.testing.assert_allclose(of_label / 4000, [0, 0.75, 0.25], atol=0.03)
    within = np.bincount(drawn[relations.label_ids[drawn] == 1], minlength=40)[20:40]
    assert within.min() > 90  # 150 each on average


def test_a_source_with_shares_generates_from_those_head_labels_alone() -> None:
    source = labelled().source()
    assert source.relations is not None
    only = np.tile([0.0, 0.0, 1.0], (3, 1))
    generated = replace(source, shares=only).generate(np.array([2]))[0]
    own = source.relations.values[source.relations.label_ids == 2]
    possible = (source.prototypes.means()[2] + own) @ source.generator.transfer.T
    for instance in generated:
        assert np.isclose(possible, instance).all(axis=1).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"relation_choice": "some"}, "relation_choice must be one of all, alike, together, got"),
        ({"generations": "many"}, "generations must be one of drawn, expected, got 'many'"),
        ({"generations": "expected", "relation_choice": "alike"}, "set relation_choice to 'all'"),
        ({"relation_scale": 0.0}, r"relation_scale must be above 0, got 0\.0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_fitted(
    settings: dict[str, str | float], message: str
) -> None:
    corpus = labelled()
    with pytest.raises(SettingError, match=message):
        PiranHead(**settings).fit(corpus.instances, corpus.targets)  # type: ignore[arg-type]


def test_each_setting_changes_the_tail_rows_and_no_others() -> None:
    corpus = labelled()

    def rows(**settings: str | float) -> FloatArray:
        head = PiranHead(tail=4, n_prototype_documents=3, **settings)  # type: ignore[arg-type]
        return head.fit(corpus.instances, corpus.targets).rows_.rows

    plain = rows()
    for settings in (
        {"relation_choice": "alike"},
        {"relation_choice": "together"},
        {"relation_scale": 0.5},
        {"is_variance_centred": True, "n_directions": 2},
        {"generations": "expected"},
    ):
        changed = rows(**settings)
        np.testing.assert_array_equal(changed[:3], plain[:3])
        assert not np.allclose(changed[3:6], plain[3:6], atol=1e-4)


def test_single_instances_can_be_looked_at_though_the_expected_loss_draws_none() -> None:
    corpus = labelled()
    head = PiranHead(tail=4, n_prototype_documents=3, generations="expected")
    head.fit(corpus.instances, corpus.targets)
    source = head.generation_source(corpus.instances, corpus.targets)
    assert source is not None
    last = source.generate(np.array([2]))[0]  # of a label with one document, so with one prototype
    assert len(np.unique(last.round(6), axis=0)) > 10
