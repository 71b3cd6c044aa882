"""The figures of a suite: their data worked out by hand, and every one of them drawn."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from made_suite import comparison_records, made_record, write_made_suite
from piran.errors import SettingError
from piran.experiments.ablation import ablation_runs
from piran.experiments.results import SuiteResults, read_results
from piran.plots.ablation import ablation_data, draw_ablation
from piran.plots.f1_by_frequency import FrequencyBin
from piran.plots.methods_by_frequency import (
    EDGES,
    SIZE,
    draw_methods_by_frequency,
    methods_by_frequency_data,
)
from piran.plots.sensitivity import SensitivityCurve, draw_sensitivity, sensitivity_data
from piran.plots.setting_grid import SettingGrid, draw_setting_grid, setting_grid_data
from piran.plots.style import new_figure
from piran.plots.suite_figures import KINDS, save_figure, suite_figures
from piran.plots.win_loss import draw_win_loss, win_loss_data

TAIL = "tail_f1_at_0.5"


@pytest.fixture
def results(tmp_path: Path) -> SuiteResults:
    """Three methods' worth of runs, a sweep over p and a grid over β and γ."""
    records = comparison_records()
    sweeps: dict[str, tuple[str, dict[str, float]]] = {}
    for p in (20, 10):
        name = f"generations@{p}"
        sweeps[name] = ("generations", {"n_generated": p})
        records += [
            made_record(name, seed, {"piran": {TAIL: p + 2.0 * seed}}, method="piran")
            for seed in (0, 1)
        ]
    for beta in (0.0, 1.0):
        for gamma in (0.1, 0.5):
            name = f"weights@{beta},{gamma}"
            sweeps[name] = ("weights", {"variance_weight": beta, "diversity_weight": gamma})
            systems = {"piran": {TAIL: 30 + 10 * beta + gamma}}
            records.append(made_record(name, 0, systems, method="piran"))
    return read_results(write_made_suite(tmp_path, records, sweeps=sweeps))


def test_ablation_bars_carry_mean_and_spread(results: SuiteResults) -> None:
    bars = ablation_data(ablation_runs(results.datasets[0], "piran"), TAIL)
    assert [(bar.name, bar.mean, bar.is_whole) for bar in bars] == [
        ("No-Aug", 10.0, False),
        ("Complete", 31.0, True),
    ]
    assert bars[1].deviation == pytest.approx(1.0)
    ax = draw_ablation(bars)
    assert [text.get_text() for text in ax.texts] == ["10.0 ± 0.0", "31.0 ± 1.0"]
    assert len(ax.containers) == 3, "bars, and an error bar for each of them"
    assert [patch.get_x() for patch in ax.patches] == [0, 0], "bars begin at zero"  # type: ignore[attr-defined]


def test_a_single_seed_has_no_error_bar(tmp_path: Path) -> None:
    results = read_results(write_made_suite(tmp_path, comparison_records()[:1]))
    ax = draw_ablation(ablation_data(ablation_runs(results.datasets[0], "piran"), TAIL))
    assert [text.get_text() for text in ax.texts] == ["10.0", "30.0"]
    assert len(ax.containers) == 1, "the bars alone"


def test_the_numbers_beside_the_bars_lie_within_the_figure(results: SuiteResults) -> None:
    bars = ablation_data(ablation_runs(results.datasets[0], "piran"), TAIL)
    ax = draw_ablation(bars)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    right = ax.get_window_extent().x1
    assert max(text.get_window_extent().x1 for text in ax.texts) <= right


def test_a_band_does_not_leave_what_is_possible() -> None:
    curve = SensitivityCurve("piran", "p", TAIL, (1.0, 2.0), ("1", "2"), (1.0, 99.0), (3.0, 3.0))
    (band,) = draw_sensitivity(curve).collections
    heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert (heights.min(), heights.max()) == (0.0, 100.0)


def test_a_sensitivity_curve_is_in_the_order_of_its_values(results: SuiteResults) -> None:
    curve = sensitivity_data(results.datasets[0].sweeps["generations"], TAIL, reference=10.0)
    assert curve.values == (10.0, 20.0)
    assert curve.means == (11.0, 21.0)
    assert curve.deviations == pytest.approx((2**0.5, 2**0.5))
    ax = draw_sensitivity(curve)
    assert ax.get_xlabel() == "p, generations a tail label"
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["PIRAN", "No-Aug"]


