"""Arrays shaped like another, and random numbers: constants, through which no gradient flows."""

from adjoint.arrays.shapes import broadcast_shapes

from .declare import Array, Constant, constant, elementwise


@constant(method=False)
def zeros_like(xp, input: Array):
    """Zeros of the shape and type of input."""
    return xp.zeros_like(input)


@constant(method=False)
def ones_like(xp, input: Array):
    """Ones of the shape and type of input."""
    return xp.ones_like(input)


@constant(method=False)
def full_like(xp, input: Array, fill_value):
    """A number repeated to the shape of input, with its type."""
    return xp.full_like(input, fill_value)


def _batched_like(name):
    def run(batch, input, **others):
        data, _ = batch.strip(input)
        return batch.join(getattr(batch.ops_for([data]), name)(data, **others))

    return run


for _rule in (zeros_like, ones_like, full_like):
    _rule.batch_rule(_batched_like(_rule.name))


# random numbers: the replaced tensor, or the parameters of the distribution, get zeros as gradients ------------------


def _declare_draw(name, node):
    @elementwise(name=f"drawn_{name}", input=0, dtypes="any", scalars=False, method=False, function=False, node=node)
    def sample(xp, input: Array, numbers: Constant):
        """Random numbers that were drawn, in place of the input."""
        return _in_place_of(xp, numbers, input.dtype, input.shape)


def _in_place_of(xp, numbers, dtype, *shapes):
    """Random numbers of a dtype, broadcast with shapes."""
    if numbers.dtype != dtype:
        numbers = xp.astype(numbers, dtype)
    if shapes == (numbers.shape,) * len(shapes):
        return numbers
    return xp.broadcast_to(numbers, broadcast_shapes(*shapes, numbers.shape))


for _name, _node in {
    "bernoulli": "BernoulliBackward0",
    "bernoulli_in_place": "BernoulliBackward2",
    "cauchy": "CauchyBackward0",
    "exponential": "ExponentialBackward0",
    "geometric": "GeometricBackward0",
    "log_normal": "LogNormalBackward0",
    "normal": "NormalBackward0",
    "poisson": "PoissonBackward0",
    "random": "RandomBackward2",
    "uniform": "UniformBackward0",
}.items():
    _declare_draw(_name, _node)


@elementwise(
    mean=0,
    std=0,
    dtypes="any",
    method=False,
    function=False,
    node={"": "NormalBackward3", "std": "NormalBackward1", "mean": "NormalBackward2"},
)
def drawn_around(xp, mean: Array, std: Array, numbers: Constant):
    """Random numbers that were drawn with this mean and standard deviation."""
    shapes = [value.shape for value in (mean, std, numbers) if hasattr(value, "shape")]
    return xp.broadcast_to(numbers, broadcast_shapes(*shapes))


@elementwise(input=0, p=0, dtypes="any", method=False, function=False, node="BernoulliBackward1")
def drawn_with_chances(xp, input: Array, p: Array, numbers: Constant):
    """Random numbers that were drawn with these probabilities, in place of the input."""
    return _in_place_of(xp, numbers, input.dtype, input.shape, p.shape)
