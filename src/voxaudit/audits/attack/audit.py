"""The attack audit: a corpus and recognizers in, adversarial audio, transcripts and a row of rates per SNR out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audits.attack.base import AttackError
from voxaudit.audits.attack.campaign import Campaign
from voxaudit.audits.attack.listen import Listener
from voxaudit.audits.attack.plan import Plan
from voxaudit.audits.attack.result import TRANSCRIPTS, Row, transcript_rows
from voxaudit.audits.attack.victims import Victim
from voxaudit.corpus import Corpus, Utterance
from voxaudit.options import ON_DEMAND, RunOptions, takes_options
from voxaudit.run.folder import make_folder
from voxaudit.score import normalizer, score_transcripts
from voxaudit.tables import write_atomically


@dataclass(frozen=True)
class Attack:
    """What was found: the rows, the transcripts, and how many utterances were left out and why."""

    rows: tuple[Row, ...]
    transcripts: pl.DataFrame
    left_out: Mapping[str, int]
    notes: tuple[str, ...] = ()


@takes_options(*ON_DEMAND)
def attack(
    corpus: Corpus,
    victims: Sequence[Victim],
    plan: Plan,
    *,
    out: str | Path,
    listeners: Sequence[Victim] = (),
    progress: Callable[[int], None] = lambda _: None,
    options: RunOptions | None = None,
    **given: Any,
) -> Attack:
    """Attack every recognizer in `victims` at every SNR; let the other ones and the `listeners` hear the result.

    `out` gets the adversarial audio with a manifest, the universal perturbations, `transcripts.parquet`,
    `scores.parquet` (with SRB's scenario ids, so that the robustness audit reads it) and `attack.json`.
    """
    options = RunOptions.of(options, **given)
    options.require_on_demand()
    spoken, left_out = _with_reference(corpus, plan.target)
    out = make_folder(out)
    rows: list[Row] = []
    heard: list[tuple[Any, ...]] = []
    notes: list[str] = []
    everyone = [*victims, *(one for one in listeners if one.name not in {v.name for v in victims})]
    listener = Listener(out / "heard", options)
    for victim in victims:
        others = [one for one in everyone if one.name != victim.name]
        part = Campaign(victim, others, spoken, plan, out, listener, progress, notes, left_out)
        for row, tried in part.run():
            rows.append(row)
            heard += transcript_rows(row, tried)
    table = pl.DataFrame(heard, schema=TRANSCRIPTS, orient="row").unique(
        ["utterance", "scenario", "recognizer"], keep="first", maintain_order=True
    )
    found = Attack(tuple(rows), table, dict(left_out), tuple(notes))
    _write(found, corpus, out)
    return found


def _with_reference(corpus: Corpus, target: str | None) -> tuple[list[Utterance], dict[str, int]]:
    rule = normalizer("basic")
    spoken: list[Utterance] = []
    left_out: dict[str, int] = {}
    for utterance in corpus:
        if utterance.text is None:
            why = "the utterance has no reference text"
        elif target is not None and rule(utterance.text) == rule(target):
            why = "the utterance says the target already"
        else:
            spoken.append(utterance)
            continue
        left_out[why] = left_out.get(why, 0) + 1
    if not spoken:
        raise AttackError("no utterance can be attacked: " + ("; ".join(left_out) or "the corpus is empty"))
    return spoken, left_out


def _write(found: Attack, corpus: Corpus, out: Path) -> None:
    scores = score_transcripts(found.transcripts, corpus.table).scores
    write_atomically(out / "transcripts.parquet", found.transcripts.write_parquet)
    write_atomically(out / "scores.parquet", scores.write_parquet)
    document = {
        "attacks": [asdict(row) for row in found.rows],
        "left_out": dict(found.left_out),
        "notes": list(found.notes),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    write_atomically(out / "attack.json", lambda path: path.write_text(text, encoding="utf-8"))
