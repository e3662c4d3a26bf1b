"""The robustness audit as a command and as an answer: sources, findings, tables and figures."""

import json

import numpy as np
import polars as pl
import pytest
import soundfile
from scipy.stats import t as student
from whole_corpus import whole

import voxaudit
from voxaudit.answer import Bars, HeatMap
from voxaudit.audits.scores import Scores
from voxaudit.cli.main import main

SCENARIOS = (
    *(("clean", 5), ("gaussian_noise:1", 10), ("gaussian_noise:2", 20), ("gaussian_noise:3", 40)),
    *(("echo:1", 15), ("echo:2", 15), ("pgd:1", 60)),
)


def run(*arguments):
    return main(["robustness", *(str(argument) for argument in arguments)])


def asked(capsys, *arguments):
    """Return the JSON document that the command prints, its tables by id."""
    assert run(*arguments, "--json", "--resamples", 200) == 0
    document = json.loads(capsys.readouterr().out)
    return document, {
        one["id"]: [dict(zip(one["names"], row, strict=True)) for row in one["rows"]]
        for one in document["tables"]
    }


def table(seed=0, recognizers=("a", "b")):
    rows = []
    for place, recognizer in enumerate(recognizers):
        for scenario, errors in SCENARIOS:
            for i in range(8):
                more = (i * 7 + place * 3 + seed * (scenario != "clean") * (i + 1)) % 5
                rows.append(
                    (recognizer, scenario, f"s{i}", f"u{i}", errors + more + 3 * place, 100, "fm"[i % 2])
                )
    names = ["recognizer", "scenario", "speaker", "utterance", "errors", "words", "gender"]
    return pl.DataFrame(rows, schema=names, orient="row")


def groups(people=12):
    """Speakers of the north lose twice as many words under noise as those of the south."""
    rows = [
        (
            "r",
            scenario,
            f"s{i}",
            f"u{i}",
            errors * (2 if i % 2 and errors > 6 else 1) + i % 3,
            200,
            "ns"[i % 2],
        )
        for scenario, errors in (("clean", 6), ("gaussian_noise:1", 12), ("gaussian_noise:2", 24))
        for i in range(people)
    ]
    names = ["recognizer", "scenario", "speaker", "utterance", "errors", "words", "accent"]
    return pl.DataFrame(rows, schema=names, orient="row")


def make_run(folder, scores, *, seed=0, **config):
    folder.mkdir(exist_ok=True)
    about = {"corpus": {"utterances": scores["utterance"].n_unique()}, "recognizers": {}, "scenarios": []}
    (folder / "run.json").write_text(json.dumps({"format": 1, "seed": seed, **about, **config}))
    scores.write_parquet(folder / "scores.parquet")
    scores.select("utterance", "scenario", "recognizer").write_parquet(folder / "transcripts.parquet")
    ids = scores["utterance"].unique(maintain_order=True)
    whole(pl.DataFrame({"id": ids, "speaker": ids})).write_parquet(folder / "corpus.parquet")
    return folder


@pytest.fixture
def scores(tmp_path):
    table().write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_terminal_output(scores, tmp_path, capsys):
    hard = tmp_path / "hard.csv"
    pl.DataFrame(
        {"scenario": ["gaussian_noise:1", "gaussian_noise:2"], "difficulty": [50.0, 70.0]}
    ).write_csv(hard)
    assert run(scores, "--difficulty", hard, "--resamples", 200) == 0
    out = capsys.readouterr().out
    for text in (
        "Ranking: the errors that disturbances add, weighed by their difficulty",
        "all attacks",
        "white noise",
        "Worst scenarios",
        "White Gaussian noise at 10 dB",
        "Disturbed speech adds",
        "Not answered: NWERD of echo:1, echo:2, gaussian_noise:3: no difficulty is known. To get it: ",
        f"note: difficulties: {hard} (see --difficulty)",
    ):
        assert text in out


