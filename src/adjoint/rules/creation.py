"""Arrays made like another: constants, through which no gradient flows."""

from .declare import Array, constant


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
