"""No derivative is lost silently: conversions to plain numbers keep the derivative or raise an error."""

from __future__ import annotations

import cmath
import copy
import decimal
import fractions
import functools
import io
import itertools
import json
import math
import operator
import pickle
import random
import statistics
import struct
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.core.operations.dependence import LostDerivativeError
from adjoint.interop.reasons import REASONS
from support.array_checks import check, weighted_sum
from support.numpy_checks import NOT_OVERRIDABLE

Function = Callable[..., Any]
X = np.array([0.7, 1.2, 2.3])


def fill_array(fill: Function, shape: Any = 3, dtype: Any = float) -> Any:
    """A plain array after a write."""
    plain = np.zeros(shape, dtype)
    fill(plain)
    return plain


#: Programs that raise LostDerivativeError with the line and the remedy.
LOST: dict[str, Function] = {
    # numbers
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]) * x,
    "complex": lambda x: complex(x[0]),
    "math.sin": lambda x: math.sin(x[0]),
    "math.fsum": lambda x: math.fsum(x),
    "math.hypot": lambda x: math.hypot(*x),
    "math.dist": lambda x: math.dist(x, [0, 0, 0]),
    "math.floor": lambda x: math.floor(x[0]) * x,
    "math.ceil": lambda x: math.ceil(x[0]) * x,
    "math.trunc": lambda x: math.trunc(x[0]) * x,
    "math.pow": lambda x: math.pow(x[0], 2),
    "math.isclose": lambda x: x * math.isclose(x[0], 0.7),
    "cmath.exp": lambda x: cmath.exp(x[0]).real,
    "statistics.fmean": lambda x: statistics.fmean(x),
    "np.float64": lambda x: np.float64(x[0]),
    "np.float64 of an array": lambda x: np.float64(x),
    "np.float32": lambda x: np.float32(x[0]),
    "np.complex128": lambda x: np.complex128(x[0]),
    "np.int64": lambda x: np.int64(x[0]) * x,
    "array.array": lambda x: array("d", x)[0],
    # writes to plain arrays
    "plain[0] = x": lambda x: fill_array(lambda a: a.__setitem__(0, x[0])),
    "plain[:] = x": lambda x: fill_array(lambda a: a.__setitem__(slice(None), x)),
    "plain[mask] = x": lambda x: fill_array(lambda a: a.__setitem__(a == 0, x)),
    "plain[list] = x": lambda x: fill_array(lambda a: a.__setitem__([0, 1, 2], x)),
    "plain[:] = list": lambda x: fill_array(lambda a: a.__setitem__(slice(None), list(x))),
    "plain[0] += x": lambda x: fill_array(lambda a: a.__setitem__(0, a[0] + x[0])),
    "plain += x": lambda x: fill_array(lambda a: operator.iadd(a, x)),
    "plain @= x": lambda x: fill_array(lambda a: operator.imatmul(a, np.outer(x, x)), (3, 3)),
    "plain.fill": lambda x: fill_array(lambda a: a.fill(x[0])),
    "plain.put": lambda x: fill_array(lambda a: a.put([0], x[0])),
    "plain.real = x": lambda x: fill_array(lambda a: setattr(a, "real", x), dtype=complex),
    "np.put": lambda x: fill_array(lambda a: np.put(a, [0], x[0])),
    "np.copyto": lambda x: fill_array(lambda a: np.copyto(a, x)),
    "np.place": lambda x: fill_array(lambda a: np.place(a, a == 0, x)),
    "np.putmask": lambda x: fill_array(lambda a: np.putmask(a, a == 0, x)),
    "np.put_along_axis": lambda x: fill_array(lambda a: np.put_along_axis(a, np.array([0]), x[:1], 0)),
    "np.fill_diagonal": lambda x: fill_array(lambda a: np.fill_diagonal(a, x), (3, 3)),
    "np.add.at": lambda x: fill_array(lambda a: np.add.at(a, [0, 1, 2], x)),
    "out= of a ufunc": lambda x: fill_array(lambda a: np.sin(x, out=a)),
    "out= of a reduction": lambda x: fill_array(lambda a: np.add.reduce(x, out=a), ()),
    "out= of sum": lambda x: fill_array(lambda a: np.sum(x, out=a), ()),
    "out= of a method": lambda x: fill_array(lambda a: x.cumsum(out=a)),
    "out= of dot": lambda x: fill_array(lambda a: np.dot(x, x, out=a), ()),
    "out= of clip": lambda x: fill_array(lambda a: np.clip(x, 0, 1, out=a)),
    "out= of matmul": lambda x: fill_array(lambda a: np.matmul(np.eye(3), x, out=a)),
    "out= of concatenate": lambda x: fill_array(lambda a: np.concatenate([x, x], out=a), 6),
    "np.full_like of a plain array": lambda x: np.full_like(np.zeros(3), x[0]),
    # plain arrays made of differentiable values
    "np.asarray": lambda x: np.asarray(x),
    "np.asarray with a dtype": lambda x: np.asarray(x, dtype=float),
    "np.ascontiguousarray": lambda x: np.ascontiguousarray(x),
    "np.array": lambda x: np.array(x),
    "np.array without a copy": lambda x: np.array(x, copy=False),
    "np.array of numbers": lambda x: np.array([x[0], x[1]]),
    "np.array of numbers with a dtype": lambda x: np.array([x[0], x[1]], dtype=float),
    "np.array of rows": lambda x: np.array([[0, -x[2]], [x[2], 0]]),
    "np.array of arrays": lambda x: np.array([x, x]),
    "np.array of a list": lambda x: np.array(list(x)),
    "np.array of tolist": lambda x: np.array(x.tolist()),
    "np.array of objects from an array": lambda x: np.array(x, dtype=object),
    "np.array of a structure": lambda x: np.array([(x[0], 1)], dtype=[("a", float), ("b", int)])["a"],
    "array of objects": lambda x: np.array([x[0], x[1]], dtype=object).sum(),
    "np.arange": lambda x: np.arange(0, 3, x[0]),
    "np.full": lambda x: np.full(3, x[0]),
    "np.fromiter": lambda x: np.fromiter((value * 2 for value in x), float),
    "astype of objects": lambda x: fill_array(lambda a: a.__setitem__(0, x[0]), 1, object).astype(float),
    "choose of a plain array": lambda x: np.array([0, 1, 1]).choose([x, x * 2]),
    "dot of a plain array": lambda x: np.eye(3).dot(x),
    "np.r_": lambda x: np.r_[x, 1.0],
    "np.c_": lambda x: np.c_[x, x],
    "np.mgrid": lambda x: np.mgrid[0 : x[0] : 0.5],
    "np.vectorize": lambda x: np.vectorize(lambda value: value * value)(x),
    "np.frompyfunc": lambda x: np.frompyfunc(lambda value: value * value, 1, 1)(x),
    "np.ndenumerate": lambda x: [value * 2 for _, value in np.ndenumerate(x)],
    "np.broadcast": lambda x: [a * b for a, b in np.broadcast(x, x)],
    "np.ma.array": lambda x: np.ma.array(x, mask=[0, 1, 0]).sum(),
    "np.ma.sum": lambda x: np.ma.sum(x),
    "Polynomial": lambda x: np.polynomial.Polynomial(x)(2.0),
    "chebvander": lambda x: np.polynomial.chebyshev.chebvander(x, 2),
    "polyfromroots": lambda x: np.polynomial.polynomial.polyfromroots(x),
    "rec.fromarrays": lambda x: np.rec.fromarrays([x, x])["f0"],
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)),
    "assert_allclose": lambda x: np.testing.assert_allclose(x, x),
    # bytes and files
    "tobytes": lambda x: np.frombuffer(x.tobytes()),
    "data": lambda x: np.frombuffer(x.data),
    "ctypes": lambda x: x.ctypes.data * x,
    "view": lambda x: x.view(np.int64) * 1.0,
    "np.from_dlpack": lambda x: np.from_dlpack(x),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "np.save": lambda x: np.save(io.BytesIO(), x),
    "np.savetxt": lambda x: np.savetxt(io.StringIO(), x),
    # random numbers
    "Generator.normal": lambda x: np.random.default_rng(0).normal(x),
    "Generator.uniform": lambda x: np.random.default_rng(0).uniform(0, x[0], 3),
    "Generator.choice": lambda x: np.random.default_rng(0).choice(x, 2),
    "random.normal": lambda x: np.random.normal(x),
    "random.permutation": lambda x: np.random.permutation(x),
    "np.spacing": lambda x: np.spacing(x),
}  # fmt: skip

