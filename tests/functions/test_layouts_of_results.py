"""How results lie in memory, and whether they are views, for arguments in any order of axes."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.support import function_calls as calls

import adjoint

#: Orders in memory of an argument with several axes.
ORDERS = {
    "rows": lambda x: x,
    "columns": lambda x: x.permute(*range(x.ndim)[::-1]).contiguous().permute(*range(x.ndim)[::-1]),
    "exchanged": lambda x: x.swapaxes(-1, -2).contiguous().swapaxes(-1, -2),
    "expanded": lambda x: x[:1].expand(x.shape),
}
#: Functions whose results keep the order of the arguments, as torch's do; all others give rows, or views.
KEEP_ORDER = {
    "argsort",
    "as_strided_scatter",
    "byte",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "diagonal_scatter",
    "diff",
    "feature_alpha_dropout",
    "feature_dropout",
    "fill",
    "flip",
    "fliplr",
    "flipud",
    "index_fill",
    "index_put",
    "lerp",
    "linalg.svd",
    "masked.logaddexp",
    "masked.normalize",
    "msort",
    "nn.functional.dropout1d",
    "nn.functional.dropout2d",
    "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout",
    "nn.functional.normalize",
    "nn.functional.prelu",
    "prelu",
    "put",
    "select_scatter",
    "slice_scatter",
    "sort",
    "stft",
    "triangular_solve",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "where",
}

#: Functions whose results are views of tensors that nobody else has, also in torch.
GIVE_VIEWS = {
    "linalg.tensorinv",
    "linalg.tensorsolve",
    "nn.functional.multi_head_attention_forward",
    "norm_except_dim",
    "pca_lowrank",
    "repeat_interleave",
    "svd_lowrank",
}


def with_order(value: Any, order: str, arguments: list[adjoint.Tensor]) -> Any:
    """The arguments of a call, those with several axes in an order; they are appended to a list."""
    if isinstance(value, calls.Argument):
        x = adjoint.tensor(value.values, dtype=value.dtype)
        arguments.append(ORDERS[order](x) if x.ndim > 1 and x.numel() else x)
        return arguments[-1]
    if isinstance(value, dict):
        return {name: with_order(item, order, arguments) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(with_order(item, order, arguments) for item in value)
    return value


def results(name: str, order: str) -> tuple[list[adjoint.Tensor], list[adjoint.Tensor]]:
    """The strided tensors that a call returns, and its arguments. Some calls do not take some orders."""
    args, kwargs = calls.CALLS[name](calls.Maker(adjoint.float64))
    arguments: list[adjoint.Tensor] = []
    args, kwargs = with_order(args, order, arguments), with_order(kwargs, order, arguments)
    function = calls.function(name) if "." in name or hasattr(adjoint, name) else getattr(adjoint.Tensor, name)
    try:
        returned = function(*args, **kwargs) if callable(function) else getattr(args[0], name)
    except RuntimeError:
        return [], arguments
    returned = returned if isinstance(returned, (tuple, list)) else [returned]
    tensors = [y for y in returned if isinstance(y, adjoint.Tensor) and y.layout is adjoint.strided]
    return tensors, arguments


NAMES = [name for name in calls.CALLS if not name.endswith("_") or name.endswith("__")]


# equal rows make matrices singular, and some calls give a deprecated form of arguments
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("order", ORDERS)
def test_results_lie_in_rows_or_keep_the_order(order: str) -> None:
    out_of_order = {n for n in NAMES if any(not y._is_view() and not y.is_contiguous() for y in results(n, order)[0])}
    assert sorted(out_of_order - KEEP_ORDER) == []


@pytest.mark.filterwarnings("ignore")
def test_a_result_is_a_view_of_an_argument_only() -> None:
    for name in sorted(set(NAMES) - GIVE_VIEWS):
        tensors, arguments = results(name, "rows")
        owners = {id(x if x._base is None else x._base) for x in arguments}
        assert all(id(y._base) in owners for y in tensors if y._is_view()), name


@pytest.mark.parametrize("name", ["group_norm", "lstm", "grid_sample", "quantile"])
def test_a_result_made_without_recording_may_be_modified_later(name: str) -> None:
    run = {
        "group_norm": lambda: adjoint.nn.functional.group_norm(adjoint.randn(2, 4), 2),
        "lstm": lambda: adjoint.nn.LSTM(2, 3)(adjoint.randn(4, 1, 2))[0],
        "grid_sample": lambda: adjoint.nn.functional.affine_grid(adjoint.randn(1, 2, 3), (1, 1, 2, 2), False),
        "quantile": lambda: adjoint.quantile(adjoint.randn(3, 4), 0.3, dim=1),
    }[name]
    with adjoint.no_grad():
        y = run()
    w = adjoint.tensor(2.0, requires_grad=True)
    y.mul_(w).sum().backward()
    assert w.grad is not None
    assert run().detach_().grad_fn is None


REDUCTIONS: dict[str, Any] = {
    name: lambda x, dims, keepdim, name=name: getattr(adjoint, name)(x, dims, keepdim=keepdim)
    for name in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm", "nansum", "any", "all")
} | {
    "norm": lambda x, dims, keepdim: adjoint.linalg.vector_norm(x, 3, dims, keepdim),
    "prod": lambda x, dims, keepdim: adjoint.prod(x, dims[0], keepdim),
    "max": lambda x, dims, keepdim: adjoint.max(x, dims[0], keepdim)[1],
    "nanmedian": lambda x, dims, keepdim: adjoint.nanmedian(x, dims[0], keepdim)[1],
    "argmin": lambda x, dims, keepdim: adjoint.argmin(x, dims[0], keepdim),
    "count_nonzero": lambda x, dims, keepdim: adjoint.count_nonzero(x, dims),
    "var_mean": lambda x, dims, keepdim: adjoint.var_mean(x, dims, keepdim=keepdim)[1],
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_give_rows(name: str) -> None:
    values = np.random.default_rng(0).standard_normal((2, 3, 4))
    for order, keepdim in itertools.product(itertools.permutations(range(3)), (False, True)):
        x = adjoint.from_numpy(values).permute(order).contiguous().permute(*np.argsort(order).tolist())
        for dims in ((0,), (1,), (2,), (0, 2), (1, 2)):
            y = REDUCTIONS[name](x, dims, keepdim)
            assert y.is_contiguous()
            expected = REDUCTIONS[name](x.contiguous(), dims, keepdim)
            assert adjoint.allclose(y.view(-1).double(), expected.view(-1).double())


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "ij,jk->ki", "ijk,kl->lij", "bij,bjk->bki", "i,j->ji", "ijk->ki", "bi,oij,bj->bo"]
)
def test_einsum_gives_rows(equation: str) -> None:
    factors = [
        adjoint.randn([2 + "bijklo".index(c) for c in labels]) for labels in equation[:-3].split("-")[0].split(",")
    ]
    assert adjoint.einsum(equation, *factors).is_contiguous()


def test_batch_norm_gives_rows_or_keeps_channels_last() -> None:
    statistics = adjoint.zeros(3), adjoint.ones(3)
    image = adjoint.randn(2, 4, 5, 3)
    for training in (False, True):
        norm = partial(adjoint.nn.functional.batch_norm, training=training)
        for x in (adjoint.randn(3, 4).T, adjoint.randn(2, 4, 3).mT, image.permute(2, 3, 0, 1)):
            assert norm(x, *statistics).is_contiguous()
        assert norm(image.permute(0, 3, 1, 2), *statistics).is_contiguous(memory_format=adjoint.channels_last)


IMAGES: dict[str, Any] = {
    "conv2d": lambda x: adjoint.nn.functional.conv2d(x, adjoint.ones(4, 3, 2, 2)),
    "conv_transpose2d": lambda x: adjoint.nn.functional.conv_transpose2d(x, adjoint.ones(3, 4, 2, 2)),
    "avg_pool2d": lambda x: adjoint.nn.functional.avg_pool2d(x, 2),
    "max_pool2d": lambda x: adjoint.nn.functional.max_pool2d(x, 2, return_indices=True)[1],
    "adaptive_avg_pool2d": lambda x: adjoint.nn.functional.adaptive_avg_pool2d(x, 2),
    "pad": lambda x: adjoint.nn.functional.pad(x, (1, -1, 0, 2)),
    "interpolate": lambda x: adjoint.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_keep_their_channels_last(name: str) -> None:
    x = adjoint.randn(2, 3, 5, 6)
    y = IMAGES[name](x.contiguous(memory_format=adjoint.channels_last))
    assert y.is_contiguous(memory_format=adjoint.channels_last)
    assert IMAGES[name](x).is_contiguous()
    assert adjoint.allclose(y.double(), IMAGES[name](x).double())
