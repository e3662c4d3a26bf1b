"""Scoring: text normalizers, word and character counts, alignments, and the `scores` table.

Counts are the currency; rates are taken from their sums. Raw text in, so scoring can always be repeated.
"""

from voxaudit.score.align import (
    Edit,
    align_words,
    character_errors,
    count_characters,
    count_words,
    stream_word_counts,
    word_counts,
)
from voxaudit.score.counts import Counts
from voxaudit.score.normalize import NORMALIZERS, Normalizer, normalizer
from voxaudit.score.table import Scored, score_columns, score_schema, score_transcripts, total

__all__ = [
    "NORMALIZERS",
    "Counts",
    "Edit",
    "Normalizer",
    "Scored",
    "align_words",
    "character_errors",
    "count_characters",
    "count_words",
    "normalizer",
    "score_columns",
    "score_schema",
    "score_transcripts",
    "stream_word_counts",
    "total",
    "word_counts",
]
