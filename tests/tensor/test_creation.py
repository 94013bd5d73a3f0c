"""The functions that make tensors (tensor/creation.py): values, dtypes, messages.

Expected values and messages are those of PyTorch 2.13 for the same calls. Random numbers have PyTorch's distributions,
but not its values.
"""

import re

import numpy as np
import pytest

import adjoint

FACTORIES = (adjoint.zeros, adjoint.ones, adjoint.empty, adjoint.rand, adjoint.randn)


def raises(error, message):
    return pytest.raises(error, match=re.escape(message))


@pytest.fixture
def float64_default():
    adjoint.set_default_dtype(adjoint.float64)
    yield
    adjoint.set_default_dtype(adjoint.float32)


def same(x, values, dtype):
    return x.tolist() == values and x.dtype is dtype


# from data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([[1, 2], [3, 4]], adjoint.int64),
        ([1, 2.5], adjoint.float32),
        (True, adjoint.bool),
        (1j, adjoint.complex64),
        ([], adjoint.float32),
        (np.ones(2), adjoint.float64),
        (np.float64(1), adjoint.float64),
        ([np.float64(1)], adjoint.float64),
        (np.ones(2, np.int8), adjoint.int8),
    ],
)
def test_tensor_infers_the_dtype(data, dtype):
    x = adjoint.tensor(data)
    assert same(x, np.asarray(data).tolist(), dtype) and not x.requires_grad and x.is_leaf


def test_tensor_copies():
    array = np.ones(2)
    x = adjoint.tensor(array)
    array[0] = 7
    assert x.tolist() == [1, 1]
    assert adjoint.tensor(x).data_ptr() != x.data_ptr()


def test_tensor_with_dtype():
    assert same(adjoint.tensor([1, 2], dtype=adjoint.float64), [1, 2], adjoint.float64)
    assert same(adjoint.tensor([1, 0], dtype=adjoint.bool), [True, False], adjoint.bool)
    assert adjoint.tensor([1], dtype=float).dtype is adjoint.float64
    assert same(adjoint.tensor([adjoint.tensor(1), adjoint.tensor(2)]), [1, 2], adjoint.int64)
    assert adjoint.tensor([1.0], requires_grad=True, device="cpu", pin_memory=False).requires_grad


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1, 2], [1]], ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
        ([[1, 2], 3], TypeError, "not a sequence"),
        ("a", TypeError, "new(): invalid data type 'str'"),
        (["a"], ValueError, "too many dimensions 'str'"),
        (object(), RuntimeError, "Could not infer dtype of object"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        (2**63, ValueError, "Overflow when unpacking long long"),
        (np.array([None]), TypeError, "can't convert np.ndarray of type numpy.object_."),
    ],
)
def test_tensor_refuses(data, error, message):
    with raises(error, message):
        adjoint.tensor(data)


def test_arguments_that_every_factory_checks():
    with raises(TypeError, "tensor(): argument 'dtype' must be"):
        adjoint.tensor([1], dtype="float64")
    with raises(TypeError, "ones(): argument 'dtype' must be"):
        adjoint.ones(2, dtype="float")
    with raises(RuntimeError, "device type at start of device string: foo"):
        adjoint.tensor([1.0], device="foo")
    with pytest.raises(AssertionError, match="CUDA"):
        adjoint.zeros(1, device="cuda")
    for make in (
        lambda: adjoint.tensor([1, 2], requires_grad=True),
        lambda: adjoint.ones(2, dtype=adjoint.int32, requires_grad=True),
        lambda: adjoint.full((2,), 1, requires_grad=True),
        lambda: adjoint.arange(3, requires_grad=True),
        lambda: adjoint.asarray([1], requires_grad=True),
        lambda: adjoint.ones_like(adjoint.ones(1), dtype=adjoint.int64, requires_grad=True),
    ):
        with raises(RuntimeError, "Only Tensors of floating point and complex dtype can require gradients"):
            make()


