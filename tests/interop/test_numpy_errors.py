"""NumPy's functions refuse wrong arguments that are Tensors with NumPy's own classes of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.ufuncs import ufunc_over_tensors

V, M, E, Z = np.arange(1.0, 4.0), np.arange(1.0, 7.0).reshape(2, 3), np.zeros(0), np.array(2.0)
C, S = np.array([1j, 2.0]), np.eye(3)

#: Calls that NumPy refuses. t makes an array, or a Tensor, of its argument.
REFUSED: list[Any] = [
    # calculus
    lambda t: np.diff(t(V), -1),
    lambda t: np.diff(t(Z)),
    lambda t: np.ediff1d(t(np.arange(3)), to_end=t(V)),
    lambda t: np.gradient(t(V), edge_order=3),
    lambda t: np.gradient(t(M), 1.0, 1.0, 1.0),
    lambda t: np.gradient(t(M), t(V)),
    lambda t: np.gradient(t(V[:1])),
    lambda t: np.gradient(t(V), t(M)),
    lambda t: np.gradient(t(V), t(V[:2])),
    lambda t: np.interp(t(V), t(V), t(V), period=0),
    lambda t: np.interp(t(V), t(V), t(V[:2])),
    lambda t: np.interp(t(V), t(E), t(E)),
    lambda t: np.i0(t(C)),
    # creation
    lambda t: np.require(t(V), requirements=["C", "F"], **({} if t is np.asarray else {"like": t(V)})),
    lambda t: np.linspace(t(V), 2.0, -1),
    lambda t: np.geomspace(t(V), 0.0),
    lambda t: np.array(1.0, copy=False, **({} if t is np.asarray else {"like": t(V)})),
    # Fourier
    lambda t: np.fft.rfft(t(C)),
    lambda t: np.fft.fft(t(V), 0),
    # linear algebra
    lambda t: np.linalg.inv(t(V)),
    lambda t: np.linalg.det(t(M)),
    lambda t: np.linalg.inv(t(np.zeros((2, 2)))),
    lambda t: np.linalg.cholesky(t(-S)),
    lambda t: np.linalg.lstsq(t(np.ones((1, 2, 2))), t(np.ones((1, 2)))),
    lambda t: np.linalg.lstsq(t(M), t(V)),
    lambda t: np.linalg.tensorinv(t(S), 0),
    lambda t: np.linalg.norm(t(V), "fro", 0),
    lambda t: np.linalg.norm(t(np.ones((2, 2, 2))), 2, (0, 1, 2)),
    lambda t: np.linalg.norm(t(M), 2, (0, 0)),
    lambda t: np.linalg.norm(t(M), 7),
    lambda t: np.linalg.matrix_power(t(S), 1.5),
    lambda t: np.linalg.matrix_power(t(M), 2),
    lambda t: np.linalg.qr(t(S), "other"),
    lambda t: np.linalg.eigh(t(S), "X"),
    lambda t: np.linalg.outer(t(M), t(V)),
    # indices
    lambda t: np.select([t(V)], [t(V)]),
    lambda t: np.where(t(V) > 1, t(V)),
    lambda t: np.piecewise(t(V), [t(V) > 1], [1, 2, 3]),
    lambda t: np.pad(t(V), 1, "constant", stat_length=1),
    lambda t: np.pad(t(V), 1, "other"),
    lambda t: np.copyto(t(np.arange(3)), t(V)),
    lambda t: np.place(t(V), t(V) > 1, t(E)),
    lambda t: np.fill_diagonal(t(V), 1.0),
    lambda t: np.take(t(V), [7]),
    lambda t: np.choose(np.array([3]), [t(V[:1]), t(V[:1])]),
    # polynomials
    lambda t: np.polyder(t(V), -1),
    lambda t: np.polyint(t(V), -1),
    lambda t: np.polyint(t(V), 3, t(V[:2])),
    lambda t: np.poly(t(M)),
    lambda t: np.roots(t(M)),
    lambda t: np.polyfit(t(V), t(V), -1),
    lambda t: np.polyfit(t(M), t(V), 1),
    lambda t: np.polyfit(t(V), t(Z), 1),
    lambda t: np.polyfit(t(V), t(V[:2]), 1),
    lambda t: np.polyfit(t(V), t(V), 1, w=t(M)),
    lambda t: np.polyfit(t(V), t(V), 1, w=t(V[:2])),
    lambda t: np.polyfit(t(V), t(V), 2, cov=True),
    # products
    lambda t: np.vdot(t(V), t(V[:2])),
    lambda t: np.tensordot(t(M), t(M), 1),
    lambda t: np.cross(t(V), t(Z)),
    lambda t: np.cross(t(V), t(np.ones(4))),
    lambda t: np.convolve(t(M), t(V)),
    lambda t: np.convolve(t(V), t(E)),
    lambda t: np.convolve(t(V), t(V), "other"),
    lambda t: np.correlate(t(V), t(E)),
    # reductions
    lambda t: np.max(t(E)),
    lambda t: np.cumulative_sum(t(M)),
    lambda t: np.var(t(V), ddof=1, correction=2),
    lambda t: np.average(t(M), weights=t(V)),
    lambda t: np.average(t(M), axis=0, weights=t(V)),
    lambda t: np.average(t(V), weights=t(V * 0)),
    lambda t: np.sum(t(V), axis=3),
    # shapes
    lambda t: np.reshape(t(V), (2, 2)),
    lambda t: np.reshape(t(V), (-1, 2)),
    lambda t: np.reshape(t(V), 3, order="X"),
    lambda t: np.transpose(t(M), (0,)),
    lambda t: np.matrix_transpose(t(V)),
    lambda t: np.moveaxis(t(M), (0, 1), 0),
    lambda t: np.rollaxis(t(M), 0, 7),
    lambda t: np.squeeze(t(M), 0),
    lambda t: np.broadcast_to(t(V), (2, 2)),
    lambda t: np.broadcast_to(t(M), (3,)),
    lambda t: np.concatenate([t(Z), t(Z)]),
    lambda t: np.concatenate([t(V), t(M)]),
    lambda t: np.stack([t(V), t(V[:2])]),
    lambda t: np.array_split(t(V), 0),
    lambda t: np.split(t(V), 2),
    lambda t: np.vsplit(t(V), 3),
    lambda t: np.unstack(t(Z)),
    lambda t: np.fliplr(t(V)),
    lambda t: np.flipud(t(Z)),
    lambda t: np.rot90(t(M), axes=(0, 0)),
    lambda t: np.diagonal(t(V)),
    lambda t: np.diag(t(np.ones((2, 2, 2)))),
    lambda t: np.vander(t(M)),
    lambda t: np.meshgrid(t(V), indexing="other"),
    lambda t: np.ix_(t(M)),
    lambda t: np.lib.stride_tricks.sliding_window_view(t(V), (2, 2)),
    lambda t: np.lib.stride_tricks.sliding_window_view(t(V), 4),
    lambda t: np.apply_along_axis(np.sum, 0, t(np.ones((2, 0)))),
    lambda t: np.apply_over_axes(lambda a, axis: a[0, 0], t(M), [0]),
    # statistics
    lambda t: np.quantile(t(V), 2.0),
    lambda t: np.percentile(t(V), 200),
    lambda t: np.quantile(t(C), 0.5),
    lambda t: np.cov(t(V), ddof=0.5),
    lambda t: np.cov(t(np.ones((2, 2, 2)))),
    lambda t: np.bincount(np.array([0, 1]), t(V)),
    lambda t: np.bincount(np.array([0, -1]), t(V[:2])),
    lambda t: np.histogram(t(V), [1.0, 0.0]),
    lambda t: np.histogram(t(V), 3, (1.0, 0.0)),
    lambda t: np.histogram(t(V), 3, weights=t(V[:2])),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
def test_refused_as_by_numpy(number: int) -> None:
    call = REFUSED[number]
    with pytest.raises(Exception) as of_numpy:
        call(np.asarray)
    with pytest.raises(Exception) as of_tensors:
        call(lambda array: adjoint.tensor(array, requires_grad=array.dtype.kind in "fc"))
    assert issubclass(of_tensors.type, of_numpy.type) or of_numpy.type in (ZeroDivisionError, IndexError), (
        of_numpy.value, of_tensors.value,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: FUNCTIONS["concatenate"]([]), ValueError, "need at least one array to concatenate"),
        (lambda t: FUNCTIONS["stack"]([]), ValueError, "need at least one array to stack"),
        (lambda t: np.linalg.qr(t * t[:, None], "raw"), NotImplementedError, "has no derivative here"),
        (lambda t: np.quantile(t, t), TypeError, "stands where the derivative is not defined"),
        (lambda t: np.copyto(np.zeros(3), t), TypeError, "copyto: the target is an array"),
        (lambda t: np.put(np.zeros(3), [0], t[:1]), TypeError, "put: the target is an array"),
        (lambda t: np.histogram(t, "auto"), TypeError, "histogram_bin_edges.. was given a Tensor that requires grad"),
        (lambda t: np.array(t, dtype="U5", like=t), TypeError, "no tensors|can't convert|not support|U5"),
        (lambda t: np.sin(t, t, t, t), TypeError, "takes from 1 to 2 positional|takes 1 inputs"),
    ],
)
def test_errors_of_our_own(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        call(adjoint.tensor([0.1, 0.5, 0.9], requires_grad=True))
    assert raised.match(message)


def test_nothing_is_declared_twice() -> None:
    with pytest.raises(ValueError, match=r"numpy\.sum is declared twice"):
        function("sum")(lambda a: a)
    with pytest.raises(ValueError, match="add is declared twice"):
        ufunc_over_tensors(np.add, lambda a, b: a)


def test_files_are_read(tmp_path: Any) -> None:
    like = adjoint.zeros(1)
    (tmp_path / "a.txt").write_text("1 2\n3 4\n")
    np.array([1.0, 2.0]).tofile(tmp_path / "a.bin")
    assert np.loadtxt(tmp_path / "a.txt", like=like).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert np.genfromtxt(tmp_path / "a.txt", like=like).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert np.fromfile(tmp_path / "a.bin", like=like).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("of_many", "shape"),
    [
        (lambda n: np.diff(adjoint.tensor(V), n), (0,)),
        (lambda n: np.diff(adjoint.tensor(V), n, prepend=adjoint.tensor(0.0)), (0,)),
        (lambda n: np.polyder(adjoint.tensor(V), n), (0,)),
    ],
)
def test_an_order_beyond_all_elements_ends_at_once(of_many: Callable[[int], Any], shape: tuple[int, ...]) -> None:
    assert of_many(10**30).shape == shape


class Quantity(np.ndarray):
    """An array with a unit, like those of astropy."""

    unit = "km"


@pytest.mark.parametrize("function", [lambda x, q: x * q, lambda x, q: q + x, lambda x, q: np.add(x, q)])
def test_units_are_not_dropped(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="no place for the unit of a Quantity in km: give its plain value"):
        adjoint.grad(lambda x: np.sum(function(x, V.view(Quantity))))(V)
    plain = V.view(Quantity)
    plain.unit = ""
    assert adjoint.grad(lambda x: np.sum(x * plain))(V).tolist() == V.tolist()
