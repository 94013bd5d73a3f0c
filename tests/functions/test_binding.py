"""The members that binding adds to Tensor and to namespaces: names, operators, reflected and in-place ones, errors."""

import operator
import re
import warnings

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.functions.binding import functions
from adjoint.functions.composite import COMPOSITES
from adjoint.tensor.table import operations

A = [7.0, -7.0, 2.5]
B = [2.0, 2.0, -4.0]

# Python's operators and Python's results for the numbers of these lists. In torch, too, // rounds down and the result
# of % has the sign of the divisor.
ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LOGICAL = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
}


def by_symbol(table):
    return pytest.mark.parametrize(("symbol", "apply"), table.items(), ids=list(table))


def approx(values):
    return pytest.approx(values, rel=1e-6)


# names --------------------------------------------------------------------------------------------------------------


def test_every_rule_is_bound_where_it_says():
    for name, operation in operations.items():
        rule = operation.rule
        method = name if rule.method is True else rule.method
        assert not method or callable(getattr(Tensor, method)), name
        in_place = f"{name}_" if rule.inplace is True else rule.inplace
        assert not in_place or getattr(Tensor, in_place).__name__ == in_place
        if rule.function:
            assert callable(functions[""][name]) and callable(getattr(adjoint, name))


def test_every_composite_is_bound_where_it_says():
    spaces = {
        "": adjoint,
        "fft": adjoint.fft,
        "linalg": adjoint.linalg,
        "masked": adjoint.masked,
        "nn.functional": adjoint.nn.functional,
        "signal.windows": adjoint.signal.windows,
        "sparse": adjoint.sparse,
        "special": adjoint.special,
    }
    for (namespace, name), declared in COMPOSITES.items():
        if namespace != "(method)":
            bound = getattr(spaces[namespace], name)
            assert declared.function in (bound, getattr(bound, "__wrapped__", None)), (namespace, name)
        if declared.method:
            assert callable(getattr(Tensor, declared.method)), declared.method


def test_methods_that_end_in_an_underscore_work_in_place_and_no_others():
    x = adjoint.tensor([1.0, 2.0])
    assert x.div(2) is not x and x.tolist() == [1, 2]
    assert x.div_(2) is x and x.tolist() == [0.5, 1]
    assert x.clamp_min(0.75) is not x and x.clamp_min_(0.75) is x and x.tolist() == [0.75, 1]


@pytest.mark.parametrize("name", ["sin", "mul", "div", "sum", "matmul", "reshape", "add_", "__lt__", "__iadd__"])
def test_methods_know_their_names(name):
    method = getattr(Tensor, name)
    assert method.__name__ == name and method.__doc__


def test_functions_and_methods_agree():
    x, y = adjoint.tensor(A), adjoint.tensor(B)
    for name in ("add", "sub", "mul", "div", "maximum", "atan2", "fmod", "lt", "dot", "allclose"):
        of_function, of_method = getattr(adjoint, name)(x, y), getattr(x, name)(y)
        assert type(of_function) is type(of_method)
        assert of_function == of_method if isinstance(of_method, bool) else of_function.tolist() == of_method.tolist()
    for name in ("exp", "neg", "sum", "isnan", "cumsum", "flip"):
        args = (0,) if name in ("cumsum", "flip") else ()
        x_again = x.clone()
        assert getattr(adjoint, name)(x, *args).tolist() == getattr(x_again, name)(*args).tolist()


def test_keywords_are_torchs_and_numpys():
    x = adjoint.ones(2, 3)
    assert adjoint.sum(x, dim=1).tolist() == adjoint.sum(input=x, axis=1).tolist() == x.sum(axis=1).tolist() == [3, 3]
    assert x.sum(dim=1, keepdim=True).shape == x.sum(axis=1, keepdims=True).shape == (2, 1)
    assert adjoint.add(x, x, alpha=3).tolist() == [[4] * 3] * 2
    assert adjoint.mul(input=x, other=x).shape == (2, 3)


# arithmetic ---------------------------------------------------------------------------------------------------------


@by_symbol(ARITHMETIC)
def test_two_tensors(symbol, apply):
    expected = [apply(a, b) for a, b in zip(A, B, strict=True)]
    result = apply(adjoint.tensor(A), adjoint.tensor(B))
    assert type(result) is Tensor and result.tolist() == approx(expected)


@by_symbol(ARITHMETIC)
@pytest.mark.parametrize("number", [2, 2.5, -3, True, np.float32(2), np.int64(2)], ids=repr)
def test_with_numbers(symbol, apply, number):
    x = adjoint.tensor(A)
    if symbol == "-" and number is True:
        with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is not supported"):
            apply(x, number)
        return
    for result, expected in (
        (apply(x, number), [apply(a, float(number)) for a in A]),
        (apply(number, x), [apply(float(number), a) for a in A]),
    ):
        assert type(result) is Tensor and result.tolist() == approx(expected)


