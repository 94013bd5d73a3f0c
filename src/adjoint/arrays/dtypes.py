"""Data types: their names, NumPy counterparts and limits, and PyTorch's rules for promoting them.

bfloat16 comes from ml_dtypes, whose import takes several milliseconds. This module imports it only when an array of
that type is made (``bfloat16.numpy``) or found (``from_numpy_dtype`` with a type that is not NumPy's).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from adjoint.arrays.size import printed
from adjoint.runtime.caches import memoize

_BOOL, _INTEGER, _FLOATING, _COMPLEX = range(4)
_CATEGORY_OF_KIND = {"b": _BOOL, "i": _INTEGER, "u": _INTEGER, "f": _FLOATING, "c": _COMPLEX}


class dtype:
    """The type of an array's elements, as ``torch.dtype``: one instance for each type, compared by identity.

    Attributes:
        name: ``"float32"``; ``repr`` is ``adjoint.float32``.
        long_name: the name of PyTorch's scalar type in its messages (``"Float"``, ``"Long"``).
        c_name: the name of the C++ type in its messages (``"float"``, ``"long int"``).
        abbr: ``"f32"``.
        itemsize: bytes of one element.
        category: 0 for bool, 1 for integers, 2 for floating point, 3 for complex.
        is_floating_point, is_complex, is_signed: the numbers that the type can represent.
        numpy: the ``numpy.dtype`` with the same elements.

    >>> float32.itemsize, float32.numpy, float32.to_complex()
    (4, dtype('float32'), adjoint.complex64)
    """

    __slots__ = ("__weakref__", "abbr", "c_name", "category", "is_complex", "is_floating_point", "is_signed",
                 "itemsize", "long_name", "name", "numpy")  # fmt: skip

    name: str
    long_name: str
    c_name: str
    abbr: str
    itemsize: int
    category: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    numpy: np.dtype[Any]

    def __new__(cls, *args: object, **kwargs: object) -> dtype:
        raise TypeError("cannot create 'adjoint.dtype' instances")

    def __getattr__(self, attribute: str) -> Any:
        # Reached for a slot that is still empty only: bfloat16's NumPy type.
        if attribute != "numpy":
            raise AttributeError(f"'adjoint.dtype' object has no attribute '{attribute}'")
        self.numpy = _bfloat16_numpy()
        return self.numpy

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type.

        There is no 32-bit complex type here: float16, like bfloat16, answers complex64 (PyTorch: complex32).

        Raises:
            RuntimeError: this is an integer type or bool.
        """
        if self.category < _FLOATING:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.long_name}")
        return _TO_COMPLEX.get(self, self)

    def to_real(self) -> dtype:
        """The dtype of the real part: float32 for complex64; the dtype itself if it is not complex.

        >>> import adjoint
        >>> adjoint.complex128.to_real()
        adjoint.float64
        """
        return _TO_REAL.get(self, self)

    def __repr__(self) -> str:
        return f"{printed.module}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _dtype_named, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: object) -> dtype:
        return self


def _make(name: str, kind: str, itemsize: int, abbr: str, long_name: str, c_name: str) -> dtype:
    self: dtype = object.__new__(dtype)
    self.name, self.abbr, self.long_name, self.c_name = name, abbr, long_name, c_name
    self.itemsize = itemsize
    self.category = _CATEGORY_OF_KIND[kind]
    self.is_floating_point = kind == "f"
    self.is_complex = kind == "c"
    self.is_signed = kind in "ifc"
    if name != "bfloat16":
        self.numpy = np.dtype(name)
    return self


bool_ = _make("bool", "b", 1, "b8", "Bool", "bool")
uint8 = _make("uint8", "u", 1, "u8", "Byte", "unsigned char")
uint16 = _make("uint16", "u", 2, "u16", "UInt16", "short unsigned int")
uint32 = _make("uint32", "u", 4, "u32", "UInt32", "unsigned int")
uint64 = _make("uint64", "u", 8, "u64", "UInt64", "long unsigned int")
int8 = _make("int8", "i", 1, "i8", "Char", "signed char")
int16 = _make("int16", "i", 2, "i16", "Short", "short int")
int32 = _make("int32", "i", 4, "i32", "Int", "int")
int64 = _make("int64", "i", 8, "i64", "Long", "long int")
float16 = _make("float16", "f", 2, "f16", "Half", "c10::Half")
bfloat16 = _make("bfloat16", "f", 2, "bf16", "BFloat16", "c10::BFloat16")
float32 = _make("float32", "f", 4, "f32", "Float", "float")
float64 = _make("float64", "f", 8, "f64", "Double", "double")
complex64 = _make("complex64", "c", 8, "c64", "ComplexFloat", "c10::complex<float>")
complex128 = _make("complex128", "c", 16, "c128", "ComplexDouble", "c10::complex<double>")

