"""Progress: silent unless somebody watches, and every task that starts also ends."""

import pytest

from piran.progress import task, track, watched_by


class Recorder:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.n_tasks = 0

    def start(self, description: str, total: int | None) -> int:
        self.n_tasks += 1
        self.events.append(("start", self.n_tasks, description, total))
        return self.n_tasks

    def advance(self, task: int, steps: int) -> None:
        self.events.append(("advance", task, steps))

    def describe(self, task: int, description: str) -> None:
        self.events.append(("describe", task, description))

    def finish(self, task: int) -> None:
        self.events.append(("finish", task))


def test_nothing_is_printed_when_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with task("Training", 2) as advance:
        advance(1)
    assert list(track([1, 2, 3], "Counting")) == [1, 2, 3]
    assert capfd.readouterr() == ("", "")


def test_a_watcher_is_told_of_start_steps_and_end() -> None:
    recorder = Recorder()
    with watched_by(recorder), task("Training", 5) as advance:
        advance(2)
        advance(3)
    assert recorder.events == [
        ("start", 1, "Training", 5),
        ("advance", 1, 2),
        ("advance", 1, 3),
        ("finish", 1),
    ]


def test_a_task_can_say_what_it_is_at() -> None:
    recorder = Recorder()
    with watched_by(recorder), task("Training", 5) as training:
        training.describe("Training, epoch 1 of 2")
    assert recorder.events[1] == ("describe", 1, "Training, epoch 1 of 2")
    with task("Training") as unwatched:
        unwatched.describe("nobody hears it")


def test_tracking_advances_after_each_item() -> None:
    recorder = Recorder()
    with watched_by(recorder):
        items = track(iter("ab"), "Letters")
        assert next(items) == "a"
        assert recorder.events == [("start", 1, "Letters", None)]
        assert list(items) == ["b"]
    assert recorder.events[1:] == [("advance", 1, 1), ("advance", 1, 1), ("finish", 1)]


def fail_inside_a_task() -> None:
    with task("Training"):
        raise RuntimeError("the work went wrong")


def test_a_task_ends_when_its_work_fails() -> None:
    recorder = Recorder()
    with watched_by(recorder), pytest.raises(RuntimeError, match="the work went wrong"):
        fail_inside_a_task()
    assert recorder.events[-1] == ("finish", 1)


def test_tracking_ends_when_its_reader_stops_early() -> None:
    recorder = Recorder()
    with watched_by(recorder):
        items = track(range(10), "Numbers")
        next(items)
        items.close()  # type: ignore[attr-defined]  # a generator, promised only as an iterator
    assert recorder.events[-1] == ("finish", 1)


def test_tasks_can_stand_inside_each_other() -> None:
    recorder = Recorder()
    with watched_by(recorder), task("Runs") as outer, task("Epochs") as inner:
        inner(1)
        outer(1)
    assert recorder.events[2:] == [
        ("advance", 2, 1),
        ("advance", 1, 1),
        ("finish", 2),
        ("finish", 1),
    ]


def test_nobody_watches_after_the_block() -> None:
    recorder = Recorder()
    with watched_by(recorder):
        pass
    with task("Later") as advance:
        advance(1)
    assert not recorder.events


def test_an_inner_watcher_takes_over_for_its_block() -> None:
    outer, inner = Recorder(), Recorder()
    with watched_by(outer):
        with watched_by(inner), task("Inside"):
            pass
        with task("Outside"):
            pass
    assert [event[0] for event in inner.events] == ["start", "finish"]
    assert outer.events[0] == ("start", 1, "Outside", None)
