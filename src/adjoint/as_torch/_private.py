"""Private names of torch that libraries use, and the libraries that use them.

They exist only under the name torch. Each row of the table has a name of torch, its location in adjoint, and the
libraries that use it. Names without a location in adjoint are defined below the table.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ContextDecorator
from enum import Enum
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple, TypeVar

from adjoint.arrays.size import Size, device
from adjoint.core.graph import TensorBase
from adjoint.core.modes.state import set_plain_results
from adjoint.runtime.pytree import is_registered
from adjoint.tensor.tensor import Tensor
from adjoint.transforms.stateless import owners_of, replacing, tie
from adjoint.utils._pytree import MappingKey, TreeSpec, tree_flatten

F = TypeVar("F", bound=Callable[..., Any])

_ROWS = """
_C._TensorMeta                              HERE:TensorMeta                               lightning
_C._LinAlgError                             adjoint.linalg:LinAlgError                    linear_operator, gpytorch
_C._disabled_torch_function_impl            adjoint.tensor.subclasses:disabled_torch_function geoopt
_C._functorch.is_batchedtensor              HERE:never                                    kornia, tensordict
_C._functorch.is_legacy_batchedtensor       HERE:never                                    kornia
_C._are_functorch_transforms_active         HERE:never                                    kornia
_C._get_tracing_state                       HERE:nothing                                  pyro
_C._is_tracing                              HERE:never                                    asteroid-filterbanks
_C._nn._parse_to                            adjoint.nn.modules.module:parse_to            lightning
_C._log_api_usage_once                      HERE:nothing                                  torchmetrics, torchvision
_C.dtype  adjoint:dtype  notebooks with an editor's imports
_C.DisableTorchFunction                     HERE:PlainResults                             torchvision, pytorch3d
_C.DisableTorchFunctionSubclass             HERE:PlainResults                             torchvision
_assert                                     HERE:check                                    e3nn
_assert_async                               HERE:check                                    kornia
_cast_Long                                  HERE:cast_long                                normflows
_check                                      HERE:check                                    kornia
_dynamo.allow_in_graph                      adjoint.jit:script                            einops
_dynamo.assume_constant_result              adjoint.jit:script                            transformers
_dynamo.disable                             adjoint.compiler:disable                        botorch, gpytorch
_dynamo.is_compiling                        adjoint.compiler:is_compiling                                kornia
_dynamo.mark_dynamic                        HERE:nothing                                  kornia
_dynamo.reset                               adjoint.compiler:reset                              e3nn
_jit_internal._copy_to_script_wrapper       adjoint.jit:script                            pyro
_shape_as_tensor                            HERE:shape_as_tensor                          kornia
_utils._accumulate                          itertools:accumulate                          splitters of data sets
_utils._flatten_dense_tensors               HERE:flatten_dense_tensors                    training on several devices
_utils._unflatten_dense_tensors             HERE:unflatten_dense_tensors                  training on several devices
_vmap_internals._vmap                       HERE:older_vmap                               pytorch-minimize
GradScaler                                  adjoint.as_torch._scaling:GradScaler      training in half precision
amp.GradScaler                              adjoint.as_torch._scaling:GradScaler      training in half precision
amp.grad_scaler.GradScaler                  adjoint.as_torch._scaling:GradScaler      training in half precision
amp.grad_scaler.OptState                    adjoint.as_torch._scaling:OptState        accelerate
amp.autocast                                HERE:autocast                                 kornia, torchmetrics
amp.custom_bwd                              HERE:decorator                                torchdiffeq, kornia
amp.custom_fwd                              HERE:decorator                                torchdiffeq, kornia
amp.is_autocast_available                   HERE:never                                    kornia
autocast                                    HERE:autocast                                 kornia
autograd.functional._as_tuple               HERE:as_tuple                                 pytorch-minimize
autograd.functional._construct_standard_basis_for HERE:standard_basis  pytorch-minimize
autograd.functional._grad_postprocess       HERE:after_gradients                          pytorch-minimize
autograd.functional._grad_preprocess        HERE:before_gradients                         copies of torch's hessian
autograd.functional._tuple_postprocess      HERE:as_before                                pytorch-minimize
compiler.allow_in_graph                     adjoint.jit:script                            x-transformers
cuda.amp.GradScaler                         adjoint.as_torch._scaling:cuda_scaler     training in half precision
cuda.amp.autocast                           HERE:cuda_autocast                            kornia, einops
cuda.amp.custom_bwd                         HERE:decorator                                torchdiffeq, kornia
cuda.amp.custom_fwd                         HERE:decorator                                torchdiffeq, kornia
distributions.multivariate_normal._batch_mahalanobis HERE:squared_distance  gpytorch
distributions.multivariate_normal._precision_to_scale_tril HERE:factor_of_inverse  laplace
distributions.utils._standard_normal        HERE:standard_normal                          gpytorch
distributions.utils._sum_rightmost          adjoint.distributions.transforms:sum_rightmost pyro, zuko
dsmm                                        HERE:sparse_product                           linear_operator
finfo                                       adjoint.as_torch._absent:finfo                transformers
get_autocast_dtype                          HERE:autocast_dtype                           kornia
get_autocast_gpu_dtype                      HERE:autocast_dtype                           kornia
is_autocast_enabled                         HERE:never                                    kornia
is_autocast_cpu_enabled                     HERE:never                                    lightning
is_autocast_cache_enabled                   HERE:never                                    copies of torch's checkpoint
nn._reduction.get_enum                      HERE:reduction_number                         torchbnn
nn.attention.SDPBackend                     HERE:SDPBackend                           transformers, diffusers
nn.attention.sdpa_kernel                    HERE:sdpa_kernel                          transformers, diffusers
nn.init._calculate_fan_in_and_fan_out       adjoint.nn.init:fans                          normflows, timm
nn.modules.utils._ntuple                    HERE:make_repeat                              timm
nn.modules.utils._single                    HERE:single                                   torchbnn
nn.modules.utils._pair                      HERE:pair                                     kornia, torchbnn
nn.modules.utils._triple                    HERE:triple                                   torchbnn
nn.modules.utils._quadruple                 HERE:quadruple                                copies of torch's padding
nn.modules.utils._reverse_repeat_tuple      HERE:reversed_repeated                        mmcv
nn.utils.stateless._reparametrize_module    HERE:reparametrize                            zuko
onnx.is_in_onnx_export                      HERE:never                                    kornia, timm
serialization.MAP_LOCATION                  HERE:Device                                   pyro
serialization.add_safe_globals               adjoint.tensor.memory.safe_pickle:add_safe_globals  skorch, torch_geometric
serialization.clear_safe_globals             adjoint.tensor.memory.safe_pickle:clear_safe_globals torch_geometric
serialization.get_safe_globals               adjoint.tensor.memory.safe_pickle:get_safe_globals transformers
serialization.safe_globals                   adjoint.tensor.memory.safe_pickle:safe_globals transformers
sparse.FloatTensor                          HERE:older_sparse                             linear_operator, gpytorch
sparse.DoubleTensor                          HERE:older_sparse                             linear_operator, gpytorch
sparse.HalfTensor                          HERE:older_sparse                             linear_operator, gpytorch
torch                                       torch                                         kornia
utils._foreach_utils._group_tensors_by_device_and_dtype HERE:groups_by_dtype                pytorch_optimizer
utils._pytree.LeafSpec                       HERE:leaf_spec                                lightning
utils._pytree.PyTree                         HERE:Anything                                 lightning
utils._pytree.SUPPORTED_NODES                HERE:CONTAINERS                               keras
utils._pytree._dict_flatten                  HERE:dict_flatten                             transformers
utils._pytree._dict_flatten_with_keys        HERE:dict_flatten_with_keys                   transformers
utils._pytree._dict_unflatten                HERE:dict_unflatten                           transformers
utils._pytree._get_node_type                 HERE:node_type                                keras
utils._pytree._is_leaf                       adjoint.utils._pytree:tree_is_leaf            transformers
utils.data.dataloader._collate_fn_t          HERE:CollateFunction                          opacus
"""


def _read(rows: str) -> dict[str, dict[str, str]]:
    names: dict[str, dict[str, str]] = {}
    for row in rows.strip().splitlines():
        full, target, _ = row.split(maxsplit=2)
        module, _, name = full.rpartition(".")
        names.setdefault(f"torch.{module}".rstrip("."), {})[name] = target.replace("HERE", __name__)
    return names


#: The locations of private names, by the module of torch.
NAMES = _read(_ROWS)
#: Modules of torch that exist only for these names.
MODULES = tuple(
    [
        f"torch.{name}"
        for name in ("_C", "_C._functorch", "_C._nn", "_dynamo", "_jit_internal", "_utils", "_vmap_internals")
    ]
    + [f"torch.{name}" for name in ("amp", "amp.grad_scaler", "cuda.amp", "nn._reduction", "nn.attention", "onnx")]
    + ["torch.utils._foreach_utils"]
)

#: Modules whose `__dict__` libraries iterate over: it must contain all names after the import.
WHOLE = {"torch.distributions": "pyro", "torch.optim": "pyro", "torch.optim.lr_scheduler": "pyro"}

NOTHING = None
NO = False
Number = int | float | bool
Device = device | str | int | None
Sizes = Size | list[int] | tuple[int, ...]
TensorMeta = type(Tensor)
Anything = Any
CollateFunction = Callable[[list[Any]], Any]


class TorchVersion(str):
    """A version; it is compared by its numbers with other versions and texts.

    >>> TorchVersion("2.13.0") > "2.9"
    True
    """

    @staticmethod
    def numbers(text: str) -> tuple[int, ...]:
        """The numbers before a suffix, without zeros at the end.

        >>> TorchVersion.numbers("2.10.0+cpu")
        (2, 10)
        """
        match = re.match(r"[\d.]*", text.partition("+")[0])
        numbers = [int(part) for part in (match[0] if match else "").split(".") if part]
        while numbers and not numbers[-1]:
            numbers.pop()
        return tuple(numbers)

    def _pair(self, other: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        text = ".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other)
        return self.numbers(self), self.numbers(text)

    def __eq__(self, other: object) -> bool:
        return bool(eq(*self._pair(other)))

    def __ne__(self, other: object) -> bool:
        return bool(ne(*self._pair(other)))

    def __lt__(self, other: Any) -> bool:
        return bool(lt(*self._pair(other)))

    def __le__(self, other: Any) -> bool:
        return bool(le(*self._pair(other)))

    def __gt__(self, other: Any) -> bool:
        return bool(gt(*self._pair(other)))

    def __ge__(self, other: Any) -> bool:
        return bool(ge(*self._pair(other)))

    __hash__ = str.__hash__


version = TorchVersion("2.13.0")


# functions without effect ---------------------------------------------------------------------------------------------


def never(*_: Any, **__: Any) -> bool:
    """False for all arguments."""
    return False


def nothing(*_: Any, **__: Any) -> None:
    """None for all arguments."""


def decorator(function: F | None = None, **_: Any) -> Any:
    """The function itself, as `@name` or `@name(options)`; autocast has no effect here."""
    return (lambda other: other) if function is None else function


def check(condition: Any, message: Any = None) -> None:
    """Raise RuntimeError, or AssertionError for a text, unless a condition holds."""
    if condition:
        return
    if isinstance(message, str):
        raise AssertionError(message)
    raise RuntimeError("Expected cond to be True, but got False" if message is None else message())


class PlainResults(AbstractContextManager[None]):
    """A block in which operations return plain Tensors for arguments of any subclass."""

    def __enter__(self) -> None:
        self.before = set_plain_results(True)

    def __exit__(self, *_: object) -> None:
        set_plain_results(self.before)


class autocast(ContextDecorator):
    """A block or function decorator without effect on dtypes; it warns if the program asks for another dtype."""

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        self.device_type, self.enabled = device_type, enabled

    def __enter__(self) -> None:
        if self.enabled:
            warnings.warn(
                f"autocast on {self.device_type!r} has no effect: adjoint computes in the dtype of the arguments",
                stacklevel=2,
            )

    def __exit__(self, *_: object) -> None:
        return None


def cuda_autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> autocast:
    """The block for computations on a CUDA device."""
    return autocast("cuda", dtype, enabled, cache_enabled)


def autocast_dtype(device_type: str = "cuda") -> Any:
    """torch's default dtype of autocast for a device."""
    import adjoint

    return adjoint.bfloat16 if device_type == "cpu" else adjoint.float16