DTYPES: tuple[dtype, ...] = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip

#: PyTorch's second names, for the face that exports them (some shadow Python's own).
ALIASES: dict[str, dtype] = {
    "bool": bool_, "char": int8, "short": int16, "int": int32, "long": int64, "half": float16,
    "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip

_BY_NAME = {each.name: each for each in DTYPES}
_TO_COMPLEX = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}
_TO_REAL = {complex64: float32, complex128: float64}


def _dtype_named(name: str) -> dtype:
    if name not in _BY_NAME:
        raise TypeError(f"{name!r} is not the name of a dtype; the names are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


# --- from and to NumPy --------------------------------------------------------------------------------------

_SUPPORTED = (
    "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
    "uint8, and bool."
)


@memoize()
def _bfloat16_numpy() -> np.dtype[Any]:
    import ml_dtypes

    numpy_dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return numpy_dtype


class _ByNumpy(dict[Any, dtype]):
    """numpy.dtype -> dtype; a type that is not there yet is bfloat16 or an error."""

    def __missing__(self, key: np.dtype[Any]) -> dtype:
        if key.name == "bfloat16" and key == _bfloat16_numpy():
            self[key] = bfloat16
            return bfloat16
        if not key.isnative and key.newbyteorder("=") in self:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion "
                "between byte orders is currently not supported."
            )
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{key.type.__name__}. The only supported types are: {_SUPPORTED}"
        )


by_numpy = _ByNumpy({each.numpy: each for each in DTYPES if each is not bfloat16})
#: The classes of NumPy's own dtypes, which are keys of that table.
NUMPY_TYPES = frozenset(map(type, by_numpy))


#: The NumPy dtypes of other libraries' dtypes, as they are met.
_NUMPY_OF_OTHERS: dict[Any, np.dtype[Any]] = {}


def numpy_dtype(kind: Any) -> np.dtype[Any]:
    """NumPy's equivalent of a dtype of any array library; Python's and NumPy's types are accepted too.

    The core and the rules use NumPy's dtypes for arrays of every library.

    >>> numpy_dtype(float32), numpy_dtype(bool)
    (dtype('float32'), dtype('bool'))
    """
    if isinstance(kind, np.dtype):
        return kind
    result = _NUMPY_OF_OTHERS.get(kind)
    if result is None:
        if isinstance(kind, dtype):
            result = kind.numpy
        elif isinstance(kind, type):
            result = np.dtype(kind)
        else:
            # the standard has no way to ask; libraries print "torch.float32", "array_api_strict.float32"
            result = _dtype_named(str(kind).rpartition(".")[2]).numpy
        _NUMPY_OF_OTHERS[kind] = result
    return result


_FLOAT16 = np.dtype("float16")


def is_half(kind: Any) -> bool:
    """True for float16 and bfloat16, which are computed in float32 and rounded once.

    >>> is_half(float16.numpy), is_half(float32.numpy)
    (True, False)
    """
    kind = numpy_dtype(kind)
    # the size, which is quickly read, tells most types apart
    return bool(kind.itemsize == 2 and (kind == _FLOAT16 or kind.name == "bfloat16"))


def kind_of(value: Any) -> str:
    """The letter for the kind of an array's elements, or of a dtype: b(ool), i(nt), u(nsigned), f(loat), c(omplex).

    >>> kind_of(np.ones(2)), kind_of(complex64)
    ('f', 'c')
    """
    try:
        return value.dtype.kind  # type: ignore[no-any-return]
    except AttributeError:
        return numpy_dtype(getattr(value, "dtype", value)).kind


def from_numpy_dtype(kind: Any) -> dtype:
    """The dtype for a ``numpy.dtype`` or a dtype of another library.

    Raises:
        TypeError: adjoint has no such dtype (object, str, datetime64, longdouble, structured types).
        ValueError: its byte order is not the machine's.

    >>> from_numpy_dtype(np.dtype("f8"))
    adjoint.float64
    """
    return by_numpy[kind if isinstance(kind, np.dtype) else numpy_dtype(kind)]


_BY_PYTHON_TYPE: dict[Any, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}