#: Programs that raise another error, with the reasons.
REFUSED: dict[str, tuple[Function, type[Exception], str]] = {
    "statistics.mean": (lambda x: statistics.mean(x), TypeError, "needs exact numbers"),
    "decimal": (lambda x: decimal.Decimal(x[0]), TypeError, "takes floats alone"),
    "fraction": (lambda x: fractions.Fraction(x[0]), TypeError, "takes floats alone"),
    "json": (lambda x: json.dumps(x[0]), TypeError, "writes floats alone"),
    "json of a list": (lambda x: json.dumps(x.tolist()), TypeError, "writes floats alone"),
    "struct": (lambda x: struct.pack("d", x[0]), struct.error, "hides the error of float()"),
    "bytes": (lambda x: bytes(x), TypeError, "wants whole numbers of a sequence"),
    "%f": (lambda x: float("%f" % x[0]), TypeError, "Python 3.15 hides the error of float()"),  # noqa: UP031
    "memoryview": (lambda x: memoryview(x), TypeError, "an Array has no buffer"),
    "np.frombuffer": (lambda x: np.frombuffer(x), TypeError, "an Array has no buffer"),
    "np.nditer": (lambda x: [value * 2 for value in np.nditer(x)], TypeError, "NumPy takes it as an object"),
    "plain.flat": (
        lambda x: fill_array(lambda a: a.flat.__setitem__(0, x[0])), ValueError, "hides the error of float()",
    ),
    "ndarray.sum": (lambda x: np.ndarray.sum(x), TypeError, "an Array is no ndarray"),
    "as_ctypes": (lambda x: np.ctypeslib.as_ctypes(x), AttributeError, "an Array has no buffer"),
    "list index": (lambda x: x * [1, 2, 3][x[0]], TypeError, "as NumPy's own numbers"),
    "range": (lambda x: x * sum(range(x[2])), TypeError, "as NumPy's own numbers"),
    "slice": (lambda x: x * np.ones(3)[: x[0]], TypeError, "as NumPy's own numbers"),
    "bits": (lambda x: np.bitwise_and(x, 1), TypeError, "as of plain arrays"),
}  # fmt: skip

