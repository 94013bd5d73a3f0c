"""The array API standard, version 2024.12, over Tensors: the namespace of `Tensor.__array_namespace__()`.

Functions keep history and promote as the standard says, a zero-dimensional Tensor like any other. The default dtypes
are float64, complex128 and int64. Differences to the standard: Tensors have torch's `size()`, and their operators
promote as torch's do; `array_api_compat` and `array_api_extra` know how to deal with the former.

https://data-apis.org/array-api/2024.12/
"""

from math import e, inf, nan, pi

from adjoint.arrays.dtypes import (
    bool_ as bool,
)
from adjoint.arrays.dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from adjoint.core.operations.arguments import check_functions as _check_functions
from adjoint.interop.array_api import fft, linalg, special
from adjoint.interop.array_api._references import add_references as _add_references
from adjoint.interop.array_api.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from adjoint.interop.array_api.dtypes import (
    __array_namespace_info__,
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from adjoint.interop.array_api.elementwise import *  # noqa: F403
from adjoint.interop.array_api.elementwise import ELEMENTWISE as _ELEMENTWISE
from adjoint.interop.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from adjoint.interop.array_api.manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from adjoint.interop.array_api.reductions import (
    all,
    any,
    argmax,
    argmin,
    argsort,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    nonzero,
    prod,
    searchsorted,
    sort,
    std,
    sum,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    var,
    where,
)

newaxis = None

__array_api_version__ = "2024.12"

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "all", "any", "arange", "argmax", "argmin", "argsort",
    "asarray", "astype", "bool", "broadcast_arrays", "broadcast_to", "can_cast", "complex128", "complex64", "concat",
    "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "e", "empty", "empty_like", "expand_dims", "eye",
    "fft", "finfo", "flip", "float32", "float64", "from_dlpack", "full", "full_like", "iinfo", "inf", "int16", "int32",
    "int64", "int8", "isdtype", "linalg", "linspace", "matmul", "matrix_transpose", "max", "mean", "meshgrid", "min",
    "moveaxis", "nan", "newaxis", "nonzero", "ones", "ones_like", "permute_dims", "pi", "prod", "repeat", "reshape",
    "result_type", "roll", "searchsorted", "sort", "special", "squeeze", "stack", "std", "sum", "take",
    "take_along_axis",
    "tensordot", "tile", "tril", "triu", "uint16", "uint32", "uint64", "uint8", "unique_all", "unique_counts",
    "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros", "zeros_like",
    *_ELEMENTWISE,
]  # fmt: skip

_check_functions(globals(), __all__)
_add_references(globals(), "", __all__)
_add_references(vars(fft), "fft.")
_add_references(vars(linalg), "linalg.")
