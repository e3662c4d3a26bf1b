"""Words lost under a disturbance: Algorithm 2 by hand, losses by alignment, who said what."""

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.audits import localize as package
from voxaudit.audits.localize import audit as asked
from voxaudit.audits.localize.trials import remaining
from voxaudit.audits.scores import Scores
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.score import align_words
from voxaudit.score.lost_words import clean_words, hear, lost_entries, sample
from voxaudit.score.lost_words import words_of as words_in
from voxaudit.score.normalize import normalizer


def localize(source, **options):
    """All that was found, word by word."""
    return asked.localize(source, **options).detail


def trials(texts, speakers=None, **columns):
    """A transcripts table from {utterance: {scenario: text}}, heard by one recognizer."""
    rows = [
        {"utterance": utterance, "scenario": scenario, "recognizer": "r", "text": text}
        | {"speaker": (speakers or {}).get(utterance, utterance)}
        | {name: values[utterance] for name, values in columns.items()}
        for utterance, by_scenario in texts.items()
        for scenario, text in by_scenario.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"text": pl.String})


TEXTS = {
    "a": {
        "clean": "Call Stella, please.",
        "noise:theta=10": "call stella",
        "noise:theta=2": "all stella please",
    },
    "b": {
        "clean": "please please call",
        "noise:theta=10": "please call",
        "noise:theta=2": "please call call call",
    },
    "c": {"clean": "ask her", "noise:theta=10": "ask her to call", "noise:theta=2": ""},
}


def words_of(found, **wanted):
    rows = found.words.filter(pl.lit(True), **wanted)
    return {row["word"]: row for row in rows.to_dicts()}


def test_algorithm_2_by_hand():
    found = localize(trials(TEXTS), omega=1)
    words = words_of(found)
    # Counts over all utterances, wherever the word is heard: "call" is heard 3 times under each setting.
    assert {
        word: (row["original"], row["counts"], row["minimum"], row["drop"]) for word, row in words.items()
    } == {
        "ask": (1, [1, 0], 0, 1),
        "call": (2, [3, 3], 3, 0),
        "her": (1, [1, 0], 0, 1),
        "please": (3, [1, 2], 1, 2),
        "stella": (1, [1, 1], 1, 0),
    }
    assert [word for word, row in words.items() if row["non_robust"]] == ["please"]
    assert words["please"]["setting"] == "10"
    [average] = found.averages.to_dicts()
    assert average["average_drop"] == pytest.approx(4 / 5)
    assert average["share"] == pytest.approx(4 / 8)


def test_losses_are_by_alignment_not_by_count():
    # "call" was heard as often as it was said, but not where it was said.
    words = words_of(localize(trials(TEXTS)))
    assert words["call"]["drop"] == 0
    assert words["call"]["lost"] == 1
    assert words["call"]["lost_setting"] == "2"
    assert words["please"]["lost"] == 2
    assert (words["please"]["utterances"], words["please"]["speakers"]) == (2, 2)


def test_groups_are_counted_apart():
    table = trials(TEXTS, place={"a": "x", "b": "y", "c": "y"})
    found = localize(table, attribute="place")
    assert words_of(found, group="x")["please"]["counts"] == [0, 1]
    assert words_of(found, group="y")["please"]["counts"] == [1, 1]
    averages = asked.localize(table, attribute="place").tables["average_drop"].filter(pl.col("by") == "all")
    by_group = dict(averages.select("group", "average_drop").iter_rows())
    assert by_group["x"] == pytest.approx(2 / 3)  # call and please once each, of three words
    assert by_group["y"] == pytest.approx(3 / 4)


def test_only_utterances_that_were_answered_throughout():
    texts = {**TEXTS, "d": {"clean": "please", "noise:theta=10": None, "noise:theta=2": "please"}}
    texts["e"] = {"clean": "please", "noise:theta=10": "please"}
    found = localize(trials(texts))
    assert words_of(found)["please"]["original"] == 3
    assert found.left_out == ({"recognizer": "r", "perturbation": "noise", "utterances": 2},)
    # Without the setting that one of them lacks, it counts.
    found = localize(trials(texts), exclude=["noise:theta=2"])
    assert words_of(found)["please"]["original"] == 4


