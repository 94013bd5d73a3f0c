"""Declarations of rules: saved values, kinds, names, errors."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import forward_ad
from adjoint.core.operations.operation import Operation
from adjoint.core.recorded import operations, raw_ops
from adjoint.rules import TABLE, Rule, derive
from adjoint.rules.declare import (
    Array,
    Arrays,
    Constant,
    constant,
    elementwise,
    general,
    linear,
    multilinear,
    node_name,
    public_name,
)

NUMPY = raw_ops(np.zeros(0))
NAME = "declared_by_a_test"


@pytest.fixture(autouse=True)
def _table_as_before() -> Iterator[None]:
    yield
    TABLE.pop(NAME, None)


def saved_by(name: str, mask: int, is_complex: bool = False) -> tuple[str, ...]:
    return operations[name].plan(mask, is_complex).names


# saved values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mask", "names"),
    [
        ("tanh", 1, ("y",)),
        ("sin", 1, ("input",)),
        ("neg", 1, ()),
        ("mul", 0b01, ("other",)),
        ("mul", 0b10, ("input",)),
        ("mul", 0b11, ("other", "input")),
        ("add", 0b01, ()),
        ("add", 0b10, ("alpha",)),
        ("true_divide", 0b01, ("other",)),
        ("true_divide", 0b11, ("other", "input")),
        ("where", 0b01, ("condition",)),
    ],
)
def test_formulas_of_wanted_inputs_say_what_is_saved(name: str, mask: int, names: tuple[str, ...]) -> None:
    assert saved_by(name, mask) == names


def test_a_product_with_a_constant_saves_one_array() -> None:
    x, factor = adjoint.ones(3, requires_grad=True), adjoint.full((3,), 2.0)
    assert (x * factor).grad_fn._saved_other is factor
    assert (x * factor).grad_fn._saved_self is None


def test_a_plan_is_derived_once_for_each_set_of_inputs() -> None:
    mul = operations["mul"]
    assert mul.plan(0b01, False) is mul.plan(0b01, False)
    assert mul.plan(0b01, False) is not mul.plan(0b10, False)
    assert mul.plan(0b01, False).mask == (True, False)
    assert mul.plan(0b10, False).mask == (False, True)


def test_shapes_types_results_and_keywords_are_saved_by_name() -> None:
    @general(name=NAME)
    def kernel(xp: Any, input: Array, scale: float = 2.0) -> Any:
        return input * scale

    @kernel.vjp("input")
    def _(g: Any, input_shape: Any, input_dtype: Any, y: Any, scale: float) -> Any:
        assert input_shape == y.shape == (3,)
        assert input_dtype == y.dtype == np.float64
        return g * scale

    x = adjoint.ones(3, dtype=adjoint.float64, requires_grad=True)
    y = Operation(kernel)(x, 5.0)
    assert y.grad_fn.name() == "DeclaredByATestBackward0"
    y.backward(adjoint.ones(3, dtype=adjoint.float64))
    assert x.grad.tolist() == [5.0, 5.0, 5.0]


def test_a_vjp_alone_gives_a_tangent_too() -> None:
    @general(name=NAME)
    def kernel(xp: Any, input: Array) -> Any:
        return xp.exp(input)

    @kernel.vjp("input")
    def _(g: Any, y: Any) -> Any:
        return g * y

    operation = Operation(kernel)
    x, t = (adjoint.tensor(values, dtype=adjoint.float64) for values in ([0.0, 1.0], [2.0, 3.0]))
    # plain tensors have a fast path, which uses only declared jvps
    assert operation.fast
    with forward_ad.dual_level():
        y, tangent = forward_ad.unpack_dual(operation(forward_ad.make_dual(x, t)))
    np.testing.assert_array_equal(tangent.numpy(), (t * y).numpy())


def test_a_formula_of_another_shape_is_an_error() -> None:
    @general(name=NAME)
    def kernel(xp: Any, input: Array) -> Any:
        return input * 2

    @kernel.vjp("input")
    def _(g: Any) -> Any:
        return g[:2]

    y = Operation(kernel)(adjoint.ones(3, requires_grad=True))
    message = "Function DeclaredByATestBackward0 returned an invalid gradient at index 0 - got [2] but expected shape"
    with pytest.raises(RuntimeError, match=re.escape(message)):
        y.sum().backward()


def test_a_formula_that_asks_for_an_unknown_name_is_an_error() -> None:
    @general(name=NAME)
    def kernel(xp: Any, input: Array) -> Any:
        return input

    @kernel.vjp("input")
    def _(g: Any, weight: Any) -> Any:
        return g * weight

    with pytest.raises(TypeError, match="a formula of declared_by_a_test asks for 'weight'"):
        Operation(kernel)(adjoint.ones(3, requires_grad=True))
    with pytest.raises(TypeError, match="a formula of declared_by_a_test asks for 'weight'"):
        derive.vjp(kernel, NUMPY, np.ones(3), {"input": np.ones(3)}, np.ones(3), (True,))


# declarations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declare", "kind", "batching", "dtypes"),
    [
        (elementwise, "elementwise", "align", "same"),
        (linear, "linear", "align", "any"),
        (multilinear, "multilinear", "loop", "same"),
        (general, "general", "loop", "same"),
        (constant, "constant", "loop", "any"),
    ],
)
def test_kinds(declare: Any, kind: str, batching: str, dtypes: str) -> None:
    @declare(name=NAME)
    def kernel(xp: Any, input: Array, index: Constant, *, flag: bool = False) -> Any:
        """What it does."""

    assert TABLE[NAME] is kernel
    assert (kernel.kind, kernel.batching, kernel.dtypes) == (kind, batching, dtypes)
    assert (kernel.inputs, kernel.constants, kernel.sequence) == (("input",), ("index",), None)
    assert kernel.names == ("input", "index", "flag")
    assert kernel.doc == "What it does."
    assert repr(kernel) == f"<{kind} rule {NAME}(input, index, flag)>"


@pytest.mark.parametrize(
    ("options", "batching"),
    [
        ({"axes": ("dim",)}, "axes"),
        ({"new_axes": ("dim",)}, "axes"),
        ({"core": "(n)->()"}, "core"),
        ({"batching": "joint", "axes": ("dim",)}, "joint"),
        ({"batching": "loop", "core": "(n)->()"}, "loop"),
    ],
)
def test_the_batch_form_follows_from_what_is_declared(options: dict[str, Any], batching: str) -> None:
    @general(name=NAME, **options)
    def kernel(xp: Any, input: Array, dim: int) -> Any: ...

    assert kernel.batching == batching


def test_a_partial_may_be_a_name_a_number_or_a_function() -> None:
    rule = elementwise("multiply", name=NAME, input="other", other=3)
    values = {"input": np.array([1.0, 2.0]), "other": np.array([5.0, 7.0])}
    pulled = derive.vjp(rule, NUMPY, np.ones(2), values, values["input"], (True, True))
    assert pulled["input"].tolist() == [5.0, 7.0]
    assert pulled["other"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("alpha", [1, 1.0, 2, -0.5])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_partial_with_a_sign_is_the_factor_or_nothing(alpha: float, create_graph: bool) -> None:
    x, y = (adjoint.tensor([1.0, 2.0, 4.0], requires_grad=True) for _ in range(2))
    g = adjoint.tensor([1.0, -0.0, np.inf])
    for name, factors in (("add", (1, alpha)), ("sub", (1, -alpha)), ("rsub", (-alpha, 1))):
        result = operations[name](x, y, alpha=alpha)
        gradients = adjoint.autograd.grad(result, (x, y), g, create_graph=create_graph)
        for gradient, factor in zip(gradients, factors, strict=True):
            np.testing.assert_array_equal(gradient.detach().numpy(), g.numpy() * factor)


def test_a_partial_of_numbers_needs_one_program_for_all() -> None:
    x = adjoint.tensor([1.0, 2.0, 4.0], requires_grad=True)
    for number in (3.0, 7, 0.1, -2.5, 3.0):
        (gradient,) = adjoint.autograd.grad(x / number, x, adjoint.ones(3))
        np.testing.assert_array_equal(gradient.numpy(), np.ones(3, np.float32) / np.float32(number))
        (gradient,) = adjoint.autograd.grad(number / x, x, adjoint.ones(3))
        values = x.detach().numpy()
        np.testing.assert_array_equal(gradient.numpy(), -((np.float32(number) / values) / values))


def test_a_formula_shared_by_rules_may_use_names_of_its_own() -> None:
    result = {f.inputs: f.needs for f in TABLE["baddbmm"].vjps}
    assert result["batch1",] == ("batch2", "alpha")
    assert result["batch2",] == ("batch1", "alpha")
    assert TABLE["addmv"].jvps["vec"].needs == ("mat", "alpha")


def test_only_wanted_cotangents_are_computed() -> None:
    values = {"input": np.ones(2), "other": np.ones(2)}
    assert set(derive.vjp(TABLE["mul"], NUMPY, np.ones(2), values, np.ones(2), (False, True))) == {"other"}
    assert derive.vjp(TABLE["mul"], NUMPY, np.ones(2), values, np.ones(2), (False, False)) == {}


def test_a_kernel_named_like_a_function_is_that_function() -> None:
    assert TABLE["tanh"].kernel(np) is np.tanh


def test_a_trailing_underscore_is_no_part_of_the_name() -> None:
    @constant()
    def declared_by_a_test_(xp: Any, input: Array) -> Any: ...

    assert declared_by_a_test_.name == public_name(declared_by_a_test_._kernel) == NAME


@pytest.mark.parametrize(
    ("name", "node"),
    [("add", "AddBackward0"), ("log_softmax", "LogSoftmaxBackward0"), ("linalg_qr", "LinalgQrBackward0")],
)
def test_the_name_of_the_node(name: str, node: str) -> None:
    assert node_name(name) == node


def test_a_node_may_have_a_name_of_its_own() -> None:
    rule = elementwise("tanh", name=NAME, input="y", node="OtherBackward3")
    assert rule.node == "OtherBackward3"


# errors -------------------------------------------------------------------------------------------------------------


def test_a_name_is_declared_once() -> None:
    before = TABLE["tanh"]
    with pytest.raises(ValueError, match="'tanh' is declared twice"):
        elementwise("tanh", input="y")
    assert TABLE["tanh"] is before


@pytest.mark.parametrize("way", ["vjp", "jvp"])
def test_a_formula_is_for_an_input_that_there_is(way: str) -> None:
    @general(name=NAME)
    def kernel(xp: Any, input: Array) -> Any: ...

    with pytest.raises(TypeError, match=r"no input 'other'; its inputs are \('input',\)"):
        getattr(kernel, way)("other")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtypes": "double"}, "dtypes must be one of .* got 'double'"),
        ({"batching": "vectorize"}, "batching must be one of .* got 'vectorize'"),
    ],
)
def test_options_have_few_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        constant(name=NAME, **options)(lambda xp, input: input)


def test_options_are_known() -> None:
    with pytest.raises(TypeError, match="rule declared_by_a_test has unknown options: batchin, dtype"):
        constant(name=NAME, batchin="loop", dtype="any")(lambda xp, input: input)


def test_a_sequence_is_the_only_input() -> None:
    with pytest.raises(TypeError, match="a sequence of arrays must be the only input"):

        @linear(name=NAME)
        def kernel(xp: Any, tensors: Arrays, other: Array) -> Any: ...


# derived functions --------------------------------------------------------------------------------------------------


def test_a_general_rule_without_jvp_needs_the_transposed_vjp() -> None:
    @general(name=NAME)
    def kernel(xp: Any, input: Array, other: Array) -> Any: ...

    @kernel.jvp("other")
    def _(t: Any) -> Any:
        return t

    values, y = {"input": np.ones(2), "other": np.ones(2)}, np.ones(2)
    assert derive.without_jvp(kernel, values) == ("input",)
    assert derive.jvp(kernel, NUMPY, {"other": np.ones(2)}, values, y).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="declares no jvp for input"):
        derive.jvp(kernel, NUMPY, values, values, y)
    both = derive.jvp(kernel, NUMPY, values, values, y, lambda rule, tangents, *_: 10 * tangents["input"])
    assert both.tolist() == [11.0, 11.0]


def test_a_constant_has_no_tangent() -> None:
    x = np.ones(2)
    assert derive.jvp(TABLE["zeros_like"], NUMPY, {"input": x}, {"input": x}, x) is None
    assert derive.jvp(TABLE["isnan"], NUMPY, {"input": x}, {"input": x}, np.isnan(x)) is None


def test_the_tangent_has_the_shape_and_type_of_the_result() -> None:
    values = {"input": np.ones(3), "other": np.ones((2, 1)) * 1j, "alpha": 1}
    y = derive.call(TABLE["add"], NUMPY, values)
    t = derive.jvp(TABLE["add"], NUMPY, {"input": np.ones(3)}, values, y)
    assert (t.shape, t.dtype) == (y.shape, y.dtype) == ((2, 3), np.complex128)


def test_without_a_batch_axis_the_result_has_none() -> None:
    result, dim = derive.batch(TABLE["tanh"], NUMPY, {"input": np.zeros(3)}, {"input": None})
    assert (result.tolist(), dim) == ([0.0, 0.0, 0.0], None)


def test_axes_are_counted_without_the_batch_axis() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for dim, expected in ((-1, x.sum(2)), (0, x.sum(1)), (None, x.sum((1, 2))), ((0, -1), x.sum((1, 2)))):
        result, axis = derive.batch(TABLE["sum"], NUMPY, {"input": x, "dim": dim, "keepdim": False}, {"input": 0})
        assert axis == 0
        assert result.tolist() == expected.tolist()


def test_a_hook_changes_arguments_or_asks_for_a_loop() -> None:
    runs = []

    @linear(name=NAME)
    def kernel(xp: Any, input: Array, shape: tuple[int, ...]) -> Any:
        runs.append(input.shape)
        return input.reshape(shape)

    @kernel.batch
    def _(size: int, ndim: int, shape: tuple[int, ...]) -> dict[str, Any] | None:
        return {"shape": (size, *shape)} if ndim == 2 else None

    operations[NAME] = Operation(kernel)
    try:
        flat, _ = derive.batch(kernel, NUMPY, {"input": np.ones((5, 2, 3)), "shape": (6,)}, {"input": 0})
        looped, _ = derive.batch(kernel, NUMPY, {"input": np.ones((6, 5)), "shape": (2, 3)}, {"input": 1})
    finally:
        del operations[NAME]
        del NUMPY.__dict__[NAME]
    assert (flat.shape, looped.shape) == ((5, 6), (5, 2, 3))
    assert runs == [(5, 2, 3)] + [(6,)] * 5


def test_an_empty_batch_that_runs_one_by_one() -> None:
    rule: Rule = TABLE["tensordot"]
    values = {"input": np.ones((0, 3)), "other": np.ones(3), "dims_self": (0,), "dims_other": (0,)}
    assert rule.batching == "loop"
    result, dim = derive.batch(rule, NUMPY, values, {"input": 0}, on_loop=pytest.fail)
    assert (result.shape, dim) == ((0,), 0)
    with pytest.raises(ValueError, match="tensordot runs a batch one by one, and the batch is empty"):
        derive.batch(rule, NUMPY, {**values, "other": np.ones(4)}, {"input": 0})  # no member can run
