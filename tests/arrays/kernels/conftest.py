"""A fixture for the tests of kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adjoint.arrays.kernels import vectors


@pytest.fixture(params=[0, 1, 2])
def kind(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each kind of processor that this one can run: without vector loops, with AVX2, with AVX-512."""
    if request.param not in vectors.kinds():
        pytest.skip("this processor has no such instructions")
    before = vectors.use_kind(request.param)
    yield request.param
    vectors.use_kind(before)
