"""What users already have, as one table of utterances with everything wrong about it listed."""

from voxaudit.corpus.base import Corpus, CorpusError, Problem, Utterance
from voxaudit.corpus.columns import parse_columns
from voxaudit.corpus.languages import base_language
from voxaudit.corpus.merge import labeled, merge_corpora
from voxaudit.corpus.read import examine_corpus, read_corpus, without_bad_rows
from voxaudit.corpus.rows import FORMATS
from voxaudit.corpus.select import select, write_manifest

__all__ = [
    "FORMATS",
    "Corpus",
    "CorpusError",
    "Problem",
    "Utterance",
    "base_language",
    "examine_corpus",
    "labeled",
    "merge_corpora",
    "parse_columns",
    "read_corpus",
    "select",
    "without_bad_rows",
    "write_manifest",
]
