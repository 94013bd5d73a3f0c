"""The Tensor: an array with a place in the graph, and torch's attributes and conversions.

Methods that are operations are not written here: `binding` attaches them from the table.
"""

from __future__ import annotations

import builtins
import numbers
import sys
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

import numpy

from adjoint.arrays.dtypes import (
    DTYPES,
    as_dtype,
    dtype,
    get_default_dtype,
    kind_of,
)
from adjoint.arrays.infer import array_from_data
from adjoint.arrays.layout import as_memory_format, deep_copy, sparse_coo, sparse_csr, strided
from adjoint.arrays.namespace import address, compute, device_of, in_batch_of, is_lazy, no_array, on_device
from adjoint.arrays.shapes import require_dim
from adjoint.arrays.size import CPU, Size, as_device, check_shape, device, printed, type_name
from adjoint.arrays.size import device as _Device
from adjoint.core import errors
from adjoint.core.engine import backward_from
from adjoint.core.graph import (
    hook_table,
    hooks_of,
    new_tensor,
    node_of,
    registry,
    set_tensor_type,
    twin_outside,
)
from adjoint.core.hooks import RETAIN, HookTable, RemovableHandle, table_of, warn_if_has_hooks
from adjoint.core.in_place import reshape_accumulator
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.core.operations.dependence import check_kept
from adjoint.runtime.lazy import LateModule
from adjoint.runtime.once import warn_once
from adjoint.tensor.arithmetic import ArithmeticTensor, is_operand
from adjoint.tensor.differentiate import backward, needing_grad
from adjoint.tensor.older.absent import NoMethod
from adjoint.tensor.older.older_names import older_names
from adjoint.tensor.protocol_hooks import leaves_product, protocols
from adjoint.tensor.subclasses import default as _default_torch_function
from adjoint.tensor.subclasses import initialize_base, like, note_class
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.arrays import shared_memory
    from adjoint.tensor import formatting
    from adjoint.tensor.memory import storage as storages
    from adjoint.tensor.older import stochastic, volatile
else:
    shared_memory = LateModule("adjoint.arrays.shared_memory")
    formatting = LateModule("adjoint.tensor.formatting")
    storages = LateModule("adjoint.tensor.memory.storage")
    stochastic = LateModule("adjoint.tensor.older.stochastic")
    volatile = LateModule("adjoint.tensor.older.volatile")

Sub = TypeVar("Sub", bound="Tensor")

_ndarray = numpy.ndarray

_CORE_FIELDS = frozenset(
    ("_array", "_node", "_output_nr", "_requires", "_grad", "_accumulator")
    + (
        "_counter",
        "_view",
        "_tangents",
        "_hooks",
        "_post_hooks",
        "_retain",
        "_grad_dtype",
        "_volatile",
        "_draw",
        "_level",
    )
)


_T_OF_OTHERS = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*adjoint.arange(x.ndim "
    "- 1, -1, -1))` to reverse the dimensions of a tensor."
)

_OF_NUMBERS = {
    name: f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
    for name in ("T", "mT")
}
_OF_NUMBERS |= {name: f"Tensor.{name} is deprecated on 0-D tensors. Consider using x.conj()." for name in ("H", "mH")}

TYPED_STORAGE = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)

LOST_BY_CONVERSION = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)


#: An instance of a class without its arguments, whatever `__new__` the class has.
_new_instance: Any = ArithmeticTensor.__new__


