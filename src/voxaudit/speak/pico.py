"""SVOX Pico: six small voices that pip installs with `py-nanotts`, called on memory that is cleared first.

Pico reads memory that it never wrote. The package gives it whatever `malloc` returns, so the same sentence
comes out with other samples, even another length, depending on what the process did before. Called directly on
zeroed memory it gives the same samples every time, in any order and any process.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import threading
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.process import python_command
from voxaudit.registry import unknown
from voxaudit.speak.accent import accented
from voxaudit.speak.base import Voice, check_length, check_letters, check_voice, check_words

RATE = 16000
LANGUAGES = {"en-US": "lh0", "en-GB": "kh0", "de-DE": "gl0", "es-ES": "zl0", "fr-FR": "nk0", "it-IT": "cm0"}
"""The six voices and the speaker code in the names of their data files."""
# Words of more than 255 bytes and long runs of symbols make Pico loop for ever, long runs of digits make it fail.
MAX_WORD_BYTES = 60
_RUN_OF_SYMBOLS = re.compile(r"([^\w\s]{3})[^\w\s]+")

_MEMORY_BYTES = 2_500_000  # what the package itself gives to Pico
_MAX_PCM_BYTES = 2 * RATE * 3600
_OK, _IDLE, _BUSY = 0, 200, 201
_VOICE_NAME = b"voice"
_PLAIN = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"}
)
# Everything else that is not a letter or digit is a space: < and > above all, which would open Pico's markup.
_KEPT = frozenset(" .,;:!?'\"()-%&$\u20ac\u00a3/@#+*=")
_LOCK = threading.Lock()


def speak(voice: Voice, text: str) -> Audio:
    """Return `text` spoken by a Pico voice, 16 kHz."""
    if voice.language not in LANGUAGES:
        raise unknown("pico has no voice", voice.language, LANGUAGES, there="Available")
    check_voice(voice, "pico", pitch=(0.5, 2.0), speed=(0.2, 5.0))
    words = readable(text)
    check_words(words, "pico", text)
    if voice.reads is not None and voice.reads != voice.language.partition("-")[0]:
        if voice.reads != "en":
            raise VoxauditError(
                f"voice {voice}: pico can be made to read 'en' with an accent, not '{voice.reads}'"
            )
        words = _sounded(words, voice.language)
    # Pico's markup for speed and pitch takes whole per cents.
    speed, pitch = round(100 * voice.speed), round(100 * voice.pitch)
    marked = f'<speed level="{speed}"><pitch level="{pitch}">{words}</pitch></speed>'
    pcm = _pcm(voice.language, marked)
    if not pcm:
        raise VoxauditError(f"pico said nothing for the text '{one_line(text, 60)}': try a plainer one")
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / np.float32(32768)
    return Audio(samples, RATE)


def readable(text: str) -> str:
    """Return the text with everything that Pico could take for markup, or choke on, made harmless.

    Symbols it cannot say become spaces. Letters of another script are refused, because leaving words out
    would make the audio say less than its reference text; so are overlong texts and words.
    """
    check_length(text, "pico")
    plain = unicodedata.normalize("NFC", text).translate(_PLAIN).replace("\u2026", "...")
    check_letters(plain, "pico")
    cleared = "".join(c if (c.isalnum() or c in _KEPT) else " " for c in plain)
    words = _RUN_OF_SYMBOLS.sub(r"\1", cleared).split()
    for word in words:
        if len(word.encode()) > MAX_WORD_BYTES:
            raise VoxauditError(
                f"the word '{word[:20]}...' has {len(word)} characters: put spaces in, pico takes {MAX_WORD_BYTES}"
            )
    return " ".join(words)


def _sounded(words: str, language: str) -> str:
    """Write English words as the sounds a voice of `language` has for them, in Pico's phoneme markup."""
    parts: list[str] = []
    for token in re.findall(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?]", words):
        if token[0].isalnum():
            parts.append(f" <phoneme ph='{accented(token.lower(), language)}'/>")
        elif parts:
            parts.append(token)
    return "".join(parts).strip()


def _pcm(language: str, markup: str) -> bytes:
    """Return 16-bit little-endian samples at 16 kHz, from clean memory whichever way the library allows."""
    library = _library()
    if library is None:
        return _pcm_apart(language, markup)
    with _LOCK:
        return _pcm_here(library, language, markup)


