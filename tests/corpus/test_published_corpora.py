"""Miniatures of published corpora, laid out as their publishers do."""

from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile

from voxaudit.audio import read
from voxaudit.corpus import CorpusError, examine_corpus, read_corpus


def write(path, text, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding=encoding)


def kinds(corpus):
    return [problem.kind for problem in corpus.problems]


def values(corpus, *columns):
    return corpus.table.select(columns).rows()


def test_multilingual_librispeech(wavs):
    root = wavs(
        "mls_polish/test/audio/6892/10049/6892_10049_000018.flac",
        "mls_polish/dev/audio/8758/9338/8758_9338_000000.flac",
    )
    root = root / "mls_polish"
    write(
        root / "metainfo.txt",
        " SPEAKER   |   GENDER   | PARTITION  |  MINUTES   |  BOOK ID   |   TITLE   |  CHAPTER\n"
        "  6892     |     F      |    test    |   10.1     |   10049    |  Kubuś     |  I\n"
        "  8758     |     M      |    dev     |   12.0     |   9338     |  Inna      |  II\n",
    )
    write(root / "test/transcripts.txt", "6892_10049_000018\tdwa słowa\n")
    write(root / "dev/transcripts.txt", "8758_9338_000000\ttrzy\n")
    corpus = read_corpus(root)
    assert (corpus.format, corpus.problems) == ("mls", ())
    assert values(corpus, "id", "speaker", "text", "split", "gender", "source_gender") == [
        ("8758_9338_000000", "8758", "trzy", "dev", "male", "M"),
        ("6892_10049_000018", "6892", "dwa słowa", "test", "female", "F"),
    ]
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert values(corpus, "language") == [("pl",), ("pl",)]
    one = read_corpus(root / "test")
    assert (one.format, values(one, "id", "gender", "split", "language")) == (
        "mls",
        [("6892_10049_000018", "female", "test", "pl")],
    )
    (root / "test/audio/6892/10049/6892_10049_000018.flac").unlink()
    with pytest.raises(CorpusError, match=r"\(test/transcripts\.txt:1: 'test/audio/6892"):
        read_corpus(root)
    with pytest.raises(CorpusError, match=r"no transcripts\.txt"):
        read_corpus(root / "test/audio", format="mls")


def test_fleurs(wavs):
    root = wavs("en_us/audio/test/11.wav", "en_us/audio/dev/22.wav") / "en_us"
    line = '1521\t11.wav\tHe said "go".\the said go\th e | s a i d |\t16000\tFEMALE\n'
    write(root / "test.tsv", line)
    write(root / "dev.tsv", "7\t22.wav\tHi.\thi\th i |\t8000\tMALE\nbroken\n")
    with pytest.raises(CorpusError, match=r"1 line does not have 7 fields \(dev\.tsv:2: 'broken'\)"):
        read_corpus(root)
    corpus = read_corpus(root, skip_bad_rows=True)
    assert (corpus.format, corpus.skipped) == ("fleurs", 1)
    assert values(corpus, "id", "text", "duration", "gender", "source_gender", "sentence", "speaker") == [
        ("dev/22", "hi", 0.5, "male", "MALE", "7", None),
        ("test/11", "he said go", 1.0, "female", "FEMALE", "1521", None),
    ]
    assert "no_speaker" in kinds(corpus)
    one = read_corpus(root / "test.tsv")
    assert (one.format, values(one, "raw_transcription", "language")) == ("fleurs", [('He said "go".', "en")])


