"""What is attacked: a recognizer with gradients, named by its code or its saved model, or any ordinary engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from voxaudit.audio import Samples
from voxaudit.audits.attack.base import AttackError, Differentiable, hear, need_torch, reason
from voxaudit.errors import one_line
from voxaudit.recognize import ENGINES, Recognizer, make_recognizer, require
from voxaudit.recognize.python import resolve


@dataclass(frozen=True)
class Victim:
    """A recognizer under attack: with gradients (`model`), or heard through worker processes (`recognizer`)."""

    name: str
    model: Differentiable | None = None
    recognizer: Recognizer | None = None

    def differentiable(self, method: str) -> Differentiable:
        """Return the model with gradients, or raise one line."""
        if self.model is None:
            raise AttackError(
                f"recognizer '{self.name}' gives no gradient, so --method {method} cannot attack it."
                " Use --method blackbox, or name a model with gradients (file.py:object, hf:FOLDER)"
            )
        return self.model


def open_victim(spec: str) -> Victim:
    """Return what a line names: `hf:FOLDER`, `file.py:object`, `module:object`, or an engine such as `moonshine`.

    The object is a recognizer with gradients (see `Differentiable`), or a function without arguments, or a class,
    that makes one.
    """
    head, colon, rest = spec.partition(":")
    if head == "hf":
        need_torch()
        from voxaudit.audits.attack.huggingface import open_huggingface

        return Victim(spec, model=open_huggingface(rest))
    if colon and head not in ENGINES.names():
        need_torch()
        return Victim(spec, model=as_differentiable(resolve(spec), spec))
    recognizer = make_recognizer(spec)
    require(recognizer)
    return Victim(spec, recognizer=recognizer)


def as_differentiable(found: Any, name: str) -> Differentiable:
    """Return an object as a recognizer with gradients, made first where it is a class or a function."""
    if isinstance(found, type) or (callable(found) and not isinstance(found, Differentiable)):
        try:
            found = found()
        except AttackError:
            raise
        except Exception as error:
            raise AttackError(f"{name}: cannot be made ({reason(error)})") from error
    missing = [part for part in ("rate", "loss", "transcribe") if not hasattr(found, part)]
    if missing:
        raise AttackError(
            f"{name}: {type(found).__name__} has no {', '.join(missing)}, so it cannot be attacked by its gradient."
            f" For --method blackbox write python:{name} and give a function (samples, rate) -> text"
        )
    if not isinstance(found.rate, int) or found.rate < 1:
        raise AttackError(f"{name}: rate must be a whole number of Hz, not {one_line(repr(found.rate), 40)}")
    model: Differentiable = found
    return model


def hear_each(model: Differentiable, clips: Sequence[Samples], batch: int = 16) -> list[str | None]:
    """Return what a model hears in each clip, None where it cannot take one; the others do not suffer from it."""
    texts: list[str | None] = []
    for first in range(0, len(clips), batch):
        some = clips[first : first + batch]
        try:
            texts += hear(model, some, batch)
        except AttackError:
            raise
        except Exception:
            texts += [_hear_one(model, clip) for clip in some]
    return texts


def _hear_one(model: Differentiable, clip: Samples) -> str | None:
    try:
        return hear(model, [clip])[0]
    except AttackError:
        raise
    except Exception:
        return None
