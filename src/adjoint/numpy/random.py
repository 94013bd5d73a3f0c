"""numpy.random itself: random numbers are constants."""

import numpy.random as _random

globals().update({name: getattr(_random, name) for name in _random.__all__})
__all__ = list(_random.__all__)
