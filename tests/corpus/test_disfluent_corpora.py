"""Miniatures of corpora of people who stutter and of disordered speech, laid out as their publishers do."""

from __future__ import annotations

import json

import polars as pl
import pytest

from voxaudit.audits.disparity.audit import disparity
from voxaudit.audits.hallucination.audit import hallucination
from voxaudit.corpus import CorpusError, read_corpus
from voxaudit.corpus.published.stuttering import as70_utterance
from voxaudit.score import word_counts


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def values(corpus, *columns):
    return corpus.table.select(columns).rows()


SEP = (
    "Show,EpId,ClipId,Start,Stop,Unsure,PoorAudioQuality,Prolongation,Block,SoundRep,WordRep,DifficultToUnderstand,"
    "Interjection,NoStutteredWords,NaturalPause,Music,NoSpeech\n"
    "HeStutters, 0, 0, 31468810, 31516810, 0, 0, 2, 3, 1, 0, 0, 0, 1, 0, 0, 0\n"
    "HeStutters, 0, 1, 31576120, 31624120, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0\n"
)


def test_sep28k_has_the_events_that_two_of_three_heard(wavs):
    root = wavs("sep/clips/HeStutters_0_0.wav", "sep/clips/HeStutters_0_1.wav") / "sep"
    write(root / "SEP-28k_labels.csv", SEP)
    corpus = read_corpus(root)
    assert corpus.format == "sep28k"
    assert values(corpus, "id", "events", "coded", "show", "votes_block", "text") == [
        ("HeStutters_0_0", "block:1 prolongation:1", "yes", "HeStutters", "3", None),
        ("HeStutters_0_1", "none", "yes", "HeStutters", "0", None),
    ]
    assert all(one.audio.is_file() for one in corpus)


def test_sep28k_extended_names_speakers_and_splits(wavs):
    root = wavs("sep/clips/HeStutters_0_0.wav", "sep/clips/HeStutters_0_1.wav") / "sep"
    head, *rows = SEP.splitlines()
    lines = [f"{head},Speaker,SEP28k-E", f"{rows[0]},HS_1,train", f"{rows[1]},HS_2,test"]
    write(root / "SEP-28k-Extended_clips.csv", "\n".join(lines))
    write(root / "SEP-28k_labels.csv", SEP)
    assert values(read_corpus(root), "id", "speaker", "split", "events") == [
        ("HeStutters_0_0", "HS_1", "train", "block:1 prolongation:1"),
        ("HeStutters_0_1", "HS_2", "test", "none"),
    ]


def test_fluencybank_timestamped(wavs):
    root = wavs("fbt/wavs/24fa_1.wav", "fbt/wavs/24fa_2.wav") / "fbt"
    write(
        root / "metadata.csv",
        "segid,segstart,segend,verbatim,intended\n"
        '24fa_1,0.0,2.5,"um I w- w- want want to go","I want to go"\n24fa_2,2.5,4.0,yes,yes\n',
    )
    marks = ["um,1,0,0,0", "I,0,0,0,0", "w-,0,0,0,1", "w-,0,0,0,1", "want,0,1,0,0", "want,0,0,0,0"]
    lines = "".join(f"{n},{n + 1},{mark}\n" for n, mark in enumerate(marks))
    write(root / "csvs/24fa_1.csv", "wordstart,wordend,word,fp,rp,rv,pw\n" + lines)
    corpus = read_corpus(root)
    assert corpus.format == "fluencybank_timestamped"
    assert values(corpus, "speaker", "text", "surface", "events", "coded") == [
        (
            "24fa",
            "I want to go",
            "um I w- w- want want to go",
            "interjection:1 sound_repetition:2 word_repetition:1",
            "yes",
        ),
        ("24fa", "yes", "yes", None, "no"),  # nobody marked this one: not the same as none
    ]


def test_libristutter_says_what_is_meant_and_what_was_put_in(wavs):
    """Lines of word, start, end and kind (0 for none), without a header; what was put in is called STUTTER."""
    root = wavs("LibriStutter Audio/103/1240/103-1240-0000.wav", "LibriStutter Audio/87/5/87-5-0001.wav")
    lines = "CHAPTER,0.0,0.5,0\nSTUTTER,0.5,0.9,2\nONE,0.9,1.2,0\nSTUTTER,1.2,1.4,1\nMISSUS,1.4,2.0,0\n"
    write(root / "LibriStutter Annotations/103/1240/103-1240-0000.csv", lines)
    write(root / "LibriStutter Annotations/87/5/87-5-0001.csv", "YES,0.0,0.5,0\n")
    corpus = read_corpus(root)
    assert corpus.format == "libristutter"
    assert values(corpus, "id", "speaker", "text", "events", "coded") == [
        ("103-1240-0000", "103", "CHAPTER ONE MISSUS", "sound_repetition:1 interjection:1", "yes"),
        ("87-5-0001", "87", "YES", "none", "yes"),
    ]
    assert all(one.audio.is_file() for one in corpus)
    write(root / "LibriStutter Annotations/87/5/87-5-0001.csv", f"{'Y' * 200_000},0.0,0.5,0\n")
    with pytest.raises(CorpusError, match=r"87-5-0001\.csv: cannot be read \(field larger"):
        read_corpus(root)


