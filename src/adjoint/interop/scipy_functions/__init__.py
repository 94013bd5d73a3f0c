"""SciPy's functions over Tensors, with SciPy's signatures, one file per package: "scipy.linalg.expm" in the table.

    distributions/             scipy.stats' distributions of numbers and of vectors
    interpolation/             scipy.interpolate's classes
    functions_of_functions     solvers and integrals, differentiated by parameters
    axes, pieces               what several need: windows and matrices along an axis; functions by pieces

They are loaded when SciPy's ufuncs first receive a Tensor or `adjoint.scipy` is imported, so that NumPy's alone do not
import SciPy.
"""

from importlib import import_module

from adjoint.interop.functions import load as load_functions_of_numpy

_PACKAGES = (
    "special",
    "special_orders",
    "linalg",
    "stats",
    "distributions.vectors",
    "distributions.normal_orthants",
    "ndimage",
    "signal",
    "filters",
    "fft",
    "integrate",
    "distances",
)


def load() -> None:
    """Fill the table of functions, and the table of ufuncs with scipy.special's."""
    load_functions_of_numpy()
    for package in _PACKAGES:
        import_module(f"adjoint.interop.scipy_functions.{package}")