@by_symbol(ARITHMETIC)
def test_with_arrays_on_either_side(symbol, apply):
    x = adjoint.tensor(A, dtype=adjoint.float64, requires_grad=True)
    array = np.array(B)
    for result, expected in (
        (apply(x, array), apply(np.array(A), array)),
        (apply(array, x), apply(array, np.array(A))),
        (apply(array[:1], x), apply(array[:1], np.array(A))),
    ):
        assert type(result) is Tensor and result.dtype is adjoint.float64
        assert result.tolist() == approx(expected.tolist())
    assert symbol == "//" or apply(array, x).requires_grad


def test_powers():
    x = adjoint.tensor([1.0, 2.0, 3.0])
    assert (x**2).tolist() == [1, 4, 9] and (2**x).tolist() == [2, 4, 8] and (x**x).tolist() == [1, 4, 27]
    assert (np.array([2.0]) ** x).tolist() == [2, 4, 8] and pow(x, 2).tolist() == [1, 4, 9]
    assert (adjoint.tensor([2]) ** 3).dtype is adjoint.int64
    with pytest.raises(RuntimeError, match=r"Integers to negative integer powers are not allowed\."):
        adjoint.tensor([2]) ** -1


def test_matrix_products():
    x, y = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 1], [1, 0]], np.float32)
    assert (x @ x).tolist() == [[7, 10], [15, 22]]
    assert (x @ y).tolist() == [[2, 1], [4, 3]] and (y @ x).tolist() == [[3, 4], [1, 2]]
    for pair in ((x, 2), (2, x), (x, "a"), (x, None)):
        with pytest.raises(TypeError, match="unsupported operand type"):
            operator.matmul(*pair)


def test_unary():
    x = adjoint.tensor([1.5, -2.0])
    assert (-x).tolist() == [-1.5, 2] and (+x).tolist() == [1.5, -2] and abs(x).tolist() == [1.5, 2]
    assert (~adjoint.tensor([True, False])).tolist() == [False, True] and (~adjoint.tensor([5])).tolist() == [-6]


def test_operators_are_differentiable():
    x = adjoint.tensor(3.0, requires_grad=True)
    for f, slope in (
        (lambda x: x + 2, 1), (lambda x: 2 - x, -1), (lambda x: x * x, 6), (lambda x: 1 / x, -1 / 9),
        (lambda x: x**2, 6), (lambda x: 2**x, 8 * np.log(2)), (lambda x: -x, -1), (lambda x: abs(-x), 1),
        (lambda x: x % 2, 1), (lambda x: 7 % x, -2), (lambda x: np.float32(2) * x, 2),
    ):  # fmt: skip
        (gradient,) = adjoint.autograd.grad(f(x), x)
        assert gradient.item() == approx(slope)


# comparisons and logic ----------------------------------------------------------------------------------------------


@by_symbol(COMPARISONS)
def test_comparisons(symbol, apply):
    x, y = adjoint.tensor([1.0, 2.0, 3.0]), [2.0, 2.0, 2.0]
    expected = [apply(a, b) for a, b in zip([1, 2, 3], y, strict=True)]
    for other in (adjoint.tensor(y), 2, 2.0, np.array(y), adjoint.tensor(2)):
        result = apply(x, other)
        assert result.dtype is adjoint.bool and result.tolist() == expected
    mirrored = [apply(2.0, a) for a in [1, 2, 3]]
    for other in (2, 2.0, np.array(y), np.float32(2)):
        assert apply(other, x).tolist() == mirrored
    assert not apply(x.requires_grad_(), 2).requires_grad


@by_symbol(LOGICAL)
def test_logic(symbol, apply):
    a, b = [True, True, False, False], [True, False, True, False]
    expected = [apply(p, q) for p, q in zip(a, b, strict=True)]
    for other in (adjoint.tensor(b), np.array(b)):
        result = apply(adjoint.tensor(a), other)
        assert result.dtype is adjoint.bool and result.tolist() == expected
    assert apply(np.array(a), adjoint.tensor(b)).tolist() == expected
    assert apply(adjoint.tensor([6, 7]), 3).tolist() == [apply(6, 3), apply(7, 3)]
    assert apply(3, adjoint.tensor([6, 7])).tolist() == [apply(3, 6), apply(3, 7)]


# in place -----------------------------------------------------------------------------------------------------------


@by_symbol(IN_PLACE)
def test_in_place(symbol, apply):
    whole = symbol in ("&=", "|=", "^=")
    data, other = ([6, 7], 3) if whole else ([6.0, 7.0], 2.0)
    expected = [apply(value, other) for value in data]
    for right in (other, adjoint.tensor(other), np.array([other, other], np.int64 if whole else np.float32)):
        x = adjoint.tensor(data)
        before, address = x, x.data_ptr()
        x = apply(x, right)
        assert x is before and x.data_ptr() == address and x._version == 1
        assert x.tolist() == approx(expected)