def test_vctk(wavs):
    root = wavs(
        "VCTK/wav48_silence_trimmed/p225/p225_001_mic1.flac",
        "VCTK/wav48_silence_trimmed/p225/p225_001_mic2.flac",
        "VCTK/wav48_silence_trimmed/p280/p280_002_mic2.flac",
    )
    root = root / "VCTK"
    write(
        root / "speaker-info.txt",
        "ID  AGE  GENDER  ACCENTS  REGION COMMENTS\n"
        "p225  23  F    English    Southern  England\n"
        "p280  25  F    Unknown    France    (mic2 files unavailable)\n",
    )
    write(root / "txt/p225/p225_001.txt", "Please call Stella.\n")
    corpus = read_corpus(root)
    assert corpus.format == "vctk"
    assert values(corpus, "id", "text", "microphone", "age", "source_age", "gender", "accent", "region") == [
        ("p225_001", "Please call Stella.", "mic1", "20-29", "23", "female", "English", "Southern England"),
        ("p280_002", None, "mic2", "20-29", "25", "female", None, "France"),
    ]
    assert "1 row has no text" in " ".join(problem.message for problem in corpus.problems)
    write(
        root / "speaker-info.txt", "ID AGE GENDER ACCENTS REGION\n225 23 F English Southern England\n"
    )  # 0.80
    assert values(read_corpus(root), "gender") == [("female",), (None,)]


def test_l2_arctic(wavs):
    root = (
        wavs("l2/ABA/wav/arctic_a0001.wav", "l2/TNI/wav/arctic_a0001.wav", "l2/suitcase_corpus/wav/aba.wav")
        / "l2"
    )
    for name in ("ABA", "TNI"):
        write(root / name / "transcript/arctic_a0001.txt", "Author of the danger trail")
        write(root / name / "annotation/arctic_a0001.TextGrid", "File type")
    write(root / "suitcase_corpus/transcript/aba.txt", "two people met")
    corpus = read_corpus(root)
    assert (corpus.format, corpus.problems) == ("l2_arctic", ())
    assert values(corpus, "id", "speaker", "gender", "native_language", "style") == [
        ("ABA/arctic_a0001", "ABA", "male", "Arabic", "read"),
        ("TNI/arctic_a0001", "TNI", "female", "Hindi", "read"),
        ("suitcase/ABA", "ABA", "male", "Arabic", "spontaneous"),
    ]


def test_l2_arctic_speakers_are_balanced_as_published():
    from voxaudit.corpus.published.l2_arctic import SPEAKERS

    people = [person for group in SPEAKERS.values() for person in group]
    assert len(people) == len(set(people)) == 24
    assert sum(person.endswith(" F") for person in people) == 12
    assert {len(group) for group in SPEAKERS.values()} == {4}


def test_speech_accent_archive(wavs):
    root = wavs("saa/recordings/recordings/afrikaans1.mp3", "saa/recordings/recordings/amharic2.mp3") / "saa"
    write(
        root / "speakers_all.csv",
        "age,age_onset,birthplace,filename,native_language,sex,speakerid,country,file_missing?,,,\n"
        '24,0,"koussi, senegal",balanta,balanta,male,788,senegal,TRUE,,,\n'
        '27,9,"virginia, south africa",afrikaans1,afrikaans,female,1,south africa,FALSE,,,\n'
        '40,5,"addis ababa, ethiopia",amharic2,amharic,famale,9,ethiopia,FALSE,,,\n',
    )
    write(root / "reading-passage.txt", "Please call\nStella.\n")
    corpus = read_corpus(root)
    assert corpus.format == "accent_archive"
    assert values(corpus, "id", "speaker", "text", "gender", "sex", "age", "native_language") == [
        ("afrikaans1", "1", "Please call Stella.", "female", "female", "20-29", "afrikaans"),
        ("amharic2", "9", "Please call Stella.", "female", "famale", "40-49", "amharic"),
    ]
    assert kinds(corpus) == ["no_recording"]
    (root / "reading-passage.txt").unlink()
    assert "no_passage" in kinds(read_corpus(root))


