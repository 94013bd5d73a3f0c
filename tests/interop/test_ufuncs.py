"""NumPy's ufuncs on Tensors: each ufunc and each of its methods has NumPy's results and the right gradients."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import overrides

import adjoint
from adjoint.interop.ufuncs import UFUNCS
from support.numpy_checks import check_gradients, check_values
from support.numpy_samples import Sample

NAMES = sorted(ufunc.__name__ for ufunc in UFUNCS if getattr(np, ufunc.__name__, None) is ufunc)
MASK = np.array([[True, False, True], [True, True, False]])
#: Domains of arguments, if they are not between -1 and 1.
DOMAINS = {"arccosh": (1.2, 3.0), "logaddexp2": (-1.0, 1.0)}
POSITIVE = {"log", "log2", "log10", "sqrt", "cbrt", "reciprocal", "divide", "power", "float_power", "fmod", "remainder",
            "floor_divide", "divmod", "hypot", "arctan2"}  # fmt: skip
SMALL = {"arcsin", "arccos", "arctanh", "log1p"}
#: Generalized ufuncs, and the shapes of their arguments.
CORES = {"matmul": ((2, 3), (3, 2)), "vecdot": ((2, 3), (2, 3)), "matvec": ((2, 3), (3,)), "vecmat": ((3,), (3, 2))}
#: Functions whose gradient is 0 or does not exist.
FLAT = {"ceil", "floor", "trunc", "rint", "sign", "floor_divide", "nextafter", "heaviside", "gcd", "lcm", "invert",
        "left_shift", "right_shift"}  # fmt: skip
WHOLE = {"gcd", "lcm", "invert", "left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor",
         "bitwise_count"}  # fmt: skip
BINARY = [name for name in NAMES if (u := getattr(np, name)).nin == 2 and u.nout == 1 and u.signature is None]
BINARY.remove("ldexp")  # its arguments have different kinds
for name in ("arctan2", "power"):  # on some processors NumPy 2.4 reduces wrongly along a contiguous axis
    BINARY.remove(name)


def random_array(name: str, r: Any, shape: tuple[int, ...]) -> Any:
    if name in POSITIVE:
        return r(*shape, low=0.5, high=2.0)
    if name in SMALL:
        return r(*shape, low=-0.9, high=0.9)
    return r(*shape, low=DOMAINS[name][0], high=DOMAINS[name][1]) if name in DOMAINS else r(*shape)


def samples_of(name: str) -> list[Sample]:
    ufunc = getattr(np, name)
    if name in CORES:
        return [
            lambda f, r: f(*[random_array(name, r, shape) for shape in CORES[name]]),
            lambda f, r: f(*[random_array(name, r, (4, *shape)) for shape in CORES[name]]),
        ]
    shapes = [(2, 3), (3,)][: ufunc.nin]
    if name == "ldexp":
        return [lambda f, r: f(r(2, 3), np.array([1, -2, 3]))]
    with_numbers: list[Sample] = [
        lambda f, r: f(random_array(name, r, (3,)), 2),
        lambda f, r: f(2, random_array(name, r, (3,))),
    ]
    return [
        *with_numbers[: 2 * (ufunc.nin == 2)],
        lambda f, r: f(*[random_array(name, r, shape) for shape in shapes]),
        lambda f, r: f(*[random_array(name, r, ()) for _ in shapes]),
        lambda f, r: f(*[random_array(name, r, shape) for shape in shapes], where=MASK, out=outputs(f, r)),
    ]


def outputs(ufunc: Any, r: Any) -> Any:
    """The arrays for masked results: constants of the ufunc's result dtypes."""
    with np.errstate(all="ignore"):
        result = ufunc(*[np.ones((2, 3), r.kind)] * ufunc.nin)
    arrays = [np.full((2, 3), 2, each.dtype) for each in (result if isinstance(result, tuple) else (result,))]
    if r.instead is not None and any(isinstance(each, adjoint.Tensor) for each in r.instead):
        arrays = [adjoint.from_numpy(each) for each in arrays]
    return tuple(arrays)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ufunc(name: str) -> None:
    """Calls on arrays, on single numbers, with where= and with out=."""
    compared = differentiated = 0
    for sample in samples_of(name):
        for kind in ("float64", "float32", "complex128", "int64", "bool"):
            compared += check_values(sample, getattr(np, name), kind)
        for kind in ("float64", "complex128"):
            differentiated += check_gradients(sample, getattr(np, name), kind, constant=name in {*FLAT, "divmod"})
    assert compared
    gives_floats = np.float64 in {np.dtype(kind).type for kind in "".join(getattr(np, name).types).replace("->", "")}
    assert differentiated or name in FLAT | WHOLE or not gives_floats or is_logical(name)


def is_logical(name: str) -> bool:
    return all(loop.endswith("?") for loop in getattr(np, name).types if "O" not in loop)


def reduce(f: Any, r: Any) -> Any:
    return f.reduce(random_array(f.__name__, r, (3, 4)))


