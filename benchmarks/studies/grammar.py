"""A small grammar that writes plain English sentences around a given word, by its part of speech.

Each part of speech has frames with a slot for the word and slots for fillers (names, places, times). A word that the
lexicon lacks is written about rather than used: "Can you spell ... for me?" fits any word.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count as counting
from pathlib import Path

import numpy as np

from voxaudit.errors import VoxauditError, one_line

MENTION = "mention"
"""The part of speech of words the lexicon does not have."""

FRAMES: dict[str, tuple[str, ...]] = {
    "noun": (
        "{name} left the {word} in the {room} {time}.",
        "The {word} in the {room} belongs to {name}.",
        "{name} and {friend} talked about the {word} {time}.",
        "Nobody noticed the {word} beside the {place}.",
        "I asked {name} to describe the {word} {time}.",
    ),
    "plural": (
        "{name} found the {word} near the {place} {time}.",
        "There were {number} {word} in the {room}.",
        "{name} and {friend} talked about the {word} {time}.",
        "All the {word} in the {room} belong to {name}.",
        "I showed {name} the {word} {time}.",
    ),
    "mass": (
        "There was some {word} in the {room} {time}.",
        "{name} asked {friend} about the {word} {time}.",
        "We need more {word} for the {room}.",
        "{name} found the {word} near the {place}.",
        "The {word} in the {room} belongs to {name}.",
    ),
    "adjective": (
        "{name} said that the {room} was {word} {time}.",
        "The {place} looked rather {word} {time}.",
        "It was a very {word} day for {name}.",
        "Everything in the {room} seemed {word} to {friend}.",
        "{name} remembers one {word} summer near the {place}.",
    ),
    "verb": (
        "{name} wants to {word} with {friend} {time}.",
        "They will {word} at the {place} {time}.",
        "{name} and {friend} often {word} in the {room}.",
        "You should not {word} in the {room} {time}.",
        "I saw {friend} {word} near the {place}.",
    ),
    "verb_object": (
        "{name} wants to {word} it {time}.",
        "They will {word} it at the {place} {time}.",
        "{name} and {friend} often {word} it together.",
        "You should {word} this in the {room} {time}.",
        "I let {friend} {word} that near the {place}.",
    ),
    "past": (
        "{name} {word} it in the {room} {time}.",
        "They {word} that at the {place}.",
        "{name} and {friend} {word} it together.",
        "My brother {word} this near the {place} {time}.",
        "Nobody {word} it before {friend} did.",
    ),
    "past_alone": (
        "{name} {word} at the {place} {time}.",
        "They {word} with {friend} in the {room}.",
        "{name} and {friend} {word} near the {place}.",
        "My brother {word} in the {room} {time}.",
        "Everybody {word} when {friend} called.",
    ),
    "doing": (
        "{name} is {word} with {friend} in the {room}.",
        "They were {word} at the {place} {time}.",
        "{name} and {friend} are {word} by the {place}.",
        "I heard {friend} {word} in the {room} {time}.",
        "My brother was {word} near the {place}.",
    ),
    "adverb": (
        "{name} {word} comes to the {place} {time}.",
        "We {word} meet {friend} in the {room}.",
        "My brother {word} forgets the keys {time}.",
        "{name} and {friend} {word} visit the {place}.",
        "They {word} eat lunch in the {room}.",
    ),
    "subject": (
        "{name} hopes that {word} will visit the {place} {time}.",
        "Maybe {word} could help {friend} in the {room}.",
        "{name} said that {word} went to the {place}.",
        "Yesterday {word} met {friend} near the {place}.",
        "I think {word} should call {name} {time}.",
    ),
    "object": (
        "{name} met {word} at the {place} {time}.",
        "Please give {word} the key to the {room}.",
        "{name} and {friend} saw {word} near the {place}.",
        "My brother called {word} {time}.",
        "The teacher helped {word} in the {room}.",
    ),
    "determiner": (
        "{name} put {word} book on the table {time}.",
        "We saw {word} horse near the {place}.",
        "{name} gave {friend} {word} letter {time}.",
        "There was dust on {word} window in the {room}.",
        "My brother painted {word} door {time}.",
    ),
    "determiner_plural": (
        "{name} put {word} books on the table {time}.",
        "We saw {word} horses near the {place}.",
        "{name} gave {friend} {word} letters {time}.",
        "There was dust on {word} windows in the {room}.",
        "My brother painted {word} doors {time}.",
    ),
    "preposition": (
        "{name} walked {word} the {place} {time}.",
        "The dog ran {word} the {room}.",
        "We met {friend} {word} the {place} {time}.",
        "{name} and {friend} waited {word} the {place}.",
        "My brother slept {word} the {room} {time}.",
    ),
    "of": (
        "{name} took a picture {word} the {place} {time}.",
        "The door {word} the {room} was open.",
        "We bought a box {word} apples for {friend}.",
        "{name} was proud {word} the {room}.",
        "The owner {word} the {place} called {time}.",
    ),
    "conjunction": (
        "{name} stayed in the {room} {word} the weather was bad.",
        "We left the {place} {word} {friend} was tired.",
        "My brother smiled {word} the music stopped.",
        "{name} closed the window {word} it was cold.",
        "They waited {word} {friend} was late.",
    ),
    "or": (
        "We can meet at the {place} {word} in the {room}.",
        "Ask {name} {word} {friend} {time}.",
        "Take the bus {word} the train {time}.",
        "Was it {name} {word} {friend} in the {room}?",
        "You may read {word} sleep in the {room}.",
    ),
    "be": (
        "The book {word} in the {room} {time}.",
        "{name} {word} happy about the {place}.",
        "My brother {word} near the {place} {time}.",
        "The weather {word} cold {time}.",
        "{friend} {word} at the {place} with {name}.",
    ),
    "be_plural": (
        "The books {word} in the {room} {time}.",
        "{name} and {friend} {word} happy about the {place}.",
        "My brothers {word} near the {place} {time}.",
        "The windows {word} open {time}.",
        "They {word} at the {place} with {name}.",
    ),
    "modal": (
        "{name} {word} help {friend} {time}.",
        "We {word} meet at the {place} {time}.",
        "My brother {word} clean the {room}.",
        "They {word} wait near the {place}.",
        "{name} and {friend} {word} bring the keys.",
    ),
    "have": (
        "They {word} a garden near the {place}.",
        "We {word} two chairs in the {room}.",
        "{name} and {friend} {word} lunch {time}.",
        "My brothers {word} the key to the {room}.",
        "I {word} a letter from {name}.",
    ),
    "has": (
        "{name} {word} a garden near the {place}.",
        "My brother {word} two chairs in the {room}.",
        "{friend} {word} lunch at the {place} {time}.",
        "The teacher {word} the key to the {room}.",
        "Everybody {word} a letter from {name}.",
    ),
    "number": (
        "There are {word} chairs in the {room}.",
        "{name} saw {word} horses near the {place}.",
        "We wrote {word} letters to {friend} {time}.",
        "My brother ate {word} apples {time}.",
        "{name} needs {word} keys for the {room}.",
    ),
    "question": (
        "{name} asked {word} the meeting would end.",
        "Nobody knows {word} {friend} was crying.",
        "I remember {word} the story began.",
        "Tell me {word} the {place} was closed.",
        "We wondered {word} {name} found the key.",
    ),
    "what": (
        "{name} asked {word} happened in the {room}.",
        "Nobody knows {word} {friend} saw near the {place}.",
        "I remember {word} the teacher said.",
        "Tell me {word} you need {time}.",
        "We wondered {word} {name} found.",
    ),
    "exclamation": (
        "{word}, I think {name} is right.",
        "{word}, we met {friend} at the {place}.",
        "{word}, my brother cleaned the {room} {time}.",
        "{word}, they were near the {place} {time}.",
        "{word}, {name} called {friend} {time}.",
    ),
    "name": (
        "I saw {word} near the {place} {time}.",
        "We sent a letter to {word} {time}.",
        "My brother likes {word} very much.",
        "The teacher told us about {word} {time}.",
        "The picture in the {room} shows {word}.",
    ),
    MENTION: (
        "Can you spell {word} for {name}?",
        "{name} wrote {word} on the board {time}.",
        "The answer to the question was {word}.",
        "I heard {friend} say {word} in the {room}.",
        "Please read {word} out loud {time}.",
    ),
}
"""Sentences by part of speech."""

FILLERS: dict[str, tuple[str, ...]] = {
    "name": ("Karen", "Robert", "Susan", "Martin", "Helen", "Peter"),
    "friend": ("Anna", "David", "Laura", "Simon", "Emma", "Oliver"),
    "place": ("station", "market", "library", "theater", "harbor", "museum"),
    "room": ("kitchen", "garden", "hall", "office", "cellar", "bedroom"),
    "time": ("on Monday", "after lunch", "this evening", "at noon", "on Sunday", "before dinner"),
    "number": ("four", "seven", "nine", "eleven"),
}
"""What fills the other slots. The times go with the past, the present and what is to come."""

_LEXICON = {
    "noun": (
        "door dog house home car school street room family father mother brother sister baby boy girl man "
        "woman friend teacher doctor church store job game ball team book phone picture table chair bed money "
        "way thing place day night week month year morning time word name story song party city town country "
        "river tree bird cat horse king summer winter spoon bag slab station train bus plane box key letter "
        "window wall floor street mind life world side part hand head eye face heart voice question answer "
        "problem idea reason lady neighborhood corner grade class college hospital police dinner lunch "
        "breakfast kitchen frog toy snake store cheese peas message"
    ),
    "plural": (
        "kids dogs houses cars schools streets rooms families friends teachers boys girls men women people "
        "children things days years weeks months times words names games books parents brothers sisters hands "
        "eyes toys bags spoons slabs snakes peas spoons folks guys students jobs stores places parts ladies "
        "trees"
    ),
    "mass": (
        "water food music snow work milk bread sugar coffee traffic paper blue news stuff trouble fun love "
        "money"
    ),
    "adjective": (
        "big small little old new good bad great nice fresh thick red green black white hot cold long short "
        "high low hard easy early late happy sad different important real right wrong young strong quiet loud "
        "crazy funny beautiful plastic sure close free full whole best better"
    ),
    "verb": (
        "go come talk walk run sit stand play work live stay stop start sleep eat listen wait laugh dance "
        "sing look fight travel help read write drive move think speak learn meet"
    ),
    "verb_object": (
        "get take make bring call ask see want know like need put give tell find keep buy use leave love feel "
        "show try hear hold carry scoop send pay say do let watch"
    ),
    "past": (
        "said told took made got saw knew wanted liked gave found kept bought used left loved felt heard put "
        "called asked tried did brought thought caught needed"
    ),
    "past_alone": (
        "went came talked walked ran sat stood played worked lived stayed stopped slept listened waited "
        "laughed started moved happened"
    ),
    "doing": (
        "talking sitting walking running going coming playing working living staying sleeping listening "
        "waiting laughing dancing singing looking trying standing reading eating"
    ),
    "adverb": (
        "never always often usually really just still also only even sometimes probably actually basically "
        "already ever almost maybe"
    ),
    "subject": "i we they he she you",
    "object": "me us them him her it",
    "determiner": "the a this that every another each my your his our their its one any no",
    "determiner_plural": "these those some many all both most several few other",
    "preposition": (
        "in at by from to near around into behind with over under through inside outside past across for on "
        "before after along"
    ),
    "of": "of",
    "conjunction": "because when but and while so if although until since then where cause",
    "or": "or",
    "be": "is was",
    "be_plural": "are were",
    "modal": "will would can could should might must gonna",
    "have": "have had",
    "has": "has",
    "number": "two three four five six seven eight nine ten twelve twenty hundred",
    "question": "how why",
    "what": "what",
    "exclamation": "yeah yes well oh okay ok now um uh hey please right anyway man",
    "name": "stella wednesday god london america monday friday sunday",
}
# A word listed twice goes with the first part of speech in the order of `_LEXICON`.
PART_OF_SPEECH: dict[str, str] = {}
for _part, _words in _LEXICON.items():
    for _word in _words.split():
        PART_OF_SPEECH.setdefault(_word, _part)


def glue_words() -> set[str]:
    """Return the words that the frames themselves are made of: nobody can write sentences without them."""
    return {
        _plain(word)
        for frames in FRAMES.values()
        for frame in frames
        for word in frame.split()
        if "{" not in word
    }


def part_of_speech(word: str) -> str:
    """Return how the grammar uses a word; `MENTION` for a word it does not know."""
    return PART_OF_SPEECH.get(_plain(word), MENTION)


Grammar = Mapping[str, Sequence[str]]
"""Frames with a slot {word}, by the word they are for; `*` are those for any other word."""


def read_grammar(path: str | Path) -> Grammar:
    """Read a grammar of one's own: JSON, `{"wool": ["She bought {word} {time}."], "*": ["Say {word} again."]}`.

    Frames may use the fillers of the built-in grammar ({name}, {friend}, {place}, {room}, {time}, {number}).
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VoxauditError(f"{path}: not a grammar ({one_line(error)})") from error
    if not isinstance(document, dict) or not document:
        raise VoxauditError(
            f"{path}: a grammar is a mapping from words (or *) to lists of frames with {{word}}"
        )
    for word, frames in document.items():
        wrong = not isinstance(frames, list) or not frames
        for frame in [] if wrong else frames:
            try:
                said = str(frame).format(word="\0", **dict.fromkeys(FILLERS, ""))
            except (LookupError, ValueError):
                said = ""
            wrong |= said.count("\0") != 1
        if wrong:
            raise VoxauditError(
                f"{path}: the frames of '{one_line(word, 40)}' are sentences with {{word}} once, and other slots of"
                f" {', '.join(FILLERS)}"
            )
    return {word if word == "*" else _plain(word): tuple(frames) for word, frames in document.items()}


