"""All workloads in the order of the report. A new workload is an entry here, or a file with a tuple of workloads."""

from . import chain, deep_chain, hessian_vector, imports, jacobian, mlp, networks, recurrent

ALL = (
    *chain.WORKLOADS,
    *deep_chain.WORKLOADS,
    *recurrent.WORKLOADS,
    *mlp.WORKLOADS,
    *networks.WORKLOADS,
    *hessian_vector.WORKLOADS,
    *jacobian.WORKLOADS,
    *imports.WORKLOADS,
)
