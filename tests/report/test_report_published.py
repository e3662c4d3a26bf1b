"""Nothing of the machine that a report was made on stands in its files."""

from __future__ import annotations

import json

from voxaudit.report.build import build_report, write_report
from voxaudit.run import Run
from voxaudit.run.folder import read_config, write_config


def test_no_file_of_a_report_says_where_the_run_lies(make_run, drops, tmp_path):
    run = make_run(drops)
    config = read_config(run.folder)
    config["corpus"]["source"] = f"{run.folder.parent}/data/manifest.csv"
    config["sources"] = {
        "rir": {"description": "rooms", "fingerprint": "x", "folder": str(run.folder.parent / "rooms")}
    }
    write_config(run.folder, config)
    files = write_report(build_report(Run(run.folder), attributes=["accent"]), tmp_path / "out")
    for path in files.values():
        assert str(run.folder.parent) not in path.read_text(encoding="utf-8"), path.name
    assert json.loads(files["findings.json"].read_text(encoding="utf-8"))["run"]["sources"] == {
        "rir": "rooms"
    }
    assert "manifest.csv" in files["report.html"].read_text(encoding="utf-8")