def sentences(
    word: str, count: int, *, avoid: Collection[str] = (), seed: int = 0, grammar: Grammar | None = None
) -> list[str]:
    """Return `count` different sentences with the word in each exactly once, and none of the words `avoid`.

    With a `grammar` its frames are used in place of the built-in ones. The same arguments give the same sentences.
    Frames take turns, so that any few sentences are varied; raises `VoxauditError` where the grammar cannot write so
    many.
    """
    if not word or word.split() != [word]:
        raise VoxauditError(f"a sentence is written around one word, not '{one_line(word, 60)}'")
    unwanted = {_plain(other) for other in avoid} | {_plain(word)}
    written: dict[str, None] = {}
    for sentence in _drawn(word, unwanted, seed, _frames(word, grammar)):
        if len(written) == count:
            return list(written)
        if sentence is not None:
            written.setdefault(sentence)
    if len(written) == count:
        return list(written)
    raise VoxauditError(
        f"the grammar writes only {len(written)} sentences around '{one_line(word, 40)}' without the words to avoid,"
        f" not {count}. Ask for fewer"
    )


def _frames(word: str, grammar: Grammar | None) -> Sequence[str]:
    if grammar is None:
        return FRAMES[part_of_speech(word)]
    frames = grammar.get(_plain(word), grammar.get("*", ()))
    if not frames:
        raise VoxauditError(f"the grammar has no frame for '{one_line(word, 40)}', and none for any word (*)")
    return frames


def _drawn(word: str, unwanted: set[str], seed: int, frames: Sequence[str]) -> Iterator[str | None]:
    digest = hashlib.sha256(f"{seed}\0{_plain(word)}".encode()).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
    for number in counting():
        if number >= 2000:
            return
        frame = frames[number % len(frames)]
        slots = {name: str(generator.choice(pool)) for name, pool in FILLERS.items()}
        said = frame.format(word="\0", **slots)
        if unwanted & {_plain(other) for other in said.split()}:
            yield None
            continue
        text = said.replace("\0", "I" if word == "i" else word)
        yield text[0].upper() + text[1:]


def _plain(word: str) -> str:
    return "".join(character for character in word.lower() if character.isalnum())
