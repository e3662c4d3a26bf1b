"""AequeVox's Table 9 from the published counts of words: all 77 cells."""

import json
from pathlib import Path

import polars as pl
import pytest

from voxaudit.audits.localize.audit import localize

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "aequevox"
EXCLUDE = ("Scale:0.6", "Scale:0.5")


@pytest.fixture(scope="module")
def counts():
    if not REFERENCE.is_dir():
        pytest.skip("no reference data here: the optional folder ../shared/reference is missing")
    return REFERENCE / "word_counts.csv"


@pytest.fixture(scope="module")
def published(counts):
    return json.loads((REFERENCE / "expected_tables.json").read_text(encoding="utf-8"))["table9"]


def cells(answer, by, published_part):
    table = answer.tables["average_drop"].filter(pl.col("by") == by)
    drops = {
        (value, group): drop for value, group, drop in table.select("value", "group", "average_drop").rows()
    }
    return {
        (row, group): round(drops[row, group] + 1e-9, 2)
        for row, by_group in published_part.items()
        for group in by_group
    }


def test_every_cell_of_table_9(counts, published):
    answer = localize(counts, exclude=EXCLUDE)
    expected = {
        (row, group): value
        for part in ("asr", "transformation")
        for row, by_group in published[part].items()
        for group, value in by_group.items()
    }
    found = cells(answer, "recognizer", published["asr"])
    found |= cells(answer, "perturbation", published["transformation"])
    assert len(expected) == 77
    assert found == expected


def test_nothing_depends_on_the_names(counts, published):
    table = pl.read_csv(counts, infer_schema_length=None).sample(fraction=1.0, shuffle=True, seed=3)
    other = table.with_columns(
        ("engine " + pl.col("asr")).alias("asr"),
        pl.col("group").str.reverse(),
        pl.col("word").str.to_uppercase(),
    )
    answer = localize(other, exclude=EXCLUDE)
    renamed = {
        f"engine {asr}": {group[::-1]: value for group, value in by_group.items()}
        for asr, by_group in published["asr"].items()
    }
    assert cells(answer, "recognizer", renamed) == {
        (a, g): v for a, by in renamed.items() for g, v in by.items()
    }


def test_the_words_chosen_for_the_papers_validation(counts):
    # The paper's non-robust words: English speakers under noise, omega 3 (GCP, MS) and 2 (IBM), with drop >= omega.
    words = localize(counts, exclude=EXCLUDE).detail.words
    noise = words.filter((pl.col("group") == "English") & (pl.col("perturbation") == "Noise"))
    drop = {(asr, word): drop for asr, word, drop in noise.select("recognizer", "word", "drop").iter_rows()}
    chosen = [
        ("GCP", "spoons"),
        ("GCP", "bags"),
        ("MS", "thick"),
        ("MS", "slabs"),
        ("IBM", "things"),
        ("IBM", "scoop"),
    ]
    assert [drop[word] for word in chosen] == [4, 3, 3, 3, 2, 2]