class SDPBackend(Enum):
    """Torch's names for ways to compute attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


class sdpa_kernel(ContextDecorator):
    """A block, or a function, in which attention may be computed in these ways: here there is one, with one result."""

    def __init__(self, backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> None:
        members = [backends] if isinstance(backends, SDPBackend) else backends
        if not isinstance(members, list) or not all(isinstance(member, SDPBackend) for member in members):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


# tensors --------------------------------------------------------------------------------------------------------------


def cast_long(tensor: Any, non_blocking: bool = False) -> Any:
    """The numbers as int64."""
    return tensor.long()


def shape_as_tensor(tensor: Any) -> Any:
    """The sizes as a tensor of int64."""
    return tensor.new_tensor(list(tensor.shape)).long()


def sparse_product(input: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one."""
    return input @ mat2


def older_sparse(*arguments: Any, **options: Any) -> Any:
    """A sparse tensor of indices, values and a size."""
    import adjoint

    return adjoint.sparse_coo_tensor(*arguments, **options)


def standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """Normally distributed numbers."""
    import adjoint

    return adjoint.randn(shape, dtype=dtype, device=device)


def squared_distance(bL: Any, bx: Any) -> Any:
    """xᵀ (L Lᵀ)⁻¹ x for each x, with the lower factor L."""
    from adjoint.distributions.families import multivariate

    return multivariate.squared_distance(bL, bx)


