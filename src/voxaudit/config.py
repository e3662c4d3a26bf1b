"""`audit.toml`: what to audit, read strictly so that a misspelt key is an error and not ignored."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import place
from voxaudit.registry import suggest


@dataclass(frozen=True)
class CorpusConfig:
    """Where the recordings are and how to read them. `attributes` are the groups to compare.

    `where` are clauses that choose utterances, such as `accent!=american`.

    Without a path (`speak = true`, in the role `synthetic` only) the clean corpus's texts are read aloud.
    """

    path: Path | None
    format: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    skip_bad_rows: bool = False


BOUNDS = ("point", "lower", "upper")
"""What of an estimate a gate judges: the estimate itself, or a limit of its 95 % interval."""

GATES: dict[str, tuple[str, ...]] = {
    "clean_wer": BOUNDS,
    "worst_wer": BOUNDS,
    "category_nwerd": BOUNDS,
    "worst_group_ratio": ("lower", "point", "upper"),
    "max_failures": ("point",),
    "differential": ("point",),
}
"""The gates with a limit, and the bounds each can be judged by, the usual one first. `docs/report.md` explains them."""

WHOLE_RUN = ("differential", "baseline")
"""Gates that are not about a single recognizer."""


@dataclass(frozen=True)
class Gate:
    """What may be found at most: `bound` of the estimate must not exceed `limit`."""

    limit: float
    bound: str = "point"


@dataclass(frozen=True)
class Gates:
    """What must hold for a run to pass: `common` gates, those of single recognizers instead, and an earlier run.

    `baseline` is the folder of a run than which this one must not be significantly worse.
    """

    common: Mapping[str, Gate] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Gate]] = field(default_factory=dict)
    baseline: Path | None = None

    def of(self, recognizer: str) -> dict[str, Gate]:
        """Return the gates that a recognizer is judged by; its own replace the common ones."""
        return {**self.common, **self.own.get(recognizer, {})}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `read_gates` reads: what `run.json` keeps."""

        def plain(gates: Mapping[str, Gate]) -> dict[str, Any]:
            return {name: {"limit": gate.limit, "bound": gate.bound} for name, gate in gates.items()}

        document = plain(self.common) | {name: plain(gates) for name, gates in self.own.items()}
        return document | ({} if self.baseline is None else {"baseline": str(self.baseline.absolute())})


@dataclass(frozen=True)
class StutterConfig:
    """How a run asks whether people who stutter can use a recognizer: the section `[stutter]`.

    `utterances` of the corpus are made to stutter in `budget` ways each; an answer less similar than `threshold` (0 to
    1) to the one without stuttering is suspicious. `dose` are rates, in stuttered moments per 100 words, at which the
    word error rate is measured as well.
    """

    utterances: int = 8
    budget: int = 4
    dose: tuple[float, ...] = ()
    threshold: float = 0.8


