"""Programs of views, operations in place, modes and passes, and a model that has no graph and no aliasing.

The model has the values of every piece of memory. For every history of the memory it has the derivatives of each
element by each element of each leaf, as a matrix that follows the program forward. A tensor is an array of places in a
piece of memory. A view is an indexed array of places, and a write to it changes those rows. A few rules from the
documents decide which tensors may not be modified, and which ones lose their history.

A program is a list of steps. A step is a few numbers, which select the operation and its operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint

COLUMNS = 48
MOST_TENSORS = 12
LARGEST = 24

# the model ----------------------------------------------------------------------------------------------------------


class Refused(Exception):
    """The model refuses an operation. The message of adjoint's error must contain the text, or one of several texts."""


def refusal_of(check: Callable[[], Any]) -> tuple[str, ...]:
    """The texts of a check that refuses, or an empty tuple."""
    try:
        check()
    except Refused as error:
        return error.args
    return ()


class Memory:
    """Flat values, and the number of writes. guarded: a view of the memory has an origin."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.version = 0
        self.guarded = False


class History:
    """Derivatives of all elements of a piece of memory by the leaves, one row each, as seen by one family of views.

    needs: the values that passes through this history need unchanged, as (memory, version). (memory, SHARED) is a part
    of a base whose elements share memory. The cotangent of such a base cannot be split, so passes through it fail.
    """

    def __init__(self, rows: np.ndarray, needs: frozenset[tuple[Memory, int]] = frozenset()) -> None:
        self.rows = rows
        self.needs = needs


class Model:
    """A tensor: places in a piece of memory, and its history.

    leaf: requires_grad was switched on. columns: the columns of the rows that belong to a leaf. node: a recorded
    operation made it. base: the tensor of which it is a view. origin: the reason why it may not be modified. stamp: the
    version of its history.
    """

    def __init__(self, memory: Memory, index: np.ndarray) -> None:
        self.memory, self.index = memory, index
        self.history: History | None = None
        self.leaf = self.node = False
        self.base: Model | None = None
        self.origin: str | None = None
        self.columns: slice | None = None
        self.stamp = memory.version

    @property
    def values(self) -> np.ndarray:
        return self.memory.values[self.index]

    @property
    def requires(self) -> bool:
        return self.leaf or self.node or (self.base is not None and self.base.requires)

    def check_stale(self) -> bool:
        """Whether the base of a view has another history. Raises Refused if the view must not follow."""
        if self.base is None or self.stamp == self.memory.version:
            return False
        if not (self.node or self.base.requires):
            # a base that starts to require gradients later gives this view a history
            return False
        if self.origin is not None:
            raise Refused(STALE_VIEW)
        return True

    def settle(self) -> None:
        """Give a view the current history of its base."""
        if self.check_stale():
            self.follow()

    def follow(self) -> None:
        """Take the history of the base. A base that was detached has no path to the leaves."""
        assert self.base is not None
        self.stamp = self.memory.version
        self.node = self.node or self.base.requires
        self.history = self.base.history if self.base.requires else None

    def rows(self) -> np.ndarray:
        """The derivative of each element."""
        if self.history is None:
            return np.zeros((*self.index.shape, COLUMNS))
        return self.history.rows[self.index]

    def needs(self) -> frozenset[tuple[Memory, int]]:
        return frozenset() if self.history is None else self.history.needs


def fresh(values: np.ndarray) -> Model:
    flat = np.array(values, dtype=float).reshape(-1)
    return Model(Memory(flat), np.arange(flat.size).reshape(np.shape(values)))


def view_of(parent: Model, index: np.ndarray, recording: bool, several: bool = False) -> Model:
    recorded = recording and parent.requires
    if recorded:
        parent.settle()
    view = Model(parent.memory, index)
    view.base = parent if parent.base is None else parent.base
    if not recording:
        view.origin = "no_grad"
    else:
        view.origin = "multi_output" if several else parent.origin
    view.memory.guarded |= view.origin is not None
    if recorded:
        view.node, view.history = True, parent.history
    return view


def meet(index: np.ndarray) -> bool:
    return len(np.unique(index)) < index.size


def dense(index: np.ndarray) -> bool:
    return not meet(index) and bool(index.size) and int(index.max() - index.min()) + 1 == index.size


def partly_over(target: Model, source: Model) -> bool:
    """True if the source and the target share memory at different elements, and have no gaps."""
    if target.memory is not source.memory or not target.index.size or not source.index.size:
        return False
    if np.array_equal(target.index.squeeze(), source.index.squeeze()):
        return False
    apart = target.index.max() < source.index.min() or source.index.max() < target.index.min()
    return dense(target.index) and dense(source.index) and not apart


def may_be_written(target: Model, others_require: bool) -> None:
    """The documents' rules for operations in place while recording."""
    if target.base is not None and (others_require or target.requires):
        if target.origin is not None:
            raise Refused("is being modified inplace")
        if target.requires and not target.base.node:
            raise Refused("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    elif target.base is None and target.leaf:
        raise Refused("a leaf Variable that requires grad is being used in an in-place operation.")


STALE_VIEW = "its base or another view of its base has been modified inplace"
MODIFIED = "has been modified by an inplace operation"
OVERLAP = "more than one element of the written-to tensor refers to a single memory location"
OVERLAP_OF_INPUT = "some elements of the input tensor and the written-to tensor refer to a single memory location"

#: in the place of a version: a pass through this history is refused with `OVERLAP`
SHARED = -1

# operations ---------------------------------------------------------------------------------------------------------

#: name: (function of the values, partial derivatives by each, what the backward pass needs)
Smooth = tuple[Callable[..., Any], Callable[..., list[Any]], str]
SMOOTH: dict[str, Smooth] = {
    "neg": (lambda x: -x, lambda x: [-np.ones_like(x)], ""),
    "sin": (np.sin, lambda x: [np.cos(x)], "inputs"),
    "tanh": (np.tanh, lambda x: [1 - np.tanh(x) ** 2], "result"),
    "add": (lambda x, z: x + z, lambda x, z: [np.ones_like(x), np.ones_like(z)], ""),
    "sub": (lambda x, z: x - z, lambda x, z: [np.ones_like(x), -np.ones_like(z)], ""),
    "mul": (lambda x, z: x * z, lambda x, z: [z, x], "inputs"),
    "copy": (lambda x, z: np.broadcast_to(z, x.shape), lambda x, z: [np.zeros_like(x), np.ones_like(z)], ""),
}
UNARY = ("neg", "sin", "tanh")
BINARY = ("add", "sub", "mul")
NUMBERS = (0.5, -1.0, 2.0)
#: Operations with a number: their values, and the factor of the derivative.
WITH_NUMBER: dict[str, tuple[Callable[[Any, float], Any], Callable[[float], float]]] = {
    "add": (lambda x, c: x + c, lambda c: 1.0),
    "mul": (lambda x, c: x * c, lambda c: c),
    "fill": (lambda x, c: x * 0 + c, lambda c: 0.0),
}


def derivative(name: str, operands: list[Model]) -> tuple[np.ndarray, np.ndarray]:
    """The value and the rows of an operation's result."""
    function, partials, _ = SMOOTH[name]
    values = [operand.values for operand in operands]
    result = function(*values)
    rows = np.zeros((*result.shape, COLUMNS))
    for partial, operand in zip(partials(*values), operands, strict=True):
        part = np.broadcast_to(partial, result.shape)
        operand_rows = operand.rows()
        lead = (1,) * (result.ndim - operand.index.ndim)
        rows = rows + part[..., None] * operand_rows.reshape(*lead, *operand_rows.shape)
    return result, rows


class MeanAndTwice(adjoint.autograd.Function):
    """An operation with two results."""

    @staticmethod
    def forward(ctx: Any, x: adjoint.Tensor) -> Any:
        ctx.shape = x.shape
        return x.mean(), x * 2

    @staticmethod
    def backward(ctx: Any, mean: adjoint.Tensor, twice: adjoint.Tensor) -> Any:
        return twice * 2 + mean.expand(ctx.shape) / ctx.shape.numel()


class Program:
    """One run of adjoint and of the model, step by step."""

    def __init__(self) -> None:
        self.recording = True
        self.columns = 0
        self.models: list[Model] = []
        self.tensors: list[adjoint.Tensor] = []
        for values, requires in (
            (np.linspace(-0.9, 1.1, 6).reshape(2, 3), True),
            (np.linspace(0.3, 1.2, 3), True),
            (np.linspace(-0.5, 0.6, 6).reshape(2, 3), False),
        ):
            model = fresh(values)
            self.keep(model, adjoint.tensor(values, dtype=adjoint.float64))
            if requires:
                self.make_leaf(len(self.models) - 1)

    def keep(self, model: Model, tensor: adjoint.Tensor) -> None:
        self.models.append(model)
        self.tensors.append(tensor)

    def keep_new(self, model: Model, tensor: adjoint.Tensor) -> None:
        """Keep a tensor with new memory. The model's elements have the layout of the tensor."""
        values, rows, memory = model.values, model.rows(), model.memory
        index = np.zeros(model.index.shape, dtype=int)
        for axis, (n, step) in enumerate(zip(index.shape, tensor.stride(), strict=True)):
            index += (np.arange(n) * step).reshape(n, *(1,) * (index.ndim - axis - 1))
        assert dense(index) or not index.size
        model.index = index
        memory.values[index] = values
        if model.history is not None:
            laid_out = np.empty_like(model.history.rows)
            laid_out[index] = rows
            model.history.rows = laid_out
        self.keep(model, tensor)

    def make_leaf(self, i: int) -> None:
        model = self.models[i]
        rows = np.zeros((model.memory.values.size, COLUMNS))
        n = model.index.size
        if model.columns is None:
            model.columns = slice(self.columns, self.columns + n)
            self.columns += n
        # a tensor that was a leaf before becomes the same leaf again
        rows[model.index.reshape(-1), np.arange(COLUMNS)[model.columns]] = 1.0
        model.leaf, model.history = True, History(rows)
        self.tensors[i].requires_grad_()

    # a step is first tried on the model, then run; they must agree on whether it is allowed

    def run(self, kind: int, a: int, b: int, c: int) -> None:
        name = STEPS[kind % len(STEPS)]
        i = a % len(self.models)
        getattr(self, name)(i, b, c)
        self.compare()

    def both(self, plan: Callable[[], Callable[[], None]], action: Callable[[], Any]) -> Any:
        """Run an action that the model allows or refuses. Returns its result, or None if it was refused."""
        commit, refusals = None, ()
        try:
            commit = plan()
        except Refused as error:
            refusals = error.args
        if commit is None:
            with pytest.raises(RuntimeError) as caught:
                action()
            assert any(refusal in str(caught.value) for refusal in refusals)
            return None
        result = action()
        commit()
        return result

    def record(self, operands: list[Model]) -> bool:
        """True if an operation on these is recorded. Then their histories are updated."""
        if not (self.recording and any(operand.requires for operand in operands)):
            return False
        for operand in operands:
            if operand.requires:
                operand.settle()
        return True

    def fitting(self, shape: tuple[int, ...], c: int, exactly: bool) -> int:
        """A tensor that can be broadcast with a shape, or, if exactly, to it."""
        numbers = []
        for j, model in enumerate(self.models):
            try:
                common = np.broadcast_shapes(shape, model.index.shape)
            except ValueError:
                continue
            if (common == shape if exactly else np.prod(common) <= LARGEST) and len(common) <= 3:
                numbers.append(j)
        return numbers[c % len(numbers)] if numbers else -1

    def room(self) -> bool:
        if len(self.models) < MOST_TENSORS:
            return True
        # the two leaves stay
        del self.models[2], self.tensors[2]
        return False

    # operations that make tensors

    def unary(self, i: int, b: int, c: int) -> None:
        if self.room():
            self.new(UNARY[b % len(UNARY)], [i])

    def binary(self, i: int, b: int, c: int) -> None:
        if self.room():
            j = self.fitting(self.models[i].index.shape, c, False)
            if j >= 0:
                self.new(BINARY[b % len(BINARY)], [i, j])

    def new(self, name: str, places: list[int]) -> None:
        operands = [self.models[j] for j in places]
        models: list[Model] = []

        def plan() -> Callable[[], None]:
            recorded = self.record(operands)
            values, rows = derivative(name, operands)
            model = fresh(values)
            if recorded:
                needs = frozenset().union(*[m.needs() for m in operands if m.requires])
                keeps = {"inputs": operands, "result": [model], "": []}[SMOOTH[name][2]]
                needs |= {(m.memory, m.memory.version) for m in keeps}
                model.node = True
                model.history = History(rows.reshape(-1, COLUMNS), needs)
            return lambda: models.append(model)

        first, *rest = [self.tensors[j] for j in places]
        result = self.both(plan, lambda: getattr(first, name)(*rest))
        if result is not None:
            self.keep_new(models[0], result)

    def clone(self, i: int, b: int, c: int) -> None:
        if not self.room():
            return
        source = self.models[i]
        models: list[Model] = []

        def plan() -> Callable[[], None]:
            recorded = self.record([source])
            model = fresh(source.values)
            if recorded:
                model.node = True
                model.history = History(source.rows().reshape(-1, COLUMNS), source.needs())
            return lambda: models.append(model)

        result = self.both(plan, lambda: self.tensors[i].clone())
        if result is not None:
            self.keep_new(models[0], result)

    def second(self, i: int, b: int, c: int) -> None:
        """The second of two results, neither of which is a view."""
        source = self.models[i]
        if not self.room() or not source.index.size:
            return
        models: list[Model] = []

        def plan() -> Callable[[], None]:
            recorded = self.record([source])
            model = fresh(2 * source.values)
            if recorded:
                model.node = True
                model.history = History(2 * source.rows().reshape(-1, COLUMNS), source.needs())
            return lambda: models.append(model)

        results = self.both(plan, lambda: MeanAndTwice.apply(self.tensors[i]))
        if results is not None:
            self.keep_new(models[0], results[1])

    def detach(self, i: int, b: int, c: int) -> None:
        if self.room():
            source = self.models[i]
            self.keep(Model(source.memory, source.index), self.tensors[i].detach())

    def switch_on(self, i: int, b: int, c: int) -> None:
        """requires_grad_() on a tensor that is not a view and has no history."""
        model = self.models[i]
        fits = self.columns + model.index.size <= COLUMNS
        if model.base is None and not model.requires and fits and not meet(model.index):
            self.make_leaf(i)

    def detach_in_place(self, i: int, b: int, c: int) -> None:
        model = self.models[i]

        def plan() -> Callable[[], None]:
            if model.base is not None:
                raise Refused("Can't detach views in-place.")

            def commit() -> None:
                model.leaf = model.node = False
                model.history = None

            return commit

        # a leaf that is detached keeps no gradient that could be compared
        if i > 1:
            self.both(plan, lambda: self.tensors[i].detach_())

    def detach_base(self, i: int, b: int, c: int) -> None:
        """detach_() of a view's base, in the current mode or in the other one."""
        base = self.models[i].base
        if base is None or base not in self.models:
            return
        with adjoint.set_grad_enabled(self.recording is not bool(b % 2)):
            self.detach_in_place(self.models.index(base), b, c)

    def mode(self, i: int, b: int, c: int) -> None:
        self.recording = not self.recording
        adjoint.set_grad_enabled(self.recording)

    # views

    def view(self, i: int, b: int, c: int) -> None:
        if not self.room():
            return
        model, tensor = self.models[i], self.tensors[i]
        choices = views(model, c)
        _, of_index, of_tensor = choices[b % len(choices)]
        models: list[Model] = []

        def plan() -> Callable[[], None]:
            # a view of a stale tensor is refused, like other operations on it
            view = view_of(model, of_index(model.index), self.recording)
            return lambda: models.append(view)

        result = self.both(plan, lambda: of_tensor(tensor))
        if result is not None:
            self.keep(models[0], result)

    def several(self, i: int, b: int, c: int) -> None:
        model, tensor = self.models[i], self.tensors[i]
        if not self.room() or not model.index.ndim or not model.index.shape[0]:
            return
        n = model.index.shape[0]
        sizes = [1, n - 1] if n > 1 else [1]
        pieces: list[tuple[Any, Any]] = [
            (list(model.index), lambda: tensor.unbind(0)),
            (np.split(model.index, [1])[: len(sizes)], lambda: tensor.split(sizes)),
            ([model.index[k : k + 2] for k in range(0, n, 2)], lambda: tensor.split(2)),
        ]
        indices, action = pieces[b % len(pieces)]
        models: list[Model] = []

        def plan() -> Callable[[], None]:
            parts = [view_of(model, np.asarray(index), self.recording, True) for index in indices]
            return lambda: models.extend(parts)

        results = self.both(plan, action)
        if results is not None:
            assert len(results) == len(models)
            k = c % len(models)
            self.keep(models[k], results[k])

    # operations in place

    def unary_in_place(self, i: int, b: int, c: int) -> None:
        name = UNARY[b % len(UNARY)]
        self.modify(i, name, [i], lambda: getattr(self.tensors[i], name + "_")())

    def binary_in_place(self, i: int, b: int, c: int) -> None:
        name = (*BINARY, "copy")[b % (len(BINARY) + 1)]
        j = self.fitting(self.models[i].index.shape, c, True)
        if j >= 0:
            self.modify(i, name, [i, j], lambda: getattr(self.tensors[i], name + "_")(self.tensors[j]))

    def modify(self, i: int, name: str, places: list[int], action: Callable[[], Any]) -> None:
        target, operands = self.models[i], [self.models[j] for j in places]

        def plan() -> Callable[[], None]:
            if self.recording:
                may_be_written(target, any(m.requires for m in operands))
            self.check_memory(target, operands[1:])
            recorded = self.record(operands)
            values, rows = derivative(name, operands)
            needs = frozenset().union(*[m.needs() for m in operands if m.requires])
            # a copy of the target has the value before the write
            if SMOOTH[name][2] == "inputs":
                needs |= {(m.memory, m.memory.version) for m in operands if m is not target}
            elif SMOOTH[name][2] == "result":
                needs |= {(target.memory, target.memory.version + 1)}
            return lambda: self.write(target, values, rows, needs, recorded)

        self.both(plan, action)

    def number_in_place(self, i: int, b: int, c: int) -> None:
        target, number = self.models[i], NUMBERS[c % len(NUMBERS)]
        name = list(WITH_NUMBER)[b % len(WITH_NUMBER)]
        function, factor = WITH_NUMBER[name]

        def plan() -> Callable[[], None]:
            if self.recording:
                may_be_written(target, False)
            if name != "fill":
                self.check_memory(target, [])
            recorded = self.record([target])
            rows = factor(number) * target.rows()
            values = function(target.values, number)
            return lambda: self.write(target, values, rows, target.needs(), recorded)

        self.both(plan, lambda: getattr(self.tensors[i], name + "_")(number))

    def check_memory(self, target: Model, sources: list[Model]) -> None:
        if self.recording and target.requires:
            # its history is updated first
            target.settle()
        if meet(target.index):
            raise Refused(OVERLAP)
        if any(partly_over(target, source) for source in sources):
            raise Refused(OVERLAP_OF_INPUT)

    def write(self, target: Model, values: Any, rows: np.ndarray, needs: Any, recorded: bool) -> None:
        memory, base = target.memory, target if target.base is None else target.base
        memory.values[target.index] = values
        memory.version += 1
        if recorded:
            before = np.zeros((memory.values.size, COLUMNS)) if base.history is None else base.history.rows
            after = before.copy()
            after[target.index] = rows
            if target is not base and meet(base.index):
                needs |= {(memory, SHARED)}
            base.history = History(after, base.needs() | needs)
            base.node, base.leaf = True, False
            if target is not base:
                # the modified tensor keeps this history, even if the base changes later
                target.follow()

    def assign(self, i: int, b: int, c: int) -> None:
        """Item assignment: of a number, or of a tensor that is broadcast, at an index of any kind."""
        target, tensor = self.models[i], self.tensors[i]
        shape = target.index.shape
        if not shape or 0 in shape:
            return
        n = shape[0]
        key: Any = [
            b // 8 % n,
            slice(b // 8 % n, None, 1 + c % 2),
            (*(slice(None),) * (len(shape) - 1), b // 8 % shape[-1]),
            np.array([0, n - 1, 0])[: 1 + c % 2 + (n == 1)],
            np.arange(n) % 2 == 0,
        ][b % 5]
        picked = target.index[key]
        advanced = isinstance(key, np.ndarray)
        if advanced and key.dtype != bool and len(set(key.tolist())) < len(key):
            return
        j = self.fitting(picked.shape, c, True) if b // 40 % 2 else -1
        number = NUMBERS[c % len(NUMBERS)]
        source = None if j < 0 else self.models[j]

        def plan() -> Callable[[], None]:
            part = self.part(target, picked)
            values = np.broadcast_to(number if source is None else source.values, picked.shape)
            if self.recording:
                if target.requires and not advanced:
                    # the view that is written to is recorded
                    target.settle()
                destination, of_source = target if advanced else part, source is not None and source.requires
                stale: tuple[str, ...] = ()
                if advanced and source is not None and of_source:
                    # a view without leading axes of size 1 is recorded before the target is checked
                    stale = refusal_of(source.settle if source.index.shape[:1] == (1,) else source.check_stale)
                if stale:
                    # which of several errors is raised depends on whether the source broadcasts
                    overlap = refusal_of(lambda: self.check_memory(target, []))
                    raise Refused(*stale, *refusal_of(lambda: may_be_written(destination, of_source)), *overlap)
                may_be_written(destination, of_source)
            if advanced:
                self.check_memory(target, [])
            else:
                self.check_memory(part, [] if source is None else [source])
            operands = [target] if source is None else [target, source]
            recorded = self.record(operands)
            rows = np.broadcast_to(0.0 if source is None else source.rows(), (*picked.shape, COLUMNS))
            needs = frozenset().union(*[m.needs() for m in operands if m.requires])

            def commit() -> None:
                self.write(part, values, rows, needs, recorded)
                if advanced and recorded and target.base is not None:
                    # the operation modifies the tensor itself
                    target.follow()

            return commit

        where = adjoint.tensor(key) if advanced else key

        def action() -> None:
            tensor[where] = number if j < 0 else self.tensors[j]

        self.both(plan, action)

    def part(self, target: Model, index: np.ndarray) -> Model:
        """The view that item assignment writes to."""
        view = Model(target.memory, index)
        view.base = target if target.base is None else target.base
        view.origin, view.node = target.origin, target.requires
        return view

    def reshape_in_place(self, i: int, b: int, c: int) -> None:
        model, tensor = self.models[i], self.tensors[i]
        if model.index.ndim > 2 or (model.leaf and not self.recording):
            return
        index, action = [
            (model.index.T, tensor.t_),
            (model.index[None], lambda: tensor.unsqueeze_(0)),
            (model.index.squeeze(), tensor.squeeze_),
        ][b % 3]

        def plan() -> Callable[[], None]:
            if self.recording:
                may_be_written(model, False)
            if model.node or (self.recording and model.requires):
                model.settle()

            def commit() -> None:
                model.index = index
                model.memory.version += 1
                model.node = model.node or (self.recording and model.requires)
                if model.node:
                    model.stamp = model.memory.version

            return commit

        self.both(plan, action)

    # passes and properties

    def differentiate(self, i: int, b: int, c: int) -> None:
        model, tensor = self.models[i], self.tensors[i]
        if not model.requires:
            return
        leaves = [j for j, other in enumerate(self.models) if other.leaf and other.base is None]
        cotangent = np.cos(np.arange(model.index.size) + b).reshape(model.index.shape)
        # errors that may end a pass, besides those before its beginning
        texts = [MODIFIED, OVERLAP]

        def plan() -> Callable[[], None]:
            model.settle()
            if c % 2:
                texts.append(STALE_VIEW)
            if model.base is not None and not model.node:
                raise Refused("element 0 of tensors does not require grad and does not have a grad_fn")
            return lambda: None

        def action() -> list[Any] | RuntimeError:
            try:
                return list(
                    adjoint.autograd.grad(
                        tensor,
                        [self.tensors[j] for j in leaves],
                        adjoint.tensor(cotangent, dtype=adjoint.float64),
                        retain_graph=True,
                        create_graph=bool(c % 2),
                        allow_unused=True,
                    )
                )
            except RuntimeError as error:
                if not any(text in str(error) for text in texts):
                    raise
                return error

        result = self.both(plan, action)
        if result is None:
            return
        if isinstance(result, RuntimeError):
            needs = model.needs()
            if OVERLAP in str(result):
                assert any(version == SHARED for _, version in needs), result
            elif STALE_VIEW in str(result):
                # the base of a saved view got a gradient later, and recorded formulas need the history of the view
                assert any(memory.guarded and memory.version for memory, _ in needs), result
            else:
                assert any(version not in (SHARED, memory.version) for memory, version in needs), result
            return
        rows = np.tensordot(cotangent, model.rows(), model.index.ndim)
        for j, gradient in zip(leaves, result, strict=True):
            leaf = self.models[j]
            expected = rows[leaf.columns].reshape(leaf.index.shape)
            actual = np.zeros(leaf.index.shape) if gradient is None else gradient.detach().numpy()
            np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-10)

    def look(self, i: int, b: int, c: int) -> None:
        """Read is_leaf and grad_fn. This may raise, and it updates histories."""
        model, tensor = self.models[i], self.tensors[i]

        def plan() -> Callable[[], None]:
            model.settle()
            return lambda: None

        result = self.both(plan, lambda: (tensor.is_leaf, tensor.grad_fn))
        if result is not None:
            assert result[0] is (not model.node) and (result[1] is None) is (not model.node)

    def compare(self) -> None:
        """Compare all properties of all tensors that do not need their history."""
        for model, tensor in zip(self.models, self.tensors, strict=True):
            np.testing.assert_allclose(tensor.detach().numpy(), model.values, rtol=1e-9, atol=1e-12)
            assert tensor._version == model.memory.version
            assert tensor.requires_grad is model.requires
            assert tensor._is_view() is (model.base is not None)
            if model.base in self.models:
                assert tensor._base is self.tensors[self.models.index(model.base)]


View = tuple[str, Callable[[np.ndarray], np.ndarray], Callable[[Any], Any]]


def views(model: Model, c: int) -> list[View]:
    """The views of a tensor of this shape, on places and on tensors."""
    shape = model.index.shape
    choices: list[View] = [("alias", lambda x: x[...], lambda x: x[...])]
    if len(shape) < 3:
        choices.append(("unsqueeze", lambda x: x[..., None], lambda x: x.unsqueeze(-1)))
        if model.index.size * 2 <= LARGEST:
            choices.append(("expand", lambda x: np.broadcast_to(x, (2, *shape)), lambda x: x.expand(2, *shape)))
    if shape and shape[0]:
        k = c % shape[0]
        choices += [
            ("select", lambda x: x[k], lambda x: x[k]),
            ("slice", lambda x: x[k:], lambda x: x[k:]),
            ("steps", lambda x: x[::2], lambda x: x[::2]),
            ("last", lambda x: x[..., -1], lambda x: x.select(-1, -1)),
        ]
        if len(shape) < 3:
            windows = np.lib.stride_tricks.sliding_window_view
            if shape[0] > 1:
                choices.append(("unfold", lambda x: windows(x, 2, 0), lambda x: x.unfold(0, 2, 1)))
    if len(shape) >= 2:
        choices += [
            ("transpose", lambda x: np.swapaxes(x, 0, -1), lambda x: x.transpose(0, -1)),
            ("diagonal", lambda x: np.diagonal(x), lambda x: x.diagonal()),
        ]
    flat = model.index.reshape(-1)
    if flat.size and (np.diff(flat) == 1).all():
        choices.append(("flatten", lambda x: x.reshape(-1), lambda x: x.view(-1)))
    if model.base is None and flat.size > 2 and np.array_equal(flat, np.arange(model.memory.values.size)):
        choices.append(("strided", lambda x: np.array([[0, 1], [1, 2]]), lambda x: x.as_strided((2, 2), (1, 1))))
    return choices


STEPS = (
    *("unary", "binary", "binary", "second", "clone", "detach", "switch_on", "mode"),
    *("detach_in_place", "detach_base"),
    *("view", "view", "view", "several"),
    *("unary_in_place", "binary_in_place", "binary_in_place", "number_in_place"),
    *("assign", "assign", "reshape_in_place"),
    *("differentiate", "differentiate", "look"),
)


def run(steps: list[tuple[int, int, int, int]], say: Callable[[str], Any] = lambda line: None) -> None:
    """Run a program and compare it with the model; AssertionError where they differ. say: gets each step in words."""
    before = adjoint.is_grad_enabled()
    try:
        program = Program()
        for step in steps:
            say(f"{STEPS[step[0] % len(STEPS)]} {step[1] % len(program.models)} {step[2:]}")
            program.run(*step)
        for i in range(len(program.models)):
            program.differentiate(i, i, i)
            program.look(i, 0, 0)
    finally:
        adjoint.set_grad_enabled(before)
