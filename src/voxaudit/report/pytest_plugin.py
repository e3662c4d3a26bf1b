"""Gates as tests: `def test_it(audit): assert audit.gate("audit.toml", clean_wer=0.15)`. pytest finds it by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from voxaudit.render.document import GateResult


@dataclass(frozen=True, repr=False)
class Judged:
    """What became of gates: true where none failed; shown as the sentences of those that did."""

    results: tuple[GateResult, ...]

    def __bool__(self) -> bool:
        return all(gate.passed is not False for gate in self.results)

    def __repr__(self) -> str:
        from voxaudit.report.gates import failed

        return failed(self.results) or " ".join(gate.sentence for gate in self.results) or "no gate"


class Auditor:
    """Runs and judges audits: the fixture `audit`."""

    def gate(self, source: str | Path, *, attributes: Sequence[str] = (), **gates: Any) -> Judged:
        """Judge a run (its folder) or an audit (its `audit.toml`, which is run, or resumed, first).

        `gates` are those of the section `[gates]` with their values: `clean_wer=0.15`, `baseline="runs/accepted"`,
        `worst_wer={"limit": 0.6, "bound": "upper"}`. Without any, those of the audit's own file count. `attributes`
        are the groups to compare where the run does not name them.
        """
        from voxaudit.config import load_config, read_gates
        from voxaudit.pipeline import run_audit
        from voxaudit.report.build import build_report, remembered
        from voxaudit.run import open_run

        source = Path(source)
        run = (
            run_audit(load_config(source), progress=False).run
            if source.suffix == ".toml"
            else open_run(source)
        )
        named, own = remembered(run)
        asked = read_gates(gates, Path("gates"), list(run.config["recognizers"])) if gates else own
        report = build_report(run, attributes=attributes or named, gates=asked, audio_megabytes=0.0)
        return Judged(report.gates)


@pytest.fixture(scope="session")
def audit() -> Auditor:
    """What runs audits and judges their gates: `assert audit.gate("audit.toml", clean_wer=0.15)`."""
    return Auditor()
