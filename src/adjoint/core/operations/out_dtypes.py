"""Results in out=: tensors of any dtype that the result can be cast to, and for some functions of the result's own.

Torch decides which. It casts results that it computes element by element, and does not cast results of libraries of
linear algebra or results that it places by an index.
"""

from __future__ import annotations

from typing import Any

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.namespace import astype
from adjoint.core import errors
from adjoint.core.errors import check_cast
from adjoint.core.graph import TensorBase, bump_version, needs_grad, registry
from adjoint.core.in_place import check_writable
from adjoint.core.modes.state import current
from adjoint.core.operations.operation import check_memory
from adjoint.runtime.once import warn_once

#: Messages for a wrong dtype, each with its functions (linalg.inv is written linalg_inv). In braces are the dtypes of
#: the result and of the tensor, named as in C++ (want, have) or in torch's enumeration (Want, Have).
_ONE_DTYPE = {
    "Expected out tensor to have dtype {want}, but got {have} instead": (
        "linalg_det linalg_slogdet linalg_inv linalg_inv_ex linalg_solve linalg_solve_ex triangular_solve "
        "linalg_cholesky linalg_cholesky_ex linalg_qr qr linalg_lu linalg_lu_factor linalg_lu_factor_ex "
        "linalg_lu_solve lu_solve lu_unpack linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_eigh "
        "linalg_eigvalsh linalg_svd svd linalg_svdvals linalg_vector_norm vector_norm norm renorm "
        "linalg_cross cross matmul linalg_matmul mm bmm addmm baddbmm addmv "
        "gather take_along_dim index_add index_copy index_reduce scatter scatter_add scatter_reduce slice_scatter "
        "aminmax argmax argmin softmax log_softmax diag tril triu sort msort topk"
    ),
    "Found dtype {Have} but expected {Want}": (
        "abs ceil clamp clamp_max clamp_min floor frac hardshrink neg round sgn sign softplus softshrink trunc"
    ),
    "addmv input tensors must have the same dtype, but got {Have}, {Want}, and {Want}": "mv",
    "self and mat2 must have the same dtype, but got {Have} and {Want}": "addbmm",
    "result dtype {Have} does not match input dtype {Want}": "dot vdot",
    "tensordot: Expected the output tensor to have dtype {Want}, but got an output tensor with dtype {Have}": (
        "inner tensordot"
    ),
    "multi_dot(): expected out tensor to have dtype {want} but got {have}": "multi_dot",
    "linalg.vecdot: Expected out of dtype{Want} but found {Have}": "vecdot",
    "linalg.norm expected out tensor dtype {Want} but got: {Have}": "linalg_norm",
    "linalg.matrix_norm expected out tensor dtype {Want} but got: {Have}": "linalg_matrix_norm",
    "expected scalar type {Want} but found {Have}": "linalg_solve_triangular",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{Want} and result has dtype "
    "{Have}": "ormqr",
    "Expected the dtype for input and out to match, but got {Want} for input's dtype and {Have} for out's dtype.": (
        "amax amin"
    ),
    "expected scalar_type {Want} but found {Have}": "cummax cummin logcumsumexp",
    "expected scalar type '{Want}' but got '{Have}' for values output": "mode",
    "output values must be of same type as input": "kthvalue",
    "quantile() out tensor must be same dtype as the input tensor": "nanquantile quantile",
    "nan_to_num: dtype of out: {Have} should be same as input: {Want}": "nan_to_num",
    "the output given to float_power has dtype {Have} but the operation's result requires dtype {Want}": "float_power",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "Expected out type to be {Want} but got {Have}": "where",
    "Expected object of scalar type {Want} but got scalar type {Have} for argument 'out'": "complex polar",
    "torch.frexp() expects mantissa to have dtype {want} but got {have}": "frexp",
    "index_select(): self and result must have the same scalar type": "index_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {Want} and out.dtype = {Have}": "take",
    "masked_select(): self and result must have the same scalar type": "masked_select",
    "{function} does not support non-boolean outputs.": "isneginf isposinf signbit",
    "{function}: Expected out tensor to have scalar type {Want} but got scalar type{Have}": "nonzero nonzero_static",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {want} and hist {have}": (
        "histogram"
    ),
}
_MESSAGES = {name: text for text, names in _ONE_DTYPE.items() for name in names.split()}


def check_out_dtype(function: str, source: Any, target: Any) -> None:
    """Raise RuntimeError if a function's result of one (array) dtype may not be written into a tensor of another."""
    if source == target:
        return
    message = _MESSAGES.get(function)
    if message is not None:
        source_dtype, target_dtype = from_numpy_dtype(source), from_numpy_dtype(target)
        names = {
            "want": source_dtype.c_name,
            "have": target_dtype.c_name,
            "Want": source_dtype.long_name,
            "Have": target_dtype.long_name,
        }
        raise RuntimeError(message.format(function=function, **names))
    check_cast(source, target)


def into(operation: Any, out: Any, values: list[Any]) -> Any:
    """An operation with `out=`: its result is written into a given Tensor."""
    if out is None:
        return operation.apply(values)
    targets = out if isinstance(out, (tuple, list)) and operation.rule.outputs is not None else (out,)
    for target in targets:
        if not isinstance(target, TensorBase):
            raise TypeError(f"{operation.name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    members = values[operation.arguments.sequence] if operation.arguments.sequence >= 0 else ()
    involved = [v for v in (*values, *members) if isinstance(v, TensorBase)]
    state = current()
    checked = [*targets, *involved] if operation.differentiable else targets
    if state.grad_enabled and any([needs_grad(t) for t in checked]):
        raise RuntimeError(errors.out_requires_grad(operation.name))
    if state.dual_stack and any([registry.has_tangent(t) for t in [*targets, *involved]]):
        name = f"{operation.name}_out"
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it is an out= function"
        )
    results = operation.apply(values)
    if operation.rule.outputs is None:
        results = (results,)
    for target, result in zip(targets, results, strict=False):
        check_out_dtype(operation.name, result._array.dtype, target._array.dtype)
        errors.check_batch(operation.name, target._array, result._array)
        check_writable(target)
        check_memory(target._array, [t._array for t in involved] if operation.is_elementwise else (), False)
    for target, result in zip(targets, results, strict=False):
        if target._array.shape != result._array.shape:
            if target._array.size:
                shapes = {"given": list(target._array.shape), "wanted": list(result._array.shape)}
                warn_once(errors.RESIZED_OUTPUT.format(**shapes), key="resized output")
            target._array = astype(result._array, target._array.dtype)
        else:
            target._array[...] = result._array
        bump_version(target)
    return type(results)(*targets) if targets is out and hasattr(results, "_fields") else out
