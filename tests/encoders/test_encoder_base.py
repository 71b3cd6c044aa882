"""What every encoder shares."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from piran.encoders import LabelledTexts
from piran.errors import DataError


def test_texts_and_labels_must_match() -> None:
    with pytest.raises(DataError, match="1 texts stand beside 2 rows of labels"):
        LabelledTexts(["one"], csr_array(np.zeros((2, 3))))


def test_labelled_texts_have_a_length() -> None:
    assert len(LabelledTexts(["one", "two"], csr_array(np.zeros((2, 3))))) == 2


def test_documents_without_labels_can_be_left_out() -> None:
    targets = csr_array(np.array([[0, 1], [0, 0], [1, 1]], dtype=np.float32))
    labelled = LabelledTexts(["one", "two", "three"], targets).with_labels()
    assert labelled.texts == ["one", "three"]
    np.testing.assert_array_equal(labelled.targets.toarray(), [[0, 1], [1, 1]])
