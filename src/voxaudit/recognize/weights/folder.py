"""Where fetched weights lie, and how an engine finds its own."""

from __future__ import annotations

import os
from pathlib import Path

from voxaudit.errors import one_line
from voxaudit.files import cache_folder
from voxaudit.recognize.base import RecognizerError
from voxaudit.recognize.weights.known import KNOWN, Model


def models_folder() -> Path:
    """Return the folder of fetched weights: $VOXAUDIT_MODELS, else `models` in the cache folder."""
    chosen = os.environ.get("VOXAUDIT_MODELS")
    return Path(chosen) if chosen else cache_folder() / "models"


def fetched(model: Model) -> Path | None:
    """Return the folder of a fetched model, or None where a file is missing or has another size."""
    folder = models_folder() / model.name
    for file in model.files:
        try:
            if (folder / file.name).stat().st_size != file.size:
                return None
        except OSError:
            return None
    return folder


def weights_of(engine: str, model: str) -> Path:
    """Return the file or folder that an engine's setting `model` means: a path, or the name of fetched weights.

    Raises `RecognizerError` with the command that fetches them.
    """
    own = {known.setting: known for known in KNOWN.values() if known.engine == engine}
    if model in own:
        folder = fetched(own[model])
        if folder is not None:
            return folder
        if not Path(model).exists():
            raise RecognizerError(
                f"recognizer '{engine}': the model '{model}' is not on this machine."
                f" Fetch it with: voxaudit models fetch {own[model].name}"
            )
    if model and Path(model).exists():
        return Path(model)
    raise RecognizerError(
        f"recognizer '{engine}': no file or folder '{one_line(model, 120)}', and no model of that name."
        f" Names: {', '.join(own) or 'none'}"
    )
