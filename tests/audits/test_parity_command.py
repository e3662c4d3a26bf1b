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


@pytest.fixture
def scores(tmp_path):
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
    path = tmp_path / "scores.parquet"
    pl.DataFrame(rows).write_parquet(path)
    return path


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
    wanted = {"attribute", "group", "against", "speakers", "utterances", "words", "wer", "wer_pooled"}
    wanted |= {"wer_utterance_mean", "estimate", "low", "high", "p", "p_adjusted", "verdict", "conclusion"}
    wanted |= {"err_rel", "err_rel_low", "err_rel_high", "enough_speakers", "speakers_needed"}
    assert wanted <= set(tables["groups"][0])
    assert {"attribute", "gap", "group", "against", "estimate", "fixed_gap"} <= set(tables["gaps"][0])
    assert {"practice", "status", "why", "recognizer"} == set(tables["checklist"][0])
    assert len({check["practice"] for check in tables["checklist"]}) == 10
    # What differs between recognizers is said of each of them, never of their mean.
    assert {check["recognizer"] for check in tables["checklist"]} <= {None, "x", "y"}
    names = ("groups", "gaps", "pairs", "conditional", "intersectional", "regression", "spread")
    for name in names:
        assert list(dict.fromkeys(line["recognizer"] for line in tables[name])) == ["x", "y", MEAN], name
    ages = [
        row["group"] for row in tables["groups"] if row["attribute"] == "age" and row["recognizer"] == "x"
    ]
    assert ages == ["18-29", "30-44", "45-64"]
    (men,) = (row for row in tables["groups"] if row["group"] == "m" and row["recognizer"] == MEAN)
    assert men["err_rel"] > 0
    assert men["err_rel_low"] <= men["err_rel"] <= men["err_rel_high"]
    assert men["verdict"] == "shown"
    assert men["conclusion"] == "worse"


def test_findings_are_the_gaps_and_what_speakers_are_missing(scores):
    answer = parity(scores, attributes=["gender", "age"])
    gaps = [finding for finding in answer.findings if finding.measure == "wer_gap"]
    # Each recognizer before their mean.
    assert [finding.recognizer for finding in gaps] == ["x", "x", "y", "y", None, None]
    table = answer.tables["gaps"].to_dicts()
    for finding, row in zip(gaps, table, strict=True):
        assert (finding.estimate, finding.low, finding.high) == (row["estimate"], row["low"], row["high"])
        assert (finding.p, finding.p_adjusted, finding.verdict) == (
            row["p"],
            row["p_adjusted"],
            row["verdict"],
        )
        assert (finding.group, finding.against, finding.attribute) == (
            row["group"],
            row["against"],
            row["attribute"],
        )
        assert finding.scenario == "clean"
        assert finding.command == "voxaudit parity scores.parquet --attributes gender,age"
    men = gaps[0]
    assert men.id == "parity/x/clean/gender/wer_gap"
    assert (men.verdict, men.family, gaps[-1].family) == ("shown", "gaps", "gaps of the mean")
    assert re.fullmatch(
        r"Speaker by speaker, the word error rate of x is [\d.]+ percentage points \([\d.]+ to [\d.]+\) higher for m"
        r" \(gender\) than for f \(p [<=] [\d.]+\): a gap is shown\.",
        men.sentence,
    )
    short = answer.tables["groups"].filter(pl.col("recognizer") == "x", ~pl.col("enough_speakers"))
    assert short.height
    finding = answer.finding("parity/x/clean/speakers_missing")
    assert (finding.verdict, finding.code, finding.headline) == ("refused", "too_few_speakers", True)
    assert finding.estimate == short["more_needed"].max()


def three_speakers(difference):
    """Three speakers on each side, whose rates differ by `difference` and little else."""
    return pl.DataFrame(
        {
            "speaker": list("abcdef"),
            "g": ["one"] * 3 + ["two"] * 3,
            "errors": [100, 102, 104, *(100 + difference + step for step in (0, 2, 4))],
            "words": 1000,
        }
    )


def test_a_gap_that_the_interval_rules_out_needs_no_more_speakers():
    (finding,) = parity(three_speakers(1), attributes=["g"]).findings
    assert finding.verdict == "not_shown"
    assert finding.excludes == finding.high < 0.05
    assert finding.sentence.endswith(f"one above {100 * finding.high:.1f} percentage points is ruled out.")
    wide = three_speakers(1).with_columns(errors=pl.Series([10, 100, 200, 20, 110, 210]))
    answer = parity(wide, attributes=["g"])
    gap, missing = answer.findings
    assert (gap.verdict, gap.code) == ("refused", "too_few_speakers")
    assert "too few speakers to tell whether there is a gap of 5.4 percentage points" in gap.sentence
    assert missing.measure == "speakers_missing"
    assert missing.sentence.startswith(
        "Too few speakers to show a gap of 5.4 percentage points between groups; one (g)"
    )


def test_for_people(capsys, scores):
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age")
    assert code == 0
    for part in ("Each group against", "Best against worst", "held fixed", "What these data allow", "canary"):
        assert part in out
    assert re.search(r"asked about: a gap of [\d.]+ percentage points.* \(see --gap\)", out)
    code, out, _ = run(capsys, "parity", scores, "--attributes", "gender,age", "--bands", "age=18,65")
    assert code == 0
    assert "18-64" not in out.split("What these data allow")[0]  # one band is nothing to compare
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
        assert "gender: m" in path.read_text(encoding="utf-8")
        assert str(path) in err


def test_what_a_report_asks_is_the_default():
    assert AUDIT.questions(None, ["gender"]) == [{"attributes": ("gender",)}]
    assert AUDIT.questions(None, []) == []


def test_the_checklist_says_what_people_say(scores):
    said = " ".join(parity(scores, attributes=["gender", "age"]).tables["checklist"]["why"])
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
