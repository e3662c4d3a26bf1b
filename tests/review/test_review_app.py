"""The app over a run: cases, filters, recordings and labels; and what hostile requests and runs get."""

import io
import json
import struct
import zlib

import numpy as np
import polars as pl
import pytest
import soundfile
from made_run import HOSTILE, RATE, tone, write_run, write_stutter

from voxaudit import audio
from voxaudit.audio import Audio, pcm16
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.given import open_given
from voxaudit.perturb.stutter.base import Clip
from voxaudit.perturb.stutter.chain import Chain, StutterScenarios
from voxaudit.perturb.stutter.recordings import read_recordings, write_recordings
from voxaudit.review.app import (
    ASSETS,
    Recent,
    ReviewApp,
    envelope,
    open_sources,
    png,
    review_app,
    show,
    spectrogram,
)
from voxaudit.review.cases import Filters, Sound, Trials, trial_id, trial_keys
from voxaudit.review.store import LabelStore
from voxaudit.review.web import HttpError, Request, asset
from voxaudit.run.folder import clean_corpus, open_run, read_config, write_config
from voxaudit.score.run import score_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = write_run(tmp_path_factory.mktemp("review") / "run")
    write_stutter(home / "stutter")
    return home


@pytest.fixture
def app(folder):
    (folder / "review.sqlite").unlink(missing_ok=True)
    return ReviewApp(folder, "anna")


def get(app, path, **query):
    answer = app.handle(Request("GET", path, query))
    return json.loads(answer.body) if answer.content_type.startswith("application/json") else answer


def label(app, **body):
    return json.loads(app.handle(Request("POST", "/api/label", body=json.dumps(body).encode())).body)


def ids(page):
    return [case["id"] for case in page["cases"]]


def test_about(app):
    about = get(app, "/api/about")
    assert about["name"] == "run"
    assert about["reviewer"] == "anna"
    assert about["labels"] == ["real_fault", "malformed", "fine"]
    trials = about["sources"]["trials"]
    assert trials["total"] == 48
    assert trials["sorts"] == ["wer", "excess", "order"]
    assert trials["scenarios"][0] == "clean"
    assert trials["recognizers"] == ["alpha", "beta"]
    assert trials["groups"] == ["gender=female", "gender=male", "accent=north"]
    assert about["sources"]["stutter"]["total"] == 6


def test_filters(app):
    def total(**query):
        return get(app, "/api/cases", source="trials", **query)["total"]

    assert total() == 48
    assert total(scenario="noise:theta=2") == 12
    assert total(recognizer="beta", scenario="clean") == 6
    assert total(group="gender=female") == 24
    assert total(group="gender=unknown") == 0
    assert total(error="failed") == 1
    assert total(error="empty") == 2
    assert total(error="deletions") == 11 + 2  # one clipped trial failed; nothing heard deletes all
    assert total(error="insertions") == 12
    assert total(error="substitutions") == 10
    assert total(error="any") == 36
    assert total(error="nonsense") == 0
    assert total(text="WEATHER", scenario="clean") == 4
    assert total(text="u0") == 8  # an utterance's id
    assert total(text="[.*") == 0  # no pattern: text


def test_order_and_pages(app):
    first = get(app, "/api/cases", source="trials", size="5")
    rest = get(app, "/api/cases", source="trials", first="5", size="200")
    assert (len(first["cases"]), len(rest["cases"])) == (5, 43)
    assert len(set(ids(first)) | set(ids(rest))) == 48
    rates = [case["wer"] for case in first["cases"] + rest["cases"]]
    known = [rate for rate in rates if rate is not None]
    assert known == sorted(known, reverse=True)
    assert rates[-1] is None  # the trial that failed
    excess = [c["excess"] for c in get(app, "/api/cases", source="trials", sort="excess", size="47")["cases"]]
    assert excess == sorted(excess, reverse=True)
    order = get(app, "/api/cases", source="trials", sort="order", size="2")["cases"]
    assert [one["scenario"] for one in order] == ["clean", "clipping:theta=0.05"]


