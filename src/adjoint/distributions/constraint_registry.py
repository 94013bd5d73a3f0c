"""Registries of transforms from the real numbers to the values that a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from classes of constraints to functions that construct a transform for a constraint.

    `register` adds a function. A call returns the transform for a constraint.
    """

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], Any]] = {}

    def __reduce_ex__(self, protocol: Any) -> Any:
        # copies and pickles refer to the registries of this module
        registry_name = next((name for name in ("biject_to", "transform_to") if globals()[name] is self), None)
        return registry_name or super().__reduce_ex__(protocol)

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register a function for a constraint or a class of constraints; without a function, return a decorator.

        Raises TypeError unless the first argument is a constraint or a class of constraints.
        """
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint. Raises NotImplementedError for an unregistered class."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _for_both(constraint: Any, factory: Callable[[Any], Any]) -> None:
    biject_to.register(constraint, factory)
    transform_to.register(constraint, factory)


def _shift(direction: int) -> Callable[[Any], Any]:
    def factory(constraint: Any) -> Any:
        bound = constraint.upper_bound if direction < 0 else constraint.lower_bound
        return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, direction)])

    return factory


def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _independent(registry: ConstraintRegistry) -> Callable[[Any], Any]:
    return lambda constraint: transforms.IndependentTransform(
        registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
    )


def _join(registry: ConstraintRegistry, is_stack: bool) -> Callable[[Any], Any]:
    def factory(constraint: Any) -> Any:
        parts = [registry(each) for each in constraint.cseq]
        if is_stack:
            return transforms.StackTransform(parts, constraint.dim)
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    return factory


_for_both(constraints.real, lambda _: transforms.identity_transform)
_for_both(constraints.positive, lambda _: transforms.ExpTransform())
_for_both(constraints.greater_than, _shift(1))
_for_both(constraints.greater_than_eq, _shift(1))
_for_both(constraints.less_than, _shift(-1))
_for_both(constraints.interval, _to_interval)
_for_both(constraints.half_open_interval, _to_interval)
_for_both(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
_for_both(constraints.positive_definite, lambda _: transforms.PositiveDefiniteTransform())
_for_both(constraints.positive_semidefinite, lambda _: transforms.PositiveDefiniteTransform())
_for_both(constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(constraints.cat, _join(_registry, False))
    _registry.register(constraints.stack, _join(_registry, True))
