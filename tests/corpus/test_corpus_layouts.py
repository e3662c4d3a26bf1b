"""Faithful miniatures of the corpora people download, and of the folders they keep."""

from __future__ import annotations

import json

import polars as pl
import pytest

from voxaudit.corpus import FORMATS, CorpusError, read_corpus
from voxaudit.corpus.rows import GENERAL, detect_format, detection_order
from voxaudit.errors import VoxauditError


def messages(corpus) -> str:
    return "\n".join(problem.message for problem in corpus.problems)


# NeMo


def test_nemo(wavs):
    root = wavs("call.wav", "b.wav")
    lines = [
        {
            "audio_filepath": "call.wav",
            "duration": 1.5,
            "text": "yes",
            "offset": 0.5,
            "speaker": "s1",
            "lang": "en",
        },
        {
            "audio_filepath": "call.wav",
            "duration": 2,
            "text": "no",
            "offset": 2.0,
            "speaker": "s2",
            "pred_text": "know",
        },
        {"audio_filepath": str(root / "b.wav"), "duration": 3.25, "text": "", "speaker": "s1"},
    ]
    (root / "train.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = read_corpus(root / "train.json")
    assert (corpus.format, corpus.name) == ("nemo", "train")
    assert corpus.table["id"].to_list() == ["call@0.5", "call@2.0", "b"]
    assert corpus.table["start"].to_list() == [0.5, 2.0, None]
    assert corpus.table["duration"].to_list() == [1.5, 2.0, 3.25]
    assert corpus.table["text"].to_list() == ["yes", "no", ""]
    assert corpus.attributes == ["lang", "pred_text"]
    assert messages(corpus) == "1 text is empty: every word heard there will count as inserted (line 3)"


# Kaldi


@pytest.fixture
def kaldi(wavs):
    root = wavs("audio/rec1.wav", "audio/rec2.wav")
    data = root / "data" / "train"
    data.mkdir(parents=True)
    (data / "wav.scp").write_text("rec1 audio/rec1.wav\nrec2\t" + str(root / "audio/rec2.wav") + "\n")
    (data / "text").write_text("rec1 HELLO  THERE\nrec2 日本\u3000語\n")
    (data / "utt2spk").write_text("rec1 s1\nrec2 s2\n")
    (data / "spk2utt").write_text("s1 rec1\ns2 rec2\n")
    (data / "spk2gender").write_text("s1 f\ns2 m\n")
    (data / "utt2lang").write_text("rec1 en\nrec2 ja\n")
    (data / "utt2dur").write_text("rec1 1.25\nrec2 2\n")
    (data / "utt2num_frames").write_text("rec1 125\nrec2 200\n")
    return data


def test_kaldi(kaldi):
    corpus = read_corpus(kaldi)
    assert (corpus.format, corpus.name) == ("kaldi", "train")
    assert [problem.kind for problem in corpus.problems] == ["unspaced_text"]
    root = kaldi.parent.parent
    assert corpus.table.rows() == [
        ("rec1", f"{kaldi}/../../audio/rec1.wav", "s1", "HELLO  THERE", None, 1.25, "en", "f"),
        ("rec2", f"{root}/audio/rec2.wav", "s2", "日本\u3000語", None, 2.0, "ja", "m"),
    ]
    assert corpus.attributes == ["lang", "gender"]
    assert all(utterance.audio.is_file() for utterance in corpus)


def test_kaldi_segments(kaldi):
    (kaldi / "segments").write_text(
        "u1 rec1 0.5 1.5\nu2 rec1 1.5 -1\nu3 rec2 0 2.5\nu4 rec9 0 1\nu5 rec1 3\n"
    )
    (kaldi / "utt2spk").write_text("u1 s1\nu2 s1\nu3 s2\nu9 s2\n")
    (kaldi / "text").write_text("u1 one\nu3 three\n")
    (kaldi / "utt2lang").unlink()
    with pytest.raises(CorpusError) as caught:
        read_corpus(kaldi)
    assert "1 line of segments names a recording not in wav.scp (line 4: 'rec9')" in str(caught.value)
    assert "1 line of segments is not 'utterance recording start end' (line 5: 'u5')" in str(caught.value)
    corpus = read_corpus(kaldi, skip_bad_rows=True)
    assert corpus.skipped == 2
    assert corpus.table.select(
        "id", "speaker", "text", "start", "duration", "recording", "gender"
    ).rows() == [
        ("u1", "s1", "one", 0.5, 1.0, "rec1", "f"),
        ("u2", "s1", None, 1.5, None, "rec1", "f"),
        ("u3", "s2", "three", 0.0, 2.5, "rec2", "m"),
    ]
    assert "1 row has no text: not transcribed, so not scored (segments line 2)" in messages(corpus)
    assert "1 line of utt2spk is about no utterance of the corpus (line 4: 'u9')" in messages(corpus)


def test_kaldi_commands_are_refused_and_never_run(kaldi):
    canary = kaldi / "ran"
    (kaldi / "wav.scp").write_text(
        f"rec1 touch {canary}; cat audio/rec1.wav |\nrec2 ../../audio/rec2.wav\nrec3 | touch {canary}\nrec4 -\n"
    )
    with pytest.raises(CorpusError) as caught:
        read_corpus(kaldi)
    assert "3 lines of wav.scp are commands, which are never run (lines 1, 3, 4: 'touch " in str(caught.value)
    assert "write the audio to files first" in str(caught.value)
    corpus = read_corpus(kaldi, skip_bad_rows=True)
    assert corpus.table["id"].to_list() == ["rec2"]
    assert corpus.skipped == 3
    (kaldi / "segments").write_text("u1 rec1 0 1\nu2 rec1 1 2\nu3 rec2 0 1\n")
    corpus = read_corpus(kaldi, skip_bad_rows=True)
    assert corpus.table["id"].to_list() == ["u3"]
    assert corpus.skipped == 2
    assert not canary.exists()


def test_kaldi_bare_wav_scp_and_wrong_folder(kaldi):
    for file in kaldi.iterdir():
        if file.name != "wav.scp":
            file.unlink()
    corpus = read_corpus(kaldi)
    assert [problem.kind for problem in corpus.problems] == ["no_speaker", "no_text"]
    with pytest.raises(CorpusError, match=r"no wav\.scp in this folder"):
        read_corpus(kaldi.parent, format="kaldi")


def test_kaldi_two_files_about_the_same_thing(kaldi):
    (kaldi / "spk2lang").write_text("s1 de\ns2 fr\n")
    table = read_corpus(kaldi).table
    assert table["lang"].to_list() == ["en", "ja"]
    assert table["spk_lang"].to_list() == ["de", "fr"]


# Common Voice

CV_HEADER = "client_id\tpath\tsentence_id\tsentence\tup_votes\tdown_votes\tage\tgender\taccents\tlocale\n"
CV_ROWS = (
    'c1\tcv_1.mp3\tx1\t"Hello," she said, "hello.\t2\t0\ttwenties\tfemale_feminine\tScottish English\ten\n'
    "c2\tcv_2.mp3\tx2\tA tab-free sentence.\t3\t1\t\t\t\ten\n"
)


@pytest.fixture
def common_voice(wavs):
    root = wavs("en/clips/cv_1.mp3", "en/clips/cv_2.mp3") / "en"
    (root / "validated.tsv").write_text(CV_HEADER + CV_ROWS)
    (root / "test.tsv").write_text(CV_HEADER + CV_ROWS.splitlines(keepends=True)[1])
    return root


def test_common_voice(common_voice):
    corpus = read_corpus(common_voice)
    assert (corpus.format, corpus.name) == ("common_voice", "en")
    assert corpus.table["language"].unique().to_list() == ["en"]
    first, second = corpus.table.rows(named=True)
    assert (first["id"], first["audio"]) == ("cv_1", f"{common_voice}/clips/cv_1.mp3")
    assert first["text"] == '"Hello," she said, "hello.'
    assert (first["speaker"], first["age"], first["gender"]) == ("c1", "20-29", "female")
    assert (first["source_age"], first["source_gender"]) == ("twenties", "female_feminine")
    assert (first["accents"], second["accents"], first["accent"]) == (
        "Scottish English",
        None,
        "Scottish English",
    )
    assert messages(corpus) == "read validated.tsv; name a file to read another: test.tsv"
    one = read_corpus(common_voice / "test.tsv", columns={"accent": "accents"})
    assert (one.format, one.table["id"].to_list(), "accent" in one.attributes) == (
        "common_voice",
        ["cv_2"],
        True,
    )
    assert one.problems == ()


def test_common_voice_durations_and_names_without_ending(common_voice):
    (common_voice / "clip_durations.tsv").write_text("clip\tduration[ms]\ncv_2.mp3\t2500\ncv_1.mp3\t1234\n")
    (common_voice / "test.tsv").unlink()
    old = "client_id\tpath\tsentence\tup_votes\tdown_votes\tage\tgender\taccent\nc1\tcv_1\tHi\t1\t0\t\tmale\tus\n"
    (common_voice / "validated.tsv").write_text(old)
    corpus = read_corpus(common_voice)
    assert corpus.table.select("id", "duration", "gender", "accent", "source_accent").rows() == [
        ("cv_1", 1.234, "male", "United States English", "us")
    ]
    assert "source_gender" not in corpus.attributes  # nothing was changed there
    assert corpus.problems == ()


def test_common_voice_in_a_wrong_folder(tmp_path):
    with pytest.raises(CorpusError, match=r"no validated\.tsv"):
        read_corpus(tmp_path, format="common_voice")


# LibriSpeech

SPEAKERS = """; Some pieces of information about the speakers
;ID  |SEX| SUBSET           |MINUTES| NAME
14   | F | dev-clean        | 25.03 | Kristin LeMoine
60   | M | dev-other        | 20.18 | | CBW Simon
"""


@pytest.fixture
def librispeech(wavs):
    root = wavs(
        "LibriSpeech/dev-clean/14/208/14-208-0000.flac",
        "LibriSpeech/dev-clean/14/208/14-208-0001.flac",
        "LibriSpeech/dev-other/60/121/60-121-0000.flac",
    )
    root = root / "LibriSpeech"
    (root / "SPEAKERS.TXT").write_text(SPEAKERS)
    (root / "dev-clean/14/208/14-208.trans.txt").write_text(
        "14-208-0000 MISTER QUILTER\n14-208-0001 NOR IS\n"
    )
    (root / "dev-other/60/121/60-121.trans.txt").write_text("60-121-0000 HE WAS\n")
    return root


def test_librispeech(librispeech):
    corpus = read_corpus(librispeech)
    assert (corpus.format, corpus.name, corpus.problems) == ("librispeech", "LibriSpeech", ())
    assert corpus.attributes == ["subset", "chapter", "gender", "sex", "minutes", "name"]
    assert corpus.table.row(0) == (
        *(
            "14-208-0000",
            f"{librispeech}/dev-clean/14/208/14-208-0000.flac",
            "14",
            "MISTER QUILTER",
            None,
            None,
        ),
        *("dev-clean", "208", "female", "F", "25.03", "Kristin LeMoine"),
    )
    assert corpus.table.row(2)[-6:] == ("dev-other", "121", "male", "M", "20.18", "| CBW Simon")


def test_librispeech_subset_with_and_without_speakers(librispeech, monkeypatch):
    corpus = read_corpus(librispeech / "dev-clean")
    assert corpus.table.select("id", "subset", "sex").row(1) == ("14-208-0001", "dev-clean", "F")
    assert corpus.problems == ()
    monkeypatch.chdir(librispeech / "dev-clean")
    assert read_corpus(".").table.equals(corpus.table)
    (librispeech / "SPEAKERS.TXT").write_text(SPEAKERS.replace("14   |", "15   |"))
    assert messages(read_corpus(librispeech)) == "1 speaker is not in SPEAKERS.TXT (14)"
    (librispeech / "SPEAKERS.TXT").unlink()
    corpus = read_corpus(librispeech / "dev-clean")
    assert [problem.kind for problem in corpus.problems] == ["no_speakers_file"]
    assert corpus.attributes == ["subset", "chapter"]


def test_librispeech_missing_audio_names_the_transcript_and_line(librispeech):
    (librispeech / "dev-clean/14/208/14-208-0001.flac").unlink()
    with pytest.raises(
        CorpusError, match=r"\(dev-clean/14/208/14-208\.trans\.txt:2: 'dev-clean/14/208/14-208-0001"
    ):
        read_corpus(librispeech)
    with pytest.raises(CorpusError, match=r"no \*/\*/\*\.trans\.txt"):
        read_corpus(librispeech.parent, format="librispeech")


# Hugging Face audiofolder


def test_audiofolder_with_one_metadata_file(wavs):
    root = wavs("data/a.wav", "data/b.wav")
    (root / "metadata.csv").write_text(
        "file_name,transcription,speaker_id,dialect\ndata/a.wav,yes,1,x\ndata/b.wav,no,2,y\n"
    )
    corpus = read_corpus(root)
    assert corpus.format == "audiofolder"
    assert corpus.table["text"].to_list() == ["yes", "no"]
    assert corpus.table["speaker"].to_list() == ["1", "2"]
    assert corpus.attributes == ["dialect"]
    lines = pl.read_csv(root / "metadata.csv", infer_schema=False)
    (root / "metadata.csv").unlink()
    lines.write_ndjson(root / "metadata.jsonl")
    assert read_corpus(root).table.equals(corpus.table)
    (root / "metadata.jsonl").unlink()
    lines.write_parquet(root / "metadata.parquet")
    again = read_corpus(root)
    assert (again.format, again.table.equals(corpus.table)) == ("audiofolder", True)


def test_audiofolder_with_metadata_per_split(wavs):
    root = wavs("train/a.wav", "test/a.wav")
    (root / "train/metadata.csv").write_text("file_name,text,age\na.wav,yes,30\ngone.wav,x,1\nshort\n")
    (root / "test/metadata.jsonl").write_text('{"file_name": "a.wav", "text": "no", "sex": "f"}\n')
    with pytest.raises(CorpusError) as caught:
        read_corpus(root)
    assert "train/metadata.csv: 1 row does not have the 3 fields" in str(caught.value)
    assert "1 audio file does not exist (train/metadata.csv:3: 'train/gone.wav'" in str(caught.value)
    assert caught.value.problems[0].rows == ("train/metadata.csv:4",)
    corpus = read_corpus(root, skip_bad_rows=True)
    assert corpus.table.select("id", "text", "split", "age", "sex").rows() == [
        ("test/a", "no", "test", None, "f"),
        ("train/a", "yes", "train", "30", None),
    ]
    assert corpus.skipped == 2


def test_another_metadata_csv_is_no_audiofolder(wavs):
    root = wavs("wavs/a.wav")
    (root / "metadata.csv").write_text("a|Some text|some text\n")
    assert detect_format(root)[0].name == "folder"


# Folders


def test_a_plain_folder(wavs):
    root = wavs("x/a.wav", "x/y/b.flac", "c.wav", ".hidden/d.wav")
    (root / "notes.txt").write_text("no audio")
    (root / "loop").symlink_to(root)
    corpus = read_corpus(root)
    assert corpus.format == "folder"
    assert corpus.table["id"].to_list() == ["c", "x/a", "x/y/b"]
    assert corpus.attributes == []
    assert [problem.kind for problem in corpus.problems] == ["no_metadata", "no_speaker", "no_text"]
    assert not any(problem.fatal for problem in corpus.problems)
    assert "`columns`" not in messages(corpus)


def test_folders_as_labels(wavs):
    root = wavs("dog/a.wav", "dog/b.wav", "cat/a.wav")
    corpus = read_corpus(root)
    assert corpus.table.select("id", "label").rows() == [("cat/a", "cat"), ("dog/a", "dog"), ("dog/b", "dog")]
    assert read_corpus(root, columns={"speaker": "label"}).table["speaker"].to_list() == ["cat", "dog", "dog"]
    assert read_corpus(root, format="audiofolder").table.equals(corpus.table)


def test_folders_as_splits_and_labels(wavs):
    root = wavs("train/dog/a.wav", "train/cat/b.wav", "test/dog/c.wav")
    table = read_corpus(root).table
    assert table.select("id", "label", "split").rows() == [
        ("test/dog/c", "dog", "test"),
        ("train/cat/b", "cat", "train"),
        ("train/dog/a", "dog", "train"),
    ]


def test_one_folder_or_splits_alone_are_no_labels(wavs):
    assert read_corpus(wavs("audio/a.wav", "audio/b.wav")).attributes == []
    assert read_corpus(wavs("p/train/a.wav", "p/test/b.wav") / "p").attributes == []


# Which is which


def test_detection_order_is_explicit_and_general_formats_come_last():
    assert detection_order()[-2:] == list(GENERAL)
    names = FORMATS.names()
    # A published layout is known before the formats that its files could also be taken for.
    for known, general in (
        ("common_voice", "manifest"),
        ("fleurs", "manifest"),
        ("fair_speech", "manifest"),
        ("coraal", "folder"),
        ("chime6", "seglst"),
        ("tedlium", "stm"),
        ("seglst", "manifest"),
        ("lhotse", "nemo"),
        ("hugging_face", "manifest"),
        ("nemo", "manifest"),
    ):
        assert names.index(known) < names.index(general)


@pytest.mark.parametrize("name", FORMATS.names())
def test_every_format_says_what_it_is_and_detects_without_raising(name, tmp_path):
    reader = FORMATS.load(name)
    assert reader.name == name
    assert reader.description
    assert reader.example
    (tmp_path / "noise.tsv").write_bytes(bytes(range(256)))
    for path in (tmp_path, tmp_path / "noise.tsv", tmp_path / "nowhere"):
        assert reader.detect(path) in (True, False)
    for path in (tmp_path, tmp_path / "noise.tsv"):
        with pytest.raises(CorpusError):
            read_corpus(path, format=name)


def test_a_format_given_by_name(wavs):
    root = wavs("a.wav")
    (root / "manifest.csv").write_text("path\na.wav\n")
    assert read_corpus(root, format="folder").format == "folder"
    with pytest.raises(VoxauditError, match=r"Unknown corpus format 'kaldy'\. Did you mean: kaldi\?"):
        read_corpus(root, format="kaldy")
