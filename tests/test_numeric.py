"""scipy's functions without its packages: the same functions, the same bits, and no package imported for them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import fft, optimize, signal, special, stats
from scipy.sparse import csr_array

from voxaudit import numeric


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 7, 64, 999, 16_000])
def test_transforms_are_scipys(precision, size):
    values = np.random.default_rng(size).standard_normal((3, size)).astype(precision)
    for longer in (None, size, 2 * size + 1, max(1, size // 2)):
        spectrum = fft.rfft(values, longer)
        found = numeric.rfft(values, longer)
        assert found.dtype == spectrum.dtype
        assert np.array_equal(found, spectrum)
        back = fft.irfft(spectrum, longer or size)
        assert np.array_equal(numeric.irfft(spectrum, longer or size), back)
    assert np.array_equal(numeric.irfft(np.abs(spectrum), 8), fft.irfft(np.abs(spectrum), 8))
    assert numeric.next_fast_len(size) == fft.next_fast_len(size, real=True)


def test_filters_and_products_are_scipys():
    draw = np.random.default_rng(1)
    values = draw.standard_normal(500)
    assert np.array_equal(
        numeric.lfilter([1.0, 0.3], [1.0, -0.5], values), signal.lfilter([1.0, 0.3], [1.0, -0.5], values)
    )
    sections = signal.butter(4, 0.2, output="sos")
    assert np.array_equal(numeric.sosfilt(sections, values.copy()), signal.sosfilt(sections, values))
    columns = np.sort(draw.integers(0, 500, (9, 4)), axis=1).astype(np.int32)
    entries = draw.standard_normal((9, 4)).astype(np.float32)
    matrix = csr_array((entries.ravel(), columns.ravel(), np.arange(0, 37, 4)), (9, 500))
    single = values.astype(np.float32)
    assert np.array_equal(numeric.sparse_product(columns, entries, single), matrix @ single)


def test_roots_and_the_noncentral_t_are_scipys():
    def polynomial(x: float) -> float:
        return x**3 - 2.0 * x - 5.0

    assert numeric.brentq(polynomial, 1.0, 4.0, xtol=1e-9) == optimize.brentq(polynomial, 1.0, 4.0, xtol=1e-9)
    for t, df, shift in ((2.1, 12.5, 1.7), (-1.0, 3.0, 0.4), (40.0, 300.0, 2.0)):
        assert numeric.nct_sf(t, df, shift) == stats.nct.sf(t, df, shift)


ALONE = """
import sys
import numpy as np
from voxaudit import numeric
{before}
row = np.arange(6.0)
print(numeric.stdtr(5.0, -2.0), numeric.irfft(numeric.rfft(row)).sum(), numeric.lfilter([1.0], [1.0, 0.5], row)[-1])
print(numeric.sosfilt(np.array([[1.0, 2.0, 1.0, 1.0, -0.5, 0.2]]), row)[-1])
whole = [name for name in ("special", "fft", "signal", "sparse") if "scipy." + name in sys.modules]
from scipy import special, stats
print(special.stdtr is numeric.stdtr, stats.norm.cdf(0.0))
print(*whole)
"""


def printed(before: str = "") -> list[str]:
    code = ALONE.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_no_package_is_imported_and_each_finds_the_same_functions_later():
    *values, same, whole = printed()
    assert values[0].split()[0] == str(special.stdtr(5.0, -2.0))
    assert same == "True 0.5"
    assert whole == ""


def test_a_scipy_that_is_laid_out_otherwise_is_imported():
    elsewhere = """
load = numeric._alone
numeric._alone = lambda package, *names: load(package, *names[:-2], names[-1] + "_moved")
"""
    assert printed(elsewhere)[:-1] == printed()[:-1]


def test_what_was_loaded_by_halves_is_not_found():
    """One of the modules that scipy's functions need is unknown to us: as if a later scipy had it."""
    one_less = """
load = numeric._alone
numeric._alone = lambda package, *names: load(package, *(name for name in names if name != "_gufuncs"))
"""
    found = printed(one_less)
    assert found[:-1] == printed()[:-1]
    assert found[-1] == "special"


def test_threads_may_come_at_once():
    """Recordings are measured by several threads, while another imports scipy itself."""
    code = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from voxaudit import numeric
sys.setswitchinterval(1e-6)
start = threading.Barrier(8)
def one(number):
    start.wait()
    if number == 0:
        return import_module("scipy.special").gammaincinv(2.0, 0.5)
    return numeric.gammaincinv(2.0, 0.5)
with ThreadPoolExecutor(8) as pool:
    print(len(set(pool.map(one, range(8)))))
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("1\n", "")
