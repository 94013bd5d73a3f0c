"""Python's operators on Tensors, bound to the operations of the table."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.core import _cython_shim as cython

if cython.compiled:
    from cython.cimports.adjoint.core.graph import TensorBase
    from cython.cimports.adjoint.core.operation import Operation
else:
    from adjoint.core.graph import TensorBase
    from adjoint.core.operation import Operation

import numbers

from adjoint.arrays.namespace import is_array


def bind_operators(table: dict) -> None:
    """Give the operators their operations; called once, when the table is complete."""
    global _add, _sub, _mul, _div, _pow, _matmul, _neg, _abs, _remainder, _floor_divide
    _add, _sub, _mul, _div, _pow = [table[name] for name in ("add", "sub", "mul", "true_divide", "pow")]
    _matmul, _neg, _abs = table["matmul"], table["neg"], table["abs"]
    _remainder, _floor_divide = table["remainder"], table["floor_divide"]


def is_operand(value) -> bool:
    """True for what may stand beside a Tensor in arithmetic."""
    return isinstance(value, (TensorBase, int, float, complex, numbers.Number)) or is_array(value)


def is_tensor(value) -> bool:
    """True for a Tensor or an array."""
    return isinstance(value, TensorBase) or is_array(value)


@cython.cclass
class ArithmeticTensor(TensorBase):
    """A tensor with Python's arithmetic operators."""

    # NumPy arrays on the left leave the operation to the Tensor
    __array_priority__ = 1000

    def __add__(self, other):
        return _add.binary(self, other) if is_fast(other) else NotImplemented

    # what commutes is recorded with the Tensor first, as torch does
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

    def __rtruediv__(self, other):
        return _div.binary(other, self) if is_fast(other) else NotImplemented

    def __pow__(self, other):
        return _pow.binary(self, other) if is_fast(other) else NotImplemented

    def __rpow__(self, other):
        return _pow.binary(other, self) if is_fast(other) else NotImplemented

    def __matmul__(self, other):
        return _matmul.binary(self, other) if is_tensor(other) else NotImplemented

    def __rmatmul__(self, other):
        return _matmul.binary(other, self) if is_tensor(other) else NotImplemented

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


def make_method(operation: Operation):
    """A method that calls an operation, the direct way where it has one."""
    op: Operation = operation

    # arguments by name, too many or too few take the way that knows the parameters' names
    def unary(self, *args):
        return op(self, *args) if args else op.unary(self)

    def binary(self, *args, **kwargs):
        return op(self, *args, **kwargs) if kwargs or len(args) != 1 else op.binary(self, args[0])

    def general(self, *args, **kwargs):
        return op(self, *args, **kwargs)

    method = general
    if op.fast and not op.tail:
        method = unary if len(op.inputs) == 1 else binary
    return named(method, op.name, op.__doc__)


def make_operator(operation: Operation):
    """A method for one of Python's operators: what cannot stand beside a Tensor is left to Python."""
    op: Operation = operation

    def operator(self, other):
        return op.binary(self, other) if is_fast(other) else NotImplemented

    return operator


def make_inplace(operation: Operation, name):
    """A method that runs an operation in place."""
    op: Operation = operation

    def inplace(self, *args, **kwargs):
        return op.inplace((self, *args), kwargs)

    return named(inplace, name, f"In-place version of {op.name}().")


def named(function, name, doc):
    """The function under another name."""
    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    function.__doc__ = doc
    return function