def test_as_tensor_copies_only_where_it_must():
    x, array = adjoint.ones(2), np.ones(2)
    assert adjoint.as_tensor(x) is x and adjoint.as_tensor(x, dtype=adjoint.float32, device="cpu") is x
    assert adjoint.as_tensor(x, dtype=adjoint.float64).dtype is adjoint.float64
    shared = adjoint.as_tensor(array)
    array[0] = 7
    assert same(shared, [7, 1], adjoint.float64)
    assert same(adjoint.as_tensor([1, 2]), [1, 2], adjoint.int64) and same(adjoint.as_tensor(3), 3, adjoint.int64)
    with pytest.raises(AssertionError, match="CUDA"):
        adjoint.as_tensor(x, device="cuda")


def test_asarray():
    x, array = adjoint.tensor([1.0], requires_grad=True), np.ones(2)
    assert adjoint.asarray([1.0], requires_grad=True).requires_grad
    assert not adjoint.asarray(x, requires_grad=False).requires_grad
    assert adjoint.asarray(array).data_ptr() == array.ctypes.data
    assert adjoint.asarray(array, copy=True).data_ptr() != array.ctypes.data
    assert adjoint.asarray(array, dtype=adjoint.float32).dtype is adjoint.float32
    with raises(ValueError, "can't alias arbitrary sequence into a tensor."):
        adjoint.asarray([1], copy=False)
    with raises(ValueError, "can't alias tensor with dtype 'Float' into dtype 'Double'."):
        adjoint.asarray(adjoint.ones(1), dtype=adjoint.float64, copy=False)


def test_from_numpy_shares_memory():
    array = np.arange(6.0).reshape(2, 3)
    x = adjoint.from_numpy(array)
    array[0, 0] = 7
    x[1, 2] = 9
    assert x[0, 0].item() == 7 and array[1, 2] == 9 and x.dtype is adjoint.float64
    assert adjoint.from_numpy(array.T).stride() == (1, 3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1], "expected np.ndarray (got list)"),
        (np.float64(1), "expected np.ndarray (got numpy.float64)"),
        (np.array(["a"]), "can't convert np.ndarray of type numpy.str_."),
        (np.array([None]), "can't convert np.ndarray of type numpy.object_."),
    ],
)
def test_from_numpy_refuses(data, message):
    with raises(TypeError, message):
        adjoint.from_numpy(data)


# constant values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", FACTORIES)
@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ((2, 3), (2, 3)),
        (((2, 3),), (2, 3)),
        (([2],), (2,)),
        ((adjoint.Size([1, 2]),), (1, 2)),
        (((),), ()),
        ((0, 3), (0, 3)),
        ((np.int64(2),), (2,)),
        ((adjoint.tensor(2),), (2,)),
    ],
)
def test_sizes(make, size, shape):
    assert make(*size).shape == shape and make(*size).dtype is adjoint.float32


@pytest.mark.parametrize("make", FACTORIES)
def test_size_as_a_keyword(make):
    x = make(size=(2, 3), dtype=adjoint.float64, requires_grad=True)
    assert x.shape == (2, 3) and x.dtype is adjoint.float64 and x.requires_grad and x.is_leaf


@pytest.mark.parametrize("make", [adjoint.ones, adjoint.empty, adjoint.rand, adjoint.randn])
def test_negative_sizes(make):
    with raises(RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"):
        make(-1)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((-1,), RuntimeError, "zeros: Dimension size must be non-negative."),
        ((), TypeError, 'zeros() missing 1 required positional arguments: "size"'),
        ((2.5,), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not float"),
        (("a",), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not str"),
        (((2,), (3,)), TypeError, "zeros() takes 1 positional argument but 2 were given"),
    ],
)
def test_zeros_refuses(args, error, message):
    with raises(error, message):
        adjoint.zeros(*args)


def test_unknown_keyword():
    with raises(TypeError, "zeros() got an unexpected keyword argument 'foo'"):
        adjoint.zeros(2, foo=1)


def test_zeros_and_ones():
    assert same(adjoint.zeros(2), [0, 0], adjoint.float32) and same(adjoint.ones(2, dtype=int), [1, 1], adjoint.int64)
    out = adjoint.empty(2)
    assert adjoint.ones(2, out=out) is out and out.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(7, adjoint.int64), (7.0, adjoint.float32), (True, adjoint.bool), (1j, adjoint.complex64)],
)
def test_full_takes_the_dtype_of_the_value(value, dtype):
    assert same(adjoint.full((2,), value), [value, value], dtype)
    assert same(adjoint.full((), value), value, dtype)


