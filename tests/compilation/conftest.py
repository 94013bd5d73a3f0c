"""A fixture of compiled functions: half of the tests record outlines of all arrays, the others only of large ones."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import pytest

from adjoint.compilation.recordings import outlines, recording


@pytest.fixture(autouse=True)
def outlines_of_small_arrays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give every array an outline. If code reads the elements of an outline, the process ends."""
    with pytest.MonkeyPatch.context() as patch:
        if crc32(request.node.nodeid.encode()) % 2:
            for module in (outlines, recording):
                patch.setattr(module, "LARGE", 1)
        yield
