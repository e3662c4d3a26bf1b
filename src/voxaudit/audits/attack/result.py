"""What an attack found: one row per recognizer and signal-to-noise ratio, and the tables other audits read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from voxaudit.perturb.universal import SEVERITIES
from voxaudit.recognize.attack.models import Mistakes
from voxaudit.score import count_characters, count_words, normalizer, score_columns
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, change_interval


@dataclass(frozen=True)
class Tried:
    """One utterance under attack: what was heard clean, attacked, and in plain noise (None where nothing could be).

    `failure` says why it was not attacked; it is then in no rate.
    """

    utterance: str
    speaker: str | None
    reference: str
    clean: str | None
    attacked: str | None
    noise: str | None = None
    snr: float | None = None
    success: bool = False
    failure: str | None = None


@dataclass(frozen=True)
class Row:
    """The outcome of one attack on one recognizer at one SNR (dB). Rates and differences are fractions.

    `wer_noise` is the WER under white noise at the same SNR: one draw, or for `blackbox` the best of as many draws as
    the attack had queries; `werd_over_noise` is what the attack adds to that. Intervals are 95 %, over
    speakers, or over utterances (`interval_by`) where there are fewer than five speakers. `queries` are all losses
    and transcripts asked of the recognizer. `transfer` has the same rates for recognizers that only listened.
    """

    recognizer: str
    method: str
    scenario: str
    snr_asked: float
    snr_measured_median: float | None
    snr_measured_min: float | None
    wer_clean: float | None
    wer_attacked: float | None
    werd: float | None
    werd_low: float | None
    werd_high: float | None
    wer_noise: float | None
    werd_over_noise: float | None
    werd_over_noise_low: float | None
    werd_over_noise_high: float | None
    interval_by: str | None
    cer: float | None
    success_rate: float | None
    queries: int
    seconds: float
    utterances: int
    speakers: int
    failures: dict[str, int] = field(default_factory=dict)
    transfer: dict[str, dict[str, float | None]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def scenario_id(method: str, snr: float, norm: str = "l2", target: str | None = None) -> str:
    """Return the scenario's id: SRB's `pgd:1` to `universal:4` where it is one of them."""
    plain = norm == "l2" and target is None
    severity = next((number for number, value in SEVERITIES.items() if value == snr), None)
    if plain and severity is not None and method in ("pgd", "universal"):
        return f"{method}:{severity}"
    name = method + ("_linf" if norm == "linf" else "") + ("_targeted" if target is not None else "")
    return f"{name}:snr={snr:.12g}"


def mistakes(said: str, heard: str) -> Mistakes:
    """Say what is wrong with a transcript, both texts normalized: how an attack knows that it did harm."""
    said, heard = map(normalizer("basic"), (said, heard))
    words, characters = count_words(said, heard), count_characters(said, heard)
    return Mistakes(words.errors, characters.errors, words.words, characters.words)


def summarize(
    tried: Sequence[Tried],
    *,
    snr: float,
    transfer: dict[str, dict[str, float | None]] | None = None,
    **about: Any,
) -> Row:
    """Return the row of an attack: rates are ratios of sums over the utterances that could be attacked.

    `about` are the recognizer, the method, the scenario, the queries, the seconds and the settings.
    """
    done = [
        one for one in tried if one.failure is None and one.clean is not None and one.attacked is not None
    ]
    said = [one.reference for one in done]
    clean, attacked = (_counts(said, [getattr(one, kind) for one in done]) for kind in ("clean", "attacked"))
    noisy = bool(done) and all(one.noise is not None for one in done)
    noise = _counts(said, [one.noise for one in done]) if noisy else None
    low, high, by = _interval(done, attacked, clean)
    over_low, over_high, _ = _interval(done, attacked, noise) if noise is not None else (None, None, None)
    snrs = [one.snr for one in done if one.snr is not None]
    return Row(
        **about,
        snr_asked=snr,
        snr_measured_median=float(np.median(snrs)) if snrs else None,
        snr_measured_min=min(snrs) if snrs else None,
        wer_clean=_share(clean),
        wer_attacked=_share(attacked),
        werd=_less(attacked, clean),
        werd_low=low,
        werd_high=high,
        wer_noise=None if noise is None else _share(noise),
        werd_over_noise=None if noise is None else _less(attacked, noise),
        werd_over_noise_low=over_low,
        werd_over_noise_high=over_high,
        interval_by=by,
        cer=_share(attacked, "character_errors", "characters"),
        success_rate=float(np.mean([one.success for one in done])) if done else None,
        utterances=len(done),
        speakers=len({one.speaker for one in done if one.speaker is not None}),
        failures=dict(Counter(one.failure for one in tried if one.failure is not None)),
        transfer=transfer or {},
    )


def rates(
    references: Sequence[str], clean: Sequence[str | None], heard: Sequence[str | None]
) -> dict[str, float | None]:
    """Return WER clean and attacked, and their difference, on the utterances that were heard both ways."""
    both = [row for row in zip(references, clean, heard, strict=True) if None not in row]
    said = [row[0] for row in both]
    before, after = (_counts(said, [row[k] for row in both]) for k in (1, 2))
    return {"wer_clean": _share(before), "wer_attacked": _share(after), "werd": _less(after, before)}


def _counts(said: Sequence[str], heard: Sequence[str | None]) -> pl.DataFrame:
    counts = score_columns(pl.Series(said, dtype=pl.String), pl.Series(heard, dtype=pl.String))
    return counts.with_columns(errors=pl.sum_horizontal("substitutions", "deletions", "insertions"))


def _share(counts: pl.DataFrame, errors: str = "errors", of: str = "words") -> float | None:
    total = int(counts[of].sum())
    return int(counts[errors].sum()) / total if total else None


def _less(after: pl.DataFrame, before: pl.DataFrame) -> float | None:
    left, right = _share(after), _share(before)
    return None if left is None or right is None else left - right


def _interval(
    done: Sequence[Tried], after: pl.DataFrame, before: pl.DataFrame
) -> tuple[float | None, float | None, str | None]:
    """Return the interval of the difference of two error rates on the same utterances."""
    speakers = {one.speaker for one in done}
    by = "speaker" if None not in speakers and len(speakers) >= FEWEST_SPEAKERS else "utterance"
    table = pl.DataFrame(
        {
            "unit": [one.speaker if by == "speaker" else one.utterance for one in done],
            "errors": (after["errors"] - before["errors"]).to_list(),
            "words": after["words"].to_list(),
        },
        schema={"unit": pl.String, "errors": pl.Int64, "words": pl.Int64},
    )
    sums = table.group_by("unit").agg(pl.col("errors", "words").sum()).sort("unit")
    changes, words = (sums[name].cast(pl.Float64).to_numpy() for name in ("errors", "words"))
    low, high = change_interval(changes, words)
    return low, high, None if low is None else by


def noise_id(snr: float) -> str:
    """Return the id of the scenario an attack is compared with: white noise at the same SNR."""
    return f"gaussian_noise:snr={snr:.12g}"


def transcript_rows(row: Row, tried: Sequence[Tried]) -> list[tuple[Any, ...]]:
    """Return the transcripts of an attack: the clean ones, those under attack, and those in noise of the same SNR.

    The best of many noises is no scenario of its own: a table must not take it for one.
    """
    rows: list[tuple[Any, ...]] = []
    for one in tried:
        told = one.failure or ("the recognizer failed" if one.clean is None or one.attacked is None else None)
        heard = [
            ("clean", one.clean, told if one.clean is None else None),
            (row.scenario, None if told else one.attacked, told),
        ]
        if one.noise is not None and row.method != "blackbox":
            heard.append((noise_id(row.snr_asked), one.noise, None))
        rows += [(one.utterance, id_, row.recognizer, text, 0.0, failure) for id_, text, failure in heard]
    return rows