def test_published_difficulties_are_taken_where_nothing_was_measured(scores, tmp_path, capsys):
    document, tables = asked(capsys, scores)
    assert any(note["text"].startswith("difficulties: published") for note in document["notes"])
    row = next(
        row
        for row in tables["scenarios"]
        if (row["recognizer"], row["scenario"]) == ("a", "gaussian_noise:1")
    )
    assert row["difficulty"] == 53.2  # Table 3
    assert row["nwerd"] == pytest.approx(100 * row["werd"] / 53.2)
    table().with_columns(pl.col("scenario").str.replace("gaussian_noise|echo", "mine")).filter(
        pl.struct("recognizer", "scenario", "utterance").is_first_distinct()
    ).write_csv(tmp_path / "own.csv")
    document, tables = asked(capsys, tmp_path / "own.csv")
    assert not any(note["code"] == "difficulty" for note in document["notes"])
    assert {row["measure"] for row in tables["ranking"]} == {"werd"}


def test_measured_difficulties_of_a_run_come_first(tmp_path):
    folder = make_run(tmp_path / "run", table())
    names = ["clean", "gaussian_noise:1", "gaussian_noise:2", "gaussian_noise:3", "echo:1", "echo:2"]
    rows = [
        (f"u{i}", f"s{i}", name, 4.0 - 0.4 * n + 0.01 * i) for n, name in enumerate(names) for i in range(8)
    ]
    quality = pl.DataFrame(rows, schema=["utterance", "speaker", "scenario", "dnsmos"], orient="row")
    quality.write_parquet(folder / "quality.parquet")
    answer = voxaudit.robustness(folder, resamples=200)
    assert answer.detail.difficulty_source == "measured in this run"
    # Equal steps around mean 50 with standard deviation 25: half a step is 25 / sqrt(35 / 3).
    assert answer.detail.difficulty[""]["gaussian_noise:2"] == pytest.approx(50 - 25 / (35 / 3) ** 0.5)
    assert answer.detail.measure == "nwerd"
    assert str(tmp_path) not in str(answer)


def test_measured_difficulties_are_the_mean_over_all_runs(tmp_path):
    folders, names = (
        [],
        ["clean", "gaussian_noise:1", "gaussian_noise:2", "gaussian_noise:3", "echo:1", "echo:2"],
    )
    for seed, order in ((1, names), (2, names[::-1])):
        folders.append(make_run(tmp_path / f"run{seed}", table(seed), seed=seed))
        rows = [
            (f"u{i}", f"s{i}", name, 4.0 - 0.4 * n + 0.01 * i)
            for n, name in enumerate(order)
            for i in range(8)
        ]
        quality = pl.DataFrame(rows, schema=["utterance", "speaker", "scenario", "dnsmos"], orient="row")
        quality.write_parquet(folders[-1] / "quality.parquet")
    found = voxaudit.robustness(folders, resamples=200).detail
    assert found.difficulty_source == "measured in these runs, the mean over them"
    # What is easiest in one run is hardest in the other.
    assert list(found.difficulty[""].values()) == pytest.approx([50.0] * len(names))


@pytest.mark.slow
def test_the_uncertainty_of_measured_difficulties_is_in_the_interval(tmp_path):
    """Speakers whose audio is harmed unequally: a difficulty known from eight of them is not known well."""
    generator = np.random.default_rng(4)
    names = ["clean", "gaussian_noise:1", "gaussian_noise:2", "gaussian_noise:3", "echo:1", "echo:2"]
    limits = {}
    for spread in (0.0, 0.6):
        folder = make_run(tmp_path / f"run{spread}", table())
        rows = [
            (f"u{i}", f"s{i}", name, 4.0 - 0.4 * n + spread * generator.standard_normal())
            for n, name in enumerate(names)
            for i in range(8)
        ]
        schema = ["utterance", "speaker", "scenario", "dnsmos"]
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "quality.parquet")
        found = voxaudit.robustness(folder).tables["scenarios"].filter(scenario="echo:2", recognizer="a")
        row = found.row(0, named=True)
        limits[spread] = (row["nwerd_high"] - row["nwerd_low"]) / row["nwerd"]
        relative = (row["werd_high"] - row["werd_low"]) / row["werd"]
        # The same difficulty for everybody divides the interval of WERD, and nothing else happens to it.
        assert (limits[spread] == pytest.approx(relative)) is (spread == 0.0)
    assert limits[0.6] > 1.05 * limits[0.0]


