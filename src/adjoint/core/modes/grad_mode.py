"""Switching recording on and off: no_grad, inference_mode ..., as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import Any, Self, TypeVar, overload

from adjoint.arrays.size import printed
from adjoint.core import errors
from adjoint.core.graph import TensorBase, bump_version, counter_of
from adjoint.core.modes.state import EXCHANGE, SET, ModeBlock, current, set_mode

F = TypeVar("F", bound=Callable[..., Any])

DECORATED_CLASS = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
    "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
    "and nothing else."
)


class _GradMode(ModeBlock):
    """A context manager for one value of a mode; as a decorator it makes a fresh one for every call."""

    _mode = "grad_enabled"
    _enabled: bool

    def _changes(self) -> Any:
        return ((SET, self._mode, self._enabled),)

    def clone(self) -> Self:
        """A fresh block of this mode."""
        return type(self)()

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(DECORATED_CLASS, FutureWarning, stacklevel=2)
        if inspect.isgeneratorfunction(function):
            return self._decorate_generator(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                return await _Steps(self, function(*args, **kwargs))

            return coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    def _decorate_generator(self, function: F) -> F:
        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from self._step(function(*args, **kwargs)))

        return generator  # type: ignore[return-value]

    def _step(self, body: Any) -> Generator[Any, Any, Any]:
        """Run a generator or coroutine; the mode holds while its body runs, not while its consumer or others do."""
        step, value = body.send, None
        try:
            while True:
                with self.clone():
                    try:
                        result = step(value)
                    except StopIteration as stop:
                        return stop.value
                try:
                    step, value = body.send, (yield result)
                except GeneratorExit:
                    with self.clone():
                        body.close()
                    raise
                except BaseException as error:
                    step, value = body.throw, error
        finally:
            body.close()


class _Steps:
    """The awaitable of a decorated coroutine: its body, step by step."""

    def __init__(self, mode: _GradMode, body: Any) -> None:
        self._mode = mode
        self._body = body

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._mode._step(self._body)


class _FixedMode(_GradMode):
    """A mode that is always the same, so that it also decorates without parentheses: `@no_grad`."""

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: Callable[..., Any]) -> Any: ...
    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        if function is None:
            return mode
        mode.__init__()
        return mode(function)


class no_grad(_FixedMode):
    """Switches recording off: results do not require a gradient, and nothing is saved.

    >>> import adjoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> with adjoint.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _enabled = False


class enable_grad(_FixedMode):
    """Switches recording on again inside no_grad.

    >>> import adjoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> with adjoint.no_grad(), adjoint.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    _enabled = True


class recording(ModeBlock):
    """A block in which recording is on, or off, from its beginning to its end."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    def _changes(self) -> Any:
        return ((SET, "grad_enabled", self._enabled),)


