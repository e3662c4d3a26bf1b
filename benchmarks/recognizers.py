"""Recognizers: what ours take for a second of audio, beside the same packages used in their own way, one thread.

The same clips and weights, loading not counted; word error rates are in the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.measure import Missing, Row, Settings, absent, named, race, row_of, skipped
from benchmarks.speech import synthetic_corpus

from voxaudit.audio import Audio, pcm16, read
from voxaudit.recognize import as_transcripts, make_recognizer
from voxaudit.score import Counts, count_words, normalizer

RATE = 16_000
Hear = Callable[[Audio], str]


def moonshine() -> Hear:
    """Return the transcriber of the package moonshine-voice with the model inside it."""
    from moonshine_voice import ModelArch, Transcriber, get_model_path

    transcriber = Transcriber(model_path=str(get_model_path("tiny-en")), model_arch=ModelArch.TINY)

    def hear(audio: Audio) -> str:
        lines = transcriber.transcribe_without_streaming(audio.samples.tolist(), audio.rate).lines
        return " ".join(line.text for line in lines)

    return hear


def pocketsphinx() -> Hear:
    """Return a decoder of the package as it comes."""
    import pocketsphinx

    decoder = pocketsphinx.Decoder(samprate=RATE, loglevel="FATAL")

    def hear(audio: Audio) -> str:
        decoder.start_utt()
        decoder.process_raw(pcm16(audio.samples).tobytes(), full_utt=True)
        decoder.end_utt()
        found = decoder.hyp()
        return found.hypstr if found else ""

    return hear


OWN_WAY = {"moonshine": ("moonshine-voice", moonshine), "pocketsphinx": ("pocketsphinx", pocketsphinx)}


def error_rate(texts: list[str], hear: Hear, clips: list[Audio]) -> str:
    """Return a word error rate in percent."""
    normalize = normalizer("whisper-en")
    counts = Counts.zero()
    for text, clip in zip(texts, clips, strict=True):
        counts += count_words(normalize(text), normalize(hear(clip)))
    return f"{100 * (counts.wer or 0.0):.0f} %"


def measure(settings: Settings) -> Iterator[Row]:
    count = settings.pick(2, 8, 32)
    utterances = list(synthetic_corpus())
    chosen = utterances[:: max(1, len(utterances) // count)][:count]
    texts = [utterance.text or "" for utterance in chosen]
    clips = [read(utterance.audio, rate=RATE) for utterance in chosen]
    seconds = sum(clip.duration for clip in clips)
    for name, (package, own) in OWN_WAY.items():
        what = f"{name}, {len(clips)} clips of synthetic speech"
        unit = "CPU ms per second of audio"
        if missing := absent(package.replace("-", "_")):
            yield skipped(what, unit, package, missing)
            continue
        transcribe = make_recognizer(name).load()

        def ours(clip: Audio, transcribe: object = transcribe) -> str:
            return as_transcripts(transcribe([clip]), 1)[0].text  # type: ignore[operator]

        theirs: Hear | Missing
        try:
            theirs = own()
        except Exception as error:  # the package's own affair
            theirs = Missing(f"{package} cannot be started ({type(error).__name__})")
        note = f"WER {error_rate(texts, ours, clips)}"
        calls = {"ours": lambda ours=ours: [ours(clip) for clip in clips]}
        if not isinstance(theirs, Missing):
            note += f", theirs {error_rate(texts, theirs, clips)}"
            calls["theirs"] = lambda theirs=theirs: [theirs(clip) for clip in clips]
        found = race(calls, settings.pick(1, 3), warm=False)
        values = {who: [1e3 * one.cpu / seconds for one in each] for who, each in found.items()}
        peer = f"{named(package)} as it comes"
        if isinstance(theirs, Missing):
            yield row_of(what, unit, values["ours"], note=note)
            yield skipped(what, unit, peer, theirs)
        else:
            yield row_of(what, unit, values["ours"], values["theirs"], peer=peer, note=note)
