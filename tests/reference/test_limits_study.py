"""The study of limits: a small part of it, beside what the pages say."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.studies.limits import measure


def test_limits_of_rates_miss_less_than_those_of_the_log_scale():
    found = measure("rates", 400, sizes=(16,))
    now, old = (found.filter(limits=name).sort("world") for name in ("now", "log scale"))
    assert now.filter(world="mix")["high"].item() < 0.05 < old.filter(world="mix")["high"].item()
    assert now["low"].max() < 0.05
    assert (now["low"] == old["low"]).all()


@pytest.mark.slow
def test_costs_are_covered_where_none_is_and_where_one_is():
    found = measure("costs", 200, sizes=(16,)).filter(limits="now")
    assert found["either"].max() < 0.1  # nominal 5 %, standard error 1.5
    assert found.filter(cost="half more")["seen"].mean() > 0.5
