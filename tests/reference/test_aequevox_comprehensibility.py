"""AequeVox's listening study from its published ratings: Table 10 and the figures of RQ2."""

import json

import pytest

from voxaudit.cli.main import main


@pytest.fixture(scope="module")
def reference(shared_data):
    return shared_data.parent / "reference" / "aequevox"


@pytest.fixture(scope="module")
def found(reference):
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        path = str(reference / "comprehensibility.csv")
        assert main(["study", "analyze", path, "--exclude", "amp:2.0", "--json"]) == 0
    return json.loads(out.getvalue())


def test_table_10(reference, found):
    table = json.loads((reference / "expected_tables.json").read_text())["table10"]
    published = {(name, setting): mean for name, row in table.items() for setting, mean in row.items()}
    means = {(cell["perturbation"], cell["setting"]): cell["mean"] for cell in found["cells"]}
    assert means.keys() == published.keys()
    assert len(means) == 40
    for cell, mean in means.items():
        assert abs(mean - published[cell]) <= 0.005 + 1e-9, cell


def test_figures_of_rq2(found):
    assert round(found["degradation_mildest"], 2) == 24.36
    assert round(found["degradation_strongest"], 2) == 29.18
    assert round(found["degradation_strongest"] - found["degradation_mildest"], 2) == 4.82
    assert round(found["lowest"]["mean"], 2) == 6.78
    drops = {drop["perturbation"]: drop for drop in found["drops"]}
    assert round(drops["Scale"]["degradation_strongest"], 2) == 32.23
    assert round(drops["Drop"]["degradation_mildest"], 2) == 20.96
    assert round(drops["Scale"]["drop"], 2) == 10.05
    assert round(drops["Drop"]["drop"], 2) == 8.32
    assert round(drops["Frame"]["drop"], 2) == 0.76
    assert found["participants"] == 197


def test_what_the_paper_prints_otherwise(found):
    # The paper says 82.9 % above seven and noise at 27.75 %; its own ratings give these.
    assert found["above"] == 34 / 40
    drops = {drop["perturbation"]: drop for drop in found["drops"]}
    assert round(drops["Noise"]["degradation_mildest"], 2) == 27.77