def test_without_references_cases_come_by_how_much_recognizers_disagree(tmp_path):
    run = write_run(tmp_path / "run")
    table = pl.read_parquet(run / "corpus.parquet").with_columns(text=pl.lit(None, pl.String))
    table.write_parquet(run / "corpus.parquet")
    texts = pl.read_parquet(run / "transcripts.parquet")
    # Alpha and beta hear the same but for three utterances of clean speech.
    heard = {"u0": "turn the light off", "u1": "all of it wrong you see", "u2": "call my"}
    texts = texts.with_columns(
        text=pl.when((pl.col("recognizer") == "beta") & (pl.col("scenario") == "clean"))
        .then(pl.col("utterance").replace_strict(heard, default=pl.col("text")))
        .otherwise("text")
    )
    texts.write_parquet(run / "transcripts.parquet")
    score_run(open_run(run))
    app = ReviewApp(run)
    assert get(app, "/api/about")["sources"]["trials"]["sorts"] == ["disagreement", "order"]
    page = get(app, "/api/cases", source="trials", size="48")["cases"]
    first = [(one["utterance"], round(one["disagreement"], 3)) for one in page[:6]]
    # Five words against six, none alike; two of four missing; one of four another.
    assert first == [("u1", 1.0), ("u1", 1.0), ("u2", 0.5), ("u2", 0.5), ("u0", 0.25), ("u0", 0.25)]
    assert page[6]["disagreement"] == 0.0
    assert page[0]["wer"] is None
    # Beta had no answer to one: there is nobody to disagree with, and both come last.
    assert [one["disagreement"] for one in page[-2:]] == [None, None]
    case = get(app, "/api/case", source="trials", id=page[4]["id"])
    other = {"alpha": "turn the light off", "beta": "turn the light on"}[page[4]["recognizer"]]
    assert [one["heard"] for one in case["heard_by_others"]] == [other]


def test_references_in_doubt_are_a_kind_of_error_of_their_own(tmp_path):
    run = write_run(tmp_path / "run")
    texts = pl.read_parquet(run / "transcripts.parquet")
    # A third recognizer, and two of three hear another word than the reference of u0 has.
    third = texts.filter(pl.col("recognizer") == "alpha").with_columns(recognizer=pl.lit("gamma"))
    other = (pl.col("utterance") == "u0") & (pl.col("scenario") == "clean") & (pl.col("recognizer") != "beta")
    texts = pl.concat([texts, third]).with_columns(
        text=pl.when(other).then(pl.lit("turn the lamp on")).otherwise("text")
    )
    texts.write_parquet(run / "transcripts.parquet")
    config = read_config(run)
    write_config(run, {**config, "recognizers": {name: {} for name in ("alpha", "beta", "gamma")}})
    score_run(open_run(run))
    app = ReviewApp(run)
    assert "reference" in get(app, "/api/about")["sources"]["trials"]["errors"]
    page = get(app, "/api/cases", source="trials", error="reference", size="48")["cases"]
    assert {(one["utterance"], one["scenario"]) for one in page} == {("u0", "clean")}
    assert len(page) == 3
    case = get(app, "/api/case", source="trials", id=page[0]["id"])
    assert len(case["heard_by_others"]) == 2


def test_one_recognizer_without_references_disagrees_with_what_it_heard_in_clean_speech(tmp_path):
    run = write_run(tmp_path / "run")
    table = pl.read_parquet(run / "corpus.parquet").with_columns(text=pl.lit(None, pl.String))
    table.write_parquet(run / "corpus.parquet")
    texts = pl.read_parquet(run / "transcripts.parquet").filter(pl.col("recognizer") == "alpha")
    texts.write_parquet(run / "transcripts.parquet")
    score_run(open_run(run))
    found = Trials(open_run(run)).page(Filters(), 0, 47).cases
    assert [one["disagreement"] for one in found[:6]] == [1.0] * 6
    assert {one["scenario"] for one in found[:6]} == {"scale:theta=0.5"}
    assert {one["scenario"] for one in found[-6:]} == {"clean"}


