"""A run on a Ray cluster of two nodes: the same tables as on this machine, whatever is lost on the way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import polars as pl
import pytest
from toy_recognizers import Toy

from voxaudit.errors import VoxauditError
from voxaudit.run import open_run, run_trials

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'voxaudit[ray]'")

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def cluster():
    """A head and a second node, one CPU each: real processes on the loopback device."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ray.cluster_utils import Cluster

        small = {"num_cpus": 1, "object_store_memory": 80 << 20}
        cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
        cluster.add_node(**small)
        yield cluster
        cluster.shutdown()


@pytest.fixture
def hear(make_corpus, tmp_path, cluster):
    """Return a function that runs toys in a folder, on the cluster unless told otherwise."""
    corpus = make_corpus(8)

    def run(out, toys, scenarios=("gaussian_noise:2",), **options):
        options = {"executor": "ray", "ray_address": cluster.address, **options}
        return run_trials(
            options.pop("corpus", corpus),
            toys,
            list(scenarios),
            out=tmp_path / out,
            cache=False,
            progress=False,
            **options,
        )

    return run


def table(folder: Path) -> pl.DataFrame:
    """The transcripts in the order of the file, without the time each took."""
    return open_run(folder).transcripts.drop("seconds")


def test_ray_and_local_processes_give_the_same_tables_failures_too(hear, tmp_path, capfd):
    bad = (103, 104)
    toys = {
        "fine": Toy(),
        "batches": Toy(batch_size=3),
        "raises": Toy("raises", bad=bad),
        "dies": Toy("dies", bad=bad, batch_size=3),
        "hangs": Toy("hangs", bad=(103,)),
        "prints": Toy("prints"),
    }
    hear("local", toys, executor="local", workers=2, timeout=1.0)
    run = hear("ray", toys, timeout=1.0)
    assert table(tmp_path / "ray").equals(table(tmp_path / "local"))
    assert run.transcripts.height == 6 * 16
    assert set(run.failures["recognizer"]) == {"raises", "dies", "hangs"}
    assert "the process exited with code 7; see workers.log" in run.failures["failure"].str.join("\n").item()
    assert "noise on standard output" in (tmp_path / "ray" / "workers.log").read_text()
    assert capfd.readouterr() == ("", "")
    assert not ray.is_initialized()


@pytest.mark.parametrize(
    ("behavior", "message"),
    [("cannot load", "the model file is missing"), ("dies loading", "exited with code 3 while loading")],
)
def test_a_recognizer_that_cannot_be_loaded_there_stops_the_run(hear, tmp_path, behavior, message):
    with pytest.raises(VoxauditError, match=f"recognizer 'toy': .*{message}") as caught:
        hear("run", {"toy": Toy(behavior)})
    assert "\n" not in str(caught.value)
    if behavior == "dies loading":
        assert str(tmp_path / "run" / "workers.log") in str(caught.value)


def test_a_recognizer_that_gives_up_stops_the_run_and_what_it_heard_is_kept(hear, tmp_path):
    with pytest.raises(VoxauditError, match="recognizer 'toy': the service refused the key"):
        hear("run", {"toy": Toy("refused", bad=(106,), journal=str(tmp_path / "before"))}, [], workers=1)
    before = (tmp_path / "before").read_text().split()
    journal = tmp_path / "journal"
    run = hear("run", {"toy": Toy(journal=str(journal))}, [])
    assert run.failures.is_empty()
    assert before[:-1]
    assert not set(before[:-1]) & set(journal.read_text().split())


def test_a_trial_that_takes_its_replica_down_is_given_up_and_others_are_not(hear):
    toy = Toy("kills its parent", bad=(104,), batch_size=2)
    run = hear("run", {"toy": toy}, [])
    failures = run.failures
    assert failures["utterance"].to_list() == ["u3"]
    assert failures["failure"].item().startswith("recognizer: lost with its replica 3 times (")
    assert run.transcripts.height == 8


@pytest.fixture(scope="module")
def client(cluster):
    """The address of a server for clients outside of the cluster."""
    pytest.importorskip("grpc", reason="ray:// addresses need grpcio: pip install 'voxaudit[ray]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "ray.util.client.server",
        "--mode",
        "legacy",
        "--address",
        cluster.address,
    ]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while True:
        assert server.poll() is None
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            break
        time.sleep(0.1)
    yield f"ray://127.0.0.1:{port}"
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()


@pytest.mark.parametrize("where", ["cluster", "client"])
def test_a_replica_that_falls_silent_is_replaced(hear, tmp_path, monkeypatch, where, request):
    from voxaudit.run import ray_pool

    monkeypatch.setattr(ray_pool, "SILENCE", 1.0)
    toy = Toy("freezes its parent", bad=(104,), only_once=str(tmp_path / "mark"))
    place = request.getfixturevalue(where)
    run = hear("run", {"toy": toy}, [], ray_address=place if where == "client" else place.address)
    assert (tmp_path / "mark").exists()
    assert run.failures.is_empty()
    assert run.transcripts.height == 8


def children(process: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{process}/task").glob("*/children")
        for child in task.read_text().split()
    ]


def recognizers_below(process: int) -> list[int]:
    """The recognizer processes among the descendants of a process."""
    found = []
    for child in children(process):
        if b"voxaudit.run.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
            found.append(child)
        found += recognizers_below(child)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc to find the recognizer")