METHODS: dict[str, list[Sample]] = {
    "reduce": [
        reduce,
        lambda f, r: f.reduce(random_array(f.__name__, r, (3, 4)), axis=1, keepdims=True),
        lambda f, r: f.reduce(random_array(f.__name__, r, (2, 3, 2)), axis=None),
        lambda f, r: f.reduce(random_array(f.__name__, r, (2, 3, 2)), axis=(0, 2), initial=r()),
        lambda f, r: f.reduce(random_array(f.__name__, r, (2, 3)), axis=1, where=MASK),
        lambda f, r: f.reduce(random_array(f.__name__, r, (2, 3)), axis=0, where=MASK, initial=1.5),
        lambda f, r: f.reduce(random_array(f.__name__, r, (3,)), dtype="complex128"),
        lambda f, r: f.reduce(random_array(f.__name__, r, (2, 0)), axis=1),
    ],
    "accumulate": [
        lambda f, r: f.accumulate(random_array(f.__name__, r, (3, 2))),
        lambda f, r: f.accumulate(random_array(f.__name__, r, (2, 3)), axis=-1),
    ],
    "reduceat": [
        lambda f, r: f.reduceat(random_array(f.__name__, r, (5,)), [0, 3, 1]),
        lambda f, r: f.reduceat(random_array(f.__name__, r, (2, 4)), np.array([1, 2]), axis=1),
    ],
    "outer": [lambda f, r: f.outer(random_array(f.__name__, r, (2, 2)), random_array(f.__name__, r, (3,)))],
    "at": [
        lambda f, r: at(f, random_array(f.__name__, r, (5,)), [0, 3, 0], random_array(f.__name__, r, (3,))),
        lambda f, r: at(f, random_array(f.__name__, r, (3, 2)), ([0, 1, 0], 1), random_array(f.__name__, r, ())),
        lambda f, r: at(f, random_array(f.__name__, r, (3, 2)), np.array([True, False, True]), 1),
    ],
}


def at(ufunc: Any, target: Any, *args: Any) -> Any:
    copy = np.copy(target)
    ufunc.at(copy, *args)
    return copy


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_method(name: str, method: str) -> None:
    ufunc = getattr(np, name)
    compared = 0
    for sample in METHODS[method]:
        for kind in ("float64", "float32", "int64", "bool"):
            compared += check_values(sample, ufunc, kind)
        if name not in FLAT:
            check_gradients(sample, ufunc, "float64", constant=sample is METHODS["reduce"][-1])
    assert compared


# promotion and dtypes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda t: np.add(t, np.ones(3)), "float64"),
        (lambda t: np.ones(3) * t, "float64"),
        (lambda t: np.multiply(t, 2.5), "float32"),
        (lambda t: np.maximum(t, 0.5), "float32"),
        (lambda t: np.arctan2(0.5, t), "float32"),
        (lambda t: 2.5 * t, "float32"),
        (lambda t: np.float64(2.5) * t, "float32"),
        (lambda t: np.multiply(t, np.array(2.5)), "float64"),
        (lambda t: np.add(t, 1j), "complex64"),
        (lambda t: np.sin(t, dtype="float64"), "float64"),
        (lambda t: np.sqrt(adjoint.arange(3)), "float64"),
        (lambda t: np.add(adjoint.arange(3), True), "int64"),
        (lambda t: np.add(adjoint.tensor([1], dtype=adjoint.int8), 1), "int8"),
        (lambda t: np.equal(np.ones(3), t), "bool"),
        (lambda t: np.sum(adjoint.tensor([1], dtype=adjoint.int32)), "int64"),
        (lambda t: np.mean(adjoint.arange(3)), "float64"),
    ],
)
def test_promotion_is_numpys(call: Any, dtype: str) -> None:
    """Arrays count by their dtypes, for any number of axes. Numbers of Python and NumPy are weak."""
    assert call(adjoint.ones(3)).numpy().dtype == dtype


def test_half_precision_goes_through_numpys_loops() -> None:
    t = adjoint.ones(3, dtype=adjoint.float16, requires_grad=True)
    assert np.exp(t).dtype is adjoint.float16 and np.add(t, np.ones(3, "float32")).dtype is adjoint.float32
    b = adjoint.ones(3, dtype=adjoint.bfloat16)
    assert np.add(b, b).dtype is adjoint.bfloat16


# out=, in place -------------------------------------------------------------------------------------------------------


