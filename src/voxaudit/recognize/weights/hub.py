"""Models of the Hugging Face Hub by name: fetched when somebody says so, then found in its cache, pinned to a commit.

Nothing is downloaded behind your back: engines look at this machine only (`find`), `fetch` is the one way in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.recognize.files import installed

SCHEME = "hf:"
_NAME = re.compile(r"(?:hf:)?([\w.-]+/[\w.-]+)(?:@(\w[\w./-]*))?", re.ASCII)
_OTHERS = (".h5", ".msgpack", ".ot", ".tflite", ".mlmodel", ".gguf")
"""Endings of weights for other libraries than those that are engines here."""


def hub_name(text: str) -> tuple[str, str] | None:
    """Return (ORG/NAME, revision) of `hf:ORG/NAME@REVISION`, `hf:` and revision optional; None if it is no such name.

    >>> hub_name("hf:openai/whisper-tiny@main"), hub_name("models"), hub_name("../models/x"), hub_name("a/b@c/../d")
    (('openai/whisper-tiny', 'main'), None, None, None)
    """
    match = _NAME.fullmatch(text)
    if match is None or match[1].startswith(".") or ".." in text.split("/"):
        return None
    return match[1], match[2] or ""


def cache_folder() -> Path:
    """Return the Hub's cache: $HF_HUB_CACHE, else `hub` in $HF_HOME, else in ~/.cache/huggingface."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser()


def find(name: str, revision: str = "") -> Path | None:
    """Return the folder of a model in the Hub's cache, whose name is its commit; None if it is not there."""
    home = cache_folder() / f"models--{name.replace('/', '--')}"
    ref = home / "refs" / (revision or "main")
    try:
        commit = ref.read_text(encoding="utf-8").strip() if ref.is_file() else revision
    except (OSError, UnicodeDecodeError):
        return None
    folder = home / "snapshots" / commit
    return folder if commit and folder.is_dir() else None


def fetch(
    name: str, revision: str = "", report: Callable[[str, float], None] = lambda what, done: None
) -> Path:
    """Download a model into the Hub's cache and return its folder.

    The commit is looked up first, and every file is taken from it. Weights for other libraries are left out, as are
    pickled ones beside safetensors. `HF_ENDPOINT`, `HF_HOME` and `HF_TOKEN` mean what they mean to the Hub.
    """
    if not installed("huggingface_hub"):
        raise VoxauditError("huggingface_hub is not installed. Install it with: pip install huggingface_hub")
    from huggingface_hub import HfApi, snapshot_download

    import_module("huggingface_hub.utils").disable_progress_bars()
    api: Any = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        info = api.model_info(name, revision=revision or None, files_metadata=True)
        files = {file.rfilename: file.size or 0 for file in info.siblings}
        left = left_out(list(files))
        megabytes = sum(size for file, size in files.items() if file not in left) / 1e6
        license = getattr(info.card_data, "license", None) or "not named"
        report(f"downloading {name}@{info.sha[:12]}, {megabytes:.0f} MB, license: {license}", 0.0)
        where = snapshot_download(
            name, revision=info.sha, ignore_patterns=left, endpoint=api.endpoint, cache_dir=cache_folder()
        )
        ref = Path(where).parents[1] / "refs" / (revision or "main")  # what the name means from now on
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(info.sha, encoding="utf-8")
    except VoxauditError:
        raise
    except Exception as error:  # no network, no such model, no access: the package has a dozen kinds
        raise VoxauditError(f"hf:{name}: cannot be fetched ({one_line(error, 300)})") from error
    return Path(where)


def remove(name: str) -> bool:
    """Delete a model from the Hub's cache, in all its revisions; return whether there was one."""
    from huggingface_hub import scan_cache_dir

    try:
        cache: Any = scan_cache_dir(cache_folder())
    except Exception:  # there is no cache yet
        return False
    commits = [one.commit_hash for repo in cache.repos if repo.repo_id == name for one in repo.revisions]
    if commits:
        cache.delete_revisions(*commits).execute()
    return bool(commits)


def left_out(files: Sequence[str]) -> list[str]:
    """Return which files of a repository no engine here reads.

    >>> left_out(["model.safetensors", "pytorch_model.bin", "tf_model.h5", "config.json", "x.nemo"])
    ['pytorch_model.bin', 'tf_model.h5']
    """
    safe = any(file.endswith(".safetensors") for file in files)
    pickled = re.compile(r"(.*/)?pytorch_model.*\.(bin|bin\.index\.json)")
    return [file for file in files if file.endswith(_OTHERS) or (safe and pickled.fullmatch(file))]
