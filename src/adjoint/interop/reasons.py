"""NumPy's functions without a derivative, as data: the discrete ones, and the reasons for the others."""

from __future__ import annotations

#: Functions whose results are integers, truth values or descriptions: computed on the arrays, whatever requires grad.
DISCRETE = frozenset((
    "allclose", "argmax", "argmin", "argpartition", "argsort", "argwhere", "array_equal", "array_equiv",
    "can_cast", "common_type", "count_nonzero", "diag_indices_from", "digitize", "einsum_path", "flatnonzero",
    "isclose", "iscomplex", "iscomplexobj", "isin", "isneginf", "isposinf", "isreal", "isrealobj", "lexsort",
    "may_share_memory", "min_scalar_type", "nanargmax", "nanargmin", "ndim", "nonzero", "ravel_multi_index",
    "result_type", "searchsorted", "shape", "shares_memory", "size", "tril_indices_from", "triu_indices_from",
    "unravel_index",
))  # fmt: skip

_FILES = "writes numbers to a file, where they have no history"
_TEXT = "makes text of numbers"
_BITS = "works on bits"
_DATES = "works on dates"

#: Why no function of a module is differentiated.
MODULES: dict[str, str] = {
    "lib.recfunctions": "works on structured dtypes, which Tensors do not have",
    "char": "works on strings",
    "strings": "works on strings",
}

#: Why functions that NumPy lets be overridden are not differentiated.
REASONS: dict[str, str] = {
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed"), _FILES),
    **dict.fromkeys(("array2string", "array_repr", "array_str", "datetime_as_string"), _TEXT),
    **dict.fromkeys(("packbits", "unpackbits"), _BITS),
    **dict.fromkeys(("busday_count", "busday_offset", "is_busday"), _DATES),
}


#: Alternatives that keep derivatives in SciPy's functions.
IN_BLOCK = "SciPy's own code, where it is Python, keeps derivatives of arrays in a block of adjoint.scipy.patched()"


class NoDerivativeError(TypeError):
    """A NumPy function without a derivative got a Tensor that requires grad."""

    def __init__(self, name: str):
        super().__init__(reason_for(name))
        self.name = name


def own_reason(name: str) -> str | None:
    """The reason why a function is not differentiated, or None."""
    return REASONS.get(name) or MODULES.get(name.rpartition(".")[0])


def reason_for(name: str) -> str:
    """The message for a function without a derivative."""
    reason = own_reason(name)
    why = f"it {reason}" if reason else "adjoint has no derivative of it"
    is_of_scipy = name.startswith("scipy.")
    library = "scipy" if is_of_scipy else "numpy"
    block = f" {IN_BLOCK}." if is_of_scipy and reason is None else ""
    return (
        f"{name}() was given a Tensor that requires grad, but {why}: its result would silently be a constant.{block} "
        f"Use tensor.detach() to leave the graph on purpose; docs/{library}-coverage.md lists what is differentiated"
    )


def refuse(name: str, *tensors: object) -> None:
    """Raise TypeError if one of the Tensors requires a derivative: the result would be a constant."""
    from adjoint.interop.operands import is_tensor, is_tracked

    if any(is_tensor(tensor) and is_tracked(tensor) for tensor in tensors):
        raise NoDerivativeError(name)