def test_fair_speech(wavs):
    root = wavs("fs/asr_fairness_audio/abc.wav", "fs/asr_fairness_audio/def.wav") / "fs"
    write(
        root / "downloaded_file.tsv",
        "hash_name\ttranscription\tage\tgender\tfirst_language\tsocioeconomic_bkgd\tethnicity\n"
        'abc\tplay "songs\t18 - 22\tfemale\tEnglish\tLow\tWhite\n'
        "def\tcall mum\t46 - 65\tmale\tSpanish\tMedium\tHispanic, Latino, or Spanish\n",
    )
    corpus = read_corpus(root)
    assert (corpus.format, kinds(corpus)) == ("fair_speech", ["no_speaker"])
    assert values(corpus, "id", "text", "age", "source_age", "socioeconomic_background", "ethnicity") == [
        ("abc", 'play "songs', "18-22", "18 - 22", "Low", "White"),
        ("def", "call mum", "46-65", "46 - 65", "Medium", "Hispanic, Latino, or Spanish"),
    ]
    assert read_corpus(root / "downloaded_file.tsv").table.equals(corpus.table)


def test_casual_conversations_1(wavs):
    root = wavs("cc/audio/1140_00.wav") / "cc"
    label = {"age": "33", "gender": "Female", "skin-type": "2"}
    files = ["CasualConversationsA/1140/1140_00.MP4", "CasualConversationsA/1140/1140_01.MP4"]
    write(root / "CasualConversations.json", json.dumps({"1140": {"label": label, "files": files}}))
    text = "[0.000] <no-speech> [secondary_1.668_secondary] hello there [/primary_75.138_primary/] hi %um"
    entry = {"video_path": files[0], "transcription": text, "duration_ms": 75138}
    write(root / "CasualConversations_transcriptions.json", json.dumps([entry]))
    corpus = read_corpus(root)
    assert (corpus.format, kinds(corpus)) == ("casual_conversations", ["no_recording"])
    assert values(corpus, "id", "speaker", "text", "age", "gender", "skin_type") == [
        ("1140_00", "1140", "hello there hi um", "30-39", "female", "2")
    ]
    (root / "audio/1140_00.wav").unlink()
    with pytest.raises(CorpusError, match="2 audio files do not exist"):
        read_corpus(root)


def test_casual_conversations_2(wavs):
    root = wavs("cc/a/0001_portuguese_scripted_1.wav") / "cc"
    entry = {
        "subject_id": "0001",
        "video_name": "0001_portuguese_scripted_1.mp4",
        "age": "prefer not to say",
        "gender": "cis woman",
        "native_language": "portuguese",
        "geo_location": {"country": "brazil"},
        "fitzpatrick_skin_tone": {"type": "type iii", "confidence": "high"},
        "monk_skin_tone": {"scale": "scale 4", "confidence": "high"},
    }
    write(root / "CasualConversationsV2.json", json.dumps([entry]))
    corpus = read_corpus(root)
    assert values(
        corpus, "speaker", "age", "source_age", "gender", "source_gender", "geo_location", "monk_skin_tone"
    ) == [("0001", None, "prefer not to say", "female", "cis woman", "brazil", "scale 4")]
    write(root / "CasualConversationsV2.json", '{"broken": ')
    with pytest.raises(CorpusError, match=r"CasualConversationsV2\.json: not valid JSON"):
        read_corpus(root)
    write(root / "CasualConversationsV2.json", "[1, 2]")
    with pytest.raises(CorpusError, match="names no videos"):
        read_corpus(root)