def factor_of_inverse(P: Any) -> Any:
    """The lower Cholesky factor of the inverse of a positive-definite matrix."""
    from adjoint.distributions.families import multivariate

    return multivariate.factor_of_inverse(P)


def flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """One vector with the elements of all tensors."""
    import adjoint

    return adjoint.cat([each.reshape(-1) for each in tensors])


def unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The parts of a vector, in the shapes of these tensors."""
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view(each.shape) for part, each in zip(parts, tensors, strict=True))


def older_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, **_: Any) -> Callable[..., Any]:
    """vmap; it takes all operations here."""
    import adjoint

    batched: Callable[..., Any] = adjoint.vmap(func, in_dims, out_dims)
    return batched


# trees and lists -----------------------------------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """The way to take a container apart: a function that gives the children and the context of the structure."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]


class Containers:
    """The types of containers; `in` asks for one."""

    def __contains__(self, tree_type: type) -> bool:
        return tree_type is not type(None) and is_registered(tree_type)

    def __getitem__(self, tree_type: type) -> NodeDef:
        def flatten(tree: Any) -> tuple[list[Any], Any]:
            children, structure = tree_flatten(tree, lambda part: part is not tree)
            return children, structure.keys

        if tree_type not in self:
            raise KeyError(tree_type)
        return NodeDef(tree_type, flatten)


