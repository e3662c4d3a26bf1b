"""What users already have, as one table of utterances with everything wrong about it listed."""

from voxaudit.corpus.base import Corpus, CorpusError, Problem, Utterance
from voxaudit.corpus.columns import parse_columns
from voxaudit.corpus.formats import FORMATS
from voxaudit.corpus.read import examine_corpus, read_corpus, without_bad_rows

__all__ = [
    "FORMATS",
    "Corpus",
    "CorpusError",
    "Problem",
    "Utterance",
    "examine_corpus",
    "parse_columns",
    "read_corpus",
    "without_bad_rows",
]