@dataclass(frozen=True)
class AuditConfig:
    """An audit as `audit.toml` describes it. Times are in seconds; `folder` is where its relative paths start.

    `corpora` are natural scenarios: further corpora by role, heard as they are. `sources` are folders of noise or
    rooms by perturbation, in place of the built-in ones. `executor` is where trials are heard (`local`, `ray`) and
    `publish` a URL to which the finished tables and report are copied. Without `stutter` nothing is made to stutter.
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
    executor: str = "local"
    ray_address: str | None = None
    replica_cpus: float = 1.0
    replica_gpus: float = 0.0
    publish: str | None = None
    normalizer: str = "basic"
    corpora: dict[str, CorpusConfig] = field(default_factory=dict)
    sources: dict[str, Path] = field(default_factory=dict)
    gates: Gates = Gates()
    stutter: StutterConfig | None = None
    folder: Path = Path()


_CORPUS: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "format": str,
    "columns": dict,
    "attributes": list,
    "where": list,
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
    "run": {
        "out": str,
        "seed": int,
        "workers": int,
        "timeout": (int, float),
        "retries": int,
        "cache": bool,
        "executor": str,
        "ray_address": str,
        "replica_cpus": (int, float),
        "replica_gpus": (int, float),
        "publish": str,
    },
    "score": {"normalizer": str},
    "stutter": {"utterances": int, "budget": int, "dose": list, "threshold": (int, float)},
    "gates": {},
}


def load_config(path: str | Path) -> AuditConfig:
    """Read `audit.toml`. Relative paths in it are relative to its folder; mistakes raise one line."""
    path = Path(path)
    document = _read(path)
    run = document.get("run", {})
    if run.get("seed", 0) < 0:
        raise VoxauditError(f"{path}: run.seed must be at least 0, not {run['seed']}")
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
        gates=read_gates(document.get("gates", {}), path, list(recognizers)),
        stutter=_stutter(document["stutter"], path) if "stutter" in document else None,
        out=place(path.parent, run.get("out", "runs/" + path.stem)),
        folder=path.parent.absolute(),
        **{key: value for key, value in run.items() if key != "out"},
        **document.get("score", {}),
    )


def load_gates(path: str | Path, recognizers: Iterable[str]) -> Gates:
    """Read the `[gates]` of a file such as `audit.toml` for a run of these recognizers; the rest is not used."""
    path = Path(path)
    document = _read(path)
    if "gates" not in document:
        raise VoxauditError(f"{path}: no section [gates]")
    return read_gates(document["gates"], path, list(recognizers))


def read_gates(content: Mapping[str, Any], path: Path, recognizers: list[str]) -> Gates:
    """Return the gates of a `[gates]` section, checked. A baseline is relative to the folder of `path`."""
    common: dict[str, Gate] = {}
    own: dict[str, dict[str, Gate]] = {}
    baseline = None
    for key, value in content.items():
        if key == "baseline":
            (text,) = _texts([value], path, "gates.baseline")
            baseline = path.parent / text
        elif key in GATES:
            common[key] = _gate(key, value, path, f"gates.{key}")
        elif isinstance(value, dict) and key in recognizers:
            own[key] = {}
            for name, limit in value.items():
                if name in WHOLE_RUN or name not in GATES:
                    known = [gate for gate in GATES if gate not in WHOLE_RUN]
                    raise VoxauditError(
                        f"{path}: unknown gate '{name}' in [gates.{key}].{suggest(name, known)} Known:"
                        f" {', '.join(known)}"
                    )
                own[key][name] = _gate(name, limit, path, f"gates.{key}.{name}")
        else:
            known = [*GATES, "baseline", *recognizers]
            raise VoxauditError(
                f"{path}: unknown gate or recognizer '{one_line(key, 60)}' in [gates].{suggest(key, known)} Known:"
                f" {', '.join(known)}"
            )
    return Gates(common, own, baseline)


def _gate(name: str, value: Any, path: Path, where: str) -> Gate:
    table = value if isinstance(value, dict) else {"limit": value}
    if set(table) - {"limit", "bound"} or "limit" not in table:
        raise VoxauditError(f'{path}: {where} takes a number or {{ limit = NUMBER, bound = "point" }}')
    limit, bound = table["limit"], table.get("bound", GATES[name][0])
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < math.inf:
        raise VoxauditError(f"{path}: {where} must be a number from 0 on, not {one_line(repr(limit), 40)}")
    if bound not in GATES[name]:
        raise VoxauditError(
            f"{path}: the bound of {where} is one of {', '.join(GATES[name])}, not {one_line(repr(bound), 40)}"
        )
    if name in ("clean_wer", "worst_wer", "max_failures") and limit >= 2:
        raise VoxauditError(f"{path}: {where} is a fraction: write {limit / 100:g} for {limit:g} %")
    if name == "category_nwerd" and limit >= 5:
        raise VoxauditError(
            f"{path}: {where} is a fraction: write {limit / 100:g} for {limit:g} percentage points"
        )
    if name == "worst_group_ratio" and limit < 1:
        raise VoxauditError(f"{path}: {where} is the larger over the smaller: it is never below 1")
    return Gate(float(limit), bound)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise VoxauditError(f"{path}: no such file. `voxaudit init CORPUS` writes one")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise VoxauditError(f"{path}: not valid TOML ({one_line(error)})") from error
    _check(document, path)
    return document


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
        path=None if aloud else place(path.parent, content["path"]),
        format=content.get("format"),
        columns=dict(zip(columns, _texts(columns.values(), path, f"{section}.columns"), strict=True)),
        attributes=_texts(content.get("attributes", []), path, f"{section}.attributes"),
        where=_texts(content.get("where", []), path, f"{section}.where"),
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


def _stutter(content: Mapping[str, Any], path: Path) -> StutterConfig:
    dose = content.get("dose", [])
    ranges: list[tuple[str, Any, float, float]] = [
        ("utterances", content.get("utterances", 1), 1, 1_000_000),
        ("budget", content.get("budget", 1), 1, 10_000),
        ("threshold", content.get("threshold", 1), 0.01, 1),
        *(("dose", rate, 0, 500) for rate in dose),
    ]
    for key, value, low, high in ranges:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise VoxauditError(
                f"{path}: stutter.{key} takes numbers from {low:g} to {high:,}, not {one_line(repr(value), 40)}"
            )
    return StutterConfig(**{**content, "dose": tuple(float(rate) for rate in dose)})


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
