"""Audio quality: DNSMOS, PESQ and SNR of utterances under scenarios, and how difficult that makes each scenario."""

from typing import TYPE_CHECKING

from voxaudit.registry import lazy_attributes

if TYPE_CHECKING:
    from voxaudit.score.quality.difficulty import difficulties as difficulties
    from voxaudit.score.quality.difficulty import nwerd as nwerd
    from voxaudit.score.quality.difficulty import published_difficulties as published_difficulties
    from voxaudit.score.quality.dnsmos import load_dnsmos as load_dnsmos
    from voxaudit.score.quality.measure import measure_quality as measure_quality
    from voxaudit.score.quality.measure import select_measured as select_measured
    from voxaudit.score.quality.measures import pesq_score as pesq_score

# Imported when used: measuring processes live in this package too and must start without the driver's tables.
_HOMES = {
    "difficulties": "voxaudit.score.quality.difficulty",
    "load_dnsmos": "voxaudit.score.quality.dnsmos",
    "measure_quality": "voxaudit.score.quality.measure",
    "nwerd": "voxaudit.score.quality.difficulty",
    "pesq_score": "voxaudit.score.quality.measures",
    "published_difficulties": "voxaudit.score.quality.difficulty",
    "select_measured": "voxaudit.score.quality.measure",
}

__all__ = list(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
