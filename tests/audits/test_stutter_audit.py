"""The search, the scores and the queue of the stutter audit, on recordings and recognizers made for the purpose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from voxaudit.align.timings import Phone, Syllable, Timings, Word
from voxaudit.audits.stutter.audit import stutter
from voxaudit.audits.stutter.folder import (
    false_positive_rate,
    fault_counts,
    read_labels,
    suspicious_cases,
    write_queue,
)
from voxaudit.audits.stutter.scoring import (
    by_kind,
    change,
    compare,
    dose_response,
    hear_doses,
    rates,
    trial_table,
)
from voxaudit.audits.stutter.search import Case, Settings, agreement, aims, front, search
from voxaudit.corpus import Utterance, read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb.stutter.chain import StutterScenarios
from voxaudit.perturb.stutter.recordings import Recording
from voxaudit.recognize import make_recognizer
from voxaudit.run.session import Session
from voxaudit.score.meaning import Meaning

RATE = 16_000
ENGINE = '''
"""Recognizers that hear how long a recording is: one word for every quarter of a second."""

def exact(samples, rate):
    return "sable " + " ".join(["top"] * round(len(samples) / rate * 4))

def deaf(samples, rate):
    return "sable top"

def moody(samples, rate):
    if len(samples) > 1.5 * rate:
        raise ValueError("too long for me")
    return "sable top"
'''


def letters(texts):
    """Embed a text by how often each letter occurs: enough to tell texts apart."""
    vectors = np.array([[text.count(chr(97 + i)) + 0.01 for i in range(26)] for text in texts])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def timings() -> Timings:
    """The first word can be prolonged in the realistic mode only if it begins with a sound that can be held."""

    def syllable(text, start, *names):
        step = 0.2 / len(names)
        phones = [Phone(n, start + i * step, start + (i + 1) * step) for i, n in enumerate(names)]
        return Syllable(text, start, start + 0.2, tuple(phones))

    table = Word("sable", 0.1, 0.5, (syllable("sa", 0.1, "S", "EY"), syllable("ble", 0.3, "B", "AH", "L")))
    return Timings((table, Word("top", 0.5, 0.7, (syllable("top", 0.5, "T", "AA", "P"),))), 1.0)


@pytest.fixture
def material(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE)
    generator = np.random.default_rng(1)
    recordings = []
    for number in range(6):
        tone = 0.2 * np.sin(2 * np.pi * (150 + 20 * number) * np.arange(RATE) / RATE)
        samples = (tone + 0.05 * generator.standard_normal(RATE)).astype(np.float32)
        path = tmp_path / f"{number}.wav"
        soundfile.write(path, samples, RATE, subtype="FLOAT")
        utterance = Utterance(f"u{number}", path, speaker=f"s{number}", text="sable top")
        recordings.append(Recording(utterance, timings(), "Sable top."))
    names = ("exact", "deaf", "moody")
    engines = {
        name: make_recognizer({"engine": "python", "callable": f"{tmp_path / 'engine.py'}:{name}"})
        for name in names
    }
    return recordings, engines


def hear(material, out: Path, settings: Settings, names=("exact", "deaf")):
    recordings, engines = material
    scenarios = StutterScenarios({r.utterance.id: r.timings for r in recordings})
    chosen = {name: engines[name] for name in names}
    with Session(out, chosen, scenarios, cache=False, workers=1) as session:
        found = search(recordings, session, Meaning(letters), settings)
        return found, session.heard


KINDS = ("block", "prolongation", "sound_repetition", "word_repetition")


@pytest.mark.slow
def test_the_budget_is_spent_and_cases_replay(material, tmp_path):
    found, heard = hear(material, tmp_path / "out", Settings(budget=4, kinds=KINDS))
    assert len(found.cases) == 6 * 4
    assert heard == 2 * (6 + len({(case.utterance, case.chain) for case in found.cases}))
    assert {case.kind for case in found.cases} == set(KINDS)
    for case in found.cases:
        assert case.chain.startswith(case.parent)
        assert case.transcripts["deaf"] == "sable top"
        assert case.similarity["deaf"] == 1.0
        assert case.intended == "sable top"
        if case.kind == "word_repetition":
            assert len(case.surface.split()) > 2


@pytest.mark.slow
def test_the_same_seed_gives_the_same_cases_and_a_resumed_search_hears_nothing_twice(material, tmp_path):
    settings = Settings(budget=3, kinds=KINDS, seeds=(5,))
    first, heard = hear(material, tmp_path / "a", settings, ("exact",))
    short, _ = hear(material, tmp_path / "b", Settings(budget=1, kinds=KINDS, seeds=(5,)), ("exact",))
    again, rest = hear(material, tmp_path / "b", settings, ("exact",))  # goes on where it was stopped
    assert again.cases == first.cases
    assert [c.chain for c in short.cases] == [c.chain for c in first.cases[: len(short.cases)]]
    assert rest < heard
    _, none = hear(material, tmp_path / "b", settings, ("exact",))
    assert none == 0
    other, _ = hear(material, tmp_path / "c", Settings(budget=3, kinds=KINDS, seeds=(6,)), ("exact",))
    assert [case.chain for case in other.cases] != [case.chain for case in first.cases]


@pytest.mark.slow
def test_random_keeps_every_case_as_a_seed_and_the_front_does_not(material, tmp_path):
    everything, _ = hear(
        material, tmp_path / "r", Settings(budget=6, kinds=KINDS, selection="random"), ("exact",)
    )
    assert all(case.kept for case in everything.cases)
    chosen, _ = hear(material, tmp_path / "m", Settings(budget=6, kinds=KINDS), ("exact",))
    assert not all(case.kept for case in chosen.cases)


@pytest.mark.slow
def test_a_recognizer_that_fails_costs_its_own_answers(material, tmp_path):
    found, _ = hear(
        material,
        tmp_path / "out",
        Settings(budget=5, kinds=("prolongation",), mode="aster"),
        ("deaf", "moody"),
    )
    failed = [case for case in found.cases if case.transcripts["moody"] is None]
    assert failed
    assert all("moody" not in case.similarity and case.m1 == 1.0 for case in failed)
    table = trial_table(found.cases, found.originals, dict.fromkeys(found.originals, "sable top"))
    assert table.filter(pl.col("recognizer") == "moody").height < table.height / 2


def test_what_has_no_place_is_said_and_skipped(material, tmp_path):
    recordings, engines = material
    one = Timings((Word("top", 0.1, 0.9, (Syllable("top", 0.1, 0.9),)),), 1.0)  # no phones with times
    recordings[0] = Recording(recordings[0].utterance, one, "top")
    found, _ = hear((recordings, engines), tmp_path / "out", Settings(budget=1, kinds=("block",)), ("exact",))
    assert found.skipped == {"u0": "no place for block in this recording"}
    assert {case.utterance for case in found.cases} == {f"u{n}" for n in range(1, 6)}


points = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


@given(points, st.booleans())
def test_the_front_is_what_nothing_beats(cloud, strict):
    on_front = front(cloud, strict=strict)
    assert any(on_front)
    for (x, y), stays in zip(cloud, on_front, strict=True):
        both = any(a < x and b < y for a, b in cloud)
        one = any(a <= x and b <= y and (a, b) != (x, y) for a, b in cloud)
        assert stays is not (both if strict else one)


@pytest.mark.parametrize("mode", ["realistic", "aster"])
def test_the_aims_of_a_mode(mode):
    one = replace(case("1", "", "", ""), m1=0.4, m2=0.9, r=1.5)
    assert aims(one, mode) == {"realistic": (0.4, 1.5), "aster": (0.4, -0.9)}[mode]


FAMILIES = ("kinds", "recognizers", "selections")


@pytest.mark.slow
def test_kinds_are_compared_with_one_event_each_on_the_same_recordings(material, tmp_path):
    found, _ = hear(material, tmp_path / "out", Settings(budget=6, kinds=KINDS, seeds=(0, 1)))
    table = trial_table(found.cases, found.originals, dict.fromkeys(found.originals, "sable top"))
    parts = by_kind(table, KINDS)
    for kind, part in parts.items():
        chains = part.filter(pl.col("chain") != "")["chain"]
        assert all(chain.count(";") == 0 and f"{kind}:" in chain for chain in chains)
        assert part["utterance"].n_unique() == 6  # the first turns give every recording every kind
    families = {family: [one for one in compare(table, KINDS) if one.family == family] for family in FAMILIES}
    compared = families["kinds"]
    assert len(compared) == 2 * 6
    deaf = [one for one in compared if one.recognizer == "deaf"]
    assert all(one.difference == 0 and one.p == 1.0 and one.speakers == 6 for one in deaf)
    (pair,) = families["recognizers"]
    assert (pair.one, pair.other) == ("deaf", "exact")
    assert pair.difference == pytest.approx(pair.wer_one - pair.wer_other)
    chosen = families["selections"]
    kept = table.filter("kept", pl.col("recognizer") == "exact")
    assert chosen[0].wer_one == pytest.approx(rates(kept).wer)


def test_a_random_subset_is_as_large_as_the_front(material, tmp_path):
    settings = Settings(budget=6, kinds=KINDS, selection="random_subset")
    found, _ = hear(material, tmp_path / "out", settings, ("exact",))
    for id_ in {one.utterance for one in found.cases}:
        own = [one for one in found.cases if one.utterance == id_]
        size = sum(front([(1.0, 0.0), *(aims(one, "realistic") for one in own)]))
        assert sum(one.kept for one in own) <= size
    assert any(not one.kept for one in found.cases)


def test_what_says_what_is_meant_is_never_suspicious():
    said = replace(
        case("1", "block:word=3,syllable=1,ms=90", "how is the weather", "how is the weather", 0.2),
        similarity_intended={"mine": 1.0},
    )
    assert said.suspicious(0.8) == ()
    other = replace(said, transcripts={"mine": "how is"}, similarity_intended={"mine": 0.5})
    assert other.suspicious(0.8) == ("mine",)
    near = replace(
        other, similarity_intended={"mine": 0.9}
    )  # like what is meant, unlike its own fluent answer
    assert near.suspicious(0.8) == ()


def test_agreement_is_the_mean_over_pairs():
    meaning = Meaning(lambda texts: np.array([[1.0, 0.0] if "a" in t else [0.0, 1.0] for t in texts]))
    assert agreement(["a", "b", "ab"], meaning) == pytest.approx(1 / 3)
    assert agreement(["a"], meaning) == 1.0


def case(utterance: str, chain: str, surface: str, heard: str, similarity: float = 1.0, **more) -> Case:
    return Case(
        utterance,
        more.get("speaker", f"s{utterance}"),
        chain,
        "",
        chain.partition(":")[0],
        "how is the weather",
        surface,
        {"mine": heard},
        1.0,
        1.0,
        {"mine": similarity},
    )


def test_scores_by_hand():
    cases = [
        case("1", "word_repetition:word=2", "how is the the weather", "how is the the weather"),
        case("1", "block:word=3,syllable=1,ms=90", "how is the weather", "how is weather um"),
    ]
    originals = {"1": {"mine": "how is the weather"}, "9": {"mine": "not among the cases"}}
    table = trial_table(cases, originals, {"1": "how is the weather"})
    assert table.height == 3
    after = table.filter(pl.col("chain") != "")
    intended = rates(after)
    # Four hits and an insertion; two hits and two substitutions. Nine words were heard.
    assert (intended.wer, intended.mer) == (3 / 8, 3 / 9)
    assert intended.wil == pytest.approx(1 - (6 / 8) * (6 / 9))
    assert rates(after, "surface").wer == 2 / 9
    assert rates(after, "intended", "removed").wer == 2 / 8
    alone = by_kind(table, ("block", "word_repetition", "prolongation"))
    assert [part.height for part in alone.values()] == [2, 2, 0]


def test_a_chain_of_two_kinds_belongs_to_neither():
    mixed = case("1", "block:word=3,syllable=1,ms=90;word_repetition:word=0", "how how is the weather", "how")
    table = trial_table([mixed], {"1": {"mine": "how is the weather"}}, {"1": "how is the weather"})
    assert all(part.is_empty() for part in by_kind(table, ("block", "word_repetition")).values())


def test_the_change_is_paired_and_by_speaker():
    cases, originals, texts = [], {}, {}
    for number in range(8):
        id_ = str(number)
        cases.append(case(id_, "block:word=3,syllable=1,ms=90", "how is the weather", "how is the"))
        originals[id_] = {"mine": "how is the weather"}
        texts[id_] = "how is the weather"
    moved = change(trial_table(cases, originals, texts))
    assert moved.werd == pytest.approx(0.25)
    assert (moved.low, moved.high) == (0.25, 0.25)
    assert moved.p == pytest.approx(2 / 2**8, abs=0.004)  # all eight worse: nobody is in one half of 256
    assert moved.effect == 1.0
    assert (moved.speakers, moved.utterances) == (8, 8)
    published = mannwhitneyu([0.25] * 8, [0.0] * 8, alternative="two-sided")
    assert (moved.u, moved.p_u_published) == pytest.approx((published.statistic, published.pvalue))


def test_few_speakers_give_no_interval_and_no_p():
    cases = [case(n, "block:word=3,syllable=1,ms=90", "how is the weather", "how") for n in "123"]
    originals = {n: {"mine": "how is the weather"} for n in "123"}
    moved = change(trial_table(cases, originals, dict.fromkeys("123", "how is the weather")))
    assert moved.low is moved.high is moved.p is None
    assert moved.werd == 0.75


def test_the_queue_keeps_labels_and_gives_the_false_positive_rate(tmp_path):
    originals = {n: {"mine": "how is the weather"} for n in "12"}
    cases = [
        case("1", "word_repetition:word=2", "how is the the weather", "how is the the weather", 0.7),
        case("2", "block:word=3,syllable=1,ms=90", "how is the weather", "how is weather", 0.3),
        case("2", "block:word=3,syllable=1,ms=91", "how is the weather", "how is the weather", 0.9),
    ]
    found = suspicious_cases(cases, originals, 0.8)
    assert [(one.utterance, one.fault) for one in found] == [("2", "word_omission"), ("1", "word_repetition")]
    assert fault_counts(found)["word_repetition"] == 1
    queue = write_queue(tmp_path, found)
    assert read_labels(queue) == {}
    rows = [json.loads(line) for line in queue.read_text().splitlines()]
    rows[0]["label"] = "real_fault"
    rows[1]["label"] = "malformed"
    queue.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_queue(tmp_path, found)  # the audit again: nobody's work is lost
    labels = read_labels(queue)
    assert labels == {found[0].id: "real_fault", found[1].id: "malformed"}
    write_queue(tmp_path, found[:1])  # another threshold: what was judged stays judged
    assert read_labels(queue) == labels
    rate = false_positive_rate(labels.values())
    assert rate["rate"] == 0.5
    assert rate["low"] < 0.2 < 0.8 < rate["high"]
    assert false_positive_rate([])["rate"] is None


@pytest.mark.parametrize("text", ["no json", '{"label": "fine"}', '{"id": "x", "label": "good"}', "[]"])
def test_a_broken_queue_is_one_line(tmp_path, text):
    path = tmp_path / "suspicious.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(VoxauditError, match="line 1"):
        read_labels(path)


def test_more_stuttering_is_heard_as_more(material, tmp_path):
    recordings, engines = material
    scenarios = StutterScenarios({r.utterance.id: r.timings for r in recordings})
    with Session(tmp_path / "out", {"exact": engines["exact"]}, scenarios, cache=False, workers=1) as session:
        heard = hear_doses(recordings, session, (0, 50, 100), "even", mode="aster")
    dose = dose_response(heard, recordings, "even")
    rates_ = [point.wer for point in dose]
    assert rates_[0] < rates_[1] < rates_[2]
    assert dose[0].events == 0
    assert dose[2].events == pytest.approx(100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0},
        {"selection": "best"},
        {"severity": 5},
        {"threshold": 0.0},
        {"kinds": ("blok",)},
        {"kinds": ()},
    ],
)
def test_settings_are_checked(wrong):
    with pytest.raises(VoxauditError):
        Settings(**wrong)


@pytest.fixture
def manifest(material, tmp_path):
    lines = [
        "id,path,text,speaker",
        *(f"u{n},{n}.wav,{'' if n == 1 else 'Sable top.'},s{n}" for n in range(4)),
    ]
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n")
    return read_corpus(tmp_path / "manifest.csv"), {"exact": material[1]["exact"]}


@pytest.mark.slow
def test_timings_of_another_aligner_take_the_place_of_ours(manifest, tmp_path):
    corpus, engines = manifest
    other = Timings((Word("tabletop", 0.1, 0.9, (Syllable("tabletop", 0.1, 0.9),)),), 1.0)
    # By utterance id, by the name of the audio file, with other words, and one that could not be read.
    brought = {"u0": timings(), "1": timings(), "u2": other, "3": "3.TextGrid: broken"}
    out = tmp_path / "out"
    quiet = {"timings": brought, "cache": False, "progress": False, "workers": 1}
    found = stutter(corpus, engines, out=out, budget=2, **quiet)
    cases = pl.read_parquet(out / "cases.parquet")
    assert set(cases["utterance"]) == {"u0", "u1"}
    assert set(cases["intended"]) == {"sable top"}
    assert "other words than the text" in found.detail.skipped["u2"]
    assert found.detail.skipped["u3"] == "3.TextGrid: broken"
    assert found.question["budget"] == 2
    # What it says is what it leaves in the folder, and a path and a function do as well as objects.
    (one,) = found.findings[:1]
    assert one.id == "stutter/exact/werd"
    assert (one.verdict, one.code, one.speakers) == ("refused", "too_few_speakers", 2)
    assert one.command == "voxaudit stutter out"
    assert stutter(out).findings == found.findings
    again = stutter(
        tmp_path / "manifest.csv",
        {"exact": f"python:{tmp_path / 'engine.py'}:exact"},
        out=tmp_path / "again",
        budget=2,
        **quiet,
    )
    assert again.detail.recognizers == found.detail.recognizers
    few = stutter(corpus, engines, out=tmp_path / "few", utterances=1, budget=1, **quiet)
    assert few.detail.utterances == 1


def test_another_language_through_textgrids_says_what_it_lacks(material, tmp_path):
    lines = ["id,path,text,speaker,language", *(f"u{n},{n}.wav,Schöne Tür,s{n},de" for n in range(2))]
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tiers = {
        "words": [(0.0, 0.1, ""), (0.1, 0.5, "Schöne"), (0.5, 0.9, "Tür"), (0.9, 1.0, "")],
        "phones": [
            *((0.1, 0.2, "ʃ"), (0.2, 0.3, "ø:"), (0.3, 0.4, "n"), (0.4, 0.5, "ə")),
            *((0.5, 0.6, "t"), (0.6, 0.8, "y:"), (0.8, 0.9, "r"), (0.9, 1.0, "")),
        ],
    }
    grid = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", "1", "<exists>", "2"]
    for name, rows in tiers.items():
        grid += ['"IntervalTier"', f'"{name}"', "0", "1", str(len(rows))]
        grid += [part for a, b, text in rows for part in (str(a), str(b), f'"{text}"')]
    (tmp_path / "grids").mkdir()
    for n in range(2):
        (tmp_path / "grids" / f"{n}.TextGrid").write_text("\n".join(grid), encoding="utf-8")
    found = stutter(
        tmp_path / "manifest.csv",
        {"exact": material[1]["exact"]},
        out=tmp_path / "out",
        budget=4,
        kinds=KINDS,
        timings=tmp_path / "grids",
        cache=False,
        progress=False,
        workers=1,
    )
    cases = pl.read_parquet(tmp_path / "out" / "cases.parquet").filter(pl.col("chain") != "")
    assert set(cases["kind"]) == set(KINDS)
    held = cases.filter(pl.col("kind") == "prolongation")["chain"].str.split(";").list.last()
    assert all("word=0" in chain for chain in held)  # a stop cannot be held
    for answer in (found, stutter(tmp_path / "out")):
        assert {"language", "not_placed"} <= {note.code for note in answer.notes}


@pytest.mark.slow
def test_cases_are_replayed_to_another_recognizer_and_played_on_a_page(manifest, material, tmp_path):
    from voxaudit.review.listen import write_listen

    corpus, engines = manifest
    brought = {f"u{n}": timings() for n in range(4)}
    out, again = tmp_path / "out", tmp_path / "again"
    quiet = {"cache": False, "progress": False, "workers": 1}
    first = stutter(corpus, engines, out=out, budget=4, seeds="0-1", timings=brought, **quiet)
    assert first.question["mode"] == "realistic"
    assert list(first.question["seeds"]) == [0, 1]
    other = stutter(out, {"deaf": material[1]["deaf"]}, out=again, **quiet)
    keys = ("utterance", "chain", "seed", "surface", "r")
    cases = [pl.read_parquet(folder / "cases.parquet").select(keys).sort(keys) for folder in (out, again)]
    assert cases[0].equals(cases[1])
    assert list(other.detail.recognizers) == ["deaf"]
    assert other.detail.recognizers["deaf"].wer == 0.0
    with pytest.raises(VoxauditError, match="another folder"):
        stutter(out, engines, out=out, **quiet)
    count = write_listen(out, tmp_path / "ten.html")
    page = (tmp_path / "ten.html").read_text()
    assert 4 <= count <= 10
    assert page.count("<audio") == count
    assert "of real ones" in page


def test_timings_of_other_recordings_are_refused(manifest, tmp_path):
    corpus, engines = manifest
    with pytest.raises(VoxauditError, match="none of the 1 timings is called like an utterance"):
        stutter(corpus, engines, out=tmp_path / "out", timings={"x": timings()}, cache=False)


def test_a_mistake_in_labels_is_told_before_the_search(manifest, tmp_path):
    corpus, engines = manifest
    with pytest.raises(VoxauditError, match="cannot read this review queue"):
        stutter(corpus, engines, out=tmp_path / "out", labels=tmp_path / "none.jsonl", cache=False)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_asked_names_the_argument(manifest, tmp_path):
    corpus, engines = manifest
    for wrong, said in (
        ({}, "name a folder for what is found (see the argument `out`)"),
        ({"out": tmp_path / "o", "dose": [600]}, "(see the argument `dose`)"),
        ({"out": tmp_path / "o", "budget": 0}, "(see the argument `budget`)"),
        ({"out": tmp_path / "o", "executor": "ray"}, "(see the argument `executor`)"),
        ({"out": tmp_path / "o", "utterances": 2, "attributes": ["accent"]}, "no attribute 'accent'"),
    ):
        with pytest.raises(VoxauditError) as caught:
            stutter(corpus, engines, **wrong)
        assert said in str(caught.value)
    with pytest.raises(VoxauditError, match="a corpus is heard, or the path of one, not int"):
        stutter(7, engines, out=tmp_path / "o")
    assert not (tmp_path / "o").exists()
