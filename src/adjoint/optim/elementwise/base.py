"""The base class of optimizers with an elementwise formula for a step.

It checks options, applies weight decay, groups parameters, and runs the formula. NumPy's arrays go through
`blocks.run`. Tensors of other libraries, and differentiable steps, use the same formula with Tensors. A sparse gradient
updates only the elements with entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy

from adjoint.arrays.kernels import vectors
from adjoint.arrays.libraries.sparse_arrays import SparseArray
from adjoint.core import graph, in_place
from adjoint.core.modes.grad_mode import no_grad
from adjoint.optim.elementwise import blocks
from adjoint.optim.optimizer import Optimizer, _evaluate
from adjoint.tensor import creation
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

Options = dict[str, Any]

ADVICE = {"Adam": ", please consider SparseAdam instead"}
NOT_NEGATIVE = {
    "lr": "learning rate",
    "eps": "epsilon value",
    "weight_decay": "weight_decay value",
    "momentum": "momentum value",
    "alpha": "alpha value",
    "lr_decay": "lr_decay value",
    "momentum_decay": "momentum_decay value",
    "initial_accumulator_value": "initial_accumulator_value value",
}


def check_options(options: Options, names: Iterable[str] = NOT_NEGATIVE) -> None:
    """Raise ValueError for negative options, and for betas outside [0, 1).

    >>> check_options({"lr": -1})
    Traceback (most recent call last):
    ValueError: Invalid learning rate: -1
    """
    if isinstance(options.get("lr"), Tensor) and options["lr"].numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name in NOT_NEGATIVE:
        if name in names and name in options and not options[name] >= 0:
            raise ValueError(f"Invalid {NOT_NEGATIVE[name]}: {options[name]}")
    for k, beta in enumerate(options.get("betas", ())):
        if not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {k}: {beta}")


class Elementwise(Optimizer):
    """An optimizer with an elementwise formula.

    _scalars: the names and initial values of the numbers in the state; the first is the step count. _arrays(): the
    names of the arrays in the state. _coefficients(): the numbers in the formula. _formula(): updates parameters and
    state.

    >>> from adjoint.optim.elementwise.base import Elementwise
    >>> from adjoint.optim import SGD
    >>> issubclass(SGD, Elementwise)
    True
    """

    _scalars: dict[str, float] = {"step": 0.0}
    #: Whether small parameters are joined; this is faster if the formula has more operations than copies.
    _joined = True
    #: The elements that a sparse gradient updates: only those with entries ("elements"), or "all"; "" raises an error.
    _of_sparse = ""
    #: The name in errors, if it differs from the name of the class.
    _name = ""

    def __init__(self, params: Iterable[Any], options: Options) -> None:
        check_options(options)
        super().__init__(params, options)

    #: The number of the C loop for the formula, and the names of the options and coefficients that it takes.
    _loop: tuple[int, tuple[str, ...]] | None = None

    # definitions of subclasses ---------------------------------------------------------------------------------------

    def _arrays(self, group: Options) -> tuple[str, ...]:
        """The names of the arrays in the state."""
        return ()

    def _first(self, name: str, parameter: Tensor, group: Options) -> Tensor:
        """The initial value of an array in the state."""
        return creation.zeros_like(parameter)

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        """The numbers in the formula; it updates `scalars` to their values after the step."""
        return {}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        """Update a parameter and its state by a gradient. k: options and coefficients. xp: the array functions."""
        raise NotImplementedError

    # the step --------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. closure: a function that computes the loss and the gradients."""
        loss = _evaluate(closure)
        for group in self.param_groups:
            with nullcontext() if group.get("differentiable") else no_grad():
                self._step_group(group)
        return loss

    def _step_group(self, group: Options) -> None:
        """Collect parameters with equal numbers in their state, and run the formula for each of these sets."""
        names = self._arrays(group)
        needed = (*self._scalars, *names)
        rows: list[_Row] = []
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is None:
                continue
            state = self.state[parameter] if needed else {}
            # loaded states may have None for missing arrays
            values = [state.get(name) for name in names]
            new = None in values if state else bool(needed)
            if new:
                self._begin(state, parameter, group)
                values = [state[name] for name in names]
            rows.append(_Row(new, (parameter, grad, *values), [state[name] for name in self._scalars]))
        recording = None if group.get("differentiable") else _recording_of(rows)
        if recording is not None:
            self._step_recorded(recording, group, rows)
            return
        for options, scalars, members in self._sets(group, rows, _number):
            self._run(options, [row.tensors for row in members])
            for row in members:
                for number, value in zip(row.numbers, scalars.values(), strict=True):
                    _set_number(number, value)

    def _sets(
        self, group: Options, rows: list[_Row], number_of: Callable[[Any], float]
    ) -> Iterator[tuple[_Options, dict[str, float], list[_Row]]]:
        """The rows with equal numbers, with their options and coefficients, and the numbers after the step."""
        sets: dict[Any, list[_Row]] = {}
        for row in rows:
            key = (row.new, row.tensors[0].dtype, *[number_of(number) for number in row.numbers])
            sets.setdefault(key, []).append(row)
        for (new, _, *numbers), members in sets.items():
            scalars = dict(zip(self._scalars, numbers, strict=True))
            if "step" in scalars:
                scalars["step"] += 1
            options = {**group, "lr": float(group["lr"])} if not group.get("differentiable") else dict(group)
            options.update(self._coefficients(options, scalars, new))
            yield _Options(options), scalars, members

    def _step_recorded(self, recording: Any, group: Options, rows: list[_Row]) -> None:
        """The step as one call in a recording of `adjoint.compile`, so that a replay checks no number of the state."""
        targets = [t for row in rows for t in (row.tensors[0], *row.tensors[2:], *row.numbers)]
        lr = group["lr"] if isinstance(group["lr"], Tensor) else None
        tensors = [*targets, *[row.tensors[1] for row in rows], *([] if lr is None else [lr])]
        recording.adopt_all(tensors)
        for tensor in targets:
            in_place.check_writable(tensor)
            graph.bump_version(tensor)
        update = _Update(self, group, [row.new for row in rows])
        arguments = (
            [tuple([t._array for t in row.tensors]) for row in rows],
            [[t._array for t in row.numbers] for row in rows],
            None if lr is None else lr._array,
        )
        recording.call(update, arguments, None, tuple([t._array for t in targets]))

    def _begin(self, state: Options, parameter: Tensor, group: Options) -> None:
        for name, value in self._scalars.items():
            state[name] = creation.tensor(value)
        for name in self._arrays(group):
            state[name] = self._first(name, parameter, group)

    def _run(self, options: _Options, rows: list[tuple[Tensor, ...]]) -> None:
        formula = self._whole_formula
        plain = not options.differentiable
        arrays: list[Any] = [[tensor._array for tensor in row] for row in rows]
        if plain and {type(array) for row in arrays for array in row} == {numpy.ndarray}:
            targets = [tensor for p, _, *state in rows for tensor in (p, *state)]
            for tensor in targets:
                in_place.check_writable(tensor)
            # bump versions first: after an error, some tensors have been modified
            for tensor in targets:
                graph.bump_version(tensor)
            self._run_arrays(options, arrays)
            return
        for row in rows:
            if isinstance(row[1]._array, SparseArray):
                self._run_sparse(options, *row)
            else:
                formula(ops, options, *(_real(tensor) for tensor in row))

    def _run_arrays(self, options: _Options, arrays: list[Any]) -> None:
        """Run the formula on NumPy's arrays."""
        if arrays[0][0].dtype.kind == "c":
            # elements of a gradient may share memory, for instance after expand()
            arrays = [[p, numpy.ascontiguousarray(g), *state] for p, g, *state in arrays]
            arrays = [[_real_array(array) for array in row] for row in arrays]
        if not self._run_loop(options, arrays):
            formula = self._whole_formula
            with numpy.errstate(all="ignore"):
                blocks.run(lambda *columns: formula(numpy, options, *columns), arrays, self._joined)

    def _run_loop(self, options: _Options, rows: list[Any]) -> bool:
        """Run the formula as one loop in C; returns False without a loop for these arrays."""
        if self._loop is None:
            return False
        number, names = self._loop
        decay, shrink = options.weight_decay or 0.0, 1.0
        if options.decoupled_weight_decay:
            decay, shrink = 0.0, 1 - options.lr * decay
        numbers = tuple([float(getattr(options, name)) for name in names])
        return bool(
            vectors.run_updates(number, numbers, decay, shrink, bool(options.maximize), bool(options.nesterov), rows)
        )

    def _run_sparse(self, options: _Options, parameter: Tensor, grad: Tensor, *state: Tensor) -> None:
        """Update a parameter and its state by a sparse gradient. Raises RuntimeError if the formula forbids it."""
        if self._of_sparse == "all":
            self._whole_formula(ops, options, parameter, grad, *state)
            return
        if not self._of_sparse:
            name = self._name or type(self).__name__
            raise RuntimeError(f"{name} does not support sparse gradients" + ADVICE.get(name, ""))
        if options.weight_decay:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        gradient = grad._array.coalesce()
        places = gradient.pattern.coordinates
        tensors = (parameter, *state)
        for tensor in tensors:
            in_place.check_writable(tensor)
        # indices are unique after coalescing, so that the elements can be copied out and back
        parts = [tensor._array[places] for tensor in tensors]
        values = [parts[0], gradient.entries, *parts[1:]]
        with numpy.errstate(all="ignore"):
            self._whole_formula(numpy, options, *(map(_real_array, values) if parts[0].dtype.kind == "c" else values))
        for tensor, part in zip(tensors, parts, strict=True):
            tensor._array[places] = part
            graph.bump_version(tensor)

    def _whole_formula(self, xp: Any, k: _Options, p: Any, g: Any, *state: Any) -> None:
        """The formula, after the sign of the gradient and weight decay."""
        if k.maximize:
            g = -g
        if k.weight_decay:
            if k.decoupled_weight_decay:
                p *= 1 - k.lr * k.weight_decay
            else:
                g = g + k.weight_decay * p
        self._formula(xp, k, p, g, *state)


