"""Every reader, with any of its files broken in any of these ways: a corpus, or one line that says why not."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.corpus import FORMATS, CorpusError, examine_corpus

SEGMENT = {"session_id": "S1", "speaker": "P1", "start_time": "0:00:01", "end_time": "0:00:02", "words": "hi"}
CUT = {
    "id": "c",
    "start": 0,
    "duration": 1,
    "recording": {"sources": [{"type": "file", "source": "a.wav"}]},
    "supervisions": [
        {"id": "s", "start": 0, "duration": 1, "text": "hi", "speaker": "x", "custom": {"a": 1}}
    ],
}
XML = '<r><w nite:id="w0">hi</w></r>'
XML_SEGMENT = (
    '<r><segment transcriber_start="0" transcriber_end="1"><nite:child href="x#id(w0)"/></segment></r>'
)
MEETING = '<r><meeting observation="M"><speaker nxt_agent="A" channel="0" global_name="FEE1"/></meeting></r>'


def clip():
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(160), 16000, format="WAV")
    return buffer.getvalue()


def tarred(entries):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


CLIP = clip()
MINIATURES = {
    "kaldi": {
        "wav.scp": "a a.wav\n",
        "text": "a hi\n",
        "utt2spk": "a s\n",
        "segments": "u a 0 1\n",
        "a.wav": None,
    },
    "librispeech": {
        "d/1/2/1-2.trans.txt": "1-2-0 HI\n",
        "SPEAKERS.TXT": "1 | F | d | 1.0 | N\n",
        "d/1/2/1-2-0.flac": None,
    },
    "mls": {
        "metainfo.txt": "1 | F\n",
        "test/transcripts.txt": "1_2_3\thi\n",
        "test/audio/1/2/1_2_3.flac": None,
    },
    "common_voice": {
        "validated.tsv": "client_id\tpath\tsentence\tage\tgender\taccents\nc\ta.wav\thi\tteens\tmale\tus\n",
        "clip_durations.tsv": "clip\tduration[ms]\na.wav\t10\n",
        "clips/a.wav": None,
    },
    "fleurs": {"test.tsv": "1\ta.wav\tHi\thi\th i\t160\tMALE\n", "audio/test/a.wav": None},
    "vctk": {
        "speaker-info.txt": "ID\np1 20 F English\n",
        "txt/p1/p1_001.txt": "hi",
        "wav48/p1/p1_001.wav": None,
    },
    "l2_arctic": {"ABA/transcript/a.txt": "hi", "ABA/wav/a.wav": None},
    "accent_archive": {
        "speakers_all.csv": "filename,native_language,sex,age,speakerid\na,x,male,20,1\n",
        "reading-passage.txt": "hi",
        "recordings/a.mp3": None,
    },
    "fair_speech": {
        "downloaded_file.tsv": "hash_name\ttranscription\tage\na\thi\t18 - 22\n",
        "asr_fairness_audio/a.wav": None,
    },
    "casual_conversations": {
        "CasualConversations.json": json.dumps({"1": {"label": {"age": "3"}, "files": ["x/a.MP4"]}}),
        "CasualConversations_transcriptions.json": json.dumps(
            [{"video_path": "x/a.MP4", "transcription": "hi"}]
        ),
        "a.wav": None,
    },
    "coraal": {
        "DCB_metadata_1.txt": "CORAAL.Spkr\tGender\ts\tFemale\n",
        "t/a.txt": "Line\tSpkr\tStTime\tContent\tEnTime\n1\ts\t0\thi\t1\n",
        "a.wav": None,
    },
    "tedlium": {"test/stm/a.stm": "a 1 s 0 1 <o,f0,male> hi\n", "test/sph/a.wav": None},
    "ami": {
        "words/M.A.words.xml": XML,
        "segments/M.A.segments.xml": XML_SEGMENT,
        "corpusResources/meetings.xml": MEETING,
        "corpusResources/participants.xml": '<r><participant nite:id="FEE1"/></r>',
        "M/audio/M.Headset-0.wav": None,
    },
    "chime6": {"transcriptions/dev/S1.json": json.dumps([SEGMENT]), "audio/dev/S1_P1.wav": None},
    "ravdess": {"Actor_01/03-01-01-01-01-01-01.wav": None},
    "sep28k": {
        "SEP-28k_labels.csv": "Show,EpId,ClipId,Start,Stop,Block,SoundRep\na,1,2,0,1,3,0\n",
        "a_1_2.wav": None,
    },
    "fluencybank_timestamped": {
        "metadata.csv": "segid,segstart,segend,verbatim,intended\na_1,0,1,hi,hi\n",
        "csvs/a_1.csv": "wordstart,wordend,word,fp,rp,rv,pw\n0,1,hi,0,0,0,0\n",
        "wavs/a_1.wav": None,
    },
    "uclass": {"M_0078_16y5m_1.wav": None, "M_0078_16y5m_1.orth": "hi\n"},
    "libristutter": {
        "LibriStutter Annotations/1/2/1-2-0.csv": "hi,0,1,0\nSTUTTER,1,2,3\n",
        "LibriStutter Audio/1/2/1-2-0.wav": None,
    },
    "as70": {
        "0001/P1.txt": "0 1 打开\n",
        "0001/m.wav": None,
        "level_split.json": '{"mild": {"train": ["0001"]}}',
    },
    "torgo": {"F01/Session1/prompts/0001.txt": "hi\n", "F01/Session1/wav_headMic/0001.wav": None},
    "uaspeech": {
        "audio/F02/F02_B1_C1_M2.wav": None,
        "speaker_wordlist.csv": "WORD,FILE NAME\nhi,C1\n",
    },
    "speech_accessibility": {
        "p1/p1.json": json.dumps(
            {"Etiology": "ALS", "Files": [{"Filename": "a.wav", "Prompt": {"Transcript": "hi"}}]}
        ),
        "p1/a.wav": None,
    },
    "chat": {"a.cha": "@ID:\teng|c|PAR|20;|male|\n*PAR:\thi . \x150_100\x15\n", "a.wav": None},
    "stm": {"a.stm": "a 1 s 0 1 hi\n", "a.wav": None},
    "ctm": {"a.ctm": "a 1 0 1 hi\n", "a.wav": None},
    "trn": {"a.trn": "hi (a)\n", "a.wav": None},
    "seglst": {"a.json": json.dumps([SEGMENT]), "S1.wav": None},
    "lhotse": {"a.jsonl": json.dumps(CUT) + "\n", "a.wav": None},
    "audiofolder": {"metadata.csv": "file_name,text\na.wav,hi\n", "a.wav": None},
    "hugging_face": {"data/test-00000-of-00001.parquet": b"", "a.wav": None},
    "nemo": {"a.json": '{"audio_filepath": "a.wav", "text": "hi"}\n', "a.wav": None},
    "manifest": {"manifest.csv": "path,text\na.wav,hi\n", "a.wav": None},
    "folder": {"x.wav": None},
    "voxpopuli": {
        "asr_test.tsv": "id\traw_text\tnormalized_text\tspeaker_id\tsplit\tgender\n2018-a\tHi\thi\t1\ttest\tmale\n",
        "2018/2018-a.ogg": None,
    },
    "gigaspeech": {
        "GigaSpeech.json": json.dumps(
            {
                "dataset": "GigaSpeech",
                "audios": [
                    {
                        "path": "audio/a.wav",
                        "aid": "a",
                        "segments": [
                            {"sid": "s", "speaker": "p", "begin_time": 0, "end_time": 0.01, "text_tn": "hi"}
                        ],
                    }
                ],
            }
        ),
        "audio/a.wav": None,
    },
    "aishell": {
        "data_aishell/transcript/aishell_transcript_v0.8.txt": "BAC009S0764W0121 hi\n",
        "data_aishell/wav/test/S0764/BAC009S0764W0121.wav": None,
    },
    "afrispeech": {
        "test.csv": "audio_paths,user_ids,transcript,age_group,gender,accent,domain,country,duration\n"
        "/AfriSpeech-100/test/a/b.wav,s1,hi,26-40,Male,yoruba,clinical,NG,0.1\n",
        "AfriSpeech-100/test/a/b.wav": None,
    },
    "edacc": {
        "linguistic_background.csv": "PARTICIPANT_ID,What is your gender?\nEDACC-C06-A,Female\n",
        "dev/segments": "EDACC-C06-A-0 EDACC-C06 0.000 0.005\n",
        "dev/text": "EDACC-C06-A-0 hi\n",
        "dev/utt2spk": "EDACC-C06-A-0 EDACC-C06-A\n",
        "data/EDACC-C06.wav": None,
    },
    "webdataset": {"shard-000000.tar": tarred({"a.wav": CLIP, "a.txt": b"hi"})},
    "shar": {
        "cuts.000000.jsonl.gz": gzip.compress(
            json.dumps(
                {
                    "id": "a",
                    "start": 0.0,
                    "duration": 0.01,
                    "channel": 0,
                    "recording": {"id": "a", "sources": [{"type": "shar", "channels": [0], "source": ""}]},
                    "supervisions": [
                        {"id": "s", "start": 0.0, "duration": 0.01, "text": "hi", "speaker": "p"}
                    ],
                }
            ).encode()
            + b"\n"
        ),
        "recording.000000.tar": tarred({"a.wav": CLIP, "a.json": b"{}"}),
    },
    "nemo_tarred": {
        "tarred_audio_manifest.json": '{"audio_filepath": "a.wav", "duration": 0.01, "text": "hi", "shard_id": 0}\n',
        "audio_0.tar": tarred({"a.wav": CLIP}),
    },
}
FILES = {"stm", "ctm", "trn", "seglst", "lhotse", "nemo"}  # formats that are one file

BREAKS = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "noise": lambda content: bytes(range(256)) * 4,
    "latin": lambda content: content.replace(b"hi", b"h\xe9"),
    "zeros": lambda content: content.replace(b"hi", b"h\x00i"),
    "null": lambda content: b"null",
    "numbers": lambda content: b"[1, [2], {}, null]",
    "objects": lambda content: (
        b'{"1": null, "2": {"label": 5, "files": 7}, "supervisions": 3, "id": [], "start": {}}'
    ),
    "list of odd objects": lambda content: (
        b'[{"session_id": {}, "words": [1], "start_time": []}, {"video_path": 3}]'
    ),
    "shorter lines": lambda content: b"\n".join(line[: len(line) * 2 // 3] for line in content.split(b"\n")),
    "longer lines": lambda content: b"\n".join(line + b"\tx|y 9" for line in content.split(b"\n")),
    "deep": lambda content: b"[" * 100_000,
    "doctype": lambda content: b'<!DOCTYPE r [<!ENTITY a "aaaa">]><r>&a;</r>',
}


def build(root, name):
    for path, content in MINIATURES[name].items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".parquet"):
            audio = (root / "tmp.wav", soundfile.write(root / "tmp.wav", np.zeros(16), 16000))[0].read_bytes()
            pl.DataFrame({"audio": [{"bytes": audio, "path": "a"}], "text": ["hi"]}).write_parquet(place)
        elif content is None:
            place.write_bytes(CLIP)
        elif isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content)
    lists = [root / path for path, content in MINIATURES[name].items() if content is not None]
    return lists[0] if name in FILES else root


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path_factory.mktemp("cache")))


def test_every_format_has_a_miniature():
    assert set(MINIATURES) == {name for name in FORMATS.names() if not name.endswith("_far")}


@pytest.mark.parametrize("name", MINIATURES)
def test_the_miniature_is_found_to_be_what_it_is(name, tmp_path):
    corpus = examine_corpus(build(tmp_path, name))
    assert (corpus.format, len(corpus)) == (name, 1 if name != "hugging_face" else len(corpus))
    assert not any(problem.fatal for problem in corpus.problems)


@pytest.mark.slow
@pytest.mark.parametrize("way", BREAKS)
@pytest.mark.parametrize("name", MINIATURES)
def test_broken_files_cost_one_line(name, way, tmp_path):
    place = build(tmp_path, name)
    for path, content in MINIATURES[name].items():
        if content is None:
            continue
        file = tmp_path / path
        whole = file.read_bytes()
        file.write_bytes(BREAKS[way](whole))
        for format in (name, None):
            try:
                corpus = examine_corpus(place, format=format)
                assert corpus.table["id"].null_count() == 0
            except CorpusError as error:
                message = str(error)
                assert "\n" not in message
                assert len(message) < 3000
        file.write_bytes(whole)


@pytest.mark.parametrize("name", MINIATURES)
def test_missing_files_cost_one_line(name, tmp_path):
    place = build(tmp_path, name)
    for path, content in MINIATURES[name].items():
        if content is None:
            continue
        file = tmp_path / path
        whole = file.read_bytes()
        file.unlink()
        try:
            examine_corpus(place, format=name)
        except CorpusError as error:
            assert "\n" not in str(error)  # noqa: PT017
        file.write_bytes(whole)
