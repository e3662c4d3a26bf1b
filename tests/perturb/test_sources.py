import json
import shutil

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.audio import Audio
from voxaudit.config import load_config
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario, parse_scenarios, trial_generator
from voxaudit.perturb.sources import (
    describe_sources,
    open_source,
    open_sources,
    other_speakers,
    reopen_sources,
)
from voxaudit.perturb.sources.builtin import TALKERS
from voxaudit.perturb.sources.cut import Kept, cut, made_once
from voxaudit.perturb.sources.folder import Clip, Recordings


def write(path, samples, rate=8000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.asarray(samples, np.float32), rate, subtype="FLOAT")


def tone(hertz, count=4000, rate=8000):
    return 0.3 * np.sin(2 * np.pi * hertz * np.arange(count) / rate)


def generator(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


# A clip becomes a stretch.


def test_a_long_clip_is_cut_and_a_short_one_repeated():
    clip = np.arange(1, 11, dtype=np.float32)
    for seed in range(20):
        piece = cut(clip, 4, generator(seed))
        assert list(np.diff(piece)) == [1, 1, 1]
        looped = cut(clip, 25, generator(seed))
        assert len(looped) == 25
        assert set(np.diff(looped)) == {1.0, -9.0}
    assert len({cut(clip, 4, generator(seed))[0] for seed in range(50)}) == 7


def test_a_silent_place_is_drawn_again_and_at_last_the_loudest_is_taken():
    clip = np.zeros(100_000, np.float32)
    clip[70_000] = 0.5
    for seed in range(20):
        assert 0.5 in cut(clip, 10, generator(seed))
    faint = clip + np.float32(1e-6)
    assert 0.5 in np.round(cut(faint, 10, generator()), 3)


def test_kept_clips_stay_within_their_bytes():
    kept = Kept(limit=1000)
    made = []

    def maker(number):
        made.append(number)
        return np.full(100, number, np.float32)

    for number in range(10):
        assert kept.get(number, lambda number=number: maker(number))[0] == number
        assert kept.size <= 1000
    kept.get(9, lambda: maker(9))
    kept.get(0, lambda: maker(0))
    assert made == [*range(10), 0]
    with pytest.raises(ValueError, match="read-only"):
        kept.get(0, lambda: maker(0))[0] = 1


def test_a_clip_made_by_formula_is_made_once_and_again_where_the_file_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path))
    made = []

    def maker():
        made.append(1)
        return np.arange(100, dtype=np.float32)

    for _ in range(3):
        assert list(made_once("café-1", maker)) == list(range(100))
    assert len(made) == 1
    (file,) = (tmp_path / "clips").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:200], whole[:-1] + b"x", b"\x80\x04."):
        file.write_bytes(damaged)
        assert list(made_once("café-1", maker)) == list(range(100))
        assert file.read_bytes() == whole
    monkeypatch.setenv("VOXAUDIT_CACHE", str(file))  # a file in the place of the folder: nothing can be kept
    assert list(made_once("café-1", maker)) == list(range(100))


def test_a_long_recording_is_read_in_pieces(tmp_path):
    # Ninety seconds of which only the last five sound: every draw must find them.
    samples = np.zeros(90 * 1000)
    samples[85 * 1000 :] = tone(100, 5000, 1000)
    write(tmp_path / "long.wav", samples, 1000)
    source = open_source("music", tmp_path)
    for seed in range(10):
        stretch = source.draw(2000, 1000, generator(seed))
        assert len(stretch) == 2000
        assert np.abs(stretch).max() > 0.2
    assert len(source.draw(200_000, 1000, generator())) == 200_000


# Folders.


def layout(root, files):
    for number, name in enumerate(files):
        write(root / name, tone(100 + 10 * number))
    return root


@pytest.mark.parametrize(
    ("name", "files", "collection", "count"),
    [
        ("environment_esc50", ["audio/1-1-A-0.wav", "audio/1-2-A-0.wav", "meta/x.wav"], "ESC-50", 2),
        ("environment_ms_snsd", ["noise_test/a.wav", "noise_train/b.wav", "noise_train/c.wav"], "MS-SNSD", 1),
        ("environment_musan", ["noise/free/a.wav", "music/b.wav", "music/c.wav", "speech/d.wav"], "MUSAN", 1),
        ("music", ["noise/free/a.wav", "music/b.wav", "music/c.wav", "speech/d.wav"], "MUSAN", 2),
        ("crosstalk", ["noise/free/a.wav", "music/b.wav", "speech/d.wav"], "MUSAN", 1),
        ("environment_wham", ["tr/a.wav", "cv/b.wav", "tt/c.wav", "tt/d.wav", "tt/e.wav"], "WHAM!", 3),
        ("environment_musan", ["simulated_rirs/a.wav", "pointsource_noises/b.wav"], "RIRS_NOISES", 1),
        ("environment_wham", ["a.wav", "deep/er/b.wav", "notes.txt", ".hidden.wav"], "folder", 2),
        ("crosstalk", ["manifest.csv", "audio/anna-1.wav", "audio/bob-1.wav"], "folder", 2),
        ("environment_esc50", ["manifest.csv", "audio/1-100032-A-0.wav"], "ESC-50", 1),
    ],
)
def test_layouts_are_recognized(tmp_path, name, files, collection, count):
    layout(tmp_path, [file for file in files if file.endswith("wav")])
    if "manifest.csv" in files:
        (tmp_path / "manifest.csv").write_text("audio\n")
    elif collection == "ESC-50":
        (tmp_path / "meta/esc50.csv").write_text("filename,fold\n")
    source = open_source(name, tmp_path)
    assert source.describe().startswith(f"{collection} ")
    assert f"{tmp_path}: {count} clips" in source.describe()
    assert len(source.draw(500, 16000, generator())) == 500


