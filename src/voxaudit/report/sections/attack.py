"""Attack: how little noise, chosen by an adversary, is enough? What an attack's folder says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.errors import VoxauditError, one_line
from voxaudit.report.context import Context
from voxaudit.report.document import Finding, Refusal, Section, Table, Verdict
from voxaudit.report.numbers import in_points, percent
from voxaudit.report.parts import Spec, attempt, finding_id, number_or_none, refusal, table_of

AUDIT = "attack"
NOT_ASKED = "not asked of this run"
HOW = (
    "`voxaudit attack CORPUS --method blackbox --recognizers R --out RUN/attack` attacks any recognizer, `--method pgd`"
    " one with gradients; then `voxaudit report RUN`"
)


def section(context: Context) -> Section:
    """Return the chapter."""
    title, folder = "Attacks", context.attack
    if not (folder / "attack.json").is_file():
        return Section(AUDIT, title, refusals=(Refusal("adversarial noise", NOT_ASKED, HOW),))
    made = attempt(lambda: _chapter(title, folder / "attack.json"))
    if isinstance(made, VoxauditError):
        return Section(
            AUDIT, title, refusals=(refusal(AUDIT, "adversarial noise", made, folder / "attack.json"),)
        )
    return made


def _chapter(title: str, path: Path) -> Section:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = list(found["attacks"])
        return Section(
            id=AUDIT,
            title=title,
            lead=(
                "Noise that is chosen to do harm, at a given level below the speech (the signal-to-noise ratio in dB:"
                " more is quieter), beside plain noise of the same level.",
            ),
            findings=tuple(_findings(rows)),
            tables=(_table(rows), *_transfer(rows)),
            notes=(
                *(str(note) for note in found.get("notes", ())),
                *(
                    f"Left out: {count} utterances ({why})."
                    for why, count in found.get("left_out", {}).items()
                ),
                *(
                    ("Intervals of some rows are over utterances: fewer than five speakers are known.",)
                    if any(row["interval_by"] == "utterance" for row in rows)
                    else ()
                ),
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VoxauditError(
            f"{path}: not the findings of an attack ({one_line(repr(error), 120)})"
        ) from error


def _findings(rows: list[Mapping[str, Any]]) -> list[Finding]:
    quietest: dict[str, float] = {}
    for row in rows:
        quietest[row["recognizer"]] = max(row["snr_asked"], quietest.get(row["recognizer"], row["snr_asked"]))
    findings: dict[str, Finding] = {}
    for row in rows:
        name = str(row["recognizer"])
        if row["werd"] is None:
            continue
        low, high = row["werd_low"], row["werd_high"]
        verdict: Verdict = (
            "undecided" if low is None or high is None else "not_shown" if low <= 0 <= high else "shown"
        )
        # A search by transcripts is compared with as many draws of plain noise, of which the worst counts.
        tries = "the worst of as much plain noise" if row["method"] == "blackbox" else "plain noise"
        plain = (
            "" if row["wer_noise"] is None else f"; {tries} of that level gives {percent(row['wer_noise'])}"
        )
        sentence = (
            f"Noise chosen by an adversary ({row['method']}), {row['snr_asked']:g} dB below the speech, adds"
            f" {in_points(row['werd'], low, high)} to the word error rate of {name}, from"
            f" {percent(row['wer_clean'])} to {percent(row['wer_attacked'])}{plain}."
        )
        id_ = finding_id(AUDIT, name, row["scenario"], "werd")
        findings[id_] = Finding(
            id=id_,
            audit=AUDIT,
            verdict=verdict,
            sentence=sentence,
            measure="werd",
            estimate=number_or_none(row["werd"]),
            low=number_or_none(low),
            high=number_or_none(high),
            recognizer=name,
            scenario=str(row["scenario"]),
            speakers=row["speakers"],
            headline=row["snr_asked"] == quietest[row["recognizer"]],
        )
    return list(findings.values())


def _table(rows: list[Mapping[str, Any]]) -> Table:
    columns: tuple[Spec, ...] = (
        ("recognizer", "recognizer", "text"),
        ("scenario", "scenario", "text"),
        ("snr_asked", "dB asked", "number"),
        ("snr_measured_median", "dB measured", "number"),
        ("wer_clean", "WER clean", "percent"),
        ("wer_noise", "WER plain noise", "percent"),
        ("wer_attacked", "WER attacked", "percent"),
        ("werd", "WERD, points", "points"),
        ("interval", "95 % interval", "interval"),
        ("werd_over_noise", "over plain noise, points", "points"),
        ("noise_interval", "95 % interval", "interval"),
        ("success_rate", "succeeded", "percent"),
        ("utterances", "utterances", "count"),
        ("speakers", "speakers", "count"),
    )
    pairs = {
        "interval": ("werd_low", "werd_high"),
        "noise_interval": ("werd_over_noise_low", "werd_over_noise_high"),
    }
    names = [name for name, _, _ in columns if name not in pairs] + [
        name for pair in pairs.values() for name in pair
    ]
    text, count = ("recognizer", "scenario"), ("utterances", "speakers")
    schema = {n: pl.String if n in text else pl.Int64 if n in count else pl.Float64 for n in names}
    frame = pl.DataFrame([{name: row[name] for name in names} for row in rows], schema=schema)
    return table_of("attacks", "Every attack", frame, columns, intervals=pairs)


def _transfer(rows: list[Mapping[str, Any]]) -> list[Table]:
    heard = [
        (row["recognizer"], row["scenario"], name, one["wer_clean"], one["wer_attacked"], one["werd"])
        for row in rows
        for name, one in row["transfer"].items()
    ]
    if not heard:
        return []
    columns: tuple[Spec, ...] = (
        ("recognizer", "made on", "text"),
        ("scenario", "scenario", "text"),
        ("listener", "heard by", "text"),
        ("wer_clean", "WER clean", "percent"),
        ("wer", "WER attacked", "percent"),
        ("werd", "WERD, points", "points"),
    )
    schema = {name: pl.String if kind == "text" else pl.Float64 for name, _, kind in columns}
    frame = pl.DataFrame(heard, schema=schema, orient="row")
    return [table_of("transfer", "Transfer: made on one, heard by another", frame, columns)]
