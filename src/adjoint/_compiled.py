"""The one list of modules that are compiled: each has an augmenting .pxd of the same name beside it.

setup.py reads this file as text, so it must not import anything.
"""

COMPILED = (
    "adjoint.runtime.crossovers",
    "adjoint.arrays.kernels.batched_lapack",
    "adjoint.arrays.kernels.colouring",
    "adjoint.arrays.kernels.comparisons",
    "adjoint.arrays.kernels.cumulative",
    "adjoint.arrays.kernels.max_pooling",
    "adjoint.runtime.memory",
    "adjoint.arrays.kernels.products_and_sums",
    "adjoint.arrays.kernels.scatter",
    "adjoint.arrays.kernels.series.loops",
    "adjoint.runtime.threads",
    "adjoint.arrays.kernels.vector_ufuncs",
    "adjoint.arrays.kernels.vectors",
    "adjoint.program.machine",
    "adjoint.program.region",
    "adjoint.program.fused",
    "adjoint.core.modes.interceptors",
    "adjoint.core.modes.state",
    "adjoint.core.graph",
    "adjoint.core.engine",
    "adjoint.core.modes.profiling",
    "adjoint.core.recorded",
    "adjoint.core.in_place",
    "adjoint.core.operations.binding",
    "adjoint.core.operations.kernel",
    "adjoint.core.operations.recorder",
    "adjoint.core.view_steps",
    "adjoint.core.operations.operation",
    "adjoint.tensor.arithmetic",
    "adjoint.transforms.tangents",
    "adjoint.transforms.batching.levels",
    "adjoint.compilation.matching",
)
