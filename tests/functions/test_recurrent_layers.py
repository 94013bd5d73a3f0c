"""Recurrent networks over whole sequences: a plain loop in NumPy, packed sequences one by one, refused arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(8)
N_STEPS, BATCH, FEATURES, UNITS = 4, 3, 2, 5
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
NAMES = list(GATES)


def sigmoid(a: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * a))


def step(name: str, a: np.ndarray, b: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
    """The states after one step. a and b are the parts of the gates by the input and by the state."""
    if name == "rnn_tanh":
        return [np.tanh(a + b)]
    if name == "rnn_relu":
        return [np.maximum(a + b, 0)]
    if name == "gru":
        (r1, z1, n1), (r2, z2, n2) = np.split(a, 3, -1), np.split(b, 3, -1)
        z = sigmoid(z1 + z2)
        return [(1 - z) * np.tanh(n1 + sigmoid(r1 + r2) * n2) + z * state[0]]
    i, f, g, o = np.split(a + b, 4, -1)
    memory = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(memory), memory]


def layer(name: str, x: np.ndarray, state: list[np.ndarray], w: list[Any], reverse: bool) -> tuple[np.ndarray, list]:
    """One layer in one direction, over x of shape (T, N, I)."""
    w_ih, w_hh, b_ih, b_hh, w_hr = w
    out = np.zeros((len(x), x.shape[1], w_hh.shape[1]), x.dtype)
    for t in range(len(x))[:: -1 if reverse else 1]:
        state = step(name, x[t] @ w_ih.T + b_ih, state[0] @ w_hh.T + b_hh, state)
        if w_hr is not None:
            state[0] = state[0] @ w_hr.T
        out[t] = state[0]
    return out, state


class Case:
    """A network's arguments as arrays, and its results by the plain loop."""

    def __init__(
        self, name: str, layers: int = 1, ways: int = 1, biased: bool = True, projected: int = 0, turn: complex = 0.0
    ) -> None:
        self.name, self.layers, self.ways, self.biased, self.turn = name, layers, ways, biased, turn
        rows, out = GATES[name] * UNITS, projected or UNITS
        self.x = self.random_array((N_STEPS, BATCH, FEATURES))
        sizes = [out, UNITS] if name == "lstm" else [out]
        self.states = [self.random_array((layers * ways, BATCH, size)) for size in sizes]
        self.groups: list[list[Any]] = []
        for k in range(layers * ways):
            shapes = [(rows, FEATURES if k < ways else out * ways), (rows, out), (rows,), (rows,), (out, UNITS)]
            arrays: list[Any] = [self.random_array(shape) * 0.6 for shape in shapes]
            arrays[2:4] = arrays[2:4] if biased else [0, 0]
            self.groups.append(arrays if projected else [*arrays[:4], None])
        self.params = [w for group in self.groups for w in group if isinstance(w, np.ndarray)]

    def random_array(self, shape: tuple[int, ...]) -> np.ndarray:
        real = RNG.standard_normal(shape)
        return np.asarray(real + self.turn * RNG.standard_normal(shape) if self.turn else real)

    def reference(self) -> list[np.ndarray]:
        x, last = self.x, []
        for k in range(0, len(self.groups), self.ways):
            outs = []
            for way in range(self.ways):
                start = [state[k + way] for state in self.states]
                out, state = layer(self.name, x, start, self.groups[k + way], way == 1)
                outs.append(out)
                last.append(state)
            x = np.concatenate(outs, -1)
        return [x, *(np.stack(each) for each in zip(*last, strict=True))]

    def call(self, *tensors: Any, batch_first: bool = False, dropout: float = 0.0, train: bool = True) -> Any:
        """The function on Tensors in the order input, states, parameters."""
        n = len(self.states)
        hx = tensors[1] if n == 1 else tensors[1:3]
        options = (self.biased, self.layers, dropout, train, self.ways == 2, batch_first)
        return getattr(adjoint, self.name)(tensors[0], hx, tensors[1 + n :], *options)

    def tensors(self, **options: Any) -> list[Any]:
        return [adjoint.tensor(array, **options) for array in [self.x, *self.states, *self.params]]


