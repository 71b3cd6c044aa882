"""All figures of a suite: which there are, what they say, and how they become files."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from piran.augment.variants import CONTROLS, NO_AUG
from piran.data.labels import LabelSpace
from piran.errors import SettingError
from piran.experiments.ablation import ablation_runs
from piran.experiments.names import display_name, metric_name
from piran.experiments.records import LabelTable
from piran.experiments.results import DatasetResults, SuiteResults, SystemRuns
from piran.experiments.sensitivity import N_HEAD_LABELS
from piran.experiments.settings import completed_settings
from piran.plots.ablation import ablation_data, draw_ablation
from piran.plots.label_frequency import draw_label_frequency, label_frequency_data
from piran.plots.methods_by_frequency import (
    SIZE,
    draw_methods_by_frequency,
    methods_by_frequency_data,
)
from piran.plots.sensitivity import draw_sensitivity, sensitivity_data
from piran.plots.setting_grid import draw_setting_grid, setting_grid_data
from piran.plots.style import PANEL_SIZE, new_figure, style_settings
from piran.plots.win_loss import draw_win_loss, win_loss_data, win_loss_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

F1_SCORE, MACRO, TAIL = "micro_f1_at_0.5", "macro_f1_at_0.5", "tail_f1_at_0.5"
FORMATS = ("svg", "png")
DOTS_PER_INCH = 200


@dataclass(frozen=True)
class SuiteFigure:
    """A figure that can be drawn."""

    kind: str
    """What ``piran plot --figure`` calls it."""
    name: str
    """Of its file, without extension."""
    title: str
    caption: str
    draw: Callable[["Axes"], object]
    size: tuple[float, float] = PANEL_SIZE


def suite_figures(results: SuiteResults, kinds: Sequence[str] = ()) -> list[SuiteFigure]:
    """Return all figures that the results have something for, or those of some kinds."""
    wanted = kinds or tuple(KINDS)
    return [figure for kind in KINDS if kind in wanted for figure in KINDS[kind](results)]


def save_figure(figure: SuiteFigure, folder: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Draw a figure into a file for each format and return the files."""
    canvas = new_figure(figure.size)
    import matplotlib  # after new_figure, which says what to install

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    settings: Any = style_settings() | {"svg.hashsalt": figure.name}
    with matplotlib.rc_context(settings):
        figure.draw(canvas.add_subplot())
        for form in formats:
            if form not in canvas.canvas.get_supported_filetypes():
                raise SettingError(f"Figures can be svg, png or pdf, got {form!r}.")
            path = folder / f"{figure.name}.{form}"
            about = {"Date": None} if form == "svg" else None  # the same figure, the same bytes
            canvas.savefig(path, dpi=DOTS_PER_INCH, facecolor="white", metadata=about)
            paths.append(path)
    return paths


def _label_figures(results: SuiteResults) -> Iterator[SuiteFigure]:
    for dataset in results.datasets:
        runs = next((runs for runs in dataset.cells if runs.records), None)
        if runs is not None:
            curve = label_frequency_data(_label_space(runs.records[0].labels))
            yield SuiteFigure(
                "labels",
                f"labels-{dataset.name}",
                f"Labels of {dataset.name}",
                "Training documents of each label, from the most to the least frequent.",
                lambda ax, curve=curve: draw_label_frequency(curve, ax),  # type: ignore[misc]
            )


def _ablation_figures(results: SuiteResults) -> Iterator[SuiteFigure]:
    for dataset in results.datasets:
        variants = ablation_runs(dataset, results.main)
        for metric in (F1_SCORE, TAIL) if variants else ():
            bars = ablation_data(variants, metric)
            yield SuiteFigure(
                "ablation",
                f"ablation-{dataset.name}-{_slug(metric)}",
                f"Ablation on {dataset.name}, {metric_name(metric)}",
                "Mean over seeds; error bars are one standard deviation. All variants of a seed share "
                "stage 1.",
                lambda ax, bars=bars: draw_ablation(bars, ax),  # type: ignore[misc]
            )


def _sensitivity_figures(results: SuiteResults) -> Iterator[SuiteFigure]:
    for dataset in results.datasets:
        for sweep, points in dataset.sweeps.items():
            done = [runs for runs in points if runs.records]
            n_settings = len(points[0].point)
            if len(done) > 1 and n_settings == 1:
                yield from _curves(results, dataset, sweep, done)
            elif len(done) > 1 and n_settings == 2:
                yield from _grids(dataset, sweep, done)