def test_a_trial_in_full(app):
    case = get(app, "/api/case", source="trials", id=trial_id("alpha", "clipping:theta=0.05", "u0"))
    assert (case["said"], case["heard"], case["clean"]) == (
        "turn the light on",
        "turn the light",
        "turn the light on",
    )
    assert case["diff"][-1] == ["delete", "on", ""]
    assert {kind for kind, *_ in case["clean_diff"]} == {"equal"}
    assert case["wer"] == pytest.approx(0.25)
    assert case["excess"] == pytest.approx(0.25)
    assert case["attributes"] == {"gender": "male", "accent": "north"}
    assert case["sides"] == ["original", "changed"]
    clean = get(app, "/api/case", source="trials", id=trial_id("alpha", "clean", "u0"))
    assert clean["sides"] == ["original"]
    failed = get(app, "/api/case", source="trials", id=trial_id("beta", "clipping:theta=0.05", "u1"))
    assert (failed["failure"], failed["heard"], failed["diff"]) == ("recognizer: it hung", None, None)


def test_without_a_reference_the_clean_transcript_is_the_yardstick(tmp_path):
    home = write_run(tmp_path / "run")
    corpus = pl.read_parquet(home / "corpus.parquet").with_columns(text=pl.lit(None, pl.String))
    corpus.write_parquet(home / "corpus.parquet")
    (home / "scores.parquet").unlink()
    app = ReviewApp(home)
    case = get(app, "/api/case", source="trials", id=trial_id("alpha", "noise:theta=2", "u0"))
    assert (case["against"], case["said"], case["wer"]) == ("clean", None, None)
    assert case["diff"][0] == ["insert", "", "um"]


def test_a_trial_sounds_as_the_recognizer_heard_it(app, folder):
    query = {"source": "trials", "id": trial_id("alpha", "noise:theta=2", "u2")}
    original = audio.read(folder / "audio" / "clip2.wav")
    expected = parse_scenario("noise:theta=2").apply(original, seed=3, utterance="u2")
    answer = get(app, "/api/audio", side="changed", **query)
    assert answer.ranges
    samples, rate = soundfile.read(io.BytesIO(answer.body), dtype="int16")
    assert rate == RATE
    assert np.array_equal(samples, pcm16(expected.samples))
    untouched, _ = soundfile.read(
        io.BytesIO(get(app, "/api/audio", side="original", **query).body), dtype="int16"
    )
    assert np.array_equal(untouched, pcm16(original.samples))
    wave = get(app, "/api/wave", side="changed", **query)
    assert wave["duration"] == pytest.approx(0.8)
    assert get(app, "/api/spectrogram", side="changed", **query).body.startswith(b"\x89PNG")


def test_audio_that_was_given_for_a_scenario_is_what_is_played(tmp_path):
    """It stands in run.json under the scenario's id, where noise and rooms stand under a perturbation's name."""
    home = write_run(tmp_path / "run")
    (tmp_path / "made").mkdir()
    soundfile.write(tmp_path / "made" / "clip2.wav", np.full(800, 0.25), RATE)
    config = json.loads((home / "run.json").read_text())
    source = open_given("noise:theta=2", tmp_path / "made", clean_corpus(open_run(home)))
    about = {
        "description": source.describe(),
        "fingerprint": source.fingerprint(),
        "folder": source.folder,
    }
    (home / "run.json").write_text(json.dumps({**config, "sources": {"noise:theta=2": about}}))
    query = {"source": "trials", "id": trial_id("alpha", "noise:theta=2", "u2"), "side": "changed"}
    samples, _ = soundfile.read(io.BytesIO(get(ReviewApp(home), "/api/audio", **query).body))
    assert np.array_equal(samples, np.full(800, 0.25))


def test_a_stuttered_case_sounds_as_the_recognizer_heard_it(app, folder):
    case = get(app, "/api/cases", source="stutter")["cases"][4]
    query = {"source": "stutter", "id": case["id"], "side": "changed"}
    samples, _ = soundfile.read(io.BytesIO(get(app, "/api/audio", **query).body), dtype="int16")
    replay = open_sources(folder)["stutter"]._replay
    timings = {"clip": replay.recordings["clip"].timings}
    clip = audio.read(folder / "stutter" / "clip.wav")
    heard = StutterScenarios(timings)[case["scenario"]].apply(clip, seed=0, utterance="clip")
    assert np.array_equal(samples, pcm16(heard.samples))
    wave = get(app, "/api/wave", **query)
    assert wave["duration"] > 1.0
    said = [what for *_, what in wave["edits"]]
    assert len(said) == 2
    assert all(what.startswith("word repetition, repeated ") for what in said)
    # The word at 0.4 s comes again right after itself, and moves the last word's repetition on.
    (first, last, _), (later, *_) = wave["edits"]
    assert 0.35 < first < last < 1.0
    assert later > last - 0.01