#: Programs that keep the derivative, although they look as if they lost it.
KEPT: dict[str, Function] = {
    "round to digits": lambda x: round(x[0], 1) + x[1],
    "math.prod": lambda x: math.prod(x),
    "sum": lambda x: sum(x, 1.0),
    "sum of tolist": lambda x: sum(x.tolist()),
    "item": lambda x: x.item(0) ** 2,
    "max with a number": lambda x: max(x[0], 1.0) + min(x[1], 5.0),
    "sorted": lambda x: sorted(x)[0] ** 2,
    "reduce": lambda x: functools.reduce(operator.mul, x),
    "accumulate": lambda x: list(itertools.accumulate(x)),
    "copy": lambda x: copy.deepcopy([x])[0] ** 2,
    "array of objects filled": lambda x: fill_array(lambda a: a.__setitem__(0, x[0] * 2), 1, object).sum(),
    "like=": lambda x: np.array([x[0], x[1] ** 2], like=x),
    "adjoint.numpy": lambda x: adjoint.numpy.array([[x[0], 1.0], [x[1] ** 2, 2.0]]) if type(x) is not np.ndarray
             else np.array([[x[0], 1.0], [x[1] ** 2, 2.0]]),
    "a branch": lambda x: x if bool(x[0] > 0) else x * 2,
    "an index of a plain array": lambda x: np.arange(5.0)[np.searchsorted(np.arange(5), x)] * x,
    "plain array on the left": lambda x: np.ones(3) * x + np.float64(2.0) * x[0],
    "plain ndarray's operator": lambda x: np.eye(3).__matmul__(x) * 2,
    "clip of a plain array": lambda x: np.zeros(3).clip(x[0], x[1]),
    "np.poly1d": lambda x: np.poly1d(x)(2.0),
    "np.modf": lambda x: np.modf(x)[0],
    "np.fmod": lambda x: np.fmod(x, 0.5),
    "np.ldexp": lambda x: np.ldexp(x, 2),
    "np.emath": lambda x: np.emath.sqrt(x),
    "np.linspace": lambda x: np.linspace(0, x[0], 3),
    "np.histogram's edges": lambda x: np.histogram(x, bins=3)[1],
    "np.histogram as a density": lambda x: np.histogram(x, bins=3, density=True)[0],
    "np.histogram2d": lambda x: np.histogram2d([0.1, 0.5, 0.9], [0.1, 0.5, 0.9], bins=2, weights=x)[0],
    "np.histogramdd": lambda x: np.histogramdd(np.eye(3)[:, :2], bins=2, weights=x)[0],
    "np.ix_": lambda x: np.multiply(*np.ix_(x, x)),
    "polynomial.polynomial.polyval2d": lambda x: np.polynomial.polynomial.polyval2d(x, x, np.ones((2, 2))),
    "polynomial.polynomial.polygrid2d": lambda x: np.polynomial.polynomial.polygrid2d(x, x, np.ones((2, 3))),
    "polynomial.polyval": lambda x: np.polynomial.polynomial.polyval(x, [1.0, 2.0, 3.0]),
    "chebval": lambda x: np.polynomial.chebyshev.chebval(x, [1.0, 2.0, 3.0]),
    "legval": lambda x: np.polynomial.legendre.legval(x, [1.0, 2.0, 3.0]),
    "hermval": lambda x: np.polynomial.hermite.hermval(x, [1.0, 2.0, 3.0]),
    "lagval": lambda x: np.polynomial.laguerre.lagval(x, [1.0, 2.0, 3.0]),
    "random.uniform": lambda x: random.Random(0).uniform(0, x[0]),
    "random.gauss": lambda x: random.Random(0).gauss(x[0], 1.0),
}  # fmt: skip

