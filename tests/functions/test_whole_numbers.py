"""Arguments that are whole numbers may be NumPy's numbers, and tensors without axes, as in torch."""

import numpy as np
import pytest

import adjoint
from adjoint.nn import functional as F

X = adjoint.arange(8.0)
M = adjoint.arange(6.0).reshape(2, 3)
SQUARE = adjoint.eye(2) * 2

#: Functions of a whole number between 2 and 4, or of its difference from 4.
CALLS = {
    "adaptive_avg_pool1d": lambda n: F.adaptive_avg_pool1d(X[None, None], n),
    "amax": lambda n: M.amax(n - 4),
    "arange": adjoint.arange,
    "argmax": lambda n: M.argmax(n - 4),
    "as_strided": lambda n: X.as_strided((n,), (1,)),
    "avg_pool1d": lambda n: F.avg_pool1d(X[None, None], n),
    "bartlett_window": adjoint.bartlett_window,
    "bincount": lambda n: adjoint.bincount(adjoint.arange(2), minlength=n),
    "cat": lambda n: adjoint.cat([M], n - 4),
    "chunk": lambda n: X.chunk(n)[0],
    "combinations": lambda n: adjoint.combinations(X, n),
    "conv1d": lambda n: F.conv1d(X[None, None], adjoint.ones(1, 1, 2), stride=n),
    "cumsum": lambda n: M.cumsum(n - 4),
    "diag": lambda n: M[0].diag(n),
    "diagonal": lambda n: M.diagonal(n - 4),
    "diff": lambda n: X.diff(n),
    "empty": lambda n: adjoint.empty(n, n).fill_(1),
    "expand": lambda n: X[:1].expand(n),
    "eye": adjoint.eye,
    "eye, columns": lambda n: adjoint.eye(3, n),
    "fft": lambda n: adjoint.fft.fft(X, n=n),
    "fft along an axis": lambda n: adjoint.fft.fft(M, dim=n - 4),
    "fftfreq": adjoint.fft.fftfreq,
    "flatten": lambda n: M.flatten(n - 4),
    "flip": lambda n: M.flip(n - 4),
    "full": lambda n: adjoint.full((n,), 2.0),
    "gather": lambda n: M.gather(n - 4, adjoint.zeros(2, 3, dtype=adjoint.int64)),
    "group_norm": lambda n: F.group_norm(adjoint.arange(24.0).reshape(1, 12, 2), n),
    "hamming_window": adjoint.hamming_window,
    "hann": adjoint.signal.windows.hann,
    "histc": lambda n: adjoint.histc(X, n),
    "index_select": lambda n: M.index_select(n - 4, adjoint.tensor([0])),
    "interpolate": lambda n: F.interpolate(X[None, None], size=n),
    "kaiser": adjoint.signal.windows.kaiser,
    "kaiser_window": adjoint.kaiser_window,
    "kthvalue": lambda n: X.kthvalue(n).values,
    "linspace": lambda n: adjoint.linspace(0, 1, n),
    "logspace": lambda n: adjoint.logspace(0, 1, n),
    "logsumexp": lambda n: M.logsumexp(n - 4),
    "matrix_power": lambda n: adjoint.linalg.matrix_power(SQUARE, n),
    "max_pool1d": lambda n: F.max_pool1d(X[None, None], n),
    "median": lambda n: M.median(n - 4).values,
    "movedim": lambda n: M.movedim(n - 4, 0),
    "multinomial": lambda n: adjoint.multinomial(adjoint.ones(8), n).shape[0],
    "mvlgamma": lambda n: adjoint.mvlgamma(X + 9, n),
    "narrow": lambda n: X.narrow(0, n, n),
    "new_zeros": lambda n: X.new_zeros(n),
    "one_hot": lambda n: F.one_hot(adjoint.arange(2), n),
    "pad": lambda n: F.pad(X, (n, n)),
    "pixel_shuffle": lambda n: F.pixel_shuffle(adjoint.arange(144.0).reshape(1, 144, 1, 1), n),
    "randint": lambda n: adjoint.randint(n, (2,)).shape,
    "randn": lambda n: adjoint.randn(n).shape,
    "randperm": lambda n: adjoint.randperm(n).sort().values,
    "repeat": lambda n: X.repeat(n),
    "repeat_interleave": lambda n: X.repeat_interleave(n),
    "reshape": lambda n: adjoint.arange(24.0).reshape(n, -1),
    "resize_": lambda n: X.clone().resize_(n),
    "roll": lambda n: X.roll(n),
    "rot90": lambda n: M.rot90(n),
    "select": lambda n: X.select(0, n),
    "size": lambda n: M.size(n - 4),
    "softmax": lambda n: M.softmax(n - 4),
    "sort": lambda n: M.sort(n - 4).values,
    "split": lambda n: X[:n].split(n)[0],
    "squeeze": lambda n: M.squeeze(n - 4),
    "stack": lambda n: adjoint.stack([M], n - 4),
    "std": lambda n: M.std(n - 4),
    "stft": lambda n: adjoint.stft(X, n * 2, return_complex=True, center=False),
    "sum": lambda n: M.sum(n - 4),
    "tensor_split": lambda n: X.tensor_split(n)[0],
    "topk": lambda n: X.topk(n).values,
    "transpose": lambda n: M.transpose(n - 4, 0),
    "tril": lambda n: M.tril(n - 4),
    "triu_indices": lambda n: adjoint.triu_indices(n, n),
    "unbind": lambda n: M.unbind(n - 4)[0],
    "unflatten": lambda n: adjoint.arange(24.0).unflatten(0, (n, -1)),
    "unfold": lambda n: X.unfold(0, n, n),
    "unsqueeze": lambda n: M.unsqueeze(n - 4),
    "vander": lambda n: adjoint.vander(X, n),
    "view": lambda n: adjoint.arange(24.0).view(n, -1),
    "zeros": lambda n: adjoint.zeros(n, 2),
}
KINDS = {"NumPy": np.int32, "tensor": adjoint.tensor}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_numpys_numbers_and_tensors_are_whole_numbers(name, kind):
    call = CALLS[name]
    for n in (2, 3):
        reference, result = call(n), call(KINDS[kind](n))
        if isinstance(reference, adjoint.Tensor):
            assert result.dtype is reference.dtype and adjoint.equal(result, reference)
        else:
            assert result == reference


@pytest.mark.parametrize(
    "value", [2.0, "2", None, True, adjoint.tensor(2.0)], ids=["float", "text", "None", "bool", "0d"]
)
@pytest.mark.parametrize("name", ["eye", "hann", "kaiser_window", "matrix_power", "histc", "fftfreq", "randperm"])
def test_other_values_are_refused(name, value):
    with pytest.raises(
        TypeError, match=r"argument '\w+'( \(position \d\))? must be int, not (float|str|None|bool|Tensor)"
    ):
        CALLS[name](value)


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16, adjoint.float64, adjoint.int32])
@pytest.mark.parametrize("integral", [adjoint.trapezoid, adjoint.cumulative_trapezoid])
def test_a_distance_as_a_tensor_changes_no_dtype(integral, dtype):
    y = adjoint.ones(4, dtype=dtype)
    for dx in (adjoint.tensor(0.5), adjoint.tensor(0.5, dtype=adjoint.float64)):
        assert integral(y, dx=dx).dtype is integral(y, dx=0.5).dtype
    dx = adjoint.tensor(0.5, requires_grad=True)
    assert adjoint.autograd.grad(integral(adjoint.ones(3), dx=dx).sum(), dx)[0] > 0