def test_difficulties_are_measured_again_in_every_draw():
    from voxaudit.score.quality.difficulty import difficulties, difficulties_drawn

    generator = np.random.default_rng(5)
    rows = [
        (
            f"u{i}",
            f"s{i % 6}",
            name,
            float(generator.uniform(1, 4)),
            None if name == "a" else float(generator.uniform(1, 4)),
        )
        for name in "abcd"
        for i in range(12)
    ]
    quality = pl.DataFrame(rows, schema=["utterance", "speaker", "scenario", "dnsmos", "pesq"], orient="row")
    weights = np.array([[1.0] * 6, [2.0, 0, 1, 1, 1, 1], [0.0] * 6])
    number = {f"s{i}": i for i in range(6)}
    drawn = difficulties_drawn(quality, "speaker", number, lambda values: weights @ values)
    twice = pl.concat([quality.filter(pl.col("speaker") != "s1"), quality.filter(speaker="s0")])
    for row, same in enumerate((quality, twice)):
        expected = dict(difficulties(same, resamples=10).select("scenario", "difficulty").iter_rows())
        assert {name: values[row] for name, values in drawn.items()} == pytest.approx(expected)
    assert all(np.isnan(values[2]) for values in drawn.values())


def test_json_is_one_document(scores, capsys):
    document, tables = asked(capsys, scores, "--difficulty", "none", "--attributes", "gender")
    assert document["audit"] == "robustness"
    assert document["question"]["attributes"] == ["gender"]
    assert {row["measure"] for row in tables["ranking"]} == {"werd"}
    assert {"ranking", "categories", "worst", "scenarios", "perturbations", "curves", "trends"} <= set(tables)
    # Four speakers of each gender are not enough, and that is said.
    assert "groups" not in tables
    refusal = document["refusals"][0]
    assert (refusal["code"], refusal["about"]) == ("too_few_speakers", "gender f")
    assert refusal["text"] == "'f' has 4 speakers; at least 5 are needed"
    assert refusal["remedy"]
    assert all(
        one["command"]
        == "voxaudit robustness scores.csv --attributes gender --difficulty none --resamples 200"
        for one in document["findings"]
    )


