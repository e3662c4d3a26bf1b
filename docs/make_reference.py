"""Write docs/reference.md from the code: `python docs/make_reference.py`. A test checks that the page is up to date.

Whatever the code declares (arguments, columns, settings, gates) is read from it; only its meaning is written here, and
what the code declares without a meaning here, or the other way round, is an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from voxaudit.audits.audit import AUDITS, find_audit
from voxaudit.cli.main import COMMANDS, _parser
from voxaudit.config import GATES, NAMED, ORDER, SECTIONS
from voxaudit.corpus.base import COLUMNS as CORPUS_COLUMNS
from voxaudit.render.json import schema
from voxaudit.run.store import TRANSCRIPT_COLUMNS
from voxaudit.score.measures import ALL_MEASURES
from voxaudit.score.quality.measure import _schema
from voxaudit.score.quality.measures import COLUMNS as QUALITY_GROUPS
from voxaudit.score.table import SCORE_COLUMNS

PAGE = Path(__file__).with_name("reference.md")

TOP = """\
# Reference

This page is written by `python docs/make_reference.py` from the argument parsers and the code's own tables, and a test
compares the two. To learn, read [the tutorial](tutorial.md); to understand an audit, its own page.

- [Commands](#commands)
- [audit.toml](#audittoml)
- [The run folder](#the-run-folder), [corpus.parquet](#corpusparquet), [transcripts.parquet](#transcriptsparquet),
  [scores.parquet](#scoresparquet), [quality.parquet](#qualityparquet), [findings.json](#findingsjson)
- [Exit codes](#exit-codes), [environment variables](#environment-variables)
"""

FILES = {
    "run.json": "the frozen configuration: corpus, recognizers with settings and fingerprints, scenarios, sources,"
    " seed, normalizer, gates, versions",
    "trials.sqlite": "the store: every finished trial, committed as it comes; while a run is at work also"
    " `-wal` and `-shm`",
    "lock": "who works on the folder",
    "corpus.parquet": "the utterances as they were read",
    "transcripts.parquet": "one row per trial: what was heard, or why not",
    "scores.parquet": "one row per scored trial: counts, then the utterance's attributes",
    "measures.parquet": "one row per utterance: what its recording and text are like, measured once",
    "quality.parquet": "after `voxaudit quality RUN`: how the audio of each scenario sounds",
    "report.html": "the report for people: one file, no network",
    "summary.md": "the report for a pull request or model card",
    "findings.json": "the report for programs",
    "junit.xml": "the gates, for continuous integration",
    "workers.log": "whatever the recognizers printed",
    "review.sqlite": "after `voxaudit review`: all labels",
    "review.json": "after `voxaudit review`: decisions and agreement, for the report",
}

CORPUS = {
    "id": "the utterance",
    "audio": "path of the recording",
    "speaker": "who speaks; empty: unknown",
    "text": "reference text; null: none, empty: silence",
    "start": "where the utterance starts in the recording, in seconds; null: the whole recording",
    "duration": "how long it is, in seconds",
}

TRANSCRIPTS = {
    "utterance": "id in the corpus",
    "scenario": "`clean`, `gaussian_noise:3` ...",
    "recognizer": "its name in `audit.toml`",
    "text": "what it returned, as it was returned; null where it failed",
    "confidence": "of the whole answer, if the recognizer has one",
    "word_times": "JSON: a list of `[word, start, end, confidence]`, times in seconds",
    "seconds": "how long the recognizer took",
    "failure": "null, or one line that starts with `audio:` or `recognizer:`",
    "trace": "JSON: a list of `[sent_s, received_s, text, final]`, of recognizers that answer while they listen",
}

SCORES = {
    "utterance": "id in the corpus",
    "speaker": "who speaks: the sample of every interval and test",
    "scenario": "as in the transcripts",
    "recognizer": "as in the transcripts",
    "hits": "words heard rightly",
    "substitutions": "words heard as another word",
    "deletions": "words said and not heard",
    "insertions": "words heard and not said",
    "words": "words of the reference: hits + substitutions + deletions",
    "characters": "characters of the reference",
    "character_errors": "the same edits counted in characters",
}

QUALITY = {
    "utterance": "id in the corpus",
    "speaker": "who speaks",
    "scenario": "as in the transcripts",
    "dnsmos": "DNSMOS P.808: how good it sounds, 1 to 5",
    "overall": "DNSMOS P.835, overall (`--p835`)",
    "signal": "DNSMOS P.835, the speech alone (`--p835`)",
    "background": "DNSMOS P.835, the background alone (`--p835`)",
    "pesq": "PESQ wide band against the clean recording, 1 to 4.6",
    "snr": "signal-to-noise ratio in dB, estimated from the recording",
    "windows": "which windows DNSMOS is the mean of",
    "missing": "why a number is missing; null: none is",
}

FINDING = {
    "audit": "which audit found it",
    "id": "stable over runs that ask the same",
    "measure": "what was measured",
    "verdict": "",
    "sentence": "the finding in words",
    "estimate": "the number",
    "low": "lower end of its interval",
    "high": "upper end",
    "level": "of the interval, such as 0.95",
    "unit": "`fraction`, `ratio`, `count`, or a unit in words",
    "p": "of this question alone",
    "p_adjusted": "within the family of questions asked together; the verdict follows from it",
    "family": "what was corrected for together; null: nothing",
    "recognizer": "whom it is about; null: not about one",
    "corpus": "of which corpus, where there are several",
    "language": "in which language, where there are several",
    "scenario": "in which scenario; null: not about one",
    "category": "in which category of scenarios; null: not about one",
    "attribute": "of which attribute",
    "group": "of which group",
    "against": "what the group or recognizer is compared with",
    "speakers": "how many speakers it rests on",
    "speakers_against": "and of those it is compared with",
    "utterances": "how many utterances",
    "words": "how many words",
    "excludes": "where no difference is shown: the largest that the data do not rule out",
    "code": "where there is no answer: why",
    "headline": "true: in the summary",
    "command": "the line that prints it again",
}

PAGES = {
    "corpora": "scenarios.md",
    "recognizers": "recognizers.md",
    "sources": "sources.md",
    "run.executor": "distributed.md",
    "gates": "report.md#gates",
}
"""Where more is said about a setting."""

EXITS = {
    "0": "fine; for gates and comparisons: passed, nothing got worse",
    "1": "a gate failed, a slice got worse, a recognizer failed its check",
    "2": "bad input or a missing part: one line on standard error says what, where and what to do",
    "70": "an error that nobody foresaw: a defect of voxaudit; one line says where it arose and how to report it",
    "130": "interrupted (Ctrl-C); what was finished is kept",
    "143": "terminated (SIGTERM); what was finished is kept",
}

ENVIRONMENT = {
    "VOXAUDIT_CACHE": "folder of what can be made again: transcripts of other runs, unpacked audio, fetched weights",
    "VOXAUDIT_MODELS": "folder of fetched weights (default: `models` in the cache)",
    "VOXAUDIT_TRACEBACK": "set to 1: an unforeseen error prints where in the program it arose",
    "XDG_CACHE_HOME": "where the cache is, if VOXAUDIT_CACHE does not say (Linux)",
    "LOCALAPPDATA": "the same on Windows",
    "RAY_ADDRESS": "the Ray cluster, if `--ray-address` does not say",
    "RAY_USE_TLS": "Ray's own: its connections use TLS; voxaudit then only checks that something listens there",
    "RAY_USAGE_STATS_ENABLED": "Ray's own: set to 0 by voxaudit unless you set it, so that Ray reports nothing",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "Ray's own: set to 0 by voxaudit unless you set it",
    "OPENBLAS_NUM_THREADS": "set to 1 by the commands unless you set it",
    "COLUMNS": "width of printed tables (default: the terminal's; 160 where output is piped)",
    "ASSEMBLYAI_API_KEY": "key of the engine `assemblyai`",
    "AWS_ACCESS_KEY_ID": "id of the key of the engine `aws`",
    "AWS_SECRET_ACCESS_KEY": "the key itself",
    "AWS_SESSION_TOKEN": "its token, if it has one",
    "AZURE_SPEECH_KEY": "key of the engine `azure`",
    "DEEPGRAM_API_KEY": "key of the engine `deepgram`",
    "ELEVENLABS_API_KEY": "key of the engine `elevenlabs`",
    "GLADIA_API_KEY": "key of the engine `gladia`",
    "GOOGLE_API_KEY": "key or token of the engine `google`",
    "HF_ENDPOINT": "the Hub that models and corpora come from, where it is asked for (the Hub's own variable)",
    "HF_HOME": "where the Hub's files are kept (its own variable)",
    "HF_HUB_CACHE": "where its models are, if not in `hub` of HF_HOME",
    "OPENAI_API_KEY": "key of the engine `openai`",
    "REVAI_ACCESS_TOKEN": "key of the engine `revai`",
    "SPEECHMATICS_API_KEY": "key of the engine `speechmatics`",
    "WATSON_API_KEY": "key of the engine `watson`",
}


def reference() -> str:
    """Return the whole page."""
    parts = schema()["$defs"]
    finding = parts["finding"]["properties"]
    verdicts = ", ".join(f"`{one}`" for one in parts["verdict"]["enum"])
    attributes = "\n`attribute_` stands before the name of an attribute that would hide a column of ours.\n"
    page = [
        TOP,
        "## Commands\n\n`voxaudit --version` prints the version, `voxaudit COMMAND --help` what stands here.\n",
        *(_command(name) for name in COMMANDS),
        "Audits: a question each, with one answer in the terminal, the report and Python.\n",
        *(
            _command(name)
            for name in AUDITS.names()
            if find_audit(name).ask.__module__.startswith("voxaudit.")
        ),
        "## audit.toml\n\nRelative paths are relative to the file; an unknown key is an error.\n",
        _table("setting", _settings()),
        "Gates (`[gates]` or `[gates.RECOGNIZER]`), and what of an estimate each is judged by, the usual one first:\n",
        _table("gate", {name: ", ".join(f"`{one}`" for one in kind.bounds) for name, kind in GATES.items()}),
        "`baseline`: the folder of a run than which nothing may be significantly worse. `strict = true`: a gate that"
        " cannot be judged fails.\n",
        "## The run folder\n",
        _table("file", FILES),
        "### corpus.parquet\n",
        _table("column", _checked("corpus", CORPUS_COLUMNS, CORPUS)),
        "Then one column per attribute.\n",
        "### transcripts.parquet\n",
        _table("column", _checked("transcripts", TRANSCRIPT_COLUMNS, TRANSCRIPTS)),
        "### scores.parquet\n",
        _table("column", _checked("scores", SCORE_COLUMNS, SCORES)),
        "Then one column per attribute, and what recordings and texts are like before anything disturbs them: "
        + ", ".join(f"`{name}` ({said})" for name, said in ALL_MEASURES.items())
        + "."
        + attributes,
        "A table of your own needs `errors` or its three kinds, `words`, `speaker` and the attributes; commands have"
        " options for other names.\n",
        "### quality.parquet\n",
        _table("column", _checked("quality", _schema(_groups()), QUALITY)),
        "### findings.json\n\n`voxaudit report --schema` prints the JSON schema. A finding has:\n",
        _table("key", _checked("finding", finding, FINDING) | {"verdict": verdicts}),
        "The verdicts are explained in [the report](report.md).\n",
        "## Exit codes\n",
        _table("code", EXITS),
        "## Environment variables\n",
        _table("variable", ENVIRONMENT),
        "A service's variable can have another name: `key_env` in its settings. Keys are read where they are used and"
        " written nowhere.\n",
    ]
    return "\n".join(page)


def _groups() -> list[str]:
    return list(QUALITY_GROUPS)


def _settings() -> dict[str, str]:
    found = {}
    for section in ORDER:
        if section in NAMED:
            found[section] = NAMED[section]
        for name, one in SECTIONS.get(section, {}).items():
            kind = ", ".join(part for part in (one.types, str(one.range)) if part)
            kind = " or ".join(f"`{choice}`" for choice in one.choices) or kind
            default = f"; default: {one.default_said}" if one.default_said else ""
            found[f"{section}.{name}"] = f"{one.meaning} ({kind}{default})"
    for name, page in PAGES.items():
        found[name] += f", see [{page.partition('.')[0]}]({page})"
    return found


def _checked(what: str, declared: Iterable[str], meanings: Mapping[str, str]) -> dict[str, str]:
    names = list(declared)
    if set(names) != set(meanings):
        raise SystemExit(f"{what}: the code and this script differ: {sorted(set(names) ^ set(meanings))}")
    return {name: meanings[name] for name in names}


def _table(head: str, rows: Mapping[str, str]) -> str:
    lines = [f"| {head} | |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in rows.items())]
    return "\n".join(lines) + "\n"


def _command(name: str) -> str:
    parser = _parser(name)._subparsers._group_actions[0].choices[name]  # type: ignore
    lines = [line.strip() for line in (parser.epilog or "").splitlines()]
    examples = "\n".join(f"    {line}" for line in lines if line.startswith("voxaudit"))
    text = f"### voxaudit {name}\n\n{parser.description}\n\n{examples}\n"
    return text + "\n" + _arguments(parser).lstrip("\n")


def _arguments(parser: argparse.ArgumentParser) -> str:
    rows: dict[str, str] = {}
    below = ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice, child in action.choices.items():
                below += f"\n`{parser.prog} {choice}`:\n\n" + _arguments(child)
        elif not isinstance(action, argparse._HelpAction):
            rows[_name(action)] = _help(action)
    return (_table("argument", rows) if rows else "") + below


def _name(action: argparse.Action) -> str:
    plain = action.dest.upper() if action.option_strings else action.dest
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else plain)
    value = " ".join(value) if isinstance(value, tuple) else str(value)
    if not action.option_strings:
        few = {"?": f"[{value}]", "*": f"[{value} ...]", "+": f"{value} [{value} ...]"}
        return few.get(str(action.nargs), value)
    flag = ", ".join(action.option_strings)
    if action.nargs == 0:
        return flag
    many = {"?": f" [{value}]", "+": f" {value} [{value} ...]", "*": f" [{value} ...]"}
    return flag + many.get(str(action.nargs), f" {value}")


def _help(action: argparse.Action) -> str:
    values: dict[str, Any] = {**vars(action), "prog": "voxaudit"}
    text = (action.help or "") % values if action.help else ""
    text = " ".join(text.split()).replace("|", "\\|")
    needed = "; required" if action.option_strings and action.required else ""
    return text + needed


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
