"""Tables the robustness audit cannot answer from, and what it says then."""

import json

import polars as pl
import pytest

import voxaudit
from voxaudit.answer import RefusedError
from voxaudit.audits.scores import Scores
from voxaudit.errors import VoxauditError

COLUMNS = ["recognizer", "scenario", "speaker", "utterance", "errors", "words"]


def robustness(table, *, difficulty="none", **options):
    """Return everything that was measured; nothing is normalized unless asked for."""
    return voxaudit.robustness(table, difficulty=difficulty, **options).detail


def table(rows):
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def plain(speakers=6, scenarios=("clean", "echo:1")):
    return table(
        [
            ("r", scenario, f"s{i}", f"u{i}", 10 + place, 100)
            for place, scenario in enumerate(scenarios)
            for i in range(speakers)
        ]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.clear(), "nothing was scored"),
        (lambda t: t.filter(pl.col("scenario") != "clean"), "no row has the scenario 'clean'"),
        (lambda t: t.drop("recognizer"), "no column 'recognizer'"),
        (lambda t: t.drop("errors"), "no column 'errors'"),
        (lambda t: pl.concat([t, t.head(1)]), "2 rows for utterance 'u0', scenario 'clean', recognizer 'r'"),
        (lambda t: t.with_columns(errors=pl.lit(-1)), "row 1, column 'errors': -1 is negative"),
        (
            lambda t: t.with_columns(errors=pl.when(pl.col("utterance") == "u1").then(pl.lit("many"))),
            "row 2, column 'errors': 'many' is not a number",
        ),
        (lambda t: t.with_columns(errors=pl.lit(float("nan"))), "row 1, column 'errors': no value"),
        (lambda t: t.with_columns(words=pl.lit(float("inf"))), "row 1, column 'words': inf is not a count"),
        (lambda t: t.with_columns(duration=pl.lit("long")), "column 'duration': 'long' is not a number"),
        (
            lambda t: t.with_columns(words=pl.when(pl.col("utterance") != "u2").then(pl.col("words"))),
            "row 3, column 'words': no value",
        ),
        (
            lambda t: t.with_columns(scenario=pl.when(pl.col("utterance") != "u1").then(pl.col("scenario"))),
            "row 2, column 'scenario'",
        ),
    ],
)
def test_tables_that_cannot_be_used(change, message):
    with pytest.raises(VoxauditError) as caught:
        robustness(Scores(change(plain()), "mine.csv"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.csv: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": ["gender"]}, "no column 'gender'"),
        ({"by": ["gender"]}, "not by 'gender'"),
        ({"by": ["corpus"]}, "no column 'corpus'"),
        ({"baseline": {"en": "books"}}, "no column 'corpus'"),
        ({"confidence": 1.5}, "confidence"),
        ({"resamples": 10}, "resamples"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"attributes": ["scenario"]}, "column 'scenario' says which trial a row is"),
        ({"difficulty": pl.DataFrame({"scenario": ["a"]})}, "no column 'difficulty'"),
        (
            {"difficulty": pl.DataFrame({"scenario": ["a", "a"], "difficulty": [1.0, 2.0]})},
            "'a' has several rows",
        ),
        ({"difficulty": pl.DataFrame({"scenario": ["a"], "difficulty": ["hard"]})}, "must hold numbers"),
        ({"facts": pl.DataFrame({"model": ["r"]})}, "no column 'recognizer'"),
        ({"facts": pl.DataFrame({"recognizer": ["other"]})}, "none of its recognizers"),
        ({"facts": pl.DataFrame({"recognizer": ["r", "r"]})}, "'r' has several rows"),
    ],
)
def test_questions_that_cannot_be_asked(options, message):
    with pytest.raises(VoxauditError, match=message):
        robustness(plain(), **options)


