"""Constraints: sets of values that parameters and samples of distributions are in, under torch's names.

`constraint.check(value)` is a tensor of truth values, one for each event: a number, or the last `event_dim` axes.
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
    """A set of values: `check` says which are in it; `is_discrete` and `event_dim` say of what kind they are.

    is_discrete: whether it is a discrete set. event_dim: how many axes a single value has.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """A tensor of truth values, of the shape of value without its last event_dim axes."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


class _Rule(Constraint):
    """A constraint that a function checks, with numbers that it depends on."""

    def __init__(
        self, name: str, test: Callable[..., Any], event_dim: int = 0, is_discrete: bool = False, **bounds: Any
    ):
        self.name, self.test = name, test
        self.event_dim, self.is_discrete = event_dim, is_discrete
        self.bounds = bounds
        self.__dict__.update(bounds)

    def check(self, value: Any) -> Any:
        return self.test(value, *self.bounds.values())

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.bounds.items())})"


class _Family(type):
    """The class of constraints with bounds, which makes instances of `_Rule` so that isinstance knows them."""

    test: Callable[..., Any]
    is_discrete: bool
    names: tuple[str, ...]
    shown: str

    def __call__(cls, *bounds: Any, **named: Any) -> _Rule:
        values = dict(zip(cls.names, bounds, strict=False)) | named
        return _Rule(cls.shown, cls.test, 0, cls.is_discrete, **{name: values[name] for name in cls.names})

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Rule) and instance.name == cls.shown


_HELP = """Values that the bounds allow, {names}; written {shown}.

    The bounds are numbers or tensors, which values are broadcast against.
    """


def _family(shown: str, names: str, test: Callable[..., Any], is_discrete: bool = False) -> Any:
    space = {"test": staticmethod(test), "names": tuple(names.split()), "shown": shown, "is_discrete": is_discrete}
    return _Family(shown, (), {**space, "__doc__": _HELP.format(shown=shown, names=", ".join(names.split()))})


def _whole(value: Any) -> Any:
    return value % 1 == 0


def _within(value: Any, low: Any, high: Any) -> Any:
    return (low <= value) & (value <= high)


greater_than = _family("GreaterThan", "lower_bound", lambda value, low: low < value)
greater_than_eq = _family("GreaterThanEq", "lower_bound", lambda value, low: low <= value)
less_than = _family("LessThan", "upper_bound", lambda value, high: value < high)
interval = _family("Interval", "lower_bound upper_bound", _within)
half_open_interval = _family(
    "HalfOpenInterval", "lower_bound upper_bound", lambda value, low, high: (low <= value) & (value < high)
)
integer_interval = _family(
    "IntegerInterval",
    "lower_bound upper_bound",
    lambda value, low, high: _whole(value) & _within(value, low, high),
    True,
)
_integer_from = _family("IntegerGreaterThan", "lower_bound", lambda value, low: _whole(value) & (value >= low), True)


class _Dependent(Constraint):
    """A set that depends on other parameters: nothing can be said about a value alone.

    A call gives the same set with is_discrete or event_dim known.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def _known(self, name: str, value: Any) -> Any:
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self) -> bool:
        """Whether values are of a discrete set. Raises NotImplementedError if that was not said."""
        return bool(self._known("is_discrete", self._is_discrete))

    @property
    def event_dim(self) -> int:
        """How many axes an event has. Raises NotImplementedError if that was not said."""
        return int(self._known("event_dim", self._event_dim))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with more of it known."""
        discrete = self._is_discrete if is_discrete is NotImplemented else is_discrete
        return _Dependent(is_discrete=discrete, event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property of a distribution that is a constraint, and a dependent constraint in the class.

    A decorator, with is_discrete and event_dim as far as they are known.
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Independent(Constraint):
    """A constraint of events whose last axes belong together.

    reinterpreted_batch_ndims: how many axes are added to those of an event.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        """That of the base constraint."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The axes of events, those of the base constraint among them."""
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
    """The support of a mixture: that of its components, for values without their axis.

    base_constraint: the support of the components.
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """That of the components."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """That of the components."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Joined(Constraint):
    """Constraints of the parts of a value along an axis: slices of these lengths, or single members."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:
        """Whether one of the parts is discrete."""
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> int:
        """The most axes of an event of a part."""
        return max(each.event_dim for each in self.cseq)

    def check(self, value: Any) -> Any:
        parts = value.split(self.lengths, self.dim)
        return adjoint.cat([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Cat(_Joined):
    """Constraints of slices that are joined by `cat`.

    cseq: the constraints. dim: the axis. lengths: those of the slices, 1 unless given.
    """


class _Stack(_Joined):
    """Constraints of members that are joined by `stack`.

    cseq: the constraints. dim: the axis of the members.
    """

    @property
    def event_dim(self) -> int:
        """The most axes of an event of a part, and one more if they are joined along such an axis."""
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
    """Counts of outcomes with at most `upper_bound` trials.

    A value is a vector of counts along the last axis.
    """

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Any) -> Any:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


boolean = _Rule("Boolean", lambda value: (value == 0) | (value == 1), is_discrete=True)
one_hot = _Rule("OneHot", _is_one_hot, event_dim=1, is_discrete=True)
real = _Rule("Real", lambda value: value == value)  # all but NaN
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer, positive_integer = _integer_from(0), _integer_from(1)
simplex = _Rule("Simplex", _is_on_simplex, event_dim=1)
square = _Rule("Square", _is_square, event_dim=2)
symmetric = _Rule("Symmetric", _is_symmetric, event_dim=2)
lower_triangular = _Rule("LowerTriangular", _is_lower_triangular, event_dim=2)
lower_cholesky = _Rule("LowerCholesky", _is_lower_cholesky, event_dim=2)
corr_cholesky = _Rule("CorrCholesky", _is_corr_cholesky, event_dim=2)
positive_semidefinite = _Rule("PositiveSemidefinite", _is_semidefinite, event_dim=2)
positive_definite = _Rule("PositiveDefinite", _is_definite, event_dim=2)
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
