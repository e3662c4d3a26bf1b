# ruff: noqa: RUF001 - look-alikes are what is tested
from __future__ import annotations

import random
import unicodedata

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from whisper_normalizer.english import EnglishTextNormalizer

from voxaudit.corpus.read import ROW_CHECKS
from voxaudit.errors import VoxauditError
from voxaudit.score.normalize import NORMALIZERS, Normalizer, normalize_column, normalizer, without_spaces

basic = NORMALIZERS["basic"]
fillers = NORMALIZERS["keep-fillers"]
whisper = NORMALIZERS["whisper-en"]
none = NORMALIZERS["none"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello, World!", "hello world"),
        ("Don't, don\u2019t, don`t, don\u00b4t", "dont dont dont dont"),
        ("o'clock rock 'n' roll", "oclock rock n roll"),
        ("well-known twenty\u2013one it\u2014was", "well known twenty one it was"),
        ("U.S.A. e.g. 3.5 1,000", "usa eg 35 1000"),
        ("um... I\u2026 see", "um i see"),
        ("and/or snake_case", "and or snake case"),
        ("“Quoted” «words» (aside) [noise]<unk>", "quoted words aside noise unk"),
        ("$5 50% 5°C a+b", "5 50 5 c a b"),
        ("  two\t spaces \n", "two spaces"),
        ("...", ""),
        ("", ""),
    ],
)
def test_basic_on_english(text: str, wanted: str) -> None:
    assert basic(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("हिन्दी में, है।वह!", "हिन्दी में है वह"),  # vowel signs and viramas are letters' parts
        ("தமிழ் மொழி.", "தமிழ் மொழி"),
        ("ภาษาไทย", "ภาษาไทย"),
        ("مَرْحَبًا، كيف؟", "مَرْحَبًا كيف"),
        ("שָׁלוֹם!", "שָׁלוֹם"),
        ("می\u200cخواهم", "میخواهم"),  # joiners and other invisible characters go
        ("你好，世界。", "你好世界"),
        ("ሰላም፡ለዓለም።", "ሰላም ለዓለም"),  # Ethiopic separates words with a mark of its own
        ("ÉCOLE e\u0301cole", "école école"),  # composed and decomposed are the same
        ("Straße ΟΔΟΣ", "straße οδος"),
        ("Ｆｕｌｌ ﬁne ⑴", "full fine 1"),
        ("col·lecció п'ять пʼять", "collecció пять пять"),
        ("I ❤️ it 👍🏽 1️⃣ 👨‍👩‍👧", "i it 1"),
        ("\ufeffword\u00ad\x00\x1b \u202eword", "word word"),
        ("\ud800word", "word"),
    ],
)
def test_basic_on_other_scripts_and_odd_characters(text: str, wanted: str) -> None:
    assert basic(text) == wanted


def test_keep_fillers_keeps_what_disfluent_speech_is_made_of() -> None:
    assert fillers("Um, I- I w-w-want, uh, er... the- the tea") == "um i i w w want uh er the the tea"


def test_keep_fillers_spells_a_drawn_out_filler_one_way() -> None:
    assert fillers("Ummm uhhh Uhm errr erm hmmm Mm-hmm ahh") == "um uh um er erm hm mm hm ah"


def test_keep_fillers_leaves_other_words_alone() -> None:
    text = "umbrella her hummm duhh beerr mmmm1 ham ohm mum ahmed erred them em oh m"
    assert fillers(text) == text


def test_whisper_drops_what_keep_fillers_keeps() -> None:
    text = "Um, I'm (laughs) uh going to the theatre at twenty one"
    assert whisper(text) == "i am going to the theater at 21"
    assert fillers(text) == "um im laughs uh going to the theatre at twenty one"


@pytest.mark.parametrize("mark", ["[", "<", "(", " "])
def test_whisper_does_not_hang_on_a_hundred_thousand_marks(mark: str) -> None:
    assert whisper(f"hello [aside] (too) there {mark * 100_000} world") == "hello there world"


def test_whisper_survives_a_number_that_it_cannot_read() -> None:
    assert whisper("Well, " + "1" * 5000) == "well " + "1" * 5000