def test_full():
    assert same(adjoint.full((2,), 3.5, dtype=adjoint.int64), [3, 3], adjoint.int64)
    assert same(adjoint.full((2,), adjoint.tensor(3)), [3, 3], adjoint.int64)
    assert adjoint.full((2,), 1.0, requires_grad=True).requires_grad
    with raises(TypeError, "full(): argument 'size' (position 1) must be tuple of ints, not int"):
        adjoint.full(2, 7)
    with raises(TypeError, "full(): argument 'fill_value' (position 2) must be Number, not str"):
        adjoint.full((2,), "a")
    with raises(TypeError, "full(): argument 'fill_value' (position 2) must be Number, not Tensor"):
        adjoint.full((2,), adjoint.tensor(1.0, requires_grad=True))


def test_like():
    x = adjoint.arange(6.0).reshape(2, 3).requires_grad_()
    assert same(adjoint.zeros_like(x), [[0.0] * 3] * 2, adjoint.float32)
    assert same(adjoint.ones_like(x, dtype=adjoint.int64), [[1] * 3] * 2, adjoint.int64)
    assert same(adjoint.full_like(x, 5), [[5.0] * 3] * 2, adjoint.float32)
    assert same(adjoint.full_like(adjoint.arange(2), 1.5), [1, 1], adjoint.int64)
    assert adjoint.empty_like(x).shape == (2, 3)
    assert not adjoint.zeros_like(x).requires_grad and adjoint.zeros_like(x, requires_grad=True).requires_grad
    for like in (adjoint.zeros_like, adjoint.ones_like, adjoint.empty_like):
        assert like(x.t()).stride() == (1, 3) and like(x[:, ::2]).stride() == (2, 1)
    assert adjoint.full_like(x.t(), 1.0).stride() == (1, 3)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_like_refuses_what_is_no_tensor(name):
    with raises(TypeError, f"{name}_like(): argument 'input' (position 1) must be Tensor, not list"):
        getattr(adjoint, f"{name}_like")([1])


def test_full_like_refuses():
    with raises(TypeError, "full_like(): argument 'input' (position 1) must be Tensor, not list"):
        adjoint.full_like([1], 2)
    with raises(TypeError, "full_like(): argument 'fill_value' (position 2) must be Number, not str"):
        adjoint.full_like(adjoint.ones(1), "a")


def test_eye():
    assert same(adjoint.eye(2), [[1, 0], [0, 1]], adjoint.float32)
    assert adjoint.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]] and adjoint.eye(3, m=1).tolist() == [[1], [0], [0]]
    assert adjoint.eye(0).shape == (0, 0) and adjoint.eye(2, dtype=adjoint.int64).dtype is adjoint.int64
    with raises(RuntimeError, "n must be greater or equal to 0, got -1"):
        adjoint.eye(-1)
    with raises(RuntimeError, "m must be greater or equal to 0, got -1"):
        adjoint.eye(2, -1)
    with raises(TypeError, "eye(): argument 'n' (position 1) must be int, not float"):
        adjoint.eye(2.5)


