"""Functions of packages that were not written for adjoint, and arguments to differentiate them by."""

from tried import engineering, learning, physics, scipy_code, statistics

FAMILIES = (scipy_code, statistics, learning, engineering, physics)
