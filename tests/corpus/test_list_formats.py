"""Lists of references that scoring tools and toolkits write: stm, ctm, trn, SegLST, CHAT, lhotse, leaderboards."""

from __future__ import annotations

import gzip
import json

import pytest

from voxaudit.cli.main import main
from voxaudit.corpus import CorpusError, examine_corpus, read_corpus
from voxaudit.corpus.chat import chat_utterance
from voxaudit.corpus.disfluent import written_events
from voxaudit.recognize.transcripts import read_transcripts
from voxaudit.score.files import read_pairs


def values(corpus, *columns):
    return corpus.table.select(columns).rows()


def kinds(corpus):
    return [problem.kind for problem in corpus.problems]


def test_stm_with_audio_beside_it(wavs):
    root = wavs("eval/wav/call1.wav")
    (root / "eval/ref").mkdir()
    file = root / "eval/ref/eval.stm"
    file.write_text(";; head\ncall1 A anna 0.5 2.0 <o,f0,female> good morning\ncall1 A ben 2.0 2.5\n")
    corpus = read_corpus(file)
    assert corpus.format == "stm"
    assert values(corpus, "id", "speaker", "text", "start", "duration", "labels") == [
        ("call1-A-0.5-2.0", "anna", "good morning", 0.5, 1.5, "o,f0,female"),
        ("call1-A-2.0-2.5", "ben", None, 2.0, 0.5, None),
    ]
    assert all(utterance.audio.is_file() for utterance in corpus)
    file.write_text("call1 A anna zero 2.0 hi\n")
    assert "bad_line" in kinds(examine_corpus(file))


def test_ctm_is_one_utterance_per_recording(wavs):
    root = wavs("call1.wav", "call2.wav")
    (root / "ref.ctm").write_text(
        "call1 1 0.9 0.2 there 0.9\ncall1 1 0.1 0.5 hello\n;; x\ncall2 1 0 1 bye\ncall2 1 oops\n"
    )
    corpus = read_corpus(root / "ref.ctm", skip_bad_rows=True)
    assert (corpus.format, corpus.skipped) == ("ctm", 1)
    assert values(corpus, "id", "text", "start") == [("call1", "hello there", None), ("call2", "bye", None)]


def test_trn_speakers_are_found_as_sclite_does(wavs):
    root = wavs("anna-1.wav", "anna-2.wav", "ben-1.wav")
    (root / "ref.trn").write_text("good morning (anna-1)\n(anna-2)\nhello (ben-1)\n")
    corpus = read_corpus(root / "ref.trn")
    assert values(corpus, "id", "speaker", "text") == [
        ("anna-1", "anna", "good morning"),
        ("anna-2", "anna", None),
        ("ben-1", "ben", "hello"),
    ]
    (root / "ref.trn").write_text("good morning (utt_1)\nhello (utt_2)\n")
    assert read_corpus(root / "ref.trn", check_audio=False).table["speaker"].to_list() == [None, None]
    (root / "ref.trn").write_text("no id here\n")
    with pytest.raises(CorpusError, match=r"1 line is not 'words \(id\)' \(line 1: 'no id here'\)"):
        read_corpus(root / "ref.trn")


def test_seglst(wavs):
    root = wavs("wav/S1.flac")
    entry = {
        "session_id": "S1",
        "speaker": "P1",
        "start_time": 1.5,
        "end_time": "2.25",
        "words": "so yes",
        "lang": "en",
    }
    (root / "ref.json").write_text(json.dumps([entry, entry | {"words": "", "start_time": 3, "end_time": 4}]))
    corpus = read_corpus(root / "ref.json")
    assert corpus.format == "seglst"
    assert values(corpus, "id", "speaker", "text", "start", "duration", "lang") == [
        ("S1-1", "P1", "so yes", 1.5, 0.75, "en"),
        ("S1-2", "P1", "", 3.0, 1.0, "en"),
    ]
    (root / "ref.json").write_text('[{"session_id": "../../x", "words": "y"}')
    with pytest.raises(CorpusError, match=r"ref\.json: not valid JSON"):
        read_corpus(root / "ref.json")
    (root / "ref.json").write_text('[{"session_id": "S1", "words": "y"}, 5]')
    with pytest.raises(CorpusError, match="not a JSON array of segments"):
        read_corpus(root / "ref.json")


