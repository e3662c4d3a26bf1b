"""Alignment: when each word, syllable and phone of a known text is spoken."""

from voxaudit.align.corpus import align_corpus
from voxaudit.align.files import read_alignments, read_ctm, read_lhotse, read_textgrid
from voxaudit.align.pocketsphinx import PocketSphinxAligner
from voxaudit.align.timings import Aligner, AlignmentError, Phone, Syllable, Timings, Word

__all__ = [
    "Aligner",
    "AlignmentError",
    "Phone",
    "PocketSphinxAligner",
    "Syllable",
    "Timings",
    "Word",
    "align_corpus",
    "read_alignments",
    "read_ctm",
    "read_lhotse",
    "read_textgrid",
]
