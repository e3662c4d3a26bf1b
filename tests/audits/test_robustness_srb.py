"""The audit's levels against the columns that Speech Robust Bench published."""

from pathlib import Path

import polars as pl
import pytest

from voxaudit.audits.robustness.audit import SHORT, robustness
from voxaudit.audits.robustness.trials import published_models

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


def beside():
    rows = [
        ("mine", name, f"s{speaker}", f"u{speaker}", errors + speaker % 3, 100)
        for name, errors in {"clean": 5, "gaussian_noise:1": 8, "gaussian_noise:3": 20}.items()
        for speaker in range(8)
    ]
    schema = ["recognizer", "scenario", "speaker", "utterance", "errors", "words"]
    return robustness(pl.DataFrame(rows, schema=schema, orient="row"), published=True)


def test_the_published_averages_are_means_of_the_published_columns():
    """Table 1 says so of itself: AVG is the mean over the categories that a language has."""
    table = published_models().drop_nulls("AVG")
    assert table.height == 15
    assert table.filter(language="es").height == 6
    for row in table.iter_rows(named=True):
        for average, columns in (("AVG", list(SHORT.values())[:9]), ("AVG (Adv)", ("Adv (UA)", "Adv (US)"))):
            known = [row[name] for name in columns if row[name] is not None]
            assert sum(known) / len(known) == pytest.approx(row[average], abs=0.0011), row["recognizer"]


@pytest.mark.skipif(not REFERENCE.exists(), reason="the published tables are not there")
def test_the_published_rows_are_those_of_the_paper():
    ours = {(row["language"], row["recognizer"]): row for row in published_models().iter_rows(named=True)}
    names = {"accent": "accent", "social_far_field": "social (FF)", "social_near_field": "social (NF)"}
    checked = 0
    for language, file in (("en", "table1_nwerd_subset.csv"), ("es", "table1_es.csv")):
        for row in pl.read_csv(REFERENCE / file).iter_rows(named=True):
            for column in set(names) & set(row):
                own = ours.get((language, row["model"]), {}).get(names[column])
                if row[column] is not None and own is not None:
                    assert 100 * own == pytest.approx(row[column], abs=0.01)
                    checked += 1
    assert checked >= 15


def test_published_models_stand_beside_and_are_never_ranked():
    answer = beside()
    table = answer.tables["table_1"]
    assert dict(table["origin"].value_counts().iter_rows()) == {"measured": 1, "published": 9}
    assert table.filter(recognizer="wsp-lg")["AVG"].item() == pytest.approx(0.130)
    own = table.filter(origin="measured").row(0, named=True)
    assert own["AVG_low"] < own["AVG"] < own["AVG_high"]
    assert answer.tables["ranking"]["recognizer"].to_list() == ["mine"]
    assert any(note.code == "published" for note in answer.notes)


def test_the_papers_conclusions_about_its_models_come_out():
    """Section 4.3: larger is more robust in all families but HuBERT; training data matter little; accuracy goes with
    robustness, more weakly under attack; RNN-T is best under disturbance."""
    answer = beside()
    within = answer.tables["within"].filter(name="all", fact="parameters", origin="published")
    slopes = dict(within.select("family", "slope").iter_rows())
    assert {family for family, slope in slopes.items() if slope < 0} == {"Whisper", "Parakeet", "Wav2Vec 2.0"}
    assert slopes["HuBERT"] > 0
    related = {
        (row["name"], row["fact"]): row
        for row in answer.tables["correlates"].filter(origin="published").iter_rows(named=True)
    }
    assert related["all", "parameters"]["verdict"] == "shown"
    assert related["all", "parameters"]["slope"] < 0
    assert related["all", "hours"]["verdict"] == "not_shown"
    assert related["all", "clean_wer"]["tau"] > related["attacks", "clean_wer"]["tau"] > 0
    kinds = answer.tables["families"].filter(name="all", fact="architecture")
    assert kinds.sort("median")["level"][0] == "RNN-T"
    sentence = answer.finding("robustness/published/attacks/parameters/slope").sentence
    assert sentence.startswith("More parameters goes with lower WERD under attack over 14 models that Speech")


def test_figures_have_the_names_of_what_they_show():
    drawn = {figure.id for figure in beside().figures}
    assert {"size", "training", "families", "families-attacks", "architecture", "pareto"} <= drawn
    assert "perturbations" not in drawn  # one perturbation makes no picture


def test_languages_groups_and_severities_are_drawn():
    rows = [
        (
            language,
            name,
            f"{language}{speaker}",
            "fm"[speaker % 2],
            f"{language}{speaker}",
            errors + speaker % 3,
            100,
        )
        for language, more in (("en", 0), ("es", 6))
        for name, errors in {
            "clean": 5,
            "gaussian_noise:1": 8 + more,
            "gaussian_noise:3": 20,
            "rir:1": 9,
            "rir:3": 12 + more,
        }.items()
        for speaker in range(12)
    ]
    schema = ["language", "scenario", "speaker", "gender", "utterance", "errors", "words"]
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(recognizer=pl.lit("r"))
    answer = robustness(table, by=["language"], attributes=["gender"], reference={"gender": "m"})
    languages = answer.figure("languages").drawing
    assert [one.label for one in languages.series] == ["r, en", "r, es"]
    assert languages.labels == ("white noise", "spatial acoustics", "all disturbances")
    first, second = (one.points[0].value for one in languages.series)
    assert second - first == pytest.approx(0.03)
    groups = answer.figure("groups").drawing
    assert "f over m" in groups.y_title
    assert groups.labels[0] == "clean"
    assert groups.labels[-1] == "all disturbances"
    panels = {title: (ticks, series) for title, ticks, series in answer.figure("severity").drawing.panels}
    assert panels["rir"][0] == ("1", "3")
    row = answer.tables["scenarios"].filter(scenario="rir:3", language="es").row(0, named=True)
    assert panels["rir"][1][1].points[1].value == row["nwerd"]
    assert answer.figure("perturbations").drawing.labels == ("rir", "gaussian_noise")