@settings(max_examples=150, deadline=None)
@given(st.text("aumh'.,-[]()<>$%13½é \n\t", max_size=40) | st.text(max_size=40))
def test_whisper_is_openais(text: str) -> None:
    assert whisper(text) == " ".join(EnglishTextNormalizer()(text).split())


def test_none_changes_white_space_only() -> None:
    assert none(" Don't  STOP,\n e\u0301 ") == "Don't STOP, e\u0301"


any_text = st.text(max_size=60) | st.text("Um, uh-w.'’ é\u0301\u200d-…E", max_size=30)


@settings(max_examples=300, deadline=None)
@given(any_text)
def test_rules_can_be_applied_twice(text: str) -> None:
    for rule in (basic, fillers, none):
        once = rule(text)
        assert rule(once) == once
        assert once == " ".join(once.split())


@settings(max_examples=300, deadline=None)
@given(any_text)
def test_keep_fillers_keeps_every_word_of_basic(text: str) -> None:
    assert len(fillers(text).split()) == len(basic(text).split())


@settings(max_examples=150, deadline=None)
@given(any_text)
def test_whisper_takes_any_text(text: str) -> None:
    assert whisper(text) == " ".join(whisper(text).split())


# Unicode itself spells a few isolated forms (U+FC5E, an Arabic mark on its own) as a space and the mark.
letters = st.characters(categories=["Ll", "Lo", "Lm", "Nd"], codec="utf-8").filter(
    lambda character: " " not in unicodedata.normalize("NFKC", character)
)


@given(st.text(letters, max_size=10))
def test_basic_never_loses_letters_or_digits(text: str) -> None:
    kept = basic(f"x{text}x")
    assert " " not in kept
    assert len(kept) >= 2 + sum(character.isascii() for character in text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("今天天气很好。", "今 天 天 气 很 好"),
        ("我用Python 3写code", "我 用 python 3 写 code"),
        ("カレーを食べる", "カ レ ー を 食 べ る"),
        ("がっこう", "が っ こ う"),
        ("น้ำดี", "น้ํ า ดี"),  # NFKC writes the vowel am as two characters
        ("မြန်မာ", "မြ န် မာ"),
        ("don't stop", "dont stop"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
        ("한국어 음성", "한국어 음성"),
        ("", ""),
    ],
)
def test_unspaced_counts_characters_where_there_are_no_spaces(text: str, words: str) -> None:
    unspaced = NORMALIZERS["unspaced"]
    assert unspaced(text) == words
    assert unspaced(words) == words


@given(st.text(max_size=30))
def test_unspaced_loses_nothing_that_basic_keeps(text: str) -> None:
    assert NORMALIZERS["unspaced"](text).replace(" ", "") == basic(text).replace(" ", "")


@pytest.mark.parametrize(
    ("text", "without"),
    [("你好", True), ("你 好", False), ("hello", False), ("ดี มาก", True), ("", False), ("a 一 b", False)],
)
def test_text_without_spaces_is_recognized(text: str, without: bool) -> None:
    assert without_spaces(text) is without


def test_lookup_by_name_and_by_id() -> None:
    assert normalizer("basic") is basic
    assert normalizer("basic@1") is basic
    assert normalizer(basic) is basic
    assert [rule.id for rule in NORMALIZERS.values()] == [
        "basic@1",
        "whisper-en@1",
        "keep-fillers@1",
        "unspaced@1",
        *(f"spoken-{language}@1" for language in ("en", "es", "tr", "vi", "zh")),
        "none@1",
    ]


def test_an_unknown_name_is_answered_with_a_near_one() -> None:
    with pytest.raises(VoxauditError, match=r"Unknown normalizer 'wisper-en'\. Did you mean: whisper-en\b"):
        normalizer("wisper-en")


def test_another_version_is_refused() -> None:
    with pytest.raises(
        VoxauditError, match="'basic@7' is not in this version of voxaudit, which has basic@1"
    ):
        normalizer("basic@7")


