"""voxaudit: audit a speech recognizer. Where it breaks, for whom it breaks, and how sure you can be.

The names below are the whole public interface; each is imported when it is first used.
"""

from typing import TYPE_CHECKING

from voxaudit.registry import lazy_attributes

__version__ = "0.1.0"

if TYPE_CHECKING:
    from voxaudit.audits.accuracy.audit import accuracy as accuracy
    from voxaudit.audits.attack.audit import attack as attack
    from voxaudit.audits.breaking.audit import breaking as breaking
    from voxaudit.audits.compare.audit import compare as compare
    from voxaudit.audits.differential.audit import differential as differential
    from voxaudit.audits.disfluent.audit import disfluent as disfluent
    from voxaudit.audits.disparity.audit import disparity as disparity
    from voxaudit.audits.hallucination.audit import hallucination as hallucination
    from voxaudit.audits.keywords.audit import keywords as keywords
    from voxaudit.audits.localize.audit import localize as localize
    from voxaudit.audits.parity.audit import parity as parity
    from voxaudit.audits.power.audit import power as power
    from voxaudit.audits.quality.audit import quality as quality
    from voxaudit.audits.references.audit import references as references
    from voxaudit.audits.robustness.audit import robustness as robustness
    from voxaudit.audits.score.audit import score_files as score_files
    from voxaudit.audits.sequential.audit import sequential as sequential
    from voxaudit.audits.slices.audit import slices as slices
    from voxaudit.audits.stutter.audit import stutter as stutter
    from voxaudit.audits.versus.audit import versus as versus
    from voxaudit.config import AuditConfig as AuditConfig
    from voxaudit.config import load_config as load_config
    from voxaudit.corpus import Corpus as Corpus
    from voxaudit.corpus import read_corpus as read_corpus
    from voxaudit.corpus.select import select as select
    from voxaudit.errors import VoxauditError as VoxauditError
    from voxaudit.options import Limits as Limits
    from voxaudit.options import RunOptions as RunOptions
    from voxaudit.perturb import parse_scenario as parse_scenario
    from voxaudit.pipeline import run_audit as run_audit
    from voxaudit.recognize import make_recognizer as make_recognizer
    from voxaudit.report.build import build_report as build_report
    from voxaudit.report.build import write_report as write_report
    from voxaudit.run import Run as Run
    from voxaudit.run import open_run as open_run
    from voxaudit.run import run_trials as run_trials
    from voxaudit.score import count_words as count_words
    from voxaudit.score.run import score_run as score_run

_HOMES = {
    "AuditConfig": "voxaudit.config",
    "Corpus": "voxaudit.corpus",
    "Run": "voxaudit.run",
    "Limits": "voxaudit.options",
    "RunOptions": "voxaudit.options",
    "VoxauditError": "voxaudit.errors",
    "accuracy": "voxaudit.audits.accuracy.audit",
    "attack": "voxaudit.audits.attack.audit",
    "breaking": "voxaudit.audits.breaking.audit",
    "build_report": "voxaudit.report.build",
    "compare": "voxaudit.audits.compare.audit",
    "count_words": "voxaudit.score",
    "differential": "voxaudit.audits.differential.audit",
    "disfluent": "voxaudit.audits.disfluent.audit",
    "disparity": "voxaudit.audits.disparity.audit",
    "hallucination": "voxaudit.audits.hallucination.audit",
    "keywords": "voxaudit.audits.keywords.audit",
    "load_config": "voxaudit.config",
    "localize": "voxaudit.audits.localize.audit",
    "make_recognizer": "voxaudit.recognize",
    "open_run": "voxaudit.run",
    "parity": "voxaudit.audits.parity.audit",
    "parse_scenario": "voxaudit.perturb",
    "power": "voxaudit.audits.power.audit",
    "quality": "voxaudit.audits.quality.audit",
    "read_corpus": "voxaudit.corpus",
    "references": "voxaudit.audits.references.audit",
    "robustness": "voxaudit.audits.robustness.audit",
    "run_audit": "voxaudit.pipeline",
    "run_trials": "voxaudit.run",
    "score_files": "voxaudit.audits.score.audit",
    "score_run": "voxaudit.score.run",
    "select": "voxaudit.corpus.select",
    "sequential": "voxaudit.audits.sequential.audit",
    "slices": "voxaudit.audits.slices.audit",
    "stutter": "voxaudit.audits.stutter.audit",
    "versus": "voxaudit.audits.versus.audit",
    "write_report": "voxaudit.report.build",
}

__all__ = ["__version__", *_HOMES]


__getattr__ = lazy_attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
