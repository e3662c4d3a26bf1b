"""Recognizers head to head: rates and differences by hand, ties, ranks, transcripts, false alarms and power."""

import json

import numpy as np
import polars as pl
import pytest

import voxaudit
from voxaudit.answer import RefusedError
from voxaudit.audits.scores import Scores
from voxaudit.audits.versus import questions
from voxaudit.audits.versus.audit import BEST, versus
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError

SCENARIOS = ("clean", "gaussian_noise:2", "rir:2")


def heard(seed=0, speakers=20, factors=(1.0, 1.6), scenarios=SCENARIOS, names=("ours", "theirs", "third")):
    """Return scores of recognizers whose error rates are multiples of each speaker's own."""
    rng = np.random.default_rng(seed)
    rows = []
    for speaker in range(speakers):
        rate = 0.1 * np.exp(rng.normal(0, 0.5))
        for number in range(int(rng.integers(3, 8))):
            words = int(rng.integers(4, 15))
            for place, scenario in enumerate(scenarios):
                for name, factor in zip(names, factors, strict=False):
                    own = np.exp(rng.normal(0, 0.3))
                    errors = int(rng.poisson(rate * (1 + place) * factor * own * words))
                    rows.append(
                        (
                            f"{speaker}-{number}",
                            f"s{speaker}",
                            scenario,
                            name,
                            words,
                            errors,
                            "fm"[speaker % 2],
                        )
                    )
    columns = ["utterance", "speaker", "scenario", "recognizer", "words", "errors", "gender"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def rate(table, name, *conditions):
    own = table.filter(pl.col("recognizer") == name, *conditions)
    return own["errors"].sum() / own["words"].sum()


def slices(answer):
    return {(one.recognizer, one.against, one.label): one for one in answer.detail.slices}


def test_rates_differences_and_ratios_are_ratios_of_sums():
    table = heard()
    answer = versus(table, attributes=["gender"])
    found = {label: one for (*_, label), one in slices(answer).items()}
    assert list(found) == [
        *("all trials", "clean", "disturbed", "rir:2", "spatial acoustics", "white noise"),
        *("f (gender)", "m (gender)"),
    ]
    for id_, conditions in {
        "overall": (),
        "clean": (pl.col("scenario") == "clean",),
        "disturbed": (pl.col("scenario") != "clean",),
        "spatial acoustics": (pl.col("scenario") == "rir:2",),
        "overall/gender/f": (pl.col("gender") == "f",),
    }.items():
        ours, theirs = (rate(table, name, *conditions) for name in ("ours", "theirs"))
        finding = answer.finding(f"versus/ours/theirs/{id_}/wer_difference")
        assert finding.estimate == pytest.approx(ours - theirs)
        assert finding.low < finding.estimate < finding.high
        assert (finding.recognizer, finding.against) == ("ours", "theirs")
    assert found["clean"].ratio == pytest.approx(
        rate(table, "ours", pl.col("scenario") == "clean")
        / rate(table, "theirs", pl.col("scenario") == "clean")
    )
    for name in ("ours", "theirs"):
        assert answer.finding(f"versus/{name}/overall/wer").estimate == pytest.approx(rate(table, name))
        assert (
            answer.finding(f"versus/{name}/clean/wer").low
            < answer.finding(f"versus/{name}/clean/wer").estimate
        )
    row = answer.tables["differences"].row(0, named=True)
    assert (row["difference"], row["low"], row["ratio"]) == (
        found["all trials"].difference,
        found["all trials"].low,
        found["all trials"].ratio,
    )


def test_the_better_one_is_named_with_points_and_share():
    answer = versus(heard())
    best = answer.finding(BEST)
    assert (best.verdict, best.recognizer, best.against, best.headline) == ("shown", "ours", "theirs", True)
    assert best.sentence.startswith(
        "ours is better than theirs over 3 scenarios: WER 24.0 % against 36.5 %, 12.5 "
    )
    assert "ours is shown to be better in 6 of 6 comparisons, theirs in none." in best.sentence
    one = answer.detail.whole[0]
    sentence = answer.finding("versus/ours/theirs/overall/wer_difference").sentence
    assert sentence.startswith(
        f"ours makes fewer errors than theirs over 3 scenarios: WER {100 * one.wer_after:.1f} % against"
        f" {100 * one.wer_before:.1f} %, {-100 * one.difference:.1f} percentage points less"
    )
    assert f"or {100 * (1 - one.ratio):.0f} %" in sentence
    assert answer.detail.ranks == {"ours": 1, "theirs": 2}


def test_the_order_of_the_names_turns_the_signs_and_nothing_else():
    table = heard()
    one, other = versus(table, "ours", "theirs"), versus(table, "theirs", "ours")
    this = one.finding("versus/ours/theirs/overall/wer_difference")
    that = other.finding("versus/theirs/ours/overall/wer_difference")
    assert (this.estimate, this.low, this.high) == pytest.approx((-that.estimate, -that.high, -that.low))
    assert this.p_adjusted == that.p_adjusted
    # What is said of the better one is the same, share and limits, too.
    assert this.sentence == that.sentence
    assert one.finding(BEST).sentence == other.finding(BEST).sentence
    assert that.command == "voxaudit versus TABLE theirs ours"


def test_a_recognizer_against_itself_is_a_tie():
    table = heard(factors=(1.0,))
    twice = pl.concat([table, table.with_columns(recognizer=pl.lit("same"))])
    answer = versus(twice, attributes=["gender"])
    assert {one.verdict for one in answer.detail.slices} == {"not_shown"}
    assert {one.difference for one in answer.detail.slices} == {0.0}
    assert answer.detail.ranks == {"ours": 1, "same": 1}
    best = answer.finding(BEST)
    assert (best.verdict, best.recognizer, best.estimate) == ("not_shown", None, 2.0)
    assert best.sentence.startswith("ours and same tie over 3 scenarios: both make as many errors, for every")
    tie = answer.finding("versus/ours/same/clean/wer_difference").sentence
    assert tie.startswith("ours and same tie on clean speech: both make as many errors, for every speaker")


def test_what_cannot_be_told_apart_says_what_is_not_excluded():
    answer = versus(heard(factors=(1.0, 1.02), seed=1))
    finding = answer.finding("versus/ours/theirs/clean/wer_difference")
    assert finding.verdict == "not_shown"
    assert finding.excludes == max(finding.low, finding.high, key=abs)
    limit = f"a difference of up to {100 * abs(finding.excludes):.1f} percentage points is not excluded"
    assert finding.sentence.startswith("ours and theirs cannot be told apart on clean speech: WER ")
    assert limit in finding.sentence
    assert "is not excluded" in answer.finding(BEST).sentence


def test_alike_needs_a_margin():
    table = heard(factors=(1.0,))
    almost = table.with_columns(
        recognizer=pl.lit("almost"),
        errors=pl.col("errors") + (pl.col("utterance").str.ends_with("-0")).cast(pl.Int64),
    )
    both = pl.concat([table, almost])
    assert "alike" not in {one.verdict for one in versus(both).detail.slices}
    wide = versus(both, margin=0.1)
    assert wide.finding(BEST).verdict == "alike"
    assert "alike over 3 scenarios within 10 percentage points" in wide.finding(BEST).sentence
    assert "alike" not in {one.verdict for one in versus(both, margin=0.001).detail.slices}


def test_ranks_have_ties_over_any_number_of_recognizers():
    names = ("good", "fair", "equal", "bad")
    answer = versus(heard(factors=(1.0, 1.8, 1.83, 4.0), names=names, speakers=30))
    assert answer.detail.ranks == {"good": 1, "fair": 2, "equal": 2, "bad": 4}
    assert answer.tables["ranking"]["rank"].to_list() == [1, 2, 2, 4]
    assert len(answer.detail.whole) == 6
    best = answer.finding(BEST)
    assert best.recognizer == "good"
    assert best.sentence.startswith("good makes the fewest errors of 4 recognizers over 3 scenarios: WER ")
    tied = versus(heard(factors=(1.8, 1.83, 4.0), names=("fair", "equal", "bad"), speakers=30)).finding(BEST)
    assert (tied.verdict, tied.estimate) == ("not_shown", 2.0)
    assert tied.sentence.startswith("2 of 3 recognizers share the first place over 3 scenarios: WER ")
    assert "; a difference between them of up to " in tied.sentence
    assert "is not excluded. Behind: bad " in tied.sentence


def test_only_common_trials_are_used_and_the_others_counted():
    table = heard()
    part = table.filter(~((pl.col("recognizer") == "theirs") & (pl.col("speaker") == "s0")))
    answer = versus(part)
    lost = table.filter((pl.col("recognizer") == "ours") & (pl.col("speaker") == "s0")).height
    note = next(note for note in answer.notes if note.code == "common")
    assert note.facts["left_out"] == {"ours": lost, "theirs": 0}
    assert f"are left out: {lost} of ours" in note.text
    expected = versus(table.filter(pl.col("speaker") != "s0"))
    assert answer.findings == expected.findings
    apart = table.filter((pl.col("recognizer") == "ours") == (pl.col("scenario") == "clean"))
    with pytest.raises(RefusedError, match="no scored trial in common") as refused:
        versus(apart)
    assert refused.value.refusal.see == ("by", "recognizers")


def test_one_utterance_that_decides_is_named():
    table = heard(factors=(1.0,), scenarios=("clean",), speakers=12)
    few = pl.col("utterance").is_in([f"{n}-0" for n in range(6)]).cast(pl.Int64)
    more = table.with_columns(recognizer=pl.lit("theirs"), errors=pl.col("errors") + few)
    answer = versus(pl.concat([table, more]))
    sentence = answer.finding("versus/ours/theirs/clean/wer_difference").sentence
    assert (
        "It rests on the utterance 0-0, in which theirs makes 1 error more: without it a difference"
        in sentence
    )
    assert "which is not shown" in answer.finding(BEST).sentence


def test_transcripts_are_scored_and_any_form_of_a_table_will_do(tmp_path):
    said = "turn the lamp off please"
    wrong = {"ours": "turn the lamp off please", "theirs": "Turn a lamp of, please!"}
    rows = [
        {"utterance": f"00{n}", "speaker": f"s{n}", "reference": said, "recognizer": name, "text": text}
        for name, text in wrong.items()
        for n in range(9)
    ]
    rows = [{**row, "failure": ""} for row in rows]
    rows.append({**rows[0], "utterance": "lost", "failure": "timed out"})
    table = pl.DataFrame(rows)
    answer = versus(table)
    assert answer.finding("versus/theirs/clean/wer").estimate == pytest.approx(2 / 5)
    assert answer.finding("versus/ours/theirs/clean/wer_difference").estimate == pytest.approx(-2 / 5)
    notes = {note.code: note.text for note in answer.notes}
    assert notes["normalizer"].endswith("spoken-en@1")
    assert notes["failures"].startswith("1 answer ")
    table.write_csv(tmp_path / "heard.csv")
    assert versus(tmp_path / "heard.csv").findings[1:] != ()
    assert [one.sentence for one in versus(tmp_path / "heard.csv").findings] == [
        one.sentence for one in answer.findings
    ]
    exact = versus(table, normalizer="none").finding("versus/theirs/clean/wer").estimate
    assert exact > 2 / 5
    other = table.rename({"text": "hypothesis", "speaker": "client"})
    given = versus(other, columns={"text": "hypothesis", "speaker": "client"})
    assert [one.sentence for one in given.findings] == [one.sentence for one in answer.findings]


def told(texts, **more):
    """Return one long table: what recognizers wrote for eight speakers, two utterances each, and a silent clip."""
    rows = []
    for speaker in range(8):
        for number, said in enumerate(("My code is CN 734.", "Turn the lamp off, please.", "")):
            for name, own in texts.items():
                about = {"utterance": f"{speaker}-{number}", "speaker": f"s{speaker}", "reference": said}
                rows.append(
                    {
                        **about,
                        "recognizer": name,
                        "text": own[number],
                        "latency_ms": 100.0 * len(name),
                        **more,
                    }
                )
    return pl.DataFrame(rows)


WROTE = {
    "ours": ("my code is c n seven three four", "turn the lamp off please", ""),
    "theirs": ("my code is cn 735", "", "thank you"),
}


def test_transcripts_tell_more_than_the_wer_and_silent_clips_count():
    answer = versus(told(WROTE, cost=0.001))
    rows = {row["recognizer"]: row for row in answer.tables["services"].to_dicts()}
    assert (rows["ours"]["wer"], rows["ours"]["serious"], rows["ours"]["empty"]) == (0.0, 0.0, 0.0)
    # 1 wrong digit of 8 words, 5 lost words, 2 words where nobody speaks
    assert rows["theirs"]["wer"] == pytest.approx((1 + 5 + 2) / 13)
    assert rows["theirs"]["serious"] == pytest.approx(1.0)
    assert rows["theirs"]["empty"] == pytest.approx(1 / 3)
    assert (rows["ours"]["p50"], rows["theirs"]["p95"]) == pytest.approx((0.4, 0.6))
    assert rows["ours"]["cost"] == pytest.approx(1.0)
    assert {note.code for note in answer.notes} >= {"silent", "normalizer"}
    assert [figure.id for figure in answer.figures] == ["differences", "waiting", "cost"]
    assert "ours" in answer.figure("waiting").alt


def test_waiting_is_that_of_the_audit_of_waiting_failures_included():
    table = told(WROTE).with_columns(
        latency_ms=pl.int_range(pl.len()) ** 2 % 37 * 10.0 * pl.col("recognizer").str.len_chars(),
        failure=pl.when(pl.int_range(pl.len()) % 9 == 0).then(pl.lit("lost")).otherwise(pl.lit("")),
    )
    ours = versus(table).tables["services"].sort("recognizer").select("recognizer", "p50", "p95")
    theirs = voxaudit.waiting(table).tables["recognizers"].sort("recognizer")
    assert ours.equals(theirs.select("recognizer", "p50", "p95"))


def test_one_table_of_what_was_said_and_one_for_each_recognizer(tmp_path, capsys):
    table = told(WROTE)
    paths = [str(tmp_path / f"{name}.csv") for name in ("said", "ours", "theirs")]
    table.select("utterance", "speaker", "reference").unique(maintain_order=True).write_csv(paths[0])
    for name, path in zip(("ours", "theirs"), paths[1:], strict=True):
        own = table.filter(pl.col("recognizer") == name).select("utterance", "text", "latency_ms")
        pl.concat([own, own[:1].with_columns(utterance=pl.lit("else"))]).write_csv(path)
    together = versus(paths)
    assert [(one.id, one.estimate) for one in together.findings] == [
        (one.id, one.estimate) for one in versus(table).findings
    ]
    assert "2 answers to utterances" in next(note.text for note in together.notes if note.code == "unscored")
    assert main(["versus", *paths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["recognizer"] == "ours"


def test_every_language_is_answered_by_itself_and_shares_the_level():
    english = told(WROTE, language="en-US")
    spanish = told({"ours": ("", "no", ""), "late": ("", "sí", "")}, language="es-MX").with_columns(
        utterance="es" + pl.col("utterance"), speaker="es" + pl.col("speaker")
    )
    answer = versus(pl.concat([english, spanish]), by="language")
    best = answer.finding("versus/en-US/best")
    assert (best.language, best.recognizer) == ("en-US", "ours")
    assert answer.finding("versus/es-MX/best").sentence.startswith("language es-MX: ")
    assert answer.detail["en-US"].alpha == pytest.approx(0.025)
    assert answer.tables["ranking"].select("language", "recognizer").rows()[::2] == [
        ("en-US", "ours"),
        ("es-MX", "ours"),
    ]
    assert set(answer.tables["services"]["language"]) == {"en-US", "es-MX"}


def test_a_p_value_counts_the_questions_of_all_parts():
    english = heard(factors=(1.0, 1.3), seed=1)
    alone = versus(english).finding("versus/ours/theirs/clean/wer_difference")
    both = pl.concat([english.with_columns(language=pl.lit(name)) for name in ("en", "es")])
    shared = versus(both, by="language").finding("versus/en/ours/theirs/clean/wer_difference")
    assert shared.p == alone.p
    assert shared.p_adjusted == min(1.0, 2 * alone.p_adjusted)
    assert (shared.verdict == "shown") == (shared.p_adjusted <= 0.05)
    assert "here and those of 1 more part" in shared.sentence


def test_repeated_answers_say_how_much_a_recognizer_varies_by_itself():
    again = {**WROTE, "ours": ("my code is c n seven three four", "turn the lamp of please", "")}
    answer = versus(pl.concat([told(WROTE), told(again)]))
    assert answer.finding("versus/ours/clean/wer").estimate == 0.0  # the first answer counts
    rows = {row["recognizer"]: row for row in answer.tables["services"].to_dicts()}
    assert rows["theirs"]["repeats"] == 2
    assert (rows["theirs"]["repeat_sd"], rows["theirs"]["changed"]) == (0.0, 0.0)
    assert rows["ours"]["repeat_sd"] == pytest.approx((1 / 13) / 2**0.5)
    assert rows["ours"]["changed"] == pytest.approx(1 / 3)
    assert rows["theirs"]["speakers_se"] is not None


def test_filters_and_attributes_that_cannot_be_compared():
    table = heard().with_columns(same=pl.lit("x"))
    answer = voxaudit.versus(table, scenario="clean", where=["gender=f"], attributes=["same", "gender"])
    assert (
        answer.detail.trials
        == table.filter(
            (pl.col("scenario") == "clean") & (pl.col("gender") == "f") & (pl.col("recognizer") == "ours")
        ).height
    )
    assert {one.about for one in answer.refusals} == {"same", "gender"}
    three = heard(factors=(1.0, 1.5, 2.0))
    assert list(versus(three, recognizer=["ours", "third"]).detail.ranks) == ["ours", "third"]


def test_too_few_speakers_are_refused_and_recognizers_too():
    answer = versus(heard(speakers=5))
    assert {one.verdict for one in answer.detail.slices} == {"refused"}
    best = answer.finding(BEST)
    assert (best.verdict, best.code, best.estimate) == ("refused", "too_few_speakers", None)
    assert answer.refusals[0].facts["needed"] == 6
    with pytest.raises(RefusedError, match="only ours was scored") as caught:
        versus(heard(factors=(1.0,)))
    assert caught.value.refusal.code == "too_few_recognizers"
    nobody = heard().with_columns(speaker=pl.lit(None, dtype=pl.String))
    with pytest.raises(RefusedError, match="speakers are the sample"):
        versus(nobody)


@pytest.mark.parametrize(
    ("spoil", "names", "message"),
    [
        (lambda t: t, ("ours", "thiers"), "no recognizer 'thiers'. Did you mean: theirs"),
        (lambda t: t, ("ours",), "name two different recognizers"),
        (lambda t: t, ("ours", "ours"), "name two different recognizers"),
        (lambda t: pl.concat([t, t]), (), "twice"),
        (lambda t: t.drop("speaker"), (), "no column 'speaker'"),
        (
            lambda t: t.with_columns(words=pl.col("words") + (pl.col("recognizer") == "ours").cast(pl.Int64)),
            (),
            "other reference words",
        ),
    ],
)
def test_mistakes_are_one_line(spoil, names, message):
    with pytest.raises(VoxauditError, match=message) as caught:
        versus(spoil(heard(speakers=8)), *names)
    assert "\n" not in str(caught.value)
    assert "--" not in str(caught.value)


def test_the_command_prints_what_python_answers(tmp_path, capsys):
    table = heard(factors=(1.0, 1.6, 1.7))
    path = str(tmp_path / "scores.parquet")
    table.write_parquet(path)
    assert main(["versus", path, "theirs", "ours", "--attributes", "gender", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    expected = versus(path, "theirs", "ours", attributes=("gender",))
    assert [one["sentence"] for one in document["findings"]] == [one.sentence for one in expected.findings]
    assert (
        document["findings"][0]["command"] == "voxaudit versus scores.parquet theirs ours --attributes gender"
    )
    assert main(["versus", path]) == 0
    out = capsys.readouterr().out
    assert "Ranks by word error rate" in out
    assert "makes the fewest errors of 3 recognizers" in out
    assert "third" in out
    assert main(["versus", path, "theirs"]) == 2


def test_a_report_asks_where_there_are_two_recognizers():
    assert list(questions(Scores.of(heard()), ["gender"])) == [{"attributes": ("gender",)}]
    assert list(questions(Scores.of(heard()), [])) == [{}]
    assert list(questions(Scores.of(heard(factors=(1.0,))), ["gender"])) == []


@pytest.mark.slow
def test_a_difference_that_is_not_there_is_rarely_shown_and_one_that_is_often():
    """Two recognizers alike: at most 5 % of audits claim anything, groups and all; one that errs more is found."""
    null = [heard(seed=seed, factors=(1.0, 1.0), speakers=14, scenarios=SCENARIOS[:2]) for seed in range(60)]
    claims = [
        any(one.verdict == "shown" for one in versus(table, attributes=["gender"], seed=seed).detail.slices)
        for seed, table in enumerate(null)
    ]
    assert sum(claims) <= 9  # the 99.9 % limit of 60 fair draws at 5 %
    found = [
        versus(heard(seed=seed, factors=(1.0, 1.6), speakers=14, scenarios=SCENARIOS[:2]), seed=seed)
        for seed in range(12)
    ]
    assert sum(one.finding(BEST).recognizer == "ours" for one in found) >= 9