def test_every_distinct_text_of_a_column_is_normalized_once() -> None:
    seen = []

    def shout(text: str) -> str:
        seen.append(text)
        return text.upper()

    column = pl.Series("text", ["b", None, "a", "b", "a", "", "b"])
    result = normalize_column(column, Normalizer("shout", 1, "", shout))
    assert result.to_list() == ["B", None, "A", "B", "A", "", "B"]
    assert result.name == "text"
    assert sorted(seen) == ["", "a", "b"]


def test_a_column_without_repetition_or_without_text() -> None:
    assert normalize_column(pl.Series(["A", "B"]), "basic").to_list() == ["a", "b"]
    assert normalize_column(pl.Series([None, None], dtype=pl.String), "basic").to_list() == [None, None]
    assert normalize_column(pl.Series([], dtype=pl.String), "basic").to_list() == []


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("今天天气", True),
        ("\U00020000\U0002a6d6", True),  # Han, extension B
        ("豈更", True),  # Han, compatibility
        ("人々", True),
        ("ひらがな", True),
        ("カタカナ", True),
        ("コー", True),
        ("ｶﾀｶﾅ", True),
        ("ｺｰ", True),
        ("ㇰㇱ", True),
        ("สวัสดี", True),
        ("ສະບາຍດີ", True),
        ("សួស្តី", True),
        ("မင်္ဂလာပါ", True),
        ("ꩠꩡ", True),  # Myanmar, extended
        ("one 今天 two", True),
        ("今 天", False),
        ("ที", False),  # one character with the vowel it carries
        ("မိ", False),
        ("안녕 하세요", False),
        ("नमस्ते दुनिया", False),
        ("ＡＢＣ", False),
        ("plain words", False),
        ("", False),
    ],
)
def test_a_corpus_and_the_normalizer_agree_on_text_without_spaces(text: str, without: bool) -> None:
    [check] = [one for one in ROW_CHECKS if one.kind == "unspaced_text"]
    seen = pl.DataFrame({"text": [text]}).select(check.bad).item()
    assert (seen, without_spaces(text)) == (without, without)


def test_texts_of_a_column_come_out_as_each_by_itself():
    marks = [chr(code) for code in range(128)]
    texts = [f"A{mark}b {mark} Uhhm{mark}{mark}" for mark in marks]
    texts += ["", " ", "...", None, "Σίσυφος", "⑴ ﬁn", "two\nlines", "l’été"]
    for name in NORMALIZERS:
        if NORMALIZERS[name].lines:
            expected = [None if text is None else normalizer(name)(text) for text in texts]
            for column in (texts, texts[: len(marks)], texts[-2:], [None, None]):
                found = normalize_column(pl.Series("text", column, dtype=pl.String), name)
                assert found.to_list() == [expected[texts.index(text)] for text in column]


COMPANY = """
the a cat's don't won't can't I'm I'll gotta wanna got to it's let's Mr Mr. mr. Dr. st. saint
hundred and half two 2 2nd first twenty-one twenty one oh o'clock zero point double triple per cent
percent dollars pounds cents $5 £3.50 5% 3:30 1,200 um uh mm hmm mhm Um, uh-huh colour color centre
organised grey isn't y'all ain't who's (aside) [noise] <x> ... -- - / & + # @ e-mail U.S.A. u.s. 's
d'you i'd been he'd gone she's it's got they've had would have a half nineteen ninety five 20 third
minus plus million thousand esq jr. capt gov. finna imma woulda 've 'll ' hm' uh's x9 9x 4th 1990s
100 . , ! ? hello, world. yes! wo ca n't gon na goin' rock'n'roll second done UM um's one's I've cats, end. 5th $3 lamp
"""


@pytest.mark.parametrize("name", ["whisper-en", "spoken-en", "basic"])
def test_words_come_out_the_same_in_any_company(name: str) -> None:
    """Columns are normalized word by word where that is enough; numbers, marks and fillers are not to be taken so."""
    drawn = random.Random(1)
    words, texts = COMPANY.split(), []
    for _ in range(1_500):
        line = [
            drawn.choice(words) + drawn.choice(["", "", "", ".", ",", "'s"])
            for _ in range(drawn.randrange(8))
        ]
        texts.append(drawn.choice([" ", "  "]).join(line))
    rule = normalizer(name)
    assert normalize_column(pl.Series(texts), name).to_list() == [rule(text) for text in texts]