def test_matrix_product_has_no_in_place_form():
    x = before = adjoint.ones(2, 2)
    x @= adjoint.ones(2, 2)
    assert x is not before and x.tolist() == [[2, 2], [2, 2]] and before.tolist() == [[1, 1], [1, 1]]


def test_in_place_is_recorded():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y *= x
    y += 1
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_in_place_on_a_leaf():
    x = adjoint.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place op"):
        x += 1


# errors -------------------------------------------------------------------------------------------------------------

SYMBOLS = {**ARITHMETIC, "**": operator.pow, **LOGICAL, **IN_PLACE}


@by_symbol(SYMBOLS)
@pytest.mark.parametrize("other", ["a", None, object()], ids=["str", "None", "object"])
def test_what_is_no_operand(symbol, apply, other):
    name = "** or pow()" if symbol == "**" else symbol
    message = f"unsupported operand type(s) for {name}: 'Tensor' and '{type(other).__name__}'"
    if symbol == "*" and other == "a":  # Python interprets this as the repetition of a text
        message = "only integer tensors of a single element can be converted to an index"
    with pytest.raises(TypeError, match=re.escape(message)):
        apply(adjoint.tensor([1.0]), other)


@by_symbol(ARITHMETIC)
def test_what_is_no_operand_on_the_left(symbol, apply):
    with pytest.raises(TypeError, match="'NoneType' and 'Tensor'"):
        apply(None, adjoint.tensor([1]))


def test_lists_are_no_operands():
    with pytest.raises(TypeError, match="'Tensor' and 'list'"):
        adjoint.tensor([1]) - [1]


@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("other", ["a", None], ids=["str", "None"])
def test_what_cannot_be_ordered(symbol, other):
    message = f"'{symbol}' not supported between instances of 'Tensor' and '{type(other).__name__}'"
    with pytest.raises(TypeError, match=re.escape(message)):
        COMPARISONS[symbol](adjoint.tensor([1]), other)


def test_functions_say_which_argument_is_wrong():
    with pytest.raises(TypeError, match=re.escape("add(): argument 'other' (position 2) must be Tensor, not str")):
        adjoint.add(adjoint.tensor([1]), "a")
    with pytest.raises(TypeError, match=re.escape("sin(): argument 'input' (position 1) must be Tensor, not str")):
        adjoint.sin("a")
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        adjoint.sin(adjoint.ones(1), foo=1)


def test_shapes_that_do_not_broadcast():
    message = "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    with pytest.raises(RuntimeError, match=re.escape(message)):
        adjoint.ones(2) + adjoint.ones(3)
    with pytest.raises(RuntimeError, match=re.escape(message)):
        adjoint.ones(2) * np.ones(3)
    x = adjoint.ones(2)
    with pytest.raises(RuntimeError, match=re.escape("output with shape [2] doesn't match the broadcast shape [3, 2]")):
        x += adjoint.ones(3, 2)


def test_methods_take_arguments_by_name():
    x = adjoint.tensor([2.0, 3.0])
    assert x.pow(exponent=2).tolist() == [4, 9] and x.mul(other=2).tolist() == [4, 6] and x.eq(other=3).any()
    with pytest.raises(TypeError, match=re.escape('mul() missing 1 required positional arguments: "other"')):
        x.mul()
    with pytest.raises(TypeError, match=re.escape("exp() takes 1 arguments (input) but 2 were given")):
        x.exp(1)


@pytest.mark.parametrize("apply", [operator.add, operator.mul])
def test_a_number_on_the_left_is_recorded_behind_the_tensor(apply):
    x = adjoint.ones(2, requires_grad=True)
    (first, _), (second, _) = apply(2, x).grad_fn.next_functions
    assert first.variable is x and second is None


def test_comparisons_of_tensors_refuse_what_is_none():
    x = adjoint.ones(2)
    for compare in (adjoint.isclose, adjoint.allclose, adjoint.equal):
        with pytest.raises(TypeError, match=re.escape("argument 'other' (position 2) must be Tensor, not int")):
            compare(x, 1)
    for compare in (adjoint.isclose, adjoint.allclose):
        with pytest.raises(RuntimeError, match="Float did not match Double"):
            compare(x, x.double())


def test_no_argument_has_two_names() -> None:
    x, taking = adjoint.eye(3), []
    for name in adjoint.__all__:
        function = getattr(adjoint, name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(x, dim=0)
                function(x, axis=0)
        except (TypeError, RuntimeError, ValueError, IndexError, AttributeError):
            continue
        taking.append(name)
        with pytest.raises(TypeError):
            function(x, dim=0, axis=1)
    assert {"sum", "softmax", "max", "cumsum", "amax", "std", "logsumexp"} <= set(taking)