def test_coraal(wavs):
    root = wavs("DCB/DCB_audio_part01_2018/DCB_se1_ag1_f_01_1.wav") / "DCB"
    write(
        root / "DCB_metadata_2018.10.06.txt",
        "CORAAL.Sub\tCORAAL.Spkr\tCORAAL.File\tGender\tAge\tAge.Group\tCORAAL.SEC.Group\n"
        "DCB\tDCB_se1_ag1_f_01\tDCB_se1_ag1_f_01_1\tFemale\t19\t-19\t1\n",
    )
    write(
        root / "DCB_textfiles_2018/DCB_se1_ag1_f_01_1.txt",
        "Line\tSpkr\tStTime\tContent\tEnTime\n"
        "1\tDCB_int_01\t0.5\tSo how old are you? <laugh>\t1.75\n"
        "2\tDCB_se1_ag1_f_01\t1.75\t(pause 0.42)\t2.1\n"
        "3\tDCB_se1_ag1_f_01\t2.1\tI'm [nineteen], /I/ think.\t3.5\n"
        "4\tDCB_se1_ag1_f_01\t3.5\tMy name is /RD-NAME-2/.\t4.5\n"
        "5\tDCB_se1_ag1_f_01\t4.5\t/unintelligible/ here.\t5\n",
    )
    corpus = read_corpus(root)
    assert (corpus.format, kinds(corpus)) == ("coraal", ["unclear_text"])
    assert values(
        corpus, "id", "text", "start", "duration", "role", "gender", "age", "socioeconomic_group"
    ) == [
        ("DCB_se1_ag1_f_01_1-1", "So how old are you?", 0.5, 1.25, "interviewer", None, None, None),
        (
            "DCB_se1_ag1_f_01_1-3",
            "I'm nineteen, I think.",
            2.1,
            pytest.approx(1.4),
            "interviewee",
            "female",
            "10-19",
            "1",
        ),
    ]
    assert "2 lines left out" in corpus.problems[0].message
    assert "DCB_se1_ag1_f_01_1.txt:5" in corpus.problems[0].message


def test_tedlium_reads_nist_sphere(tmp_path):
    split = tmp_path / "TEDLIUM_release-3/legacy/test"
    (split / "sph").mkdir(parents=True)
    sound = np.linspace(-0.5, 0.5, 16000, dtype=np.float32)
    soundfile.write(split / "sph/AimeeMullins_2009P.sph", sound, 16000, format="NIST", subtype="PCM_16")
    write(
        split / "stm/AimeeMullins_2009P.stm",
        ";; a comment\n"
        "AimeeMullins_2009P 1 inter_segment_gap 0 0.1 <o,f0,> ignore_time_segment_in_scoring\n"
        "AimeeMullins_2009P 1 Aimee_Mullins 0.25 0.75 <o,f0,female> i 'd like(2) to {NOISE} share <unk> it 's\n",
    )
    corpus = read_corpus(tmp_path / "TEDLIUM_release-3")
    assert (corpus.format, corpus.problems) == ("tedlium", ())
    assert values(corpus, "speaker", "text", "start", "duration", "talk", "split", "gender") == [
        ("Aimee_Mullins", "i'd like to share it's", 0.25, 0.5, "AimeeMullins_2009P", "test", "female")
    ]
    (utterance,) = corpus
    heard = read(utterance.audio, start=utterance.start, duration=utterance.duration)
    assert np.allclose(heard.samples, sound[4000:12000], atol=1e-4)
    assert read_corpus(split).table["split"].to_list() == ["test"]
    write(split / "stm/Broken.stm", "only three fields\n")
    with pytest.raises(CorpusError, match=r"1 line is not 'recording channel .* \(Broken\.stm:1"):
        read_corpus(split)


NXT = '<?xml version="1.0" encoding="ISO-8859-1" standalone="yes"?>\n<nite:root nite:id="x" xmlns:nite="http://nite.sourceforge.net/">'