def as_dtype(x: object, function: str = "tensor", argument: str = "argument 'dtype'") -> dtype:
    """Convert an argument to a dtype: a dtype, ``float``/``int``/``bool``/``complex``, or NumPy's types.

    ``function`` and ``argument`` appear in the error message.

    Raises:
        TypeError: it is none of these (strings included, as in PyTorch).

    >>> as_dtype(float), as_dtype(np.int32), as_dtype(np.dtype("c8"))
    (adjoint.float64, adjoint.int32, adjoint.complex64)
    """
    if isinstance(x, dtype):
        return x
    if isinstance(x, type):
        if x in _BY_PYTHON_TYPE:
            return _BY_PYTHON_TYPE[x]
        if issubclass(x, np.generic):
            return by_numpy[np.dtype(x)]
    if isinstance(x, np.dtype):
        return by_numpy[x]
    raise TypeError(f"{function}(): {argument} must be adjoint.dtype, not {type(x).__name__}")


# --- promotion ----------------------------------------------------------------------------------------------

# Each type's next wider types. Two types promote to the least type that both can reach; where there is none
# (uint64 and a signed integer), they do not promote. PyTorch refuses uint16, uint32 and uint64 with other integers
# altogether; the array API standard defines their promotion.
_WIDER: dict[dtype, tuple[dtype, ...]] = {
    bool_: (uint8, int8),
    uint8: (int16, uint16),
    int8: (int16,),
    int16: (int32,),
    int32: (int64,),
    int64: (float16, bfloat16),
    uint16: (int32, uint32),
    uint32: (int64, uint64),
    uint64: (float16, bfloat16),
    float16: (float32,),
    bfloat16: (float32,),
    float32: (float64, complex64),
    float64: (complex128,),
    complex64: (complex128,),
    complex128: (),
}


@memoize()
def _reachable(a: dtype) -> frozenset[dtype]:
    return frozenset((a,)).union(*(_reachable(wider) for wider in _WIDER[a]))


@memoize()
def promote_types(a: dtype, b: dtype) -> dtype:
    """The smallest type that both types convert to, by PyTorch's rules and, where it has none, the array API's.

    Raises:
        RuntimeError: uint64 with a signed integer.

    >>> promote_types(int64, float16), promote_types(uint8, int8), promote_types(float64, complex64)
    (adjoint.float16, adjoint.int16, adjoint.complex128)
    >>> promote_types(uint16, uint8), promote_types(uint16, int8)
    (adjoint.uint16, adjoint.int32)
    """
    for number, each in enumerate((a, b), 1):
        if type(each) is not dtype:
            raise TypeError(
                f"promote_types(): argument 'type{number}' (position {number}) must be adjoint.dtype, "
                f"not {type(each).__name__}"
            )
    common = _reachable(a) & _reachable(b)
    for each in common:
        if _reachable(each) == common:
            return each
    raise RuntimeError(
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        f"{a.long_name} and {b.long_name}"
    )


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a conversion keeps the kind of number: no complex to real, float to integer, or number to bool.

    >>> can_cast(float64, float16), can_cast(float32, int32)
    (True, False)
    """
    for position, (name, each) in enumerate((("from_", from_), ("to", to)), 1):
        if type(each) is not dtype:
            raise TypeError(
                f"can_cast(): argument '{name}' (position {position}) must be adjoint.dtype, not {type(each).__name__}"
            )
    return from_.category <= to.category


#: Ranks of operands for ``result_type``: a lower rank decides only when its category is higher.
SCALAR, ZERO_DIM, DIMENSIONED = range(3)


def _combine(higher: dtype, lower: dtype) -> dtype:
    """The result of an operand of higher rank with one of lower rank."""
    if lower.category <= higher.category:
        return higher
    if lower.is_complex:
        return higher.to_complex() if higher.is_floating_point else lower
    return promote_types(higher, lower)


@memoize()
def _result_type_of_two(a: tuple[dtype, int], b: tuple[dtype, int]) -> tuple[dtype, int]:
    if a[1] == b[1]:
        return promote_types(a[0], b[0]), a[1]
    higher, lower = (a, b) if a[1] > b[1] else (b, a)
    return _combine(higher[0], lower[0]), higher[1]


def result_type(*operands: tuple[dtype, int]) -> dtype:
    """The type of an arithmetic result, from each operand's ``(dtype, rank)``.

    The rank is ``DIMENSIONED``, ``ZERO_DIM`` or ``SCALAR`` (a Python number, whose dtype ``scalar_dtype``
    gives). The operands of one rank are promoted first; a lower rank then widens the result only if its
    category (bool, integer, floating point, complex) is higher.

    >>> result_type((float32, DIMENSIONED), (float64, ZERO_DIM))
    adjoint.float32
    >>> result_type((int8, DIMENSIONED), (float32, SCALAR))
    adjoint.float32
    """
    if len(operands) == 2:
        return _result_type_of_two(*operands)[0]
    if not operands:
        raise ValueError("result_type() needs at least one operand")
    by_rank: dict[int, dtype] = {}
    for each, rank in operands:
        by_rank[rank] = promote_types(by_rank[rank], each) if rank in by_rank else each
    ranks = sorted(by_rank)
    result = by_rank[ranks[0]]
    for rank in ranks[1:]:
        result = _combine(by_rank[rank], result)
    return result


def promote_all(dtypes: Iterable[dtype]) -> dtype:
    """``promote_types`` over one or more dtypes, from left to right."""
    first, *rest = dtypes
    for each in rest:
        first = promote_types(first, each)
    return first


# --- the default type ---------------------------------------------------------------------------------------

_default = float32


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats: float32 unless `set_default_dtype` has changed it.

    >>> import adjoint
    >>> adjoint.get_default_dtype()
    adjoint.float32
    """
    return _default


