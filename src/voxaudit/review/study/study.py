"""A study on disk: `study.json` (what is asked), `audio/`, `participants.json` (the links), `answers.sqlite`."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from voxaudit.answer import Finding, finding_id
from voxaudit.errors import VoxauditError, one_line
from voxaudit.run.database import Database
from voxaudit.tables import read_json, write_atomically, write_json

Kind = Literal["comprehensibility", "realism"]
KINDS: tuple[Kind, ...] = ("comprehensibility", "realism")
FORMAT = 2
LOWEST, HIGHEST = 1, 10
"""The scale of comprehensibility: not comprehensible at all, to just as comprehensible as the original."""
CONFIDENCES = ("very uncertain", "uncertain", "neither", "certain", "very certain")
"""How sure a person is of having found the real recording; weighted 0 to 1 in equal steps."""

QUESTIONS: dict[str, str] = {
    "comprehensibility": "How comprehensible is the second recording, compared with the first?",
    "realism": "One of the two recordings is real, the other was made by a computer. Which one is real?",
}


@dataclass(frozen=True)
class Item:
    """A question: two sound files. Comprehensibility: the original, then the disturbed one; realism: any order.

    `check` marks an attention check and says what an attentive person answers: `high`, `low`, or `real`. `real` is
    the place (0, 1) of the real recording. `scenario`, `perturbation` and `setting` say what was done to it.
    """

    id: str
    files: tuple[str, str]
    utterance: str = ""
    scenario: str = ""
    perturbation: str = ""
    setting: str = ""
    real: int | None = None
    check: str = ""


PRACTICE = "practice"
"""The `check` of an item that people practice with."""


@dataclass(frozen=True)
class Study:
    """What is asked of whom. `each` is how many questions a participant gets, attention checks not counted."""

    folder: Path
    kind: Kind
    seed: int
    each: int
    items: tuple[Item, ...]

    @property
    def questions(self) -> tuple[Item, ...]:
        """The items without the attention checks."""
        return tuple(item for item in self.items if not item.check)

    @property
    def checks(self) -> tuple[Item, ...]:
        """The attention checks."""
        return tuple(item for item in self.items if item.check and item.check != PRACTICE)

    @property
    def practice(self) -> tuple[Item, ...]:
        """What everybody hears first, to learn how it goes; these answers do not count."""
        return tuple(item for item in self.items if item.check == PRACTICE)

    def order_for(self, number: int) -> list[Item]:
        """Return what participant `number` (from 0) is asked, in an order of their own that is always the same.

        Participants take consecutive parts of one shuffled ring of questions, so that all questions are asked equally
        often; every participant gets all attention checks, none of them first.
        """
        ring = np.random.Generator(np.random.PCG64([self.seed, 0])).permutation(len(self.questions))
        taken = [self.questions[ring[(number * self.each + step) % len(ring)]] for step in range(self.each)]
        own = np.random.Generator(np.random.PCG64([self.seed, 1, number]))
        order = [taken[place] for place in own.permutation(len(taken))]
        for check in self.checks:
            order.insert(int(own.integers(1, len(order) + 1)), check)
        return [*self.practice, *order]

    def swapped(self, number: int, item: Item) -> bool:
        """Say whether participant `number` hears the two recordings of a pair in the other order.

        The real one comes first in half of the attention checks: whoever always takes the same side fails the others.
        """
        if self.kind == "comprehensibility":
            return False
        if item.check and item.check != PRACTICE and item.real is not None:
            place = next(place for place, one in enumerate(self.checks) if one.id == item.id)
            own = np.random.Generator(np.random.PCG64([self.seed, 3, number])).permutation(len(self.checks))
            return bool(own[place] % 2 != item.real)
        place = next(place for place, one in enumerate(self.items) if one.id == item.id)
        return bool(np.random.Generator(np.random.PCG64([self.seed, 2, number, place])).integers(2))


def finding(measure: str, verdict: str, sentence: str, *numbers: float | None, **more: Any) -> Finding:
    """Return a finding of a study: its estimate and limits are `numbers`; one that is refused is not defined."""
    more |= dict(zip(("estimate", "low", "high"), numbers, strict=False))
    more["code"] = "undefined" if verdict == "refused" else None
    id_ = finding_id("study", *more.pop("about", ()), measure)
    return Finding(id_, measure, verdict, sentence, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Participant:
    """Somebody with a link; nothing is known about them but the name that we gave them."""

    name: str
    token: str


def write_study(study: Study) -> Study:
    """Write `study.json`, and return the study."""
    document = {
        "format": FORMAT,
        "kind": study.kind,
        "seed": study.seed,
        "each": study.each,
        "items": [asdict(item) for item in study.items],
    }
    write_json(study.folder / "study.json", document)
    return study


def read_study(folder: str | Path) -> Study:
    """Read a study's folder; anything else raises one line."""
    folder = Path(folder)
    path = folder / "study.json"
    if not path.is_file():
        raise VoxauditError(
            f"{folder}: not a study (it has no study.json). `voxaudit study create` makes one"
        )
    try:
        document: dict[str, Any] = read_json(path)
        if document["format"] != FORMAT or document["kind"] not in KINDS:
            raise VoxauditError(f"{path}: written by another version of voxaudit (format {FORMAT} expected)")
        items = tuple(_item(one) for one in document["items"])
        if len({item.id for item in items}) < len(items):
            raise ValueError("an item occurs twice")
        study = Study(folder, document["kind"], int(document["seed"]), int(document["each"]), items)
        if study.seed < 0:
            raise ValueError("the seed is negative")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise VoxauditError(f"{path}: not the description of a study ({one_line(error, 120)})") from error
    for item in items:
        if any(Path(name).name != name or name in ("", ".", "..") for name in item.files):
            raise VoxauditError(f"{path}: item {one_line(item.id, 40)} names a file outside of audio/")
    if not 1 <= study.each <= len(study.questions):
        raise VoxauditError(f"{path}: 'each' must lie between 1 and the {len(study.questions)} questions")
    return study


