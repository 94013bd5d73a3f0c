"""torch._foreach_*: each function equals a loop of the operation over the list."""

import numpy as np
import pytest

import adjoint
from adjoint.as_torch import _foreach
from adjoint.as_torch._foreach import FOREACH

UNARY = [
    name
    for name in FOREACH
    if not any(
        word in name
        for word in ("add", "sub", "mul", "div", "pow", "clamp", "imum", "lerp", "norm", "_mm", "copy", "zero", "max")
    )
]


def tensors(n=2, low=0.2):
    rng = np.random.default_rng(n)
    return [adjoint.tensor(rng.uniform(low, 0.9, shape)) for shape in [(3,), (2, 2), ()][:n]]


def foreach(name):
    return getattr(_foreach, name)


def assert_equal(results, references):
    assert len(results) == len(references)
    for result, reference in zip(results, references, strict=True):
        assert adjoint.equal(result, reference)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_list(name):
    method = name.removeprefix("_foreach_")
    xs = tensors(3)
    references = [getattr(x.clone(), method)() for x in xs]
    results = foreach(name)(xs)
    assert (results is xs) == method.endswith("_")
    assert type(results) is (list if method.endswith("_") else tuple)
    assert_equal(results, references)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "clamp_max", "clamp_min", "maximum", "minimum"])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("other", ["list", "numbers", "number"])
def test_functions_of_two_lists(name, in_place, other):
    xs = tensors()
    values = {"list": tensors(2, 0.4), "numbers": [0.5, 2.0], "number": 0.5}[other]
    columns = values if isinstance(values, list) else [values] * 2
    method = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)
    references = [getattr(x, method)(value) for x, value in zip(xs, columns, strict=True)]
    result = foreach(f"_foreach_{name}" + "_" * in_place)(xs, values)
    assert (result is xs) == in_place
    assert_equal(result, references)


def test_options():
    xs, ys, zs = tensors(), tensors(2, 0.3), tensors(2, 0.5)
    pairs = list(zip(xs, ys, zs, strict=True))
    assert_equal(foreach("_foreach_add")(xs, ys, alpha=3), [x + 3 * y for x, y, _ in pairs])
    assert_equal(foreach("_foreach_addcmul")(xs, ys, zs, 2.0), [x.addcmul(y, z, value=2.0) for x, y, z in pairs])
    assert_equal(foreach("_foreach_addcdiv")(xs, ys, zs, value=2.0), [x.addcdiv(y, z, value=2.0) for x, y, z in pairs])
    each = [x.addcdiv(y, z, value=k) for (x, y, z), k in zip(pairs, (1.0, 2.0), strict=True)]
    assert_equal(foreach("_foreach_addcdiv")(xs, ys, zs, scalars=[1.0, 2.0]), each)
    assert_equal(foreach("_foreach_lerp")(xs, ys, 0.25), [x.lerp(y, 0.25) for x, y, _ in pairs])
    assert_equal(foreach("_foreach_norm")(xs, float("inf")), [x.abs().max() for x in xs])
    assert_equal(foreach("_foreach_powsum")(xs, 3), [(x.abs() ** 3).sum() for x in xs])
    assert_equal(foreach("_foreach_max")(xs), [x.max() for x in xs])
    assert_equal(foreach("_foreach_pow")(2.0, xs), [2.0**x for x in xs])
    assert_equal(foreach("_foreach_copy_")(xs, ys), ys)
    assert_equal(foreach("_foreach_zero_")(xs), [adjoint.zeros_like(y) for y in ys])


def test_gradients_pass():
    xs = [x.requires_grad_() for x in tensors()]
    sum(y.sum() for y in foreach("_foreach_mul")(xs, xs)).backward()
    assert_equal([x.grad for x in xs], [2 * x for x in xs])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (([], 1), RuntimeError, "Tensor list must have at least one tensor."),
        ((tensors(2), tensors(3)), RuntimeError, "must have the same number of tensors, got 2 and 3"),
        ((adjoint.ones(2), 1), TypeError, r"_foreach_add\(\) received an invalid combination of arguments"),
    ],
    ids=["empty", "lengths", "tensor"],
)
def test_errors(arguments, error, text):
    with pytest.raises(error, match=text):
        foreach("_foreach_add")(*arguments)


def test_other_names_do_not_exist():
    with pytest.raises(AttributeError, match="no attribute '_foreach_fermata'"):
        foreach("_foreach_fermata")
