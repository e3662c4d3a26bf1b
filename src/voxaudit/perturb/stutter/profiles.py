"""Draw stuttering as people stutter: which words, which kinds, how long and how often, from what was measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from voxaudit.align import Timings, Word
from voxaudit.align.syllables import manner
from voxaudit.perturb.stutter import measured
from voxaudit.perturb.stutter.base import Clip, Operation, StutterError
from voxaudit.perturb.stutter.realistic import (
    FILLER_WORDS,
    HeldOnset,
    OnsetBlock,
    OnsetRepetition,
    SaidFiller,
    WordSaidAgain,
    can_hold,
    can_repeat_sound,
    onset_of,
    written_gaps,
)
from voxaudit.perturb.stutter.sounds import pitch_of

CORE = ("block", "prolongation", "sound_repetition", "word_repetition")
SEGMENT = 0.25
"""A pause of so many seconds begins a new segment."""
_SEEDS = 1 << 31


def is_function_word(word: Word) -> bool:
    """Say whether a word is one of English's closed classes; words of other languages are all taken for content."""
    from voxaudit.corpus.languages import (
        FUNCTION_WORDS,
    )  # with tables, which a worker that only plays must not load

    return word.text.lower().strip(".,;:!?\"'") in FUNCTION_WORDS


def weights(kind: str, timings: Timings, clips: Sequence[Clip] = ()) -> dict[int, float]:
    """Return how readily each intended word takes an event of a kind; words that cannot are left out."""
    found: dict[int, float] = {}
    words = [timings.words[at] for at in timings.intended]
    for number, word in enumerate(words):
        syllables = sum(not part.event for part in word.syllables)
        function = is_function_word(word)
        starts = number == 0 or word.start - words[number - 1].end >= SEGMENT
        if kind == "interjection":
            if clips:
                found[number] = 1.0
            continue
        if onset_of(word) is None:
            continue
        if kind == "word_repetition":
            if function or syllables == 1:
                rate = measured.WORD_REPETITION["function" if function else "content"]
                found[number] = rate * (measured.FIRST_WORD if starts else 1.0)
            continue
        if kind == "prolongation" and not can_hold(word):
            continue
        if kind == "sound_repetition" and not can_repeat_sound(word):
            continue
        content = measured.CONTENT_BY_SYLLABLES[min(max(syllables, 1), 4) - 1]
        found[number] = measured.FUNCTION_WORD if function else content
    return found


def draw_event(
    kind: str,
    timings: Timings,
    generator: np.random.Generator,
    *,
    severity: int | None = None,
    clips: Sequence[Clip] = (),
    avoid: Collection[int] = (),
    word: int | None = None,
    pitch: float | None = None,
    lengths: np.random.Generator | None = None,
) -> Operation:
    """Return an event of a kind at a word drawn by its weight, as long as real ones are.

    `severity` 1 to 4 draws lengths from that quarter of the real ones. Words in `avoid` are taken only where there is
    no other; `word` names it instead. `pitch` is the speaker's, in Hz: a filler in another voice is brought to it.
    Lengths, gaps and iterations come from `lengths` where it is given: an event that failed a check can be drawn anew
    at another place with the same ones, so that checks do not make events shorter than real ones.
    """
    drawn = lengths or generator
    places = weights(kind, timings, clips)
    if word is not None:
        places = {number: weight for number, weight in places.items() if number == word}
    places = {number: w for number, w in places.items() if number not in avoid} or places
    if not places:
        raise StutterError(nowhere(kind))
    numbers = list(places)
    shares = np.array([places[number] for number in numbers])
    number = numbers[int(generator.choice(len(numbers), p=shares / shares.sum()))]
    target = timings.words[timings.intended[number]]

    def ms(name: str, least: float = 0.0) -> float:
        level = float(drawn.random())
        if severity is not None:
            level = (severity - 1 + level) / 4
        return float(round(1000 * max(measured.LENGTHS[name].at(level), least)))

    def gaps(name: str, count: int) -> str:
        return written_gaps([measured.LENGTHS[name].draw(drawn) for _ in range(count)])

    seed = int(generator.integers(_SEEDS))
    found = onset_of(target)
    if kind == "block":
        inside = generator.random() < measured.BLOCK_INSIDE and found is not None and len(found.phones) > 1
        tense = generator.random() < measured.STRONG_TENSION
        loud = round(float(generator.uniform(2, 4)), 1) if tense else 0.0
        return OnsetBlock(number, ms("block"), int(inside), loud, seed)
    if kind == "prolongation":
        own = 0.0 if found is None else found.first.end - found.first.start
        return HeldOnset(number, ms("prolongation", own + 0.06), seed)
    if kind == "sound_repetition" and found is not None:
        cluster, plosive = len(found.consonants), manner(found.first.name) == "plosive"
        length, copies = ms("fragment"), _iterations("fragment_iterations", drawn, severity)
        consonants = cluster if cluster > 1 and generator.random() < 0.5 else 1
        share = measured.FRAGMENT_WITH_VOWEL["plosive" if plosive else "other"]
        vowel = float(round(generator.uniform(40, 80))) if generator.random() < share else 0.0
        whole = consonants == max(cluster, 1)
        around = gaps("fragment_gap", copies)
        return OnsetRepetition(number, length, copies, around, consonants, vowel if whole else 0.0, seed)
    if kind == "word_repetition":
        copies = _iterations("word_iterations", drawn, severity)
        ratio = min(max(float(np.exp(generator.normal(*measured.FIRST_COPY))), 0.7), 2.2)
        return WordSaidAgain(number, copies, gaps("word_gap", copies), round(ratio, 2), seed)
    wanted = "um" if generator.random() < measured.UM_SHARE else "uh"
    fitting = [clip for clip in clips if clip.text == wanted] or list(clips)
    clip = fitting[int(generator.integers(len(fitting)))]
    around = f"{gaps('gap_before_filler', 1)}+{gaps('gap_after_filler', 1)}"
    name = "um" if clip.text.endswith("m") else "uh"
    scale, synthetic = 1.0, int(clip.speaker is None)
    own_pitch = pitch_of(clip.audio.samples, clip.audio.rate) if synthetic and pitch else None
    if own_pitch and pitch:
        scale = round(min(max(pitch / own_pitch, 0.5), 2.0), 3)
    return SaidFiller(number, clip.key, ms(name), around, scale, synthetic, seed)


