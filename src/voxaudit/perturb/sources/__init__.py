"""Where noise and rooms come from: the user's folders, other speakers of the corpus, or the built-in set."""

from typing import TYPE_CHECKING

from voxaudit.perturb.sources.base import NoiseSource, RoomSource, Source
from voxaudit.registry import lazy_attributes

if TYPE_CHECKING:
    from voxaudit.perturb.sources.open import describe_sources as describe_sources
    from voxaudit.perturb.sources.open import open_source as open_source
    from voxaudit.perturb.sources.open import open_sources as open_sources
    from voxaudit.perturb.sources.open import other_speakers as other_speakers
    from voxaudit.perturb.sources.open import reopen_sources as reopen_sources

_NAMES = ("describe_sources", "open_source", "open_sources", "reopen_sources", "other_speakers")
_HOMES = dict.fromkeys(_NAMES, "voxaudit.perturb.sources.open")

__all__ = ["NoiseSource", "RoomSource", "Source", *_HOMES]

__getattr__ = lazy_attributes(__name__, _HOMES)
