"""R's clubSandwich, asked by a script; tests skip where R does not have it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def answers(folder: Path, script: str, names: str, rows: Sequence[np.ndarray]) -> list[Any]:
    """Run an R script on a CSV file of rows with the columns `names`; return the JSON lines that it prints."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    data, program = folder / "data.csv", folder / "script.R"
    np.savetxt(data, np.concatenate(rows), delimiter=",", header=names, comments="", fmt="%.17g")
    program.write_text(script, encoding="utf-8")
    run = subprocess.run(
        ["Rscript", str(program), str(data)], capture_output=True, text=True, timeout=300, check=False
    )
    if "clubSandwich" in run.stderr and run.returncode:
        pytest.skip("R's clubSandwich is not installed")
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]