def test_one_speaker_gets_estimates_but_no_interval_and_no_rank():
    two = pl.concat([plain(1), plain(1).with_columns(recognizer=pl.lit("q"))])
    found = robustness(two)
    assert found.levels["werd"].null_count() == 0
    assert found.levels["werd_low"].null_count() == found.levels.height
    assert found.ranking["rank"].to_list() == [None, None]
    assert found.comparisons["verdict"].to_list() == ["refused"]
    assert {refusal.text for refusal in found.refusals} == {"1 speaker; at least 5 known ones are needed"}


def test_unnamed_speakers_give_no_interval():
    found = robustness(
        plain().with_columns(speaker=pl.when(pl.col("utterance") != "u0").then(pl.col("speaker")))
    )
    assert found.levels["werd"].null_count() == 0
    assert found.levels["wer_low"].null_count() == found.levels.height
    assert "unnamed" in found.refusals[0].text
    assert found.refusals[0].code == "no_speakers"


def test_without_speakers_there_are_estimates_and_one_refusal():
    two = pl.concat([plain(), plain().with_columns(recognizer=pl.lit("q"))])
    found = robustness(two.drop("speaker"))
    assert found.levels.filter(name="echo:1")["werd"].to_list() == pytest.approx([0.01, 0.01])
    assert found.levels["werd_low"].null_count() == found.levels.height
    assert [(refusal.code, refusal.about) for refusal in found.refusals] == [("no_speakers", "intervals")]


def test_without_utterances_rows_are_sums():
    rows = plain(12).drop("utterance")
    found, whole = robustness(pl.concat([rows, rows])), robustness(plain(12))
    for name in ("wer", "werd", "werd_low", "werd_high", "speakers"):
        assert found.levels[name].to_list() == whole.levels[name].to_list()
    assert found.levels["utterances"].null_count() == found.levels.height
    assert found.concentration.is_empty()


def test_sums_without_an_error_have_no_interval():
    found = robustness(plain(1).drop("utterance", "speaker").with_columns(errors=0))
    assert found.levels["wer"].to_list() == [0.0] * found.levels.height
    assert (
        found.levels["wer_high"].null_count() == found.levels["wer_low"].null_count() == found.levels.height
    )
    assert found.levels["werd_high"].null_count() == found.levels.height


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ({"en": "boks"}, "no clean speech of a corpus 'boks'. Did you mean: books? There: books"),
        ({"en": "dinner"}, "no clean speech of a corpus 'dinner'. There: books"),
        ({"fr": "books"}, "no language or corpus 'fr'. There: en, books, dinner"),
    ],
)
def test_a_baseline_is_a_corpus_with_clean_speech(baseline, message):
    parts = [plain().with_columns(corpus=pl.lit("books")), plain(scenarios=("accented",))]
    rows = pl.concat(parts, how="diagonal").with_columns(
        pl.col("corpus").fill_null("dinner"), language=pl.lit("en")
    )
    with pytest.raises(VoxauditError) as caught:
        robustness(Scores(rows, "mine.csv"), baseline=baseline)
    assert str(caught.value).startswith(f"mine.csv: {message}")


def test_no_error_on_clean_speech_is_remarked():
    found = robustness(
        plain().with_columns(errors=pl.when(pl.col("scenario") != "clean").then(10).otherwise(0))
    )
    assert any("no error on clean speech" in note.text for note in found.notes)
    assert found.levels.filter(pl.col("name") == "echo:1")["werd"].item() == pytest.approx(0.1)


def test_a_recognizer_that_heard_no_clean_speech_has_no_rank():
    rows = pl.concat([plain(), plain(scenarios=("echo:1",)).with_columns(recognizer=pl.lit("q"))])
    found = robustness(rows)
    assert found.ranking["recognizer"].to_list() == ["r"]
    assert any(r.about == "q" and r.code == "no_clean_speech" for r in found.refusals)
    assert (
        found.levels.filter((pl.col("recognizer") == "q") & (pl.col("level") == "overall"))["werd"].item()
        is None
    )