def test_a_sweep_of_another_method_has_its_name_and_no_no_aug(tmp_path: Path) -> None:
    records = [
        *comparison_records(),
        *(made_record(f"C@{C}", 0, {"linear": {}}, method="linear") for C in (1, 3)),
    ]
    sweeps = {f"C@{C}": ("C", {"C": C}) for C in (1, 3)}
    results = read_results(write_made_suite(tmp_path / "C", records, sweeps=sweeps))
    (figure, _) = suite_figures(results, ["sensitivity"])
    ax = Figure().add_subplot()
    figure.draw(ax)
    assert [line.get_label() for line in ax.lines] == ["Linear"]


def no_aug_lines(results: SuiteResults, name: str) -> list[float]:
    """Draw a figure and return where it has a line for No-Aug."""
    (figure,) = [one for one in suite_figures(results) if one.name == name]
    ax = Figure().add_subplot()
    figure.draw(ax)
    lines = [line for line in ax.lines if line.get_label() == "No-Aug"]
    return [float(np.asarray(line.get_ydata())[0]) for line in lines]


def test_no_aug_is_averaged_over_the_seeds_of_the_sweep(results: SuiteResults) -> None:
    # 69.0, 69.1 and 69.2; the sweep has the first two seeds
    lines = no_aug_lines(results, "sensitivity-generations-mine-micro-f1")
    assert lines == pytest.approx([69.05])


def test_a_sweep_of_another_cell_has_no_no_aug_of_the_main_one(tmp_path: Path) -> None:
    records, sweeps = comparison_records(), {}
    for p in (10, 20):
        settings = {"seed": 0, "l2": 0.7, "n_generated": p}
        records.append(made_record(f"p@{p}", 0, {"piran": {}}, method="piran", settings=settings))
        sweeps[f"p@{p}"] = ("p", {"n_generated": p})
    results = read_results(write_made_suite(tmp_path, records, sweeps=sweeps))
    assert no_aug_lines(results, "sensitivity-p-mine-micro-f1") == []


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ((True, False), ("yes", "no")),
        (("tfidf", "bilstm"), ("tfidf", "bilstm")),
        ((0.001, 0.01, 1.0), ("0.001", "0.01", "1")),  # their names would overlap
    ],
)
def test_values_that_are_no_places_on_an_axis_stand_side_by_side(
    tmp_path: Path, values: tuple[object, ...], names: tuple[str, ...]
) -> None:
    sweeps = {f"s@{value}": ("s", {"setting": value}) for value in values}
    records = [made_record(name, 0, {"piran": {}}, method="piran") for name in sweeps]
    (dataset,) = read_results(write_made_suite(tmp_path, records, sweeps=sweeps)).datasets
    curve = sensitivity_data(dataset.sweeps["s"], TAIL)
    assert (curve.values, curve.names) == (tuple(range(len(names))), names)
    assert [tick.get_text() for tick in draw_sensitivity(curve).get_xticklabels()] == list(names)


def test_a_grid_has_the_first_setting_in_its_rows(results: SuiteResults) -> None:
    grid = setting_grid_data(results.datasets[0].sweeps["weights"], TAIL)
    np.testing.assert_allclose(grid.means, [[30.1, 30.5], [40.1, 40.5]])
    ax = draw_setting_grid(grid)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("β, weight of L_var", "γ, weight of L_div")
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["40.5"]


def test_where_all_of_a_grid_is_the_same_nothing_is_best() -> None:
    same = SettingGrid(("a", "b"), (1,), (1, 2), np.array([[7.01, 7.02]], dtype=np.float32), TAIL)
    assert not [t for t in draw_setting_grid(same).texts if t.get_fontweight() == "bold"]