@pytest.fixture
def ami(wavs):
    audio = "amicorpus/ES2002a/audio/ES2002a."
    root = wavs(f"{audio}Headset-1.wav", f"{audio}Headset-0.wav", f"{audio}Array1-01.wav") / "amicorpus"
    notes = root / "annotations"
    write(
        notes / "words/ES2002a.A.words.xml",
        f'{NXT}<w nite:id="ES2002a.A.words0" starttime="5" endtime="5.4">Café</w>'
        '<w nite:id="ES2002a.A.words1" starttime="5.4" endtime="5.4" punc="true">,</w>'
        '<vocalsound nite:id="ES2002a.A.words2" type="laugh"/>'
        '<w nite:id="ES2002a.A.words3" starttime="5.4" endtime="5.9">it&#39;s</w>'
        '<w nite:id="ES2002a.A.words4" starttime="8" endtime="8.4">Yeah</w></nite:root>',
        "iso-8859-1",
    )
    child = '<nite:child href="ES2002a.A.words.xml#id(ES2002a.A.words{})"/>'
    write(
        notes / "segments/ES2002a.A.segments.xml",
        f'{NXT}<segment nite:id="s1" channel="0" transcriber_start="5.0" transcriber_end="6.0">'
        f"{child.format('0)..id(ES2002a.A.words3')}</segment>"
        f'<segment nite:id="s2" transcriber_start="6.5" transcriber_end="7">{child.format("2")}</segment>'
        f'<segment nite:id="s3" transcriber_start="8" transcriber_end="8.5">{child.format("4")}</segment></nite:root>',
    )
    write(notes / "words/ES2002a.B.words.xml", f'{NXT}<w nite:id="b0">Hm</w></nite:root>')
    write(
        notes / "segments/ES2002a.B.segments.xml",
        f'{NXT}<segment nite:id="s4" transcriber_start="5.5" transcriber_end="6.2">'
        '<nite:child href="../../../../etc/passwd#id(b0)"/></segment></nite:root>',
    )
    write(notes / "words/ES2003b.A.words.xml", f"{NXT}</nite:root>")
    write(notes / "segments/ES2003b.A.segments.xml", f"{NXT}</nite:root>")
    write(
        notes / "corpusResources/meetings.xml",
        f'{NXT}<meeting observation="ES2002a"><speaker nxt_agent="A" channel="1" global_name="MEE006"/>'
        '<speaker nxt_agent="B" channel="0" global_name="FEE005"/></meeting></nite:root>',
    )
    write(
        notes / "corpusResources/participants.xml",
        f'{NXT}<participant nite:id="FEE005" native_language="French"/></nite:root>',
    )
    return root


def test_ami_near_and_far(ami):
    near = read_corpus(ami)
    assert (near.format, kinds(near)) == ("ami", ["no_recording", "near_field"])
    assert near.table["native_language"].to_list() == [None, None, "French"]
    assert values(near, "id", "speaker", "text", "start", "duration", "gender", "overlap") == [
        ("ES2002a-A-1", "MEE006", "Café it's", 5.0, 1.0, "male", "yes"),
        ("ES2002a-A-3", "MEE006", "Yeah", 8.0, 0.5, "male", "no"),
        ("ES2002a-B-1", "FEE005", "Hm", 5.5, pytest.approx(0.7), "female", "yes"),
    ]
    assert [utterance.audio.name for utterance in near] == [f"ES2002a.Headset-{n}.wav" for n in (1, 1, 0)]
    far = read_corpus(ami, format="ami_far")
    assert far.table.drop("audio").equals(near.table.drop("audio"))
    assert {utterance.audio.name for utterance in far} == {"ES2002a.Array1-01.wav"}


def test_ami_xml_is_read_with_care(ami):
    bomb = (
        '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;">]>'
        "<nite:root>&lol2;</nite:root>"
    )
    segments = ami / "annotations/segments/ES2002a.A.segments.xml"
    write(segments, bomb)
    with pytest.raises(CorpusError, match=r"ES2002a\.A\.segments\.xml: has a DOCTYPE, which is not read"):
        read_corpus(ami)
    write(segments, '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>')
    with pytest.raises(CorpusError, match="has a DOCTYPE"):
        read_corpus(ami)
    write(segments, f"{NXT}<segment>")
    with pytest.raises(CorpusError, match=r"A\.segments\.xml: not valid XML \(no element found: line 2"):
        read_corpus(ami)
    write(segments, "<a>&undefined;</a>")
    with pytest.raises(CorpusError, match="not valid XML"):
        read_corpus(ami)