class Tensor(ArithmeticTensor):
    """An array that records its computation, so that derivatives can be taken.

    Create one with `adjoint.tensor`, `adjoint.from_numpy` or a factory such as `adjoint.zeros`.

    >>> import adjoint
    >>> x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    # whether the class overrides results of operations
    _overrides = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        note_class(cls)

    # whether a subclass makes its instances in a `__new__` of its own
    _made_by_new = False

    def __new__(cls, *data: Any, **options: Any) -> Self:
        self = super().__new__(cls)
        if cls._made_by_new:
            initialize_base(self, data, options)
        return self

    def __init__(self, *data: Any, device: Any = None) -> None:
        if self._made_by_new and getattr(self, "_array", None) is not None:
            return
        first = data[0] if len(data) == 1 else None
        if isinstance(first, Tensor):
            as_device(device, "new")
            alias = first.view(first.shape)
            self._array, self._counter, self._view = alias._array, alias._counter, alias._view
            self._node, self._output_nr = alias._node, alias._output_nr
        else:
            self._array = array_from_arguments(data, get_default_dtype(), device)

    # properties ------------------------------------------------------------------------------------------------------

    @overload
    def size(self) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Size | int:
        """The shape, or the length of one axis.

        dim: an axis, counted from the end where negative. Raises IndexError for one out of range.

        >>> import adjoint
        >>> adjoint.ones(2, 3).size(-1)
        3
        """
        if dim is None:
            return self.shape
        shape = self._array.shape
        return shape[require_dim(dim, len(shape))]  # type: ignore[no-any-return]

    @property
    def device(self) -> device:
        """Where the array lies.

        cpu for arrays of NumPy and dask, cuda with a number for those of CuPy.

        >>> import adjoint
        >>> adjoint.tensor([1.0]).device
        device(type='cpu')
        """
        return device_of(self._array)

    def dim(self) -> int:
        """The number of axes.

        0 for a tensor of one number.

        >>> import adjoint
        >>> adjoint.ones(2, 3).dim()
        2
        """
        return int(self._array.ndim)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements.

        The product of the lengths of all axes, 1 if there are none.

        >>> import adjoint
        >>> adjoint.ones(2, 3).numel()
        6
        """
        return int(self._array.size)

    nelement = numel

    def element_size(self) -> int:
        """Bytes of one element.

        That is 4 for float32 and 16 for complex128.

        >>> import adjoint
        >>> adjoint.ones(2).element_size()
        4
        """
        return int(self._array.itemsize)

    @property
    def itemsize(self) -> int:
        """Bytes of one element.

        That is 4 for float32 and 16 for complex128.

        >>> import adjoint
        >>> adjoint.ones(2).element_size()
        4
        """
        return int(self._array.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        Of a view only those that it has.

        >>> import adjoint
        >>> adjoint.ones(2, 3).nbytes
        24
        """
        return int(self._array.size * self._array.itemsize)

    @overload
    def stride(self) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """How many elements apart neighbours along each axis (or one) lie in memory.

        dim: an axis, counted from the end where negative. Raises IndexError for one out of range.

        >>> import adjoint
        >>> adjoint.ones(2, 3).stride()
        (3, 1)
        """
        array = self._array
        if not hasattr(array, "strides"):
            raise TypeError(errors.NO_STRIDES.format(type(array).__module__.split(".")[0]))
        # NumPy gives empty arrays strides of 0; torch those that rows would have
        itemsize, steps = array.itemsize, array.strides
        if 0 not in steps:
            strides = tuple([step // itemsize for step in steps])
            return strides if dim is None else strides[require_dim(dim, len(strides))]
        steps = array.strides if array.size else numpy.empty([max(n, 1) for n in array.shape], array.dtype).strides
        extents = [step // itemsize for step in steps]
        # NumPy gives new axes, and some others of length one, strides of 0; torch the extent of all axes behind
        for i in reversed(range(len(extents))):
            if extents[i] == 0 and array.shape[i] == 1:
                extents[i] = 1 if i + 1 == len(extents) else array.shape[i + 1] * extents[i + 1]
        return tuple(extents) if dim is None else extents[require_dim(dim, len(extents))]

    def storage_offset(self) -> int:
        """How many elements into the memory that it shares with others the tensor starts.

        0 for a tensor that is no view.

        >>> import adjoint
        >>> adjoint.arange(5)[2:].storage_offset()
        2
        """
        owner = storages.storage_of(self)
        return (
            0
            if owner is self._array
            else (address(self._array) - storages.bounds(owner)[0]) // int(self._array.itemsize)
        )

    def untyped_storage(self) -> storages.UntypedStorage:
        """The memory that the tensor shares with its views.

        An UntypedStorage: bytes, their address and their number.

        >>> import adjoint
        >>> adjoint.ones(2, 3).untyped_storage().nbytes()
        24
        """
        return storages.UntypedStorage(storages.storage_of(self))

    def storage(self) -> storages.TypedStorage:
        """The memory as numbers of the tensor's dtype; older, see `untyped_storage`.

        Shared by all views of it.

        >>> import adjoint
        >>> len(adjoint.ones(2, 3)[0].storage())
        6
        """
        warn_once(TYPED_STORAGE)
        return storages.TypedStorage(dtype=self.dtype, wrap_storage=self.untyped_storage())

    def share_memory_(self) -> Self:
        """Move the memory to shared memory, so that forked processes see each other's writes. Returns the tensor.

        Views of the tensor, and the tensors that it views, move along. NumPy arrays keep the old memory, and pickling
        still copies. On a device this has no effect.

        >>> import adjoint
        >>> x = adjoint.zeros(3)
        >>> x.share_memory_().is_shared(), x[1:].is_shared()
        (True, True)
        """
        self.untyped_storage().share_memory_()
        if not self.is_shared():
            # without elements it lies nowhere
            self._array = shared_memory.shared_bytes(0).view(self._array.dtype).reshape(self._array.shape)
        return self

    def is_shared(self) -> bool:
        """Whether processes that are forked share the memory; always on a device.

        See share_memory_().

        >>> import adjoint
        >>> adjoint.ones(2).is_shared()
        False
        """
        return self.is_cuda or shared_memory.is_shared(self._array)

    def pin_memory(self, device: Any = None) -> Tensor:
        """A copy in pinned memory, which a CUDA device reads at full speed; the tensor itself if it lies there.

        Raises RuntimeError without a device, and for a tensor that is not in main memory.
        """
        if device is not None and _Device(device).type == "cpu":
            raise RuntimeError("CPU device type not an accelerator.")
        if self.is_pinned():
            return self
        if self.is_cuda:
            raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        array = shared_memory.pin(self._array)
        copy = self.clone()
        copy._array = array
        return copy

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is pinned, so that a CUDA device reads it at full speed.

        See pin_memory().

        >>> import adjoint
        >>> adjoint.ones(2).is_pinned()
        False
        """
        return shared_memory.is_pinned(self._array)

    def data_ptr(self) -> int:
        """The address of the first element.

        Views that begin elsewhere have another address.

        >>> import adjoint
        >>> adjoint.tensor([1.0, 2.0])[1:].data_ptr() - adjoint.tensor([1.0]).data_ptr() != 0
        True
        """
        return address(self._array)

    @property
    def T(self) -> Tensor:
        """The tensor with its axes in reverse order.

        A view. torch deprecates it unless there are two axes; `mT` transposes matrices.

        >>> import adjoint
        >>> adjoint.tensor([[1, 2, 3], [4, 5, 6]]).T
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
        """
        ndim = self._array.ndim
        if ndim == 2:
            return ops.permute(self, (1, 0))
        warn_once(_T_OF_OTHERS if ndim else _OF_NUMBERS["T"])
        return ops.permute(self, tuple(range(ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The matrices in the last two axes, transposed. Raises RuntimeError for fewer than two axes.

        A view; axes in front of them are a batch.

        >>> import adjoint
        >>> adjoint.ones(5, 2, 3).mT.shape
        adjoint.Size([5, 3, 2])
        """
        if not self.ndim:
            warn_once(_OF_NUMBERS["mT"])
            return self
        if self.ndim < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
            )
        return self.transpose(-2, -1)

    @property
    def H(self) -> Tensor:
        """A matrix, conjugated and transposed. Raises RuntimeError unless there are two axes (or none).

        A view of a real matrix.

        >>> import adjoint
        >>> adjoint.tensor([[1j, 2.0]]).H
        tensor([[0.-1.j],
                [2.-0.j]])
        """
        if self.ndim not in (0, 2):
            hint = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
            raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{hint}")
        if self.ndim:
            return self.mH
        warn_once(_OF_NUMBERS["H"])
        return self.conj()

    @property
    def mH(self) -> Tensor:
        """The matrices in the last two axes, conjugated and transposed. Raises RuntimeError for vectors.

        Axes in front of them are a batch.

        >>> import adjoint
        >>> adjoint.tensor([[1j, 2.0]]).mH
        tensor([[0.-1.j],
                [2.-0.j]])
        """
        if self.ndim == 1:
            raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
        if not self.ndim:
            warn_once(_OF_NUMBERS["mH"])
            return self.conj()
        return self.mT.conj() if self.is_complex() else self.mT

    @property
    def real(self) -> Tensor:
        """The real part, a view of a complex tensor; a real tensor itself.

        The derivative is the cotangent as a complex number.

        >>> import adjoint
        >>> adjoint.tensor([1 + 2j]).real
        tensor([1.])
        """
        return ops.real(self) if self.is_complex() else self  # type: ignore[no-any-return]

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Tensor:
        """The imaginary part, a view of a complex tensor. Raises RuntimeError for a real one.

        The derivative is complex: the cotangent times the imaginary unit.

        >>> import adjoint
        >>> adjoint.tensor([1 + 2j]).imag
        tensor([2.])
        """
        return ops.imag(self)  # type: ignore[no-any-return]

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def is_floating_point(self) -> bool:
        """True for float16, bfloat16, float32 and float64.

        Of the dtype; complex numbers are none of these.

        >>> import adjoint
        >>> adjoint.tensor([1.5]).is_floating_point()
        True
        """
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """True for complex64 and complex128.

        Of the dtype; values do not matter.

        >>> import adjoint
        >>> adjoint.tensor([1j]).is_complex()
        True
        """
        return self.dtype.is_complex

    def is_nonzero(self) -> bool:
        """Whether the one element is not 0. Raises RuntimeError if there are none or several.

        Any dtype; the truth value of the tensor.

        >>> import adjoint
        >>> adjoint.tensor([0.0]).is_nonzero()
        False
        """
        return bool(self)

    def is_same_size(self, other: Tensor) -> bool:
        """True if two tensors have the same shape.

        Dtypes and devices may differ.

        >>> import adjoint
        >>> adjoint.ones(2, 3).is_same_size(adjoint.zeros(2, 3))
        True
        """
        return bool(self._array.shape == other._array.shape)

    @property
    def layout(self) -> Any:
        """The kind of storage: `adjoint.strided`, `adjoint.sparse_coo`, `adjoint.sparse_csr` and so on.

        See to_sparse() and to_dense().

        >>> import adjoint
        >>> adjoint.ones(2).layout
        adjoint.strided
        """
        return strided if type(self._array) is numpy.ndarray else getattr(self._array, "layout", strided)

    @property
    def is_sparse(self) -> bool:
        """Whether the layout is sparse_coo.

        False for the compressed layouts, as in torch: see `layout`.

        >>> import adjoint
        >>> adjoint.eye(2).to_sparse().is_sparse
        True
        """
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Whether the layout is sparse_csr.

        See `layout`.

        >>> import adjoint
        >>> adjoint.eye(2).to_sparse_csr().is_sparse_csr
        True
        """
        return self.layout is sparse_csr

    def is_signed(self) -> bool:
        """True if the dtype can hold negative numbers.

        False for bool and the unsigned integers.

        >>> import adjoint
        >>> adjoint.tensor([True]).is_signed()
        False
        """
        return self.dtype.is_signed

    # Python's protocols ----------------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        """The tensor as a notebook shows it: shape, dtype, history, and a small picture of the values."""
        from adjoint.tensor.notebook import page

        facts = [f"shape {tuple(self.shape)}", str(self.dtype)]
        if self.requires_grad:
            facts.append("leaf, requires grad" if self.is_leaf else f"history: {type(self.grad_fn).__name__}")
        return page(facts, self._array, repr(self))

    def __repr__(self, *, tensor_contents: object = None) -> str:
        suffixes = []
        try:
            node = self.grad_fn
            name = None if node is None else type(node).__name__
        except RuntimeError:
            # a view that was created under no_grad and modified since has no defined history
            name = "Invalid"
        if name is not None:
            suffixes.append(f"grad_fn=<{name}>")
        elif self.requires_grad:
            suffixes.append("requires_grad=True")
        stack = current().dual_stack
        tangent = registry.tangent_of(self, stack[-1]) if stack else None
        if tangent is not None:
            suffixes.append(f"tangent={tangent}")
        prefix = f"{type(self).__name__}(" if self._overrides else "tensor("
        return formatting.format_tensor(self._array, prefix=prefix, suffixes=suffixes)

    def __dir__(self) -> list[str]:
        hidden = {name for name, value in vars(Tensor).items() if isinstance(value, NoMethod)} - self.__dict__.keys()
        return sorted(set(object.__dir__(self)) - hidden)

    def __format__(self, spec: str) -> str:
        if self.ndim == 0:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self._array.shape[0])

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        n = self.numel()
        if n != 1:
            several = "no values" if n == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {several} is ambiguous")
        return bool(compute(self._array))

    def _number(self, target: str = "complex") -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        number = compute(self._array).item()
        if isinstance(number, complex) and target != "complex":
            if number.imag:
                raise RuntimeError(f"value cannot be converted to type {target} without overflow")
            return number.real
        return number

    def _warn_of_loss(self, name: str) -> None:
        state = current()
        if state.differentiated or state.dual_stack:
            check_kept(self, f"{name}() of a tensor")
        if self.requires_grad and is_grad_enabled():
            # torch says so once in a process; each place where it happens loses the graph
            warnings.warn(LOST_BY_CONVERSION, UserWarning, stacklevel=3)

    def __float__(self) -> float:
        self._warn_of_loss("float")
        return float(self._number("double"))

    def __int__(self) -> int:
        return int(self._number("int64_t"))

    def __complex__(self) -> complex:
        self._warn_of_loss("complex")
        return complex(self._number())

    def __index__(self) -> int:
        if self.numel() != 1 or kind_of(self._array) not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(compute(self._array).item())

    def __hash__(self) -> int:
        return id(self)

    def __contains__(self, element: Any) -> bool:
        if not is_operand(element):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
            )
        return bool(ops.eq(self, element).any().item())

    def __pos__(self) -> Tensor:
        return self.positive()

    def __reversed__(self) -> Tensor:
        return self if self.ndim == 0 else self.flip(0)

    #: Whether a pickle warns of the hooks that it loses; as in torch, one of a Parameter does not.
    _warns_of_lost_hooks = True
    #: Whether a deep copy has a copy of the gradient; as in torch, one of a Parameter has no gradient.
    _copies_gradient = True

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._warns_of_lost_hooks and (self._hooks is not None or self._node is not None):
            warn_if_has_hooks(self)
        return _rebuild, (type(self), self._array, self.requires_grad, _user_attributes(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(errors.DEEPCOPY)
        if id(self) in memo:
            return memo[id(self)]  # type: ignore[no-any-return]
        import copy

        twin = _new_instance(type(self))
        memo[id(self)] = twin
        twin._array = deep_copy(self._array, memo)
        twin._requires = self._requires
        if self._copies_gradient:
            twin._grad = copy.deepcopy(self._grad, memo)
        twin.__dict__.update(copy.deepcopy(_user_attributes(self), memo))
        return twin

    # conversions -----------------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """The one element as a Python number. Raises RuntimeError if there are several.

        Any dtype: a bool, an int, a float or a complex. No gradient flows through it.

        >>> import adjoint
        >>> adjoint.tensor([[2.5]]).item()
        2.5
        """
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return compute(self._array).item()

    def compute(self) -> Tensor:
        """The values of a lazy tensor, over a dask array, as one over a NumPy array; of any other tensor itself.

        Both without history. Several tensors at once, a loss and its gradients, are for adjoint.distributed.compute.

        >>> import adjoint, dask.array
        >>> (adjoint.as_tensor(dask.array.ones(3, chunks=2)) * 2).compute()
        tensor([2., 2., 2.], dtype=adjoint.float64)
        """
        return new_tensor(compute(self._array)) if is_lazy(self._array) else self.detach()  # type: ignore[return-value]

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a zero-dimensional tensor.

        Any dtype. No gradient flows through it.

        >>> import adjoint
        >>> adjoint.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return compute(self._array).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The array itself, sharing memory. Raises RuntimeError for a tensor that requires grad unless forced.

        force: detach it first, and bring it to main memory. Changes of the array escape the check of versions.

        >>> import adjoint
        >>> adjoint.tensor([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
        """
        if not force and self.requires_grad and is_grad_enabled():
            raise errors.CANNOT_NUMPY.error()
        if not force and current().dual_stack:
            check_kept(self, "a NumPy array of a tensor")
        if is_lazy(self._array):
            raise TypeError(errors.LAZY_NUMPY)
        if self.is_cuda:
            if not force:
                raise TypeError(errors.CUDA_NUMPY.format(device=self.device))
            return on_device(self._array, CPU)
        return self._array if type(self._array) is numpy.ndarray else numpy.asarray(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if leaves_product(sys._getframe(1)):
            return numpy.array(None, dtype=object)
        if self.requires_grad and is_grad_enabled():
            raise errors.CANNOT_NUMPY.error()
        if current().dual_stack:
            check_kept(self, "a NumPy array of a tensor")
        if is_lazy(self._array):
            raise TypeError(errors.LAZY_NUMPY)
        if self.is_cuda:
            raise TypeError(errors.CUDA_NUMPY.format(device=self.device))
        return numpy.array(self._array, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        return protocols.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.array_function(func, types, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return protocols.array_namespace(api_version)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        return protocols.dlpack(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return protocols.dlpack_device(self)  # type: ignore[no-any-return]

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The tensor on a device, as the array API standard has it: itself where it lies there already.

        device: a device or its name.

        >>> import adjoint
        >>> adjoint.ones(2).to_device('cpu')
        tensor([1., 1.])
        """
        if stream is not None:
            raise ValueError(f"to_device(): streams are not supported, got stream={stream!r}: leave it out")
        return self.to(as_device(device, "to_device"))

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """The tensor with another dtype or on another device; itself if nothing changes and copy is False.

        Takes a dtype, a device, both, or another Tensor, whose dtype is used. A memory format orders the elements.

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).to(adjoint.float64)
        tensor([1., 2.], dtype=adjoint.float64)
        """
        if not kwargs and len(args) == 1 and type(args[0]) is dtype:
            return self if args[0] is self.dtype else ops.cast(self, args[0])
        target_dtype = kwargs.pop("dtype", None)
        target_device = kwargs.pop("device", None)
        flags = [argument for argument in args if isinstance(argument, bool)]  # non_blocking, copy
        copy = kwargs.pop("copy", len(flags) > 1 and flags[1])
        kwargs.pop("non_blocking", None)
        order = kwargs.pop("memory_format", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
        for argument in args:
            if isinstance(argument, Tensor):
                target_dtype, target_device = argument.dtype, argument.device
            elif isinstance(argument, (str, device)):
                target_device = argument
            elif argument is not None and not isinstance(argument, bool):
                target_dtype = argument
        target = self.dtype if target_dtype is None else as_dtype(target_dtype, "to")
        converted = self if target is self.dtype else ops.cast(self, target)
        if target_device is not None and not lies_on(self, goal := as_device(target_device, "to")):
            converted = ops.move(converted, goal, self.device)
        if copy and converted is self:
            converted = self.clone()
        return converted if order is None else converted.contiguous(memory_format=as_memory_format(order, "to"))

    def type(self, dtype: Any = None) -> Any:
        """The name of the tensor's type, or the tensor with another dtype.

        dtype: a dtype, or the name of a type of torch's. The derivative casts the cotangent back.

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).type()
        'adjoint.LongTensor'
        """
        dtype = _dtype_of_type(dtype) if isinstance(dtype, str) else getattr(dtype, "dtype", dtype)
        return f"{printed.module}.{self.dtype.long_name}Tensor" if dtype is None else self.to(dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the dtype of another.

        The tensor itself if it has that dtype; the derivative casts the cotangent back.

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).type_as(adjoint.tensor([0.5]))
        tensor([1., 2.])
        """
        return self.to(other.dtype)

    def cpu(self, memory_format: Any = None) -> Tensor:
        """The tensor in the computer's main memory: itself where it lies there already.

        The derivative brings the cotangent to the device of the tensor.

        >>> import adjoint
        >>> adjoint.tensor([1.0]).cpu()
        tensor([1.])
        """
        if memory_format is None and type(self._array) is _ndarray:
            return self  # NumPy's arrays lie there
        return self.to("cpu", memory_format=memory_format)

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
        """The tensor on a CUDA device, the current one unless given, which needs CuPy; itself where it lies there.

        Raises AssertionError if there is no such device.
        """
        return self.to("cuda" if device is None else device, memory_format=memory_format)

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor lies on a CUDA device.

        See `device`.

        >>> import adjoint
        >>> adjoint.ones(2).is_cuda
        False
        """
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor lies in main memory.

        See `device`.

        >>> import adjoint
        >>> adjoint.ones(2).is_cpu
        True
        """
        return self.device.type == "cpu"

    def get_device(self) -> int:
        """The number of the CUDA device that the tensor lies on, -1 in main memory.

        The same as the index of `device`.

        >>> import adjoint
        >>> adjoint.ones(2).get_device()
        -1
        """
        index = self.device.index
        return -1 if index is None else index

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of an operation with instances of this subclass among its arguments: of the class.

        A subclass may say otherwise. Inside of this method the operation gives plain Tensors.
        """
        return _default_torch_function(cls, func, types, args, kwargs)

    def as_subclass(self, cls: builtins.type[Sub]) -> Sub:
        """The tensor as an instance of a subclass: the same memory and history.

        Raises TypeError for a class that is no subclass of Tensor.
        """
        return _cast(self.view(self.shape), cls)

    @staticmethod
    def _make_subclass(cls: builtins.type[Sub], data: Tensor, require_grad: bool = False) -> Sub:
        """Data without its history as a leaf of a subclass, for the __new__ of one."""
        leaf = _cast(data.detach(), cls)
        leaf.requires_grad = require_grad
        return cast(Sub, leaf)

    # tensors like this one -------------------------------------------------------------------------------------------

    def new_tensor(self, data: Any, *, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
        """A copy of the data as a tensor with this one's dtype.

        data: numbers, nested lists or an array; dtype, device and requires_grad as in tensor().

        >>> import adjoint
        >>> adjoint.tensor([1.5]).new_tensor([1, 2])
        tensor([1., 2.])
        """
        kind = dtype or self.dtype
        result = creation.tensor(data, dtype=kind, requires_grad=requires_grad, device=self._device_of(device))
        return like(result, self)  # type: ignore[no-any-return]

    def new(self, *data: Any, device: Any = None) -> Tensor:
        """A tensor of this one's dtype: of the shape given, or with a copy of the data. Older: see new_tensor().

        Raises TypeError for data that are no sequence.
        """
        return like(new_tensor(array_from_arguments(data, self.dtype, device)), self)  # type: ignore[no-any-return]

    def new_empty_strided(
        self,
        size: Any,
        stride: Any,
        *,
        dtype: Any = None,
        requires_grad: bool = False,
        device: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        """Memory of no particular content with this tensor's dtype, seen with the given sizes and strides.

        Strides count elements; dtype, device and requires_grad as in empty_strided().

        >>> import adjoint
        >>> adjoint.ones(2).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
        if pin_memory is not False:
            return _pin(
                self.new_empty_strided,
                pin_memory,
                size,
                stride,
                dtype=dtype,
                requires_grad=requires_grad,
                device=device,
            )
        kind = dtype or self.dtype
        result = creation.empty_strided(
            size, stride, dtype=kind, requires_grad=requires_grad, device=self._device_of(device)
        )
        return like(result, self)  # type: ignore[no-any-return]

    def new_zeros(
        self, *size: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False, **options: Any
    ) -> Tensor:
        """Zeros with this tensor's dtype.

        size: lengths of the axes, as numbers or one sequence; dtype, device and requires_grad as in zeros().

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
        """
        if pin_memory is not False:
            return _pin(self.new_zeros, pin_memory, *size, dtype=dtype, device=device, **options)
        result = creation.zeros(*size, dtype=dtype or self.dtype, device=self._device_of(device), **options)
        return batched_as(self, result)

    def new_ones(
        self, *size: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False, **options: Any
    ) -> Tensor:
        """Ones with this tensor's dtype.

        size: lengths of the axes, as numbers or one sequence; dtype, device and requires_grad as in ones().

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).new_ones(3)
        tensor([1, 1, 1])
        """
        if pin_memory is not False:
            return _pin(self.new_ones, pin_memory, *size, dtype=dtype, device=device, **options)
        result = creation.ones(*size, dtype=dtype or self.dtype, device=self._device_of(device), **options)
        return batched_as(self, result)

    def new_empty(
        self, *size: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False, **options: Any
    ) -> Tensor:
        """Memory of no particular content with this tensor's dtype.

        size: lengths of the axes, as numbers or one sequence; dtype, device and requires_grad as in empty().

        >>> import adjoint
        >>> adjoint.ones(2).new_empty(3).shape
        adjoint.Size([3])
        """
        if pin_memory is not False:
            return _pin(self.new_empty, pin_memory, *size, dtype=dtype, device=device, **options)
        result = creation.empty(*size, dtype=dtype or self.dtype, device=self._device_of(device), **options)
        return batched_as(self, result)

    def new_full(
        self,
        size: Any,
        fill_value: Any,
        *,
        dtype: Any = None,
        requires_grad: bool = False,
        device: Any = None,
        pin_memory: bool = False,
    ) -> Tensor:
        """A number repeated, with this tensor's dtype.

        size: lengths of the axes; dtype, device and requires_grad as in full().

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).new_full((3,), 7)
        tensor([7, 7, 7])
        """
        if pin_memory is not False:
            return _pin(
                self.new_full, pin_memory, size, fill_value, dtype=dtype, requires_grad=requires_grad, device=device
            )
        kind = dtype or self.dtype
        result = creation.full(
            size, fill_value, dtype=kind, requires_grad=requires_grad, device=self._device_of(device)
        )
        return batched_as(self, result)

    def _device_of(self, value: Any) -> Any:
        """The device that was passed, or else this tensor's own."""
        return self.device if value is None else value

    # the graph -------------------------------------------------------------------------------------------------------

    @older_names(retain_variables="retain_graph", grad_variables="gradient")
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Compute the gradients of this tensor with respect to graph leaves; see `adjoint.autograd.backward`.

        Args:
            gradient: the cotangent of this tensor, of its shape; needed unless it has one element.

        >>> import adjoint
        >>> x = adjoint.ones(2, requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 2.])
        """
        plain = gradient is None and not retain_graph and not create_graph and inputs is None
        if not (plain and backward_from(self)):
            backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Switch on (or off) that gradients are accumulated for this leaf; returns the tensor itself.

        Raises RuntimeError for integers, and where it is switched off for a tensor that is no leaf.

        >>> import adjoint
        >>> adjoint.ones(2).requires_grad_().requires_grad
        True
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type_name(requires_grad)}"
            )
        errors.check_not_transformed("requires_grad_")
        return needing_grad(self, requires_grad)  # type: ignore[no-any-return]

    def detach(self) -> Tensor:
        """A tensor that shares memory and version, but not the graph.

        Any shape and dtype. No gradient flows through it. Writing to it counts in the version that both share, so that
        a backward pass which needs the old values raises RuntimeError.

        >>> import adjoint
        >>> adjoint.ones(2, requires_grad=True).detach().requires_grad
        False
        """
        result = twin_outside(self)
        if self._view is not None:
            storages.share_version(result, self)
        if current().interceptors and volatile.is_volatile(self):
            volatile.make_volatile(result)
        return like(result, self) if registry.overriding else result  # type: ignore[no-any-return]

    def detach_(self) -> Tensor:
        """Remove the tensor from its graph, so that it becomes a leaf.

        As in torch, this has no effect in inference mode and on inference tensors.
        """
        if current().inference or self.is_inference():
            return self
        if self._view is not None:
            raise RuntimeError(errors.DETACH_OF_VIEW)
        errors.check_captured(self, "detach_")
        self._node = None
        self._output_nr = 0
        self._requires = False
        self._tangents = None
        return self

    @property
    def data(self) -> Tensor:
        """A tensor that shares memory, but not the graph or the version; no check sees changes through it.

        Use detach() if checks are needed, and no_grad() to modify a parameter.

        >>> import adjoint
        >>> adjoint.ones(2, requires_grad=True).data
        tensor([1., 1.])
        """
        twin = new_tensor(self._array)
        storages.share_memory(twin, self)
        twin._level = self._level  # type: ignore[attr-defined]
        return like(twin, self)  # type: ignore[no-any-return]

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_name(value)}")
        if self.requires_grad and not errors.is_differentiable(value.dtype):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if value.dtype is not self.dtype:
            # results computed from values of another dtype are not differentiated by these
            self._accumulator = None
        self._array = value._array
        storages.share_start(self, value)
        if self._accumulator is not None:
            reshape_accumulator(self)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook` with every gradient of this tensor; a returned tensor replaces the gradient.

        Returns a handle, whose remove() takes the hook away. Raises RuntimeError for a tensor that requires no
        gradient.

        >>> import adjoint
        >>> x = adjoint.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.is_leaf:
            return RemovableHandle(table_of(self, "_hooks"), hook)
        return RemovableHandle(self._node_hooks(), hook, last=RETAIN)

    @property
    def _backward_hooks(self) -> dict[builtins.int, Any] | None:
        """The hooks of `register_hook` by their numbers, None before the first one: libraries for torch ask for it."""
        table = hooks_of(self)
        if table is None or list(table) == [RETAIN]:
            return None
        return OrderedDict((key, hook) for key, hook in table.items() if key != RETAIN)

    @property
    def _post_accumulate_grad_hooks(self) -> dict[builtins.int, Any] | None:
        """The hooks of `register_post_accumulate_grad_hook` by their numbers, None before the first one."""
        return None if self._post_hooks is None else OrderedDict(self._post_hooks)

    def _node_hooks(self) -> HookTable:
        return hook_table(node_of(self), self._output_nr)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Have `hook` called with this leaf each time after its .grad was accumulated.

        Returns a handle, whose remove() takes the hook away. Raises RuntimeError for a tensor that is no leaf.

        >>> import adjoint
        >>> x = adjoint.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> x.sum().backward()
        tensor([1., 1.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return RemovableHandle(table_of(self, "_post_hooks"), hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this tensor, although it is not a leaf, in .grad.

        Raises RuntimeError for a tensor that requires no gradient. Nothing to do for a leaf.

        >>> import adjoint
        >>> (lambda y: (y.retain_grad(), y.sum().backward(), y.grad)[-1])(adjoint.ones(2, requires_grad=True) * 3)
        tensor([1., 1.])
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or self.retains_grad:
            return
        errors.check_not_differentiated("retain_grad")
        self._retain = node_of(self)
        owner = weakref.ref(self)

        def keep(gradient: Tensor) -> None:
            tensor = owner()
            if tensor is not None and gradient is not None:
                tensor._grad = gradient.clone() if tensor._grad is None else tensor._grad + gradient

        self._node_hooks()[RETAIN] = keep

    def reinforce(self, reward: Any) -> None:
        """Register the reward of this random draw, made by bernoulli, multinomial or normal; deprecated.

        In the backward pass the parameters of the draw get the gradient of -reward * log(probability of the draw), and
        no cotangent is needed: `action.backward()`, or `autograd.backward(actions)`.

        Args:
            reward: one number for each element of the draw, or one for all.

        Raises RuntimeError unless this is a draw from a tensor that requires grad, and at a second call.

        >>> import adjoint, warnings
        >>> warnings.simplefilter("ignore")
        >>> p = adjoint.tensor([0.0, 1.0], requires_grad=True)
        >>> action = p.multinomial(1)
        >>> action.reinforce(adjoint.tensor([3.0]))
        >>> action.backward()
        >>> p.grad
        tensor([3., -0.])
        """
        stochastic.reinforce(self, reward)

    @property
    def volatile(self) -> bool:
        """True for a tensor whose results have no history; deprecated, see `no_grad`.

        torch had it before 0.4.

        >>> import adjoint
        >>> adjoint.ones(2).volatile
        False
        """
        return volatile.get_volatile(self)

    @volatile.setter
    def volatile(self, value: bool) -> None:
        volatile.set_volatile(self, value)


def array_from_arguments(data: tuple[Any, ...], kind: dtype, device: Any) -> Any:
    """The array of `Tensor(*data)`: memory of the given shape, a copy of a sequence, a tensor's own array."""
    as_device(device, "new")
    first = data[0] if len(data) == 1 else None
    if isinstance(first, Tensor):
        return first._array
    if len(data) != 1 or (isinstance(first, (Size, numbers.Integral)) and not isinstance(first, bool)):
        return numpy.empty(check_shape("new", data) if data else (0,), kind.numpy)
    if isinstance(first, (Sequence, numpy.ndarray)):
        return array_from_data(array_from_data(first, unwrap=unwrap), kind, unwrap=unwrap)
    raise TypeError(f"new(): data must be a sequence (got {type_name(first)})")


def unwrap(value: object) -> Any:
    """The raw array of a Tensor, None for other objects."""
    return value._array if isinstance(value, Tensor) else None


def _pin(method: Callable[..., Tensor], pin_memory: bool, *args: Any, **options: Any) -> Tensor:
    """The result of a method that makes a tensor, in pinned memory if asked."""
    from adjoint.tensor.memory.pinning import pinned_if_asked

    return pinned_if_asked(method, args, {**options, "pin_memory": pin_memory})  # type: ignore[no-any-return]


def batched_as(tensor: Tensor, result: Tensor) -> Tensor:
    """A new tensor as one that may be another for each member of a batch, if the given one may be."""
    result._array = in_batch_of(result._array, tensor._array)
    return like(result, tensor)  # type: ignore[no-any-return]


def _cast(alias: Tensor, cls: type[Sub]) -> Sub:
    """A tensor that nobody else has, as an instance of a subclass."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    alias.__class__ = cls
    return cast(Sub, alias)


def _user_attributes(tensor: Tensor) -> dict[str, Any]:
    # uncompiled, the core's fields of a tensor are in the same dictionary
    return {name: value for name, value in tensor.__dict__.items() if name not in _CORE_FIELDS}


def _dtype_of_type(name: str) -> dtype:
    """The dtype of a type's name, such as "adjoint.FloatTensor" (or torch's, in programs written for it)."""
    package, _, type_name = name.rpartition(".")
    for each in DTYPES:
        if package in ("adjoint", "torch") and type_name == f"{each.long_name}Tensor":
            return each
    raise ValueError(f"invalid type: '{name}'")


def lies_on(tensor: Tensor, target: device) -> bool:
    """Whether a tensor lies on a device; without a number any of the kind will do."""
    source = tensor.device
    return source == target or (source.type == target.type and target.index is None)


def _rebuild(cls: type[Tensor], array: Any, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    tensor = _new_instance(cls)
    tensor._array = array
    tensor._requires = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


set_tensor_type(Tensor, ArithmeticTensor, ops)
no_array(Tensor)

from adjoint.tensor import creation  # noqa: E402  (needs the class to exist)