CUT = {
    "id": "cut-1",
    "start": 10.0,
    "duration": 5.0,
    "channel": 0,
    "type": "MonoCut",
    "recording": {
        "id": "rec-1",
        "sources": [{"type": "file", "channels": [0], "source": "audio/rec-1.wav"}],
        "sampling_rate": 16000,
        "num_samples": 480000,
        "duration": 30.0,
    },
    "supervisions": [
        {
            "id": "s1",
            "recording_id": "rec-1",
            "start": 0.5,
            "duration": 2.0,
            "channel": 0,
            "text": "one",
            "speaker": "a",
        }
        | {"gender": "F", "language": "en", "custom": {"dialect": "scots", "scores": [1]}},
        {
            "id": "s2",
            "recording_id": "rec-1",
            "start": 3.0,
            "duration": 1.5,
            "channel": 0,
            "text": "two",
            "speaker": "b",
        },
    ],
}


@pytest.mark.parametrize("opener", [open, gzip.open], ids=["jsonl", "gz"])
def test_lhotse_cuts(wavs, opener):
    root = wavs("audio/rec-1.wav")
    file = root / f"cuts.jsonl{'.gz' if opener is gzip.open else ''}"
    with opener(file, "wt") as out:
        for cut in (CUT, CUT | {"id": "cut-2", "supervisions": []}):
            out.write(json.dumps(cut) + "\n")
    corpus = read_corpus(file)
    assert corpus.format == "lhotse"
    assert values(corpus, "id", "speaker", "text", "start", "duration", "gender", "dialect") == [
        ("s1", "a", "one", 10.5, 2.0, "F", "scots"),
        ("s2", "b", "two", 13.0, 1.5, None, None),
        ("cut-2", None, None, 10.0, 5.0, None, None),
    ]


def test_lhotse_commands_and_broken_lines_are_refused(wavs):
    root = wavs("audio/rec-1.wav")
    canary = root / "ran"
    source = {"type": "command", "channels": [0], "source": f"touch {canary}"}
    command = CUT | {"id": "c", "recording": CUT["recording"] | {"sources": [source]}}
    (root / "cuts.jsonl").write_text("\n".join((json.dumps(CUT), json.dumps(command), '{"id": 1}', "{")))
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "cuts.jsonl")
    assert "2 lines are not cuts (lines 3, 4" in str(caught.value)
    assert "1 recording is not one audio file (line 2: 'c')" in str(caught.value)
    assert len(read_corpus(root / "cuts.jsonl", skip_bad_rows=True)) == 2
    assert not canary.exists()
    whole = gzip.compress(json.dumps(CUT).encode() * 50)
    (root / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match=r"cut\.jsonl\.gz: not valid gzip"):
        read_corpus(root / "cut.jsonl.gz", format="lhotse")


CHAT = """@UTF8
@Begin
@Languages:\teng
@Participants:\tPAR Participant, INV Investigator
@ID:\teng|Voices|PAR|34;06.12|male|PWS||Participant|||
@ID:\teng|Voices|INV||female|||Investigator|||
@Media:\t24fb, audio
*INV:\ttell me about it . \x150_1500\x15
*PAR:\t&-um I ↫w-w↫want [/] want to s:ee the
\t&+sn (.) sn^ake . \x151500_4250\x15
%mor:\tpro|I v|want
*PAR:\txxx there . \x154250_5000\x15
*PAR:\tno times here .
@End
"""