def test_a_queue_without_recordings_can_still_be_labeled(tmp_path):
    app = ReviewApp(write_stutter(tmp_path / "stutter", listen=False))
    id_ = ids(get(app, "/api/cases", source="stutter"))[0]
    case = get(app, "/api/case", source="stutter", id=id_)
    assert case["sides"] == []
    assert "run the stutter audit again" in case["silent"]
    with pytest.raises(HttpError):
        get(app, "/api/audio", source="stutter", id=id_, side="original")
    assert label(app, source="stutter", id=id_, reviewer="anna", label="fine")["saved"]["label"] == "fine"


def test_two_reviewers_do_not_see_each_others_labels_before_their_own(app, folder):
    id_ = ids(get(app, "/api/cases", source="stutter"))[0]
    label(app, source="stutter", id=id_, reviewer="anna", label="real_fault", kind="word_repetition")
    unseen = get(app, "/api/case", source="stutter", id=id_, reviewer="ben")
    assert (unseen["mine"], unseen["others"], unseen["decision"]) == (None, [], None)
    assert unseen["disputed"] is False
    answer = label(app, source="stutter", id=id_, reviewer="ben", label="fine", comment="clear to me")
    assert [(one["reviewer"], one["label"]) for one in answer["others"]] == [("anna", "real_fault")]
    assert answer["disputed"] is True
    assert answer["decision"]["by"] == "tie"
    assert ids(get(app, "/api/cases", source="stutter", reviewer="ben", status="disputed")) == [id_]
    assert ids(get(app, "/api/cases", source="stutter", reviewer="carl", status="disputed")) == []
    assert get(app, "/api/cases", source="stutter", reviewer="ben", status="unlabeled")["total"] == 5
    assert get(app, "/api/cases", source="stutter", reviewer="ben", status="labeled")["total"] == 1
    assert get(app, "/api/progress", source="stutter", reviewer="ben")["mine"] == 1
    assert get(app, "/api/cases", source="stutter", reviewer="ben")["cases"][0]["label"] == "fine"
    assert [one.reviewer for one in LabelStore(folder).current()] == ["anna", "ben"]
    settled = label(app, source="stutter", id=id_, reviewer="ben", label="fine", final=True)
    assert (settled["decision"]["label"], settled["decision"]["by"]) == ("fine", "final")
    found = get(app, "/api/agreement", source="stutter")
    assert found["reviewers"] == {"anna": 1}
    export = get(app, "/api/export", format="csv")
    assert export.headers["Content-Disposition"] == 'attachment; filename="labels.csv"'
    assert b"clear to me" not in export.body  # the comment of a label that was replaced
    assert b"anna" in export.body


def test_labels_of_trials_filter_trials(app):
    page = get(app, "/api/cases", source="trials", scenario="noise:theta=2")
    label(app, source="trials", id=ids(page)[3], reviewer="anna", label="malformed")
    rest = get(
        app, "/api/cases", source="trials", scenario="noise:theta=2", reviewer="anna", status="unlabeled"
    )
    assert ids(rest) == [one for n, one in enumerate(ids(page)) if n != 3]
    mine = get(app, "/api/cases", source="trials", reviewer="anna", status="labeled")
    assert ids(mine) == [ids(page)[3]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"source": "trials"},
        {"source": ["trials"], "id": "x"},
        {"source": "trials", "id": 5},
        {"source": "trials", "id": "no such case", "reviewer": "anna", "label": "fine"},
        {"source": "trials", "id": "[" * 5000, "reviewer": "anna", "label": "fine"},
        {"source": "stutter", "id": "\ud800", "reviewer": "anna", "label": "fine"},
    ],
)
def test_labels_that_name_no_case_are_refused(app, folder, body):
    with pytest.raises(HttpError):
        label(app, **body)
    assert LabelStore(folder).history() == []


