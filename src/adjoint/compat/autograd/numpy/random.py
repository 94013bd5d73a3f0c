"""numpy.random as it is: random numbers have no derivatives."""

import numpy.random as _random

globals().update({name: getattr(_random, name) for name in dir(_random) if not name.startswith("_")})
