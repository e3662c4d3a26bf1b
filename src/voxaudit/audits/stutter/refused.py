"""Why a stutter audit could not be made, kept where its findings would be, so that every report says so."""

from __future__ import annotations

from pathlib import Path

from voxaudit.errors import VoxauditError, one_line
from voxaudit.tables import write_atomically

REFUSED = "refused.txt"


def write_refusal(folder: Path, error: VoxauditError) -> None:
    """Write the reason into the audit's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = one_line(error, 600) + "\n"
    write_atomically(folder / REFUSED, lambda path: path.write_bytes(text.encode("utf-8", "replace")))


def forget_refusal(folder: Path) -> None:
    """Remove the reason: the audit was made."""
    (folder / REFUSED).unlink(missing_ok=True)


def read_refusal(folder: Path) -> str | None:
    """Return the reason, or None where there is none."""
    path = folder / REFUSED
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else None