def test_words_can_be_limited():
    table = trials(TEXTS, reference={"a": "Ask Stella", "b": None, "c": "ask her"})
    assert set(words_of(localize(table, vocabulary=["CALL", "nothing"]))) == {"call"}
    assert set(words_of(localize(table, reference_words=True))) == {"ask", "stella", "her"}
    with pytest.raises(VoxauditError, match="no reference text"):
        localize(trials(TEXTS), reference_words=True)


def test_words_can_be_limited_to_those_of_a_file(tmp_path):
    (tmp_path / "words.txt").write_text("CALL\nnothing ask")
    assert set(words_of(localize(trials(TEXTS), vocabulary=tmp_path / "words.txt"))) == {"ask", "call"}
    (tmp_path / "words.txt").write_text(" \n")
    with pytest.raises(VoxauditError, match="no words there"):
        localize(trials(TEXTS), vocabulary=str(tmp_path / "words.txt"))


def test_scenarios_can_be_chosen_and_clean_speech_stays():
    words = words_of(localize(trials(TEXTS), scenario="noise:theta=2"))
    assert words["please"]["settings"] == ["2"]
    assert (words["please"]["original"], words["please"]["counts"]) == (3, [2])


def test_examples_name_the_utterances():
    found = localize(trials(TEXTS), omega=1, examples=5)
    assert set(found.examples["scenario"]) == {"noise:theta=10", "noise:theta=2"}
    rows = found.examples.select("word", "setting", "utterance").rows()
    assert rows == [("please", "10", "a"), ("please", "10", "b"), ("please", "2", "b")]
    assert localize(trials(TEXTS), omega=1, examples=1).examples.height == 1


def test_phonemes_of_lost_words():
    pytest.importorskip("pocketsphinx")
    texts = {**TEXTS, "d": {"clean": "xqzt", "noise:theta=10": "", "noise:theta=2": ""}}
    found = localize(trials(texts), phonemes=True)
    sounds = {row["phoneme"]: row for row in found.phonemes.to_dicts()}
    # P L IY Z is said three times and lost twice at setting 10; L also in two "call" and one "stella".
    assert (sounds["P"]["said"], sounds["P"]["lost"]) == (3, 2)
    assert (sounds["L"]["said"], sounds["L"]["lost"]) == (6, 2)
    assert any("1 of 6 words, 1 of 9 occurrences" in note for note in found.notes)
    assert localize(trials(TEXTS)).phonemes is None


texts = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(texts, texts, st.booleans()), min_size=1, max_size=8))
def test_losses_equal_the_alignment_of_every_pair(pairs):
    rule = normalizer("basic")
    clean = clean_words(
        pl.Series([said for said, _, _ in pairs]), rule, np.arange(len(pairs)) % 3, np.array([0, 1, 0])
    )
    used = np.array([use for _, _, use in pairs])
    part = sample(clean, used)
    answers, _ = words_in(pl.Series([heard for _, heard, _ in pairs]), rule, clean.vocabulary)
    heard = hear(part, answers, lost_entries(clean, answers)[0]) if len(clean.vocabulary) else None
    expected = Counter()
    for row, (said, answer, use) in enumerate(pairs):
        for edit in align_words(said, answer):
            if use and edit.kind in ("substitute", "delete"):
                expected.update((row, word) for word in edit.reference)
    found = Counter()
    if heard is not None:
        for row, word, lost in zip(part.row, part.word, heard.lost, strict=True):
            found[(int(row), clean.vocabulary[int(word)])] += int(lost)
        assert heard.lost_pairs.sum() == pytest.approx(heard.expected.sum())
    assert +found == expected


def test_what_is_left_out_is_named_in_any_spelling():
    assert remaining([("a", "1"), ("a", "2"), ("b", "3")], ["a:theta=1", "b"]) == [("a", "2")]


COUNTS = pl.DataFrame(
    [
        ("r", "Original", None, "g", "call", 4),
        ("r", "Original", None, "g", "six", 0),
        ("r", "Noise", "2", "g", "call", 1),
        ("r", "Noise", "10", "g", "call", 6),
        ("r", "Noise", "10", "g", "six", 1),
    ],
    schema=["recognizer", "perturbation", "setting", "group", "word", "count"],
    orient="row",
)


def test_counts_made_elsewhere():
    answer = asked.localize(COUNTS, omega=2)
    found = answer.detail
    assert [(row["word"], row["minimum"], row["drop"]) for row in found.words.to_dicts()] == [
        ("call", 1, 3),
        ("six", 0, 0),
    ]
    first = answer.tables["words"].row(0, named=True)
    assert dict(zip(first["settings"], first["counts"], strict=True)) == {"2": 1, "10": 6}
    averages = answer.tables["average_drop"].filter(pl.col("by") == "perturbation")
    assert averages.select("value", "group", "average_drop").rows() == [("Noise", "g", 1.5)]
    [finding] = answer.findings
    assert (finding.verdict, finding.code, finding.estimate) == ("refused", "no_speakers", None)


