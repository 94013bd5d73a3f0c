"""Ufuncs with loops by vectors of the processor, in place of NumPy's and SciPy's of the same names.

`of("sin")` is a copy of numpy.sin with another loop for double precision, and so is `of("i0")` of scipy.special.i0, for
single precision too. Each has a formula (see `functions_loops.h`) that holds within a domain, to about one unit in the
last place; elements outside of it, infinite ones and NaN among them, are left to the loop that was there. So special
values, warnings and all other types are those of the original, and whatever works with ufuncs works with these.

Without a compiled form, or vectors, `of` gives the original; and so it does where that is no ufunc, as in scipy.special
if SCIPY_ARRAY_API=1 stands in the environment.
"""

try:
    import cython

    compiled = cython.compiled
except ModuleNotFoundError:
    compiled = False

from importlib import import_module

from numpy import ufunc

#: By name: the original's module, the number of the formula in functions.h, whether single precision is replaced too.
_TABLE = {
    "sin": ("numpy", 0, False),
    "cos": ("numpy", 1, False),
    "hypot": ("numpy", 2, False),
    "nextafter": ("numpy", 3, False),
    "fmod": ("numpy", 4, False),
    "remainder": ("numpy", 5, False),
    "floor_divide": ("numpy", 6, False),
    "ndtr": ("scipy.special", 7, True),
    "i0": ("scipy.special", 8, True),
    "i0e": ("scipy.special", 9, True),
    "i1": ("scipy.special", 10, True),
    "i1e": ("scipy.special", 11, True),
    "erfinv": ("scipy.special", 12, True),
}
NUMPY_NAMES = frozenset([name for name, row in _TABLE.items() if row[0] == "numpy"])
SPECIAL_NAMES = frozenset(_TABLE) - NUMPY_NAMES

#: Those that are called on bfloat16 itself, not on float32 in its place: its loops come with ml_dtypes.
_IN_BFLOAT16 = frozenset(("nextafter",))

_made = {}


def original(name):
    """The ufunc in whose place `of` stands."""
    return getattr(import_module(_TABLE[name][0]), name)


def of(name):
    """The ufunc of this name."""
    found = _made.get(name)
    if found is None:
        found = original(name)
        if compiled and adj_best_function_kind() >= 0 and isinstance(found, ufunc):
            found = _replaced(name)
        _made[name] = found
    return found


def __getattr__(name):
    # ufuncs are pickled by module and name
    if name in _TABLE:
        globals()[name] = of(name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def kinds():
    """The numbers of the kinds of processor whose formulas this one can run, the best one last."""
    return range(adj_best_function_kind() + 1 if compiled else 0)


if compiled:

    def _replaced(name):
        _, number, single = _TABLE[name]
        if name in _IN_BFLOAT16:
            import_module("ml_dtypes")
        return adj_with_formula(original(name), number, single)

    def use_kind(number):
        """Use the formulas for another kind of processor, for comparisons; returns which were used."""
        global adj_function_kind
        if number not in kinds():
            raise ValueError(f"use_kind(): this processor has the kinds {list(kinds())}, got {number}")
        before = adj_function_kind
        adj_function_kind = number
        return before

    adj_import_numpy()
    if kinds():
        use_kind(max(kinds()))
