"""A test case: operations one after the other, written as one line and replayed from the original bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import ClassVar

import numpy as np

from voxaudit.align import Timings
from voxaudit.audio import Samples
from voxaudit.errors import one_line
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.scenario import CLEAN, Scenario, ScenariosOnDemand
from voxaudit.perturb.stutter.aster import Block, Interjection, Prolongation, SoundRepetition, WordRepetition
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError
from voxaudit.perturb.stutter.realistic import REALISTIC
from voxaudit.registry import unknown

KINDS: dict[str, type[Operation]] = {
    kind.kind: kind for kind in (Block, Prolongation, SoundRepetition, WordRepetition, Interjection)
}
"""The five kinds of stuttering of ASTER (Liu et al. 2023), by name, as it makes them."""

OPERATIONS: dict[str, type[Operation]] = {one.name(): one for one in (*KINDS.values(), *REALISTIC)}
"""Everything that a chain can hold, by its name in it: `block` of ASTER, `realistic.block`."""


@dataclass(frozen=True)
class Chain:
    """Operations in the order they are applied. `str(chain)` is its serialized form, `Chain.parse` reads it."""

    operations: tuple[Operation, ...] = ()

    def __call__(
        self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()
    ) -> tuple[Samples, Timings]:
        """Return the recording and its timings after all operations, from the original's samples and timings."""
        for operation in self.operations:
            samples, timings = operation(samples, rate, timings, clips)
        return samples, timings

    def edits(self, samples: Samples, rate: int, timings: Timings, clips: Sequence[Clip] = ()) -> list[Edit]:
        """Return what each operation changes, in turn: for showing where a case was edited."""
        done = []
        for operation in self.operations:
            edit = operation.edit(samples, rate, timings, clips)
            samples, timings = edit.apply(samples), edit.timings
            done.append(edit)
        return done

    def then(self, operation: Operation) -> Chain:
        """Return the chain with one more operation at the end."""
        return Chain((*self.operations, operation))

    def __len__(self) -> int:
        return len(self.operations)

    def __str__(self) -> str:
        return ";".join(map(str, self.operations))

    @property
    def version(self) -> str:
        """What, besides the text of the chain, decides the samples: the version of each kind in it."""
        return ",".join(
            f"{name}={OPERATIONS[name].version}" for name in sorted({o.name() for o in self.operations})
        )

    @classmethod
    def parse(cls, text: str) -> Chain:
        """Return the chain that `str(chain)` wrote: `block:word=2,syllable=1,ms=120;word_repetition:word=0`."""
        return cls(tuple(parse_operation(part) for part in filter(None, map(str.strip, text.split(";")))))


def parse_operation(text: str) -> Operation:
    """Return the operation that a string names; an unknown name, field or value raises one line."""
    name, _, rest = text.partition(":")
    if name not in OPERATIONS:
        raise unknown("unknown kind of stuttering", name, OPERATIONS, there="Available", error=StutterError)
    kind = OPERATIONS[name]
    known = {field.name: field for field in fields(kind)}
    values: dict[str, int | float | str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in known:
            raise StutterError(
                f"{name}: cannot read '{one_line(part, 40)}'; write {', '.join(f'{k}=' for k in known)}"
            )
        convert = {"int": int, "float": float, "str": str}[str(known[key].type)]
        try:
            values[key] = convert(value)
        except ValueError as error:
            raise StutterError(f"{name}: {key} must be a number, not '{one_line(value, 40)}'") from error
    missing = [key for key, field in known.items() if field.default is MISSING and key not in values]
    if missing:
        raise StutterError(f"{name}: {', '.join(missing)} is missing, as in {name}:{missing[0]}=0")
    return kind(**values)


# Chains as scenarios: a chain is the id, and the run hears, stores and caches it like any other.


@dataclass(frozen=True)
class Stuttered(Perturbation):
    """A recording with a chain of stuttering put in; the timings are those of the utterance it is bound to."""

    name: ClassVar[str] = "stutter"
    family: ClassVar[str] = "stutter"

    chain: Chain
    all_timings: Mapping[str, Timings] = field(repr=False, compare=False)
    clips: tuple[Clip, ...] = field(default=(), repr=False, compare=False)
    utterance: str | None = field(default=None, repr=False)
    timed: str = ""

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the samples after the chain."""
        if self.utterance is None:
            raise StutterError("a stuttered scenario is heard for one utterance: its timings are needed")
        changed, _ = self.chain(samples, rate, self.all_timings[self.utterance], self.clips)
        return changed

    def for_utterance(self, utterance: str) -> Stuttered:
        """Return the case for one utterance; the timings it uses are part of its identity."""
        timings = self.all_timings[utterance]
        digest = hashlib.sha256(timings.to_json().encode("utf-8", "surrogatepass")).hexdigest()[:16]
        mark = f"{self.chain.version} {digest}"
        return Stuttered(self.chain, self.all_timings, self.clips, utterance, mark)


@dataclass(frozen=True)
class StutterScenarios(ScenariosOnDemand):
    """`clean` and every chain as a scenario, made when it is asked for. `timings` are by utterance id."""

    timings: Mapping[str, Timings]
    clips: tuple[Clip, ...] = ()

    def __getitem__(self, id_: str) -> Scenario:
        if id_ == CLEAN:
            return Scenario(CLEAN, None)
        return Scenario(id_, Stuttered(Chain.parse(id_), self.timings, self.clips))
