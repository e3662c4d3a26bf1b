"""Speech Robust Bench's published figures: Table 3 is ours to the digit, and Table 1 follows from Tables 3 and 7."""

from __future__ import annotations

import polars as pl
import pytest

from voxaudit.score.quality import nwerd, published_difficulties

NATURAL = {
    "accent (en)": "accented",
    "social (ami, FF)": "far_field_ami",
    "social (ami, NF)": "near_field_ami",
    "social (chime, FF)": "far_field_chime",
    "social (chime, NF)": "near_field_chime",
}
COLUMNS = {
    "accent": ("accented",),
    "social_far_field": ("far_field_ami", "far_field_chime"),
    "social_near_field": ("near_field_ami", "near_field_chime"),
}


@pytest.fixture(scope="module")
def reference(request):
    folder = request.getfixturevalue("shared_data").parent / "reference" / "srb"
    if not folder.is_dir():
        pytest.skip("no published figures here: the optional folder ../shared/reference/srb is missing")
    return folder


def test_nwerd_reproduces_table_1_from_tables_3_and_7(reference):
    difficulty = dict(published_difficulties().select("scenario", "difficulty").iter_rows())
    werd = {
        (model, NATURAL[scenario]): value
        for model, scenario, value in pl.read_csv(reference / "table7_werd_subset.csv").iter_rows()
    }
    compared = 0
    for row in pl.read_csv(reference / "table1_nwerd_subset.csv").iter_rows(named=True):
        for column, scenarios in COLUMNS.items():
            if row[column] is None:
                continue
            parts = [nwerd(werd[row["model"], scenario], difficulty[scenario]) for scenario in scenarios]
            assert sum(parts) / len(parts) == pytest.approx(row[column], abs=0.25), (row["model"], column)
            compared += 1
    assert compared == 23


def test_every_figure_of_table_3_is_there(reference):
    paper = pl.read_csv(reference / "table3_quality.csv")
    ours = pl.concat([published_difficulties("en"), published_difficulties("es")]).unique()
    assert ours.height == paper.height == 109

    def figures(table: pl.DataFrame, *columns: str) -> list[tuple[float, ...]]:
        return sorted(table.select(columns).fill_null(-1.0).rows())

    names = ("difficulty_avg", "normalized_dnsmos", "normalized_pesq")
    assert figures(ours, "difficulty", "dnsmos_normalized", "pesq_normalized") == figures(paper, *names)


def test_the_published_pesq_column_is_centered_half_a_deviation_above_the_text(reference):
    pesq = published_difficulties()["pesq_normalized"]
    dnsmos = published_difficulties()["dnsmos_normalized"]
    assert pesq.mean() == pytest.approx(62.5, abs=1.5)
    assert dnsmos.mean() == pytest.approx(50.0, abs=3.0)
