"""All workloads, in the order of the report. A new one is an entry here, or a file with a tuple of them."""

from . import chain, deep_chain, hessian_vector, imports, mlp

ALL = (*chain.WORKLOADS, *deep_chain.WORKLOADS, *mlp.WORKLOADS, *hessian_vector.WORKLOADS, *imports.WORKLOADS)
