"""Programs for `compiled_comparison`: a few lines each, of things that are difficult to record."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint import func
from adjoint.autograd import forward_ad
from adjoint.utils.checkpoint import checkpoint
from support.compiled_comparison import Case, Input, World, array, change_input, tensor, values

#: The programs by name.
PROGRAMS: dict[str, Case] = {}

MAT = tensor(3, 4)
VEC = tensor(4)
PLAIN = tensor(3, 4, grad=False)
WRITES = "writes to a Tensor: gradients of gradients are refused"


def program(*inputs: Input, **expected: Any) -> Callable[[Any], Any]:
    """Enter a maker of a function into the table, with the makers of its arguments."""

    def enter(make: Callable[[World], Callable[..., Any]]) -> Any:
        assert make.__name__ not in PROGRAMS
        PROGRAMS[make.__name__] = Case(make, inputs, **expected)
        return make

    return enter


def simple(name: str, function: Callable[..., Any], *inputs: Input, **expected: Any) -> None:
    """Enter a function of its arguments alone."""
    assert name not in PROGRAMS
    PROGRAMS[name] = Case(lambda world: function, inputs, **expected)


# values and shapes ----------------------------------------------------------------------------------------------------

simple("elementwise", lambda x: (x * 2 + 1).tanh() * x.sin(), MAT)
simple("product", lambda x, y: x @ y, MAT, tensor(4))
simple("reductions", lambda x: (x.sum(), x.mean(0), x.amax(1), x.var(), x.prod(1)), MAT)
simple("broadcast", lambda x, y: x * y + y[:, None] if x.shape[0] == 4 else x * y, MAT, VEC)
simple("branch_on_sum", lambda x: x * 2 if x.sum() > 0 else x.sin(), MAT, recordings=6)
simple("branch_on_item", lambda x: x * 2 if x[0, 0].item() > 0 else x.sin(), MAT, recordings=8)
simple("branch_on_shape", lambda x: x * x.shape[0] if x.shape[0] > 3 else x.sin(), MAT)
simple("branch_on_requires_grad", lambda x, y: x * y if y.requires_grad else x, MAT, PLAIN)
simple("mask", lambda x: x[x > 0].sum(), tensor(3, 4, lo=0.1))
simple("mask_of_changing_size", lambda x: x[x > 0] * 2, MAT, recordings=8)
simple("nonzero", lambda x: adjoint.nonzero(x > 0), tensor(3, 4, lo=0.1))
simple("where", lambda x: adjoint.where(x > 0, x.exp(), x * 3), MAT)
simple("clamped", lambda x: x.clamp(-1, 1).square(), MAT)
simple("sorted", lambda x: x.sort(1), MAT)
simple("argmax_index", lambda x: x[adjoint.arange(x.shape[0]), x.argmax(1)], MAT)
simple("topk", lambda x: x.topk(2, 1).values, MAT)
simple("number_from_value", lambda x: x * float(x.detach().sum() > 1e9), MAT)
simple("loop_of_shape", lambda x: sum([row.square().sum() * k for k, row in enumerate(x)]), MAT)
simple(
    "while_on_value",
    lambda x: functools.reduce(lambda y, _: y * 1.5 if y.detach().norm() < 9 else y, range(5), x),
    MAT,
    recordings=8,
)
simple(
    "index_tensor",
    lambda x, i: x[i],
    MAT,
    values(*[adjoint.tensor([0, 2, 2]), adjoint.tensor([1, 1, 0]), adjoint.tensor([3])]),
)
simple("tolist", lambda x: x * len(x.tolist()), tensor(3, 4, lo=1, hi=1.0), recordings=4)
simple("int_of_value", lambda x: x.repeat(int(x.detach().sum() > -1e9) + 1, 1), MAT)
simple("range_of_value", lambda x, n: x[: int(n)] * 2, MAT, values(*[adjoint.tensor(k) for k in (2, 2, 1)]))
simple("einsum", lambda x, y: adjoint.einsum("ij,kj->ik", x, y), MAT, tensor(2, 4))
simple("cat_stack", lambda x, y: (adjoint.cat([x, y]), adjoint.stack([x, x * 2])), MAT, tensor(2, 4))
simple("softmax_loss", lambda x: -adjoint.log_softmax(x, 1)[:, 0].mean(), MAT, rounded="sums of loops of its own")
simple(
    "view_of_a_constant_is_saved",
    lambda x: adjoint.nn.functional.cross_entropy(x, adjoint.arange(x.shape[0])),
    MAT,
    rounded="sums of loops of its own",
)
simple(
    "eigenvectors",
    lambda x: adjoint.linalg.eigh(x + x.mT)[1][:, 0].pow(4).sum(),
    tensor(3, 3),
    rounded="products of matrices",
)
simple("cumulative", lambda x: x.cumsum(0) * x.cumprod(1), MAT)
simple(
    "matrix_functions",
    lambda x: adjoint.linalg.inv(x @ x.T + 3 * adjoint.eye(x.shape[0], dtype=x.dtype)),
    tensor(3, 3),
    rounded="products of matrices",
)
simple("constant_result", lambda x: adjoint.ones(2, dtype=adjoint.float64), MAT)
simple("new_tensors", lambda x: x.new_zeros(2) + x[0, 0] + adjoint.arange(2), MAT)
simple("filled_with_value", lambda x: adjoint.full((2,), 3.0, dtype=x.dtype) * x[0, 0], MAT)
simple("tensor_of_item", lambda x: adjoint.tensor(x.detach().sum().item()) * x, MAT, recordings=8)
simple("tensor_of_tensor", lambda x: adjoint.tensor([x[0, 0].item() * 0, 1.0]), MAT, recordings=8)
simple("stacked_numbers", lambda x: adjoint.as_tensor([1.0, 2.0]) + x[:1, :2], MAT)
simple("allclose", lambda x: x * 2 if adjoint.allclose(x, x) else x, MAT)
simple("equal", lambda x: x * 2 if x.equal(x + 0) else x, MAT)
simple("any_all", lambda x: x * 2 if (x > -9).all() and not (x > 9).any() else x, MAT)
simple("max_of_python", lambda x: max(x[0, 0], x[0, 1]) * 2, tensor(3, 4), recordings=8)
simple("iteration", lambda x: [row * 2 for row in x], MAT)
simple("unbind_split", lambda x: (*x.unbind(0), *x.split(2, 1), *x.chunk(2, 1)), PLAIN, recorded=False)

# inputs of all kinds --------------------------------------------------------------------------------------------------

for _dtype in ("float32", "float16", "complex128", "complex64"):
    simple(f"of_{_dtype}", lambda x: (x * x + x).sum(0) * 2, tensor(3, 4, dtype=_dtype))
for _dtype in ("int64", "int32", "uint8", "bool"):
    simple(f"of_{_dtype}", lambda x: (x | x, x ^ 1, x.sum(), x * 2.5), tensor(3, 4, grad=False, dtype=_dtype, lo=0))
simple("of_bfloat16", lambda x: (x.to(adjoint.bfloat16) * 2 + 1).float(), tensor(3, 4, dtype="float32"))
simple("mixed_dtypes", lambda x, y: x * y + y.sum(), tensor(3, 4, dtype="float32"), tensor(4))
simple("casts", lambda x: x.to(adjoint.int32).double() + x.float().double(), MAT)
simple("transposed_input", lambda x: x.exp() + x, change_input(MAT, lambda x: x.t()))
simple("strided_input", lambda x: x.exp() * 2, change_input(MAT, lambda x: x[:, ::2]))
simple(
    "reversed_input", lambda x: x * 3 + x.flip(0), change_input(array(5), lambda x: adjoint.from_numpy(x[::-1].copy()))
)
simple("expanded_input", lambda x: x * x.sin(), change_input(VEC, lambda x: x.expand(3, *x.shape)))
simple(
    "empty_input",
    lambda x: (x * 2, x.sum(), x.t() @ x),
    change_input(tensor(0, 4), lambda x: x[:0].detach().requires_grad_()),
)
simple("scalar_input", lambda x: x * 2 + x.sin(), tensor())
simple("leaf_and_history", lambda x: x * x, change_input(MAT, lambda x: x * 2))
simple("conjugate_input", lambda x: x * 2 + x.imag, change_input(tensor(3, dtype="complex128"), lambda x: x.conj()))
simple("same_tensor_twice", lambda x, y: x * y + x, change_input(MAT, lambda x: x), values(1.0, 2.0, 3.0))
simple("pair", lambda pair: pair[0] * pair[1] + pair[0], change_input(MAT, lambda x: (x, x)))
simple("argument_and_its_part", lambda pair: pair[0][1:] * pair[1], change_input(MAT, lambda x: (x, x[1:])))
simple("argument_and_its_copy", lambda pair: pair[0] * pair[1], change_input(MAT, lambda x: (x, x.clone())))
simple("detached_alias", lambda pair: pair[0] * pair[1], change_input(MAT, lambda x: (x, x.detach())))
simple(
    "numbers",
    lambda x, n, flag, text: x * n if flag and text == "a" else x + n,
    MAT,
    values(2, 3.5, 2),
    values(True, True, False),
    values("a", "a", "b"),
    recordings=8,
)
simple("signed_zero", lambda x, n: math.copysign(1, n) * x, MAT, values(0.0, -0.0, 0.0), recordings=8)
simple("none", lambda x, y: x * 2 if y is None else x * y, MAT, values(None, None, 3))
simple(
    "mapping",
    lambda tree: {"sum": tree["x"] + tree["y"][0], "first": tree["y"]},
    change_input(MAT, lambda x: {"x": x, "y": [x * 2, 3]}),
)
simple("no_arguments_used", lambda x: 3, MAT)
simple("result_mixed", lambda x: (x * 2, 3, "text", None, {"a": x.sum()}), MAT)
simple("result_argument", lambda x: x, MAT)
simple("result_twice", lambda x: (lambda y: (y, y))(x * 2), MAT)
simple("result_detached", lambda x: ((y := x * 2), y.detach()), MAT)
simple("result_view_of_result", lambda x: ((y := x * 2), y[1:], y.t()), MAT)
simple("result_views", lambda x: (x * 2)[1:].t(), MAT)
simple("result_view_of_reshaped_result", lambda x: ((y := x * 2), y[:, -1], y.t_())[:2], MAT)
simple("result_view_of_reshaped_constant", lambda x: ((y := x * 2), y[:, -1], y.t_())[:2], PLAIN, recorded=False)
simple("result_view_made_after_reshaping", lambda x: ((y := x * 2).t_(), y[:, -1]), MAT)
simple("result_view_of_argument", lambda x: x[1:], MAT, recorded=False)
simple("result_detached_argument", lambda x: x.detach(), MAT, recorded=False)
simple("result_expanded", lambda x: (x.sum() * 2).expand(3, 4), MAT)
simple("result_flag", lambda x: bool(x.detach().sum() > -1e9), MAT)
simple("result_number", lambda x: (x * 2, x.detach().sum().item()), MAT, recordings=8)
simple("result_shape", lambda x: (x * 2).shape, MAT)
simple("result_dtype", lambda x: (x * 2).dtype, MAT)

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Segment:
    """Two ends."""

    start: Any
    end: Any


simple("namedtuple", lambda p: Point(p.x * p.y, p.y), change_input(MAT, lambda x: Point(x, x * 2)))
simple("dataclass", lambda s: Segment(s.end, s.start * 2), change_input(MAT, lambda x: Segment(x, x * 2)))

# writes ---------------------------------------------------------------------------------------------------------------


def writing(name: str, function: Callable[..., Any], *inputs: Input, **expected: Any) -> None:
    """Enter a function that writes to its arguments. A function of a plain argument is also entered with a constant."""
    simple(name, function, *inputs, **{"second": False, **expected})
    if inputs == (PLAIN,) and expected.get("recorded", True):
        simple(f"{name}_to_a_constant", lambda x: on_a_constant(function, x), PLAIN, **{"second": False, **expected})


def on_a_constant(function: Callable[..., Any], x: Any) -> Any:
    """The result of a function that writes to its argument, for new numbers."""
    numbers = adjoint.arange(x.numel(), dtype=x.dtype).reshape(x.shape) - 4
    result = function(numbers)
    return numbers * x, result, numbers


MAT_ONLY = tensor(4, grad=False)


def meeting(x: Any, k: int) -> Any:
    """Two parts of a Tensor, which share an element, or are apart, or are copies."""
    return ((x[:2], x[1:3]), (x[:2], x[2:]), (x[:2].clone(), x[1:3].clone()))[k]


def then(*parts: Any) -> Any:
    """The last of some values, which are computed in order."""
    return parts[-1]


writing("write_argument", lambda x: then(x.mul_(2), x.sum()), PLAIN)
writing("write_argument_and_return", lambda x: x.add_(1), PLAIN)
writing("write_view", lambda x: then(x[1:].mul_(3), x.t()[0].add_(1), x * 1), PLAIN)
writing("write_item", lambda x: then(x.__setitem__((0, slice(None)), 7.0), x.sum()), PLAIN)
writing("write_mask", lambda x: then(x.__setitem__(x < 0, 0.0), x.sum()), PLAIN)
writing("write_index", lambda x: then(x.__setitem__(adjoint.tensor([0, 2]), x[1:3] * 2), x.sum()), PLAIN)
writing("write_intermediate", lambda x: (x * 2).mul_(3).add_(x), MAT, second=True)
writing("write_view_of_intermediate", lambda x: then(y := x * 2, y[0].mul_(3), y.sum()), MAT)
writing("write_after_use", lambda x, y: then(z := x * y, x.zero_(), z + x), PLAIN, PLAIN)
writing("write_after_use_with_gradient", lambda x, y: then(z := y.sin(), x.mul_(2), z * 2), PLAIN, MAT)
writing("write_what_is_saved", lambda x, y: then(z := x * y, x.mul_(2), z), PLAIN, MAT, recorded=False)
writing("write_history_to_argument", lambda x, y: then(x.mul_(y), x * 2), PLAIN, MAT, recorded=False)
for _name, _base, _view in (
    ("plain", PLAIN, lambda x: x[:]),
    ("stepped", tensor(6, 4, grad=False), lambda x: x[::2]),
    ("recorded", MAT, lambda x: (x * 1)[:]),
):
    # the argument is a view; its node is made after the write, when the program reads grad_fn
    writing(
        f"write_history_to_{_name}_view_of_argument",
        lambda x, y: then(x[...].mul_(y), y * 2),
        change_input(_base, _view),
        MAT,
        recorded=False,
    )
writing("write_leaf", lambda x: x.mul_(2), MAT, recordings=0)
writing("write_leaf_in_no_grad", lambda x: _without_grad(lambda: x.mul_(2)), MAT)
writing("write_twice", lambda x: then(x.add_(1), x.mul_(x), x.sum()), PLAIN)
writing("copy_to_argument", lambda x, y: x.copy_(y * 2), PLAIN, PLAIN)
writing("swap", lambda x, y: then(t := x.clone(), x.copy_(y), y.copy_(t), None), PLAIN, PLAIN)
writing("fill_zero", lambda x: then(x.zero_(), x.fill_(2.0), None), PLAIN)
writing("overlapping_parts", lambda x: then(x[1:].copy_(x[:-1].clone()), x.sum()), PLAIN)
writing(
    "write_argument_given_twice", lambda pair: then(pair[0].mul_(2), pair[1] + 1), change_input(PLAIN, lambda x: (x, x))
)
writing(
    "write_argument_and_read_its_part",
    lambda pair: then(pair[0].mul_(2), pair[1] + 1),
    change_input(PLAIN, lambda x: (x, x[1:])),
)
writing(
    "write_part_and_read_argument",
    lambda pair: then(pair[1].mul_(2), pair[0] + 1),
    change_input(PLAIN, lambda x: (x, x[1:])),
)
writing(
    "parts_that_meet_or_not",
    lambda pair: then(pair[0].mul_(2), pair[1] + 1),
    lambda world, k: meeting(MAT_ONLY(world, 0), k),
)
writing("out_argument", lambda x, y: adjoint.add(x, y, out=x), PLAIN, PLAIN)
writing("indexed_add", lambda x: x.index_add_(0, adjoint.tensor([0, 0]), adjoint.ones(2, 4, dtype=x.dtype)), PLAIN)
writing("scatter_write", lambda x: x.scatter_(1, adjoint.zeros(x.shape[0], 1, dtype=adjoint.int64), 5.0), PLAIN)
writing(
    "write_expanded_refused",
    lambda x: x.add_(1),
    change_input(tensor(4, grad=False), lambda x: x.expand(3, *x.shape)),
    recordings=0,
)
writing("resize", lambda x: then(x.resize_(2, 2), x * 1), PLAIN, recorded=False)
writing("set_memory", lambda x, y: then(x.set_(y), x * 1), PLAIN, PLAIN, recorded=False)
writing("set_data", lambda x, y: then(setattr(x, "data", y), x * 1), PLAIN, PLAIN, recorded=False)
writing("transpose_in_place", lambda x: x.t_(), PLAIN, recorded=False)
writing("write_through_detach", lambda x: then(x.detach().mul_(2), x * 1), MAT)
writing("write_through_data", lambda x: then(x.data.mul_(2), x * 1), MAT)
writing("sort_in_place", lambda x: then(x.copy_(x.sort(0).values), None), PLAIN)


def _without_grad(function: Callable[[], Any]) -> Any:
    with adjoint.no_grad():
        return function()


# modes and graphs -----------------------------------------------------------------------------------------------------


def under(mode: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function under a mode that begins inside."""

    def run(*args: Any) -> Any:
        with mode():
            return function(*args)

    return run


