"""The run: a grid of trials becomes transcripts, resumable at any moment."""

from typing import TYPE_CHECKING

from voxaudit.registry import lazy_attributes

if TYPE_CHECKING:
    from voxaudit.run.folder import Run as Run
    from voxaudit.run.folder import open_run as open_run
    from voxaudit.run.runner import run_trials as run_trials

# Imported when used: worker processes live in this package too and must start without the driver's tables.
_HOMES = {
    "Run": "voxaudit.run.folder",
    "open_run": "voxaudit.run.folder",
    "run_trials": "voxaudit.run.runner",
}

__all__ = list(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
