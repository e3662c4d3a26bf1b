import struct

import numpy as np
import pytest
import soundfile

from voxaudit import audio
from voxaudit.audio import Audio, AudioError


def tone(rate: int = 16000, seconds: float = 0.5, hertz: float = 440.0) -> np.ndarray:
    return (0.4 * np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate)).astype(np.float32)


@pytest.mark.parametrize(("ending", "subtype"), [("wav", "PCM_16"), ("wav", "FLOAT"), ("flac", "PCM_16")])
def test_lossless_formats_come_back_as_they_were(tmp_path, ending, subtype):
    path = tmp_path / f"a.{ending}"
    audio.write(path, Audio(tone(), 16000), subtype)
    back = audio.read(path)
    assert back.rate == 16000
    assert back.samples.dtype == np.float32
    assert np.abs(back.samples - tone()).max() <= (0.0 if subtype == "FLOAT" else 1 / 32768)


@pytest.mark.parametrize(("ending", "format_", "subtype"), [("mp3", "MP3", None), ("ogg", "OGG", "VORBIS")])
def test_lossy_formats_are_read(tmp_path, ending, format_, subtype):
    path = tmp_path / f"a.{ending}"
    soundfile.write(path, tone(seconds=1.0), 16000, format=format_, subtype=subtype)
    back = audio.read(path)
    spectrum = np.abs(np.fft.rfft(back.samples[:16000]))
    assert abs(int(spectrum.argmax()) * back.rate / 16000 - 440) < 5


def test_channels_are_averaged(tmp_path):
    path = tmp_path / "stereo.wav"
    soundfile.write(path, np.stack([tone(), -tone()], axis=1), 16000, subtype="FLOAT")
    assert np.abs(audio.read(path).samples).max() == 0.0


def test_a_segment_is_cut_out(tmp_path):
    path = tmp_path / "a.wav"
    ramp = (np.arange(1000) / 1000).astype(np.float32)
    soundfile.write(path, ramp, 1000, subtype="FLOAT")
    part = audio.read(path, start=0.25, duration=0.5)
    assert np.array_equal(part.samples, ramp[250:750])
    assert part.duration == 0.5


@pytest.mark.parametrize("rate", [8000, 44100, 48000])
def test_resampling_keeps_length_and_pitch(rate):
    out = audio.resample(Audio(tone(rate, 1.0), rate), 16000)
    assert abs(len(out.samples) - 16000) <= 1
    assert abs(int(np.abs(np.fft.rfft(out.samples)).argmax()) - 440) <= 1


@pytest.mark.parametrize("rate", [8000, 44100])
def test_one_sample_survives_resampling(rate):
    out = audio.resample(Audio(np.array([0.25], np.float32), rate), 16000)
    assert len(out.samples) >= 1
    assert np.isfinite(out.samples).all()


def broken(kind: str, path) -> None:
    if kind == "missing":
        return
    if kind == "nan":
        soundfile.write(path, np.array([0.1, np.nan], np.float32), 16000, subtype="FLOAT")
    elif kind == "no samples":
        soundfile.write(path, np.zeros(0, np.float32), 16000)
    elif kind == "empty file":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("this is not audio")
    elif kind == "header only":
        soundfile.write(path, tone(), 16000)
        path.write_bytes(path.read_bytes()[:30])
    elif kind == "folder":
        path.mkdir()


@pytest.mark.parametrize(
    "kind", ["missing", "nan", "no samples", "empty file", "text", "header only", "folder"]
)
def test_unusable_audio_is_one_line_that_names_the_file(tmp_path, kind):
    path = tmp_path / "bad name\n.wav"
    broken(kind, path)
    with pytest.raises(AudioError) as caught:
        audio.read(path)
    assert "bad name" in str(caught.value)


