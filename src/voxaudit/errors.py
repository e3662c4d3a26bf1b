"""The one exception that users see: a single line that says what is wrong and what to do about it."""

from __future__ import annotations

import errno

_SPENT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class VoxauditError(Exception):
    """Bad input or a missing part. The message is one line for a person: what, where, remedy.

    `see` names the arguments that would change the outcome. A Python user reads them as arguments, the command line
    shows them as flags; no message names a flag itself. The command line prints no traceback and exits with code 2.

    >>> print(VoxauditError("no group 'man' of gender", see=("reference",)))
    no group 'man' of gender (see the argument `reference`)
    """

    def __init__(self, message: str, *, see: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.see = see

    def __str__(self) -> str:
        return self.message + arguments_named(self.see)


def arguments_named(see: tuple[str, ...]) -> str:
    """Return ` (see the argument ...)` to follow a message for a Python user; nothing where no argument is named."""
    if not see:
        return ""
    return f" (see the argument{'s' if len(see) > 1 else ''} {', '.join(f'`{name}`' for name in see)})"


def one_line(error: BaseException | str, limit: int = 300) -> str:
    """Return an error's message folded to one line of at most `limit` characters, of which all can be stored.

    >>> one_line("clip\\udcff.wav:\\n cannot be read")
    'clip\\\\udcff.wav: cannot be read'
    """
    try:
        text = str(error)
    except Exception as broken:  # an exception of a stranger's that cannot even say what it is
        text = f"its message cannot be read ({type(broken).__name__})"
    text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    if not text and isinstance(error, BaseException):
        text = type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def exhausted(error: BaseException | None) -> bool:
    """Say whether an error arose because its process has no memory, stack or files left, whatever it was doing.

    >>> exhausted(OSError(errno.EMFILE, "Too many open files")), exhausted(FileNotFoundError())
    (True, False)
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError | RecursionError) or getattr(error, "errno", None) in _SPENT:
            return True
        error = error.__cause__
    return False


def missing_extra(package: str, extra: str) -> VoxauditError:
    """Return the error for an optional package that is not installed."""
    return VoxauditError(f"{package} is not installed. Install it with: pip install 'voxaudit[{extra}]'")
