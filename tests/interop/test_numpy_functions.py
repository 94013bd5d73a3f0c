"""Every function of NumPy in the table: values and dtypes are NumPy's, gradients agree with central differences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.protocols import numpy_name
from support.numpy_checks import NOT_OVERRIDABLE, check_gradients, check_values, function_of
from support.numpy_samples import IN_PLACE, SAMPLES

ALL = {name: samples for name, samples in (SAMPLES | IN_PLACE).items() if name not in NOT_OVERRIDABLE}
#: Functions whose floating point results do not depend on the values of the arguments.
CONSTANT = {"zeros_like", "ones_like", "empty_like", "zeros", "ones", "empty", "eye", "identity", "tri", "frombuffer",
            "fromiter", "fromstring", "fromfunction", "array", "asarray", "asanyarray", "ascontiguousarray",
            "asfortranarray", "require", "arange"}  # fmt: skip
#: Results, by number, that do not depend on the values, while other results of the function do.
CONSTANT_RESULTS = {
    ("full_like", 0), ("full", 0), ("histogram_bin_edges", 1), ("histogram", 2), ("histogram", 3), ("imag", 0),
    ("linalg.matrix_power", 0),
    ("ix_", 0), ("histogramdd", 0), ("histogramdd", 3),
    ("histogram2d", 0), ("histogram2d", 1), ("histogram2d", 3),
}  # fmt: skip
#: Functions whose results have no gradient.
FLAT = {"all", "any", "linalg.matrix_rank"}
#: Differences from NumPy, with the reasons.
GAPS = {
    **{("unique_values", kind): "NumPy does not define the order" for kind in ("complex128", "int64")},
    **{
        (name, "complex128"): "bins of complex numbers"
        for name in ("histogram", "histogram_bin_edges", "histogram2d", "histogramdd")
    },
}  # fmt: skip
if np.lib.NumpyVersion(np.__version__) < "2.3.0":
    GAPS["linalg.cond", "complex128"] = "a complex number, of imaginary part 0, in NumPy before 2.3"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.filterwarnings("ignore:string or file could not be read:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
def test_values_and_dtypes_are_numpys(name: str) -> None:
    checked = 0
    for i, kind in product(range(len(ALL[name])), ("float64", "float32", "complex128", "int64")):
        if (name, kind) not in GAPS:
            checked += check_values(ALL[name][i], function_of(name), kind)
    assert checked


@pytest.mark.parametrize("name", [name for name in ALL if name not in CONSTANT])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
def test_gradients_are_right(name: str) -> None:
    checked = 0
    for i, kind in product(range(len(ALL[name])), ("float64", "complex128")):
        if (name, kind) not in GAPS:
            options = {"hermitian": name in HERMITIAN, "constant": (name, i) in CONSTANT_RESULTS}
            checked += check_gradients(ALL[name][i], function_of(name), kind, **options)
    assert checked or name in FLAT


#: Functions that read only one triangle of a Hermitian argument.
HERMITIAN = {"linalg.eigh", "linalg.eigvalsh", "linalg.cholesky"}


def test_every_function_has_a_sample() -> None:
    """Functions of files have separate tests."""
    names = {name for name in FUNCTIONS if not name.startswith("scipy.")}
    assert names - ALL.keys() == {"fromfile", "loadtxt", "genfromtxt"} | NOT_OVERRIDABLE
    assert [name for name in ALL if name not in FUNCTIONS] == []
    assert all(numpy_name(function_of(name)).split(".")[-1] for name in ALL)


@pytest.mark.parametrize("options", [{}, {"where": np.array([True, True, False])}, {"mean": np.ones(())}], ids=repr)
def test_the_deviation_of_equal_numbers_has_gradient_zero(options: dict[str, Any]) -> None:
    of = [1.0, 1.0, 3.0] if "where" in options else [1.0] * 3
    for values in (of, 1.0) if not options else (of,):
        t = adjoint.tensor(values, dtype=adjoint.float64, requires_grad=True)
        np.std(t, **options).backward()  # type: ignore[attr-defined]
        assert t.grad is not None and not t.grad.any()


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors are deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((2,), (2,)), {}),
        (((4, 2), (2,)), {}),
        (((2, 4), (2, 4)), {"axis": 0}),
        (((3,), (2,)), {}),
        (((2,), (4, 3)), {}),
        (((5, 2), (5, 3)), {"axisc": 0}),
    ],
)
def test_vector_products_of_vectors_in_the_plane(shapes, options):
    a, b = [np.linspace(-1, 2, np.prod(shape)).reshape(shape) for shape in shapes]
    try:
        expected = np.cross(a, b, **options)
    except ValueError:
        pytest.skip("this version of NumPy accepts only vectors of three elements")
    x, y = adjoint.tensor(a, requires_grad=True), adjoint.tensor(b, requires_grad=True)
    result = np.cross(x, y, **options)
    np.testing.assert_allclose(result.detach().numpy(), expected)
    assert result.shape == expected.shape
    assert adjoint.autograd.gradcheck(lambda x, y: np.cross(x, y, **options), (x, y))
    with pytest.raises(ValueError, match="3-dimensional vectors"):
        np.linalg.cross(x, y, axis=options.get("axis", -1))
