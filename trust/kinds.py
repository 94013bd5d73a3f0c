"""Compares the results of loops for the kinds of processor; a part of `make accuracy`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.arrays.kernels import processor, vector_ufuncs

from .accuracy_page import Difference
from .figures import ROOT
from .scenarios.results import NETWORK
from .threads import environment


def available() -> list[str]:
    """The names of the kinds whose loops this processor can run, the best one last. Empty without compiled loops."""
    return [processor.NAMES[kind] for kind in vector_ufuncs.kinds()]


def results_on(kind: str, points: int) -> dict[str, Any]:
    """All results by name, from a process that is forced to a kind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.npz"
        command = [sys.executable, "-m", "trust.scenarios.results", str(points), str(file)]
        subprocess.run(command, env=environment() | {processor.VARIABLE: kind}, cwd=ROOT, check=True)
        with np.load(file) as stored:
            return dict(stored)


def apart(first: Any, second: Any, *, of_largest: bool = False) -> Any:
    """The difference of two arrays in units in the last place. It is infinite where only one of them is a number.

    of_largest: the units are those of the largest element.

    >>> apart(np.array([1.0, np.nan, np.inf, 0.0]), np.array([1 + 2.0**-51, np.nan, 1.0, -0.0])).tolist()
    [2.0, 0.0, inf, 0.0]
    """
    with np.errstate(all="ignore"):
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        size = np.maximum(np.abs(first), np.abs(second))
        size = np.max(size) if of_largest else size
        units = np.abs(np.subtract(first, second, dtype=np.float64)) / np.spacing(size)
    return np.where(same, 0.0, np.where(np.isfinite(first) & np.isfinite(second), units, np.inf))


def differences(points: int) -> list[Difference]:
    """The difference of each result from the result on the best kind, for all other kinds."""
    *others, best = available() or [""]
    exact = results_on(best, points) if others else {}
    rows = []
    for kind in others:
        for name, values in results_on(kind, points).items():
            units = apart(values, exact[name], of_largest=name.startswith(NETWORK))
            rows.append(Difference(kind, name, float(np.quantile(units, 0.99)), float(np.max(units))))
    return rows