# sequences ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "values", "dtype"),
    [
        ((5,), [0, 1, 2, 3, 4], adjoint.int64),
        ((1, 5, 2), [1, 3], adjoint.int64),
        ((5.0,), [0, 1, 2, 3, 4], adjoint.float32),
        ((0, 1, 0.25), [0, 0.25, 0.5, 0.75], adjoint.float32),
        ((5, 0, -2), [5, 3, 1], adjoint.int64),
        ((2.5,), [0, 1, 2], adjoint.float32),
        ((0,), [], adjoint.int64),
        ((adjoint.tensor(3),), [0, 1, 2], adjoint.int64),
        ((adjoint.tensor(3.0),), [0, 1, 2], adjoint.float32),
        ((True,), [0], adjoint.int64),
    ],
)
def test_arange(args, values, dtype):
    assert same(adjoint.arange(*args), values, dtype)


def test_arange_by_keyword_and_dtype():
    assert adjoint.arange(end=3).tolist() == [0, 1, 2] and adjoint.arange(start=1, end=3).tolist() == [1, 2]
    assert same(adjoint.arange(3, dtype=adjoint.float64), [0, 1, 2], adjoint.float64)
    # integer ranges truncate the bounds to integers
    assert adjoint.arange(0.5, 5.5, 2, dtype=adjoint.int64).tolist() == [0, 2, 4]
    assert adjoint.arange(0.5, 5.5, 1.5, dtype=adjoint.int64).tolist() == [0, 1, 2, 3, 4]
    assert adjoint.arange(0, 1, 0.1).shape == (10,)
    assert adjoint.arange(3.0, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((0, 5, 0), "step must be nonzero"),
        ((0, 5, -1), "upper bound and lower bound inconsistent with step sign"),
        ((5, 0), "upper bound and lower bound inconsistent with step sign"),
        ((0, float("inf")), "unsupported range: 0 -> inf"),
        ((float("nan"),), "unsupported range: 0 -> nan"),
    ],
)
def test_arange_refuses(args, message):
    with raises(RuntimeError, message):
        adjoint.arange(*args)


def test_arange_refuses_types():
    with pytest.raises(TypeError, match=r"arange\(\): argument 'end'.*must be Number, not str"):
        adjoint.arange("a")
    with pytest.raises(TypeError, match="arange"):
        adjoint.arange()
    for dtype, name in ((adjoint.bool, "Bool"), (adjoint.complex64, "ComplexFloat")):
        with raises(NotImplementedError, f"\"arange_cpu\" not implemented for '{name}'"):
            adjoint.arange(3, dtype=dtype)


def test_linspace():
    assert same(adjoint.linspace(0, 1, 5), [0, 0.25, 0.5, 0.75, 1], adjoint.float32)
    assert adjoint.linspace(1, 0, 3).tolist() == [1, 0.5, 0]
    assert adjoint.linspace(0, 1, 0).tolist() == [] and adjoint.linspace(0, 1, 1).tolist() == [0]
    assert adjoint.linspace(adjoint.tensor(0.0), adjoint.tensor(1.0), 3).tolist() == [0, 0.5, 1]
    assert same(adjoint.linspace(0, 1j, 3), [0, 0.5j, 1j], adjoint.complex64)
    assert adjoint.linspace(0, 1, 3, requires_grad=True).requires_grad
    with raises(RuntimeError, "number of steps must be non-negative"):
        adjoint.linspace(0, 1, -1)


@pytest.mark.parametrize(
    ("bounds", "values"),
    [((0, 10), [0, 2, 5, 7, 10]), ((-10, 0), [-10, -7, -5, -2, 0]), ((-10, -1), [-10, -7, -5, -3, -1])],
)
def test_linspace_of_integers(bounds, values):
    assert same(adjoint.linspace(*bounds, 5, dtype=adjoint.int64), values, adjoint.int64)


def test_logspace():
    assert same(adjoint.logspace(0, 2, 3), [1, 10, 100], adjoint.float32)
    assert adjoint.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8]
    assert same(adjoint.logspace(0, 2, 3, dtype=adjoint.int64), [1, 10, 100], adjoint.int64)
    with raises(RuntimeError, "number of steps must be non-negative"):
        adjoint.logspace(0, 1, -1)