def test_a_node_killed_in_the_middle_costs_nothing(hear, cluster, make_corpus, tmp_path, capfd):
    corpus = make_corpus(100)
    scenarios = ("gaussian_noise:1", "gain:1")
    hear("local", {"toy": Toy()}, scenarios, corpus=corpus, executor="local")
    node = cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    journal = tmp_path / "journal"
    toy = Toy(pause=0.05, journal=str(journal))
    raylet = node.all_processes["raylet"][0].process.pid

    def kill():
        while not recognizers_below(raylet):
            time.sleep(0.02)
        time.sleep(2.0)  # its recognizer is loaded, and at work
        for process in [raylet, *children(raylet)]:  # as when the power is cut
            os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    run = hear("ray", {"toy": toy}, scenarios, corpus=corpus)
    killer.join()
    assert table(tmp_path / "ray").equals(table(tmp_path / "local"))
    assert run.failures.is_empty()
    heard = len(journal.read_text().splitlines())
    assert 300 < heard <= 300 + 2 * 15  # what the node was at, two chunks of half a second, is heard again
    assert capfd.readouterr().out == ""  # Ray's report of the dead node is no part of a command's output
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster.remove_node(node, allow_graceful=False)


DRIVER = """
import sys
sys.path.insert(0, {here!r})
from toy_recognizers import Toy
from voxaudit.corpus import Corpus
from voxaudit.run import run_trials
import polars as pl
corpus = Corpus(name="toy", format="manifest", source="s", table=pl.read_parquet({table!r}))
toy = Toy(pause={pause}, journal={journal!r})
run_trials(corpus, {{"toy": toy}}, ["gaussian_noise:1"], out={out!r}, cache=False, progress=False, **{options!r})
"""


def test_a_driver_killed_in_the_middle_loses_only_what_was_being_heard(cluster, make_corpus, tmp_path):
    corpus = make_corpus(40)
    corpus.table.write_parquet(tmp_path / "corpus.parquet")
    journal = tmp_path / "journal"

    def driver(out: str, options: dict[str, str], pause: float) -> subprocess.Popen[str]:
        script = DRIVER.format(
            here=HERE,
            table=str(tmp_path / "corpus.parquet"),
            pause=pause,
            journal=str(journal),
            out=str(tmp_path / out),
            options=options,
        )
        return subprocess.Popen(
            [sys.executable, "-c", script], stdout=-1, stderr=subprocess.STDOUT, text=True
        )

    def heard() -> int:
        return len(journal.read_text().splitlines()) if journal.exists() else 0

    on_ray = {"executor": "ray", "ray_address": cluster.address}
    local = driver("local", {}, 0.0)
    assert local.communicate()[0] == ""
    journal.unlink()
    killed = driver("ray", on_ray, 0.05)
    while heard() < 40:
        assert killed.poll() is None, killed.communicate()[0]
        time.sleep(0.02)
    killed.kill()
    killed.communicate()
    while True:  # its replicas end with it
        before = heard()
        time.sleep(1.5)
        if heard() == before:
            break
    assert before < 80
    resumed = driver("ray", on_ray, 0.0)
    assert resumed.communicate()[0] == ""
    assert resumed.returncode == 0
    assert table(tmp_path / "ray").equals(table(tmp_path / "local"))
    assert heard() - 80 <= 2 * 2 * 10


def test_replicas_need_room(hear, tmp_path):
    with pytest.raises(VoxauditError, match=r"no node .* 1 CPUs and 1 GPUs \(nodes: 1 CPUs and 0 GPUs"):
        hear("run", {"toy": Toy()}, replica_gpus=1.0)
    with pytest.raises(VoxauditError, match="a replica needs CPUs or GPUs"):
        hear("run", {"toy": Toy()}, replica_cpus=0.0)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "no such host", "127.0.0.1"])
def test_an_address_without_a_cluster_is_one_line(make_corpus, tmp_path, address, capfd):
    with pytest.raises(VoxauditError, match="Ray cluster") as caught:
        run_trials(
            make_corpus(2),
            {"toy": Toy()},
            out=tmp_path / "run",
            executor="ray",
            ray_address=address,
            cache=False,
        )
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "run").exists()


def test_the_command_line_runs_on_ray_and_prints_one_document(cluster, make_corpus, tmp_path):
    corpus = make_corpus(4)
    corpus.table.select("id", "audio", "speaker", "text").write_csv(tmp_path / "manifest.csv")
    (tmp_path / "hears.py").write_text(
        "def hear(samples, rate):\n    return f'heard {len(samples)} samples'\n"
    )
    (tmp_path / "audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\n[recognizers.mine]\nengine = "python"\ncallable = "hears.py:hear"\n'
        'rate = 16000\n[scenarios]\nuse = ["gain:1"]\n[run]\nexecutor = "ray"\nray_address = "127.0.0.1:9"\n'
    )
    call = "import sys; from voxaudit.cli.main import main; sys.exit(main())"
    voxaudit = [sys.executable, "-c", call, "run", str(tmp_path / "audit.toml"), "--no-cache"]
    wrong = subprocess.run(voxaudit, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("voxaudit: error: no Ray cluster at 127.0.0.1:9")
    assert wrong.stderr.count("\n") == 1
    scores = {}
    for name, options in (("ray", ["--ray-address", cluster.address]), ("local", ["--executor", "local"])):
        out = tmp_path / name
        done = subprocess.run(
            [*voxaudit, *options, "--json", "--out", str(out)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
        scores[name] = (table(out), pl.read_parquet(out / "scores.parquet"))
    assert scores["ray"][0].equals(scores["local"][0])
    assert scores["ray"][1].equals(scores["local"][1])
    assert scores["ray"][1]["hits"].sum() == 3 * 8
