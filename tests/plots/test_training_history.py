"""The course of training."""

from small_record import small_record

from piran.plots.training_history import draw_training_history, training_history_data

HISTORY = [
    {"epoch": 1.0, "loss": 0.5},
    {"epoch": 2.0, "loss": 0.3, "score": 40.0},
    {"epoch": 3.0, "loss": 0.2, "score": 45.0},
]


def test_each_quantity_is_a_curve_over_the_epochs_that_have_it() -> None:
    loss, score = training_history_data(small_record(history=HISTORY))
    assert (loss.name, loss.epochs, loss.values) == ("loss", [1, 2, 3], [0.5, 0.3, 0.2])
    assert (score.name, score.epochs, score.values) == ("score", [2, 3], [40.0, 45.0])


def test_epochs_without_a_number_are_counted() -> None:
    (loss,) = training_history_data(small_record(history=[{"loss": 2.0}, {"loss": 1.0}]))
    assert loss.epochs == [1, 2]


def test_no_history_has_no_curves() -> None:
    assert training_history_data(small_record()) == []


def test_loss_and_score_have_a_scale_each() -> None:
    ax = draw_training_history(training_history_data(small_record(history=HISTORY)))
    assert [other.get_ylabel() for other in ax.figure.axes] == ["loss", "score"]
    assert [len(other.get_lines()) for other in ax.figure.axes] == [1, 1]


def test_a_loss_alone_needs_one_scale() -> None:
    ax = draw_training_history(training_history_data(small_record(history=HISTORY[:1])))
    assert len(ax.figure.axes) == 1
