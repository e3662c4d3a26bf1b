"""Limits that could never be meant: refused with what was probably meant."""

import pytest

from voxaudit.config import load_config
from voxaudit.errors import VoxauditError


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("category_nwerd = 50", "write 0.5 for 50 percentage points"),
        ("worst_group_ratio = 0.8", "never below 1"),
        ("clean_wer = 15", "write 0.15 for 15 %"),
    ],
)
def test_a_limit_in_the_wrong_unit_is_refused(tmp_path, line, message):
    path = tmp_path / "audit.toml"
    path.write_text(f'[corpus]\npath = "m.csv"\n[recognizers.moonshine]\n[gates]\n{line}\n')
    with pytest.raises(VoxauditError, match=message):
        load_config(path)


def test_limits_that_can_be_meant_are_taken(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(
        '[corpus]\npath = "m.csv"\n[recognizers.moonshine]\n[gates]\ncategory_nwerd = 0.5\nworst_group_ratio = 1.5\n'
    )
    assert load_config(path).gates.common["category_nwerd"].limit == 0.5
