"""Constraints: sets of allowed parameters and samples of distributions, under torch's names.

`constraint.check(value)` is a bool tensor with one element for each event. An event is one number, or an array of the
last `event_dim` axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import adjoint

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values. `check` tests whether values are members.

    is_discrete: whether the set is discrete. event_dim: the number of axes of a single value.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """A bool tensor with the shape of `value` without its last event_dim axes: True for members of the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


class _Rule(Constraint):
    """A constraint that a function checks; its names are the bounds of the set."""

    names: tuple[str, ...] = ()
    test: Callable[..., Any]

    def __init__(self, *bounds: Any, **bounds_by_name: Any) -> None:
        values = dict(zip(self.names, bounds, strict=False)) | bounds_by_name
        if len(bounds) > len(self.names) or set(values) != set(self.names):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(self.names) or 'no arguments'}")
        self.__dict__.update(values)
        super().__init__()

    def check(self, value: Any) -> Any:
        return type(self).test(value, *[getattr(self, name) for name in self.names])

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self.names)})"


_HELP = """Values that the rule {name} allows.

    Bounds ({names}) are numbers or tensors, which values are broadcast against.
    """


def _rule(name: str, test: Callable[..., Any], names: str = "", event_dim: int = 0, is_discrete: bool = False) -> Any:
    """Declare a class of constraints."""
    space = {"test": staticmethod(test), "names": tuple(names.split()), "event_dim": event_dim}
    space |= {"is_discrete": is_discrete, "__doc__": _HELP.format(name=name, names=names or "none")}
    return type(f"_{name}", (_Rule,), space | {"__module__": __name__})


def _whole(value: Any) -> Any:
    return value % 1 == 0


def _within(value: Any, low: Any, high: Any) -> Any:
    return (low <= value) & (value <= high)


_GreaterThan = greater_than = _rule("GreaterThan", lambda value, low: low < value, "lower_bound")
_GreaterThanEq = greater_than_eq = _rule("GreaterThanEq", lambda value, low: low <= value, "lower_bound")
_LessThan = less_than = _rule("LessThan", lambda value, high: value < high, "upper_bound")
_Interval = interval = _rule("Interval", _within, "lower_bound upper_bound")
_HalfOpenInterval = half_open_interval = _rule(
    "HalfOpenInterval", lambda value, low, high: (low <= value) & (value < high), "lower_bound upper_bound"
)
_IntegerInterval = integer_interval = _rule(
    "IntegerInterval",
    lambda value, low, high: _whole(value) & _within(value, low, high),
    "lower_bound upper_bound",
    is_discrete=True,
)
_IntegerGreaterThan = _rule(
    "IntegerGreaterThan", lambda value, low: _whole(value) & (value >= low), "lower_bound", is_discrete=True
)