def test_a_fingerprint_follows_the_content_and_not_the_place(tmp_path):
    here = layout(tmp_path / "here", ["b.wav", "a.wav"])
    first = open_source("music", here)
    moved = open_source("music", shutil.copytree(here, tmp_path / "there"))
    assert moved.fingerprint() == first.fingerprint()
    assert np.array_equal(first.draw(99, 8000, generator()), moved.draw(99, 8000, generator()))
    write(tmp_path / "there/a.wav", tone(500))
    assert open_source("music", tmp_path / "there").fingerprint() != first.fingerprint()
    # The order counts: it decides which clip is drawn.
    swapped = shutil.copytree(here, tmp_path / "swapped")
    (swapped / "a.wav").rename(swapped / "c.wav")
    assert open_source("music", swapped).fingerprint() != first.fingerprint()


def test_files_that_cannot_serve_are_left_out_and_counted(tmp_path):
    layout(tmp_path, ["good.wav"])
    write(tmp_path / "silent.wav", np.zeros(100))
    write(tmp_path / "nan.wav", [np.nan, 1.0])
    (tmp_path / "broken.wav").write_bytes(b"RIFF nothing")
    (tmp_path / "empty.flac").write_bytes(b"")
    described = open_source("environment_wham", tmp_path).describe()
    assert described == f"folder {tmp_path}: 1 clips (left out: 1 not finite, 1 silent, 2 unreadable)"
    (tmp_path / "good.wav").unlink()
    with pytest.raises(
        VoxauditError, match=r"none of the 4 audio files can be used \(1 not finite, 1 silent"
    ):
        open_source("environment_wham", tmp_path)


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("environment_wham", None, "no such folder"),
        ("environment_wham", [], "no audio in this folder"),
        ("music", ["noise_test/a.wav"], "a folder of MS-SNSD, in which there is no music"),
        ("crosstalk", ["noise/a.wav", "music/b.wav"], r"there is no speech \(no folder 'speech'\)"),
        ("gain", [], "'gain' takes no source. Known: environment_ms_snsd"),
        ("environment_esc", [], r"is not a perturbation. Did you mean: environment_esc50"),
    ],
)
def test_folders_that_cannot_serve_are_one_line(tmp_path, name, files, message):
    folder = tmp_path / "x"
    if files is not None:
        folder.mkdir()
        layout(folder, files)
    with pytest.raises(VoxauditError, match=message) as caught:
        open_sources({name: folder}, [name])
    assert "\n" not in str(caught.value)


def test_a_folder_that_no_scenario_uses_is_not_read_but_must_exist(tmp_path):
    (tmp_path / "x").mkdir()
    assert open_sources({"music": tmp_path / "x"}, ["rir"]) == {}
    with pytest.raises(VoxauditError, match="no such folder, for music"):
        open_sources({"music": tmp_path / "y"}, ["rir"])


# Other speakers of the corpus.


def corpus(tmp_path, speakers, *, silent=()):
    for number in range(len(speakers)):
        # Speaker s talks at (s + 1) * 100 Hz, so that who is heard can be told from the spectrum.
        hertz = 100 * (1 + int((speakers[number] or "s0")[1:]))
        write(tmp_path / f"{number}.wav", 0 * tone(hertz) if number in silent else tone(hertz))
    table = pl.DataFrame(
        {
            "id": [f"u{number}" for number in range(len(speakers))],
            "audio": [str(tmp_path / f"{number}.wav") for number in range(len(speakers))],
            "speaker": speakers,
            "text": ["x"] * len(speakers),
            "start": [None] * len(speakers),
            "duration": [None] * len(speakers),
        },
        schema_overrides={"start": pl.Float64, "duration": pl.Float64, "speaker": pl.String},
    )
    return Corpus(name="toy", format="manifest", source=str(tmp_path), table=table)


def heard_hertz(samples, before):
    noise = samples.astype(np.float64) - before
    return round(float(np.argmax(np.abs(np.fft.rfft(noise)))) * 8000 / len(noise) / 100) * 100


