"""A run on a Ray cluster of two nodes: the same tables as on this machine, whatever is lost on the way."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from toy_recognizers import Toy

from voxaudit.errors import VoxauditError
from voxaudit.process import python_command
from voxaudit.run import open_run, ray_pool, run_trials
from voxaudit.run.backlog import CHUNK_SECONDS

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'voxaudit[ray]'")

KILLS = int(os.environ.get("VOXAUDIT_KILLS", "8")) // 8
"""How many runs have their driver killed, twice each."""
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
        "forks": Toy("forks", bad=bad, batch_size=3),
    }
    hear("local", toys, executor="local", workers=2, timeout=1.0)
    run = hear("ray", toys, timeout=1.0)
    assert table(tmp_path / "ray").equals(table(tmp_path / "local"))
    assert run.transcripts.height == 7 * 16
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


def test_drivers_killed_at_random_moments_lose_only_what_was_being_heard(cluster, make_corpus, tmp_path):
    corpus = make_corpus(40)
    corpus.table.write_parquet(tmp_path / "corpus.parquet")
    journal, pause, trials = tmp_path / "journal", 0.05, 80

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

    def heard() -> list[str]:
        return journal.read_text().split() if journal.exists() else []

    def committed() -> Counter[str]:
        with contextlib.closing(sqlite3.connect(tmp_path / "ray" / "trials.sqlite", timeout=30)) as base:
            return Counter(text.split()[1] for (text,) in base.execute("SELECT text FROM trials"))

    on_ray = {"executor": "ray", "ray_address": cluster.address}
    local = driver("local", {}, 0.0)
    assert local.communicate()[0] == ""
    in_all = Counter(heard())
    chance, repeated = random.Random(6), []
    for _ in range(KILLS):
        shutil.rmtree(tmp_path / "ray", ignore_errors=True)
        journal.unlink(missing_ok=True)
        for aim in sorted(chance.sample(range(1, trials), 2)):  # twice within one run
            lines = len(heard())
            before = committed() if lines else Counter[str]()
            killed = driver("ray", on_ray, pause)
            while len(heard()) < max(aim, lines + 1):
                assert killed.poll() is None, killed.communicate()[0]
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 0.3))
            killed.kill()
            killed.communicate()
            while True:  # its replicas end with it
                now = len(heard())
                time.sleep(1.5)
                if len(heard()) == now:
                    break
            after, new = committed(), Counter(heard()[lines:])
            assert before <= after  # nothing is lost
            assert new <= in_all - before  # nothing that was committed is heard again, and nothing twice
            repeated.append((new - (after - before)).total())
    resumed = driver("ray", on_ray, 0.0)
    assert resumed.communicate()[0] == ""
    assert resumed.returncode == 0
    assert table(tmp_path / "ray").equals(table(tmp_path / "local"))
    print(f"{len(repeated)} killed on Ray; heard again: {sum(repeated)}, at most {max(repeated)} per kill")
    # Each of two replicas has one chunk of 0.2 s under way and one that waits there, and a trial begun since.
    assert max(repeated) <= 2 * (ray_pool.CHUNKS_AHEAD * CHUNK_SECONDS / pause + 1)


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


def test_a_port_that_is_no_heads_is_said_and_given_up(cluster, make_corpus, tmp_path, monkeypatch, capfd):
    ray.init(address=cluster.address, log_to_driver=False)
    node = ray.nodes()[0]
    ray.shutdown()
    capfd.readouterr()
    monkeypatch.setattr("voxaudit.run.cluster.SILENT_SECONDS", 1.0)
    monkeypatch.setattr("voxaudit.run.cluster.PATIENT_SECONDS", 2.0)
    address = f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
    with pytest.raises(
        VoxauditError,
        match=r"(no answer in 2 s|Failed to connect to Ray cluster at \S+); is this the port of its head\?",
    ):
        run_trials(make_corpus(2), {"toy": Toy()}, out=tmp_path / "run", ray_address=address, cache=False)
    said = f"voxaudit: still connecting to the Ray cluster at {address} (given up after 2 s)\n"
    assert capfd.readouterr() == ("", said)


def test_no_replica_runs_what_lies_in_the_working_folder(cluster, make_corpus, tmp_path):
    for name in ("voxaudit", "polars", "soundfile", "numpy", "scipy", "json", "pickle", "soxr"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'a').write({name!r})\n")
    make_corpus(2).table.select("id", "audio", "speaker", "text").write_csv(tmp_path / "manifest.csv")
    (tmp_path / "audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\n[recognizers.echo]\nengine = "command"\ncommand = "echo one {audio}"\n'
        f'[scenarios]\nuse = []\n[run]\nexecutor = "ray"\nray_address = "{cluster.address}"\ncache = false\n'
    )
    program = python_command(
        "run", "audit.toml", program="from voxaudit.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not (tmp_path / "owned").exists(), (tmp_path / "owned").read_text()
    assert done.returncode == 0, done.stderr


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
