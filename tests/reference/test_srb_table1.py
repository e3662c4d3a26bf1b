"""Speech Robust Bench's Table 1 out of scores that have the rates of its Tables 3 and 7, by the command."""

from __future__ import annotations

import json

import polars as pl
import pytest

from voxaudit.cli.main import main

SCENARIOS = {
    "accent (en)": ("en", "Common Voice", "accented"),
    "accent (es)": ("es", "Common Voice", "accented"),
    "social (ami, FF)": ("en", "AMI", "far_field_ami"),
    "social (ami, NF)": ("en", "AMI", "near_field_ami"),
    "social (chime, FF)": ("en", "CHiME-6", "far_field_chime"),
    "social (chime, NF)": ("en", "CHiME-6", "near_field_chime"),
}
CATEGORIES = {
    "accent": "accented speech",
    "social_far_field": "far-field conversation",
    "social_near_field": "near-field conversation",
}
CLEAN = {
    "en": {"LibriSpeech": 3.9, "TEDLIUM": 12.1, "Common Voice": 9.4},
    "es": {"MLS": 5.8, "Common Voice": 7.7},
}
BASELINE = {"en": "LibriSpeech", "es": "MLS"}
WORDS = 100_000


@pytest.fixture(scope="module")
def reference(request):
    folder = request.getfixturevalue("shared_data").parent / "reference" / "srb"
    if not folder.is_dir():
        pytest.skip("no published figures here: the optional folder ../shared/reference/srb is missing")
    return folder


@pytest.fixture(scope="module")
def table(reference, tmp_path_factory):
    """A row for each recognizer, corpus and scenario: sums of errors and words, no utterances, no speakers."""
    rows = []
    for name in ("table7_werd_subset.csv", "table7_es.csv"):
        for model, scenario, werd in pl.read_csv(reference / name).iter_rows():
            language, corpus, heard = SCENARIOS[scenario]
            clean = {one: rate + len(model) / 10 for one, rate in CLEAN[language].items()}
            if heard == "accented":
                rows += [(model, one, language, "clean", rate) for one, rate in clean.items()]
            rows.append((model, corpus, language, heard, clean[BASELINE[language]] + werd))
    path = tmp_path_factory.mktemp("srb") / "scores.csv"
    frame = pl.DataFrame(
        rows, schema=["recognizer", "corpus", "language", "scenario", "rate"], orient="row"
    ).with_columns(errors=(pl.col("rate") * WORDS / 100).round().cast(pl.Int64), words=WORDS)
    frame.drop("rate").write_csv(path)
    return path


@pytest.fixture(scope="module")
def paper(reference):
    """Table 1 as {(language, model, category): NWERD}."""
    return {
        (language, row["model"], CATEGORIES[column]): row[column]
        for language, name in (("en", "table1_nwerd_subset.csv"), ("es", "table1_es.csv"))
        for row in pl.read_csv(reference / name).iter_rows(named=True)
        for column in CATEGORIES
        if row.get(column) is not None
    }


def found(capsys, *arguments):
    assert main(["robustness", *map(str, arguments), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    nwerd = {
        (one["language"], one["recognizer"], one["category"]): 100 * one["estimate"]
        for one in answer["findings"]
        if one["measure"] == "nwerd" and one["category"]
    }
    return answer, nwerd


def test_table_1_comes_out(table, paper, capsys):
    named = [f"{language}={corpus}" for language, corpus in BASELINE.items()]
    options = ["--baseline", *named, "--difficulty", "published", "--by", "language"]
    answer, nwerd = found(capsys, table, *options)
    assert len(paper) == 26
    for key, published in paper.items():
        assert nwerd[key] == pytest.approx(published, abs=0.25), key
    assert [(one["code"], one["about"]) for one in answer["refusals"]] == [("no_speakers", "intervals")]
    assert all(one["low"] is None for one in answer["findings"])


def test_without_a_baseline_clean_speech_of_other_corpora_moves_it(table, paper, capsys):
    answer, nwerd = found(capsys, table, "--difficulty", "published", "--by", "language,corpus")
    wrong = [key for key, published in paper.items() if abs(nwerd[key] - published) > 0.25]
    assert {category for *_, category in wrong} == set(CATEGORIES.values())
    said = [note for note in answer["notes"] if note["code"] == "several_baselines"]
    assert said
    assert "LibriSpeech" in said[0]["text"]
