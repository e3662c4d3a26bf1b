"""Localise: which words, and which sounds, a recogniser loses for whom when speech is disturbed (AequeVox)."""

from voxaudit.audits.localize.audit import localize, localize_counts, localize_file
from voxaudit.audits.localize.result import Localization

__all__ = ["Localization", "localize", "localize_counts", "localize_file"]
