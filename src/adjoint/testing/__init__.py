"""Functions for tests: comparison of results, checks of derivatives, random data.

`adjoint.testing.pytest_plugin` has a fixture for pytest.
"""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tools.gradcheck import check_derivatives

from .comparison import assert_close
from .making import make_tensor

__all__ = ["assert_close", "check_derivatives", "make_tensor"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