simple("no_grad_inside", lambda x: (x * 2, under(adjoint.no_grad, lambda y: y * 3)(x)), MAT)
simple("enable_grad_inside", under(adjoint.no_grad, under(adjoint.enable_grad, lambda x: x * 2)), MAT)
simple("inference_inside", under(adjoint.inference_mode, lambda x: x * 2), MAT, recorded=False)
simple(
    "set_grad_enabled_inside",
    lambda x: then(adjoint.set_grad_enabled(False), y := x * 2, adjoint.set_grad_enabled(True), y + x),
    MAT,
)
simple("detach_inside", lambda x: x * x.detach() + (x * 2).detach(), MAT)
simple(
    "requires_grad_inside",
    lambda x: adjoint.autograd.grad((y := (x * 2).detach().requires_grad_()).square().sum(), y)[0],
    MAT,
)
simple("result_leaf", lambda x: (x * 2).detach().requires_grad_(), MAT)
simple("grad_inside", lambda x: adjoint.autograd.grad(x.sin().sum(), x)[0] * x, MAT)
simple(
    "grad_of_grad_inside",
    lambda x: adjoint.autograd.grad(adjoint.autograd.grad(x.sin().sum(), x, create_graph=True)[0].sum(), x)[0],
    MAT,
)
simple("grad_with_history", lambda x: adjoint.autograd.grad((x**3).sum(), x, create_graph=True)[0], MAT)
simple(
    "retain_graph_inside",
    lambda x: then(
        y := (x * x).sum(), adjoint.autograd.grad(y, x, retain_graph=True)[0] + adjoint.autograd.grad(y, x)[0]
    ),
    MAT,
)
simple("backward_inside", lambda x: then(y := (x * 2).square().sum(), y.backward(), y.detach()), MAT, second=False)
simple(
    "backward_twice_inside",
    lambda x: then(y := x.square().sum(), y.backward(retain_graph=True), y.backward(), None),
    MAT,
)
simple("backward_freed", lambda x: then(y := x.square().sum(), y.backward(), y.backward()), MAT, recordings=0)
simple(
    "backward_and_clear",
    lambda x: then(y := x.square().sum(), y.backward(), g := x.grad, setattr(x, "grad", None), g),
    MAT,
    second=False,
)
simple(
    "backward_through_before",
    lambda x: then(x.square().sum().backward(), None),
    change_input(MAT, lambda x: x * 2),
    recorded=False,
)
simple("func_grad", lambda x: func.grad(lambda y: y.sin().sum())(x), MAT)
simple("func_vjp", lambda x: func.vjp(lambda y: y.sin(), x)[1](x)[0], MAT)
simple("func_jvp", lambda x: func.jvp(lambda y: y.sin(), (x,), (x,))[1], MAT)
simple("func_jacrev", lambda x: func.jacrev(lambda y: y.sin())(x), VEC)
simple("func_jacfwd", lambda x: func.jacfwd(lambda y: y.sin())(x), VEC)
simple("func_hessian", lambda x: func.hessian(lambda y: (y**3).sum())(x), VEC)
simple("func_vmap", lambda x: func.vmap(lambda row: row.sin() * row.sum())(x), MAT)
simple("func_vmap_grad", lambda x: func.vmap(func.grad(lambda row: row.sin().sum()))(x), MAT)