@cache
def _library() -> Any:
    """Load the library inside the package, or return None where the build hides Pico's own functions."""
    _package()
    from py_nanotts import _nanotts

    try:
        library = ctypes.CDLL(str(_nanotts.__file__))
        pointer, text, short = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int16
        for name, arguments in {
            "pico_initialize": (pointer, ctypes.c_uint32, pointer),
            "pico_loadResource": (pointer, text, pointer),
            "pico_getResourceName": (pointer, pointer, text),
            "pico_createVoiceDefinition": (pointer, text),
            "pico_addResourceToVoiceDefinition": (pointer, text, text),
            "pico_newEngine": (pointer, text, pointer),
            "pico_putTextUtf8": (pointer, text, short, pointer),
            "pico_getData": (pointer, pointer, short, pointer, pointer),
            "pico_disposeEngine": (pointer, pointer),
            "pico_unloadResource": (pointer, pointer),
            "pico_terminate": (pointer,),
        }.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int32
    except (AttributeError, OSError):
        return None
    return library


def _package() -> Path:
    """Return the folder of the installed package."""
    try:
        import py_nanotts
    except ImportError as error:
        raise missing_extra("py-nanotts", "speak") from error
    return Path(py_nanotts.__file__).parent


def _check(status: int, step: str) -> None:
    if status != _OK:
        raise VoxauditError(
            f"pico failed to {step} (status {status}): try a plainer text, or reinstall py-nanotts"
        )


def _pcm_here(library: Any, language: str, markup: str) -> bytes:
    memory = ctypes.create_string_buffer(_MEMORY_BYTES)  # ctypes clears it: that is the point
    system, engine = ctypes.c_void_p(), ctypes.c_void_p()
    resources: list[ctypes.c_void_p] = []
    folder = _package() / "lang"
    try:
        _check(library.pico_initialize(memory, _MEMORY_BYTES, ctypes.byref(system)), "start")
        _check(library.pico_createVoiceDefinition(system, _VOICE_NAME), "start")
        for file in (f"{language}_ta.bin", f"{language}_{LANGUAGES[language]}_sg.bin"):
            resource, name = ctypes.c_void_p(), ctypes.create_string_buffer(256)
            path = str(folder / file).encode()
            _check(library.pico_loadResource(system, path, ctypes.byref(resource)), f"load {file}")
            resources.append(resource)
            _check(library.pico_getResourceName(system, resource, name), f"load {file}")
            _check(library.pico_addResourceToVoiceDefinition(system, _VOICE_NAME, name), f"load {file}")
        _check(library.pico_newEngine(system, _VOICE_NAME, ctypes.byref(engine)), "start")
        return _drain(library, engine, markup.encode() + b"\0")  # the zero byte ends the text for Pico
    finally:
        if engine:
            library.pico_disposeEngine(system, ctypes.byref(engine))
        for resource in resources:
            library.pico_unloadResource(system, ctypes.byref(resource))
        if system:
            library.pico_terminate(ctypes.byref(system))


def _drain(library: Any, engine: ctypes.c_void_p, text: bytes) -> bytes:
    """Feed text as Pico takes it, collect samples as it gives them."""
    buffer = ctypes.create_string_buffer(4096)
    taken, given, kind = ctypes.c_int16(), ctypes.c_int16(), ctypes.c_int16()
    pcm = bytearray()
    while text:
        piece = text[:32767]
        _check(library.pico_putTextUtf8(engine, piece, len(piece), ctypes.byref(taken)), "take the text")
        if taken.value <= 0:
            raise VoxauditError("pico takes no more text: split it into sentences")
        text = text[taken.value :]
        status = _BUSY
        while status == _BUSY:
            status = library.pico_getData(engine, buffer, 4096, ctypes.byref(given), ctypes.byref(kind))
            pcm += ctypes.string_at(buffer, max(given.value, 0))
            if len(pcm) > _MAX_PCM_BYTES:
                raise VoxauditError("pico would speak for more than an hour: split the text")
        _check(_OK if status == _IDLE else status, "speak this text")
    return bytes(pcm)


_APART = (
    "import py_nanotts as p;"
    "sys.stdout.buffer.write(p.NanoTTS().speak(sys.stdin.buffer.read().decode(), voice=sys.argv[1]))"
)


def _pcm_apart(language: str, markup: str) -> bytes:
    """Speak through the package's own function in a process of its own, whose memory is fresh and so zero."""
    command = python_command(language, program=_APART)
    try:
        done = subprocess.run(command, input=markup.encode(), capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VoxauditError(f"pico did not answer ({one_line(error, 120)})") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise VoxauditError(f"pico failed ({one_line(lines[-1], 120)}): try a plainer text")
    return done.stdout
