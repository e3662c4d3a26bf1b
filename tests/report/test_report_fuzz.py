"""Whatever a run holds, its report is built, valid, and claims nothing that too few speakers could carry."""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.config import Gate, Gates
from voxaudit.render.html import render_html
from voxaudit.render.json import to_json
from voxaudit.render.junit import to_junit
from voxaudit.render.markdown import to_markdown
from voxaudit.report.build import build_report
from voxaudit.run.folder import Run, write_config
from voxaudit.run.store import TRANSCRIPT_COLUMNS
from voxaudit.score.run import score_run

SCENARIOS = (
    "clean",
    "gaussian_noise:1",
    "gaussian_noise:3",
    "telephone",
    "silence",
    "accented",
    "mine:7",
    "x",
)
GATES = Gates(
    {
        "clean_wer": Gate(0.2, "upper"),
        "worst_wer": Gate(0.5),
        "category_nwerd": Gate(0.5, "lower"),
        "worst_group_ratio": Gate(1.5, "lower"),
        "max_failures": Gate(0.1),
        "differential": Gate(0.0),
    }
)


def random_run(seed: int, folder: Path) -> Run:
    """Write a run whose every part is drawn: sizes, gaps, failures, texts, attributes."""
    draw = np.random.default_rng(seed)
    words = list("abcdefgh")
    speakers, utterances = int(draw.integers(1, 13)), int(draw.integers(1, 25))
    recognizers = [f"r{n}" for n in range(draw.integers(1, 4))]
    scenarios = ["clean", *draw.choice(SCENARIOS[1:], draw.integers(0, 5), replace=False).tolist()]
    blank, lost = draw.choice([0.0, 0.3, 1.0], 2, p=[0.6, 0.3, 0.1])

    def text(most=6):
        return " ".join(draw.choice(words, draw.integers(0, most)))

    def perhaps(value, gap):
        return None if draw.random() < gap else value

    rows = [
        {
            "id": f"u{n}",
            "audio": f"/nowhere/{n}.wav",
            "speaker": perhaps(f"s{draw.integers(speakers)}", blank / 2),
            "text": perhaps(text(), blank),
            "start": None,
            "duration": perhaps(1.5, blank / 2),
            "group": perhaps(str(draw.choice(["p", "q", "r"])), 0.2),
            "age": perhaps(int(draw.integers(10, 80)), 0.2),
        }
        for n in range(utterances)
    ]
    kinds = {"start": pl.Float64, "duration": pl.Float64, "age": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in rows[0]}
    pl.DataFrame(rows, schema=schema).write_parquet(folder / "corpus.parquet")
    trials = []
    for row in rows:
        for recognizer in recognizers:
            for scenario in scenarios:
                answer = perhaps((row["text"] or "") if draw.random() < 0.5 else text(), lost)
                failure = "recognizer: no" if answer is None else None
                trials.append((row["id"], scenario, recognizer, answer, None, None, 0.1, failure, None))
    pl.DataFrame(trials, schema=TRANSCRIPT_COLUMNS, orient="row").write_parquet(
        folder / "transcripts.parquet"
    )
    about = {
        "name": "drawn",
        "source": "",
        "format": "m",
        "utterances": utterances,
        "speakers": speakers,
        "skipped": 0,
    }
    config = {"created": "", "voxaudit": "0", "corpus": about, "scenarios": scenarios, "seed": 0}
    write_config(folder, {**config, "recognizers": {name: {} for name in recognizers}})
    score_run(Run(folder))
    return Run(folder)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_any_run_has_a_report(seed):
    from voxaudit.render.json import schema

    jsonschema = pytest.importorskip("jsonschema")
    with tempfile.TemporaryDirectory() as folder:
        run = random_run(seed, Path(folder))
        report = build_report(run, attributes=["group", "age"], gates=GATES)
        known = run.corpus["speaker"].drop_nulls().n_unique()
    import json

    found = json.loads(to_json(report))
    jsonschema.Draft202012Validator(schema()).validate(found)
    ElementTree.fromstring(to_junit(report).encode())
    assert to_markdown(report).endswith("\n")
    assert render_html(report)
    ids = [finding.id for finding in report.findings]
    assert len(set(ids)) == len(ids)
    for answer in (answer for chapter in found["chapters"] for answer in chapter["answers"]):
        tables = [table["id"] for table in answer["tables"]]
        assert len(set(tables)) == len(tables)
    if known < 2:
        assert not [finding for finding in report.findings if finding.verdict == "shown"]
    for finding in report.findings:
        if None not in (finding.low, finding.high, finding.estimate):
            assert finding.low <= finding.high
