"""A report logged in trackers of experiments, gates as tests of pytest, rates by group in a trainer."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from voxaudit.cli.pytest_plugin import Auditor
from voxaudit.errors import VoxauditError
from voxaudit.report.build import write_report
from voxaudit.report.trackers import log_report, metrics_of
from voxaudit.score.trainer import trainer_metrics

pytest_plugins = ["pytester"]


@pytest.fixture
def logged(report, tmp_path):
    return report, write_report(report, tmp_path / "run")


def test_metrics_are_the_findings_of_the_report_by_their_ids(logged):
    report, _ = logged
    metrics = metrics_of(report)
    told = [one for one in report.findings if one.estimate is not None and one.verdict != "refused"]
    assert len(told) > 5
    for one in told:
        # MLflow refuses brackets in names.
        name = one.id.replace("/", ".").replace("(", "_").replace(")", "_")
        assert metrics[name] == one.estimate
    assert any(name.endswith(".low") for name in metrics)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own use of its packages
@pytest.mark.parametrize("database", [False, True], ids=["folder", "database"])
def test_mlflow_has_numbers_and_the_report(logged, tmp_path, monkeypatch, database):
    mlflow = pytest.importorskip("mlflow")
    if database:
        pytest.importorskip("alembic")
        pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)  # where a database puts artifacts
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db" if database else (tmp_path / "mlruns").as_uri())
    report, files = logged
    found = mlflow.get_run(log_report(report, files, "mlflow", name="first"))
    assert found.data.metrics == pytest.approx(metrics_of(report))
    assert found.info.run_name == "first"
    assert {path.name for path in (tmp_path / "mlruns").rglob("artifacts/*")} >= {
        "report.html",
        "findings.json",
    }


ODD = [
    "a/b/c",
    "a.b.c",
    "../../x",
    "a" * 600,
    "a" * 600 + "b",
    "\u8a9e" * 200,
    "x\ud800y",
    "\0\n",
    "a(b)",
    "a[b]",
    "..",
    "C:\\x",
]


def with_odd_names(report):
    """A report of which nothing has a good name: one finding and one fact for every odd text."""
    (told,) = [one for one in report.findings if one.estimate is not None][:1]
    findings = tuple(replace(told, id=f"accuracy/{text}", estimate=float(n)) for n, text in enumerate(ODD))
    answers = (replace(report.chapters[0].answers[0], findings=findings),)
    chapters = (replace(report.chapters[0], answers=answers),)
    return replace(
        report, title="\ud800" * 9000, chapters=chapters, facts=tuple((text, text) for text in ODD)
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of SQLAlchemy, about MLflow's queries
@pytest.mark.parametrize("store", ["file", "sqlite"])
def test_odd_names_are_all_kept_apart(logged, tmp_path, monkeypatch, store):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    place = tmp_path / "store"
    mlflow.set_tracking_uri(place.as_uri() if store == "file" else f"sqlite:///{place}.sqlite")
    report = with_odd_names(logged[0])
    monkeypatch.chdir(tmp_path)
    found = mlflow.get_run(log_report(report, {}, "mlflow", name="\ud800/../../" + "n" * 9000))
    estimates = [
        found.data.metrics[name] for name in metrics_of(report) if not name.endswith((".low", ".high"))
    ]
    assert estimates == list(range(len(ODD)))
    assert len(found.data.params) == len(ODD)
    assert {path.name for path in tmp_path.iterdir()} <= {"run", "store", "store.sqlite", "mlruns"}


def test_a_password_of_the_server_is_not_repeated(logged, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    mlflow.set_tracking_uri("http://me:hunter22@127.0.0.1:9/")
    with pytest.raises(VoxauditError, match=r"http://\*\*\*@127\.0\.0\.1:9/") as caught:
        log_report(*logged, "mlflow")
    assert "hunter22" not in str(caught.value)


def test_wandb_has_numbers_and_the_report_without_a_network(logged, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    report, files = logged
    id_ = log_report(report, files, "wandb", name="first")
    (store,) = tmp_path.glob(f"wandb/offline-run-*-{id_}/run-{id_}.wandb")
    data = store.read_bytes()
    assert all(name.encode() in data for name in list(metrics_of(report))[:3])


def test_what_goes_wrong_is_one_line(logged, monkeypatch):
    with pytest.raises(VoxauditError, match=r"no tracker 'tensorboard'. Choose mlflow or wandb"):
        log_report(*logged, "tensorboard")
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(VoxauditError, match=r"pip install 'voxaudit\[mlflow\]'"):
        log_report(*logged, "mlflow")


def test_gates_are_asserted(toy, only):
    only("accuracy")
    passed = Auditor().gate(toy.folder, clean_wer=1.0)
    assert passed
    failed = Auditor().gate(toy.folder, clean_wer=0.0, worst_wer={"limit": 1.0, "bound": "upper"})
    assert not failed
    assert "gates failed" in repr(failed)
    assert "clean_wer allows only 0" in repr(failed)
    with pytest.raises(VoxauditError, match="clean_werr"):
        Auditor().gate(toy.folder, clean_werr=0.1)


def test_pytest_shows_the_sentence_of_the_gate_that_failed(toy, pytester, only):
    only("accuracy")
    pytester.makepyfile(f"def test_it(audit):\n    assert audit.gate({str(toy.folder)!r}, clean_wer=0.0)\n")
    done = pytester.runpytest_inprocess("-q")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*clean_wer allows only 0*"])


class Letters:
    """Token n is the n-th letter; CTC joins equal neighbors unless it is told not to."""

    pad_token_id = 0

    def batch_decode(self, ids, skip_special_tokens, group_tokens=True):
        texts = []
        for row in ids:
            kept = [n for i, n in enumerate(row) if not group_tokens or i == 0 or n != row[i - 1]]
            texts.append("".join(" abcdefghijklmnopqrstuvwxyz"[n] for n in kept if n))
        return texts


def test_a_trainer_gets_rates_by_group():
    labels = np.array([[1, 12, 12, -100], [2, 5, 5, -100], [3, 1, 2, -100], [4, 1, 4, -100]])
    scores = np.eye(27)[np.array([[1, 12, 0, 12], [2, 5, 0, 5], [3, 1, 1, 2], [4, 4, 1, 1]])]
    groups = {"gender": ["f", "f", "m", "m"], "accent": ["a", None, "a", "b"]}
    metrics = trainer_metrics(Letters(), groups)(SimpleNamespace(predictions=(scores,), label_ids=labels))
    # "all", "bee" and "cab" are heard, of "dad" only "da".
    assert metrics == {
        "wer": 0.25,
        "wer_gender_f": 0.0,
        "wer_gender_m": 0.5,
        "wer_accent_a": 0.0,
        "wer_accent_b": 1.0,
        "worst_wer": 1.0,
    }
    with pytest.raises(VoxauditError, match="'gender' has 1 values, the evaluation set 4 examples"):
        trainer_metrics(Letters(), {"gender": ["f"]})(SimpleNamespace(predictions=scores, label_ids=labels))