@program(MAT)
def forward_mode(world: World) -> Any:
    def function(x: Any) -> Any:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(x.detach(), x.detach()).sin()).tangent

    return function


class Cube(adjoint.autograd.Function):
    """x ** 3 with a derivative of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Doubled(adjoint.autograd.Function):
    """Twice the argument, in its place."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


simple("custom_function", lambda x: Cube.apply(x) * 2, MAT)
simple("custom_in_place", lambda x: Doubled.apply(x * 1).sin(), MAT)
simple("checkpointed", lambda x: checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False), MAT, second=False)
simple(
    "checkpointed_reentrant",
    lambda x: checkpoint(lambda y: y.sin().exp(), x, use_reentrant=True),
    MAT,
    second=False,
    recorded=False,
)
simple("hook_inside", lambda x: then(y := x * 2, y.register_hook(lambda g: g * 3), y.sin()), MAT, second=False)
simple("hook_on_argument", lambda x: then(x.register_hook(lambda g: g * 3), x.sin()), MAT, recorded=False)
simple(
    "hook_before",
    lambda x: x.sin(),
    change_input(MAT, lambda x: then(x.register_hook(lambda g: g * 3), x)),
    recorded=False,
)
simple(
    "retain_grad_inside",
    lambda x: then(y := x * 2, y.retain_grad(), y.sin().sum().backward(), y.grad),
    MAT,
    second=False,
)
simple(
    "saved_hooks_inside",
    under(lambda: adjoint.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t), lambda x: x.sin()),
    MAT,
)
simple("anomaly_inside", under(lambda: adjoint.autograd.set_detect_anomaly(True), lambda x: x.sin()), MAT)


