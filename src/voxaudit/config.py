"""`audit.toml`: what to audit, read strictly so that a misspelt key is an error and not ignored."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.registry import suggest


@dataclass(frozen=True)
class CorpusConfig:
    """Where the recordings are and how to read them. `attributes` are the groups to compare."""

    path: Path
    format: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    skip_bad_rows: bool = False


@dataclass(frozen=True)
class AuditConfig:
    """An audit as `audit.toml` describes it. Times are in seconds; `folder` is where its relative paths start."""

    corpus: CorpusConfig
    recognizers: dict[str, dict[str, Any]]
    scenarios: tuple[str, ...]
    out: Path
    seed: int = 0
    workers: int | None = None
    timeout: float = 120.0
    retries: int = 1
    cache: bool = True
    normalizer: str = "basic"
    folder: Path = Path()


_SECTIONS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "corpus": {"path": str, "format": str, "columns": dict, "attributes": list, "skip_bad_rows": bool},
    "recognizers": {},
    "scenarios": {"use": list},
    "run": {"out": str, "seed": int, "workers": int, "timeout": (int, float), "retries": int, "cache": bool},
    "score": {"normalizer": str},
}


def load_config(path: str | Path) -> AuditConfig:
    """Read `audit.toml`. Relative paths in it are relative to its folder; mistakes raise one line."""
    path = Path(path)
    if not path.is_file():
        raise VoxauditError(f"{path}: no such file. `voxaudit init CORPUS` writes one")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise VoxauditError(f"{path}: not valid TOML ({one_line(error)})") from error
    _check(document, path)
    corpus, run = document.get("corpus", {}), document.get("run", {})
    if "path" not in corpus:
        raise VoxauditError(f"{path}: [corpus] needs a path")
    columns = corpus.get("columns", {})
    recognizers = document.get("recognizers", {})
    if not recognizers:
        raise VoxauditError(f"{path}: no recognizer. Add a section such as [recognizers.moonshine]")
    for name, settings in recognizers.items():
        if not isinstance(settings, dict):
            raise VoxauditError(
                f"{path}: recognizers.{name} must be a section of settings, [recognizers.{name}]"
            )
    return AuditConfig(
        corpus=CorpusConfig(
            path=path.parent / corpus["path"],
            format=corpus.get("format"),
            columns=dict(zip(columns, _texts(columns.values(), path, "corpus.columns"), strict=True)),
            attributes=_texts(corpus.get("attributes", []), path, "corpus.attributes"),
            skip_bad_rows=corpus.get("skip_bad_rows", False),
        ),
        recognizers={name: dict(settings) for name, settings in recognizers.items()},
        scenarios=_texts(document.get("scenarios", {}).get("use", ["quick"]), path, "scenarios.use"),
        out=path.parent / run.get("out", "runs/" + path.stem),
        folder=path.parent.absolute(),
        **{key: run[key] for key in ("seed", "workers", "timeout", "retries", "cache") if key in run},
        **document.get("score", {}),
    )


def _check(document: dict[str, Any], path: Path) -> None:
    for section, content in document.items():
        if section not in _SECTIONS:
            raise VoxauditError(f"{path}: unknown section [{section}].{suggest(section, list(_SECTIONS))}")
        if not isinstance(content, dict):
            raise VoxauditError(f"{path}: {section} must be a section, [{section}]")
        if section == "recognizers":
            continue
        known = _SECTIONS[section]
        for key, value in content.items():
            if key not in known:
                raise VoxauditError(
                    f"{path}: unknown key '{key}' in [{section}].{suggest(key, list(known))} Known: {', '.join(known)}"
                )
            if not isinstance(value, known[key]) or (isinstance(value, bool) and known[key] is not bool):
                raise VoxauditError(f"{path}: {section}.{key} has the wrong type ({type(value).__name__})")


def _texts(values: Iterable[Any], path: Path, where: str) -> tuple[str, ...]:
    checked = tuple(values)
    for value in checked:
        if not isinstance(value, str):
            raise VoxauditError(f"{path}: {where} takes text only, not {one_line(repr(value), 60)}")
    return checked
