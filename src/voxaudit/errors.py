"""The one exception that users see: a single line that says what is wrong and what to do about it."""

from __future__ import annotations


class VoxauditError(Exception):
    """Bad input or a missing part. The message is one line for a person: what, where, remedy.

    The command line prints it without a traceback and exits with code 2.
    """


def one_line(error: BaseException | str, limit: int = 300) -> str:
    """Return an error's message folded to one line of at most `limit` characters."""
    text = " ".join(str(error).split())
    if not text and isinstance(error, BaseException):
        text = type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def missing_extra(package: str, extra: str) -> VoxauditError:
    """Return the error for an optional package that is not installed."""
    return VoxauditError(f"{package} is not installed. Install it with: pip install 'voxaudit[{extra}]'")
