from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile


@pytest.fixture
def wavs(tmp_path: Path) -> Callable[..., Path]:
    """Write tiny recordings at these paths below tmp_path; returns tmp_path."""

    def write(*names: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".mp3":
                path.write_bytes(b"not read by these tests")
            else:
                soundfile.write(path, np.zeros(160, dtype=np.float32), 16000)
        return tmp_path

    return write
