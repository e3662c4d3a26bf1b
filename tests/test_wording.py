import pytest

from voxaudit.wording import (
    counted,
    in_points,
    listed,
    named,
    p_cell,
    p_value,
    percent,
    percent_interval,
    points_interval,
    ratio_interval,
    spoken,
)


@pytest.mark.parametrize(
    ("p", "cell", "sentence"),
    [
        (None, "-", "-"),
        (0.0, "<0.0001", "p < 0.0001"),
        (0.00009, "<0.0001", "p < 0.0001"),
        (0.0001, "0.0001", "p = 0.0001"),
        (0.00034, "0.0003", "p = 0.0003"),
        (0.0034, "0.003", "p = 0.003"),
        (0.0123, "0.012", "p = 0.012"),
        (0.9996, "1.000", "p = 1.000"),
    ],
)
def test_one_way_to_write_a_p_value(p, cell, sentence):
    assert (p_cell(p), p_value(p)) == (cell, sentence)


def test_rates_differences_and_ratios():
    assert percent(0.1234) == "12.3 %"
    assert percent(None) == "-"
    assert percent_interval(0.1234, 0.1, 0.149) == "12.3 % (10.0 to 14.9)"
    assert percent_interval(0.1234, None, 0.149) == "12.3 %"
    assert points_interval(-0.02, -0.05, 0.01) == "-2.0 (-5.0 to 1.0)"
    assert points_interval(None, 0.0, 1.0) == "-"
    assert in_points(0.123, 0.1, 0.149) == "12.3 percentage points (10.0 to 14.9)"
    assert in_points(0.123) == "12.3 percentage points"
    assert ratio_interval(1.25, 0.97, None) == "1.25 (0.97 to ?)"
    assert ratio_interval(None, 0.97, 1.3) == "-"


def test_names_and_lists():
    assert (named(None), named("")) == ("(missing)", "")
    assert spoken("time_pitch") == "time pitch"
    assert listed("abcdefgh") == "a, b, c, d, e, f and 2 more"
    assert listed("ab") == "a, b"
    assert (counted(1, "pair"), counted(1200, "pair")) == ("1 pair", "1,200 pairs")