def with_row(**changes):
    return pl.concat(
        [COUNTS, COUNTS[:1].with_columns(**{k: pl.lit(v) for k, v in changes.items()})],
        how="vertical_relaxed",
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (COUNTS.filter(pl.col("perturbation") != "Original"), "no rows of clean speech"),
        (COUNTS.filter(pl.col("perturbation") == "Original"), "no rows besides clean speech"),
        (COUNTS.drop("count"), "no column 'count'"),
        (with_row(), "counted twice"),
        (with_row(word=""), "row 7: one of"),
        (COUNTS.with_columns(count=pl.lit("many")), "row 2, column 'count': 'many'"),
        (COUNTS.with_columns(count=pl.lit("inf")), "row 2, column 'count': 'inf'"),
        (with_row(perturbation="Noise", setting="2", group="h"), "no rows of clean speech for r and group h"),
        (
            with_row(group="h").vstack(with_row(group="h", perturbation="Noise", setting="2")[-1:]),
            "group h at Noise 10",
        ),
    ],
)
def test_counts_that_cannot_be_used(table, message):
    with pytest.raises(VoxauditError, match=message):
        asked.localize_counts(table)


def test_words_that_were_not_counted():
    with pytest.raises(VoxauditError, match="none of the words asked for"):
        localize(COUNTS, vocabulary=["nowhere"])
    with pytest.raises(VoxauditError, match="have their groups in column 'group'"):
        localize(COUNTS, attribute="recognizer")
    with pytest.raises(VoxauditError, match="have no reference texts"):
        localize(COUNTS, reference_words=True)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (trials(TEXTS).filter(pl.col("scenario") != "clean"), {}, "no transcripts of clean speech"),
        (trials(TEXTS).filter(pl.col("scenario") == "clean"), {}, "only clean speech"),
        (trials(TEXTS), {"attribute": "speeker"}, "Did you mean: speaker"),
        (trials(TEXTS), {"exclude": ["nose:2"]}, "Did you mean: noise"),
        (trials(TEXTS), {"exclude": ["noise:3"]}, "Settings: 10, 2"),
        (trials(TEXTS), {"exclude": ["noise"]}, "nothing is left"),
        (trials(TEXTS), {"omega": -1}, "omega must be 0 or more"),
        (trials(TEXTS), {"fdr": 1.5}, "between 0 and 1"),
        (trials(TEXTS).with_columns(text=pl.lit("")), {}, "all clean transcripts are empty"),
        (pl.concat([trials(TEXTS)] * 2), {}, "'a' occurs twice"),
        (trials(TEXTS), {"examples": -1}, "examples must be 0 or more"),
        (trials(TEXTS), {"attribute": "recognizer"}, "says nothing about a speaker"),
        (
            trials(TEXTS).with_columns(scenario=pl.col("scenario").replace("noise:theta=10", "noise:2.0")),
            {},
            r"the same perturbation and setting \(noise:2.0, noise:theta=2\)",
        ),
        (
            trials(TEXTS).with_columns(scenario=pl.col("scenario").replace("noise:theta=10", "Original")),
            {},
            r"several scenarios \(clean, Original\) of clean speech",
        ),
        *(
            (trials(TEXTS).with_columns(pl.lit(None, pl.String).alias(name)), {}, f"row 1: column {name} is")
            for name in ("utterance", "scenario", "recognizer")
        ),
        (
            trials(TEXTS, place=dict.fromkeys("abc", "")),
            {"attribute": "place"},
            "no utterance has a value for `place`",
        ),
    ],
)
def test_transcripts_that_cannot_be_used(table, options, message):
    with pytest.raises(VoxauditError, match=message):
        localize(table, **options)


def test_clean_speech_may_be_called_original_and_case_does_not_matter_to_exclude():
    renamed = trials(TEXTS).with_columns(scenario=pl.col("scenario").replace("clean", "Original"))
    found = localize(renamed, exclude=["NOISE:2"])
    assert found.words.equals(localize(trials(TEXTS), exclude=["noise:2"]).words)