# random numbers -----------------------------------------------------------------------------------------------------


def draw(generator=None):
    """Some random numbers of each kind."""
    half = adjoint.full((20,), 0.5)
    return [
        adjoint.rand(5, generator=generator),
        adjoint.randn(5, generator=generator),
        adjoint.randint(1000, (5,), generator=generator),
        adjoint.randperm(20, generator=generator),
        adjoint.bernoulli(half, generator=generator),
    ]


def values(tensors):
    return [x.tolist() for x in tensors]


def test_seeds_reproduce():
    adjoint.manual_seed(3)
    first, second = values(draw()), values(draw())
    assert first != second and adjoint.initial_seed() == 3
    adjoint.manual_seed(3)
    assert values(draw()) == first
    adjoint.manual_seed(4)
    assert values(draw()) != first


def test_generators_are_independent_of_the_default():
    generator = adjoint.Generator()
    first = values(draw(generator.manual_seed(3)))
    draw()
    assert values(draw(generator.manual_seed(3))) == first and generator.initial_seed() == 3


def test_rng_state():
    state = adjoint.get_rng_state()
    assert state.dtype is adjoint.uint8 and state.ndim == 1
    first = values(draw())
    adjoint.set_rng_state(state)
    assert values(draw()) == first
    with raises(TypeError, "RNG state must be"):
        adjoint.set_rng_state(adjoint.ones(2))
    with pytest.raises(TypeError, match=r"expected an? .*ByteTensor, but got list"):
        adjoint.set_rng_state([1])


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16, adjoint.float32, adjoint.float64])
def test_rand_is_uniform(dtype):
    adjoint.manual_seed(0)
    x = adjoint.rand(10000, dtype=dtype)
    assert x.dtype is dtype
    numbers = np.array(x.tolist())
    assert numbers.min() >= 0 and numbers.max() < 1
    assert abs(numbers.mean() - 1 / 2) < 0.02 and abs(numbers.var() - 1 / 12) < 0.005


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16, adjoint.float32, adjoint.float64])
def test_randn_is_normal(dtype):
    adjoint.manual_seed(0)
    x = adjoint.randn(10000, dtype=dtype)
    assert x.dtype is dtype
    numbers = np.array(x.tolist())
    assert abs(numbers.mean()) < 0.05 and abs(numbers.var() - 1) < 0.05 and 0.66 < (abs(numbers) < 1).mean() < 0.71


@pytest.mark.parametrize("dtype", [adjoint.complex64, adjoint.complex128])
def test_complex_randn_has_variance_1_in_all(dtype):
    adjoint.manual_seed(0)
    x = adjoint.randn(10000, dtype=dtype)
    numbers = np.array(x.tolist())
    assert x.dtype is dtype and abs(numbers.mean()) < 0.05
    assert abs(numbers.real.var() - 0.5) < 0.05 and abs(numbers.imag.var() - 0.5) < 0.05
    assert abs((numbers.real * numbers.imag).mean()) < 0.02