def _curves(
    results: SuiteResults, dataset: DatasetResults, sweep: str, points: list[SystemRuns]
) -> Iterator[SuiteFigure]:
    # With the number of head labels the tail changes, so that its F1 cannot be compared
    metrics = (F1_SCORE, MACRO if N_HEAD_LABELS in points[0].point else TAIL)
    for metric in metrics:
        reference = _no_aug_level(dataset.cell(results.main), points, metric)
        curve = sensitivity_data(points, metric, reference)
        yield SuiteFigure(
            "sensitivity",
            f"sensitivity-{sweep}-{dataset.name}-{_slug(metric)}",
            f"Sensitivity to {sweep} on {dataset.name}, {metric_name(metric)}",
            "Mean over seeds, with a band of one standard deviation.",
            lambda ax, curve=curve: draw_sensitivity(curve, ax),  # type: ignore[misc]
        )


def _grids(dataset: DatasetResults, sweep: str, points: list[SystemRuns]) -> Iterator[SuiteFigure]:
    for metric in (F1_SCORE, TAIL):
        grid = setting_grid_data(points, metric)
        yield SuiteFigure(
            "sensitivity",
            f"sensitivity-{sweep}-{dataset.name}-{_slug(metric)}",
            f"Sensitivity to {sweep} on {dataset.name}, {metric_name(metric)}",
            "Mean over seeds; the best in bold.",
            lambda ax, grid=grid: draw_setting_grid(grid, ax),  # type: ignore[misc]
        )


def _frequency_figures(results: SuiteResults) -> Iterator[SuiteFigure]:
    main = display_name(results.main)
    for dataset in results.datasets:
        systems = [
            runs
            for runs in dataset.systems([NO_AUG])
            if runs.cell == results.main or not runs.is_reference
        ]
        if systems:
            bins = methods_by_frequency_data(systems)
            yield SuiteFigure(
                "frequency",
                f"frequency-{dataset.name}",
                f"F1 by label frequency on {dataset.name}",
                "Mean F1 at 0.5 of the labels with so many training documents, over all seeds.",
                lambda ax, bins=bins: draw_methods_by_frequency(bins, main, ax),  # type: ignore[misc]
                SIZE,
            )


def _win_loss_figures(results: SuiteResults) -> Iterator[SuiteFigure]:
    data = win_loss_data(results, (NO_AUG, *CONTROLS))
    if data.contests.any():
        yield SuiteFigure(
            "wins",
            "wins-and-losses",
            "Wins and losses",
            "How often the method of the row is significantly better than that of the column, and how "
            "often worse, over all datasets and P@1, nDCG@5, micro, macro and tail F1 at 0.5 (pooled "
            "t-test over seeds at 5 %, not corrected for the number of tests). A method with one seed "
            "cannot be compared.",
            lambda ax: draw_win_loss(data, ax),
            win_loss_size(len(data.names)),
        )


KINDS: dict[str, Callable[[SuiteResults], Iterator[SuiteFigure]]] = {
    "labels": _label_figures,
    "frequency": _frequency_figures,
    "ablation": _ablation_figures,
    "sensitivity": _sensitivity_figures,
    "wins": _win_loss_figures,
}
"""What ``piran plot`` can draw, in its order."""


def _no_aug_level(
    main: SystemRuns | None, points: Sequence[SystemRuns], metric: str
) -> float | None:
    """Return what the main cell has without augmentation, if the points are of it, at their seeds."""
    if main is None or NO_AUG not in main.records[0].systems:
        return None
    if main.method != points[0].method or _fixed(main, points[0]) != _fixed(points[0], points[0]):
        return None
    seeds = {seed for runs in points for seed in runs.seeds}
    records = tuple(record for record in main.records if record.seed in seeds)
    return replace(main, records=records).reference(NO_AUG).mean(metric).value if records else None


def _fixed(runs: SystemRuns, point: SystemRuns) -> dict[str, Any]:
    """Return the settings of runs that the sweep of a point leaves as they are."""
    varied = {"seed", "references", "tail", *point.point}
    settings = completed_settings(runs.method, runs.records[0].settings)
    return {key: value for key, value in settings.items() if key not in varied}


def _label_space(labels: LabelTable) -> LabelSpace:
    is_tail = np.array([group == "tail" for group in labels.groups], dtype=np.bool_)
    return LabelSpace(tuple(labels.names), np.array(labels.train_counts, dtype=np.int64), is_tail)


def _slug(metric: str) -> str:
    return metric.removesuffix("_at_0.5").replace("_", "-")
