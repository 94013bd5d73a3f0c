"""Pruning: masks that set elements of parameters to zero, and keep the whole parameter to train the others.

The parameter of a module becomes `name_orig`, its mask is the buffer `name_mask`, and `name` is their product, which a
hook computes before each forward pass.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from adjoint.core.operations.arguments import check_functions
from adjoint.nn.modules.module import Module
from adjoint.tensor.creation import ones_like, rand, rand_like
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


# methods --------------------------------------------------------------------------------------------------------------


class BasePruningMethod(ABC):
    """The base class of methods. A subclass has PRUNING_TYPE and `compute_mask`; `apply` prunes a parameter by it.

    PRUNING_TYPE: what a further method may prune of a tensor that is pruned already: "unstructured" single elements,
    "structured" whole slices along an axis, "global" anything.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> class EverySecond(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> EverySecond().prune(adjoint.ones(4))
    tensor([0., 1., 0., 1.])
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """The hook before a forward pass: it sets the pruned tensor."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for the elements t, or their scores, of a tensor that has a mask so far."""

    def apply_mask(self, module: Module) -> Tensor:
        """The product of the whole parameter and its mask."""
        mask, original = [getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig")]
        return ops.mul(mask.to(original.dtype), original)

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter of a module. Further methods of one parameter form a PruningContainer.

        importance_scores: what the mask is computed from, in place of the parameter. Raises an error, without a change,
        if the mask cannot be computed.
        """
        key, before = _hook_of(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name if before is None else f"{name}_orig")
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, but got "
                f"{importance_scores.shape}"
            )
        scores = original if importance_scores is None else importance_scores
        whole = ones_like(original) if before is None else getattr(module, f"{name}_mask")
        mask = method.compute_mask(scores.detach(), default_mask=whole)
        if before is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        else:
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned tensor, by the mask for the tensor or for its scores."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(f"importance_scores should have the shape of t, {t.shape}, but got {scores.shape}")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor the parameter. The hook stays: `prune.remove` takes it away too."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        delattr(module, name)
        original: Any = module._parameters.pop(f"{name}_orig")
        original.data = pruned.data
        del module._buffers[f"{name}_mask"]
        module.register_parameter(name, original)


def _hook_of(module: Module, name: str) -> tuple[Any, BasePruningMethod | None]:
    """The hook that prunes a parameter, and its key."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


class PruningContainer(BasePruningMethod):
    """Several methods of one parameter, one after the other.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> len(prune.PruningContainer(prune.L1Unstructured(1), prune.L1Unstructured(2)))
    2
    """

    def __init__(self, *args: Any) -> None:
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        names = [each._tensor_name for each in methods if hasattr(each, "_tensor_name")]
        if names:
            self._tensor_name = names[0]
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method. Raises TypeError for other objects, ValueError for a method of another parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        of_name = getattr(self, "_tensor_name", None)
        if of_name != getattr(method, "_tensor_name", None):
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{of_name}' to PruningContainer {self}. "
                f"Found '{getattr(method, '_tensor_name', None)}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far, and the mask of the last method for what it leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.clone()
        part = _rest(method, mask)
        mask[part] = method.compute_mask(t[part], default_mask=mask[part]).to(mask.dtype)
        return mask


def _rest(method: BasePruningMethod, mask: Tensor) -> Any:
    """The index of what a further method may prune."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * mask.ndim
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    dim: int = method.dim  # type: ignore[attr-defined]
    axis = dim % mask.ndim
    others = tuple([i for i in range(mask.ndim) if i != axis])
    return (*[slice(None)] * axis, mask.sum(others) != 0)


class Identity(BasePruningMethod):
    """Prunes nothing, but gives a parameter a mask.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> prune.Identity().prune(adjoint.tensor([3.0, -1.0]))
    tensor([ 3., -1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    """A method that prunes a number of elements or slices, or a share of them.

    Raises TypeError for an amount that is no number, ValueError for a negative one or a share above 1.
    """

    def __init__(self, amount: float) -> None:
        if isinstance(amount, bool) or not isinstance(amount, (int, float)):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (not isinstance(amount, int) and amount > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def _number(self, n: int) -> int:
        """How many of n are pruned. Raises ValueError for more than there are."""
        if not isinstance(self.amount, int):
            return round(self.amount * n)
        if self.amount > n:
            raise ValueError(f"amount={self.amount} should be smaller than the number of parameters to prune={n}")
        return self.amount


def _clear(mask: Tensor, places: Tensor) -> Tensor:
    result = mask.clone().reshape(-1)
    result[places] = 0
    return result.reshape(mask.shape)


class RandomUnstructured(_ByAmount):
    """Prunes elements at random.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> prune.RandomUnstructured(2).prune(adjoint.ones(3)).sum()
    tensor(1.)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        number = self._number(t.numel())
        return _clear(default_mask, rand_like(t).reshape(-1).topk(number).indices) if number else default_mask.clone()


class L1Unstructured(_ByAmount):
    """Prunes the elements with the smallest absolute values.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> prune.L1Unstructured(2).prune(adjoint.tensor([3.0, -1.0, 2.0]))
    tensor([3., -0., 0.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        number = self._number(t.numel())
        if not number:
            return default_mask.clone()
        return _clear(default_mask, t.abs().reshape(-1).topk(number, largest=False).indices)


class _Structured(_ByAmount):
    """Prunes whole slices along an axis: those with the lowest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def scores(self, t: Tensor) -> Tensor:
        """A number for each slice."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        shape = t.shape
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{shape} with {t.ndim} dims"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {shape}")
        number = self._number(shape[self.dim])
        if not number:
            return default_mask
        places = self.scores(t).topk(shape[self.dim] - number).indices
        mask = ops.zeros_like(t)
        mask[(*[slice(None)] * (self.dim % t.ndim), places)] = 1
        return mask * default_mask.to(mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices along an axis at random.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> prune.RandomStructured(1, dim=0).prune(adjoint.ones(3, 2)).sum()
    tensor(4.)
    """

    def scores(self, t: Tensor) -> Tensor:
        return rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the slices along an axis with the smallest norms of order n.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> prune.LnStructured(1, n=2, dim=0).prune(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[0., 0.],
            [3., 4.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Tensor:
        return t.norm(self.n, tuple([axis for axis in range(t.ndim) if axis != self.dim % t.ndim]))


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    >>> import adjoint
    >>> from adjoint.nn.utils import prune
    >>> prune.CustomFromMask(adjoint.tensor([1, 0])).prune(adjoint.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"the mask has shape {self.mask.shape}, but the parameter {default_mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)


# functions ------------------------------------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones; returns the module.

    >>> from adjoint import nn
    >>> nn.utils.prune.identity(nn.Linear(2, 1), "bias").bias_mask
    tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random: a number of them or a share; returns the module.

    >>> from adjoint import nn
    >>> nn.utils.prune.random_unstructured(nn.Linear(2, 2), "weight", 3).weight_mask.sum()
    tensor(1.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter with the smallest absolute values, or scores; returns the module.

    >>> from adjoint import nn
    >>> nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "weight", 0.5).weight_mask.sum()
    tensor(2.)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune slices of a parameter along an axis at random; returns the module.

    >>> from adjoint import nn
    >>> nn.utils.prune.random_structured(nn.Linear(2, 3), "weight", 1, dim=0).weight_mask.sum()
    tensor(4.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the slices of a parameter along an axis with the smallest norms of order n; returns the module.

    >>> from adjoint import nn
    >>> nn.utils.prune.ln_structured(nn.Linear(2, 3), "weight", 1, n=2, dim=0).weight_mask.sum()
    tensor(4.)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask; returns the module.

    >>> import adjoint
    >>> from adjoint import nn
    >>> nn.utils.prune.custom_from_mask(nn.Linear(2, 2), "bias", adjoint.tensor([0, 1])).bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters, pairs of a module and a name, as one long vector.

    importance_scores: by pair, what the mask is computed from in place of the parameter. Raises TypeError for other
    arguments and for a structured method.

    >>> from adjoint import nn
    >>> from adjoint.nn.utils import prune
    >>> a, b = nn.Linear(2, 2), nn.Linear(2, 1)
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=4)
    >>> a.weight_mask.sum() + b.weight_mask.sum()
    tensor(2.)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores is not of type dict")
    pairs, by_pair = list(parameters), importance_scores or {}
    tensors = [getattr(module, name) for module, name in pairs]
    scores = [by_pair.get(pair, tensor) for pair, tensor in zip(pairs, tensors, strict=True)]
    masks = [
        getattr(module, f"{name}_mask", ones_like(tensor))
        for (module, name), tensor in zip(pairs, tensors, strict=True)
    ]
    vectors = [ops.cat([each.detach().reshape(-1) for each in group]) for group in (scores, masks)]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    whole = container.compute_mask(*vectors)
    parts = whole.split([math.prod(tensor.shape) for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts, strict=True):
        custom_from_mask(module, name, part.reshape(tensor.shape))


def remove(module: Module, name: str) -> Module:
    """Make a pruned tensor a parameter again, with its zeros; returns the module.

    Raises ValueError for a parameter that is not pruned.

    >>> from adjoint import nn
    >>> pruned = nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "weight", 1)
    >>> [name for name, _ in nn.utils.prune.remove(pruned, "weight").named_parameters()]
    ['bias', 'weight']
    """
    key, hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of a module within it, is pruned.

    >>> from adjoint import nn
    >>> nn.utils.prune.is_pruned(nn.Linear(2, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


check_functions(globals(), __all__)
