"""Models by their Hugging Face name, as far as they are on this machine: nothing is downloaded behind your back."""

from __future__ import annotations

import re
from pathlib import Path

from voxaudit.errors import one_line
from voxaudit.recognize.base import RecognizerError
from voxaudit.recognize.files import installed, sha256

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def model_folder(engine: str, model: str, revision: str = "") -> tuple[Path, str]:
    """Return (folder, identity) of a local folder or of a name in the Hugging Face cache.

    The identity is the SHA-256 of a folder's files, or `name@commit`: a commit's files never change. A model that
    is not there raises one line with the command that gets it.
    """
    folder = Path(model)
    if folder.is_dir():
        return folder, sha256(folder)
    if not _NAME.fullmatch(model) or not installed("huggingface_hub"):
        raise RecognizerError(f"recognizer '{engine}': no folder '{one_line(model, 120)}'")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        path = Path(snapshot_download(model, revision=revision or None, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError) as error:
        chosen = f" --revision {revision}" if revision else ""
        raise RecognizerError(
            f"recognizer '{engine}': '{one_line(model, 120)}' is neither a folder nor in the Hugging Face cache."
            f" Get it with: hf download {model}{chosen}"
        ) from error
    return path, f"{model}@{path.name}"