def _item(document: dict[str, Any]) -> Item:
    """Return an item as `study.json` has it; anything else raises ValueError or TypeError."""
    item = Item(**{**document, "files": tuple(document["files"])})
    names = (item.id, *item.files, item.utterance, item.scenario, item.perturbation, item.setting)
    if len(item.files) != 2 or not all(isinstance(name, str) for name in names):
        raise ValueError("an item has an id and two files")
    if item.check not in ("", "high", "low", "real", PRACTICE) or item.real not in (None, 0, 1):
        raise ValueError("an item has a check that is not known")
    return item


def is_answer(kind: Kind, answer: object) -> bool:
    """Say whether something is an answer to a question of such a study."""
    limits = {"rating": (LOWEST, HIGHEST)}
    if kind == "realism":
        limits = {"choice": (0, 1), "confidence": (0, len(CONFIDENCES) - 1)}
    return isinstance(answer, dict) and all(
        type(answer.get(name)) is int and low <= answer[name] <= high for name, (low, high) in limits.items()
    )


def participants(study: Study, at_least: int = 0) -> tuple[Participant, ...]:
    """Return the participants, made up to `at_least` of them; links given out before stay as they are.

    The file of their tokens can be read by its owner only.
    """
    path = study.folder / "participants.json"
    known: list[Participant] = []
    if path.exists():
        try:
            known = [Participant(**one) for one in read_json(path)]
            if not all(
                isinstance(one.name, str) and isinstance(one.token, str) and one.token for one in known
            ):
                raise ValueError("everybody has a name and a token")
        except (OSError, ValueError, TypeError) as error:
            raise VoxauditError(f"{path}: not a list of participants ({one_line(error, 120)})") from error
    if len(known) >= at_least:
        return tuple(known)
    known += [
        Participant(f"p{number + 1:03d}", secrets.token_urlsafe(18)) for number in range(len(known), at_least)
    ]
    text = json.dumps([asdict(one) for one in known], indent=1)
    write_atomically(path, lambda target: target.write_text(text, encoding="utf-8"), mode=0o600)
    return tuple(known)


# The answers: SQLite, one row an answer, committed as it comes; no names, no addresses.


_SCHEMA = """
create table if not exists answers (
  participant text not null,
  item text not null,
  answer text not null,
  plays integer not null,
  answered integer not null,
  primary key (participant, item)
) without rowid
"""


class Answers:
    """The store. Safe for the server's threads; a process killed at any moment loses nothing that was answered."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "answers.sqlite"
        self._lock = threading.Lock()
        self._database = Database(self._path, _SCHEMA, durable=True)

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    def add(self, participant: str, item: str, answer: dict[str, Any], plays: int) -> None:
        """Keep an answer; the first one stays, so that a request sent twice changes nothing."""
        row = (participant, item, json.dumps(answer, sort_keys=True), plays, int(time.time()))
        with self._lock:
            self._database.write("insert or ignore into answers values (?, ?, ?, ?, ?)", [row])

    def items_of(self, participant: str) -> set[str]:
        """Return which items a participant has answered."""
        rows = self._read("select item from answers where participant = ?", (participant,))
        return {item for (item,) in rows}

    def all(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return (participant, item, answer) of everybody, in a fixed order."""
        rows = self._read("select participant, item, answer from answers order by 1, 2")
        try:
            return [(participant, item, json.loads(answer)) for participant, item, answer in rows]
        except (TypeError, ValueError) as error:
            raise VoxauditError(f"{self._path}: not the answers of a study ({one_line(error)})") from error

    def _read(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return list(self._database.read(query, values))


@contextmanager
def open_answers(folder: Path) -> Iterator[Answers]:
    """Open the store for the length of a `with` block."""
    store = Answers(folder)
    try:
        yield store
    finally:
        store.close()