def test_labels_that_are_none_are_refused(app, folder):
    id_ = ids(get(app, "/api/cases", source="stutter"))[0]
    for wrong in (
        {"label": "bad"},
        {"label": "fine", "reviewer": ""},
        {"label": "fine", "comment": "x" * 3000},
    ):
        with pytest.raises(VoxauditError):
            label(app, **({"source": "stutter", "id": id_, "reviewer": "anna"} | wrong))
    assert LabelStore(folder).history() == []


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/api/case", "/api/audio", "/api/wave", "/api/spectrogram", "/api/cases"])
@pytest.mark.parametrize("name", ["id", "side", "source"])
@pytest.mark.parametrize(
    "value",
    ["../../etc/passwd", "/etc/passwd", "..%2f..%2fetc", "file:///etc/passwd", "\x00", "\ud800", "a" * 9000],
)
def test_no_parameter_reaches_a_file(app, path, name, value):
    query = {"source": "trials", "id": trial_id("alpha", "clean", "u0"), "side": "original"} | {name: value}
    if path == "/api/cases" and name != "source":
        assert get(app, path, **query)["total"] == 48  # neither is a parameter of the list
        return
    if path == "/api/case" and name == "side":
        return
    with pytest.raises(HttpError) as refused:
        get(app, path, **query)
    assert refused.value.status == 404


@pytest.mark.parametrize("name", ["scenario", "recognizer", "group", "error", "text", "kind", "sort"])
def test_hostile_filters_match_nothing_and_break_nothing(app, name):
    for value in (*HOSTILE, "' OR 1=1 --", "(", "\ud800"):
        for source in ("trials", "stutter"):
            assert get(app, "/api/cases", source=source, **{name: value})["total"] in (0, 6, 48)


@pytest.mark.parametrize("number", ["-1", "1e9", "a", "", "٣", "9" * 50, "201"])
def test_page_numbers(app, number):
    with pytest.raises(HttpError):
        get(app, "/api/cases", source="trials", size=number)


def test_only_packaged_files_are_served(app):
    for path, name in ASSETS.items():
        answer = get(app, path)
        assert answer.body == asset("voxaudit.review", name).body
    assert b"--accent" in get(app, "/theme.css").body
    for path in (
        "/app.py",
        "/assets/main.js",
        "/review.sqlite",
        "/run.json",
        "/audio/clip0.wav",
        "//etc/passwd",
    ):
        with pytest.raises(HttpError):
            get(app, path)
    with pytest.raises(HttpError):
        app.handle(Request("POST", "/api/export"))


def test_a_hostile_run_is_shown_as_it_is(tmp_path):
    home = write_run(tmp_path / "run", hostile=True)
    write_stutter(home / "stutter", hostile=True)
    app = ReviewApp(home)
    for source in ("trials", "stutter"):
        for id_ in ids(get(app, "/api/cases", source=source, size="100")):
            case = get(app, "/api/case", source=source, id=id_)
            assert case["id"] == id_
            for side in case["sides"]:
                assert get(app, "/api/audio", source=source, id=id_, side=side).body[:4] == b"RIFF"
    assert get(app, "/api/cases", source="trials", group="<b>accent</b>=<i>x</i>=y")["total"] == 48


def test_a_recording_that_is_gone_is_one_line(tmp_path):
    home = write_run(tmp_path / "run")
    (home / "audio" / "clip0.wav").unlink()
    with pytest.raises(VoxauditError, match="no such audio file"):
        get(
            ReviewApp(home),
            "/api/audio",
            source="trials",
            id=trial_id("alpha", "clean", "u0"),
            side="original",
        )


def test_a_queue_that_was_written_anew_is_read_again(tmp_path):
    home = write_stutter(tmp_path / "stutter", cases=2)
    app = ReviewApp(home)
    assert get(app, "/api/cases", source="stutter")["total"] == 2
    write_stutter(home, cases=5)
    assert get(app, "/api/cases", source="stutter")["total"] == 5
    (home / "suspicious.jsonl").write_text("{}\n")
    with pytest.raises(VoxauditError, match="line 1 is not a case"):
        get(app, "/api/cases", source="stutter")


