"""Five kinds of stuttering put into fluent speech (ASTER, Liu et al. 2023), with the timings carried along."""

from voxaudit.perturb.stutter.base import Clip, Edit, Operation, StutterError
from voxaudit.perturb.stutter.block import Block
from voxaudit.perturb.stutter.chain import KINDS, Chain, parse_operation
from voxaudit.perturb.stutter.interjection import Interjection, fillers
from voxaudit.perturb.stutter.prolongation import Prolongation
from voxaudit.perturb.stutter.repetition import SoundRepetition, WordRepetition
from voxaudit.perturb.stutter.sample import (
    MIXTURES,
    SEVERITIES,
    applicable,
    check_kinds,
    sample_chain,
    sample_operation,
)

__all__ = [
    "KINDS",
    "MIXTURES",
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
    "fillers",
    "parse_operation",
    "sample_chain",
    "sample_operation",
]
