"""Python's operators on Tensors, bound to the operations of the table."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import TensorBase
    from adjoint.core.operations.operation import Operation

import numbers
from types import MethodType

import numpy

from adjoint.arrays.namespace import is_array
from adjoint.core.graph import registry
from adjoint.core.operations.operation import document_instances
from adjoint.tensor.protocol_hooks import protocols


def bind_operators(table) -> None:
    """Give the operators their operations; called once, before the first of them is used."""
    global _add, _sub, _mul, _div, _pow, _matmul, _neg, _abs, _remainder, _floor_divide, _reciprocal
    _add, _sub, _mul, _div, _pow = [table[name] for name in ("add", "sub", "mul", "true_divide", "pow")]
    _matmul, _neg, _abs = table["matmul"], table["neg"], table["abs"]
    _remainder, _floor_divide, _reciprocal = [table[name] for name in ("remainder", "floor_divide", "reciprocal")]


def is_operand(value) -> bool:
    """True for objects that arithmetic with a Tensor accepts, or asks by their `__torch_function__`."""
    if isinstance(value, (TensorBase, int, float, complex)) or isinstance(value, numbers.Number) or is_array(value):
        return True
    return hasattr(type(value), "__torch_function__")


def is_tensor(value) -> bool:
    """True for a Tensor or an array, and for an object whose `__torch_function__` handles products."""
    return isinstance(value, TensorBase) or is_array(value) or hasattr(type(value), "__torch_function__")


def is_array_of_another_dtype(value, tensor) -> bool:
    """True for one of NumPy's arrays with another dtype than a Tensor."""
    return isinstance(value, numpy.ndarray) and value.dtype != tensor._array.dtype


@cython.cclass
class ArithmeticTensor(TensorBase):
    """A tensor with Python's arithmetic operators."""

    # NumPy arrays on the left leave the operation to the Tensor
    __array_priority__ = 1000

    def __add__(self, other):
        return _add.binary(self, other) if is_fast(other) else NotImplemented

    # commutative operations are recorded with the Tensor first, as in torch
    def __radd__(self, other):
        return _add.binary(self, other) if is_fast(other) else NotImplemented

    def __sub__(self, other):
        return _sub.binary(self, other) if is_fast(other) else NotImplemented

    def __rsub__(self, other):
        return _sub.binary(other, self) if is_fast(other) else NotImplemented

    def __mul__(self, other):
        return _mul.binary(self, other) if is_fast(other) else NotImplemented

    def __rmul__(self, other):
        return _mul.binary(self, other) if is_fast(other) else NotImplemented

    def __truediv__(self, other):
        return _div.binary(self, other) if is_fast(other) else NotImplemented

    # as torch: a product with the reciprocal, which saves its result and not the tensor
    def __rtruediv__(self, other):
        return _mul.binary(_reciprocal.unary(self), other) if is_fast(other) else NotImplemented

    def __pow__(self, other):
        return _pow.binary(self, other) if is_fast(other) else NotImplemented

    def __rpow__(self, other):
        return _pow.binary(other, self) if is_fast(other) else NotImplemented

    def __matmul__(self, other):
        if isinstance(other, TensorBase):
            return _matmul.binary(self, other)
        if is_tensor(other):
            # NumPy's product then promotes the dtypes, as that of `array @ tensor` does
            return NotImplemented if is_array_of_another_dtype(other, self) else _matmul.binary(self, other)
        return protocols.sparse_matmul(self, other, False) if hasattr(other, "tocoo") else NotImplemented

    def __rmatmul__(self, other):
        if is_tensor(other):
            return _matmul.binary(other, self)
        return protocols.sparse_matmul(self, other, True) if hasattr(other, "tocoo") else NotImplemented

    def __mod__(self, other):
        return _remainder.binary(self, other) if is_fast(other) else NotImplemented

    def __rmod__(self, other):
        return _remainder.binary(other, self) if is_fast(other) else NotImplemented

    def __floordiv__(self, other):
        return _floor_divide.binary(self, other) if is_fast(other) else NotImplemented

    def __rfloordiv__(self, other):
        return _floor_divide.binary(other, self) if is_fast(other) else NotImplemented

    def __neg__(self):
        return _neg.unary(self)

    def __abs__(self):
        return _abs.unary(self)


def is_fast(other) -> bool:
    """`is_operand`, common types first."""
    return isinstance(other, TensorBase) or type(other) is float or type(other) is int or is_operand(other)


def inherit_operators(subclass) -> None:
    """Let a subclass in Python use the compiled operators without a look-up; it must not define its own."""
    if cython.compiled:
        adj_inherit_operators(subclass, ArithmeticTensor)


@cython.final
@cython.cclass
class Method:
    """A method of Tensor that is an operation, or one in place.

    Python calls it as it calls a function that it finds in a class.
    """

    def __init__(self, operation: Operation, name, in_place):
        self.operation = operation
        self.name = name
        self.in_place = in_place
        self.__module__ = "adjoint.tensor.tensor"
        self.__name__ = name
        self.__qualname__ = "Tensor." + name
        if cython.compiled:
            let_method_be_called(self)

    def __get__(self, instance, owner):
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args, **kwargs):
        return self.operation.inplace(args, kwargs) if self.in_place else self.operation(*args, **kwargs)

    def __repr__(self):
        return f"<method {self.__qualname__}>"

    def __reduce__(self):
        return getattr, (registry.tensor_type, self.name)

    @property
    def __signature__(self):
        # computed at first use, which saves time at import
        return registry.method_signature_of(self.operation.rule)

    @property
    def __annotations__(self):
        # for typing.get_type_hints()
        return registry.hints_of(self.operation, self.__signature__)

    def composed_help(self):
        """The docstring."""
        help_of = registry.help_of_method_in_place if self.in_place else registry.help_of_method
        return help_of(self.operation.rule, self.name)


document_instances(Method, Method.composed_help)


def make_method(operation: Operation, name=None):
    """A method that calls an operation."""
    return Method(operation, name or operation.name, False)


def make_operator(operation: Operation):
    """A method for one of Python's operators; other types of operands are left to Python."""
    op: Operation = operation

    def operator(self, other):
        return op.binary(self, other) if is_fast(other) else NotImplemented

    return operator


def make_inplace(operation: Operation, name):
    """A method that runs an operation in place."""
    return Method(operation, name, True)


def with_name(function, name, doc):
    """The function under another name."""
    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    function.__doc__ = doc
    return function