CONTAINERS = Containers()


def leaf_spec() -> TreeSpec:
    """The structure of a leaf."""
    return TreeSpec(None)


def dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The values and the keys."""
    return list(d.values()), list(d)


def dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Pairs of the path entry and the value, and the keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def dict_unflatten(values: Iterable[Any], context: list[Any]) -> dict[Any, Any]:
    """The dictionary of keys and values."""
    return dict(zip(context, values, strict=True))


def node_type(tree: Any) -> type:
    """The type of a tree."""
    return type(tree)


def groups_by_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists of equal length, divided by device and dtype of the first list's tensors: the parts, and their indices."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for index, members in enumerate(zip(*tensorlistlist, strict=True)):
        key = (members[0].device, members[0].dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for each, member in zip(lists, members, strict=True):
            each.append(member)
        if with_indices:
            indices.append(index)
    return groups


# arguments and results of autograd.functional -------------------------------------------------------------------------


def as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[bool, tuple[Any, ...]]:
    """Whether a value is a tuple, and the value as a tuple. Raises TypeError for members other than tensors."""
    is_tuple = isinstance(inp, tuple)
    members = inp if is_tuple else (inp,)
    for position, member in enumerate(members):
        if not isinstance(member, TensorBase):
            where = f"the value at index {position} of the tuple" if is_tuple else "a value"
            raise TypeError(
                f"The {arg_name} given to {fn_name} must be either a Tensor or a tuple of Tensors but {where} has type "
                f"{type(member)}."
            )
    return is_tuple, members


def as_before(results: tuple[Any, ...], to_unpack: Any) -> Any:
    """Results in the form of the arguments: a tuple or a single value; a pair of bools is for two nested levels."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        rows = results if inner else tuple(row[0] for row in results)
        return rows if outer else rows[0]
    return results if to_unpack else results[0]


def before_gradients(inputs: Sequence[Any], create_graph: bool, need_graph: bool) -> tuple[Any, ...]:
    """The inputs of a gradient: views with history if create_graph, detached copies otherwise."""
    if create_graph:
        return tuple(each.view_as(each) for each in inputs)
    return tuple(each.detach().requires_grad_(need_graph) for each in inputs)


def after_gradients(results: Any, create_graph: bool) -> Any:
    """The results, detached unless create_graph."""
    if isinstance(results, TensorBase):
        return results if create_graph else results.detach()  # type: ignore[attr-defined]
    return tuple(after_gradients(each, create_graph) for each in results)


def standard_basis(tensors: Sequence[Any], tensor_numels: Sequence[int]) -> tuple[Any, ...]:
    """The unit vectors of the joint space of all tensors, split into one block of columns for each tensor."""
    import adjoint

    total, start, parts = sum(tensor_numels), 0, []
    for tensor, size in zip(tensors, tensor_numels, strict=True):
        part = adjoint.zeros(total, size, dtype=tensor.dtype, device=tensor.device)
        part.diagonal(-start).fill_(1)
        parts.append(part)
        start += size
    return tuple(parts)


# arguments of layers --------------------------------------------------------------------------------------------------


def make_repeat(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a number n times, and converts an iterable to a tuple."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


single, pair, triple, quadruple = (
    make_repeat(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)
)


def reparametrize(module: Any, parameters_and_buffers: Any, *, tie_weights: bool = False, **_: Any) -> Any:
    """A block in which a module has other parameters and buffers."""
    members = dict([*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)])
    values = tie(parameters_and_buffers, members) if tie_weights else parameters_and_buffers
    return replacing(owners_of(module, values), values)


def reversed_repeated(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """The members in reverse order, each repeated n times."""
    return tuple(member for member in reversed(t) for _ in range(n))


def reduction_number(reduction: str) -> int:
    """The number of a reduction: 0 for none, 1 for mean, 2 for sum. Raises ValueError for other names."""
    numbers = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return numbers[reduction]
