"""Kokoro: a neural model with 28 English and 3 Spanish speakers, run by onnxruntime; `voxaudit models fetch kokoro`.

Only data is fetched: the model, its speakers, and Misaki's dictionaries of the sounds that it was trained on. English
words that these lack are said by our own rules; Spanish is said as it is written. Its other languages need more than
that and are not spoken. The graph draws nothing at random: the same text gives the same samples.
"""

from __future__ import annotations

import json
import re
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.align.pronounce import pronounce, spoken_words
from voxaudit.audio import Audio, Samples
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize.weights.fetch import KNOWN, fetched
from voxaudit.registry import suggest
from voxaudit.speak.base import FIXED, Voice, check_length, check_voice

RATE = 24_000
VOICES: dict[str, tuple[str, ...]] = {
    language: tuple(
        name.removesuffix(".bin").partition("/")[2]
        for name in (file.name for file in KNOWN["kokoro"].files)
        if name.startswith(f"voices/{letter}")
    )
    for language, letter in (("en-US", "a"), ("en-GB", "b"), ("es-ES", "e"))
}
"""The speakers by language; the second letter of a name says f(emale) or m(ale)."""
_LONGEST = 400
"""Sounds in one piece: the model takes 510, and speaks long ones in haste."""
_SIZE = 256
"""Numbers that say how a speaker sounds in a text of one length."""
_STOPS = ",.;:!?"
_LOCK = threading.Lock()


def speak(voice: Voice, text: str) -> Audio:
    """Return `text` spoken by a speaker of Kokoro, 24 kHz. Pitch and tract cannot be set."""
    speakers = VOICES.get(voice.language, ())
    if voice.name not in speakers or voice.reads not in (None, voice.language[:2]):
        known = list(speakers) or [name for names in VOICES.values() for name in names]
        raise VoxauditError(
            f"voice {voice}: kokoro has no such speaker.{suggest(voice.name, known)} Available: {', '.join(known)}"
        )
    check_voice(voice, "kokoro", pitch=FIXED, speed=(0.5, 2.0))
    check_length(text, "kokoro")
    folder = fetched(KNOWN["kokoro"])
    if folder is None:
        raise VoxauditError("kokoro is not on this machine. Fetch it with: voxaudit models fetch kokoro")
    parts = [_say(folder, voice, piece) for piece in _pieces(sounds(text, voice.language))]
    return Audio(np.concatenate(parts), RATE)


def _say(folder: Path, voice: Voice, piece: str) -> Samples:
    session, numbers = _model(folder)
    tokens = [0, *(numbers[sound] for sound in piece if sound in numbers), 0]
    style = np.fromfile(folder / f"voices/{voice.name}.bin", "<f4").reshape(-1, _SIZE)
    given = {
        "input_ids": np.array([tokens], np.int64),
        "style": style[len(tokens) - 2][None],  # the speaker's style depends on how long the text is
        "speed": np.array([voice.speed], np.float32),
    }
    with _LOCK:
        samples: Samples = session.run(None, given)[0][0]
    return samples.astype(np.float32)


@cache
def _model(folder: Path) -> tuple[Any, dict[str, int]]:
    try:
        runtime = import_module("onnxruntime")
    except ImportError as error:
        raise missing_extra("onnxruntime", "moonshine") from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    path = str(folder / "kokoro-quantized.onnx")
    numbers: dict[str, int] = json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"]), numbers


def _pieces(said: str) -> list[str]:
    """Cut sounds into pieces that the model takes, where a sentence ends or else between words."""
    pieces = [""]
    for sentence in re.split(r"(?<=[.!?;:]) ", said):
        for part in [sentence] if len(sentence) < _LONGEST else sentence.split(" "):
            if len(pieces[-1]) + len(part) >= _LONGEST:
                pieces.append("")
            pieces[-1] += f" {part}" if pieces[-1] else part
    return pieces


def sounds(text: str, language: str) -> str:
    """Return a text in the sounds that Kokoro reads (IPA, with its own letters for English diphthongs).

    A word that cannot be said raises one line: audio must not say less than its reference text.

    >>> sounds("¿Dónde está la niña, por favor?", "es-ES")
    'dˈonde estˈa la nˈiɲa, poɾ faβˈoɾ?'
    """
    said: list[str] = []
    for token in text.split():
        if language == "es-ES":
            words = re.findall(r"\w+", token.lower())
            heard = [spanish(word) for word in words]
        else:
            words = [word for _, parts in spoken_words(token) for word in parts]
            heard = [english(word, language) for word in words]
        if "" in heard:
            raise VoxauditError(
                f"kokoro cannot say '{one_line(token, 40)}' in '{one_line(text, 60)}': write it in words"
            )
        stop = token.rstrip("\"')]”»")[-1:]
        if heard:
            said.append(" ".join(heard) + (stop if stop in _STOPS else ""))
    if not said:
        raise VoxauditError(f"kokoro has nothing to say for the text '{one_line(text, 60)}'")
    return " ".join(said)


# English: Misaki's dictionaries, checked first to last; else the sounds of `pronounce`, with the stress in front.