def test_floating_point_only():
    with raises(NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"):
        adjoint.rand(2, dtype=adjoint.int64)
    with raises(NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"):
        adjoint.randn_like(adjoint.arange(2))


def test_randint():
    adjoint.manual_seed(0)
    x = adjoint.randint(3, (1000,))
    assert x.dtype is adjoint.int64 and set(x.tolist()) == {0, 1, 2}
    assert set(adjoint.randint(-3, 0, (1000,)).tolist()) == {-3, -2, -1}
    assert adjoint.randint(low=0, high=3, size=(2,)).shape == adjoint.randint(3, size=(2,)).shape == (2,)
    assert adjoint.randint(3, (2,), dtype=adjoint.float32).dtype is adjoint.float32
    for bounds, low, high in (((0,), 0, 0), ((5, 2), 5, 2)):
        message = f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        with raises(RuntimeError, message):
            adjoint.randint(*bounds, (2,))
    with raises(RuntimeError, "to - 1 is out of bounds for unsigned char"):
        adjoint.randint(0, 300, (2,), dtype=adjoint.uint8)
    for bounds in ((3,), (3, 2)):
        with pytest.raises(TypeError, match="size"):
            adjoint.randint(*bounds)


def test_randperm():
    x = adjoint.randperm(50)
    assert x.dtype is adjoint.int64 and sorted(x.tolist()) == list(range(50)) != x.tolist()
    assert adjoint.randperm(0).tolist() == [] and adjoint.randperm(3, dtype=adjoint.float32).dtype is adjoint.float32
    with raises(RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"):
        adjoint.randperm(-1)


def test_random_like():
    x = adjoint.ones(2, 3, dtype=adjoint.float64)
    for like in (adjoint.rand_like, adjoint.randn_like):
        assert like(x).shape == (2, 3) and like(x).dtype is adjoint.float64
        assert like(x, dtype=adjoint.float32, requires_grad=True).requires_grad


def test_bernoulli():
    adjoint.manual_seed(0)
    assert adjoint.bernoulli(adjoint.tensor([0.0, 1.0])).tolist() == [0, 1]
    x = adjoint.bernoulli(adjoint.full((10000,), 0.3, dtype=adjoint.float64))
    assert x.dtype is adjoint.float64 and set(x.tolist()) == {0, 1} and abs(sum(x.tolist()) / 10000 - 0.3) < 0.02
    with raises(RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false"):
        adjoint.bernoulli(adjoint.tensor([2.0]))
    with raises(NotImplementedError, "not implemented for 'Long'"):
        adjoint.bernoulli(adjoint.tensor([1]))
    with raises(TypeError, "bernoulli(): argument 'input' (position 1) must be Tensor, not list"):
        adjoint.bernoulli([1])


# the default dtype --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("float64_default")
def test_the_default_dtype_is_taken_everywhere():
    for x in (
        adjoint.tensor(1.0), adjoint.zeros(1), adjoint.ones(1), adjoint.empty(1), adjoint.full((1,), 1.0),
        adjoint.eye(1), adjoint.arange(1.0), adjoint.linspace(0, 1, 2), adjoint.logspace(0, 1, 2), adjoint.rand(1),
        adjoint.randn(1),
        adjoint.Tensor([1]), adjoint.tensor([1]) * 1.0, adjoint.tensor([1]) / 2, adjoint.tensor([1]).exp(),
    ):  # fmt: skip
        assert x.dtype is adjoint.float64
    assert adjoint.tensor(1j).dtype is adjoint.full((1,), 1j).dtype is adjoint.complex128
    assert adjoint.tensor(1).dtype is adjoint.arange(1).dtype is adjoint.int64
    assert repr(adjoint.ones(2)) == "tensor([1., 1.])"
    assert repr(adjoint.ones(1, dtype=adjoint.float32)).startswith("tensor([1.], dtype=")


def test_only_floating_point_types_can_be_the_default():
    with raises(TypeError, "only floating-point types are supported as the default type"):
        adjoint.set_default_dtype(adjoint.int64)
    assert adjoint.get_default_dtype() is adjoint.float32


# attributes and predicates ------------------------------------------------------------------------------------------


def test_questions():
    x = adjoint.ones(2, 3)
    assert adjoint.is_tensor(x) and not adjoint.is_tensor(1) and not adjoint.is_tensor(np.ones(1))
    assert adjoint.numel(x) == 6
    assert adjoint.is_floating_point(x) and not adjoint.is_complex(x) and adjoint.is_complex(adjoint.tensor(1j))


@pytest.mark.parametrize("name", ["numel", "is_floating_point", "is_complex"])
def test_questions_are_for_tensors(name):
    with raises(TypeError, f"{name}(): argument 'input' (position 1) must be Tensor, not int"):
        getattr(adjoint, name)(1)


@pytest.mark.parametrize(
    ("operands", "dtype"),
    [
        ((adjoint.ones(1), 1.5), adjoint.float32),
        ((adjoint.arange(1), 1.5), adjoint.float32),
        ((1, 2), adjoint.int64),
        ((1, 2.0), adjoint.float32),
        ((adjoint.ones(1), adjoint.tensor([1j])), adjoint.complex64),
        ((adjoint.tensor(1.0, dtype=adjoint.float64), adjoint.ones(1)), adjoint.float32),
        ((adjoint.ones(1, dtype=adjoint.float64), adjoint.ones(1)), adjoint.float64),
    ],
)
def test_result_type(operands, dtype):
    assert adjoint.result_type(*operands) is dtype


@pytest.mark.parametrize(
    "fill",
    [
        lambda value: adjoint.full((2,), value, dtype=adjoint.float32),
        lambda value: adjoint.full_like(adjoint.ones(2), value),
        lambda value: adjoint.ones(2).new_full((2,), value),
        lambda value: adjoint.constant_pad_nd(adjoint.ones(2), (1, 1), value),
    ],
)
def test_numbers_that_the_type_cannot_hold(fill):
    assert fill(2 + 0j).tolist()[0] == 2
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        fill(1j)
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        fill(1e300)


def test_range():
    with pytest.warns(UserWarning, match="adjoint.range is deprecated"):
        assert adjoint.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    with pytest.warns(UserWarning, match="deprecated"):
        result = adjoint.range(4, 1, -2, dtype=adjoint.int64), adjoint.range(0, 1, 0.1)
    assert result[0].tolist() == [4, 2] and result[1].shape == (11,)
    for arguments, text in [((4, 1), "upper bound and lower bound inconsistent"), ((1, 4, 0), "step must be nonzero")]:
        with pytest.warns(UserWarning, match="deprecated"), raises(RuntimeError, text):
            adjoint.range(*arguments)
    with raises(TypeError, 'range() missing 1 required positional arguments: "end"'):
        adjoint.range(5)


def test_frombuffer():
    memory = bytearray(range(8))
    x = adjoint.frombuffer(memory, dtype=adjoint.uint8, count=3, offset=2)
    x[0] = 9
    assert x.tolist() == [9, 3, 4] and memory[2] == 9
    assert adjoint.frombuffer(bytearray(8), dtype=adjoint.float32, requires_grad=True).requires_grad
    for arguments, text in [
        ({"buffer": b""}, "both buffer length (0) and count (-1) must not be 0"),
        ({"buffer": b"abc"}, "buffer length (3 bytes) after offset (0 bytes) must be a multiple of element size"),
        ({"buffer": b"abcd", "offset": 4}, "offset (4 bytes) must be non-negative and no greater than buffer"),
        ({"buffer": b"abcd", "count": 2}, "requested buffer length (2 * 4 bytes) after offset (0 bytes) must not "),
        ({"buffer": 3}, "object does not implement Python buffer protocol."),
    ]:
        with raises(ValueError, text):
            adjoint.frombuffer(**arguments, dtype=adjoint.float32)


def test_empty_permuted():
    assert adjoint.empty_permuted((2, 3, 5), (0, 2, 1)).stride() == (15, 1, 3)
    for order, text in [
        ((0, 2), "len(size) = 3 is not equal to len(physical_layout) = 2"),
        ((0, 2, 2), "Duplicate dim not allowed"),
        ((0, 2, 4), "Dimension out of range (expected to be between 0 and 2, but got 4)"),
    ]:
        with raises(RuntimeError, text):
            adjoint.empty_permuted((2, 3, 5), order)


def test_like_a_tensor():
    x = adjoint.zeros(1, dtype=adjoint.int8)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1, 2] and x.new([1]).dtype is adjoint.int8
    assert x.new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    with raises(TypeError, "new(): data must be a sequence"):
        x.new({})