def test_chat_as_fluencybank_publishes_it(wavs):
    root = wavs("fb/wav/24fb.wav") / "fb"
    (root / "24fb.cha").write_text(CHAT)
    corpus = read_corpus(root)
    assert (corpus.format, kinds(corpus)) == ("chat", ["unclear_text", "unclear_text"])
    assert values(
        corpus, "speaker", "text", "start", "duration", "age", "source_age", "gender", "group", "role"
    ) == [
        ("24fb-INV", "tell me about it", 0.0, 1.5, None, None, "female", None, "Investigator"),
        (
            "24fb-PAR",
            "I want to see the snake",
            1.5,
            2.75,
            "30-39",
            "34;06.12",
            "male",
            "PWS",
            "Participant",
        ),
    ]
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert len(read_corpus(root / "24fb.cha", check_audio=False)) == 2
    assert "24fb.cha:13" in corpus.problems[0].message + corpus.problems[1].message


def test_chat_tells_what_is_meant_from_what_can_be_heard(wavs):
    root = wavs("fb/wav/24fb.wav") / "fb"
    (root / "24fb.cha").write_text(CHAT)
    (root / "plain.cha").write_text("@Media:\t24fb, audio\n*PAR:\tI [/] I go . \x150_900\x15\n")
    corpus = read_corpus(root)
    assert values(corpus, "text", "surface", "events", "coded")[1:] == [
        (
            "I want to see the snake",
            "um I w- w- want want to see the sn- snake",
            "interjection:1 sound_repetition:2 word_repetition:1 prolongation:1 fragment:1 broken_word:1",
            "yes",
        ),
        ("I go", "I I go", "word_repetition:1", "no"),  # nobody marked sounds here: not the same as none
    ]


@pytest.mark.parametrize(
    ("said", "intended", "surface", "events"),
    [
        # One line for each line of the table.
        ("↫t-t↫to", "to", "t- t- to", "sound_repetition:2"),
        ("I [/] I", "I", "I I", "word_repetition:1"),
        ("I [/] I [/] I [/] I am", "I am", "I I I I am", "word_repetition:3"),
        ("<a b> [/] a b", "a b", "a b a b", "phrase_repetition:1"),
        ("<a b> [/] <a b> [/] a b", "a b", "a b a b a b", "phrase_repetition:2"),
        ("<I want> [//] I need it +...", "I need it", "I want I need it", "revision:1"),
        ("he [///] she goes", "she goes", "he she goes", "revision:1"),
        ("<and then> [/-] stop .", "stop", "and then stop", "revision:1"),
        ("&-um yes", "yes", "um yes", "interjection:1"),
        ("&-you_know yes", "yes", "you know yes", "interjection:1"),
        ("&+fr from", "from", "fr- from", "fragment:1"),
        ("s:aid", "said", "said", "prolongation:1"),
        ("≠word", "word", "word", "block:1"),
        ("^word", "word", "word", "block:1"),
        ("beg^inning", "beginning", "beginning", "broken_word:1"),
        ("(be)cause", "because", "because", "none"),
        ("wabbit [: rabbit] ran", "rabbit ran", "wabbit ran", "none"),
        ("it 0is gone .", "it gone", "it gone", "none"),
        ("ice+cream", "icecream", "icecream", "none"),
        # Awkward nestings.
        (
            "<the ↫d-d↫dog &-um> [/] the dog",
            "the dog",
            "the d- d- dog um the dog",
            "sound_repetition:2 interjection:1 phrase_repetition:1",
        ),
        (
            "<I <want to> [/] want to> [//] I need",
            "I need",
            "I want to want to I need",
            "phrase_repetition:1 revision:1",
        ),
        ("↫s-s↫s:nake", "snake", "s- s- snake", "sound_repetition:2 prolongation:1"),
        ("^↫b-b↫but", "but", "b- b- but", "sound_repetition:2 block:1"),
        ("↫b-b↫but↫t-t↫ter", "butter", "b- b- t- t- butter", "sound_repetition:2 sound_repetition:2"),
        ("≠I [/] ≠I [/] I go", "I go", "I I I go", "block:1 block:1 word_repetition:2"),
        (
            "<I [/] I &-um> [//] we [x 2]",
            "we",
            "I I um we we",
            "word_repetition:1 interjection:1 revision:1 word_repetition:1",
        ),
        (
            "&+w [/] &+w <will you> [/] will you",
            "will you",
            "w- w- will you will you",
            "fragment:1 fragment:1 phrase_repetition:1",
        ),
        ("&-um [/] &-um no", "no", "um um no", "interjection:1 interjection:1"),
        ("no [x 3] !", "no", "no no no", "word_repetition:2"),
        ("↫open and nothing", "open and nothing", "open and nothing", "none"),
        ("I [/] (.) &-uh I see", "I see", "I uh I see", "word_repetition:1 interjection:1"),
        ("<unclosed [/] group", "group", "unclosed group", "word_repetition:1"),
        ("gonna [: going to] [* s] go .", "going to go", "gonna go", "none"),
        ("&=laughs okay ‡ yes !", "okay yes", "okay yes", "none"),
        ("(be)cause it's new_york@n ?", "because it's new york", "because it's new york", "none"),
        ("and (1.5) then (..) stop", "and then stop", "and then stop", "none"),
        ("0 .", "", "", "none"),
        ("[/] [//] > <", "", "", "none"),
    ],
)
def test_chat_codes(said, intended, surface, events):
    found = chat_utterance(said)
    assert (found.intended, found.surface, written_events(found.events)) == (intended, surface, events)