def test_as70_tells_what_is_meant_from_what_is_heard(wavs):
    """Lines of start, end and text by speaker; the interviewer's and what was taken out are left out, and counted."""
    root = wavs("as70/audio/0001/meeting_01.wav", "as70/audio/0014/meeting_01.wav") / "as70"
    write(root / "annotation/0001/D0001A.txt", "0.5\t2.0\t嗯/i我[我/p]想去\n\n2.0 3.5 我叫<姓名>\n")
    write(root / "annotation/0001/D0001B.txt", "3.5\t4.0\t好的\n")
    write(root / "annotation/0014/P0014.txt", "1\t2.25\t打/b开[打开打开]空/r调\n")
    write(root / "level_split.json", json.dumps({"mild": {"train": ["0001"]}, "severe": {"test": ["0014"]}}))
    corpus = read_corpus(root)
    assert corpus.format == "as70"
    assert values(corpus, "id", "speaker", "text", "surface", "events") == [
        (
            "0001_D0001A_0001",
            "0001",
            "我想去",
            "嗯我我想去",
            "interjection:1 prolongation:1 word_repetition:1",
        ),
        (
            "0014_P0014_0001",
            "0014",
            "打开空调",
            "打开打开打开空调",
            "block:1 word_repetition:2 sound_repetition:1",
        ),
    ]
    assert values(corpus, "start", "duration", "language", "style", "severity", "split", "coded") == [
        (0.5, 1.5, "zh", "conversation", "mild", "train", "yes"),
        (1.0, 1.25, "zh", "command", "severe", "test", "yes"),
    ]
    assert all(one.audio.is_file() for one in corpus)
    assert [(one.kind, one.count) for one in corpus.problems] == [
        ("unclear_text", 1),
        ("unclear_text", 1),
        ("unspaced_text", 2),
    ]
    assert "annotation/0001/D0001A.txt, line 3" in corpus.problems[0].message


@pytest.mark.parametrize(
    ("written", "intended", "surface", "events"),
    [
        ("我我[我]去", "我我去", "我我我去", [("word_repetition", 1)]),
        ("[我我]我去", "我去", "我我我去", [("word_repetition", 2)]),
        ("我妈妈[妈妈]", "我妈妈", "我妈妈妈妈", [("word_repetition", 1)]),
        ("打/b/p开", "打开", "打开", [("block", 1), ("prolongation", 1)]),
        ("um/i 打开 wifi", "打开 wifi", "um 打开 wifi", [("interjection", 1)]),
        ("打[打*", "打", "打打", []),  # brackets that nobody closed
        ("我[" + "我" * 50_400 + "]", "我", "我" * 50_401, [("word_repetition", 50_400)]),
        ("]开[]/i/", "/", "开/", [("interjection", 1)]),
    ],
    ids=lambda one: one[:12] if isinstance(one, str) else "",
)
def test_marks_of_as70(written, intended, surface, events):
    said = as70_utterance(written)
    assert (said.intended, said.surface) == (intended, surface)
    assert [(one.kind, one.iterations) for one in said.events] == events


def test_uclass_says_who_and_how_old_in_its_names(wavs):
    names = ("M_0078_16y5m_1", "F_0101_10y0m_2", "F_0102_9y11m_1", "M_0103_8y0m_1")
    root = wavs(*(f"uclass/{name}.wav" for name in names)) / "uclass"
    write(root / "M_0078_16y5m_1.orth", "the cat\nsat\n")
    write(root / "F_0101_10y0m_2.cha", "@Begin\n*F:\t↫k-k↫cat\n\tsat . \x150_1200\x15\n*F:\tI [/] I go .\n")
    write(root / "F_0102_9y11m_1.cha", "*F:\tI [/] I go .\n")  # nobody marked sounds
    write(root / "M_0103_8y0m_1.cha", "*M:\tI xxx go .\n")
    corpus = read_corpus(root)
    assert corpus.format == "uclass"
    assert values(corpus, "speaker", "gender", "text", "surface", "events", "coded") == [
        (
            "F_0101",
            "female",
            "cat sat I go",
            "k- k- cat sat I I go",
            "sound_repetition:2 word_repetition:1",
            "yes",
        ),
        ("F_0102", "female", "I go", "I I go", "word_repetition:1", "no"),
        ("M_0078", "male", "the cat sat", None, None, None),
    ]
    assert [(one.kind, one.count) for one in corpus.problems] == [("unclear_text", 1)]