def test_chime6_near_and_far(wavs):
    root = wavs(*(f"CHiME6/audio/dev/S02_{name}.wav" for name in ("P05", "P06", "U01.CH1"))) / "CHiME6"
    said = [
        ("0:00:40.60", "0:00:42.24", "P05", "Hello [laughs] there."),
        ("0:00:41.00", "0:00:43.00", "P06", "Hi."),
    ]
    said += [
        ("0:01:00.00", "0:01:01.00", "P05", "[noise]"),
        ("1:00:00.50", "1:00:02.00", "P06", "I am [redacted]."),
    ]
    segments = [
        {
            "start_time": start,
            "end_time": end,
            "words": words,
            "speaker": who,
            "ref": "U02",
            "location": "kitchen",
        }
        | {"session_id": "S02"}
        for start, end, who, words in said
    ]
    write(root / "transcriptions/dev/S02.json", json.dumps(segments))
    near = read_corpus(root)
    assert (near.format, kinds(near)) == ("chime6", ["near_field"])
    assert values(near, "id", "speaker", "text", "start", "duration", "location", "overlap") == [
        ("S02-P05-1", "P05", "Hello there.", 40.6, pytest.approx(1.64), "kitchen", "yes"),
        ("S02-P06-2", "P06", "Hi.", 41.0, 2.0, "kitchen", "yes"),
    ]
    assert [utterance.audio.name for utterance in near] == ["S02_P05.wav", "S02_P06.wav"]
    far = read_corpus(root, format="chime6_far")
    assert {utterance.audio.name for utterance in far} == {"S02_U01.CH1.wav"}
    segments[0]["start_time"] = "half past"
    write(root / "transcriptions/dev/S02.json", json.dumps(segments))
    with pytest.raises(
        CorpusError, match=r"start is not a number of seconds .*\(dev/S02\.json:1: 'half past'\)"
    ):
        read_corpus(root)


def test_ravdess(wavs):
    root = (
        wavs("R/Actor_01/03-01-06-01-02-01-01.wav", "R/Actor_12/03-01-05-02-01-02-12.wav", "R/Actor_12/x.wav")
        / "R"
    )
    corpus = read_corpus(root)
    assert (corpus.format, corpus.problems) == ("ravdess", ())
    assert values(corpus, "id", "speaker", "gender", "emotion", "intensity", "text") == [
        ("03-01-06-01-02-01-01", "actor01", "male", "fearful", "normal", "Dogs are sitting by the door"),
        ("03-01-05-02-01-02-12", "actor12", "female", "angry", "strong", "Kids are talking by the door"),
    ]
    assert read_corpus(root / "Actor_12").format == "ravdess"


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("mls", "test/transcripts.txt", b"1_2_3\tcaf\xe9\n"),
        ("fleurs", "test.tsv", b"1\ta.wav\tcaf\xe9\tx\tx\t1\tMALE\n"),
        ("fair_speech", "a.tsv", b"hash_name\ttranscription\nabc\tcaf\xe9\n"),
        ("accent_archive", "speakers_all.csv", b"filename,native_language\nabc,caf\xe9\n"),
        ("casual_conversations", "CasualConversations.json", b'{"a": "\xe9"}'),
        ("coraal", "a.txt", b"Line\tSpkr\tStTime\tContent\tEnTime\n1\ts\t0\tcaf\xe9\t1\n"),
        ("tedlium", "stm/a.stm", b"a 1 s 0 1 <o> caf\xe9\n"),
        ("chime6", "transcriptions/dev/S01.json", b'[{"words": "\xe9"}]'),
        ("vctk", "speaker-info.txt", b"ID\np1 \xe9\n"),
        ("ctm", "a.ctm", b"a 1 0 1 caf\xe9\n"),
        ("trn", "a.trn", b"caf\xe9 (a)\n"),
        ("stm", "a.stm", b"a 1 s 0 1 caf\xe9\n"),
        ("seglst", "a.json", b'[{"session_id": "\xe9", "words": ""}]'),
        ("chat", "a.cha", b"*PAR:\tcaf\xe9 .\n"),
        ("lhotse", "a.jsonl", b'{"id": "\xe9", "start": 0, "supervisions": []}\n'),
    ],
)
def test_other_encodings_are_named_with_their_file(name, file, content, tmp_path):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    (tmp_path / "wav48").mkdir()
    place = path if name in ("ctm", "trn", "stm", "seglst", "lhotse") else tmp_path
    if name == "lhotse":  # a line of it is bad, the file is not
        assert "bad_json" in kinds(examine_corpus(place, format=name))
        return
    with pytest.raises(CorpusError, match="not UTF-8") as caught:
        examine_corpus(place, format=name)
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_audio_and_repeated_ids_are_found_in_published_corpora_too(wavs):
    root = wavs("fs/asr_fairness_audio/abc.wav") / "fs"
    write(
        root / "downloaded_file.tsv",
        "hash_name\ttranscription\nabc\tone\nabc\ttwo\n../../etc/passwd\tthree\n",
    )
    with pytest.raises(CorpusError) as caught:
        read_corpus(root)
    assert "1 audio file does not exist (row 4: '../../etc/passwd.wav'" in str(caught.value)
    assert "1 duplicate id (rows 2 and 3: 'abc')" in str(caught.value)