def test_the_open_asr_leaderboards_results_are_references_without_audio(tmp_path, capsys, asked):
    lines = [
        {
            "audio_filepath": f"sample_{n}",
            "duration": 2.5,
            "time": 0.1,
            "text": f"word {n}",
            "pred_text": "word",
        }
        for n in range(3)
    ]
    file = tmp_path / "MODEL_openai-whisper_DATASET_ami_test.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = read_corpus(file, check_audio=False)
    assert (corpus.format, values(corpus, "id", "text", "duration")[2]) == (
        "nemo",
        ("sample_2", "word 2", 2.5),
    )
    assert main(["inspect", str(file)]) == 2
    capsys.readouterr()
    (shown,) = asked("inspect", file, "--no-audio").tables["corpus"]
    assert (shown["usable"], shown["utterances"], shown["seconds"]) == (True, 3, 7.5)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a (1)\nno id\n(2) b\n", r"2 lines are not 'words (id)' (lines 2, 3: 'no id', '(2) b')"),
        (b"caf\xe9 (1)\n", "not UTF-8 (line 1, byte 0xe9)"),
        (b"a (1)\x85 b (2)\nx\n", "not UTF-8 (line 1, byte 0x85)"),
        ("a\u2028b (1)\nx\n".encode(), "1 line is not 'words (id)' (line 2: 'x')"),
    ],
)
def test_trn_is_refused_in_the_same_words_wherever_it_is_read(tmp_path, content, says):
    path = tmp_path / "x.trn"
    path.write_bytes(content)
    other = tmp_path / "y.trn"
    other.write_text("a (1)\n")
    readers = {
        "corpus": read_corpus,
        "transcripts": read_transcripts,
        "references": lambda path: read_pairs(path, other),
        "hypotheses": lambda path: read_pairs(other, path),
    }
    for read in readers.values():
        with pytest.raises(CorpusError) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)


def test_trn_is_the_same_texts_wherever_it_is_read(tmp_path):
    path = tmp_path / "x.trn"
    path.write_text(";; made by hand\n\na\u2028b (so) (s-1)\n(s-2)  \r\n  c (s-3)\n", encoding="utf-8-sig")
    texts = {"s-1": "a\u2028b (so)", "s-2": "", "s-3": "c"}
    assert read_transcripts(path) == texts
    pairs = read_pairs(path, path)
    assert dict(zip(pairs.ids, pairs.references, strict=True)) == texts
    table = read_corpus(path, check_audio=False).table
    assert dict(table.select("id", "text").rows()) == texts | {"s-2": None}
