"""The t-tests against the p-values that the paper prints."""

import pytest
from scipy.stats import ttest_ind

from piran.errors import DataError
from piran.metrics import compare_runs

# The paper's Table 5: F1 of five runs, PIRAN then the strongest baseline, and the printed p-value.
TABLE_5 = {
    "AAPD": ([69.32, 69.89, 70.17, 69.69, 69.98], [68.77, 68.85, 68.91, 68.56, 68.86], "0.00019"),
    "RCV1": ([79.75, 79.93, 79.88, 79.73, 79.91], [79.48, 79.64, 79.55, 79.44, 79.49], "0.00037"),
    "EUR-Lex": (
        [54.79, 54.87, 54.36, 54.45, 54.93],
        [53.56, 53.78, 53.21, 53.29, 52.86],
        "0.00013",
    ),
}
WELCH = {"AAPD": 0.00097, "RCV1": 0.00041, "EUR-Lex": 0.00019}


@pytest.mark.parametrize("dataset", TABLE_5)
def test_the_pooled_test_gives_the_papers_p_values(dataset: str) -> None:
    piran, baseline, printed = TABLE_5[dataset]
    assert f"{compare_runs(piran, baseline).pooled_p:.5f}" == printed


@pytest.mark.parametrize("dataset", TABLE_5)
def test_both_tests_equal_scipy(dataset: str) -> None:
    piran, baseline, _ = TABLE_5[dataset]
    comparison = compare_runs(piran, baseline)
    assert comparison.pooled_p == pytest.approx(ttest_ind(piran, baseline).pvalue)
    welch = ttest_ind(piran, baseline, equal_var=False).pvalue
    assert comparison.welch_p == pytest.approx(welch)
    assert comparison.welch_p == pytest.approx(WELCH[dataset], abs=5e-6)


def test_the_difference_is_first_minus_second() -> None:
    assert compare_runs([3.0, 5.0], [1.0, 2.0]).difference == pytest.approx(2.5)


def test_systems_without_a_spread_have_no_p_value() -> None:
    comparison = compare_runs([53.3] * 3, [53.4] * 3)
    assert comparison.difference == pytest.approx(-0.1)
    assert comparison.pooled_p is comparison.welch_p is None


def test_one_constant_system_is_enough_for_a_test() -> None:
    comparison = compare_runs([53.3] * 3, [53.4, 53.5, 53.6])
    assert comparison.pooled_p is not None
    assert 0 < comparison.pooled_p < 1


def test_a_single_run_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="2 or more runs of each system, got 1 and 3"):
        compare_runs([1.0], [1.0, 2.0, 3.0])
