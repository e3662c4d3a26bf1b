"""`audit.toml`: what to audit, read strictly so that a misspelt key is an error and not ignored."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from voxaudit.errors import VoxauditError, one_line
from voxaudit.files import place
from voxaudit.options import Limits, Option, RunOptions, option, options_of
from voxaudit.registry import suggest, unknown


@dataclass(frozen=True)
class CorpusConfig:
    """Where the recordings are and how to read them.

    Without a path (`speak = true`, in the role `synthetic` only) the clean corpora's texts are read aloud.
    """

    path: Path | None = option(None, "manifest or folder, relative to this file")
    name: str | None = option(None, "what it is called", unset="detected")
    language: str | None = option(
        None, "what is spoken, such as en or es-MX; recognizers are told", unset="what the corpus says"
    )
    role: str | None = option(
        None,
        "in [[corpora]] only: what it stands for (accented, near_field, far_field, synthetic, also far_field_NAME)",
        unset="clean speech",
    )
    baseline: str | None = option(
        None,
        "in a role only: the name of the clean corpus it is compared with",
        unset="the first of its language",
    )
    format: str | None = option(None, "its format (`voxaudit list corpora`)", unset="detected")
    columns: dict[str, str] = option({}, "which column is which: ours = the corpus's name")
    attributes: tuple[str, ...] = option((), "the groups to compare")
    where: tuple[str, ...] = option((), "clauses that choose utterances, such as accent!=american")
    skip_bad_rows: bool = option(False, "leave bad rows out instead of stopping")
    speak: bool = option(False, "in the role synthetic only, without a path: read the texts aloud")
    change: str | None = option(
        None,
        "with speak: a property of which every voice is heard in both forms (pitch, rate, accent)",
        unset="none",
    )


BOUNDS = ("point", "lower", "upper")
"""What of an estimate a gate judges: the estimate itself, or a limit of its 95 % interval."""


@dataclass(frozen=True)
class GateKind:
    """A gate with a limit: the finding that it looks at, and why there may be none.

    Of several findings that a `*` in `measure` stands for, it looks at the largest. `bounds` are what it can be judged
    by, the usual one first; its limit starts at `least` and stays `below`: a larger one was meant in percent.
    """

    audit: str
    measure: str
    absent: str
    bounds: tuple[str, ...] = BOUNDS
    least: float = 0.0
    below: float | None = None


GATES = {
    "clean_wer": GateKind("accuracy", "wer", "there is no error rate on clean speech", below=2.0),
    "worst_wer": GateKind("accuracy", "worst_wer", "there is no error rate on disturbed speech", below=2.0),
    "category_nwerd": GateKind(
        "robustness",
        "worst_category_nwerd",
        "no category of disturbances has an NWERD; measure difficulties with `voxaudit quality RUN`",
        below=5.0,
    ),
    "worst_group_ratio": GateKind(
        "disparity",
        "worst_group_ratio",
        "no attribute was named whose groups could be compared",
        ("lower", "point", "upper"),
        least=1.0,
    ),
    "max_failures": GateKind("accuracy", "failures", "nothing was heard", ("point",), below=2.0),
    "silence_words_per_minute": GateKind(
        "hallucination",
        "silence_words_per_minute",
        "there is no audio without speech; use the scenario `silence`",
    ),
    "unsupported_words_per_minute": GateKind(
        "hallucination", "unsupported_words_per_minute", "there are neither references nor two recognizers"
    ),
    "hallucinated_words_per_minute": GateKind(
        "hallucination", "*_words_per_minute", "the length of the recordings is not known"
    ),
    "keyword_error_rate": GateKind("keywords", "keyword_error_rate", "no keyword was said"),
    "serious_error_rate": GateKind("keywords", "serious_error_rate", "there are no references"),
    "p95_seconds": GateKind("waiting", "p95_seconds", "no answer was timed"),
    "calibration_error": GateKind(
        "confidence", "calibration_error", "it states no confidences, or there are no references"
    ),
    "differential": GateKind(
        "differential", "violations", "no attribute was named whose groups could be compared", ("point",)
    ),
}
"""The gates with a limit. `docs/report.md` explains them."""

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

    `baseline` is the folder of a run than which this one must not be significantly worse. With `strict`, a gate that
    cannot be judged fails.
    """

    common: Mapping[str, Gate] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Gate]] = field(default_factory=dict)
    baseline: Path | None = None
    strict: bool = False

    def of(self, recognizer: str) -> dict[str, Gate]:
        """Return the gates that a recognizer is judged by; its own replace the common ones."""
        return {**self.common, **self.own.get(recognizer, {})}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `read_gates` reads: what `run.json` keeps."""

        def plain(gates: Mapping[str, Gate]) -> dict[str, Any]:
            return {name: {"limit": gate.limit, "bound": gate.bound} for name, gate in gates.items()}

        document = plain(self.common) | {name: plain(gates) for name, gates in self.own.items()}
        baseline = {} if self.baseline is None else {"baseline": str(self.baseline.absolute())}
        return document | baseline | ({"strict": True} if self.strict else {})


@dataclass(frozen=True)
class StutterConfig:
    """How a run asks whether people who stutter can use a recognizer: the section `[stutter]`."""

    utterances: int = option(8, "utterances that are made to stutter", at_least=1, at_most=1_000_000)
    budget: int = option(4, "stuttered cases made of each utterance", at_least=1, at_most=10_000)
    dose: tuple[float, ...] = option(
        (),
        "also measure the error rate at these stuttered moments per 100 words",
        at_least=0,
        at_most=500,
    )
    threshold: float = option(
        0.8,
        "an answer less similar than this (0 to 1) to the one without stuttering is suspicious",
        at_least=0.01,
        at_most=1,
    )
    mode: str = option(
        "realistic",
        "how speech stutters: as real stuttering was measured (realistic), or as ASTER publishes it (aster)",
        choices=("realistic", "aster"),
    )


@dataclass(frozen=True, kw_only=True)
class AuditConfig:
    """An audit as `audit.toml` describes it; `folder` is where its relative paths start.

    `corpora` are further corpora: clean speech too, or in a role, heard as they are. `sources` are folders of noise or
    rooms by perturbation, in place of the built-in ones. `options` is how it is heard. Without `stutter` nothing is
    made to stutter.
    """

    corpus: CorpusConfig
    recognizers: dict[str, dict[str, Any]]
    scenarios: tuple[str, ...] = option(
        ("quick",), "suites and scenario ids; clean speech is always heard too"
    )
    out: Path = option(meaning="the run's folder", unset="runs/ and the name of this file")
    options: RunOptions = RunOptions()
    normalizer: str = option("basic", "how texts are normalized (`voxaudit list normalizers`)")
    keywords: Path | None = option(
        None, "a file of your own words and phrases that matter, one per line", unset="none"
    )
    corpora: tuple[CorpusConfig, ...] = ()
    sources: dict[str, Path] = field(default_factory=dict)
    given: dict[str, str] = option({}, "audio made elsewhere: scenario id = folder or manifest")
    gates: Gates = Gates()
    stutter: StutterConfig | None = None
    folder: Path = Path()

    @property
    def heard_from(self) -> dict[str, Path]:
        """The folders of sound: `sources` by perturbation, and audio made elsewhere (`given`) by scenario."""
        return {**self.sources, **{id_: place(self.folder, path) for id_, path in self.given.items()}}

    @property
    def attributes(self) -> tuple[str, ...]:
        """The groups to compare, of all corpora."""
        return tuple(dict.fromkeys(name for one in (self.corpus, *self.corpora) for name in one.attributes))


_AUDIT = options_of(AuditConfig)

SECTIONS: dict[str, Mapping[str, Option]] = {
    "corpus": options_of(CorpusConfig),
    "scenarios": {"use": _AUDIT["scenarios"], "given": _AUDIT["given"]},
    "run": {
        "out": _AUDIT["out"],
        **{name: one for name, one in options_of(RunOptions).items() if "toml" in one.places},
    },
    "limits": options_of(Limits),
    "score": {name: _AUDIT[name] for name in ("normalizer", "keywords")},
    "stutter": options_of(StutterConfig),
}
"""The sections of `audit.toml` with fixed keys, and what each key takes."""

NAMED: dict[str, str] = {
    "corpora": "[[corpora]]: further corpora, each with the keys of [corpus]",
    "recognizers": "[recognizers.NAME]: its engine and settings",
    "suites": "your own lists of scenarios, by name",
    "sources": "folders of noise or rooms, by perturbation",
    "gates": "what must hold, for all recognizers or in [gates.RECOGNIZER] for one",
}
"""The sections whose keys are names."""

ORDER = (
    "corpus",
    "corpora",
    "recognizers",
    "suites",
    "scenarios",
    "sources",
    "run",
    "limits",
    "score",
    "stutter",
    "gates",
)
"""All sections, as a reader meets them."""


def load_config(path: str | Path) -> AuditConfig:
    """Read `audit.toml`. Relative paths in it are relative to its folder; mistakes raise one line."""
    path = Path(path)
    return read_config(_read(path), path)


def read_config(document: Mapping[str, Any], path: Path) -> AuditConfig:
    """Return the audit that the content of an `audit.toml` at `path` describes; mistakes raise one line."""
    _check(document, path)
    recognizers = document.get("recognizers", {})
    if not recognizers:
        raise VoxauditError(f"{path}: no recognizer. Add a section such as [recognizers.moonshine]")
    for name, settings in recognizers.items():
        if not isinstance(settings, dict):
            raise VoxauditError(
                f"{path}: recognizers.{name} must be a section of settings, [recognizers.{name}]"
            )
    run = _values("run", document.get("run", {}), path)
    limits = Limits(**_values("limits", document.get("limits", {}), path))
    first, *corpora = _corpora(document, path)
    return AuditConfig(
        corpus=first,
        corpora=tuple(corpora),
        recognizers={name: dict(settings) for name, settings in recognizers.items()},
        scenarios=_scenarios(document, path),
        sources={name: path.parent / where for name, where in _sources(document, path).items()},
        given=_values("scenarios", document.get("scenarios", {}), path).get("given", {}),
        gates=read_gates(document.get("gates", {}), path, list(recognizers)),
        stutter=(
            StutterConfig(**_values("stutter", document["stutter"], path)) if "stutter" in document else None
        ),
        out=run.pop("out", path.parent / "runs" / path.stem),
        options=RunOptions.of(**run, limits=limits),
        folder=path.parent.absolute(),
        **_values("score", document.get("score", {}), path),
    )


def config_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of `audit.toml`: editors check and complete the file by it."""
    corpus = {**_section_schema("corpus"), "required": ["path"]}
    for name in IN_A_ROLE:
        del corpus["properties"][name]
    aloud = {"required": ["role"], "properties": {"role": {"const": "synthetic"}}}
    further = {
        **_section_schema("corpus"),
        "oneOf": [{"required": ["path"]}, {"required": ["speak"]}],
        "if": {"required": ["speak"]},
        "then": aloud,
    }
    gates = {name: _gate_schema(name) for name in GATES}
    own = {name: gate for name, gate in gates.items() if name not in WHOLE_RUN}
    texts = {"type": "array", "items": {"type": "string"}}
    settings = {"type": "object", "properties": {"engine": {"type": "string"}}}
    one_gate = {"type": "object", "properties": own, "additionalProperties": False}
    named: dict[str, dict[str, Any]] = {
        "corpora": {"type": "array", "items": further},
        "recognizers": {"minProperties": 1, "additionalProperties": settings},
        "suites": {"additionalProperties": texts},
        "sources": {"additionalProperties": {"type": "string"}},
        "gates": {
            "properties": {**gates, "baseline": {"type": "string"}, "strict": {"type": "boolean"}},
            "additionalProperties": one_gate,
        },
    }
    sections = {
        **{name: _section_schema(name) for name in SECTIONS},
        **{name: {"type": "object", "description": NAMED[name], **one} for name, one in named.items()},
        "corpus": corpus,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "audit.toml",
        "description": "What voxaudit audits. Relative paths are relative to the file.",
        "type": "object",
        "required": ["recognizers"],
        "anyOf": [{"required": ["corpus"]}, {"required": ["corpora"]}],
        "properties": {name: sections[name] for name in ORDER},
        "additionalProperties": False,
    }