@program(tensor(3, 4), recordings=6)
def training_step(world: World) -> Any:
    weight, bias = world.parameter(4, 2), world.parameter(2)

    def step(x: Any) -> Any:
        loss = ((x.detach() @ weight + bias).tanh() ** 2).mean()
        loss.backward()
        with adjoint.no_grad():
            for parameter in (weight, bias):
                parameter -= 0.1 * parameter.grad
                parameter.grad.zero_()
        return loss.detach()

    return step


@program(tensor(3, 4), recordings=6)
def accumulated_gradients(world: World) -> Any:
    weight = world.parameter(4)

    def function(x: Any) -> Any:
        (x.detach() * weight).sum().backward()

    return function


@program(MAT)
def captured_parameters(world: World) -> Any:
    layers = [(world.parameter(4, 4), world.parameter(4)) for _ in range(3)]

    def function(x: Any) -> Any:
        for weight, bias in layers:
            x = (x @ weight + bias).tanh()
        return x

    return function


@program(MAT, second=False)
def captured_with_writes(world: World) -> Any:
    mean, weight = world.tensor(4), world.parameter(4)

    def function(x: Any) -> Any:
        mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return (x - mean) * weight

    return function


def _weight(world: World, k: int) -> Any:
    """The Tensor of the closure, also as an argument."""
    return world.closure[0]


