"""Reproduce: what is needed to do it again, and what was not heard."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from voxaudit.report.context import Context
from voxaudit.report.document import Refusal, Section, Table
from voxaudit.report.glossary import in_words
from voxaudit.report.parts import Spec, table_of


def section(context: Context) -> Section:
    """Return the chapter."""
    return Section(
        id="reproduce",
        title="How to repeat this",
        lead=(
            "The same corpus, scenarios and seed give the same audio, bit for bit, in any order and on any machine.",
        ),
        tables=tuple(_tables(context)),
        notes=tuple(_notes(context.config)),
        refusals=tuple(
            Refusal(
                f"scenarios {', '.join(ids)}", "not heard: nothing filled their place", f"for each, {need}"
            )
            for need, ids in not_heard(context.config).items()
        ),
    )


def facts(context: Context) -> tuple[tuple[str, str], ...]:
    """Return the (what, value) pairs that identify a run."""
    config = context.config
    corpus = config["corpus"]
    pairs = [
        ("corpus", str(corpus["name"])),
        ("utterances", f"{corpus['utterances']:,}"),
        ("speakers", f"{corpus['speakers']:,}"),
        ("recognizers", ", ".join(context.recognizers)),
        ("scenarios", f"{len(config['scenarios']):,}"),
        ("trials", f"{context.run.transcripts.height:,}"),
        ("groups compared", ", ".join(context.attributes) or "none"),
        ("normaliser", str(config.get("normalizer", "-"))),
        ("seed", str(config["seed"])),
        ("heard", str(config.get("created", "-"))),
        ("voxaudit", str(config["voxaudit"])),
    ]
    return tuple(pairs)


def not_heard(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return {what is needed: scenarios} of what the suites ask for but nothing filled."""
    missing: dict[str, list[str]] = {}
    for id_, need in config.get("not_heard", {}).items():
        missing.setdefault(need.replace(id_, "ROLE"), []).append(id_)
    return missing


def _notes(config: Mapping[str, Any]) -> list[str]:
    sources = config.get("sources", {})
    said = [f"{name}: {about['description']}" for name, about in sources.items()]
    return [f"Noise and rooms come from: {'; '.join(said)}."] if said else []


def _tables(context: Context) -> list[Table]:
    config = context.config
    recognizers = [
        (name, key, _text(value))
        for name, about in config["recognizers"].items()
        for key, value in (*about.get("fingerprint", {}).items(), *_settings(about))
    ]
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("what", "what", "text"),
        ("value", "value", "text"),
    )
    names = [name for name, _, _ in columns]
    tables = [table_of("recognizers", "Recognizers", _frame(recognizers, names), columns, rest="run.json")]
    heard = _heard(context)
    spec: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("trials", "trials", "count"),
        ("failed", "failed", "count"),
        ("scored", "scored", "count"),
        ("minutes", "minutes the recognizer took", "number"),
    )
    tables.append(table_of("trials", "Trials", heard, spec))
    pairs: tuple[Spec, ...] = (("what", "what", "text"), ("value", "value", "text"))
    versions = [(str(key), str(value)) for key, value in config.get("versions", {}).items()]
    if versions:
        tables.append(table_of("versions", "Versions", _frame(versions, ["what", "value"]), pairs))
    return [_scenarios(config), *tables]


def _scenarios(config: Mapping[str, Any]) -> Table:
    """Return the scenarios with what they do."""
    listed = [(name, in_words(name) or "-") for name in config["scenarios"]]
    heads: tuple[Spec, ...] = (("scenario", "scenario", "text"), ("does", "what it does", "text"))
    note = "Noise at 20 dB lies 20 dB below the speech: fewer dB are louder noise. A severity runs from 1, mild, up."
    frame = _frame(listed, ["scenario", "does"])
    return table_of("heard-scenarios", "Scenarios heard", frame, heads, note=note, rest="run.json")


def _settings(about: Mapping[str, Any]) -> list[tuple[str, Any]]:
    fingerprint = about.get("fingerprint", {})
    return [
        (key, value)
        for key, value in about.get("settings", {}).items()
        if key not in fingerprint and value != ""
    ]


def _heard(context: Context) -> pl.DataFrame:
    scored = context.scores.group_by("recognizer").agg(scored=pl.len())
    return (
        context.run.transcripts.group_by("recognizer", maintain_order=True)
        .agg(
            trials=pl.len(),
            failed=pl.col("failure").count(),
            minutes=(pl.col("seconds").sum() / 60.0).round(1),
        )
        .join(scored, on="recognizer", how="left", maintain_order="left")
        .with_columns(pl.col("scored").fill_null(0))
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _frame(rows: Sequence[tuple[str, ...]], names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
