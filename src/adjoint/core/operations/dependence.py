"""Dependence in the graph, and the functions that adjoint itself differentiates.

Inside such a function a conversion to a plain number or array would lose the requested derivative. There it raises an
error that names the line. Elsewhere the caller may intend the conversion, and gets a warning.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Any

from adjoint.core import errors
from adjoint.core.graph import AccumulateGrad, TensorBase, is_older, node_of, nodes_behind, registry
from adjoint.core.locations import caller_of_libraries, description
from adjoint.core.modes.batches import transforming
from adjoint.core.modes.state import PUSH, SET, ModeBlock, current, is_grad_enabled

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

LOST_DERIVATIVE = (
    "{what} is a plain value, so that the derivative of the function which is being differentiated would be lost{at}. "
    "Compute with functions that keep it ({instead}); if the value is to count as a constant, say so with {constant}"
)
IN_SCIPY = "Inside of SciPy: {names} keep it, called in the place of SciPy's own"
#: For SciPy's packages that adjoint.scipy lacks: the modules whose functions keep derivatives.
OF_SCIPY = {"sparse": "adjoint.sparse.linalg", "cluster": None, "constants": None, "differentiate": None,
            "fftpack": "adjoint.scipy.fft", "io": None, "odr": "adjoint.scipy.optimize"}  # fmt: skip
#: The error text of an extension module that takes NumPy arrays only.
NOT_PLAIN = re.compile(r"must be (a )?numpy\.ndarray, not (Array|Tensor)")
NO_EXTENSION = (
    "a function of an extension, which works on the memory of plain arrays, was given a differentiable one{at} "
    "({error}). The functions of adjoint.scipy, and splu and spsolve of adjoint.sparse.linalg, keep derivatives; if "
    "the value is to count as a constant, say so with adjoint.numpy.detach(x)"
)
INSTEAD = "x.sin() for math.sin(x), adjoint.stack or a tensor that is assigned to for a plain array of numbers"


class LostDerivativeError(RuntimeError, TypeError):
    """A differentiated function converts a value that its derivative depends on to a plain number or array."""


def history(tensors: Iterable[TensorBase]) -> list[Any]:
    """The nodes that led to some tensors, each once; leaves are accumulators."""
    return nodes_behind([node_of(tensor) for tensor in tensors if tensor.requires_grad])


def leads_elsewhere(outputs: Iterable[TensorBase], leaves: Iterable[Tensor], since: int = 0) -> bool:
    """True if the outputs depend on a leaf that requires a gradient and is not one of these leaves.

    since: the sequence number at which the leaves were made. An older node leads to other leaves, so that the time does
    not grow with the graph that was there before.
    """
    roots = [node_of(tensor) for tensor in outputs if tensor.requires_grad]
    return leads_outside(roots, {id(tensor) for tensor in leaves}, since)


def leads_outside(roots: list[Any], ids: Container[int], since: int) -> bool:
    """True if nodes lead to a leaf, or to a node that is older than a sequence number.

    Leaves with these ids do not count, and neither do leaves of a differentiated run that is over.
    """
    for node in nodes_behind(roots, since):
        if isinstance(node, AccumulateGrad):
            if id(node.variable) not in ids and not is_over(node.variable):
                return True
        elif is_older(node, since):
            return True
    return False


def is_over(tensor: Tensor) -> bool:
    """True for a tensor that has escaped from a differentiated run.

    Backward passes also reach tensors that the nodes of a run have saved, which are unchanged.
    """
    return tensor._level is not None and not tensor._level.alive and current().run is None


def is_followed(tensor: Tensor) -> bool:
    """Whether a tensor of a differentiated run that is over needs a gradient: of leaves outside of that run."""
    if not is_over(tensor):
        return True
    if tensor._requires:
        return False
    level = tensor._level
    while level.outer is not None and not level.outer.alive:
        level = level.outer
    return leads_outside([tensor._node], set(), level.since)


registry.is_followed = is_followed


def depends(outputs: Iterable[Tensor], targets: Iterable[Tensor]) -> bool:
    """True if an output depends on one of these tensors by the graph, or is one."""
    outputs, targets = list(outputs), list(targets)
    leaves = {id(tensor) for tensor in targets if tensor.is_leaf}
    nodes = {node_of(tensor) for tensor in targets if not tensor.is_leaf}
    return any(id(output) in leaves for output in outputs) or any(
        node in nodes or (isinstance(node, AccumulateGrad) and id(node.variable) in leaves) for node in history(outputs)
    )


class differentiating(ModeBlock):
    """A with block that runs a function which will be differentiated by these tensors, backward.

    In forward mode the tensors are empty: the tangents of each tensor show its dependence.
    """

    def __init__(self, targets: Iterable[Tensor]) -> None:
        self.targets = tuple([tensor for tensor in targets if isinstance(tensor, TensorBase) and tensor.requires_grad])

    def _changes(self) -> Any:
        return ((PUSH, "differentiated", self.targets),)

    def _after_exit(self, error: BaseException | None) -> None:
        show_cause(error)


class recording_run(transforming):
    """A with block, with recording on, for a function that is differentiated by these tensors afterwards."""

    def __init__(self, targets: list[Tensor]) -> None:
        super().__init__("grad")
        self.targets = tuple(targets)

    def _changes(self) -> Any:
        return (*super()._changes(), (PUSH, "differentiated", self.targets), (SET, "grad_enabled", True))

    def _after_exit(self, error: BaseException | None) -> None:
        super()._after_exit(error)
        if error is not None:
            show_cause(error)


def show_cause(error: BaseException | None) -> None:
    """Raise the lost derivative that made NumPy say "setting an array element with a sequence" or the like."""
    cause = error.__cause__ or error.__context__ if isinstance(error, ValueError) else None
    if isinstance(cause, LostDerivativeError):
        raise cause from None
    if isinstance(error, TypeError) and NOT_PLAIN.search(str(error)):
        message = NO_EXTENSION.format(at=_innermost_place(error), error=error)
        raise errors.explain(LostDerivativeError(message), "lost-derivative") from error


def _innermost_place(error: BaseException) -> str:
    """A text that says where an error was raised."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return "" if step is None else f" at {description((step.tb_frame.f_code, step.tb_lineno))}"


