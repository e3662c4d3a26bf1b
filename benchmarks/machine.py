"""What a machine is like and how steady it is: figures are worth little without it. No names of hosts, no paths."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

PEERS = (
    *("jiwer", "rapidfuzz", "pandas", "statsmodels", "glmm", "audiomentations", "soxbindings", "librosa"),
    *("pyroomacoustics", "speechmos", "onnxruntime", "moonshine-voice", "pocketsphinx", "torch", "ray"),
    *("numpy", "scipy", "polars"),
)


def machine() -> dict[str, Any]:
    """Return the processor, its cores, memory in GB, the system and Python's version."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def machine_text(facts: dict[str, Any]) -> str:
    """Return a machine in words."""
    size = f"{facts['cores']} cores, {facts['memory_gb']} GB"
    return f"{facts['cpu']}, {size}, {facts['system']}, Python {facts['python']}"


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    if path.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or "unknown"


def package_versions() -> dict[str, str]:
    """Return the versions of the peers, and of what ours stands on, that this interpreter has."""
    found = {}
    for name in PEERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def program_versions() -> dict[str, str]:
    """Return the versions of the programs that are peers."""
    asked = {
        "sox": (["sox", "--version"], r"v(\d\S+)"),
        "R": (["Rscript", "--version"], r"version (\d\S+)"),
        "lme4": (["Rscript", "-e", 'cat("lme4", format(packageVersion("lme4")))'], r"lme4 (\d\S+)"),
    }
    found = {}
    for name, (command, pattern) in asked.items():
        if shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True)
            if match := re.search(pattern, done.stdout + done.stderr):
                found[name] = match[1]
    return found


def load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 2)


CALIBRATIONS = 8


def calibrate(times: int = CALIBRATIONS) -> list[tuple[float, float]]:
    """Return CPU and wall seconds of a fixed piece of work, several times: what else the machine does shows here."""
    generator = np.random.default_rng(0)
    numbers = generator.standard_normal(200_000)
    found = []
    for _ in range(times):
        cpu, wall = time.process_time(), time.perf_counter()
        total = 0
        for number in range(300_000):
            total += number & 7
        for _ in range(3):
            np.sort(numbers)
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return found


def noise(calibrations: list[tuple[float, float]]) -> dict[str, float]:
    """Return how unsteady the fixed work was: its spread in CPU time, and wall over CPU time.

    `cpu_spread` is the distance from the 10th to the 90th percentile over the median; `wall_over_cpu` is 1 where
    nothing else runs.
    """
    cpu, wall = (np.array(values) for values in zip(*calibrations, strict=True))
    low, middle, high = np.quantile(cpu, (0.1, 0.5, 0.9))
    return {
        "cpu_ms": round(1000 * float(middle), 2),
        "cpu_spread": round(float((high - low) / middle), 3),
        "wall_over_cpu": round(float(np.median(wall / cpu)), 3),
    }