@program(MAT, _weight)
def argument_that_is_captured(world: World) -> Any:
    weight = world.parameter(4)
    return lambda x, y: x * weight + y


@program(PLAIN, change_input(_weight, lambda weight: weight.detach()[1:]), second=False)
def part_of_what_is_captured(world: World) -> Any:
    table = world.tensor(4)
    return lambda x, part: then(table.mul_(2), x[:, 1:] * part)


# surroundings that change ---------------------------------------------------------------------------------------------


def _rebinding(world: World, number: int) -> None:
    world.box["factor"] = (2.0, 2.0, 3.0, 2.0)[number % 4]


@program(MAT, recordings=8, between=_rebinding)
def dictionary_that_changes(world: World) -> Any:
    world.box = {"factor": 1.0}
    box = world.box
    return lambda x: x * box["factor"]


def _appending(world: World, number: int) -> None:
    if number == 4:
        world.layers.append(world.parameter(4))


@program(MAT, recordings=8, between=_appending)
def list_that_grows(world: World) -> Any:
    world.layers = layers = [world.parameter(4)]

    def function(x: Any) -> Any:
        for layer in layers:
            x = x * layer
        return x

    return function


def _replacing(world: World, number: int) -> None:
    world.layers[0] = world.parameter(4)


@program(MAT, recordings=8, between=_replacing)
def parameter_that_is_replaced(world: World) -> Any:
    world.layers = layers = [world.parameter(4)]
    return lambda x: x * layers[0]


class Model:
    """A layer with a switch."""

    def __init__(self, world: World) -> None:
        self.weight = world.parameter(4)
        self.training = True

    def __call__(self, x: Any) -> Any:
        return self.forward(x)

    def forward(self, x: Any) -> Any:
        return x * self.weight if self.training else x * self.weight * 10