def _section_schema(section: str) -> dict[str, Any]:
    properties = {name: one.schema() for name, one in SECTIONS[section].items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _gate_schema(name: str) -> dict[str, Any]:
    kind = GATES[name]
    most = {} if kind.below is None else {"exclusiveMaximum": kind.below}
    limit = {"type": "number", "minimum": kind.least, **most}
    bound = {"enum": list(kind.bounds), "default": kind.bounds[0]}
    table = {
        "type": "object",
        "properties": {"limit": limit, "bound": bound},
        "required": ["limit"],
        "additionalProperties": False,
    }
    return {"anyOf": [limit, table]}


def load_gates(path: str | Path, recognizers: Iterable[str]) -> Gates:
    """Read the `[gates]` of a file such as `audit.toml` for a run of these recognizers; the rest is not used."""
    path = Path(path)
    document = _read(path)
    _check(document, path)
    if "gates" not in document:
        raise VoxauditError(f"{path}: no section [gates]")
    return read_gates(document["gates"], path, list(recognizers))


def read_gates(content: Mapping[str, Any], path: Path, recognizers: list[str]) -> Gates:
    """Return the gates of a `[gates]` section, checked. A baseline is relative to the folder of `path`."""
    common: dict[str, Gate] = {}
    own: dict[str, dict[str, Gate]] = {}
    baseline, strict = None, False
    for key, value in content.items():
        if key == "strict":
            if not isinstance(value, bool):
                raise VoxauditError(f"{path}: gates.strict is true or false, not {one_line(repr(value), 40)}")
            strict = value
        elif key == "baseline":
            (text,) = _texts([value], path, "gates.baseline")
            baseline = path.parent / text
        elif key in GATES:
            common[key] = _gate(key, value, path, f"gates.{key}")
        elif isinstance(value, dict) and key in recognizers:
            own[key] = {}
            for name, limit in value.items():
                if name in WHOLE_RUN or name not in GATES:
                    known = [gate for gate in GATES if gate not in WHOLE_RUN]
                    what = f"{path}: unknown gate"
                    raise unknown(what, name, known, where=f" in [gates.{key}]", there="Known")
                own[key][name] = _gate(name, limit, path, f"gates.{key}.{name}")
        else:
            known = [*GATES, "baseline", "strict", *recognizers]
            what = f"{path}: unknown gate or recognizer"
            raise unknown(what, key, known, where=" in [gates]", there="Known")
    return Gates(common, own, baseline, strict)


def _gate(name: str, value: Any, path: Path, where: str) -> Gate:
    table = value if isinstance(value, dict) else {"limit": value}
    if set(table) - {"limit", "bound"} or "limit" not in table:
        raise VoxauditError(f'{path}: {where} takes a number or {{ limit = NUMBER, bound = "point" }}')
    kind = GATES[name]
    limit, bound = table["limit"], table.get("bound", kind.bounds[0])
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < math.inf:
        raise VoxauditError(
            f"{path}: {where} must be a number of at least 0, not {one_line(repr(limit), 40)}"
        )
    if bound not in kind.bounds:
        raise VoxauditError(
            f"{path}: the bound of {where} is one of {', '.join(kind.bounds)}, not {one_line(repr(bound), 40)}"
        )
    if kind.below is not None and limit >= kind.below:
        unit = "percentage points" if name == "category_nwerd" else "%"
        raise VoxauditError(f"{path}: {where} is a fraction: write {limit / 100:g} for {limit:g} {unit}")
    if limit < kind.least:
        raise VoxauditError(
            f"{path}: {where} is the larger over the smaller: it is never below {kind.least:g}"
        )
    return Gate(float(limit), bound)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise VoxauditError(f"{path}: no such file. `voxaudit init CORPUS` writes one")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:  # a number too long, brackets too deep
        raise VoxauditError(f"{path}: not valid TOML ({one_line(error)})") from error
    return document


def _corpora(document: Mapping[str, Any], path: Path) -> list[CorpusConfig]:
    """Return `[corpus]` and the `[[corpora]]`, one of clean speech first."""
    further = document.get("corpora", [])
    given = [("corpus", document.get("corpus", {}))] if "corpus" in document or not further else []
    given += [(f"corpora.{number}", content) for number, content in enumerate(further, start=1)]
    read = [_corpus(content, path, section) for section, content in given]
    clean = next((place for place, one in enumerate(read) if one.role is None), None)
    if clean is None:
        raise VoxauditError(f"{path}: all corpora have a role, and one of clean speech is needed: [corpus]")
    return [read[clean], *read[:clean], *read[clean + 1 :]]


IN_A_ROLE = ("role", "baseline", "speak", "change")
"""What only further corpora have."""
_NAME = re.compile(r"[\w.+-]([\w .+-]{0,58}[\w.+-])?")
"""What a corpus may be called: it stands before ids, and in tables."""


def _corpus(content: Any, path: Path, section: str) -> CorpusConfig:
    if not isinstance(content, dict):
        raise VoxauditError(f"{path}: {section} must be a section, [{section}]")
    config = CorpusConfig(**_values("corpus", content, path, section))
    alone = [key for key in IN_A_ROLE if key in content and section == "corpus"]
    if alone:
        raise VoxauditError(f"{path}: corpus.{alone[0]} is for further corpora, [[corpora]]")
    if config.speak and (config.role != "synthetic" or config.path is not None):
        raise VoxauditError(f'{path}: {section}: speak is for role = "synthetic" without a path')
    if config.change is not None and not config.speak:
        raise VoxauditError(f"{path}: {section}: change goes with speak = true")
    if config.path is None and not config.speak:
        raise VoxauditError(f"{path}: [{section}] needs a path")
    if config.baseline is not None and config.role is None:
        raise VoxauditError(
            f"{path}: {section}: a baseline is for a corpus in a role, and this is clean speech"
        )
    for key in ("name", "language"):
        value = getattr(config, key)
        if value is not None and not _NAME.fullmatch(value):
            raise VoxauditError(f"{path}: {section}.{key} takes letters, digits, blanks and .+-, up to 60")
    return config


def _scenarios(document: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Return the scenario ids and built-in suites to use: the file's own suites are written out."""
    own = document.get("suites", {})
    for name, content in own.items():
        if not isinstance(content, list):
            raise VoxauditError(f"{path}: suites.{name} must be a list of scenario ids")
    used = _values("scenarios", document.get("scenarios", {}), path).get("use", _AUDIT["scenarios"].default)
    lists = (_texts(own[name], path, f"suites.{name}") if name in own else (name,) for name in used)
    return tuple(id_ for ids in lists for id_ in ids)


def _sources(document: Mapping[str, Any], path: Path) -> dict[str, str]:
    content = document.get("sources", {})
    return dict(zip(content, _texts(content.values(), path, "sources"), strict=True))


def _check(document: Mapping[str, Any], path: Path) -> None:
    """Raise one line where a section is unknown, or a key of one, or a value cannot be what it is."""
    for section, content in document.items():
        if section not in ORDER:
            raise VoxauditError(
                f"{path}: unknown section [{one_line(section, 60)}].{suggest(section, list(ORDER))}"
            )
        if section == "corpora":
            if not isinstance(content, list):
                raise VoxauditError(f"{path}: further corpora are a list: [[corpora]] with path and role")
            continue
        if not isinstance(content, dict):
            raise VoxauditError(f"{path}: {section} must be a section, [{section}]")
        if section in SECTIONS:
            _values(section, content, path)


def _values(section: str, content: Mapping[str, Any], path: Path, name: str | None = None) -> dict[str, Any]:
    """Return the values of a section with the types of its options; paths start at the file's folder."""
    known, name = SECTIONS[section], name or section
    found = {}
    for key, value in content.items():
        if key not in known:
            raise unknown(f"{path}: unknown key", key, known, where=f" in [{name}]", there="Known")
        problem = known[key].problem(value)
        if problem is not None:
            raise VoxauditError(f"{path}: {name}.{key} {problem}")
        if Path in known[key].kinds and isinstance(value, str):
            value = place(path.parent, value)
        found[key] = tuple(value) if isinstance(value, list) else value
    return found


def _texts(values: Iterable[Any], path: Path, where: str) -> tuple[str, ...]:
    checked = tuple(values)
    for value in checked:
        if not isinstance(value, str):
            raise VoxauditError(f"{path}: {where} takes text only, not {one_line(repr(value), 60)}")
    return checked


_EXAMPLES = {
    "out": '"runs/first"',
    "workers": "2",
    "executor": '"ray"',
    "ray_address": '"auto"',
    "replica_cpus": "1",
    "replica_gpus": "0.5",
    "publish": '"s3://bucket/folder"',
    "dose": "[0, 5, 10, 20]",
    "memory": "8",
    "keywords": '"terms.txt"',
}
"""What is shown for keys that are not for everybody."""


def corpus_toml(
    path: str,
    *,
    format: str,
    found_out: bool = False,
    attributes: Iterable[str] = (),
    skip_bad_rows: bool = False,
    name: str | None = None,
) -> str:
    """Return the section of a corpus: of `[[corpora]]` where it has a name. `found_out` formats are a comment."""
    groups = ", ".join(map(_toml, attributes))
    form = f"# format = {_toml(format)}  # detected" if found_out else f"format = {_toml(format)}"
    several = (
        f"""
name = {_toml(name)}
# language = "en"  # what is spoken, where the corpus does not say; recognizers are told
# role = "accented"  # where it is not clean speech: accented, near_field, far_field, synthetic"""
        if name is not None
        else ""
    )
    return f"""\
{"[corpus]" if name is None else "[[corpora]]"}
path = {_toml(path)}{several}
{form}
# columns = {{ text = "sentence", speaker = "client_id" }}  # ours = the corpus's name, where it is not detected
attributes = [{groups}]  # the groups to compare
skip_bad_rows = {_value(skip_bad_rows)}  # true: leave out rows with missing audio or duplicate ids instead of stopping
"""


def audit_toml(*corpora: str) -> str:
    """Return an `audit.toml` for corpora, which are sections of `corpus_toml`, with every key explained."""
    sections = "\n".join(corpora)
    return f"""\
# What voxaudit audits. Paths are relative to this file. Run it with: voxaudit run audit.toml

{sections}
# One section per recognizer. The name is yours; `engine` says what it is, if that is not the name.
# `voxaudit list recognizers` shows the engines and their settings.
[recognizers.moonshine]

[recognizers.pocketsphinx]

# [recognizers.mine]
# engine = "command"
# command = "my-recognizer --quiet {{audio}}"

[scenarios]
use = ["quick"]  # suites and scenario ids, such as "gaussian_noise:3"; clean speech is always heard too

[run]
{_keys("run")}

# What one recording, or a worker, may cost at most.
[limits]
{_keys("limits")}

[score]
{_keys("score")}

# Can people who stutter use it? Some utterances are made to stutter and heard again.
# [stutter]
{_keys("stutter", commented=True)}

# What must hold for `voxaudit run` to exit with 0 rather than 1. Rates are fractions.
# [gates]
# clean_wer = 0.15          # word error rate on clean speech, at most
# worst_wer = {{ limit = 0.6, bound = "upper" }}  # in the worst scenario, judged by its upper limit
# worst_group_ratio = 1.5   # errors of a group over those of another, judged by its lower limit
# max_failures = 0.01       # share of trials without an answer
# baseline = "runs/before"  # an earlier run: nothing may be significantly worse
# strict = true             # a gate that cannot be judged (too few speakers, no texts) fails; default: it is skipped
"""


def _keys(section: str, *, commented: bool = False) -> str:
    """Return the lines of a section with every key explained; those that are not for everybody are commented out."""
    lines = []
    for name, one in SECTIONS[section].items():
        said = one.meaning
        if name in _EXAMPLES and one.default_said and not one.required:
            said += f"; default: {one.default_said}"
        lead = "# " if commented or (name in _EXAMPLES and not one.required) else ""
        lines.append((f"{lead}{name} = {_EXAMPLES.get(name) or _value(one.default)}", said))
    width = max(len(line) for line, _ in lines)
    return "\n".join(f"{line:{width}}  # {said}" for line, said in lines)


def _value(value: Any) -> str:
    """Return a default as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return _toml(value) if isinstance(value, str) else f"{value:g}"


def _toml(text: str) -> str:
    """Return text as a TOML string, whatever is in it."""
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else f"\\U{ord(character):08X}"
        for character in text
    )
    return f'"{escaped}"'
