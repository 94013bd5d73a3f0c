"""The one list of modules that are compiled: each has an augmenting .pxd of the same name beside it.

setup.py reads this file as text, so it must not import anything.
"""

COMPILED = (
    "adjoint.arrays.crossovers",
    "adjoint.arrays.batched_lapack",
    "adjoint.arrays.cumulative",
    "adjoint.arrays.max_pooling",
    "adjoint.arrays.memory",
    "adjoint.arrays.products_and_sums",
    "adjoint.arrays.scatter",
    "adjoint.arrays.threads",
    "adjoint.arrays.vector_ufuncs",
    "adjoint.arrays.vectors",
    "adjoint.program.machine",
    "adjoint.program.fused",
    "adjoint.core.interceptors",
    "adjoint.core.modes",
    "adjoint.core.graph",
    "adjoint.core.engine",
    "adjoint.core.noting",
    "adjoint.core.recorded",
    "adjoint.core.in_place",
    "adjoint.core.binding",
    "adjoint.core.kernel",
    "adjoint.core.recorder",
    "adjoint.core.view_steps",
    "adjoint.core.operation",
    "adjoint.tensor.arithmetic",
)