def _switching(world: World, number: int) -> None:
    world.model.training = number % 2 == 0


@program(MAT, recordings=8, between=_switching)
def attribute_that_changes(world: World) -> Any:
    world.model = Model(world)
    return world.model


@program(MAT, recordings=8, between=_switching)
def bound_method(world: World) -> Any:
    world.model = Model(world)
    return world.model.forward


def _new_grad_mode(world: World, number: int) -> None:
    for value in world.closure:
        value.requires_grad_(number % 3 != 1)


@program(MAT, recordings=8, between=_new_grad_mode)
def frozen_parameter(world: World) -> Any:
    weight = world.parameter(4)
    return lambda x: x * weight


def _new_array(world: World, number: int) -> None:
    world.closure[0][...] = number


@program(MAT, between=_new_array, recordings=8)
def captured_array_that_changes(world: World) -> Any:
    """The closure has a NumPy array whose values change."""
    scale = world.array(4)
    return lambda x: x * adjoint.from_numpy(scale)


@program(MAT, between=_new_array, recordings=8)
def captured_array_in_operation(world: World) -> Any:
    scale = world.array(4)
    return lambda x: x * scale


def _new_data(world: World, number: int) -> None:
    world.closure[0].data = adjoint.full((4,), float(number), dtype=adjoint.float64)


@program(MAT, between=_new_data)
def parameter_with_new_memory(world: World) -> Any:
    weight = world.parameter(4)
    return lambda x: x * weight


def _dtype(world: World, number: int) -> None:
    adjoint.set_default_dtype(adjoint.float64 if number == 1 else adjoint.float32)


simple(
    "default_dtype",
    lambda x: x * adjoint.ones(4) + adjoint.tensor(2.5),
    tensor(3, 4, dtype="float32"),
    between=_dtype,
    recordings=6,
)

FACTOR = 2.0


def _global(world: World, number: int) -> None:
    globals()["FACTOR"] = 2.0 if number % 2 else 3.0


simple("global_that_changes", lambda x: x * FACTOR, MAT, between=_global, recordings=8)


class Settings:
    """Numbers of a class."""

    factor = 2.0

    @staticmethod
    def scale(x: Any) -> Any:
        """x with the factor."""
        return x * Settings.factor


def _setting(world: World, number: int) -> None:
    Settings.factor = 2.0 if number % 2 else 3.0


simple("attribute_of_a_class", lambda x: x * Settings.factor, MAT, between=_setting, recordings=8)
simple("static_method", lambda x: Settings.scale(x), MAT, between=_setting, recordings=8)


def _turning(world: World, number: int) -> None:
    world.queue.rotate(1)
    (world.names.add if number % 2 else world.names.discard)("a")


@program(MAT, between=_turning, recordings=8)
def queue_and_set(world: World) -> Any:
    world.queue, world.names = queue, names = collections.deque([1.0, 2.0]), set()
    return lambda x: x * queue[0] if "a" in names else x


@program(MAT, between=_turning, recordings=8)
def queue_of_parameters(world: World) -> Any:
    world.queue, world.names = queue, _ = collections.deque([world.parameter(4), world.parameter(4)]), set()
    return lambda x: x * queue[0]


class Base:
    """A layer whose method is inherited."""

    def forward(self, x: Any) -> Any:
        """x scaled."""
        return x * self.scale()

    def scale(self) -> Any:
        """The factor."""
        return FACTOR


class Derived(Base):
    """The same layer."""


simple("inherited_method", Derived().forward, MAT, between=_global, recordings=8)


@functools.lru_cache
def _positions(n: int) -> Any:
    return adjoint.arange(n, dtype=adjoint.float64)


simple("cached_tensor", lambda x: x * _positions(4), MAT, recorded=False)


@functools.lru_cache
def _buffer() -> Any:
    return adjoint.ones(4, dtype=adjoint.float64)


simple(
    "cached_tensor_that_changes",
    lambda x: x * _buffer(),
    MAT,
    between=lambda world, number: _buffer().fill_(number),
    recorded=False,
)