KINDS = {
    "a.wav": ("WAV", "PCM_16"), "a.aiff": ("AIFF", "PCM_16"), "a.au": ("AU", "PCM_16"), "a.flac": ("FLAC", "PCM_16"),
    "a.mp3": ("MP3", "MPEG_LAYER_III"), "a.ogg": ("OGG", "VORBIS"), "a.opus": ("OGG", "OPUS"),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_recording_that_was_cut_short_is_not_heard_as_a_shorter_one(tmp_path, name):
    path = tmp_path / name
    noise = (0.1 * np.random.default_rng(1).standard_normal(5 * 16000)).astype(np.float32)
    soundfile.write(path, noise, 16000, format=KINDS[name][0], subtype=KINDS[name][1])
    assert audio.read(path).duration == pytest.approx(5.0, abs=0.001)
    whole = path.read_bytes()
    for part in (0.5, 0.77, 0.9):
        path.write_bytes(whole[: int(len(whole) * part)])
        with pytest.raises(AudioError, match=r"cut short|lost sync|malformed"):
            audio.read(path)
    if name in ("a.wav", "a.aiff", "a.au", "a.mp3"):  # what is there can be used
        assert audio.read(path, start=1, duration=2).duration == pytest.approx(2)
        with pytest.raises(AudioError, match=r"ends after 4\.\d+ s, and promises 5\.00 s: cut short"):
            audio.read(path, start=1, duration=3.9)


def test_a_length_that_was_never_known_is_no_promise(tmp_path):
    """Streams are written with the largest length there is; MP3 files may have no count of their frames."""
    path = tmp_path / "a.wav"
    soundfile.write(path, tone(), 16000)
    whole = path.read_bytes()
    for said in (0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000, 0x7FFFF000 // 12 * 12):  # SoX writes whole blocks
        path.write_bytes(
            whole[:4] + struct.pack("<I", said) + whole[8:40] + struct.pack("<I", said) + whole[44:]
        )
        assert len(audio.read(path).samples) == len(tone())
    path = tmp_path / "a.aiff"
    soundfile.write(path, tone(), 16000)
    whole = path.read_bytes()
    sound = whole.index(b"SSND") + 4
    for said in (0x7F000008, 0x7F000000 // 12 * 12 + 8):
        path.write_bytes(whole[:sound] + struct.pack(">I", said) + whole[sound + 4 :])
        assert len(audio.read(path).samples) == len(tone())
    quiet = np.zeros(4 * 16000, np.float32)
    loud = (0.3 * np.random.default_rng(1).standard_normal(16000)).astype(np.float32)
    path = tmp_path / "a.mp3"
    soundfile.write(path, np.concatenate([quiet, loud, quiet]), 16000)
    whole = path.read_bytes()
    second = whole.find(whole[:2], 4)
    path.write_bytes(whole[second:])
    assert audio.read(path).duration == pytest.approx(9, abs=0.1)
    path.write_bytes(b"ID3\4\0\0\0\0\3\0" + bytes(384) + whole[: len(whole) // 2])
    with pytest.raises(AudioError, match="cut short"):
        audio.read(path)


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_ogg_files_one_after_the_other_are_not_heard_in_part(tmp_path, subtype):
    """Recorders of radio begin a new stream with every song; libsndfile reads the first and says nothing."""
    path = tmp_path / "a.ogg"
    soundfile.write(path, tone(), 16000, format="OGG", subtype=subtype)
    whole = path.read_bytes()
    assert len(audio.read(path).samples) == len(tone())
    path.write_bytes(whole + whole)
    with pytest.raises(AudioError, match="several recordings one after the other"):
        audio.read(path)
    for size in (10, 40):
        path.write_bytes(whole + whole[:size])
        with pytest.raises(AudioError, match=r"ends in the middle of a page|several recordings"):
            audio.read(path)


def test_flac_without_a_length_is_named(tmp_path):
    """An encoder that writes to a pipe cannot go back to fill in how many samples there were."""
    path = tmp_path / "a.flac"
    soundfile.write(path, tone(), 16000)
    whole = bytearray(path.read_bytes())
    whole[21] &= 0xF0
    whole[22:26] = bytes(4)
    path.write_bytes(whole)
    for asked in ({}, {"start": 0.1, "duration": 0.2}):
        with pytest.raises(AudioError, match="does not say how long it is"):
            audio.read(path, **asked)


def test_a_segment_after_the_end_is_refused(tmp_path):
    path = tmp_path / "a.wav"
    soundfile.write(path, tone(), 16000)
    with pytest.raises(AudioError, match=r"ends at 0\.5 s"):
        audio.read(path, start=9.0)


def test_integer_formats_saturate(tmp_path):
    path = tmp_path / "loud.wav"
    audio.write(path, Audio(np.array([2.0, -2.0, 0.5], np.float32), 8000))
    assert np.allclose(audio.read(path).samples, [1.0, -1.0, 0.5], atol=1e-4)


def test_the_content_hash_follows_the_bytes(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"same")
    second.write_bytes(b"same")
    assert audio.content_hash(first) == audio.content_hash(second)
    second.write_bytes(b"other")
    assert audio.content_hash(first) != audio.content_hash(second)