def test_crosstalk_is_never_the_utterances_own_speaker(tmp_path):
    speakers = ["s0", "s1", "s2", "s0", "s1", "s2"]
    source = other_speakers(corpus(tmp_path, speakers))
    assert source.describe().startswith("other speakers of the corpus toy: 6 clips of 3 speakers")
    scenario = parse_scenario("crosstalk:4", {"crosstalk": source})
    before = tone(1000)
    for number, speaker in enumerate(speakers):
        own = 100 * (1 + int(speaker[1:]))
        heard = {
            heard_hertz(
                scenario.apply(
                    Audio(before.astype(np.float32), 8000), seed=seed, utterance=f"u{number}"
                ).samples,
                before,
            )
            for seed in range(30)
        }
        assert heard == {100, 200, 300} - {own}


def test_unknown_speakers_hear_synthetic_talkers_and_silent_clips_are_not_used(tmp_path):
    source = other_speakers(corpus(tmp_path, ["s0", "s1", None, "s2"], silent=[3]))
    assert "2 clips of 2 speakers" in source.describe()
    assert source.for_utterance("u2") is TALKERS
    marks = {source.for_utterance(f"u{number}").fingerprint() for number in (0, 1, 2, 3)}
    assert len(marks) == 4


@pytest.mark.parametrize("speakers", [[None, None], ["s0", "s0"], []])
def test_without_two_speakers_crosstalk_is_synthetic(tmp_path, speakers):
    assert other_speakers(corpus(tmp_path, speakers)) is TALKERS


def test_the_pool_is_bounded_covers_the_speakers_and_does_not_depend_on_the_order(tmp_path):
    speakers = [f"s{number % 20}" for number in range(200)]
    whole = corpus(tmp_path, speakers)
    source = other_speakers(whole)
    assert len(source.clips) == 64
    assert len(set(source.speakers)) == 20
    shuffled = Corpus("toy", "manifest", whole.table.sample(fraction=1.0, shuffle=True, seed=4))
    assert other_speakers(shuffled).fingerprint() == source.fingerprint()


def test_segments_of_one_recording_are_read_as_segments(tmp_path):
    write(tmp_path / "all.wav", np.concatenate([tone(100, 8000), tone(300, 8000)]))
    table = pl.DataFrame(
        {
            "id": ["a", "b"],
            "audio": [str(tmp_path / "all.wav")] * 2,
            "speaker": ["s0", "s2"],
            "text": ["x"] * 2,
            "start": [0.0, 1.0],
            "duration": [1.0, 1.0],
        }
    )
    source = other_speakers(Corpus("toy", "manifest", table))
    stretch = source.for_utterance("a").draw(8000, 8000, generator())
    assert heard_hertz(stretch, np.zeros(8000)) == 300


# From audit.toml to the workers, and back.


def audit(tmp_path, sources):
    write(tmp_path / "speech/0.wav", tone(200))
    (tmp_path / "audit.toml").write_text(
        f'[corpus]\npath = "speech"\n[recognizers.moonshine]\n[sources]\n{sources}\n'
    )
    return load_config(tmp_path / "audit.toml")


def test_the_configuration_names_folders_beside_it(tmp_path):
    config = audit(tmp_path, 'music = "my/music"\nrir = "/rooms"')
    assert config.sources["music"] == tmp_path / "my/music"
    assert str(config.sources["rir"]) == "/rooms"
    with pytest.raises(VoxauditError, match="sources takes text only, not 3"):
        audit(tmp_path, "music = 3")


def test_a_runs_sources_are_written_down_and_can_be_opened_again(tmp_path):
    folder = layout(tmp_path / "noise", ["a.wav", "b.wav"])
    whole = corpus(tmp_path / "speech", ["s0", "s1"])
    ids = ["music:1", "music:2", "crosstalk:1", "rir:1", "gain:1"]
    scenarios = parse_scenarios(ids, open_sources({"music": folder}, ["music", "crosstalk", "rir"], whole))
    written = json.loads(json.dumps(describe_sources(scenarios)))
    assert set(written) == {"music", "crosstalk", "rir"}
    assert written["rir"]["description"].startswith("simulated: a new room for every trial")
    again = parse_scenarios(ids, reopen_sources(written, whole))
    for one, other in zip(scenarios, again, strict=True):
        assert one.fingerprint(seed=1, utterance="u0") == other.fingerprint(seed=1, utterance="u0")
    write(folder / "a.wav", tone(900))
    with pytest.raises(VoxauditError, match="the recordings for music are not those of the run"):
        reopen_sources(written, whole)


def test_a_vanished_clip_fails_its_trial_with_its_name(tmp_path):
    source = Recordings("gone", (Clip(str(tmp_path / "gone.wav"), 0.0, 1.0),), "0")
    with pytest.raises(VoxauditError, match=r"gone\.wav: no such audio file"):
        source.draw(10, 8000, trial_generator(1, "s", "u"))
