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
    """Where the recordings are and how to read them. `attributes` are the groups to compare.

    Without a path (`speak = true`, in the role `synthetic` only) the clean corpus's texts are read aloud.
    """

    path: Path | None
    format: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    skip_bad_rows: bool = False


@dataclass(frozen=True)
class AuditConfig:
    """An audit as `audit.toml` describes it. Times are in seconds; `folder` is where its relative paths start.

    `corpora` are natural scenarios: further corpora by role, heard as they are. `sources` are folders of noise or
    rooms by perturbation, in place of the built-in ones.
    """

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
    corpora: dict[str, CorpusConfig] = field(default_factory=dict)
    sources: dict[str, Path] = field(default_factory=dict)
    folder: Path = Path()


_CORPUS: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "format": str,
    "columns": dict,
    "attributes": list,
    "skip_bad_rows": bool,
    "speak": bool,
}
_SECTIONS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "corpus": _CORPUS,
    "corpora": {},
    "recognizers": {},
    "suites": {},
    "scenarios": {"use": list},
    "sources": {},
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
    run = document.get("run", {})
    recognizers = document.get("recognizers", {})
    if not recognizers:
        raise VoxauditError(f"{path}: no recognizer. Add a section such as [recognizers.moonshine]")
    for name, settings in recognizers.items():
        if not isinstance(settings, dict):
            raise VoxauditError(
                f"{path}: recognizers.{name} must be a section of settings, [recognizers.{name}]"
            )
    return AuditConfig(
        corpus=_corpus(document.get("corpus", {}), path, "corpus"),
        corpora={
            name: _corpus(content, path, f"corpora.{name}")
            for name, content in document.get("corpora", {}).items()
        },
        recognizers={name: dict(settings) for name, settings in recognizers.items()},
        scenarios=_scenarios(document, path),
        sources={name: path.parent / where for name, where in _sources(document, path).items()},
        out=path.parent / run.get("out", "runs/" + path.stem),
        folder=path.parent.absolute(),
        **{key: run[key] for key in ("seed", "workers", "timeout", "retries", "cache") if key in run},
        **document.get("score", {}),
    )


def _corpus(content: Any, path: Path, section: str) -> CorpusConfig:
    if not isinstance(content, dict):
        raise VoxauditError(f"{path}: {section} must be a section, [{section}]")
    _check_keys(content, _CORPUS, path, section)
    aloud = content.get("speak", False)
    if aloud and (section != "corpora.synthetic" or "path" in content):
        raise VoxauditError(f"{path}: {section}.speak is for [corpora.synthetic] without a path")
    if "path" not in content and not aloud:
        raise VoxauditError(f"{path}: [{section}] needs a path")
    columns = content.get("columns", {})
    return CorpusConfig(
        path=None if aloud else path.parent / content["path"],
        format=content.get("format"),
        columns=dict(zip(columns, _texts(columns.values(), path, f"{section}.columns"), strict=True)),
        attributes=_texts(content.get("attributes", []), path, f"{section}.attributes"),
        skip_bad_rows=content.get("skip_bad_rows", False),
    )


def _scenarios(document: dict[str, Any], path: Path) -> tuple[str, ...]:
    """Return the scenario ids and built-in suites to use: the file's own suites are written out."""
    own = document.get("suites", {})
    for name, content in own.items():
        if not isinstance(content, list):
            raise VoxauditError(f"{path}: suites.{name} must be a list of scenario ids")
    used = _texts(document.get("scenarios", {}).get("use", ["quick"]), path, "scenarios.use")
    lists = (_texts(own[name], path, f"suites.{name}") if name in own else (name,) for name in used)
    return tuple(id_ for ids in lists for id_ in ids)


def _sources(document: dict[str, Any], path: Path) -> dict[str, str]:
    content = document.get("sources", {})
    return dict(zip(content, _texts(content.values(), path, "sources"), strict=True))


def _check(document: dict[str, Any], path: Path) -> None:
    for section, content in document.items():
        if section not in _SECTIONS:
            raise VoxauditError(f"{path}: unknown section [{section}].{suggest(section, list(_SECTIONS))}")
        if not isinstance(content, dict):
            raise VoxauditError(f"{path}: {section} must be a section, [{section}]")
        if _SECTIONS[section]:
            _check_keys(content, _SECTIONS[section], path, section)


def _check_keys(
    content: dict[str, Any], known: dict[str, type | tuple[type, ...]], path: Path, section: str
) -> None:
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
