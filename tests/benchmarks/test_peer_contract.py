"""What the driver and the peers tell each other through files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from contract import Task, load_scores, ranked_matrix, save_scores, unit_scores
from scipy.sparse import csr_matrix

PEER = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from contract import TRAIN, Peer, Task

def prepare(task):
    return task.vectors(TRAIN), task.targets()

def train(task, given):
    vectors, targets = given
    return vectors.T @ targets

def score(task, model, part):
    return np.asarray((task.vectors(part) @ model).todense())

Peer(prepare, train, score, "margin", ()).main()
"""
FOLDER = Path(__file__).parents[2] / "benchmarks" / "peers"


def task_in(folder: Path, **changes: int) -> Task:
    sizes = {"n_labels": 3, "seed": 0, "threads": 1} | changes
    return Task(str(folder), str(folder), parts=("test",), settings={"C": 1.0}, **sizes)


def test_a_task_survives_its_file(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    assert Task.load(task.save()) == task


@pytest.mark.parametrize(("n_labels", "top_k", "beam_size"), [(90, 90, 90), (4271, 100, 50)])
def test_all_labels_are_wanted_unless_there_are_many(
    n_labels: int, top_k: int, beam_size: int
) -> None:
    task = task_in(Path(), n_labels=n_labels)
    assert (task.top_k, task.beam_size) == (top_k, beam_size)


def test_margins_become_scores_in_the_same_order_with_their_cut_off_at_a_half() -> None:
    margins = np.array([-30.0, -2.0, 0.0, 8.0, 8.0000010, 20.0], dtype=np.float32)
    scores = unit_scores(margins, "margin")
    assert (np.diff(scores) > 0).all()
    assert scores[2] == 0.5
    assert scores.min() > 0
    assert scores.max() < 1


def test_probabilities_stay_what_they_are() -> None:
    given = np.array([0.0, 0.25, 1.00001])  # the last as fastText says it
    assert unit_scores(given, "probability").tolist() == [0.0, 0.25, 1.0]


def test_labels_that_a_peer_did_not_rank_have_the_score_0(tmp_path: Path) -> None:
    save_scores(tmp_path, "test", ranked_matrix([[(2, 0.5), (0, 0.25)], []], 3))
    found = load_scores(tmp_path, "test", "probability")
    assert found.tolist() == [[0.25, 0.0, 0.5], [0.0, 0.0, 0.0]]


def test_a_ranked_margin_of_0_is_not_an_unranked_label(tmp_path: Path) -> None:
    save_scores(tmp_path, "test", ranked_matrix([[(1, 0.0)]], 3))
    assert load_scores(tmp_path, "test", "margin").tolist() == [[0.0, 0.5, 0.0]]


def test_dense_scores_survive_their_file(tmp_path: Path) -> None:
    save_scores(tmp_path, "test", np.array([[0.0, 1.0]]))
    assert load_scores(tmp_path, "test", "margin")[0, 0] == 0.5


def test_a_peer_leaves_scores_and_a_report(tmp_path: Path) -> None:
    from contract import REPORT_FILE, TRAIN, target_file, vector_file
    from scipy.sparse import save_npz

    for part in (TRAIN, "test"):
        save_npz(vector_file(tmp_path, part), csr_matrix(np.eye(2, dtype=np.float32)))
    save_npz(target_file(tmp_path), csr_matrix(np.eye(2, 3, dtype=np.float32)))
    script = tmp_path / "peer.py"
    script.write_text(PEER.format(folder=str(FOLDER)), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script), str(task_in(tmp_path).save())], check=False)
    assert done.returncode == 0
    assert load_scores(tmp_path, "test", "margin")[0].argmax() == 0
    assert "cpu_seconds" in (tmp_path / REPORT_FILE).read_text(encoding="utf-8")
