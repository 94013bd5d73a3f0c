"""Comparing results and checking derivatives in tests.

`adjoint.testing.pytest_plugin` has a fixture for pytest.
"""

from adjoint.tools.gradcheck import check_derivatives

from .comparison import assert_close

__all__ = ["assert_close", "check_derivatives"]