def test_a_folder_with_nothing_to_review(tmp_path):
    with pytest.raises(VoxauditError, match="nothing to review here"):
        review_app(tmp_path)
    assert not (tmp_path / "review.sqlite").exists()


def test_trial_ids():
    assert trial_keys(trial_id("a|b", 's"', "u,1")) == ("a|b", 's"', "u,1")
    for text in ("", "[]", "[1,2,3]", '["a","b"]', "{}", "[" * 100_000):
        assert trial_keys(text) is None


def test_a_recording_is_made_once_and_old_ones_are_let_go():
    made = []

    def make(name, seconds=0.5):
        def sound():
            made.append(name)
            return Sound(Audio(np.zeros(int(RATE * seconds), np.float32), RATE))

        return sound

    recent = Recent(limit=100_000)
    for name in ("a", "b", "a", "b", "c", "d", "e", "d", "a"):
        assert recent.get((name,), make(name)).wav[:4] == b"RIFF"
    assert made == ["a", "b", "c", "d", "e", "a"]
    assert recent.get(("none",), lambda: None) is None


def test_the_envelope_keeps_every_peak():
    samples = np.zeros(100_003, np.float32)
    samples[777], samples[99_999] = 0.9, -0.8
    low, high = envelope(samples)
    assert (len(low), len(high)) == (800, 800)
    assert max(high) == pytest.approx(0.9, abs=1e-4)
    assert min(low) == pytest.approx(-0.8, abs=1e-4)
    assert envelope(np.array([0.5], np.float32)) == ([0.5], [0.5])
    assert envelope(np.array([], np.float32)) == ([], [])


def pixels(data):
    """Decode a PNG with a palette, checking every chunk."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        parts[name] = body
        at += 12 + length
    width, height = struct.unpack(">II", parts[b"IHDR"][:8])
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def test_png():
    values = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert np.array_equal(pixels(png(values)), values)


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100])
def test_a_tone_is_a_line_at_its_pitch(rate):
    time = np.arange(rate) / rate
    samples = (0.5 * np.sin(2 * np.pi * 2000 * time)).astype(np.float32)
    picture = pixels(spectrogram(Audio(samples, rate)))
    top = min(8000, rate / 2)
    brightest = picture.mean(axis=1).argmax()
    assert abs((1 - (brightest + 0.5) / len(picture)) * top - 2000) < 150


@pytest.mark.parametrize("length", [1, 7, 400])
def test_tiny_and_silent_recordings_can_be_shown(length):
    shown = show(Sound(Audio(np.zeros(length, np.float32), 16_000)))
    assert pixels(shown.spectrogram).size
    assert shown.wave["peak"] == 0.0


def test_fillers_of_another_voice_are_replayed_too(tmp_path):
    home = write_stutter(tmp_path / "stutter")
    replay = read_recordings(home)
    recording = replay.recordings["clip"]
    filler = Clip("u/m", Audio(tone(0.3, 200.0), 22_050))
    write_recordings(home, [recording], [filler])
    chain = f"interjection:before=1,word=0,clip={filler.key};word_repetition:word=2"
    again = read_recordings(home)
    assert [clip.key for clip in again.clips] == [filler.key]
    made, edits = again.stuttered("clip", chain)
    original = again.original("clip")
    expected, _ = Chain.parse(chain)(original.samples, original.rate, recording.timings, (filler,))
    assert np.array_equal(made.samples, expected)
    assert len(edits) == 2
    assert read_recordings(tmp_path) is None


def test_a_corpus_in_a_role_has_one_recording(tmp_path):
    home = write_run(tmp_path / "run", scenarios=("clean", "accented"))
    config = json.loads((home / "run.json").read_text())
    config["corpora"] = {"accented": {"utterances": 0}}
    (home / "run.json").write_text(json.dumps(config))
    app = ReviewApp(home)
    query = {"source": "trials", "id": trial_id("alpha", "accented", "u0")}
    assert get(app, "/api/case", **query)["sides"] == ["original"]
    assert get(app, "/api/audio", side="original", **query).body[:4] == b"RIFF"
    with pytest.raises(HttpError):
        get(app, "/api/audio", side="changed", **query)
