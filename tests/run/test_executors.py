"""Choosing an executor, and what a replica does on its node; no Ray is needed for these."""

from __future__ import annotations

import pickle
import sys

import pytest
from toy_recognizers import Toy, words_for

from voxaudit.errors import VoxauditError
from voxaudit.options import RunOptions
from voxaudit.perturb import parse_scenarios
from voxaudit.run import run_trials
from voxaudit.run.cluster import Cluster
from voxaudit.run.ray_pool import Replica, versions
from voxaudit.run.trial import Trial
from voxaudit.run.worker import Job


@pytest.mark.parametrize(
    ("executor", "message"),
    [
        ("ray", r"the executor 'ray' needs Ray .*: pip install 'voxaudit\[ray\]'"),
        ("rey", "executor must be local or ray, not 'rey'. Did you mean: ray"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_is_written(
    make_corpus, tmp_path, monkeypatch, executor, message
):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(VoxauditError, match=message):
        run_trials(make_corpus(1), {"toy": Toy()}, out=tmp_path / "run", cache=False, executor=executor)
    assert not (tmp_path / "run").exists()


class Nodes:
    """What a cluster says of its nodes."""

    def __init__(self, *resources: dict[str, float]) -> None:
        self._nodes = [{"Alive": True, "Resources": one} for one in resources]
        self._nodes.append({"Alive": False, "Resources": {"CPU": 64.0, "GPU": 8.0}})

    def nodes(self) -> list[dict[str, object]]:
        return self._nodes


@pytest.mark.parametrize(
    ("cpus", "gpus", "fit"),
    [
        (1.0, 0.0, 12),
        (3.0, 0.0, 3),
        (0.5, 0.0, 24),
        (1.0, 1.0, 2),
        (1.0, 0.5, 4),
        (0.0, 0.25, 8),
        (8.5, 0.0, 0),
    ],
)
def test_as_many_replicas_as_fit_on_the_nodes_alive(cpus, gpus, fit):
    nodes = Nodes({"CPU": 8.0, "GPU": 2.0}, {"CPU": 4.0}, {})
    cluster = Cluster(nodes, cpus, gpus, None)
    assert cluster.capacity() == fit
    assert Cluster(nodes, cpus, gpus, 3).capacity() == 3
    if fit:
        cluster.require_room()
    else:
        with pytest.raises(
            VoxauditError, match=r"no node .* \(nodes: 8 CPUs and 2 GPUs; 4 CPUs and 0 GPUs; 0"
        ):
            cluster.require_room()


@pytest.fixture
def replica(tmp_path):
    """Return a function that makes a replica as Ray would; all are closed."""
    made = []

    def make(toy, expected=None):
        job = Job(toy, {scenario.id: scenario for scenario in parse_scenarios(["gain:1"])}, 0)
        one = Replica(
            pickle.dumps(job),
            RunOptions(workers=1, timeout=5.0),
            1,
            sys.path,
            expected or versions(),
            "RUN/workers.log",
        )
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def trials(corpus, scenario="clean"):
    return [Trial(u.id, scenario, str(u.audio), 0.0, None, u.id.encode()) for u in corpus]


def test_a_replica_hears_and_hands_over_what_was_printed_once(replica, make_corpus):
    one = replica(Toy("prints"))
    loaded = one.load()
    assert loaded.unusable is None
    assert b"noise on standard output" in loaded.printed
    answer = one.hear(trials(make_corpus(3)))
    assert [outcome.transcript.text for outcome in answer.outcomes] == [words_for(n) for n in (101, 102, 103)]
    assert answer.printed == b""
    assert answer.absent == ()


def test_a_replica_with_other_versions_refuses(replica):
    answer = replica(Toy(), {**versions(), "numpy": "0.1"}).load()
    assert "numpy" in answer.unusable
    assert "the driver 0.1: install the same version on all nodes" in answer.unusable


def test_a_replica_says_which_recordings_its_node_lacks(replica, make_corpus, tmp_path):
    one = replica(Toy())
    one.load()
    corpus = make_corpus(3)
    (tmp_path / "audio" / "clip1.wav").unlink()
    (tmp_path / "audio" / "clip2.wav").write_text("not audio")
    answer = one.hear(trials(corpus))
    assert [outcome.failure is None for outcome in answer.outcomes] == [True, False, False]
    assert answer.absent == (str(tmp_path / "audio" / "clip1.wav"),)


def test_a_replica_that_cannot_load_names_the_log_of_the_run(replica):
    answer = replica(Toy("dies loading")).load()
    assert answer.unusable == "the process exited with code 3 while loading the model; see RUN/workers.log"