class _Dependent(Constraint):
    """A set that depends on other parameters, so that a value alone cannot be checked.

    A call returns the same set with other values of is_discrete or event_dim.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _require(self, name: str, value: Any) -> Any:
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self) -> bool:
        """Whether the set is discrete. Raises NotImplementedError if this is unknown."""
        return bool(self._require("is_discrete", self._is_discrete))

    @property
    def event_dim(self) -> int:
        """The number of axes of an event. Raises NotImplementedError if it is unknown."""
        return int(self._require("event_dim", self._event_dim))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same set with these values of is_discrete and event_dim."""
        discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        return _Dependent(is_discrete=discrete, event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __reduce_ex__(self, protocol: Any) -> Any:
        return "dependent" if self is dependent else super().__reduce_ex__(protocol)


class _DependentProperty(property, _Dependent):
    """A property of distributions: a constraint for an instance, a dependent constraint for the class.

    It is a decorator. is_discrete and event_dim may be unknown.
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Independent(Constraint):
    """A constraint that treats further axes on the right as part of an event.

    reinterpreted_batch_ndims: the number of these axes.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """Whether the base constraint is discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The number of axes of an event, including the axes of the base constraint."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.base_constraint.event_dim + self.reinterpreted_batch_ndims} but got "
                f"{value.dim()}"
            )
        n = self.reinterpreted_batch_ndims
        return result.flatten(result.dim() - n).all(-1) if n else result

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: the support of its components, for values without the axis of components.

    base_constraint: the support of the components.
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """Whether the components are discrete."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The number of axes of an event of a component."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Joined(Constraint):
    """Constraints for the parts of a value along an axis: slices with these lengths, or single members."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:
        """Whether one of the parts is discrete."""
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> int:
        """The largest number of axes of an event of a part."""
        return max(each.event_dim for each in self.cseq)

    def check(self, value: Any) -> Any:
        parts = value.split(self.lengths, self.dim)
        return adjoint.cat([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Cat(_Joined):
    """Constraints for slices that `cat` joins.

    cseq: the constraints. dim: the axis. lengths: the lengths of the slices; the default is 1 for each.
    """


class _Stack(_Joined):
    """Constraints for members that `stack` joins.

    cseq: the constraints. dim: the axis of the members.
    """

    @property
    def event_dim(self) -> int:
        """The largest number of axes of an event of a part, plus 1 if the new axis belongs to the event."""
        most = super().event_dim
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Any) -> Any:
        members = value.unbind(self.dim)
        return adjoint.stack([each.check(part) for each, part in zip(self.cseq, members, strict=True)], self.dim)


# matrices and vectors -------------------------------------------------------------------------------------------------


def _all_of_matrix(truth: Any) -> Any:
    return truth.flatten(-2).all(-1)


def _is_square(value: Any) -> Any:
    fits = value.shape[-1] == value.shape[-2]
    return adjoint.full(value.shape[:-2], fits, dtype=adjoint.bool, device=value.device)


def _is_symmetric(value: Any) -> Any:
    square = _is_square(value)
    return square & _all_of_matrix(adjoint.isclose(value, value.mT, atol=1e-6)) if square.all() else square


def _is_lower_triangular(value: Any) -> Any:
    return _all_of_matrix(value.tril() == value)


def _is_lower_cholesky(value: Any) -> Any:
    return _is_lower_triangular(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_corr_cholesky(value: Any) -> Any:
    tolerance = adjoint.finfo(value.dtype).eps * value.size(-1) * 10
    norms = (value.detach() * value.detach()).sum(-1)
    return _is_lower_cholesky(value) & ((norms - 1).abs() < tolerance).all(-1)


def _is_semidefinite(value: Any) -> Any:
    symmetric = _is_symmetric(value)
    return (adjoint.linalg.eigvalsh(value) >= 0).all(-1) & symmetric if symmetric.all() else symmetric


def _is_definite(value: Any) -> Any:
    symmetric = _is_symmetric(value)
    return (adjoint.linalg.cholesky_ex(value).info == 0) & symmetric if symmetric.all() else symmetric


def _is_on_simplex(value: Any) -> Any:
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


def _is_one_hot(value: Any) -> Any:
    return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    """Vectors of counts with at most `upper_bound` trials.

    The counts are along the last axis.
    """

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


_Boolean = _rule("Boolean", lambda value: (value == 0) | (value == 1), is_discrete=True)
_OneHot = _rule("OneHot", _is_one_hot, event_dim=1, is_discrete=True)
_Real = _rule("Real", lambda value: value == value)  # all numbers except NaN
_Simplex = _rule("Simplex", _is_on_simplex, event_dim=1)
_Square = _rule("Square", _is_square, event_dim=2)
_Symmetric = _rule("Symmetric", _is_symmetric, event_dim=2)
_LowerTriangular = _rule("LowerTriangular", _is_lower_triangular, event_dim=2)
_LowerCholesky = _rule("LowerCholesky", _is_lower_cholesky, event_dim=2)
_CorrCholesky = _rule("CorrCholesky", _is_corr_cholesky, event_dim=2)
_PositiveSemidefinite = _rule("PositiveSemidefinite", _is_semidefinite, event_dim=2)
_PositiveDefinite = _rule("PositiveDefinite", _is_definite, event_dim=2)

boolean, one_hot, real, simplex = _Boolean(), _OneHot(), _Real(), _Simplex()
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
square, symmetric = _Square(), _Symmetric()
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
dependent = _Dependent()
dependent_property = _DependentProperty
independent = _Independent
multinomial = _Multinomial
cat = _Cat
stack = _Stack
real_vector = independent(real, 1)


def is_dependent(constraint: Any) -> bool:
    """True for a constraint that depends on other parameters.

    >>> import adjoint
    >>> c = adjoint.distributions.constraints
    >>> c.is_dependent(c.dependent), c.is_dependent(c.positive)
    (True, False)
    """
    return isinstance(constraint, _Dependent)
