"""Rajan et al. 2022 (AequeVox) from the published distances and ratings: Tables 4, 5 and 10, and the headlines."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voxaudit.audits.differential.audit import differential
from voxaudit.cli.main import main
from voxaudit.perturb.comprehensibility import published_ratings, read_ratings

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "reference" / "aequevox"
EXCLUDED = ("--exclude", "Scale:0.6,Scale:0.5")
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="no reference data here: the optional folder ../shared/reference is missing"
)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / "expected_tables.json").read_text(encoding="utf-8"))
    return document


def command(*arguments: str) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["differential", str(FOLDER / "distances.csv"), *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def rows(found: dict[str, Any], table: str) -> list[dict[str, Any]]:
    [wanted] = [one for one in found["tables"] if one["id"] == table]
    return [dict(zip(wanted["names"], row, strict=True)) for row in wanted["rows"]]


def totals(found: dict[str, Any], **wanted: str) -> dict[str, int]:
    chosen = [row for row in rows(found, "groups") if wanted.items() <= row.items()]
    return {row["group"]: row["violations"] for row in chosen}


@pytest.mark.parametrize("corpus", ["Accents", "RAVDESS"])
def test_table_4(corpus: str, expected: dict[str, Any]) -> None:
    found = command("--corpus", corpus, *EXCLUDED, "--full")
    table = expected["table4"][corpus]
    groups = list(table["total"])
    ours = {(row["by"], row["value"], row["group"]): row["violations"] for row in rows(found, "counts")}
    cells = [(totals(found)[group], table["total"][group]) for group in groups]
    for published, by in (("tau", "tolerance"), ("asr_pair", "pair"), ("transformation", "perturbation")):
        for label, row in table[published].items():
            value = f"{float(label):g}" if by == "tolerance" else label
            cells += [(ours[by, value, group], n) for group, n in row.items()]
    assert len(cells) == 16 * len(groups)  # 112 and 32: the table's 144
    assert [ours for ours, _ in cells] == [published for _, published in cells]
    violations = rows(found, "violations")
    assert len(violations) == sum(table["total"].values())
    assert {row["p"] for row in violations} == {None}
    assert {row["verdict"] for row in violations} == {"refused"}


def test_all_datasets_at_once_are_compared_within_themselves(expected: dict[str, Any]) -> None:
    found = command(*EXCLUDED, "--full")
    for corpus in ("Accents", "RAVDESS"):
        assert totals(found, corpus=corpus) == expected["table4"][corpus]["total"]
    pairs = {(row["corpus"], row["group"], row["against"]) for row in rows(found, "violations")}
    assert all(
        ({group, against} <= {"Male", "Female"}) == (corpus == "RAVDESS") for corpus, group, against in pairs
    )
    verdicts = {(one["corpus"], one["verdict"], one["code"]) for one in found["findings"]}
    assert verdicts >= {("Accents", "refused", "no_speakers"), ("RAVDESS", "refused", "no_speakers")}


@pytest.mark.parametrize("corpus", ["Accents", "RAVDESS"])
@pytest.mark.parametrize("own", [False, True], ids=["shipped ratings", "ratings from a file"])
def test_table_5(corpus: str, own: bool, expected: dict[str, Any]) -> None:
    ratings = ("--ratings", str(FOLDER / "comprehensibility.csv")) if own else ()
    found = command("--corpus", corpus, *EXCLUDED, "--min-comprehensibility", "7.2", *ratings)
    assert totals(found) == expected["table5"][corpus]["total"]
    assert len({row["value"] for row in rows(found, "counts") if row["by"] == "scenario"}) == 26


def test_table_10(expected: dict[str, Any]) -> None:
    recomputed, shipped = read_ratings(FOLDER / "comprehensibility.csv"), published_ratings()
    cells = [
        (name, float(setting), rating)
        for name, row in expected["table10"].items()
        for setting, rating in row.items()
    ]
    assert len(cells) == 40
    for name, setting, rating in cells:
        assert round(recomputed.of(name, setting) or 0.0, 2) == rating
        assert shipped.of(name, setting) == pytest.approx(recomputed.of(name, setting), abs=5.1e-5)
    assert len(shipped.means) == 41
    assert shipped.of("AMP", 2.0) == pytest.approx(8.02, abs=0.005)


def test_headlines() -> None:
    found = totals(command(*EXCLUDED))
    english = found["English"]
    others = [found[name] for name in ("Ganda", "French", "Gujarati", "Indonesian", "Korean", "Russian")]
    assert 100 * sum(n - english for n in others) / 6 / english == pytest.approx(109.0278, abs=1e-4)
    assert 100 * (found["Female"] - found["Male"]) / found["Male"] == pytest.approx(528.571, abs=1e-3)


def test_nothing_hangs_on_the_published_names(expected: dict[str, Any]) -> None:
    table = pl.read_csv(FOLDER / "distances.csv", infer_schema_length=None)
    table = table.filter(pl.col("dataset") == "RAVDESS").drop("dataset")
    renamed = table.with_columns(
        pl.col("asr_pair").str.replace_all("_", " | "),
        pl.col("transformation").replace({"Scale": "slow down", "Original": "clean"}),
        voice=pl.col("group").replace({"Male": "Ж", "Female": "0"}),
    ).drop("group")
    shuffled = renamed.sample(fraction=1.0, shuffle=True, seed=3)
    [found] = differential(shuffled, attribute="voice", exclude=["slow down:0.6", "SLOW DOWN:.5"]).detail
    assert found.view.totals() == {"Ж": 28, "0": 176}


@pytest.mark.parametrize(
    ("corpus", "group", "more"), [("Accents", "English", 1.0902777), ("RAVDESS", "Male", 5.2857142)]
)
def test_the_headlines_are_findings(corpus: str, group: str, more: float) -> None:
    """109 % more for speakers of other languages, 528.57 % more for women (abstract, RQ1)."""
    found = command("--corpus", corpus, *EXCLUDED, "--against", group)
    [finding] = [one for one in found["findings"] if one["measure"] == "more_violations"]
    assert finding["estimate"] == pytest.approx(more, abs=1e-6)
    assert f"{100 * more:.1f} % more violations than {group}" in finding["sentence"]
    own = {row["group"]: row["more"] for row in rows(found, "groups")}
    assert own.pop(group) is None
    assert sum(own.values()) / len(own) == pytest.approx(more, abs=1e-6)


def test_the_sensitivity_analysis_and_the_ratings_are_drawn() -> None:
    """Figures 7 to 9: violations with a comprehensibility of at least 7.2; Figure 5: the ratings themselves."""
    answer = differential(
        FOLDER / "distances.csv",
        corpus="RAVDESS",
        exclude=["Scale:0.6", "Scale:0.5"],
        min_comprehensibility=7.2,
    )
    assert {figure.id for figure in answer.figures} == {
        "tolerances",
        "pairs",
        "perturbations",
        "comprehensibility",
    }
    counts = answer.tables["counts"].filter(by="tolerance", group="Female")["violations"].to_list()
    drawn = {one.label: one.points for one in answer.figure("tolerances").drawing.series}
    assert [cell.value for cell in drawn["Female"]] == counts
    panels = {
        title: (ticks, series) for title, ticks, series in answer.figure("comprehensibility").drawing.panels
    }
    ticks, (series,) = panels["scale"]
    assert dict(zip(ticks, series.points, strict=True))["0.5"].value == pytest.approx(0.678, abs=0.001)


def test_a_reference_that_is_no_group_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["differential", str(FOLDER / "distances.csv"), "--against", "Males"]) == 2
    assert "no group 'Males'. Did you mean: Male?" in capsys.readouterr().err