_WEAK = {"a": "ɐ", "an": "ɐn", "the": "ðə", "to": "tə"}
_ARPABET = dict(
    re.findall(
        r"(\w+)=(\w+)",
        "AA=ɑ AE=æ AH=ʌ AO=ɔ AW=W AY=I EH=ɛ ER=ɜɹ EY=A IH=ɪ IY=i OW=O OY=Y UH=ʊ UW=u CH=ʧ DH=ð G=ɡ HH=h JH=ʤ "
        "NG=ŋ R=ɹ SH=ʃ TH=θ Y=j ZH=ʒ",
    )
)
_VOWELS = ("A", "E", "I", "O", "U")


@cache
def _dictionaries(folder: Path, language: str) -> tuple[dict[str, Any], ...]:
    which = "us" if language == "en-US" else "gb"
    return tuple(json.loads((folder / f"{which}_{kind}.json").read_bytes()) for kind in ("gold", "silver"))


def english(word: str, language: str) -> str:
    """Return an English word in Kokoro's sounds; nothing where it has none."""
    word = word.rstrip(".")
    if word in _WEAK:
        return _WEAK[word]
    folder = fetched(KNOWN["kokoro"])
    for known in _dictionaries(folder, language) if folder is not None else ():
        for form in (word, word.capitalize(), word.upper() if len(word) == 1 else word):
            if (found := known.get(form)) is not None:
                return str(found["DEFAULT"] if isinstance(found, dict) else found)
    said, stressed = "", False
    for phone in pronounce(word):
        sound = _ARPABET.get(phone, phone.lower())
        if phone.startswith(_VOWELS):
            sound = f"ˈ{sound}" if not stressed else "ə" if phone == "AH" else sound
            stressed = True
        said += sound
    return said


# Spanish as it is written, in the sounds of Castile.

_UNSTRESSED = frozenset(
    re.split(
        " ",
        "a al ante con de del e el en la las le les lo los me mi ni nos o os por que se si sin su sus te tu un u y",
    )
)
_SPANISH = [  # letters, what stands before (a regular expression), what follows, the sounds
    ("ch", "", "", "ʧ"), ("ll", "", "", "ʎ"), ("rr", "", "", "r"), ("qu", "", "[eiéí]", "k"),
    ("gü", "", "", "ɣw"), ("gu", "(^|n)$", "[eiéí]", "ɡ"), ("gu", "", "[eiéí]", "ɣ"), ("c", "", "[eiéí]", "θ"),
    ("c", "", "", "k"), ("z", "", "", "θ"), ("g", "", "[eiéí]", "x"), ("g", "(^|n)$", "", "ɡ"),
    ("g", "", "", "ɣ"), ("j", "", "", "x"), ("ñ", "", "", "ɲ"), ("h", "", "", ""), ("v", "(^|[nm])$", "", "b"),
    ("b", "(^|[nm])$", "", "b"), ("v", "", "", "β"), ("b", "", "", "β"), ("d", "(^|[nl])$", "", "d"),
    ("d", "", "", "ð"), ("r", "(^|[nls])$", "", "r"), ("r", "", "", "ɾ"), ("x", "", "", "ks"),
    ("y", "[aeou]$", "$", "ɪ"), ("y", "^$", "$", "i"), ("y", "", "", "ʝ"), ("ü", "", "", "w"),
    ("i", "[aeoáéó]$", "([^aeoáéóiu]|$)", "ɪ"), ("u", "[aeoáéó]$", "([^aeoáéóiu]|$)", "ʊ"),
    ("i", "", "[aeouáéóú]", "j"), ("u", "", "[aeoiáéóí]", "w"), ("w", "", "", "w"),
]  # fmt: skip
_ACCENTS = dict(zip("áéíóú", "aeiou", strict=True))


def spanish(word: str) -> str:
    """Return a Spanish word in Kokoro's sounds; nothing where a letter is not Spanish.

    >>> spanish("guerra"), spanish("ciudad"), spanish("quieren"), spanish("seis"), spanish("bilingüe")
    ('ɡˈera', 'θjuðˈað', 'kjˈeɾen', 'sˈeɪs', 'bilˈinɣwe')
    """
    if not re.fullmatch(r"[a-záéíóúüñ]+", word):
        return ""
    said: list[str] = []
    accented = None
    at = 0
    while at < len(word):
        own = _ACCENTS.get(word[at], word[at])
        accented = len(said) if own != word[at] else accented
        letters, sound = next(
            (
                (letters, sound)
                for letters, before, after, sound in _SPANISH
                if word.startswith(letters, at)
                and re.search(before, word[:at])
                and re.match(after, word[at + len(letters) :])
            ),
            (word[at], own),
        )
        said.append(sound)
        at += len(letters)
    nuclei = [number for number, sound in enumerate(said) if sound in {*"aeiou"}]
    if word in _UNSTRESSED or not nuclei:
        return "".join(said)
    if accented is None:
        accented = nuclei[-2] if len(nuclei) > 1 and re.search("[aeiou][ns]?$", word) else nuclei[-1]
    said[accented] = f"ˈ{said[accented]}"
    return "".join(said)
