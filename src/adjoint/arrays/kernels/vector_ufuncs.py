"""Ufuncs with loops over vectors of the processor; they replace NumPy's and SciPy's ufuncs of the same names.

`of("sin")` is a copy of numpy.sin with other loops for double and single precision, and so is `of("i0")` of
scipy.special.i0. The result for an element depends on the element alone, not on the number, layout or values of other
elements. Some ufuncs have their own formulas (see `vector_ufuncs_loops.h`) that hold within a domain, up to a few units
in the last place. The original loop computes elements outside of it, such as infinity and NaN. NumPy's loops may give
other values for other strides, so they get elements without gaps. Special values, warnings and all other dtypes are as
in the original, and these ufuncs work wherever ufuncs do.

Without a compiled form, or without vectors, `of` returns the original, whose values may depend on strides. It also does
so if the original is no ufunc, as in scipy.special with SCIPY_ARRAY_API=1 in the environment.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

from importlib import import_module

from numpy import ufunc

from .processor import kind_in_use

#: By name: the original and its module; the numbers of the formulas in vector_ufuncs.h for double and single precision,
#: -1 for the original's loop; whether single precision is computed in double precision.
_TABLE = {
    "sin": ("numpy", "sin", 0, -1, False),
    "cos": ("numpy", "cos", 1, -1, False),
    "hypot": ("numpy", "hypot", 2, 2, True),
    "nextafter": ("numpy", "nextafter", 3, 29, False),
    "fmod": ("numpy", "fmod", 4, 4, True),
    "remainder": ("numpy", "remainder", 5, 5, True),
    "floor_divide": ("numpy", "floor_divide", 6, 6, True),
    "ndtr": ("scipy.special", "ndtr", 7, 7, True),
    "i0": ("scipy.special", "i0", 8, 8, True),
    "i0e": ("scipy.special", "i0e", 9, 9, True),
    "i1": ("scipy.special", "i1", 10, 10, True),
    "i1e": ("scipy.special", "i1e", 11, 11, True),
    "erfinv": ("scipy.special", "erfinv", 12, 12, True),
    "expit": ("scipy.special", "expit", 13, 14, False),
    # equal to ndtr in double precision, and up to some units in the last place in single precision
    "normal_cdf": ("scipy.special", "ndtr", 7, 15, False),
    "log1p": ("numpy", "log1p", 16, 17, False),
    "expm1": ("numpy", "expm1", 18, 19, False),
    "erf": ("scipy.special", "erf", 20, 21, False),
    "erfc": ("scipy.special", "erfc", 22, 22, True),
    "erfcx": ("scipy.special", "erfcx", 28, 28, True),
    "gammaln": ("scipy.special", "gammaln", 23, 24, True),
    "psi": ("scipy.special", "psi", -1, 25, True),
    "logaddexp": ("numpy", "logaddexp", 26, 27, False),
}
#: NumPy's own loops for these, given elements without gaps.
_DENSE = (
    ("exp", "exp2", "log", "log2", "log10", "logaddexp2", "power", "float_power", "cbrt")
    + ("tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh")
)  # fmt: skip
#: Like the above, since they are slow if one operand is a number; they cost one step of arithmetic.
ARITHMETIC = ("maximum", "minimum")
_TABLE |= {name: ("numpy", name, -1, -1, False) for name in (*_DENSE, *ARITHMETIC)}
#: The names that the array API standard has for some.
_OTHER_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "pow": "power",
}  # fmt: skip
NUMPY_NAMES = frozenset([name for name, row in _TABLE.items() if row[0] == "numpy"]) | frozenset(_OTHER_NAMES)
SPECIAL_NAMES = frozenset(_TABLE) - NUMPY_NAMES

#: Ufuncs called on bfloat16 itself, not on float32: their loops come with ml_dtypes.
_IN_BFLOAT16 = frozenset(("nextafter",))

_ufuncs = {}


def original(name):
    """The original ufunc that `of` replaces."""
    module, own_name = _TABLE[_OTHER_NAMES.get(name, name)][:2]
    return getattr(import_module(module), own_name)


def of(name):
    """The ufunc of this name."""
    name = _OTHER_NAMES.get(name, name)
    result = _ufuncs.get(name)
    if result is None:
        result = original(name)
        if compiled and adj_processor_kind() >= 0 and isinstance(result, ufunc):
            result = _replace(name)
        result = _ufuncs.setdefault(name, result)
    return result


def is_dense(function):
    """True for a ufunc of this module with its own loops; its values do not depend on strides."""
    name = getattr(function, "__name__", None)
    return name in _ufuncs and _ufuncs[name] is function and function is not original(name)


def __getattr__(name):
    # ufuncs are pickled by module and name
    if name in _TABLE:
        globals()[name] = of(name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def kinds():
    """The numbers of the kinds of processor whose formulas this one can run, the best one last."""
    return range(adj_processor_kind() + 1 if compiled else 0)


if compiled:

    def _replace(name):
        if name in _IN_BFLOAT16:
            import_module("ml_dtypes")
        _, _, number, single, widened = _TABLE[name]
        ufunc = adj_with_formula(original(name), name, number, single, widened)
        ufunc.__module__ = __name__  # pickle looks through all modules for what names none
        return ufunc

    def use_kind(number):
        """Use the formulas for another kind of processor, for comparisons; returns which were used."""
        global adj_function_kind
        if number not in kinds():
            raise ValueError(f"use_kind(): this processor has the kinds {list(kinds())}, got {number}")
        before = adj_function_kind
        adj_function_kind = number
        return before

    adj_import_ufuncs()
    if kinds():
        use_kind(kind_in_use(kinds()))