def test_voxpopuli(wavs):
    """The layout that get_asr_data.py of facebookresearch/voxpopuli writes."""
    root = wavs("en/2018/20180613-0900-PLENARY-1-en_1.ogg", "en/2009/20090112-x-en_2.ogg") / "en"
    head = "id\traw_text\tnormalized_text\tspeaker_id\tsplit\tgender\n"
    write(
        root / "asr_test.tsv",
        f'{head}20180613-0900-PLENARY-1-en_1\tMr "President.\tmr president\t124\ttest\tmale\n',
    )
    write(root / "asr_dev.tsv", f"{head}20090112-x-en_2\tYes.\tyes\tNone\tdev\tNone\n")
    corpus = read_corpus(root)
    assert corpus.format == "voxpopuli"
    assert values(corpus, "id", "speaker", "text", "split", "gender", "language") == [
        ("20090112-x-en_2", None, "yes", "dev", None, "en"),
        ("20180613-0900-PLENARY-1-en_1", "124", "mr president", "test", "male", "en"),
    ]
    assert all(utterance.audio.is_file() for utterance in corpus)
    with pytest.raises(CorpusError, match=r"no asr_train\.tsv"):
        read_corpus(root / "2018", format="voxpopuli")


def test_gigaspeech(wavs):
    """The layout of GigaSpeech.json, as SpeechColab/GigaSpeech describes it."""
    root = wavs("audio/youtube/P0000/YOU1.wav")
    segments = [
        ("YOU1_S1", "N/A", 0.0, 0.05, "HELLO <COMMA> YOU <PERIOD>"),
        ("YOU1_S2", "ann", 0.05, 0.1, "YES <QUESTIONMARK>"),
        ("YOU1_S3", "N/A", 0.05, 0.1, "<MUSIC>"),
    ]
    keys = ("sid", "speaker", "begin_time", "end_time", "text_tn")
    audio = {
        "title": "t", "path": "audio/youtube/P0000/YOU1.wav", "aid": "YOU1", "source": "youtube", "category": "News",
        "segments": [{**dict(zip(keys, one, strict=True)), "subsets": ["{XL}", "{M}"]} for one in segments],
    }  # fmt: skip
    write(root / "GigaSpeech.json", json.dumps({"dataset": "GigaSpeech", "audios": [audio]}))
    corpus = read_corpus(root)
    assert (corpus.format, kinds(corpus)) == ("gigaspeech", ["unclear_text", "missing_speaker"])
    assert values(corpus, "id", "speaker", "text", "start", "subsets", "category") == [
        ("YOU1_S1", None, "HELLO, YOU.", 0.0, "XL M", "News"),
        ("YOU1_S2", "ann", "YES?", 0.05, "XL M", "News"),
    ]
    assert read_corpus(root / "GigaSpeech.json").table.equals(corpus.table)
    write(root / "GigaSpeech.json", "{}")
    with pytest.raises(CorpusError, match="no list `audios`"):
        read_corpus(root)