def test_several_tables_are_draws_or_other_recognizers(tmp_path, capsys):
    for seed in (0, 1, 2):
        table(seed).write_parquet(tmp_path / f"{seed}.parquet")
    table(0, ("c",)).write_parquet(tmp_path / "c.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in (0, 1, 2, "c")]
    _, tables = asked(capsys, *paths, "--difficulty", "none")
    assert {row["recognizer"] for row in tables["ranking"]} == {"a", "b", "c"}
    spread = {(row["recognizer"], row["name"]): row for row in tables["stability"]}
    assert spread["a", "gaussian_noise:1"]["draws"] == 3
    assert spread["a", "gaussian_noise:1"]["draw_sd"] > 0
    assert not any(recognizer == "c" for recognizer, _ in spread)


def test_runs_of_other_seeds(tmp_path, capsys):
    for seed in (3, 4):
        make_run(tmp_path / f"run{seed}", table(seed), seed=seed)
    make_run(tmp_path / "again", table(3), seed=3)
    assert run(tmp_path / "run3", tmp_path / "run4", "--difficulty", "none", "--resamples", 200) == 0
    assert "Stability" in capsys.readouterr().out
    for arguments, message in (
        ((tmp_path / "run3", tmp_path / "again", "--difficulty", "none"), "tell random draws apart"),
        ((tmp_path / "run3", tmp_path / "run3"), "given twice"),
        ((tmp_path / "run3", "--difficulty", "measured"), "no quality.parquet"),
    ):
        assert run(*arguments) == 2
        assert message in capsys.readouterr().err


def silent_run(folder, corpus):
    heard = table(recognizers=("a",)).filter(pl.col("scenario") == "clean")
    silent = heard.with_columns(
        scenario=pl.lit("silence"), words=pl.lit(0, pl.Int64), errors=pl.lit(1, pl.Int64)
    )
    make_run(folder, pl.concat([heard, silent]))
    whole(corpus).write_parquet(folder / "corpus.parquet")


def test_durations_of_silence_come_from_the_runs_corpus(tmp_path, capsys):
    ids = [f"u{i}" for i in range(8)]
    silent_run(tmp_path, pl.DataFrame({"id": ids, "duration": [15.0] * 8}))
    document, tables = asked(capsys, tmp_path, "--difficulty", "none")
    (row,) = tables["silence"]
    assert (row["scenario"], row["minutes"], row["words_per_minute"]) == ("silence", 2.0, 4.0)
    (finding,) = (one for one in document["findings"] if one["measure"] == "words_per_minute")
    assert finding["sentence"].startswith("a hears 4.0 ")
    assert finding["sentence"].endswith("words per minute under silence, where nobody speaks.")
    assert finding["headline"]


def test_rows_of_a_run_are_chosen_by_the_length_of_their_utterances(tmp_path):
    folder = make_run(tmp_path / "run", table())
    ids = pl.read_parquet(folder / "scores.parquet")["utterance"].unique().sort()
    lengths = [float(place) for place in range(len(ids))]
    whole(pl.DataFrame({"id": ids, "duration": lengths})).write_parquet(folder / "corpus.parquet")
    kept = Scores.of(folder, where=["duration>=2"]).frame
    assert set(kept["utterance"]) == set(ids[2:])


def test_durations_that_nobody_wrote_down_are_the_recordings(tmp_path, capsys):
    soundfile.write(tmp_path / "a.wav", np.zeros(4000), 1000)
    rows = [
        {"id": f"u{i}", "audio": str(tmp_path / "a.wav"), "start": 1.0 if i else None, "duration": None}
        for i in range(8)
    ]
    kinds = {"id": pl.String, "audio": pl.String, "start": pl.Float64, "duration": pl.Float64}
    silent_run(tmp_path, pl.DataFrame(rows, schema=kinds))
    (row,) = asked(capsys, tmp_path, "--difficulty", "none")[1]["silence"]
    assert row["minutes"] == pytest.approx((4.0 + 7 * 3.0) / 60)


def test_model_facts_are_read(scores, tmp_path, capsys):
    facts = tmp_path / "facts.csv"
    facts.write_text("recognizer,parameters\na,100\nb,20\n")
    document, tables = asked(capsys, scores, "--difficulty", "none", "--facts", facts)
    front = {row["recognizer"] for row in tables["pareto"] if row["fact"] == "parameters" and row["optimal"]}
    overall = {row["recognizer"]: row["werd"] for row in tables["ranking"] if row["name"] == "all"}
    assert front == ({"a", "b"} if overall["a"] < overall["b"] else {"b"})
    refusal = next(one for one in document["refusals"] if one["about"] == "correlate parameters")
    assert refusal["text"] == "2 recognizers with this fact; at least 6 are needed"


def test_facts_that_go_with_robustness_are_said():
    rows = [
        (f"r{n}", scenario, f"s{i}", f"u{i}", errors + (5 * n if scenario != "clean" else 0) + i % 2, 100)
        for n in range(6)
        for scenario, errors in (("clean", 10), ("echo:1", 20))
        for i in range(6)
    ]
    names = ["recognizer", "scenario", "speaker", "utterance", "errors", "words"]
    facts = {"recognizer": [f"r{n}" for n in range(6)], "parameters": [10.0 ** (6 - n) for n in range(6)]}
    answer = voxaudit.robustness(
        pl.DataFrame(rows, schema=names, orient="row"), facts=facts, difficulty="none"
    )
    finding = answer.finding("robustness/parameters/slope")
    assert finding.estimate == pytest.approx(-0.05)
    assert (finding.verdict, finding.family) == ("shown", "facts about recognizers")
    assert finding.sentence.startswith(
        "More parameters goes with lower WERD over 6 recognizers: -5.0 percentage"
    )


def test_curves_are_drawn(scores, tmp_path, capsys):
    once, twice = tmp_path / "one.svg", tmp_path / "two.svg"
    for path in (once, twice):
        assert run(scores, "--difficulty", "none", "--plot", f"curves={path}", "--resamples", 200) == 0
    assert "gaussian_noise" in once.read_text()
    assert once.read_bytes() == twice.read_bytes()
    capsys.readouterr()
    assert run(scores, "--plot", tmp_path / "curves.docx") == 2
    assert "written as" in capsys.readouterr().err
    assert run(scores, "--plot", f"curve={tmp_path / 'curves.svg'}") == 2
    assert (
        "no figure 'curve'; there are: categories, heat-map-a, heat-map-b, curves" in capsys.readouterr().err
    )


def test_a_missing_file_is_one_line(tmp_path, capsys):
    assert run(tmp_path / "nothing.csv") == 2
    assert "no such file" in capsys.readouterr().err


def test_the_ranking_shows_what_it_ranks(tmp_path, capsys):
    """A recognizer that heard a harsh scenario alone is not shown with it beside others that did not."""
    part = table().filter(
        (pl.col("recognizer") == "a") | (pl.col("scenario").is_in(["clean", "gaussian_noise:1"]))
    )
    part.write_csv(tmp_path / "part.csv")
    ranking = asked(capsys, tmp_path / "part.csv", "--difficulty", "published")[1]["ranking"]
    assert [row["scenarios"] for row in ranking] == [1, 1]
    assert run(tmp_path / "part.csv", "--difficulty", "published", "--resamples", 200) == 0
    out = capsys.readouterr().out
    shown = out[: out.index("What each category")]
    for row in ranking:
        assert row["wer"] - row["clean_wer"] == pytest.approx(row["werd"])
        assert row["nwerd"] == row["estimate"]
        assert f"{100 * row['wer']:.1f} %" in shown
        for name in ("werd", "nwerd"):
            assert f"{100 * row[name]:+.1f} (" in shown


def test_a_table_given_twice_is_no_second_draw(scores, capsys):
    assert run(scores, scores) == 2
    assert "given twice" in capsys.readouterr().err


def test_a_run_says_where_its_noise_came_from_and_what_it_did_not_hear(tmp_path, capsys):
    about = {"music": {"description": "folder tunes: 3 clips", "fingerprint": "x", "folder": "tunes"}}
    make_run(tmp_path, table(), sources=about, not_heard={"accented": "a corpus in that role"})
    document, _ = asked(capsys, tmp_path, "--difficulty", "none")
    notes = {note["code"]: note for note in document["notes"]}
    assert notes["sound_source"]["facts"] == {"perturbation": "music", "source": "folder tunes: 3 clips"}
    assert notes["not_heard"]["text"] == "not heard: accented; run.json says what each needs"


def test_clean_speech_is_kept_whatever_scenario_is_asked_about(scores):
    whole = voxaudit.robustness(scores, difficulty="none")
    some = voxaudit.robustness(scores, scenario="echo:1", difficulty="none")
    assert some.tables["scenarios"]["scenario"].unique(maintain_order=True).to_list() == ["clean", "echo:1"]
    by_scenario = pl.col("scenario") == "echo:1"
    assert some.tables["scenarios"].filter(by_scenario).equals(whole.tables["scenarios"].filter(by_scenario))


def test_recognizers_that_cannot_be_told_apart_are_named_with_their_difference():
    alike = table().with_columns(
        errors=pl.col("errors") - pl.when(pl.col("recognizer") == "b").then(3).otherwise(0)
    )
    finding = voxaudit.robustness(alike, difficulty="none").finding("robustness/ranking/werd")
    assert finding.verdict == "not_shown"
    assert "a and b cannot be told apart under disturbance: they differ by" in finding.sentence
    assert finding.low <= 0.0 <= finding.high
    assert finding.excludes in (finding.low, finding.high)
    assert abs(finding.excludes) == max(abs(finding.low), abs(finding.high))
    worse = table().with_columns(
        errors=pl.col("errors")
        + pl.when((pl.col("recognizer") == "b") & (pl.col("scenario") != "clean")).then(20).otherwise(0)
    )
    answer = voxaudit.robustness(worse, difficulty="none")
    finding = answer.finding("robustness/ranking/werd")
    assert (finding.verdict, finding.recognizer, finding.against) == ("shown", "a", "b")
    assert finding.sentence.startswith(
        "a bears disturbed speech better than b: it loses 20.0 percentage points of WERD ("
    )
    (row,) = answer.tables["comparisons"].filter(name="all").to_dicts()
    assert (finding.estimate, finding.low, finding.high) == (-row["estimate"], -row["high"], -row["low"])


def test_a_recognizer_that_hears_little_is_not_praised_for_losing_little():
    deaf = (pl.col("recognizer") == "a") & (pl.col("errors") < pl.col("words"))
    hopeless = table().with_columns(errors=pl.when(deaf).then(pl.col("words")).otherwise(pl.col("errors")))
    finding = voxaudit.robustness(hopeless, difficulty="none").finding("robustness/ranking/werd")
    assert finding.sentence.endswith(
        "a has little left to lose: on clean speech it gets 100.0 % of the words wrong already."
    )
    assert (
        "left to lose"
        not in voxaudit.robustness(table(), difficulty="none").finding("robustness/ranking/werd").sentence
    )


def test_the_worst_category_has_a_lower_limit_that_holds_for_all_categories():
    answer = voxaudit.robustness(table(), resamples=400)
    categories = answer.tables["categories"].filter(recognizer="a", level="category").drop_nulls("nwerd")
    assert categories.height == 2
    finding = answer.finding("robustness/a/worst_category_nwerd")
    assert finding.estimate == categories["nwerd"].max()
    assert finding.high == categories["nwerd_high"].max()
    farther = student.ppf(1 - 0.025 / 2, 7) / student.ppf(0.975, 7)
    lows = [r["nwerd"] - farther * (r["nwerd"] - r["nwerd_low"]) for r in categories.iter_rows(named=True)]
    assert finding.low == pytest.approx(max(lows))
    assert f"at least {100 * finding.low:.1f} with 2 categories taken together." in finding.sentence
    (one,) = (
        f
        for f in voxaudit.robustness(table(), scenario="echo:1").findings
        if f.id.startswith("robustness/a/worst")
    )
    alone = voxaudit.robustness(table(), scenario="echo:1").tables["categories"].row(0, named=True)
    assert (one.low, one.high) == (alone["nwerd_low"], alone["nwerd_high"])


def test_a_category_without_an_upper_limit_leaves_the_worst_without_one():
    few = table().filter((pl.col("scenario") != "echo:1") | pl.col("speaker").is_in(["s0", "s1"]))
    few = few.filter(pl.col("scenario") != "echo:2")
    finding = voxaudit.robustness(few).finding("robustness/a/worst_category_nwerd")
    assert finding.high is None
    assert finding.low is not None


def test_groups_under_disturbance_are_ratios_with_their_family():
    answer = voxaudit.robustness(groups(), attributes=["accent"])
    finding = answer.finding("robustness/r/overall/accent/n/wer_ratio")
    row = answer.tables["groups"].filter(over="all disturbances").row(0, named=True)
    assert (finding.estimate, finding.low, finding.high) == (row["wer_ratio"], row["low"], row["high"])
    assert finding.estimate == pytest.approx(2 ** row["lwerr"])
    assert (finding.p, finding.p_adjusted) == (row["p"], row["p_adjusted"])
    assert finding.verdict == "shown"
    assert finding.headline
    assert finding.family == "5 comparisons of groups under disturbance"
    fewer = f"{100 * (1 - finding.estimate):.0f} % fewer errors ({finding.estimate:.2f} times as many"
    assert finding.sentence == (
        f"Over all disturbances, r makes {fewer}, {finding.low:.2f} to {finding.high:.2f}) for n speakers (accent)"
        " than for s speakers (9.5 % against 18.5 % of the words)."
    )
    alike = voxaudit.robustness(
        groups().with_columns(accent=pl.col("speaker").str.slice(1).cast(pl.Int64) < 6), attributes=["accent"]
    )
    finding = alike.finding("robustness/r/overall/accent/false/wer_ratio")
    assert finding.verdict == "not_shown"
    assert "no gap between false and true speakers (accent) is shown for r" in finding.sentence
    assert finding.excludes in (finding.low, finding.high)
    farthest = max(finding.high, 1 / finding.low)
    assert finding.sentence.endswith(f"; a gap of up to {farthest:.2f} times is not excluded.")


def test_whether_disturbance_widens_the_gap_is_a_finding_of_its_own():
    answer = voxaudit.robustness(groups(), attributes=["accent"])
    finding = answer.finding("robustness/r/overall/accent/n/wer_ratio_change")
    row = answer.tables["groups"].filter(over="all disturbances").row(0, named=True)
    ends = (row["ratio_change"], row["change_low"], row["change_high"])
    assert (finding.estimate, finding.low, finding.high) == ends
    assert (finding.p, finding.p_adjusted) == (row["change_p"], row["change_p_adjusted"])
    assert (finding.verdict, finding.excludes) == ("shown", None)
    assert finding.family == "4 changes of gaps under disturbance"
    assert finding.sentence == (
        "Under disturbance the gap between n and s speakers (accent) is wider in proportion, compared with"
        f" clean speech, for r: 0.51 instead of 1.00 times as many errors for n speakers,"
        f" 0.51 ({finding.low:.2f} to {finding.high:.2f}) times that (n from 3.5 % to 9.5 % of the"
        " words, s from 3.5 % to 18.5 %)."
    )
    # Who has few errors on clean speech may have them multiplied by more: that is no gap against them.
    fewer = groups().with_columns(
        errors=pl.when((pl.col("accent") == "s") & (pl.col("scenario") == "clean"))
        .then(pl.col("errors") * 10)
        .otherwise("errors")
    )
    finding = voxaudit.robustness(fewer, attributes=["accent"]).finding(finding.id)
    assert (finding.verdict, finding.estimate > 1.0) == ("shown", True)
    assert finding.sentence.startswith(
        "Under disturbance the gap between n and s speakers (accent) is narrower in proportion"
    )
    alike = voxaudit.robustness(
        groups().with_columns(accent=pl.col("speaker").str.slice(1).cast(pl.Int64) < 6), attributes=["accent"]
    )
    finding = alike.finding("robustness/r/overall/accent/false/wer_ratio_change")
    assert (finding.verdict, finding.excludes) == ("not_shown", max(finding.low, finding.high))
    assert (
        "Disturbance is not shown to change the gap between false and true speakers (accent) for r"
        in finding.sentence
    )
    assert f"; up to {finding.excludes:.2f} times is not excluded." in finding.sentence


def test_an_attribute_that_cannot_be_compared_costs_only_itself():
    answer = voxaudit.robustness(
        groups().with_columns(one=pl.lit("x"), many=pl.col("utterance") + pl.col("scenario")),
        attributes=["one", "many", "accent"],
    )
    codes = {refusal.about: refusal.code for refusal in answer.refusals}
    assert codes["one"] == "one_group"
    assert codes["many"] == "too_many_groups"
    assert "groups" in answer.tables


def test_trends_are_summed_up(scores):
    answer = voxaudit.robustness(scores, difficulty="none")
    finding = answer.finding("robustness/a/growing")
    assert finding.estimate == 1.0
    assert finding.sentence == (
        "The word error rate of a grows with severity for 1 of 2 perturbations; no trend is shown for echo."
    )


def test_languages_set_apart_have_findings_of_their_own():
    both = pl.concat(
        table().with_columns(language=pl.lit(name), errors=pl.col("errors") + place)
        for place, name in enumerate(("en", "es"))
    )
    answer = voxaudit.robustness(both, by=["language"], difficulty="none")
    for language in ("en", "es"):
        finding = answer.finding(f"robustness/a/{language}/overall/werd")
        assert finding.language == language
        assert f"the word error rate of a ({language})" in finding.sentence
        assert answer.finding(f"robustness/{language}/ranking/werd").language == language


def test_a_heat_map_places_scenarios_by_severity():
    mixed = table().filter(pl.col("scenario") != "pgd:1")
    phone = mixed.filter(pl.col("scenario") == "echo:1").with_columns(scenario=pl.lit("telephone"))
    answer = voxaudit.robustness(pl.concat([mixed.filter(pl.col("scenario") != "echo:1"), phone]))
    drawing = answer.figure("heat-map-a").drawing
    assert isinstance(drawing, HeatMap)
    assert drawing.columns == ("1", "2", "3", "one setting")
    assert set(drawing.rows) == {"gaussian_noise", "echo", "telephone"}
    noise = drawing.cells["wer"][drawing.rows.index("gaussian_noise")]
    assert noise[0].value < noise[1].value < noise[2].value
    assert noise[3] is None
    assert "nwerd" in drawing.measures  # published difficulties
    assert drawing.cells["nwerd"][drawing.rows.index("telephone")] == (None,) * 4


def test_curves_have_a_line_for_each_recognizer_and_each_group():
    answer = voxaudit.robustness(groups(), attributes=["accent"])
    ((title, ticks, series),) = answer.figure("curves-accent-r").drawing.panels
    assert (title, ticks) == ("gaussian_noise", ("clean", "1", "2"))
    lines = {one.label: one for one in series}
    assert set(lines) == {"n", "s"}
    assert lines["s"].points[2].value > lines["n"].points[2].value
    rates = {(r["group"], r["scenario"]): r for r in answer.tables["group_rates"].iter_rows(named=True)}
    assert lines["s"].points[2].low == rates["s", "gaussian_noise:2"]["low"]
    assert {one.label for one in voxaudit.robustness(table()).figure("curves").drawing.panels[0][2]} == {
        "a",
        "b",
    }


def test_recognizers_that_share_no_curve_have_none():
    apart = table().filter(
        (pl.col("scenario") == "clean")
        | ((pl.col("scenario") == "echo:1") & (pl.col("recognizer") == "a"))
        | ((pl.col("scenario") == "echo:2") & (pl.col("recognizer") == "b"))
    )
    answer = voxaudit.robustness(apart, attributes=["gender"])
    assert not [figure.id for figure in answer.figures if figure.id.startswith("curves")]
    assert {refusal.code for refusal in answer.refusals} >= {"not_heard_alike"}


def test_settings_without_severities_are_curves_over_their_values():
    rates = {"clean": 5, "clipping:theta=0.05": 10, "clipping:theta=0.01": 30}
    rows = [
        ("r", name, f"s{i}", f"u{i}", errors + i % 2, 100) for name, errors in rates.items() for i in range(6)
    ]
    names = ["recognizer", "scenario", "speaker", "utterance", "errors", "words"]
    answer = voxaudit.robustness(pl.DataFrame(rows, schema=names, orient="row"))
    ((title, ticks, _),) = answer.figure("curves").drawing.panels
    assert title.startswith("clipping, ")
    assert ticks == ("clean", "0.05", "0.01")


def test_scenarios_with_one_setting_each_are_bars_not_an_empty_map():
    some = table().filter(pl.col("scenario").is_in(["clean", "gaussian_noise:2", "echo:1"]))
    answer = voxaudit.robustness(some)
    assert not any(isinstance(one.drawing, HeatMap) for one in answer.figures)
    bars = answer.figure("scenarios").drawing
    assert isinstance(bars, Bars)
    assert bars.labels[0] == "clean"
    assert {one.label for one in bars.series} == {"a", "b"}
    assert all(cell is not None for one in bars.series for cell in one.points)
