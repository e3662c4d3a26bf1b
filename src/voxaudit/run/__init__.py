"""The run: a grid of trials becomes transcripts, resumable at any moment."""

from voxaudit.run.folder import Run, open_run
from voxaudit.run.runner import run_trials

__all__ = ["Run", "open_run", "run_trials"]
