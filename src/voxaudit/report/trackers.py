"""A report in a tracker of experiments: its numbers as metrics, its files as artifacts. MLflow and Weights & Biases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.render.document import Report
from voxaudit.render.published import published

TRACKERS = ("mlflow", "wandb")
_NOT_IN_NAMES = re.compile(r"[^\w.\-: ]")
_LONGEST_NAME = 200
"""Bytes: a store keeps a metric in a file of its name, and both have ends behind it."""
_LOGIN = re.compile(r"://[^/\s@]*@")


def metrics_of(report: Report) -> dict[str, float]:
    """Return the numbers of a report by name: every finding's estimate and limits, and 1 or 0 for every gate judged.

    A name is the finding's id, which stays the same over runs that ask the same, with dots; `.low` and `.high` are its
    limits. A slash would make folders in a tracker's store, and one metric's folder would be another's file.
    """
    told = [one for one in report.findings if one.verdict != "refused"]
    judged = [gate for gate in report.gates if gate.judged]
    names = _names([*(one.id for one in told), *(f"gate/{gate.name}" for gate in judged)])
    found = {
        names[one.id] + end: value
        for one in told
        for end, value in (("", one.estimate), (".low", one.low), (".high", one.high))
        if value is not None
    }
    return found | {names[f"gate/{gate.name}"]: float(bool(gate.passed)) for gate in judged}


def _names(texts: Iterable[str]) -> dict[str, str]:
    """Return {text: its name in a tracker}; one that is too long, or another's too, ends in a hash of the text."""
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        name = _NOT_IN_NAMES.sub("_", text.replace("/", ".")).lstrip(".") or "_"
        if len(name.encode()) > _LONGEST_NAME or name in found.values():
            mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            name = f"{name.encode()[: _LONGEST_NAME - 9].decode(errors='ignore')}-{mark}"
        found[text] = name
    return found


def log_report(report: Report, files: Mapping[str, Path], tracker: str, *, name: str | None = None) -> str:
    """Log a report as one run of a tracker and return the run's id.

    Where it goes is the tracker's own setting (`MLFLOW_TRACKING_URI`, `WANDB_MODE=offline` ...). What was audited is
    logged as parameters, numbers as metrics (`metrics_of`), `files` as artifacts. `name` is what the run is called.
    """
    if tracker not in TRACKERS:
        raise VoxauditError(f"no tracker '{one_line(tracker, 40)}'. Choose {' or '.join(TRACKERS)}")
    report = published(report)  # keys of services and paths of this machine stay here
    log = _log_mlflow if tracker == "mlflow" else _log_wandb
    names = _names(what for what, _ in report.facts)
    about = {names[what]: one_line(value, 400) for what, value in report.facts}
    there = {where: path for where, path in files.items() if path.is_file()}
    try:
        return log(report, about, there, None if name is None else one_line(name, 200))
    except ImportError as error:
        raise missing_extra(tracker, tracker) from error
    except VoxauditError:
        raise
    except Exception as error:  # no server, no room: whatever a tracker raises, the audit stands
        # The address of its server may hold a password.
        reason = _LOGIN.sub("://***@", one_line(error, 10_000))
        raise VoxauditError(f"{tracker} did not take the report ({one_line(reason, 200)})") from error


def _log_mlflow(report: Report, about: dict[str, str], files: dict[str, Path], name: str | None) -> str:
    import mlflow

    with mlflow.start_run(run_name=name) as run:
        mlflow.log_params(about)
        mlflow.log_metrics(metrics_of(report))
        mlflow.set_tags({"voxaudit.passed": str(report.passed), "voxaudit.title": one_line(report.title)})
        for path in files.values():
            mlflow.log_artifact(str(path))
        return str(run.info.run_id)


def _log_wandb(report: Report, about: dict[str, str], files: dict[str, Path], name: str | None) -> str:
    import wandb

    settings: dict[str, Any] = {"name": name, "config": about, "job_type": "voxaudit"}
    with wandb.init(**settings) as run:
        run.summary.update({**metrics_of(report), "passed": report.passed})
        artifact = wandb.Artifact(f"voxaudit-{run.id}", type="report")
        for where, path in files.items():
            artifact.add_file(str(path), name=where)
        run.log_artifact(artifact)
        return str(run.id)
