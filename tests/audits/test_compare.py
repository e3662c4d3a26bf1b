"""The comparison of two runs: pairing, verdicts, planted regressions, and how often it cries wolf."""

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.compare import REGRESSIONS, gate
from voxaudit.audits.compare.audit import compare, not_excluded
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError

ALPHA = 0.05


def pool(seed=0, speakers=40):
    """Return errors of two sides that differ by chance only: per speaker, utterance and scenario."""
    rng = np.random.default_rng(seed)
    rows = []
    for speaker in range(speakers):
        rate = 0.12 * np.exp(rng.normal(0, 0.6))
        for utterance in range(int(rng.integers(3, 9))):
            words = int(rng.integers(3, 18))
            for number, scenario in enumerate(("clean", "gaussian_noise:2", "rir:2")):
                hard = rate * (1 + 1.5 * number)
                one, two = rng.poisson(hard * np.exp(rng.normal(0, 0.5, 2)) * words)
                rows.append((speaker, utterance, scenario, "fm"[speaker % 2], words, int(one), int(two)))
    schema = ["person", "number", "scenario", "gender", "words", "base", "new"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def drawn(table, rng):
    """Return two scores tables: speakers drawn with replacement, the sides of each swapped by a coin."""
    people = table["person"].unique().sort().to_numpy()
    parts = []
    for place, person in enumerate(rng.choice(people, len(people))):
        part = table.filter(pl.col("person") == person)
        if rng.random() < 0.5:
            part = part.rename({"base": "new", "new": "base"}).select(table.columns)
        parts.append(part.with_columns(person=pl.lit(place, dtype=pl.Int64)))
    return sides(pl.concat(parts))


def sides(table, recognizers=("asr", "asr")):
    def side(errors, name):
        return table.select(
            utterance=pl.format("{}-{}", "person", "number"),
            speaker=pl.format("s{}", "person"),
            scenario="scenario",
            recognizer=pl.lit(name),
            hits=pl.lit(0),
            substitutions=errors,
            deletions=pl.lit(0),
            insertions=pl.lit(0),
            words="words",
            characters=pl.lit(1),
            character_errors=pl.lit(0),
            gender="gender",
        )

    return side("base", recognizers[0]), side("new", recognizers[1])


def planted(table, times=1.0, plus=0.08):
    """Return the table with a regression for one group only."""
    worse = (pl.col("base") * times + plus * pl.col("words")).round().cast(pl.Int64)
    return table.with_columns(new=pl.when(pl.col("gender") == "f").then(worse).otherwise(pl.col("base")))


def slices(answer):
    return {one.label: one for one in answer.detail.slices}


def test_rates_and_differences_are_ratios_of_sums():
    table = pool()
    answer = compare(*sides(table), attributes=["gender"])
    found = slices(answer)
    assert list(found) == ["all trials", "clean", "gaussian_noise:2", "rir:2", "f (gender)", "m (gender)"]
    whole = found["all trials"]
    assert whole.wer_before == pytest.approx(table["base"].sum() / table["words"].sum())
    assert whole.difference == pytest.approx((table["new"] - table["base"]).sum() / table["words"].sum())
    part = table.filter(pl.col("gender") == "f")
    assert found["f (gender)"].wer_after == pytest.approx(part["new"].sum() / part["words"].sum())
    assert found["f (gender)"].speakers == part["person"].n_unique()
    # The finding, the table and the sentence have the same numbers.
    finding = answer.finding("compare/asr/gender/f/wer_difference")
    row = answer.tables["slices"].row(by_predicate=pl.col("group") == "f", named=True)
    assert (finding.estimate, finding.low, finding.high) == (row["difference"], row["low"], row["high"])
    assert (finding.p, finding.p_adjusted) == (row["p"], row["p_adjusted"])
    assert f"{100 * finding.estimate:+.1f} percentage points" in finding.sentence
    assert finding.p <= finding.p_adjusted
    assert finding.family == "slices"


def test_a_run_against_itself_shows_no_change_anywhere():
    base, _ = sides(pool())
    answer = compare(base, base, attributes=["gender"])
    assert {one.verdict for one in answer.detail.slices} == {"not_shown"}
    assert {one.difference for one in answer.detail.slices} == {0.0}
    assert answer.finding(REGRESSIONS).estimate == 0.0
    assert gate(answer) is None


def test_a_planted_regression_in_one_group_is_found_and_named():
    answer = compare(*sides(planted(pool())), attributes=["gender"])
    worse = {label for label, one in slices(answer).items() if one.worse}
    assert "f (gender)" in worse
    assert "m (gender)" not in worse
    assert not answer.detail.improvements
    counting = answer.finding(REGRESSIONS)
    assert counting.estimate == len(worse) == 5
    assert counting.sentence.startswith("5 of 6 slices got significantly worse: asr on f (gender), +7.3 ")
    assert gate(answer) == counting.sentence
    # The largest change is the first that is said.
    assert answer.findings[1].sentence.startswith(
        "asr got worse on f (gender): WER 34.4 % before and 41.7 % after"
    )


def test_the_other_way_round_is_an_improvement():
    base, new = sides(planted(pool()))
    answer = compare(new, base, attributes=["gender"])
    assert slices(answer)["f (gender)"].better
    assert answer.finding(REGRESSIONS).estimate == 0.0
    assert "asr got better on f (gender)" in answer.finding("compare/asr/gender/f/wer_difference").sentence


@pytest.mark.slow
def test_nothing_changed_is_called_worse_at_the_nominal_rate():
    rng = np.random.default_rng(7)
    table = pool()
    runs = [
        compare(*drawn(table, rng), attributes=["gender"], alpha=ALPHA, seed=seed).detail
        for seed in range(200)
    ]
    worse = sum(bool(found.regressions) for found in runs)
    either = sum(bool(found.regressions or found.improvements) for found in runs)
    # 99.9 % limits of 200 fair draws at 2.5 and 5 %.
    assert 0 <= worse <= 13
    assert 1 <= either <= 21


def test_alike_needs_a_margin_and_data_that_keep_within_it():
    table = pool()
    base, new = sides(table.with_columns(new=pl.col("base") + (pl.col("number") == 0).cast(pl.Int64)))
    without, wide, narrow = (compare(base, new, margin=margin) for margin in (0.0, 0.1, 0.005))
    assert {one.verdict for one in without.detail.slices} == {"shown"}
    assert {one.verdict for one in wide.detail.slices} == {"alike"}
    assert (
        "alike on clean within 10 percentage points"
        in wide.finding("compare/asr/clean/wer_difference").sentence
    )
    assert "alike" not in {one.verdict for one in narrow.detail.slices}


@pytest.mark.slow
def test_a_change_as_large_as_the_margin_is_rarely_called_alike():
    rng = np.random.default_rng(3)
    table = pool()
    claims = []
    for seed in range(200):
        base, new = drawn(table, rng)
        # The new side has the margin's 5 errors in a hundred words more, on top of changes by chance.
        more = pl.col("substitutions") + (5 * pl.col("words").cum_sum() // 100).diff().fill_null(0)
        found = compare(base, new.with_columns(substitutions=more), margin=0.05, seed=seed).detail
        claims.append(any(one.verdict == "alike" for one in found.slices))
    # The 99.9 % limit of 200 draws at 5 %.
    assert sum(claims) <= 21


def test_fewer_than_six_speakers_are_refused():
    table = planted(pool()).filter(pl.col("person") < 5)
    answer = compare(*sides(table))
    assert {one.verdict for one in answer.detail.slices} == {"refused"}
    assert {one.code for one in answer.findings} == {"too_few_speakers"}
    assert answer.finding(REGRESSIONS).estimate is None
    [refusal] = answer.refusals
    assert refusal.code == "too_few_speakers"
    assert refusal.facts == {"slices": 4, "of": 4, "speakers": 5, "needed": 6}
    assert gate(answer) is None


def test_only_shared_trials_are_compared_and_the_others_counted():
    base, new = sides(pool())
    answer = compare(base.filter(pl.col("scenario") != "rir:2"), new.filter(pl.col("speaker") != "s0"))
    only_base = base.filter((pl.col("speaker") == "s0") & (pl.col("scenario") != "rir:2")).height
    only_new = new.filter((pl.col("speaker") != "s0") & (pl.col("scenario") == "rir:2")).height
    facts = next(note.facts for note in answer.notes if note.code == "pairs")
    assert (facts["only_before"], facts["only_after"]) == (only_base, only_new)
    assert {one.scenario for one in answer.detail.slices} == {None, "clean", "gaussian_noise:2"}


def test_one_recognizer_each_is_compared_whatever_the_names():
    answer = compare(*sides(pool(), ("v1", "v2")))
    assert answer.detail.recognizers == {"v1": "v2"}
    finding = answer.finding("compare/v2/wer_difference")
    assert (finding.recognizer, finding.against) == ("v2", "v1")


def test_renamed_recognizers_belong_together_and_the_others_by_name():
    base, new = sides(pool(speakers=8))

    def both(table, other):
        return pl.concat([table, table.with_columns(recognizer=pl.lit(other))])

    answer = compare(both(base, "old"), both(new, "new"), renamed={"old": "new"})
    assert answer.detail.recognizers == {"old": "new", "asr": "asr"}
    alone = compare(both(base, "old"), both(new, "new"), renamed={"old": "new"}, recognizer="new")
    assert alone.detail.recognizers == {"old": "new"}
    assert alone.findings[0].command == "voxaudit compare BEFORE AFTER --renamed old=new --recognizer new"


def test_filters_choose_trials_on_both_sides():
    base, new = sides(pool())
    answer = compare(base, new, scenario="clean", where=["gender=f"])
    kept = base.filter((pl.col("scenario") == "clean") & (pl.col("gender") == "f"))
    assert answer.detail.trials == kept.height
    assert [one.label for one in answer.detail.slices] == ["all trials"]


def test_an_attribute_that_cannot_be_compared_is_refused_and_the_rest_answered():
    base, new = sides(pool())
    new = new.with_columns(same=pl.lit("x"), many="utterance")
    answer = compare(base, new, attributes=["same", "many", "gender"])
    assert {(one.about, one.code) for one in answer.refusals} == {
        ("same", "one_group"),
        ("many", "too_many_groups"),
    }
    assert {one.attribute for one in answer.detail.slices} == {None, "gender"}


def test_any_form_of_a_table_is_compared(tmp_path):
    pandas = pytest.importorskip("pandas")
    base, new = sides(planted(pool()))
    new.write_csv(tmp_path / "new.csv")
    expected = compare(base, new, attributes=["gender"]).findings
    columns = {name: base[name].to_list() for name in base.columns}
    assert (
        compare(pandas.DataFrame(columns), tmp_path / "new.csv", attributes=["gender"]).findings == expected
    )
    errors = new.with_columns(errors="substitutions").drop("substitutions", "deletions", "insertions")
    assert compare(base, errors, attributes=["gender"]).findings == expected


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.with_columns(speaker=pl.lit(None, dtype=pl.String)), "who speaks"),
        (lambda t: t.with_columns(words=pl.col("words") + 1), "other reference words"),
        (lambda t: pl.concat([t, t]), "twice"),
        (lambda t: t.with_columns(utterance=pl.lit("?") + pl.col("utterance")), "share no trial"),
        (lambda t: t.drop("words"), "the table after: no column 'words'"),
        (
            lambda t: t.with_columns(recognizer=pl.lit("a")).vstack(t.with_columns(recognizer=pl.lit("b"))),
            "belong together: asr=a",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(spoil, message):
    base, new = sides(pool(speakers=8))
    with pytest.raises(VoxauditError, match=message) as caught:
        compare(base, spoil(new))
    assert "\n" not in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_slice_without_words_has_no_rate():
    table = pool(speakers=8).with_columns(
        words=pl.when(pl.col("scenario") == "rir:2").then(0).otherwise(pl.col("words"))
    )
    silent = slices(compare(*sides(table)))["rir:2"]
    assert silent.wer_before is None
    assert silent.verdict == "refused"


def test_the_command_passes_itself_and_stops_a_regression(tmp_path, capsys):
    base, new = sides(planted(pool()))
    base.write_parquet(tmp_path / "base.parquet")
    new.write_csv(tmp_path / "new.csv")
    paths = [str(tmp_path / "base.parquet"), str(tmp_path / "new.csv")]
    assert main(["compare", paths[0], paths[0], "--attributes", "gender"]) == 0
    assert "Nothing is shown to have got worse in 6 slices." in capsys.readouterr().out
    out = tmp_path / "out"
    assert main(["compare", *paths, "--attributes", "gender", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert "gate failed: 5 of 6 slices got significantly worse: asr on f (gender), +7.3" in said.err
    assert "asr got worse on f (gender): WER" in said.out
    assert "change, points" in said.out
    case = ElementTree.parse(out / "junit.xml").getroot().find(".//testcase")
    assert case is not None
    assert "f (gender)" in case.find("failure").get("message")
    assert "f (gender)" in (out / "summary.md").read_text(encoding="utf-8")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "f (gender)" in page
    assert str(tmp_path) not in page
    findings = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    assert findings["gates"][0]["finding"] == "compare/regressions"
    assert findings["passed"] is False


def test_json_is_one_document(tmp_path, capsys):
    base, new = sides(pool())
    base.write_parquet(tmp_path / "a.parquet")
    new.write_parquet(tmp_path / "b.parquet")
    main(["compare", str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["notes"][0]["facts"]["trials"] == base.height
    assert (document["question"]["before"], document["question"]["after"]) == ("a.parquet", "b.parquet")
    names = document["tables"][0]["names"]
    assert {"recognizer", "difference", "low", "high", "visible", "p", "p_adjusted", "verdict"} <= set(names)


def test_mistakes_on_the_command_line_are_one_line(tmp_path, capsys):
    base, _ = sides(pool(speakers=8))
    path = str(tmp_path / "a.parquet")
    base.write_parquet(path)
    for extra, message in (
        (["--renamed", "asr"], "takes NAME=VALUE"),
        (["--renamed", "asrr=asr"], "Did you mean: asr? There: asr (see --renamed)"),
        (["--alpha", "2"], "alpha must lie between 0 and 1"),
        (["--margin", "-1"], "margin"),
        (["--attributes", "gendre"], "gender"),
    ):
        assert main(["compare", path, path, *extra]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1


def test_a_run_without_scored_trials_is_one_line():
    base, new = sides(pool(speakers=8))
    for pair, side in (((base.clear(), new), "before"), ((base, new.clear()), "after")):
        with pytest.raises(VoxauditError, match=f"the table {side}: no scored trial"):
            compare(*pair)


def hallucinated(table, person, more):
    """Return the table with so many more errors of the new side in one utterance of a person, in clean speech."""
    there = (pl.col("person") == person) & (pl.col("number") == 0) & (pl.col("scenario") == "clean")
    return table.with_columns(new=pl.when(there).then(pl.col("new") + more).otherwise(pl.col("new")))


def test_a_change_that_rests_on_one_utterance_names_it():
    # Five speakers make one error more, the others none less: without utterance 0-0 it is not enough.
    few = (pl.col("person") < 6) & (pl.col("number") == 0) & (pl.col("scenario") == "clean")
    table = pool(speakers=12).with_columns(new=pl.col("base") + few.cast(pl.Int64))
    base, new = sides(table)
    answer = compare(base, new)
    whole = slices(answer)["all trials"]
    assert whole.worse
    assert (whole.utterance, whole.utterance_errors, whole.holds) == ("0-0", 1, False)
    sentence = answer.finding("compare/asr/wer_difference").sentence
    assert "It rests on the utterance 0-0, which alone has 1 error more: without it +" in sentence
    assert sentence.endswith("not shown.")
    # The same is found by leaving the utterance out.
    rest = slices(compare(*(side.filter(pl.col("utterance") != "0-0") for side in (base, new))))["all trials"]
    assert rest.verdict == "not_shown"
    assert rest.difference == pytest.approx(whole.difference_without)
    assert "which rests on the utterance 0-0" in answer.finding(REGRESSIONS).sentence


def test_a_change_of_which_one_utterance_is_most_says_so_and_stays():
    table = pool().with_columns(new=pl.col("base") + (pl.col("number") == 0).cast(pl.Int64))
    answer = compare(*sides(hallucinated(table, 3, 90)))
    whole = slices(answer)["clean"]
    assert (whole.worse, whole.utterance, whole.utterance_errors, whole.holds) == (True, "3-0", 91, True)
    sentence = answer.finding("compare/asr/clean/wer_difference").sentence
    assert "Most of it is the utterance 3-0, which alone has 91 errors more: without it +" in sentence
    # Elsewhere nothing rests on one utterance, and nothing is said.
    assert "utterance" not in answer.finding("compare/asr/rir:2/wer_difference").sentence


def test_an_improvement_beside_one_hallucination_says_so():
    better = pl.max_horizontal(pl.col("base") - 1, 0)
    table = pool().with_columns(new=better)
    answer = compare(*sides(hallucinated(table, 3, 40)), scenario="clean")
    finding = answer.finding("compare/asr/wer_difference")
    assert "asr got better on all trials: WER 14.7 % before and 10.6 % after" in finding.sentence
    assert (
        "Against it, the utterance 3-0 alone has 39 errors more: without it -6.1 percentage"
        in finding.sentence
    )
    # A longer one outweighs what the others gain: a mean of errors is not better any more.
    answer = compare(*sides(hallucinated(table, 3, 60)), scenario="clean")
    assert answer.finding("compare/asr/wer_difference").verdict == "not_shown"


def test_what_is_not_shown_says_what_is_not_excluded_and_what_would_have_been_seen():
    answer = compare(*sides(pool()), attributes=["gender"])
    unshown = [one for one in answer.findings if one.verdict == "not_shown"]
    assert len(unshown) == 6
    for one in unshown:
        assert one.low < 0 < one.high
        assert one.excludes == max(one.low, one.high, key=abs)
        assert (
            f"a change of up to {100 * abs(one.excludes):.1f} percentage points is not excluded"
            in one.sentence
        )
    whole = slices(answer)["all trials"]
    assert whole.visible == answer.detail.visible
    assert answer.finding(REGRESSIONS).sentence == (
        "Nothing is shown to have got worse in 6 slices; over all trials a rise of"
        f" {100 * whole.visible:.1f} percentage points would have been shown four times in five."
    )
    # A larger share of the level belongs to the whole, so that it sees smaller changes than its parts do.
    assert all(one.visible > whole.visible for one in answer.detail.slices if not one.whole)


def test_a_general_regression_is_seen_however_many_groups_are_asked_about():
    table = pool(speakers=24)
    worse = table.with_columns(new=pl.col("base") + (pl.col("number") == 0).cast(pl.Int64))
    groups = {f"a{n}": pl.format("g{}", (pl.col("speaker").hash(n) % 3)) for n in range(12)}
    base, new = (side.with_columns(**groups) for side in sides(worse))
    whole = slices(compare(base, new, attributes=list(groups)))["all trials"]
    alone = slices(compare(base, new, scenario=["clean", "rir:2", "gaussian_noise:2"]))["all trials"]
    assert whole.p_adjusted == pytest.approx(alone.p / 0.8)
    assert whole.worse


def test_a_side_without_a_limit_is_said_and_not_hidden_behind_the_other_one():
    whole = slices(compare(*sides(pool())))["all trials"]
    assert f"up to {100 * abs(whole.excludes):.1f} percentage points is not excluded" in not_excluded(
        [whole], "change"
    )
    half = replace(whole, high=None)
    assert half.excludes is None
    assert not_excluded([whole, half], "change").startswith("how large a change may be has no limit here")
