"""What eight services really wrote, against the error rates that were published for them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import polars as pl
import pytest

from voxaudit.score.table import score_columns

TABLE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "mu_bench" / "transcripts.csv.gz"


@pytest.fixture(scope="module")
def calls() -> pl.DataFrame:
    if not TABLE.exists():
        pytest.skip("no reference data here: the optional folder ../shared/reference is missing")
    return pl.read_csv(TABLE).with_columns(pl.col("reference", "text").fill_null(""))


def rates(calls: pl.DataFrame, locale: str, normalizer: str) -> dict[str, tuple[float, float]]:
    """Return the WER of every service in percent: ours and as published."""
    own = calls.filter(pl.col("locale") == locale)
    counts = score_columns(own["reference"], own["text"], normalizer)
    errors = counts["substitutions"] + counts["deletions"] + counts["insertions"]
    table = own.with_columns(errors=errors, words=counts["words"]).group_by("recognizer")
    sums = table.agg(pl.col("errors", "words", "published_edits", "published_words").sum())
    return {
        name: (100 * errors / words, 100 * edits / said)
        for name, errors, words, edits, said in sums.iter_rows()
    }


def test_english_services_are_as_published_in_spoken_form(calls: pl.DataFrame) -> None:
    found = rates(calls, "en-US", "spoken-en")
    assert len(found) == 8
    for name, (ours, published) in found.items():
        assert abs(ours - published) < 0.5, name
    # The published counts treat "alright" as two errors and forgive some repetitions: four services within 0.3
    # points of each other change places, no two that are farther apart do.
    for one, other in combinations(found.values(), 2):
        if abs(one[1] - other[1]) > 0.3:
            assert (one[0] < other[0]) == (one[1] < other[1])
    assert max(ours - published for ours, published in rates(calls, "en-US", "whisper-en").values()) > 16.0


@pytest.mark.parametrize(
    ("locale", "usual"), [("es-MX", "basic"), ("tr-TR", "basic"), ("vi-VN", "basic"), ("zh-CN", "unspaced")]
)
def test_other_languages_come_nearer(calls: pl.DataFrame, locale: str, usual: str) -> None:
    spoken, plain = rates(calls, locale, f"spoken-{locale[:2]}"), rates(calls, locale, usual)
    for name, (ours, published) in spoken.items():
        assert abs(ours - published) < 0.6 * abs(plain[name][0] - published), name
