"""Training programs reach PyTorch's losses from the same initial values (data/training.json)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.training.programs import PROGRAMS, losses

import adjoint

#: `python -m benchmarks.training --losses tests/data/training.json` writes the file.
EXPECTED = json.loads((Path(__file__).parents[1] / "data" / "training.json").read_text())


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_are_those_of_torch(name):
    values = losses(adjoint, name)
    np.testing.assert_allclose(values, EXPECTED[name], rtol=2e-3)
    # rounding errors are still small
    np.testing.assert_allclose(values[:10], EXPECTED[name][:10], rtol=2e-5)
    assert values[-1] < values[0]
