"""`voxaudit parity` as a user runs it: one answer, on the terminal, as JSON and in Python."""

import json
import re

import numpy as np
import polars as pl
import pytest

from voxaudit import audio
from voxaudit.audits.parity import AUDIT
from voxaudit.audits.parity.audit import parity
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.stats.speaker_means import MEAN


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    generator = np.random.default_rng(2)
    rows = [
        {
            "utterance": f"u{speaker}-{number}",
            "speaker": f"s{speaker}",
            "scenario": "clean",
            "recognizer": recognizer,
            "substitutions": int(generator.poisson(2 + 2 * (speaker % 2))),
            "deletions": 0,
            "insertions": 0,
            "words": 20,
            "gender": "fm"[speaker % 2],
            "age": 20 + speaker,
        }
        for speaker in range(40)
        for number in range(3)
        for recognizer in ("x", "y")
    ]
    path = tmp_path_factory.mktemp("parity") / "scores.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def answer(scores):
    return parity(scores, attributes=["gender", "age"])


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def tables_of(document):
    """Return the rows of every table of a JSON document, as records."""
    return {
        table["id"]: [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
        for table in document["tables"]
    }


def test_json(capsys, scores):
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age", "--json")
    assert code == 0
    document = json.loads(out)
    tables = tables_of(document)
    wanted = {
        "attribute",
        "group",
        "speakers",
        "utterances",
        "words",
        "wer",
        "wer_pooled",
        "wer_utterance_mean",
    }
    assert wanted | {"err_rel", "enough_speakers", "speakers_needed"} <= set(tables["groups"][0])
    tested = {"estimate", "low", "high", "p", "p_adjusted", "family", "verdict", "group", "against", "ratio"}
    assert tested | {"speakers", "speakers_against", "wer", "wer_against"} <= set(tables["pairs"][0])
    assert tested | {"gap", "choice_matters", "fixed_estimate", "fixed_verdict"} <= set(tables["gaps"][0])
    assert tested | {"held"} <= set(tables["conditional"][0])
    assert {"practice", "status", "why", "recognizer"} == set(tables["checklist"][0])
    assert len({check["practice"] for check in tables["checklist"]}) == 10
    # What differs between recognizers is said of each of them, never of their mean.
    assert {check["recognizer"] for check in tables["checklist"]} <= {None, "x", "y"}
    names = ("groups", "gaps", "pairs", "conditional", "intersectional", "regression")
    for name in names:
        assert list(dict.fromkeys(line["recognizer"] for line in tables[name])) == ["x", "y", MEAN], name
    ages = [
        row["group"] for row in tables["groups"] if row["attribute"] == "age" and row["recognizer"] == "x"
    ]
    assert ages == ["18-29", "30-44", "45-64"]
    (men,) = (row for row in tables["groups"] if row["group"] == "m" and row["recognizer"] == MEAN)
    assert men["err_rel"] > 0
    (pair,) = (row for row in tables["gaps"] if row["group"] == "m" and row["recognizer"] == MEAN)
    assert 0 < pair["low"] < pair["estimate"] < pair["high"]
    assert pair["verdict"] == "shown"


def test_findings_are_the_gaps_and_one_sums_them_up(answer):
    first, *others = answer.findings
    kinds = [one.measure for one in others]
    # What holds with all else fixed, then crossed groups, then groups as they are.
    assert kinds == ["wer_gap_fixed"] * 6 + ["crossed_worst", "crossed_best"] * 2 + ["wer_gap"] * 6
    worst = others[6]
    assert "gender=m" in worst.group
    assert worst.headline
    assert worst.speakers >= 5
    assert re.search(
        r"x serves .+ worst \(\d+ speakers\): it gets [\d.]+ % of their words wrong and [\d.]+ % of everybody else's",
        worst.sentence,
    )
    assert others[0].sentence.startswith("With age held fixed, x gets ")
    assert "; as observed it is " in others[0].sentence
    gaps = others[-6:]
    # Each recognizer before their mean.
    assert [finding.recognizer for finding in gaps] == ["x", "x", "y", "y", None, None]
    table = answer.tables["gaps"].to_dicts()
    for finding, row in zip(gaps, table, strict=True):
        for name in (
            "estimate",
            "low",
            "high",
            "p",
            "p_adjusted",
            "verdict",
            "group",
            "against",
            "attribute",
        ):
            assert getattr(finding, name) == row[name]
        assert finding.scenario == "clean"
        assert finding.command == "voxaudit parity scores.parquet --attributes gender,age"
        farthest = max(abs(row["low"]), abs(row["high"]))
        assert finding.excludes == (farthest if row["verdict"] == "not_shown" else None)
    men = gaps[0]
    assert men.id == "parity/x/clean/gender/wer_gap"
    assert (men.verdict, men.family, gaps[-1].family) == ("shown", "pairs", "pairs")
    number = r"[+-]?[\d.]+"
    assert re.fullmatch(
        rf"x gets {number} % of the words of m speakers \(gender\) wrong and {number} % of those of f speakers,"
        rf" averaged over speakers: a gap of {number} percentage points \({number} to {number}\) is shown,"
        rf" p [<=] {number} among 12 comparisons; with age held fixed it is {number}"
        rf" \({number} to {number}\), shown too\.",
        men.sentence,
    )
    assert (first.measure, first.verdict, first.estimate) == ("gaps_shown", "shown", 2)
    assert ". " not in first.sentence
    assert re.fullmatch(
        rf"A gap is shown in 2 of 8 comparisons of two groups, of up to {number} percentage points of the word error"
        r" rate averaged over speakers \(m over f, gender, [xy]\); none is shown for age, and one of up to"
        rf" {number} percentage points is not excluded\.",
        first.sentence,
    )


def skewed(seed, factor, people=20):
    generator = np.random.default_rng(seed)
    rate = 0.15 * np.exp(0.5 * generator.standard_normal(2 * people)) * np.repeat([1.0, factor], people)
    return pl.DataFrame(
        {
            "speaker": [f"s{n}" for n in range(2 * people)],
            "g": ["one"] * people + ["two"] * people,
            "errors": generator.poisson(200 * rate),
            "words": 200,
        }
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("factor", [1.0, 1.4, 2.0])
def test_the_verdict_agrees_with_the_interval(seed, factor):
    (finding,) = parity(skewed(seed, factor), attributes=["g"]).findings
    assert finding.low < finding.estimate < finding.high
    assert (finding.verdict == "shown") == (finding.p <= 0.05) == (finding.low > 0.0)
    if finding.verdict == "not_shown":
        # The sign is open, and is said to be: limits on both sides of 0, none cut off there.
        assert finding.low < 0.0 < finding.high
        largest = max(-finding.low, finding.high)
        assert finding.excludes == largest
        assert f"one of up to {100 * largest:.1f} percentage points is not excluded" in finding.sentence
        assert f"({100 * finding.low:.1f} to {100 * finding.high:.1f})" in finding.sentence


def test_alike_is_for_those_who_say_what_it_is():
    table = skewed(3, 1.0, people=60)
    (plain,) = parity(table, attributes=["g"]).findings
    assert plain.verdict == "not_shown"
    (alike,) = parity(table, attributes=["g"], gap=1.1 * plain.excludes).findings
    assert (alike.verdict, alike.low, alike.high) == ("alike", plain.low, plain.high)
    assert re.search(r"they are alike within the [\d.]+ percentage points asked about", alike.sentence)
    (narrow,) = parity(table, attributes=["g"], gap=0.9 * plain.excludes).findings
    assert narrow.verdict == "not_shown"
    # A gap that is shown is shown, however wide the margin is.
    (shown,) = parity(skewed(3, 2.0, people=60), attributes=["g"], gap=0.9).findings
    assert shown.verdict == "shown"


def test_for_people(capsys, scores):
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age")
    assert code == 0
    for part in ("Groups", "Pairs of groups", "held fixed", "the mean of the speakers' rates", "More tables"):
        assert part in out
    assert re.search(r"the gap asked about is 25 % of the word error rate: [\d.]+ perc.* \(see --gap\)", out)
    assert out.count("gap asked about") == 1
    assert len(out.splitlines()) < 60
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age", "--bands", "age=18,65")
    assert code == 0
    assert "18-64" not in out.split("More tables")[0]  # one band is nothing to compare
    assert "one group only" in out


def test_python_and_the_command_say_the_same(capsys, scores):
    _, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age", "--bands", "age=30,40", "--json")
    frame = pl.read_parquet(scores)
    mine = parity(frame, attributes=["gender", "age"], bands={"age": (30, 40)})
    theirs = json.loads(out)
    for finding, other in zip(mine.findings, theirs["findings"], strict=True):
        assert (finding.id, finding.estimate, finding.p_adjusted) == (
            other["id"],
            other["estimate"],
            other["p_adjusted"],
        )
    assert mine.findings[0].command.endswith("--bands age=30,40")
    pandas = pytest.importorskip("pandas")
    again = parity(
        pandas.DataFrame(frame.to_dict(as_series=False)), attributes=["gender", "age"], bands=["age=30,40"]
    )
    assert [one.estimate for one in again.findings] == [one.estimate for one in mine.findings]


def test_ages_of_a_run_are_cut_though_runs_keep_text(scores):
    text = pl.read_parquet(scores).with_columns(pl.col("age").cast(pl.String))
    groups = parity(text, attributes=["age"]).tables["groups"]
    assert groups.equals(parity(scores, attributes=["age"]).tables["groups"])
    with pytest.raises(VoxauditError, match="does not hold numbers"):
        parity(text.with_columns(age=pl.lit("old")), attributes=["age"], bands={"age": (18,)})


def test_a_run_brings_its_audio_and_texts(capsys, scores, tmp_path):
    generator = np.random.default_rng(5)
    folder = tmp_path / "run"
    folder.mkdir()
    table = pl.read_parquet(scores)
    table.write_parquet(folder / "scores.parquet")
    config = {"format": 1, "corpus": {}, "recognizers": {"x": {}, "y": {}}, "scenarios": ["clean"], "seed": 0}
    (folder / "run.json").write_text(json.dumps(config))
    table.select("utterance", "scenario", "recognizer", text=pl.lit("")).write_parquet(
        folder / "transcripts.parquet"
    )
    ids = table["utterance"].unique(maintain_order=True).to_list()
    envelope = np.abs(np.sin(np.arange(16_000) / 1_500)) ** 4
    for number in range(4):
        noise = generator.standard_normal(16_000) * (0.001 if number else 0.5)
        samples = 0.2 * envelope * np.sin(np.arange(16_000) / 8) + 0.1 * noise
        audio.write(folder / f"{number}.wav", audio.Audio(samples.astype(np.float32), 16_000))
    pl.DataFrame(
        {
            "id": ids,
            # Every 40th utterance has the noisy recording.
            "audio": [f"{0 if number % 40 == 0 else 1 + number % 3}.wav" for number in range(len(ids))],
            "speaker": [name.partition("-")[0][1:] for name in ids],
            "text": [
                "turn on the light" if number % 2 else "close the kitchen window"
                for number in range(len(ids))
            ],
            "start": 0.0,
            "duration": pl.Series([None] * len(ids), dtype=pl.Float64),
            "gender": "x",
        }
    ).write_parquet(folder / "corpus.parquet")
    code, out, _ = run(capsys, "parity", folder, "--attributes", "gender", "--json")
    assert code == 0
    document = json.loads(out)
    (left,) = (note for note in document["notes"] if note["code"] == "left_out")
    assert left["facts"] == {"signal-to-noise ratio under 10 dB": 6}
    measures = {row["measure"] for row in tables_of(document)["balance"]}
    assert measures >= {"snr", "text_words", "perplexity_bits"}
    measured = parity(folder, attributes=["gender"]).detail.trials.measured
    assert "estimated from the audio" in measured.sources["snr"]
    for recordings, why in ((0, "4 recordings, of which no more than 0 are opened"), (3, "no more than 3")):
        _, out, _ = run(
            capsys, "parity", folder, "--attributes", "gender", "--recordings", recordings, "--json"
        )
        checks = {check["practice"]: check for check in tables_of(json.loads(out))["checklist"]}
        assert checks["equal recording quality (3.1)"]["status"] == "cannot be checked"
        assert why in checks["equal recording quality (3.1)"]["why"]


def test_figures(capsys, scores, tmp_path):
    for name in ("groups", "conditional"):
        path = tmp_path / f"{name}.svg"
        code, _, err = run(capsys, "parity", scores, "--attributes", "gender,age", "--plot", f"{name}={path}")
        assert code == 0
        assert {"groups": "gender: m", "conditional": "gender: f over m"}[name] in path.read_text(
            encoding="utf-8"
        )
        assert str(path) in err


def test_what_a_report_asks_is_the_default():
    assert AUDIT.questions(None, ["gender"]) == [{"attributes": ("gender",)}]
    assert AUDIT.questions(None, []) == []


def test_the_checklist_says_what_people_say(answer):
    said = " ".join(answer.tables["checklist"]["why"])
    assert said.count("gap of ") == len(re.findall(r"gap of [\d.]+ percentage points", said)) > 0
    assert "text_words" not in said
    assert "--" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "--attributes", "a"], "no such file"),
        (["{scores}", "--attributes", "gende"], "Did you mean: gender"),
        (["{scores}"], "Columns that could be: gender, age.*--attributes"),
        (["{scores}", "--attributes", "gender", "--bands", "age=x"], "bands are COLUMN=CUT.*--bands"),
        (["{scores}", "--attributes", "gender", "--min-snr", "loud"], "--min-snr"),
        (["{scores}", "--attributes", "gender", "--columns", "speaker=who"], "no column 'who'"),
        (["{scores}", "--attributes", "gender", "--scenario", "cleen"], "Did you mean: clean"),
        (["{folder}", "--attributes", "gender"], "no scores.parquet|neither a run"),
        (["{nobody}", "--attributes", "gender"], "no column 'speaker'.*--columns, --surrogate-speaker"),
        (["{nothing}", "--attributes", "gender"], "it has no rows"),
    ],
)
def test_bad_input_is_one_line(capsys, scores, tmp_path, arguments, message):
    (tmp_path / "empty").mkdir()
    table = pl.read_parquet(scores)
    table.drop("speaker").write_csv(tmp_path / "nobody.csv")
    table.head(0).write_parquet(tmp_path / "nothing.parquet")
    places = {"nobody": tmp_path / "nobody.csv", "nothing": tmp_path / "nothing.parquet"}
    filled = [text.format(scores=scores, folder=tmp_path / "empty", **places) for text in arguments]
    code, out, err = run(capsys, "parity", *filled)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert re.search(message, err)
