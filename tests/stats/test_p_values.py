import pytest

from voxaudit.stats.p_values import p_cell, p_value


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