def test_out_is_modified_in_place_with_its_history() -> None:
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    t = x * 1
    version = t._version
    assert np.multiply(x, x, out=t) is t
    assert t._version == version + 1 and t.grad_fn is not None
    (t * adjoint.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [2.0, 40.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        np.add(x, 1, out=x)
    y = x * 1
    z = y * y
    np.add(y, 1, out=y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_an_array_as_out() -> None:
    t, array = adjoint.ones(2, dtype=adjoint.float64), np.zeros(2)
    assert np.add(t, 1, out=array) is array and array.tolist() == [2.0, 2.0]
    array += t
    assert array.tolist() == [3.0, 3.0]
    t.requires_grad_()
    for call in (lambda: np.add(t, 1, out=array), lambda: np.sum(t, out=np.array(0.0)), lambda: array.__iadd__(t)):
        with pytest.raises(TypeError, match="out= is an array, which cannot hold the history"):
            call()
    with adjoint.no_grad():
        assert np.add(t, 1, out=array).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="Cannot cast add output"):
        np.add(t, 1.5, out=adjoint.zeros(2, dtype=adjoint.int64))
    with pytest.raises(ValueError, match="output operand has shape"):
        np.add(t, 1, out=adjoint.zeros(3))


def test_at_names_places_again_and_again() -> None:
    x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    t = adjoint.zeros(2)
    np.add.at(t, [0, 0, 1], x)
    assert t.tolist() == [3.0, 3.0] and t.grad_fn is not None
    t.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(TypeError, match="the first operand is an array"):
        np.add.at(np.zeros(2), [0, 1], x[:2])
    with pytest.raises(TypeError, match="a result that requires grad would be rounded to int64"):
        np.add.at(adjoint.zeros(2, dtype=adjoint.int64), [0, 1], x[:2])
    array = np.zeros(2)
    np.add.at(array, adjoint.tensor([0, 1, 1]), adjoint.ones(3))
    assert array.tolist() == [1.0, 2.0]


def test_assignment_and_masks_take_arrays() -> None:
    x = adjoint.ones(4, dtype=adjoint.float64, requires_grad=True)
    t = x * 2
    t[1] = np.float64(5)
    t[np.array([True, False, False, False])] = np.array([7.0])
    t[np.array([2])] = 3 * x[:1]
    assert t.tolist() == [7.0, 5.0, 3.0, 2.0]
    t.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 0.0, 2.0]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        np.zeros(2)[...] = x[:2]


# errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: np.add.reduce(t, axis=2), np.exceptions.AxisError, "out of bounds"),
        (lambda t: np.maximum.reduce(t[:0]), ValueError, "zero-size array to reduction operation maximum"),
        (lambda t: np.maximum.reduce(t, where=[True, False]), ValueError, "does not have an identity"),
        (lambda t: np.subtract.reduce(t[None], axis=(0, 1)), ValueError, "not reorderable"),
        (lambda t: np.add.accumulate(t.sum()), TypeError, "cannot accumulate on a scalar"),
        (lambda t: np.add.reduceat(t, [5]), IndexError, "index 5 out-of-bounds"),
        (lambda t: np.add(t, t, axis=0), TypeError, "unexpected keyword argument 'axis'"),
        (lambda t: np.bitwise_and(t, t), TypeError, "not supported for the input types"),
        (lambda t: np.spacing(t), TypeError, "spacing.*requires grad.*no derivative of it"),
        (lambda t: np.strings.str_len(t), TypeError, "str_len.*requires grad"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(adjoint.tensor([1.0, 2.0], requires_grad=True))


def test_all_ufuncs_are_known_or_have_a_reason() -> None:
    """Ufuncs of strings and dates, and the spacing of floating point numbers, have no derivative."""
    ours = {ufunc.__name__ for ufunc in UFUNCS}
    others = {u for u in overrides.get_overridable_numpy_ufuncs() if isinstance(u, np.ufunc)}
    numeric = {u.__name__ for u in others if getattr(np, u.__name__, None) is u and "d" in "".join(u.types)} - ours
    assert numeric == {"spacing"}


def test_foreign_types_are_left_to_themselves() -> None:
    class Foreign:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
            return "foreign"

        def __array_function__(self, *args: Any, **kwargs: Any) -> str:
            return "foreign"

    t = adjoint.ones(2)
    assert np.add(t, Foreign()) == "foreign" and np.concatenate([t, Foreign()]) == "foreign"


@pytest.mark.parametrize("call", [np.sign, lambda x: np.heaviside(x, 0.5)])
def test_steps_are_nan_where_the_argument_is(call: Any) -> None:
    t = adjoint.tensor([np.nan, -2.0, 0.0, 3.0], dtype=adjoint.float64, requires_grad=True)
    result = call(t)
    np.testing.assert_array_equal(result.detach().numpy(), call(t.detach().numpy()))
    assert not result.requires_grad or not (result.nansum().backward() or t.grad).any()


def test_norms_over_no_axes() -> None:
    t = adjoint.tensor([[3.0, -4.0]], dtype=adjoint.float64, requires_grad=True)
    result = np.linalg.vector_norm(t, axis=(), ord=3)  # type: ignore[arg-type]
    np.testing.assert_allclose(result.tolist(), [[3.0, 4.0]])
    result.sum().backward()  # type: ignore[attr-defined]
    assert t.grad is not None
    np.testing.assert_allclose(t.grad.tolist(), [[1.0, -1.0]])


@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), ()), ((3,), (1,)), ((2, 3), (2, 2))])
def test_vecdot_refuses_what_numpys_does(shapes: Any) -> None:
    arrays = [np.ones(shape) for shape in shapes]
    with pytest.raises(ValueError, match=r"^vecdot: ") as theirs:
        np.vecdot(*arrays)
    with pytest.raises(ValueError, match=re.escape(str(theirs.value))):
        np.vecdot(*map(adjoint.from_numpy, arrays))
