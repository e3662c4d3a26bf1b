"""Koenecke et al. 2020 from one command: five commercial recognizers, Black and White speakers, five places."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from voxaudit.cli.main import main
from voxaudit.wording import p_cell, percent, percent_interval, signed, signed_limits

TABLE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "koenecke" / "matched_wer.csv"
COMMAND = [
    *("parity", str(TABLE), "--attributes", "black_flag,source,female_flag,age"),
    *("--wer-columns", "clean_google_wer,clean_ibm_wer,clean_amazon_wer,clean_msft_wer,clean_apple_wer"),
    *("--columns", "words=wordcount,speaker=basefile"),
    *("--speaker-pattern", r"^((?:DCB|PRV|ROC)_.+)_\d+$", "--json"),
]


@pytest.fixture(scope="module")
def document():
    if not TABLE.exists():
        pytest.skip("no reference data here: the optional folder ../shared/reference is missing")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(COMMAND) == 0
    answer = json.loads(out.getvalue())
    tables = {
        table["id"]: [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
        for table in answer["tables"]
    }
    return {**answer, **tables}


def rows(document, table, **wanted):
    wanted = {"recognizer": "(mean of recognizers)"} | wanted
    return [row for row in document[table] if all(row[name] == value for name, value in wanted.items())]


def test_the_published_rates(document):
    white, black = rows(document, "groups", attribute="black_flag")
    assert (white["group"], black["group"]) == ("0", "1")
    assert round(black["wer_utterance_mean"], 2) == 0.35
    assert round(white["wer_utterance_mean"], 2) == 0.19
    assert round(black["wer_pooled"], 3) == 0.336
    assert round(white["wer_pooled"], 3) == 0.181
    # Speakers are fewer than recordings: 98 people, 42 of them White.
    assert (white["speakers"], black["speakers"]) == (42, 56)
    [pair] = rows(document, "pairs", attribute="black_flag", group="0", against="1")
    assert pair["verdict"] == "shown"
    assert pair["p_adjusted"] < 0.001
    assert pair["estimate"] == pytest.approx(-0.117, abs=0.001)


def test_every_recognizer_alone(document):
    names = list(dict.fromkeys(row["recognizer"] for row in document["gaps"]))
    assert names == ["amazon", "apple", "google", "ibm", "msft", "(mean of recognizers)"]
    for name in names:
        [gap] = rows(document, "gaps", recognizer=name, attribute="black_flag")
        assert gap["group"] == "1"
        assert gap["verdict"] == "shown"
        assert gap["p_adjusted"] < 0.05


def test_the_places(document):
    by_place = {row["group"]: row for row in rows(document, "groups", attribute="source")}
    published = {"HUM": 0.176, "SAC": 0.204, "DCB": 0.344, "PRV": 0.435, "ROC": 0.221}
    assert {name: round(row["wer_utterance_mean"], 3) for name, row in by_place.items()} == published
    [pair] = rows(document, "pairs", attribute="source", group="ROC", against="SAC")
    # By speakers there is nothing between Rochester and Sacramento, to within six points either way.
    assert abs(pair["estimate"]) < 0.001
    assert pair["verdict"] == "not_shown"  # nobody said what alike would be
    assert -0.07 < pair["low"] < 0.0 < pair["high"] < 0.07
    [pair] = rows(document, "pairs", attribute="source", group="PRV", against="ROC")
    assert pair["estimate"] == pytest.approx(0.2195, abs=0.001)
    # Eleven speakers in Princeville are few to say how much: Eq. 1 for a quarter of the word error rate.
    assert by_place["PRV"]["more_needed"] == 30


def test_race_and_place_are_not_told_apart(document):
    refusals = {refusal["about"]: refusal["text"] for refusal in document["refusals"]}
    assert "cannot be told apart" in refusals["'black_flag' with 'source' held fixed"]
    [held] = rows(document, "conditional", attribute="black_flag", group="0")
    assert held["against"] == "1"
    assert held["estimate"] == pytest.approx(-0.137, abs=0.001)
    assert held["speakers_against"] == 56


def test_a_gap_that_is_masked_is_found(document):
    """Men and women, Apple's recognizer: not shown as observed, shown with race, place and age held fixed."""
    findings = {one["id"]: one for one in document["findings"]}
    fixed = findings["parity/apple/female_flag/wer_gap_fixed"]
    assert (fixed["verdict"], findings["parity/apple/female_flag/wer_gap"]["verdict"]) == (
        "shown",
        "not_shown",
    )
    assert fixed["p_adjusted"] < 0.02
    assert "; as observed it is 6.8 (0.0 to 13.8), not shown." in fixed["sentence"]
    [check] = rows(document, "checklist", recognizer="apple", practice="conditional parity (3.3.2)")
    assert (check["status"], "shown only with" in check["why"]) == ("caution", True)
    ids = list(findings)
    assert ids.index(fixed["id"]) < ids.index("parity/apple/female_flag/wer_gap")


def test_what_it_cannot_check(document):
    status = {check["practice"]: check["status"] for check in document["checklist"]}
    assert status["equal recording quality (3.1)"] == "cannot be checked"
    assert status["intersectional groups (3.3.1)"] == "cannot be checked"
    assert status["enough speakers (3.4.1)"] == "caution"


def test_the_worked_example_is_what_comes_out(document):
    guide = (Path(__file__).resolve().parents[2] / "docs" / "parity.md").read_text(encoding="utf-8")
    for attribute in ("black_flag", "source"):
        for row in rows(document, "groups", attribute=attribute):
            rates = percent_interval(row["wer"], row["wer_low"], row["wer_high"])
            means = f"{percent(row['wer_utterance_mean'])} | {percent(row['wer_pooled'])}"
            line = f"| {row['group']} | {row['speakers']} | {rates} | {means} | {row['err_rel']:+.1f} %"
            assert f"{line} | {row['speakers_needed']} |" in guide
    for row in rows(document, "gaps"):
        gap = signed(row["estimate"]) + signed_limits(row["low"], row["high"])
        fixed = "-"
        if row["fixed_estimate"] is not None:
            fixed = signed(row["fixed_estimate"]) + signed_limits(row["fixed_low"], row["fixed_high"])
        line = (
            f"| {row['attribute']} | {row['group']} | {row['against']} | {gap} | {p_cell(row['p_adjusted'])}"
        )
        assert f"{line} | {fixed} | {p_cell(row['fixed_p_adjusted'])} |" in guide
    command = " ".join(COMMAND[2:-1]).replace(r"^((?:DCB|PRV|ROC)_.+)_\d+$", r"'^((?:DCB|PRV|ROC)_.+)_\d+$'")
    assert command in " ".join(guide.replace("\\\n", " ").split())