def test_aishell(wavs):
    """The layout of openslr.org/33."""
    root = wavs(
        "data_aishell/wav/test/S0764/BAC009S0764W0121.wav", "data_aishell/wav/dev/S0724/BAC009S0724W0122.wav"
    )
    texts = "BAC009S0764W0121 甚至 出现 交易\nBAC009S0724W0122 广州 市\n"
    write(root / "data_aishell/transcript/aishell_transcript_v0.8.txt", texts)
    write(root / "resource_aishell/speaker.info", "0764 F\n0724 M\n")
    corpus = read_corpus(root)
    assert corpus.format == "aishell"
    assert values(corpus, "id", "speaker", "text", "split", "gender", "language") == [
        ("BAC009S0724W0122", "S0724", "广州市", "dev", "male", "zh"),
        ("BAC009S0764W0121", "S0764", "甚至出现交易", "test", "female", "zh"),
    ]
    assert len(read_corpus(root / "data_aishell")) == 2


@pytest.mark.parametrize("columns", ["audio_paths,user_ids", "path,speaker_id"])
def test_afrispeech(wavs, columns):
    """The columns of the dataset's card, and of the authors' own tables."""
    root = wavs("audio/yoruba/test/aad9/5dcb.wav", "audio/zulu/test/bbe0/77aa.wav")
    head = f"{columns},transcript,age_group,gender,accent,domain,country,duration"
    lines = (
        "/AfriSpeech-100/test/aad9/5dcb.wav,s1,His mother is in her 50 s,26-40,Male,yoruba,clinical,NG,0.1",
        "/AfriSpeech-100/test/bbe0/77aa.wav,s2,Good morning,19-25,Female,zulu,general,ZA,0.1",
    )
    write(root / "test.csv", "\n".join((head, *lines)) + "\n")
    corpus = read_corpus(root)
    assert corpus.format == "afrispeech"
    assert values(corpus, "id", "speaker", "text", "accent", "gender", "domain", "split") == [
        (
            "AfriSpeech-100/test/aad9/5dcb",
            "s1",
            "His mother is in her 50 s",
            "yoruba",
            "male",
            "clinical",
            "test",
        ),
        ("AfriSpeech-100/test/bbe0/77aa", "s2", "Good morning", "zulu", "female", "general", "test"),
    ]
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert len(read_corpus(root / "test.csv")) == 2


def test_edacc(wavs):
    """The layout of the release at datashare.ed.ac.uk/handle/10283/4836, as lhotse's recipe reads it."""
    root = wavs("edacc_v1.0/data/EDACC-C06.wav")
    home = root / "edacc_v1.0"
    write(home / "dev/segments", "EDACC-C06-A-0 EDACC-C06 0.000 0.005\nEDACC-C06-B-1 EDACC-C06 0.005 0.010\n")
    texts = "EDACC-C06-A-0 SO <laugh> YES\nEDACC-C06-B-1 IGNORE_TIME_SEGMENT_IN_SCORING\n"
    write(home / "dev/text", texts)
    write(home / "dev/utt2spk", "EDACC-C06-A-0 EDACC-C06-A\nEDACC-C06-B-1 EDACC-C06-B\n")
    table = (
        "PARTICIPANT_ID,What is your gender?,What\u2019s your ethnic background? ,"
        '"How would you describe your accent in English? (e.g. Italian, Glaswegian)",'
        "What\u2019s your year of birth? (e.g. 1992)\n"
        "EDACC-C06-A,Female,Black,Jamaican English,1990\n"
    )
    write(home / "linguistic_background.csv", table)
    corpus = read_corpus(root)
    assert (corpus.format, kinds(corpus)) == ("edacc", ["unclear_text"])
    assert values(
        corpus, "id", "speaker", "text", "gender", "accent", "ethnicity", "birth_year", "split"
    ) == [("EDACC-C06-A-0", "EDACC-C06-A", "SO YES", "female", "Jamaican English", "Black", "1990", "dev")]
    assert [read(one.audio, start=one.start, duration=one.duration).duration for one in corpus] == [0.005]


def test_tables_with_the_columns_of_afrispeech_need_no_help(wavs):
    root = wavs("a.wav")
    write(root / "list.csv", "audio_paths,user_ids,transcripts\na.wav,s1,yes\n")
    assert values(read_corpus(root / "list.csv"), "speaker", "text") == [("s1", "yes")]
