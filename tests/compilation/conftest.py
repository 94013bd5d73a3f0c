"""Half of the tests of compiled functions record outlines of all arrays, the others of large ones alone."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import pytest

from adjoint.compilation.recordings import outlines, recording


@pytest.fixture(autouse=True)
def outlines_of_small_arrays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let every array have an outline: whoever reads its elements ends the process."""
    with pytest.MonkeyPatch.context() as patch:
        if crc32(request.node.nodeid.encode()) % 2:
            for module in (outlines, recording):
                patch.setattr(module, "LARGE", 1)
        yield