def is_differentiated(tensor: TensorBase) -> bool:
    """True inside a differentiated function, for a tensor that depends on its arguments."""
    state = current()
    if state.dual_stack and any(
        registry.tangent_of(tensor, level) is not None for level in state.dual_stack if level != state.public_level
    ):
        return True
    if not state.differentiated or not tensor.requires_grad or not is_grad_enabled():
        return False
    return depends([tensor], [target for targets in state.differentiated for target in targets])


def is_differentiating() -> bool:
    """True inside a differentiated function, unless recording is off."""
    state = current()
    return bool(state.dual_stack) or (bool(state.differentiated) and is_grad_enabled())


def check_kept(tensor: TensorBase, what: str, *instead: str) -> None:
    """Raise LostDerivativeError if a plain value of a tensor would lose a requested derivative.

    instead: the text with which the error recommends a remedy, and a way to take the value as a constant.
    """
    if is_differentiated(tensor):
        raise lost_derivative(what, *instead)


def lost_derivative(what: str, instead: str = INSTEAD, constant: str = "x.item() or x.detach()") -> LostDerivativeError:
    """The error for a plain value that replaces a tensor."""
    location = caller_of_libraries()
    at = "" if location is None else f" at {description(location)}"
    message = LOST_DERIVATIVE.format(what=what, at=at, instead=instead, constant=constant)
    scipy_match = None if location is None else re.search(r"[/\\]scipy[/\\](\w+)[/\\]", location[0].co_filename)
    if scipy_match is not None:
        package = scipy_match[1]
        space = OF_SCIPY.get(package, "adjoint.scipy" if package.startswith("_") else f"adjoint.scipy.{package}")
        if space is not None:
            message += ". " + IN_SCIPY.format(names=f"the functions of {space}")
    error = LostDerivativeError(message)
    return errors.explain(error, "lost-derivative")