def test_f1_by_frequency_is_averaged_over_labels_then_seeds(results: SuiteResults) -> None:
    bins = methods_by_frequency_data(results.datasets[0].systems(["no-aug"]))
    assert [(row.name, row.n_labels) for row in bins] == [
        ("1", 1),
        ("3–5", 1),
        ("11–20", 1),
        ("21–50", 1),
    ]
    assert bins[0].f1 == {"PIRAN: No-Aug": 10.0, "PIRAN": 31.0, "HTTN": 20.0}
    ax = draw_methods_by_frequency(bins, "PIRAN")
    widths = {line.get_label(): line.get_linewidth() for line in ax.lines}
    assert max(widths, key=lambda name: widths[name]) == "PIRAN"


def test_no_two_methods_look_the_same() -> None:
    names = [f"method {number}" for number in range(11)]
    rows = [FrequencyBin(301, 1000, 5, dict.fromkeys(names, 1.0))]
    ax = draw_methods_by_frequency(rows, "PIRAN")
    looks = {(line.get_color(), str(line._dash_pattern)) for line in ax.lines}  # type: ignore[attr-defined]
    assert len(looks) == len(names), "a colour returns with another line, not with the marker alone"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["301–1k\n(5)"]


def test_ticks_of_many_bins_do_not_touch_beside_long_names() -> None:
    names = [f"relations-of-document-{number}" for number in range(8)]
    ranges = itertools.pairwise(EDGES[:13])
    rows = [FrequencyBin(first, end - 1, 100, dict.fromkeys(names, 1.0)) for first, end in ranges]
    figure = new_figure(SIZE)
    ax = draw_methods_by_frequency(rows, names[0], figure.add_subplot())
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_wins_need_significance(results: SuiteResults) -> None:
    data = win_loss_data(results, metrics=["P@1", TAIL, "nDCG@5"])
    # P@1: 80, 81, 82 against 79, 79, 79 is p = 0.03 and tail F1 is clear; nDCG@5 is the same
    assert data.names == ("PIRAN", "HTTN")
    assert data.wins.tolist() == [[0, 2], [0, 0]]
    assert data.contests.tolist() == [[0, 3], [3, 0]]
    ax = draw_win_loss(data)
    assert [text.get_text() for text in ax.texts] == ["2–0", "0–2"]


def test_methods_with_one_seed_are_not_compared(tmp_path: Path) -> None:
    results = read_results(write_made_suite(tmp_path, comparison_records()[:2]))
    assert not win_loss_data(results).contests.any()


def test_methods_with_one_seed_take_no_room_among_the_others(tmp_path: Path) -> None:
    records = [*comparison_records(), made_record("leap", 0, {"leap": {}})]
    data = win_loss_data(read_results(write_made_suite(tmp_path, records)))
    assert data.names == ("PIRAN", "HTTN")
    assert data.wins.shape == data.contests.shape == (2, 2)


def test_every_kind_of_figure_becomes_files(results: SuiteResults, tmp_path: Path) -> None:
    figures = suite_figures(results)
    assert {figure.kind for figure in figures} == set(KINDS)
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    for figure in figures:
        svg, png = save_figure(figure, tmp_path / "figures")
        assert re.search("<svg", svg.read_text())
        assert png.read_bytes().startswith(b"\x89PNG")


def test_the_same_figure_gives_the_same_file(results: SuiteResults, tmp_path: Path) -> None:
    (figure, *_) = suite_figures(results, ["ablation"])
    first, second = (
        save_figure(figure, tmp_path / name, ["svg"])[0].read_bytes() for name in ("one", "two")
    )
    assert first == second


def test_an_unknown_format_is_refused(results: SuiteResults, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="Figures can be svg, png or pdf, got 'docx'"):
        save_figure(suite_figures(results)[0], tmp_path, ["docx"])


def test_tail_f1_is_not_drawn_where_the_tail_itself_changes(tmp_path: Path) -> None:
    records = [made_record(f"h@{n}", 0, {"piran": {}}, method="piran") for n in (2, 3)]
    sweeps = {f"h@{n}": ("h", {"n_head_labels": n}) for n in (2, 3)}
    results = read_results(write_made_suite(tmp_path, records, sweeps=sweeps))
    names = [figure.name for figure in suite_figures(results, ["sensitivity"])]
    assert names == ["sensitivity-h-mine-micro-f1", "sensitivity-h-mine-macro-f1"]