def _iterations(name: str, generator: np.random.Generator, severity: int | None) -> int:
    if severity is None:
        return measured.ITERATIONS[name].draw(generator)
    return (1, 1, 2, 3)[severity - 1]


def nowhere(kind: str) -> str:
    """Return why a recording has no place for a kind."""
    if kind == "interjection":
        return (
            f"interjection: no {', '.join(FILLER_WORDS)} of this speaker in the recordings: leave interjections out, or"
            " give a filler clip or voice"
        )
    return f"{kind}: no word of this recording begins with a sound for it, or its phones have no times"


def shares_at(rate: float) -> dict[str, float]:
    """Return the shares of the kinds for somebody with so many core events per 100 words: between mild and severe.

    >>> {kind: round(share, 2) for kind, share in shares_at(20.0).items()}
    {'block': 0.43, 'prolongation': 0.19, 'sound_repetition': 0.32, 'word_repetition': 0.05}
    """
    profiles = list(measured.PROFILES.values())
    rates = [one.rate for one in profiles]
    return {kind: float(np.interp(rate, rates, [one.shares[kind] for one in profiles])) for kind in CORE}


def draw_events(
    timings: Timings,
    rate: float,
    generator: np.random.Generator,
    *,
    shares: Mapping[str, float] | None = None,
    fillers: float = 0.0,
    severity: int | None = None,
    clips: Sequence[Clip] = (),
    pitch: float | None = None,
) -> list[Operation]:
    """Return the events of one recording: `rate` core events and `fillers` per 100 intended words.

    `shares` of the kinds are those measured at the rate. 20 % of the events extend a run of stuttered words, 10 % of
    the stuttered words carry two events (a block before a repeated sound, a held sound after one), all others one.
    """
    shares = dict(shares or shares_at(rate))
    possible = {kind: share for kind, share in shares.items() if share > 0 and weights(kind, timings, clips)}
    if not possible:
        raise StutterError(f"none of {', '.join(shares)} has a place in this recording")
    kinds, size = list(possible), len(timings.intended)
    chance = np.array([possible[kind] for kind in kinds]) / sum(possible.values())
    count = int(np.floor(rate * size / 100 + generator.random()))
    events: list[Operation] = []
    used: set[int] = set()
    while len(events) < count and len(used) < size:
        kind = kinds[int(generator.choice(len(kinds), p=chance))]
        word = _next_in_run(used, size) if used and generator.random() < measured.RUNS else None
        if word is not None and word not in weights(kind, timings, clips):
            word = None
        event = draw_event(
            kind,
            timings,
            generator,
            severity=severity,
            clips=clips,
            avoid=used,
            word=word,
            pitch=pitch,
        )
        if event.target in used:  # every word that can take this kind has an event already
            break
        used.add(event.target)
        events.append(event)
        second = _second(kind, generator) if generator.random() < measured.COMBINED else None
        if second in possible and len(events) < count:
            try:
                other = draw_event(second, timings, generator, severity=severity, word=event.target)
            except StutterError:
                continue
            # The sound is repeated before it is held, and a block that is put in last stands before both.
            events[-1:] = sorted((event, other), key=lambda one: one.kind != "sound_repetition")
    extra = int(np.floor(fillers * size / 100 + generator.random())) if clips else 0
    events += [draw_event("interjection", timings, generator, clips=clips, pitch=pitch) for _ in range(extra)]
    return events


def _next_in_run(used: Collection[int], size: int) -> int | None:
    after = sorted(number + 1 for number in used if number + 1 not in used and number + 1 < size)
    return after[0] if after else None


def _second(kind: str, generator: np.random.Generator) -> str | None:
    """Return what may share a word with a kind: a block before a repeated sound, a held sound after one."""
    if kind == "sound_repetition":
        return "block" if generator.random() < 0.5 else "prolongation"
    return "sound_repetition" if kind in ("block", "prolongation") else None


def speaker_rate(rate: float, generator: np.random.Generator) -> float:
    """Return one speaker's own rate: log-normal with `rate` as its mean."""
    spread = measured.SPEAKERS_DIFFER
    return float(rate * np.exp(generator.normal(-(spread**2) / 2, spread)))