#: Programs whose result is a text or a decision by design. Only an explicit conversion makes a number of the text.
TEXT: dict[str, Function] = {
    "str": lambda x: str(x[0]),
    "%s": lambda x: "%s" % x,  # noqa: UP031
    "f-string": lambda x: f"{x[0]:.3f} {x}",
    "array2string": lambda x: np.array2string(x),
    "comparison": lambda x: x[0] > 0.5,
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_lost_derivative_names_the_line_and_the_remedy(name: str) -> None:
    remedy = r"Compute with functions that keep it \(numpy\.sin\(x\).*adjoint\.numpy\.detach\(x\)"
    with pytest.raises(LostDerivativeError, match=rf'would be lost at File ".*test_numpy_losses\.py".*{remedy}'):
        adjoint.grad(lambda x: weighted_sum(LOST[name](x)) + np.sum(x))(X)


@pytest.mark.parametrize("name", REFUSED)
def test_what_raises_another_error(name: str) -> None:
    function, error, _ = REFUSED[name]
    with pytest.raises(error):
        adjoint.grad(lambda x: weighted_sum(function(x)) + np.sum(x))(X)


@pytest.mark.parametrize("name", sorted(KEPT.keys() - NOT_OVERRIDABLE))
def test_what_keeps_the_derivative(name: str) -> None:
    assert check(KEPT[name], X)


@pytest.mark.parametrize("name", TEXT)
def test_text_is_that_of_plain_arrays(name: str) -> None:
    results: list[Any] = []
    adjoint.grad(lambda x: results.append(TEXT[name](x)) or np.sum(x))(X)
    assert results == [TEXT[name](X)]


@pytest.mark.parametrize("name", sorted(REASONS))
def test_functions_without_a_derivative_raise(name: str) -> None:
    function: Any = functools.reduce(getattr, name.split("."), np)
    if function in (np.array2string, np.array_repr, np.array_str):
        assert function(adjoint.numpy.Array(X)) == function(X)
        return
    with pytest.raises((LostDerivativeError, TypeError)):
        adjoint.grad(lambda x: weighted_sum(function(x, x)) + np.sum(x))(X)