def get_default_complex_dtype() -> dtype:
    """The dtype of tensors made from Python complex numbers: the complex counterpart of the default dtype."""
    return _default.to_complex()


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of tensors made from Python floats, and with it the dtype for complex numbers.

    Raises:
        TypeError: it is not a floating-point dtype.
    """
    global _default
    if type(d) is not dtype:
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


def scalar_dtype(value: bool | int | float | complex) -> dtype:
    """The dtype of a Python number in arithmetic: bool, int64, the default, or its complex counterpart.

    >>> scalar_dtype(True), scalar_dtype(2), scalar_dtype(2.5), scalar_dtype(2j)
    (adjoint.bool, adjoint.int64, adjoint.float32, adjoint.complex64)
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _default
    if isinstance(value, complex):
        return _default.to_complex()
    raise TypeError(f"expected a Python number (bool, int, float or complex), not {type(value).__name__}")


# --- limits -------------------------------------------------------------------------------------------------


class _Info:
    """The common part of finfo and iinfo: attributes that are set once, equality by type, PyTorch's repr."""

    _repr_names: ClassVar[tuple[str, ...]]
    __slots__ = ("bits", "dtype", "max", "min")

    dtype: str
    bits: int

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))

    def __repr__(self) -> str:
        text = ", ".join(f"{name}={getattr(self, name):g}" for name in self._repr_names)
        return f"{type(self).__name__}({text}, dtype={self.dtype})"


# The formats are determined by the widths of their exponent and mantissa.
_EXPONENT_AND_MANTISSA = {float16: (5, 10), bfloat16: (8, 7), float32: (8, 23), float64: (11, 52)}


class finfo(_Info):
    """Limits of a floating-point type or of the parts of a complex type; of the default type unless given.

    Attributes: ``bits``, ``eps``, ``max``, ``min``, ``tiny``, ``smallest_normal``, ``resolution`` and
    ``dtype`` (a name, as in PyTorch).

    Raises:
        TypeError: the type is not floating point or complex.

    >>> finfo(bfloat16).eps
    0.0078125
    """

    _repr_names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        kind = _default if type is None else as_dtype(type, "finfo", "argument 'type' (position 1)")
        if kind.category < _FLOATING:
            raise TypeError(
                "adjoint.finfo() requires a floating point input type. Use adjoint.iinfo to handle 'adjoint.finfo'"
            )
        real = kind.to_real()
        exponent, mantissa = _EXPONENT_AND_MANTISSA[real]
        largest_exponent = 2 ** (exponent - 1) - 1
        self.dtype = real.name
        self.bits = 8 * real.itemsize
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**largest_exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - largest_exponent)
        self.resolution = float(f"1e-{int(mantissa * np.log10(2.0))}")


class iinfo(_Info):
    """Limits of an integer type: ``bits``, ``max``, ``min`` and ``dtype`` (a name, as in PyTorch).

    Raises:
        TypeError: the type is not an integer type.

    >>> iinfo(int16).min
    -32768
    """

    _repr_names = ("min", "max")
    __slots__ = ()

    def __init__(self, type: dtype) -> None:
        kind = as_dtype(type, "iinfo", "argument 'type' (position 1)")
        if kind is bool_:
            raise TypeError("adjoint.bool is not supported by adjoint.iinfo")
        if kind.category != _INTEGER:
            raise TypeError(
                "adjoint.iinfo() requires an integer input type. Use adjoint.finfo to handle 'adjoint.iinfo'"
            )
        self.dtype = kind.name
        self.bits = 8 * kind.itemsize
        self.max = 2 ** (self.bits - kind.is_signed) - 1
        self.min = -self.max - 1 if kind.is_signed else 0
