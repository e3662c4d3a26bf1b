"""Five kinds of stuttering put into fluent speech, as measured or as ASTER has them, with the timings carried along."""

from voxaudit.perturb.stutter.aster import (
    Block,
    Interjection,
    Prolongation,
    SoundRepetition,
    WordRepetition,
    fillers,
)
from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError
from voxaudit.perturb.stutter.chain import KINDS, OPERATIONS, Chain, parse_operation
from voxaudit.perturb.stutter.sample import (
    MIXTURE_NAMES,
    MIXTURES,
    MODES,
    PROFILE,
    SEVERITIES,
    applicable,
    check_kinds,
    check_mode,
    sample_chain,
    sample_operation,
)

__all__ = [
    "KINDS",
    "MIXTURES",
    "MIXTURE_NAMES",
    "MODES",
    "OPERATIONS",
    "PROFILE",
    "SEVERITIES",
    "Block",
    "Chain",
    "Clip",
    "Edit",
    "Interjection",
    "Operation",
    "Prolongation",
    "SoundRepetition",
    "StutterError",
    "WordRepetition",
    "applicable",
    "check_kinds",
    "check_mode",
    "fillers",
    "parse_operation",
    "sample_chain",
    "sample_operation",
]
