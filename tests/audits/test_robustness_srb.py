"""The audit's levels against the columns that Speech Robust Bench published."""

from pathlib import Path

import polars as pl
import pytest

from voxaudit.audits.robustness.audit import robustness

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "srb"
SCENARIOS = {
    "accent (en)": "accented",
    "social (chime, FF)": "far_field_chime",
    "social (ami, FF)": "far_field_ami",
    "social (chime, NF)": "near_field_chime",
    "social (ami, NF)": "near_field_ami",
}
COLUMNS = {
    "accent": "accented speech",
    "social_far_field": "far-field conversation",
    "social_near_field": "near-field conversation",
}


def test_the_average_is_the_mean_of_the_categories():
    """Table 1, wsp-lg: NWERD by category and AVG 13.0. With difficulty 100 NWERD equals WERD."""
    published = {
        "accented": 11.2,
        "gain:1": 12.7,
        "music:1": 3.1,
        "gaussian_noise:1": 2.9,
        "bass:1": 2.8,
        "far_field_ami": 40.9,
        "near_field_ami": 34.9,
        "echo:1": 4.5,
        "synthetic": 4.4,
    }
    rows = [("wsp-lg", "clean", "s", "u", 80, 1000)]
    rows += [("wsp-lg", name, "s", "u", round(80 + 10 * value), 1000) for name, value in published.items()]
    table = pl.DataFrame(
        rows, schema=["recognizer", "scenario", "speaker", "utterance", "errors", "words"], orient="row"
    )
    hard = pl.DataFrame({"scenario": list(published), "difficulty": [100.0] * len(published)})
    found = robustness(table, difficulty=hard).detail
    assert 100 * found.ranking["estimate"].item() == pytest.approx(13.0, abs=0.05)


@pytest.mark.skipif(not REFERENCE.exists(), reason="the published tables are not there")
def test_natural_speech_reproduces_table_1():
    werd = pl.read_csv(REFERENCE / "table7_werd_subset.csv")
    hard = pl.read_csv(REFERENCE / "table3_quality.csv").select("scenario", difficulty="difficulty_avg")
    hard = hard.filter(pl.col("scenario").is_in(list(SCENARIOS))).with_columns(
        pl.col("scenario").replace_strict(SCENARIOS)
    )
    rows = []
    for model in werd["model"].unique():
        rows.append((model, "clean", "reader", "0", 500, 10_000))
        own = werd.filter((pl.col("model") == model) & pl.col("scenario").is_in(list(SCENARIOS)))
        for scenario, value in own.select("scenario", "werd").iter_rows():
            name = SCENARIOS[scenario]
            rows.append((model, name, f"{name} speaker", "1", round(500 + 100 * value), 10_000))
    table = pl.DataFrame(
        rows, schema=["recognizer", "scenario", "speaker", "utterance", "errors", "words"], orient="row"
    )
    found = robustness(table, difficulty=hard).detail.levels.filter(pl.col("level") == "category")
    got = {(row["recognizer"], row["name"]): row["nwerd"] for row in found.iter_rows(named=True)}
    checked = 0
    for row in pl.read_csv(REFERENCE / "table1_nwerd_subset.csv").iter_rows(named=True):
        for column, category in COLUMNS.items():
            if row[column] is not None:
                assert 100 * got[row["model"], category] == pytest.approx(row[column], abs=0.25)
                checked += 1
    assert checked >= 20