def test_ids_in_text_files_stay_as_they_are(tmp_path):
    numbered = {f"00{number}": by for number, by in enumerate(TEXTS.values())}
    trials(numbered).write_csv(tmp_path / "t.csv")
    found = localize(tmp_path / "t.csv", omega=0, examples=5)
    assert set(found.examples["utterance"]) == set(numbered)


def test_empty_answers_lose_everything():
    quiet = {name: {"clean": by["clean"], "noise:theta=2": ""} for name, by in TEXTS.items()}
    found = localize(trials(quiet))
    assert found.words["minimum"].sum() == 0
    assert (found.words["lost"] == found.words["original"]).all()
    assert (found.words["lost_rate"] == 1).all()


WORDS = ["door", "window", "dog", "house"]


def spoken(lost=("dog", "house"), speakers=6):
    """Each speaker says four words twice; in noise `lost` are gone."""
    kept = " ".join(word for word in WORDS if word not in lost)
    return pl.DataFrame(
        [
            {"utterance": f"{speaker}-{number}", "speaker": f"s{speaker}", "recognizer": "moonshine"}
            | {"scenario": scenario, "text": text, "side": "left" if speaker % 2 else "right"}
            for speaker in range(speakers)
            for number in range(2)
            for scenario, text in (("clean", " ".join(WORDS) + " rare"), ("noise:theta=2", kept))
        ]
    )


def test_the_command(tmp_path, capsys):
    path = tmp_path / "transcripts.csv"
    spoken().write_csv(path)
    assert main(["localize", str(path), "--attribute", "side", "--json", "--examples", "5"]) == 0
    document = json.loads(capsys.readouterr().out)
    tables = {
        table["id"]: [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
        for table in document["tables"]
    }
    dog = next(row for row in tables["words"] if row["word"] == "dog" and row["group"] == "left")
    assert (dog["recognizer"], dog["perturbation"]) == ("moonshine", "noise")
    assert (dog["original"], dog["minimum"], dog["drop"]) == (6, 0, 6)
    assert (dog["settings"], dog["counts"]) == (["2"], [0])
    averages = {row["group"]: row["average_drop"] for row in tables["average_drop"] if row["by"] == "all"}
    assert averages == {"left": pytest.approx(18 / 5), "right": pytest.approx(18 / 5)}
    assert {"utterance", "scenario", "recognizer", "word"} <= set(tables["examples"][0])
    assert main(["localize", str(path)]) == 0
    assert "dog" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attribute", "sides"], "Did you mean: side"),
        (["--vocabulary", "nowhere.txt"], "nowhere.txt: cannot read"),
        (["--normalizer", "basics"], "Did you mean: basic"),
        (["--exclude", "noise:2"], "nothing is left to compare with clean speech (see --exclude)"),
        (["--where", "side=up"], "none of 24 rows meets: side=up"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, arguments, message):
    path = tmp_path / "transcripts.csv"
    spoken().write_csv(path)
    assert main(["localize", str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_picture_of_drops(tmp_path):
    answer = asked.localize(spoken(), attribute="side")
    answer.plot("drops", tmp_path / "drops.svg")
    assert "noise" in (tmp_path / "drops.svg").read_text()


def test_a_report_asks_by_the_first_attribute_that_can_be_compared(monkeypatch):
    table = spoken().with_columns(one=pl.lit("same"))
    scores = Scores.of(table, texts=True)
    assert list(package.questions(scores, ["one", "side", "speaker"])) == [{"attribute": "side"}]
    assert list(package.questions(scores, ["one"])) == [{}]
    # Of a large run, the harshest setting of each perturbation; all settings where no order is known.
    names = ["noise:2", "gaussian_noise:1", "gaussian_noise:3", "odd:a", "odd:b"]
    more = [table.with_columns(scenario=pl.col("scenario").replace("noise:theta=2", name)) for name in names]
    large = Scores.of(pl.concat(more).unique(["utterance", "scenario"], maintain_order=True), texts=True)
    monkeypatch.setattr(package, "MOST_TRIALS", large.frame.height - 1)
    [question] = package.questions(large, [])
    assert sorted(question["scenario"]) == ["gaussian_noise:3", "noise:2", "odd:a", "odd:b"]
    assert asked.localize(large, **question).detail.words["perturbation"].n_unique() == 3
    monkeypatch.setattr(package, "MOST_TRIALS", large.frame.height)
    assert list(package.questions(large, [])) == [{}]