def assert_all_close(actual: Any, expected: list[np.ndarray]) -> None:
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(("layers", "ways"), [(1, 1), (1, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize("name", NAMES)
def test_against_a_plain_loop(name: str, layers: int, ways: int, biased: bool) -> None:
    case = Case(name, layers, ways, biased)
    assert_all_close(case.call(*case.tensors()), case.reference())


@pytest.mark.parametrize(("layers", "ways"), [(1, 1), (2, 2)])
def test_projected_states(layers: int, ways: int) -> None:
    case = Case("lstm", layers, ways, projected=3)
    assert_all_close(case.call(*case.tensors()), case.reference())


@pytest.mark.parametrize("name", NAMES)
def test_batches_first(name: str) -> None:
    case = Case(name, 2, 2)
    x, *others = case.tensors()
    output, *last = case.call(x.transpose(0, 1), *others, batch_first=True)
    assert_all_close([output.transpose(0, 1), *last], case.reference())


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name: str) -> None:
    case = Case(name, 2, 2)
    assert gradcheck(case.call, case.tensors(requires_grad=True), check_forward_ad=True, fast_mode=True)


@pytest.mark.parametrize(("name", "projected"), [("rnn_tanh", 0), ("gru", 0), ("lstm", 0), ("lstm", 2)])
def test_complex_numbers(name: str, projected: int) -> None:
    case = Case(name, 2, 2, projected=projected, turn=0.2j)
    assert_all_close(case.call(*case.tensors()), case.reference())
    small = Case(name, projected=projected and 1, turn=0.2j)
    assert gradcheck(small.call, small.tensors(requires_grad=True), check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(small.call, small.tensors(requires_grad=True), fast_mode=True)


def pack(case: Case, x: Any, sizes: list[int], hx: Any, params: Any) -> Any:
    options = (case.biased, case.layers, 0.0, True, case.ways == 2)
    return getattr(adjoint, case.name)(x, adjoint.tensor(sizes), hx, params, *options)


@pytest.mark.parametrize("ways", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_packed_sequences_one_by_one(name: str, ways: int) -> None:
    case = Case(name, 2, ways)
    lengths, sizes = (4, 3, 1), [3, 2, 2, 1]
    _, *others = case.tensors()
    states, params = others[: len(case.states)], others[len(case.states) :]
    data = adjoint.tensor(np.concatenate([case.x[t, :size] for t, size in enumerate(sizes)]))
    output, *last = pack(case, data, sizes, states[0] if len(states) == 1 else states, params)
    moments = output.split(sizes)
    for k, length in enumerate(lengths):
        alone = [adjoint.tensor(case.x[:length, k : k + 1]), *[state[:, k : k + 1] for state in states], *params]
        expected = case.call(*alone)
        steps = adjoint.stack([moments[t][k] for t in range(length)])
        assert_all_close([steps, *[each[:, k] for each in last]], [each[:, 0].numpy() for each in expected])


@pytest.mark.parametrize(("name", "projected"), [*((name, 0) for name in NAMES), ("lstm", 3)])
def test_derivatives_of_packed_sequences(name: str, projected: int) -> None:
    case = Case(name, 1, 2, projected=projected)
    _, *others = case.tensors(requires_grad=True)
    n = len(case.states)
    data = adjoint.tensor(RNG.standard_normal((6, FEATURES)), requires_grad=True)

    def run(x: Any, *rest: Any) -> Any:
        return pack(case, x, [3, 2, 1], rest[:n] if n == 2 else rest[0], rest[n:])

    assert gradcheck(run, (data, *others), fast_mode=True)
    assert gradgradcheck(run, (data, *others), fast_mode=True)


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_and_other_strides(name: str) -> None:
    case = Case(name, 2, 2)
    expected = case.call(*case.tensors())
    strided = [
        adjoint.from_numpy(np.asfortranarray(a.astype(np.float32))) for a in (case.x, *case.states, *case.params)
    ]
    for result, other in zip(case.call(*strided), expected, strict=True):
        assert result.dtype is adjoint.float32
        np.testing.assert_allclose(result.numpy(), other.numpy(), rtol=2e-4, atol=2e-5)


def test_dropout_between_layers_while_training() -> None:
    case = Case("gru", 2)
    whole, dropped = case.call(*case.tensors(), train=False, dropout=1.0), case.call(*case.tensors(), dropout=1.0)
    assert_all_close(whole, case.reference())
    # the first layer keeps its last state, and the second layer gets zeros
    np.testing.assert_array_equal(dropped[1][0].numpy(), whole[1][0].numpy())
    alone = Case("gru")
    alone.x, alone.states, alone.groups = np.zeros_like(case.x[..., :1]), [case.states[0][1:]], case.groups[1:]
    alone.groups[0][0] = alone.groups[0][0][:, :1]
    np.testing.assert_allclose(dropped[0].numpy(), alone.reference()[0], rtol=1e-12)
    single = Case("gru")
    assert_all_close(single.call(*single.tensors(), dropout=1.0), single.reference())


@pytest.mark.parametrize("name", NAMES)
def test_empty_batches(name: str) -> None:
    case = Case(name, 1, 2)
    x, *others = case.tensors(requires_grad=True)
    n = len(case.states)
    output, *last = case.call(x[:, :0], *[each[:, :0] for each in others[:n]], *others[n:])
    assert output.shape == (N_STEPS, 0, 2 * UNITS) and all(each.shape == (2, 0, UNITS) for each in last)
    for gradient in adjoint.autograd.grad(output.sum(), others[n:]):
        assert not gradient.any()


GRU = Case("gru").tensors()
LSTM = Case("lstm").tensors()
TWO, RELU = Case("gru", 2), Case("rnn_relu", turn=0.2j)
OPTIONS = (True, 1, 0.0, False, False, False)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: adjoint.gru(1, GRU[1], GRU[2:], *OPTIONS), TypeError, "argument 'input' .position 1. must be Tensor"),
        (lambda: adjoint.gru(GRU[0], 1, GRU[2:], *OPTIONS), TypeError, "argument 'hx' .position 2. must be Tensor"),
        (lambda: adjoint.gru(GRU[0][0], GRU[1], GRU[2:], *OPTIONS), RuntimeError, "expects input of 3 dimensions"),
        (lambda: adjoint.gru(GRU[0][:0], GRU[1], GRU[2:], *OPTIONS), RuntimeError, "length to be larger than 0 in RNN"),
        (lambda: adjoint.gru(*GRU[:2], GRU[2:5], *OPTIONS), RuntimeError, "^Expected more weights in stacked_rnn$"),
        (lambda: adjoint.gru(*GRU[:2], [*GRU[2:], GRU[2]], *OPTIONS), RuntimeError, "incorrect number of RNN param"),
        (lambda: adjoint.gru(GRU[0], GRU[1][:, :2], GRU[2:], *OPTIONS), RuntimeError,
         r"^Expected hidden size \(1, 3, 5\), got \[1, 2, 5\]$"),
        (lambda: adjoint.gru(GRU[0], GRU[1][0], GRU[2:], *OPTIONS), RuntimeError, r"\(1, 3, 5\), got \[3, 5\]$"),
        (lambda: adjoint.lstm(LSTM[0], (LSTM[1], LSTM[2][:, :1]), LSTM[3:], *OPTIONS), RuntimeError, "got .1, 1, 5.$"),
        (lambda: adjoint.lstm(*LSTM[:2], LSTM[3:], *OPTIONS), TypeError, "'hx' .position 2. must be tuple of Tensors"),
        (lambda: adjoint.lstm(LSTM[0], LSTM[1:2], LSTM[3:], *OPTIONS), RuntimeError, "^lstm expects two hidden states"),
        (lambda: RELU.call(*RELU.tensors()), NotImplementedError, "^clamp is not supported for complex types$"),
        (lambda: TWO.call(*TWO.tensors(), dropout=1.5), RuntimeError, "has to be between 0 and 1, but got 1.5$"),
        (lambda: pack(Case("gru"), GRU[0][0], [1, 2], GRU[1], GRU[2:]), RuntimeError, r"of data: 3, got \[1, 2\]$"),
        (lambda: pack(Case("gru"), GRU[0][0], [2, 2], GRU[1], GRU[2:]), RuntimeError, r"of data: 3, got \[2, 2\]$"),
        (lambda: adjoint.gru(GRU[0][0], [3], GRU[1], GRU[2:], True, 1, 0.0, False, False), TypeError, "'batch_sizes'"),
    ],
)  # fmt: skip
def test_messages(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_outputs_may_be_modified_in_place(kind, bidirectional):
    network = getattr(adjoint.nn, kind)(3, 2, num_layers=2, bidirectional=bidirectional)
    x, expected = adjoint.randn(4, 2, 3, requires_grad=True), None
    for change in (lambda y: y.relu(), lambda y: y.relu_()):
        x.grad = None
        change(network(x)[0]).sum().backward()
        expected = x.grad if expected is None else expected
    assert adjoint.equal(x.grad, expected)