class set_grad_enabled(_GradMode):
    """Switches recording on or off by its argument: at once when called, undone at the end of a with block.

    >>> import adjoint
    >>> with adjoint.set_grad_enabled(False):
    ...     adjoint.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            type_of_mode = type(mode).__name__
            name = type(self).__name__
            raise TypeError(f"{name}(): argument 'enabled' (position 1) must be bool, not {type_of_mode}")
        self.mode = mode
        self._outer = set_mode(self._mode, self._value(mode))
        self._fresh = True

    @staticmethod
    def _value(enabled: bool) -> bool:
        """The value of the mode."""
        return enabled

    def _changes(self) -> Any:
        value = self._value(self.mode)
        if not self._fresh:
            return ((SET, self._mode, value),)
        # the object switches when it is created; the exit restores the setting before that
        self._fresh = False
        return ((EXCHANGE, self._mode, (value, self._outer)),)

    def clone(self) -> Self:
        """A new block with this argument; it switches at once."""
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"{printed.module}.autograd.grad_mode.{type(self).__name__}(mode={self.mode})"

    def __call__(self, function: F) -> F:
        set_mode(self._mode, self._outer)
        return super().__call__(function)


class inference_mode(_GradMode):
    """Switches recording off; new tensors never take part in a graph, and have no version counter.

    Such tensors can be read and modified inside the block; outside, operations that would save them for a backward
    pass, modify them, or switch requires_grad on raise RuntimeError. `inference_mode(False)` inside a block leaves it.

    >>> import adjoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> with adjoint.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        block = super().__new__(cls)
        if isinstance(mode, bool):
            return block
        # as a decorator without parentheses
        block.__init__(True)
        return block(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _changes(self) -> Any:
        return (SET, "inference", self.mode), (SET, "grad_enabled", not self.mode), (SET, "forward_off", self.mode)

    def clone(self) -> Self:
        """A fresh block with this argument."""
        return type(self)(self.mode)


def is_inference(input: TensorBase) -> bool:
    """True for a tensor that was created in inference mode.

    Raises TypeError for an input that is no tensor.

    >>> import adjoint
    >>> with adjoint.inference_mode():
    ...     x = adjoint.ones(2)
    >>> adjoint.is_inference(x)
    True
    """
    if not isinstance(input, TensorBase):
        raise TypeError(errors.must_be_tensor("is_inference", "input", 0, input))
    return input.is_inference()


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode`, in the calling thread.

    >>> import adjoint
    >>> with adjoint.inference_mode():
    ...     adjoint.is_inference_mode_enabled()
    True
    """
    return current().inference


class set_multithreading_enabled(set_grad_enabled):
    """Whether a backward pass may use several threads, for programs written for torch; here it runs in the caller's.

    >>> import adjoint
    >>> with adjoint.autograd.set_multithreading_enabled(False):
    ...     adjoint.autograd.is_multithreading_enabled()
    False
    """

    _mode = "multithreading"


def is_multithreading_enabled() -> bool:
    """True if backward passes may use several threads: the value that `set_multithreading_enabled` has set.

    >>> import adjoint
    >>> adjoint.autograd.is_multithreading_enabled()
    True
    """
    return current().multithreading


def is_view_replay_enabled() -> bool:
    """True: a view's history is always recomputed from its operations, never from as_strided alone.

    In torch a switch selects this, and it is off by default.
    """
    return True


class enforce_grad_layout_policy(set_grad_enabled):
    """Sets whether a first gradient gets the strides of its leaf (row-major if the leaf has gaps).

    If False, a buffer that the backward pass no longer needs becomes .grad with its own strides. This saves a copy, and
    assigned gradients with other strides cause no warning. Holds for the calling thread; also a function and a
    decorator.

    >>> import adjoint
    >>> x = adjoint.ones(2, 3).t().requires_grad_()
    >>> with adjoint.autograd.enforce_grad_layout_policy(True):
    ...     (x * 2).sum().backward()
    >>> x.grad.stride()
    (1, 3)
    """

    _mode = "enforce_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class _unsafe_preserve_version_counter:
    """A block after which the given tensors have the versions they had before, whatever was written to them inside.

    A saved tensor that was overwritten there gives silently wrong gradients.

    >>> import adjoint
    >>> x = adjoint.ones(2)
    >>> with adjoint.autograd._unsafe_preserve_version_counter(x):
    ...     x = x.add_(1)
    >>> x._version
    0
    """

    def __init__(self, tensors: TensorBase | tuple[TensorBase, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, TensorBase) else tuple(tensors)
        self.prev_versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        """The constructor has read the versions already."""

    def __exit__(self, *exception: object) -> None:
        for tensor, version in zip(self.tensors, self.prev_versions, strict=True):
            counter_of(tensor).value = version


def increment_version(tensor: TensorBase | Iterable[TensorBase]) -> None:
    """Report that tensors were modified in place outside of adjoint, for example through `numpy()`.

    Raises RuntimeError unless the argument is a Tensor or an iterable of them. Inference tensors have no versions.

    >>> import adjoint
    >>> x = adjoint.ones(2)
    >>> x.numpy()[0] = 5.0
    >>> adjoint.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if isinstance(tensor, TensorBase):
        tensor = (tensor,)
    elif not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    tensors = list(tensor)
    if not all(isinstance(member, TensorBase) for member in tensors):
        raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
    for member in tensors:
        bump_version(member)