class _Options:
    """Options and coefficients as attributes; missing ones are None."""

    def __init__(self, options: Options) -> None:
        vars(self).update(options)

    def __getattr__(self, name: str) -> Any:
        return None


class _Row(NamedTuple):
    """A parameter, its gradient and the arrays of its state, and the numbers of its state; Tensors, or their arrays.

    new: whether this step made the state.
    """

    new: bool
    tensors: tuple[Any, ...]
    numbers: list[Any]


class _Update:
    """The step of a group as one function of arrays. It has no hash, so that no cache keeps the optimizer alive."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, optimizer: Elementwise, group: Options, news: list[bool]) -> None:
        self.optimizer, self.news = optimizer, news
        self.options = {name: value for name, value in group.items() if name != "params"}
        self.__name__ = type(optimizer).__name__

    def __call__(self, arrays: list[Any], numbers: list[Any], lr: Any) -> None:
        """Update parameters and their state in place. lr: the learning rate as an array, if it is a Tensor."""
        rows = [_Row(new, row, steps) for new, row, steps in zip(self.news, arrays, numbers, strict=True)]
        options = self.options if lr is None else {**self.options, "lr": lr.item()}
        for formula_options, scalars, members in self.optimizer._sets(options, rows, numpy.ndarray.item):
            self.optimizer._run_arrays(formula_options, [list(row.tensors) for row in members])
            for row in members:
                for number, value in zip(row.numbers, scalars.values(), strict=True):
                    number.fill(value)


def _recording_of(rows: list[_Row]) -> Any:
    """The recording that sees the gradients, if it can call a function of their arrays in main memory; else None."""
    for row in rows:
        recording = getattr(row.tensors[1]._array, "recording", None)
        if recording is not None:
            is_dense = not any(isinstance(other.tensors[1]._array, SparseArray) for other in rows)
            return recording if is_dense and recording.twins is None and recording.is_recording else None
    return None


def _real_array(array: Any) -> Any:
    """A view of a complex array as real numbers."""
    return array.view(array.real.dtype) if array.ndim else array.reshape(1).view(array.real.dtype)


def _real(tensor: Tensor) -> Tensor:
    return ops.view_as_real(tensor) if tensor.is_complex() else tensor


def _number(tensor: Tensor) -> float:
    array = tensor._array
    return array.item() if type(array) is numpy.ndarray else float(tensor)


def _set_number(tensor: Tensor, value: float) -> None:
    array = tensor._array
    if type(array) is numpy.ndarray:
        array.fill(value)
        graph.bump_version(tensor)
    else:
        tensor.fill_(value)
