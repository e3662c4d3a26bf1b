"""A test case: operations one after the other, written as one line and replayed from the original bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields

from voxaudit.align import Timings
from voxaudit.audio import Samples
from voxaudit.errors import one_line
from voxaudit.perturb.stutter.aster import Block, Interjection, Prolongation, SoundRepetition, WordRepetition
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError
from voxaudit.perturb.stutter.realistic import REALISTIC
from voxaudit.registry import suggest

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
        raise StutterError(
            f"unknown kind of stuttering '{one_line(name, 40)}'.{suggest(name, list(OPERATIONS))}"
            f" Available: {', '.join(OPERATIONS)}"
        )
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