def test_clean_speech_alone_is_no_question_of_robustness():
    with pytest.raises(RefusedError, match="only clean speech") as caught:
        robustness(plain(scenarios=("clean",)))
    assert caught.value.refusal.code == "nothing_disturbed"


def test_silence_scored_against_speech_is_refused():
    found = robustness(plain(scenarios=("clean", "silence")).with_columns(duration=pl.lit(3.0)))
    assert any(
        refusal.about == "silence" and refusal.remedy == "score the run again" for refusal in found.refusals
    )
    assert found.inserted.is_empty()
    assert "silence" not in found.levels["name"].to_list()


def test_three_kinds_of_errors_are_added_up():
    rows = plain().with_columns(substitutions=pl.col("errors"), deletions=pl.lit(2), insertions=pl.lit(3))
    assert robustness(rows.drop("errors")).levels.filter(pl.col("name") == "clean")[
        "wer"
    ].item() == pytest.approx(0.15)


def test_an_attribute_that_is_called_like_a_place_is_compared_not_split():
    rows = plain(12).with_columns(
        language=pl.when(pl.col("speaker").str.slice(1).cast(pl.Int64) < 6)
        .then(pl.lit("en"))
        .otherwise(pl.lit("es"))
    )
    found = robustness(rows, attributes=["language"])
    assert "language" not in found.levels.columns
    assert found.groups["group"].unique().to_list() == ["en"]


def test_an_attribute_named_twice_is_compared_once():
    both = plain(12).with_columns(
        sex=pl.when(pl.col("speaker").str.slice(1).cast(pl.Int64) < 6)
        .then(pl.lit("f"))
        .otherwise(pl.lit("m"))
    )
    assert robustness(both, attributes=["sex", "sex"]).groups.equals(
        robustness(both, attributes=["sex"]).groups
    )
    assert robustness(both, attributes=["sex"]).groups.height


def test_names_may_be_anything():
    odd = ("clean", "x:99999999999999999999", "x:2", f"y:{'9' * 5000}", "echo:delay=nan", "echo:delay=inf")
    found = voxaudit.robustness(plain(scenarios=odd))
    assert found.tables["scenarios"].height == len(odd)
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_far_away_by_formula_is_not_a_conversation():
    heard = ("clean", "far_field:1", "far_field:2", "far_field_kitchen", "accented_scots", "synthetic")
    found = robustness(plain(scenarios=heard))
    category = dict(found.levels.filter(level="scenario").select("name", "category").iter_rows())
    assert category["far_field:1"] == category["far_field:2"] == "level"
    assert category["far_field_kitchen"] == "far-field conversation"
    assert category["accented_scots"] == "accented speech"
    assert category["synthetic"] == "synthetic speech"
    assert found.trends["perturbation"].to_list() == ["far_field"]


def test_natural_speech_is_not_drawn():
    draws = [plain(scenarios=("clean", "music:1", "accented")).with_columns(draw=pl.lit(d)) for d in "ab"]
    found = robustness(pl.concat(draws))
    assert found.stability.filter(level="scenario")["name"].to_list() == ["music:1"]


def test_an_infinite_difficulty_is_none():
    hard = pl.DataFrame({"scenario": ["echo:1"], "difficulty": [float("inf")]})
    found = robustness(plain(), difficulty=hard)
    assert found.measure == "werd"
    assert [r.text for r in voxaudit.robustness(plain(), difficulty=hard).refusals] == [
        "no difficulty is known"
    ]


def test_the_same_ids_in_two_languages_need_to_be_split():
    both = pl.concat(plain().with_columns(language=pl.lit(name)) for name in ("en", "es"))
    with pytest.raises(
        VoxauditError, match=r"Keep one, set languages apart, or tell .* \(see the argument `by`\)"
    ):
        robustness(both)
    assert robustness(both, by=["language"]).levels["language"].unique().sort().to_list() == ["en", "es"]