@program(MAT, recorded=False)
def counter_of_calls(world: World) -> Any:
    """A variable that the function itself changes."""
    count = 0

    def function(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    return function


@program(MAT, recorded=False)
def list_that_the_function_fills(world: World) -> Any:
    log: list[Any] = []

    def function(x: Any) -> Any:
        log.append(len(log))
        return x * len(log)

    return function


@program(MAT, recorded=False)
def tensor_kept_for_later(world: World) -> Any:
    stored: dict[str, Any] = {}

    def function(x: Any) -> Any:
        before = stored.get("x")
        stored["x"] = x.detach() * 2
        return x * 2 if before is None else x * 3

    return function


@program(MAT, recorded=False)
def iterator_of_python(world: World) -> Any:
    numbers = iter(range(100))
    return lambda x: x * next(numbers)


# random numbers -------------------------------------------------------------------------------------------------------

simple(
    "random_numbers",
    lambda x: x * adjoint.rand(x.shape[0], 1, dtype=x.dtype) + adjoint.randn(4, dtype=x.dtype),
    MAT,
    second=False,
)
simple("dropout", lambda x: adjoint.nn.functional.dropout(x, 0.5) * 2, MAT, second=False)
simple(
    "random_kinds",
    lambda x: (
        adjoint.randint(0, 9, (3,)),
        adjoint.randperm(5),
        adjoint.bernoulli(adjoint.full((4,), 0.5)),
        adjoint.normal(0.0, 1.0, (2,)),
    ),
    PLAIN,
)
simple("random_in_place", lambda x: then(x.normal_(), x.uniform_(0, 1), x * 2), PLAIN, second=False)
simple("random_like", lambda x: adjoint.rand_like(x) + adjoint.randn_like(x), PLAIN)
simple("multinomial", lambda x: adjoint.multinomial(x.abs(), 2), PLAIN)
simple("seed_inside", lambda x: then(adjoint.manual_seed(5), x * adjoint.rand(4, dtype=x.dtype)), MAT, second=False)
simple("numpy_random", lambda x: x * np.random.rand(), MAT, recorded=False)
simple("python_random", lambda x: x * random.random(), MAT, recorded=False)
simple("branch_on_random", lambda x: x * 2 if adjoint.rand(1) > 0.5 else x * 3, MAT, second=False, recordings=6)


@program(MAT, second=False)
def own_generator(world: World) -> Any:
    generator = adjoint.Generator().manual_seed(4)
    return lambda x: x * adjoint.rand(4, generator=generator, dtype=x.dtype)


@program(MAT, recorded=False)
def generator_of_numpy(world: World) -> Any:
    generator = np.random.default_rng(3)
    return lambda x: x * float(generator.random())


@program(MAT, recorded=False)
def random_of_python(world: World) -> Any:
    generator = random.Random(3)
    return lambda x: x * generator.random()


# errors ---------------------------------------------------------------------------------------------------------------


def raising(when: Callable[..., bool], before: Callable[..., Any] = lambda *args: None) -> Callable[..., Any]:
    """A function that raises for some inputs."""

    def function(*args: Any) -> Any:
        before(*args)
        if when(*args):
            raise ValueError(f"refused {tuple(args[0].shape)}")
        return args[0] * 2

    return function


simple("error", raising(lambda x: True), MAT, recordings=0)
simple("error_of_operation", lambda x: x @ x, MAT, recordings=1)
simple("error_for_a_shape", raising(lambda x: x.shape[0] == 4), MAT)
simple("error_for_values", raising(lambda x: bool(x.detach()[0, 0] > 0)), MAT, recordings=8)
simple(
    "error_after_write", raising(lambda x: bool(x[0, 0] > 0), lambda x: x.mul_(2)), PLAIN, second=False, recordings=8
)
simple("error_caught", lambda x: _catch(lambda: x @ x, x * 2), tensor(3, 4))
simple("error_for_index", lambda x, i: x[i], MAT, values(*[adjoint.tensor([k]) for k in (0, 7, 1)]))
simple("error_of_kernel", lambda x: adjoint.linalg.cholesky(x[:3, :3]), tensor(3, 3), second=False)
simple("assertion", lambda x: then(_check(bool((x > -99).all())), x * 2), MAT)


def _catch(function: Callable[[], Any], instead: Any) -> Any:
    try:
        return function()
    except RuntimeError:
        return instead


def _check(condition: bool) -> None:
    assert condition


# what leaves NumPy's arrays -------------------------------------------------------------------------------------------

simple("numpy_of_value", lambda x: x * float(x.detach().numpy().sum()), MAT, recorded=False)
simple("numpy_function_of_value", lambda x: np.sin(x), MAT)
simple("numpy_function_of_detached", lambda x: x * float(np.sum(x.detach().numpy())), MAT, recorded=False)
simple("text", lambda x: then(repr(x.detach()), x * 2), MAT, recordings=8)
simple("address", lambda x: x * (x.data_ptr() % 8 + 1), MAT, recorded=False)
simple("storage", lambda x: x * len(x.untyped_storage()), MAT)
simple("versions", lambda x: then(v := x._version, x.add_(1), x * (x._version - v)), PLAIN, second=False)
simple("layout", lambda x: x * x.stride(0) + x.dim() + x.numel() + x.element_size() + x.is_contiguous(), MAT)
simple("clone_and_contiguous", lambda x: (x.t().contiguous(), x.contiguous() * 2, x.clone()), MAT)
simple("deepcopy_inside", lambda x: copy.deepcopy(x.detach()) * x, MAT)
simple("reshape_inside", lambda x: x.reshape(-1).view(2, -1).flatten(), MAT, recorded=False)
simple("reshape_of_result", lambda x: (x * 2).reshape(-1).view(2, -1), MAT)
simple("as_strided", lambda x: (x * 2).as_strided((2, 2), (1, 2)), MAT, second=False)
simple(
    "complex_views", lambda x: adjoint.view_as_real(x * 2).sum(-1) + (x.real * x.imag), tensor(3, dtype="complex128")
)
simple("view_of_dtype", lambda x: (x * 1).view(adjoint.int64) + 1, PLAIN)
simple("nested", lambda x: _INNER(x) * 2 + _INNER(x.sin()), MAT)
simple("recursion", lambda x: _power(x, 4), MAT)

_INNER = adjoint.compile(lambda x: x.sin() * 3)


def _power(x: Any, n: int) -> Any:
    return x if n == 1 else x * _power(x, n - 1)


# functions of NumPy's arrays ------------------------------------------------------------------------------------------

simple("array_result", lambda a: np.tanh(a) * 2 + a, array(5))
simple("array_number", lambda a: np.sum(a**2), array(5))
simple("array_mixed", lambda a, b: (a @ b, np.concatenate([a, b]), np.argmax(a)), array(4), array(4))
simple("array_index", lambda a: a[1:] - a[:-1], array(5))
simple("array_mask", lambda a: np.where(a > 0, a, 0.0), array(5))
simple("array_write", lambda a: then(a.__setitem__(slice(0, 2), 9.0), a.sum()), array(5), recorded=False)
simple(
    "array_write_own", lambda a: then(b := np.zeros_like(a), b.__setitem__(0, a[1]), b * 2), array(5), recorded=False
)
simple("array_gradient", adjoint.grad(lambda a: np.sum(np.tanh(a) * a)), array(5))
simple("array_with_number", adjoint.value_and_grad(lambda a, n: np.sum(a**n)), array(5), values(2, 3, 2))
simple("array_given_back", lambda a: a, array(5))
simple("array_part_given_back", lambda a: a[1:], array(5), recorded=False)
simple("array_of_ints", lambda a: a * 2 + a.sum(), array(5, dtype="int64"))
simple("array_of_floats32", lambda a: np.exp(a) / a.sum(), array(5, dtype="float32"))
simple("array_transposed", lambda a: np.exp(a) + a, change_input(array(3, 4), lambda a: a.T))
simple("array_branch", lambda a: a * 2 if a.sum() > 0 else a - 1, array(5), recordings=8)
simple("array_twice", lambda pair: pair[0] * pair[1], change_input(array(5), lambda a: (a, a)))
simple("array_and_tensor", lambda a, x: x * adjoint.as_tensor(a), array(4), MAT)


# results in one piece of memory, which the caller may write to -------------------------------------------------------

simple("result_and_its_view", lambda x: (y := x.exp(), y[0]), MAT)
simple(
    "view_before_its_result",
    lambda x: ((y := x.exp()).t(), y.sum(), y),
    MAT,
    rounded="the cotangents of results meet in another order",
)
simple("chunks_of_a_result", lambda x: (x * 2).chunk(2), MAT)
simple("views_that_overlap", lambda x: ((y := x * 3)[:2], y[1:]), MAT)
simple("view_of_a_view", lambda x: ((y := x.sin()).t(), y.t()[1:], y.reshape(-1)), MAT)
simple("result_and_itself_detached", lambda x: ((y := x.exp()).detach(), y), MAT)
simple("one_result_twice", lambda x: (y := x.exp(), [y, y * 2]), MAT)
simple("view_without_a_gradient", lambda x: (y := x.exp(), _without_grad(lambda: y[0])), MAT)
simple("same_numbers_twice", lambda x: (x.exp(), (x.exp() ** 2).sum()), MAT)
simple("constants_of_several_dtypes", lambda x: (x * 2, adjoint.ones(3), adjoint.eye(2, dtype=adjoint.complex64)), MAT)
simple("constant_and_its_part", lambda x: (c := adjoint.zeros(4), c[1:], x + 1), MAT)
writing("write_small_argument_that_is_saved", lambda x, y: then(y.add_(y), [x * y, x / (1 + x * x)]), MAT, PLAIN)
simple(
    "freed_results_of_some_inputs",
    lambda x, y: (z := x.sin(), adjoint.autograd.grad((z * z).sum(), [x, z])[0], y * 2),
    MAT,
    MAT,
)
simple("result_of_vmap_and_its_part", lambda x: (y := adjoint.vmap(lambda row: row * 2)(x), y[1:]), MAT, recorded=False)
simple("empty_views_of_an_argument", lambda x: (x[2:], x[:, 4:].sum(0), x), MAT, recorded=False)
simple("empty_view_of_a_result", lambda x: ((y := x.exp())[2:], y), MAT)
simple(
    "view_of_a_result_that_is_detached",
    lambda x: ((y := x.exp()).t(), y.sum(), y.detach_()),
    MAT,
    recorded=False,
)
simple(
    "copies_of_one_tensor",
    lambda x: (y := x.detach() * 2, a := y.clone(), b := y.clone(), a + x, b),
    MAT,
)


@program(MAT, second=False)
def gradient_and_copy_of_a_parameter(world: World) -> Callable[..., Any]:
    """A result depends on the numbers of a gradient inside the function."""
    w = world.parameter(3)

    def run(x: Any) -> Any:
        w.grad = None
        adjoint.autograd.backward([w], [w.detach()], retain_graph=True)
        return x * 2, w.clone()

    return run


writing(
    "fill_of_repeated_elements",
    lambda x, y: then(x.fill_(y.mean()), x * 2),
    change_input(PLAIN, lambda x: x[:1, :1].expand(3, 4)),
    PLAIN,
)