def test_torgo_has_severity_and_leaves_out_what_is_no_text(wavs):
    root = wavs(
        "torgo/F01/Session1/wav_headMic/0001.wav",
        "torgo/F01/Session1/wav_arrayMic/0001.wav",
        "torgo/F01/Session1/wav_headMic/0002.wav",
        "torgo/F01/Session1/wav_headMic/0003.wav",
        "torgo/F01/Session1/wav_headMic/0004.wav",
        "torgo/MC01/Session2/wav_headMic/0001.wav",
    )
    root = root / "torgo"
    write(root / "F01/Session1/prompts/0001.txt", "Except in the winter\n")
    write(root / "F01/Session1/prompts/0002.txt", "[say Ah-P-Eee repeatedly]\n")
    write(root / "F01/Session1/prompts/0003.txt", "input/images/bike.jpg\n")
    write(root / "F01/Session1/prompts/0004.txt", "xxx\n")
    write(root / "MC01/Session2/prompts/0001.txt", "stick\n")
    corpus = read_corpus(root)
    assert (corpus.format, [(one.kind, one.count) for one in corpus.problems]) == (
        "torgo",
        [("unclear_text", 3)],
    )
    assert values(corpus, "speaker", "gender", "group", "severity", "microphone", "text") == [
        ("F01", "female", "dysarthria", "severe", "array", "Except in the winter"),
        ("F01", "female", "dysarthria", "severe", "head", "Except in the winter"),
        ("MC01", "male", "control", "none", "head", "stick"),
    ]


def test_uaspeech_needs_its_word_list_as_csv(wavs):
    root = wavs("ua/audio/noisereduce/F02/F02_B1_UW1_M5.wav", "ua/audio/noisereduce/CM01/CM01_B2_C1_M2.wav")
    root = root / "ua"
    with pytest.raises(CorpusError, match=r"save its sheet Word_filename as CSV"):
        read_corpus(root)
    write(root / "speaker_wordlist.csv", "WORD,FILE NAME\nnaturalization,B1_UW1\ncommand,C1\n")
    corpus = read_corpus(root)
    assert corpus.format == "uaspeech"
    assert values(corpus, "speaker", "text", "group", "intelligibility", "block", "microphone") == [
        ("CM01", "command", "control", "full", "B2", "M2"),
        ("F02", "naturalization", "dysarthria", "low", "B1", "M5"),
    ]


def test_the_speech_accessibility_project(wavs):
    root = wavs("sap/Dev/abc/abc_1.wav") / "sap"
    prompt = {"Transcript": "turn on the light", "Category Description": "Digital Command"}
    document = {"Etiology": "Parkinson's Disease", "Files": [{"Filename": "abc_1.wav", "Prompt": prompt}]}
    write(root / "Dev/abc/abc.json", json.dumps(document))
    corpus = read_corpus(root)
    assert corpus.format == "speech_accessibility"
    assert values(corpus, "speaker", "text", "etiology", "category") == [
        ("abc", "turn on the light", "Parkinson's Disease", "Digital Command")
    ]


def test_severity_goes_through_the_audits_of_groups_like_any_attribute(wavs):
    """Dysarthric speakers lose a word of four, and one of the severe ones gets words that nobody said."""
    people = [f"F{n:02d}" for n in (1, 3, 4)] + [f"M{n:02d}" for n in range(1, 6)]
    people += [f"{sex}C{n:02d}" for sex in "FM" for n in range(1, 5)]
    root = wavs(*(f"torgo/{who}/Session1/wav_headMic/{n:04d}.wav" for who in people for n in range(4)))
    for who in people:
        for n in range(4):
            write(root / f"torgo/{who}/Session1/prompts/{n:04d}.txt", "the quick brown fox\n")
    table = read_corpus(root / "torgo").table
    hard = table["group"] == "dysarthria"
    heard = ["the quick fox" if one else "the quick brown fox" for one in hard]
    loops = "the quick brown fox " + "and then there was nothing more " * 4
    heard = [loops if who == "F01" else text for who, text in zip(table["speaker"], heard, strict=True)]
    trials = table.select(
        "speaker", "group", "severity", utterance="id", reference="text", duration=pl.lit(2.0)
    ).with_columns(text=pl.Series(heard), scenario=pl.lit("clean"), recognizer=pl.lit("mine"))
    counts = word_counts(trials["reference"], trials["text"])
    scores = pl.concat([trials, counts], how="horizontal").with_columns(
        words=pl.sum_horizontal("hits", "substitutions", "deletions")
    )
    answer = disparity(scores, attribute="severity", against="none")
    rates = {row["group"]: row["wer"] for row in answer.tables["groups"].to_dicts()}
    assert (rates["none"], rates["mild"], rates["moderate"]) == (0.0, 0.25, 0.25)
    assert rates["severe"] > 1
    made_up = hallucination(trials, attributes="group")
    rows = [row for table in made_up.tables.shown for row in table.frame.to_dicts()]
    assert {"dysarthria", "control"} <= {row.get("group") for row in rows}
