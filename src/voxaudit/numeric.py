"""Functions of scipy without what their packages import: array libraries of others, numpy's tests and its Fortran
wrapper, a fifth of a second of every command and worker.

They are scipy's compiled functions and give the same bits: `stdtr`, `ndtri` and all others of `scipy.special` that are
ufuncs, real Fourier transforms, recursive filters, a sparse product. A scipy that has them elsewhere is imported as a
whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import _bootstrap, import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

EPSILON = float(np.finfo(np.float64).eps)


def __getattr__(name: str) -> Any:
    """Return a function of `scipy.special`."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_special(), name)


def rfft(values: NDArray[Any], size: int | None = None) -> NDArray[Any]:
    """Return the spectrum of real values along the last axis, of the first `size` or with zeros up to there."""
    values = values if size is None else _sized(values, size)
    return np.asarray(_fourier().r2c(values, (values.ndim - 1,), True, 0, None, 1))


def irfft(spectrum: NDArray[Any], size: int | None = None) -> NDArray[Any]:
    """Return the `size` real values along the last axis that have a spectrum (without `size`, an even number)."""
    size = 2 * (spectrum.shape[-1] - 1) if size is None else size
    spectrum = _sized(spectrum if np.iscomplexobj(spectrum) else spectrum + 0j, size // 2 + 1)
    return np.asarray(_fourier().c2r(spectrum, (spectrum.ndim - 1,), size, False, 2, None, 1))


def next_fast_len(size: int) -> int:
    """Return the next size, this one included, of which a real transform is fast."""
    return int(_fourier().good_size(size, True))


def lfilter(numerator: Any, denominator: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a row through a recursive filter."""
    return np.asarray(_filters()(numerator, denominator, values, -1))


def sosfilt(sections: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a row through filters of order 2, one after the other; the row itself is changed.

    scipy's own checks and copies take twice as long as the filter.
    """
    whole = _sections()
    if whole is None:
        return np.asarray(import_module("scipy.signal").sosfilt(sections, values))
    whole(sections, values[None], np.zeros((1, len(sections), 2)))
    return values


def nct_sf(t: float, df: float, shift: float) -> float:
    """Return the chance that Student's t with `df` degrees of freedom, its normal moved by `shift`, exceeds `t`."""
    found = getattr(_special(), "_nct_sf", None) or import_module("scipy.stats").nct.sf
    return min(max(float(found(t, df, shift)), 0.0), 1.0)


def brentq(function: Callable[[float], float], low: float, high: float, xtol: float) -> float:
    """Return where a function is 0, to `xtol`; its signs at both ends differ."""
    found = _alone("scipy.optimize", "_zeros") or import_module("scipy.optimize._zeros")
    return float(found._brentq(function, low, high, xtol, 4.0 * EPSILON, 100, (), False, True))


def sparse_product(columns: NDArray[np.int32], entries: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return a sparse matrix, as many entries in every row, times a vector: each row adds up in the order given."""
    ends = np.arange(0, entries.size + 1, entries.shape[1], dtype=np.int32)
    sums = np.zeros(len(entries), entries.dtype)
    _products()(len(sums), len(values), ends, columns.ravel(), entries.ravel(), values, sums)
    return sums


def _sized(values: NDArray[Any], size: int) -> NDArray[Any]:
    if values.shape[-1] >= size:
        return values[..., :size]
    longer = np.zeros((*values.shape[:-1], size), values.dtype)
    longer[..., : values.shape[-1]] = values
    return longer


@cache
def _special() -> ModuleType:
    needed = ("_sf_error", "_special_ufuncs", "_ufuncs_cxx", "_gufuncs", "_ellip_harm_2", "_ufuncs")
    return _alone("scipy.special", *needed) or import_module("scipy.special")


@cache
def _fourier() -> ModuleType:
    found = _alone("scipy.fft._pocketfft", "pypocketfft")
    return found or import_module("scipy.fft._pocketfft.pypocketfft")


@cache
def _filters() -> Callable[..., Any]:
    found = getattr(_alone("scipy.signal", "_sigtools"), "_linear_filter", None)
    return found or import_module("scipy.signal").lfilter  # type: ignore[no-any-return]


@cache
def _sections() -> Callable[..., Any] | None:
    return getattr(_alone("scipy.signal", "_sosfilt"), "_sosfilt", None)


@cache
def _products() -> Callable[..., Any]:
    found = _alone("scipy.sparse", "_sparsetools") or import_module("scipy.sparse._sparsetools")
    return found.csr_matvec  # type: ignore[no-any-return]


def _alone(package: str, *names: str) -> ModuleType | None:
    """Load modules of a package, each of which needs those before it, and return the last; None where that fails.

    They are left where an import looks for them, so that the package finds them should it be imported.
    """
    folder = str(Path(import_module("scipy").__path__[0], *package.split(".")[1:]))
    # The lock that an import of the package takes: threads may come at once, some of them for the package.
    with _bootstrap._ModuleLockManager(package):  # type: ignore[attr-defined]
        before = set(sys.modules)
        try:
            for name in (f"{package}.{name}" for name in names):
                if name not in sys.modules:
                    spec: ModuleSpec = PathFinder.find_spec(name, [folder])  # type: ignore[assignment]
                    module = module_from_spec(spec)
                    spec.loader.exec_module(module)  # type: ignore[union-attr]
                    sys.modules[name] = module
            return sys.modules[name]
        except (AttributeError, ImportError):  # what was loaded by halves must not be found
            for name in set(sys.modules) - before:
                if name.startswith(f"{package}."):
                    del sys.modules[name]
            return None
