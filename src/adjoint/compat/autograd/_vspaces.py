"""Vector spaces: shapes and dtypes of values, with zeros, bases and inner products."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy

from adjoint.compat.autograd._boxes import CONNECT, FOREIGN, getval
from adjoint.compat.autograd._primitives import make_primitive
from adjoint.runtime.pytree import TreeDef, flatten

conj, dot, ravel, real = (make_primitive(function) for function in (numpy.conj, numpy.dot, numpy.ravel, numpy.real))


#: The types of differentiable values.
_PLAIN = (numpy.ndarray, numpy.generic, float, complex, list, tuple, dict)


class VSpace:
    """The vector space of values of one shape and dtype.

    A subclass defines `__init__` for the values of one type. `register` connects the type with the subclass.
    """

    #: The makers of spaces, by the type of values.
    mappings: ClassVar[dict[type, Callable[[Any], VSpace]]] = {}
    iscomplex = False
    size: int
    shape: Any

    def __init__(self, value: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} has no __init__(value): define it, and set the shape and the dtype of values there"
        )

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], VSpace] | None = None) -> None:
        """Register this space, or a maker of spaces, for the values of a type; vspace() uses it."""
        VSpace.mappings[value_type] = vspace_maker or cls
        if not cls.__module__.startswith(__name__) and not issubclass(value_type, _PLAIN):
            FOREIGN.add(value_type)
            for connect in CONNECT:
                connect(value_type)

    def zeros(self) -> Any:
        """The zero of the space."""
        raise NotImplementedError(f"{type(self).__name__} has no zeros(): define it, to return the zero of the space")

    def ones(self) -> Any:
        """The value with all elements 1."""
        raise NotImplementedError(f"{type(self).__name__} has no ones(): define it, to return the value of ones")

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors; for complex spaces also the imaginary ones."""
        raise NotImplementedError(
            f"{type(self).__name__} has no standard_basis(): define it, to yield the values of the basis"
        )

    def randn(self) -> Any:
        """A random value with standard normal elements."""
        raise NotImplementedError(f"{type(self).__name__} has no randn(): define it, to return a random value")

    def add(self, x: Any, y: Any) -> Any:
        """The sum."""
        return self._add(x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """The sum, possibly in the memory of x; None for x means zero."""
        return self._mut_add(self.zeros() if x is None else x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """The product with a number."""
        return self._scalar_mul(x, a)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product."""
        return self._inner_prod(x, y)

    def covector(self, x: Any) -> Any:
        """The cotangent of a vector: its complex conjugate."""
        return self._covector(x)

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    def _mut_add(self, x: Any, y: Any) -> Any:
        x += y
        return x

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _inner_prod(self, x: Any, y: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no inner_prod(): define it, to return the inner product of two values"
        )

    def _covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{self.__dict__}"


class ArrayVSpace(VSpace):
    """The vector space of real arrays of one shape and dtype.

    value: an array or a number.
    """

    def __init__(self, value: Any) -> None:
        value = numpy.asarray(value)
        self.shape, self.dtype = value.shape, value.dtype

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def zeros(self) -> Any:
        """Zeros."""
        return numpy.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        """Ones."""
        return numpy.ones(self.shape, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors."""
        for index in numpy.ndindex(*self.shape):
            vector = numpy.zeros(self.shape, self.dtype)
            vector[index] = 1
            yield vector

    def randn(self) -> Any:
        """Normally distributed numbers."""
        return numpy.asarray(numpy.random.randn(*self.shape)).astype(self.dtype)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return dot(ravel(x), ravel(y))


class ComplexArrayVSpace(ArrayVSpace):
    """The vector space of complex arrays of one shape and dtype, over the real numbers.

    Its dimension is twice the number of elements.
    """

    iscomplex = True

    @property
    def size(self) -> int:  # type: ignore[override]
        """The dimension as a real space."""
        return int(numpy.prod(self.shape) * 2)

    def ones(self) -> Any:
        """The array with all elements 1 + i."""
        return numpy.full(self.shape, 1 + 1j, self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors, and i times these."""
        for vector in super().standard_basis():
            yield vector
            yield 1j * vector

    def randn(self) -> Any:
        """Normally distributed numbers."""
        parts = numpy.asarray(numpy.random.randn(*self.shape)), numpy.asarray(numpy.random.randn(*self.shape))
        return (parts[0] + 1j * parts[1]).astype(self.dtype)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return real(dot(conj(ravel(x)), ravel(y)))

    def _covector(self, x: Any) -> Any:
        return conj(x)


class ContainerVSpace(VSpace):
    """The vector space of nested containers of arrays.

    value: a list, tuple or dict whose leaves have vector spaces.
    """

    structure: TreeDef

    def __init__(self, value: Any) -> None:
        leaves, self.structure = flatten(value)
        self.spaces = [vspace(leaf) for leaf in leaves]

    @property
    def shape(self) -> Any:
        """The spaces of the members, in the same containers."""
        return self.structure.unflatten(self.spaces)

    @property
    def iscomplex(self) -> bool:  # type: ignore[override]
        """True if a member is complex."""
        return any(space.iscomplex for space in self.spaces)

    @property
    def size(self) -> int:  # type: ignore[override]
        """The dimension."""
        return sum(space.size for space in self.spaces)

    def _map(self, change: Callable[..., Any], *values: Any) -> Any:
        columns = [self.structure.flatten_up_to(value) for value in values]
        return self.structure.unflatten([change(*row) for row in zip(self.spaces, *columns, strict=True)])

    def zeros(self) -> Any:
        """Zeros."""
        return self._map(lambda space: space.zeros())

    def ones(self) -> Any:
        """Ones."""
        return self._map(lambda space: space.ones())

    def randn(self) -> Any:
        """Normally distributed numbers."""
        return self._map(lambda space: space.randn())

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors."""
        for i, space in enumerate(self.spaces):
            for vector in space.standard_basis():
                others = [other.zeros() for other in self.spaces]
                others[i] = vector
                yield self.structure.unflatten(others)

    def _add(self, x: Any, y: Any) -> Any:
        return self._map(lambda space, a, b: space.add(a, b), x, y)

    def _mut_add(self, x: Any, y: Any) -> Any:
        return self._map(lambda space, a, b: space.mut_add(a, b), x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return self._map(lambda space, member: space.scalar_mul(member, a), x)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        columns = self.structure.flatten_up_to(x), self.structure.flatten_up_to(y)
        return sum(space.inner_prod(a, b) for space, a, b in zip(self.spaces, *columns, strict=True))

    def _covector(self, x: Any) -> Any:
        return self._map(lambda space, member: space.covector(member), x)


def vspace(value: Any) -> VSpace:
    """The vector space of a value.

    value: a number, an array, a box or a container of these. Raises TypeError for other values.

    >>> from adjoint.compat.autograd.core import vspace
    >>> vspace(2.0).size
    1
    """
    value = getval(value)
    maker = VSpace.mappings.get(type(value))
    if maker is not None:
        return maker(value)
    for kind, make in VSpace.mappings.items():
        if isinstance(value, kind) and not isinstance(value, bool):
            return make(value)
    raise TypeError(
        f"Can't find vector space for value {value} of type {type(value)}. Valid types are {VSpace.mappings.keys()}"
    )


def _space_of_array(value: Any) -> VSpace:
    return (ComplexArrayVSpace if numpy.iscomplexobj(value) else ArrayVSpace)(value)


_KINDS: dict[type[VSpace], tuple[type, ...]] = {
    ContainerVSpace: (list, tuple, dict),
    ArrayVSpace: (float, numpy.float64, numpy.float32, numpy.float16, numpy.longdouble),
    ComplexArrayVSpace: (complex, numpy.complex64, numpy.complex128, numpy.clongdouble),
}
VSpace.register(numpy.ndarray, _space_of_array)
for _space, _kinds in _KINDS.items():
    for _kind in _kinds:
        _space.register(_kind)
