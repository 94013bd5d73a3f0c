"""Places in the graph that cotangents flow to, and hooks that wait for several of them."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.arrays.size import type_name
from adjoint.core import errors, graph
from adjoint.core.engine import run_number, will_run
from adjoint.core.graph import TensorBase, gradient_edge, needs_grad
from adjoint.core.hooks import RemovableHandle
from adjoint.runtime.forks import new_lock

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class Node(abc.ABC):
    """The abstract class of all nodes of the graph: operations, custom functions and leaves.

    >>> import adjoint
    >>> y = adjoint.ones(2, requires_grad=True).exp()
    >>> isinstance(y.grad_fn, adjoint.autograd.graph.Node), y.grad_fn.name()
    (True, 'ExpBackward0')
    """

    __slots__ = ()

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        is_node = cls is Node and issubclass(subclass, graph.Node)  # type: ignore[comparison-overlap]
        return True if is_node else NotImplemented

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the node.

        >>> import adjoint
        >>> (adjoint.ones(2, requires_grad=True) * 2).grad_fn.name()
        'MulBackward0'
        """

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, as pairs (node, number of the output that was the input).

        A pair is (None, 0) for an input that needs no gradient.
        """

    @property
    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes about the node.

        It lives as long as the node.
        """

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> tuple[Any, ...]:
        """Shape and dtype of the cotangents that the node receives, for each output of its operation."""

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node has run; a returned tuple replaces grad_inputs.

        >>> import adjoint
        >>> a = adjoint.zeros(3, requires_grad=True)
        >>> b = a.clone()
        >>> handle = b.grad_fn.register_hook(lambda gI, gO: (gO[0] * 2,))
        >>> b.sum().backward()
        >>> a.grad
        tensor([2., 2., 2.])
        """

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs; a returned tuple replaces grad_outputs.

        >>> import adjoint
        >>> a = adjoint.zeros(3, requires_grad=True)
        >>> b = a.clone()
        >>> handle = b.grad_fn.register_prehook(lambda gO: (gO[0] * 2,))
        >>> b.sum().backward()
        >>> a.grad
        tensor([2., 2., 2.])
        """

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Call the hooks of a tensor with the cotangent of the tensor's output when the node receives it."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int:
        """The number of this node; later nodes have larger numbers."""


class GradientEdge(NamedTuple):
    """An output of a node: where the cotangent of a tensor is delivered. `backward` and `grad` take it for a tensor.

    node: the tensor's grad_fn, or the node that accumulates into a leaf. output_nr: which of its outputs.
    ownership_token: an object that must live as long as the edge; None here, since the node keeps all that it needs.
    """

    node: Node
    output_nr: int
    ownership_token: object = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor that requires grad; unlike the tensor, it does not keep the values in memory.

    Raises RuntimeError for a tensor that does not require grad, and TypeError for an object that is no tensor. Raises
    AssertionError for a view without a node, which was created without recording and shows the flag of its base.

    >>> import adjoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> edge = adjoint.autograd.graph.get_gradient_edge(y)
    >>> adjoint.autograd.grad(edge, x, adjoint.ones(2))
    (tensor([3., 3.]),)
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(errors.must_be_tensor("get_gradient_edge", "tensor", 0, tensor))
    if not needs_grad(tensor):
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = gradient_edge(tensor)
    if node is None:
        # a view without history that shows the flag of its base
        raise AssertionError("Expected gradient function to be set")
    return GradientEdge(node, tensor._output_nr)


class _MultiHandle(RemovableHandle):
    """Takes several hooks away together."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Remove the hooks; a second call does nothing."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Have `fn` called in every backward pass that computes gradients of the given tensors.

    mode "all": once per pass, when all gradients that the pass computes are there, as `fn(gradients)` with None for
    tensors that the pass does not reach. mode "any": once per pass, as `fn(gradient)` with the first of them; tensors
    that do not require grad are left out.

    Raises ValueError for another mode, AssertionError in mode "all" for a tensor that does not require grad, TypeError
    for an object that is no tensor.

    >>> import adjoint
    >>> a = adjoint.ones(2, requires_grad=True)
    >>> b = adjoint.ones(2, requires_grad=True)
    >>> handle = adjoint.autograd.graph.register_multi_grad_hook([a, b], print)
    >>> (a * 2 + b).sum().backward()
    [tensor([2., 2.]), tensor([1., 1.])]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = list(tensors)
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, TensorBase):
            message = f"expected Tensor as element {index} in argument 0, but got {type_name(tensor)}"
            raise TypeError(f"register_multi_grad_hook(): {message}")
    if mode == "any":
        tensors = [tensor for tensor in tensors if needs_grad(tensor)]
    # views that were made without recording show the flag of their base, and have no node
    nodes = [gradient_edge(tensor) if needs_grad(tensor) else None for tensor in tensors]
    if None in nodes:
        raise AssertionError("Expected gradient function to be set")
    make = _WaitForAll if mode == "all" else _TakeFirst
    hooks = make(nodes, fn)
    return _MultiHandle([tensor.register_hook(hooks.of(i)) for i, tensor in enumerate(tensors)])


class _WaitForAll:
    """Collects, for each pass that is running, the gradients that have arrived."""

    def __init__(self, nodes: list[graph.Node], fn: Callable[[list[Tensor | None]], None]) -> None:
        self.nodes = nodes
        self.fn = fn
        # by the number of the pass: the count of missing cotangents, and the cotangents received
        self.waiting: dict[int, tuple[int, list[Tensor | None]]] = {}
        self.lock = new_lock()

    def of(self, i: int) -> Callable[[Tensor], None]:
        """The hook for the i-th tensor."""

        def hook(gradient: Tensor) -> None:
            number = run_number()
            with self.lock:
                missing, gradients = self.waiting.get(number) or (
                    sum(map(will_run, self.nodes)),
                    [None] * len(self.nodes),
                )
                gradients[i] = gradient
                self.waiting[number] = missing - 1, gradients
                if missing > 1:
                    return
                del self.waiting[number]
            self.fn(gradients)

        return hook


class _TakeFirst:
    """Remembers which passes have brought a gradient."""

    def __init__(self, nodes: list[graph.Node], fn: Callable[[Tensor], None]) -> None:
        self.fn = fn
        self.last = -1
        self.lock = new_lock()

    def of(self, i: int) -> Callable[[Tensor], None]:
        """The hook for the i-th tensor."""

        def hook(gradient: Tensor) -> None:
            number = run_number()
            with self.lock:
                if self.last >= number:
                    return
                self.last = number
            self.fn(gradient)

        return hook


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted for programs written for torch, without effect: NumPy has no streams.

    enabled: a bool; another value causes a warning.
    """
    if not isinstance(enabled, bool):
        warnings.warn(f"expected a bool, got {enabled!r}", stacklevel=2)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted for programs written for torch: no CUDA graph captures a backward pass of NumPy's or CuPy's arrays.

    Raises TypeError for anything but a bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")


def as_edge(target: TensorBase | GradientEdge) -> GradientEdge:
    """The edge of a tensor, or the edge given. Raises RuntimeError for an edge that does not begin with a node."""
    if not isinstance(target, GradientEdge):
        return GradientEdge(gradient_edge(target), target._output_nr)
    if not isinstance(target.node, graph.Node):
        raise RuntimeError(
            f"GradientEdge's first object must be an autograd.graph.Node but got {type_name(target.node)}"
        )
    return target
