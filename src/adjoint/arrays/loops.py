"""Programs of elementwise steps on NumPy's own inner loops, without what a ufunc does before and after each call.

A call of a ufunc takes about ten times as long as its inner loop on a few elements, and on many elements each call
makes an array that goes out of the cache and back. A `Program` is a list of steps, each of which is a ufunc or the
choice `where`. It runs all its steps on one block after the other, calls the loops directly, and makes one array: the
result. The loops are those that the ufunc itself would call, so that results are the same to the last bit.

It is for real arrays of one type and of plain layout, with numbers, arrays of no axes, or arrays that are repeated
along leading axes among them, and gives None for everything else, and where a loop has raised a flag of floating point
errors: the caller then goes the usual way, in which NumPy warns or raises as it was told to. In plain Python there are
no programs.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.arrays import _cython_shim as cython


# what a step may do besides calling a ufunc: pick elements by truth values
PICK = "pick"
FLOAT, TRUTH = "float", "truth"

if cython.compiled:
    adj_import_numpy()
    max_inputs, max_constants, max_steps, max_temporaries = (
        ADJ_MAX_INPUTS, ADJ_MAX_CONSTANTS, ADJ_MAX_STEPS, ADJ_MAX_TEMPORARIES,
    )  # fmt: skip
else:
    max_inputs = max_constants = max_steps = max_temporaries = 0


@cython.final
@cython.cclass
class Program:
    """Elementwise steps that are run together.

    n_inputs: how many arguments there are; they are the first registers.
    constants: numbers, the registers after them.
    steps: (ufunc or PICK, registers that it reads, FLOAT or TRUTH of the first of them, FLOAT or TRUTH of the result,
        the temporary that the result is kept in or -1 for the result of the program); each fills the next register.

    limit: the program is for fewer elements than this; 0 for any number.

    Raises ValueError for a ufunc that has no loops in single and double precision, and for what is too long.
    """

    def __init__(self, n_inputs, constants, steps, limit=0):
        check_size(n_inputs, constants, steps)
        self.steps = tuple(steps)
        if cython.compiled:
            self.code.n_inputs = n_inputs
            self.code.n_constants = len(constants)
            self.code.n_steps = len(steps)
            self.code.single = True
            self.code.limit = limit
            for k, value in enumerate(constants):
                if not adj_set_constant(self.code, k, value):
                    self.code.single = False
            for k, (ufunc, read, kind, result, temporary) in enumerate(steps):
                adj_set_shape(self.code, k, len(read), result == TRUTH, temporary)
                for i, place in enumerate(read):
                    adj_set_step(self.code, k, i, place)
                if ufunc == PICK:
                    continue
                if not adj_set_loop(cython.address(self.code), k, ufunc, kind == TRUTH, result == TRUTH):
                    raise ValueError(f"{ufunc} has no inner loops from {kind} to {result} in both precisions")

    def one(self, x, quiet):
        """The result for one argument, or None; `quiet`: whatever flags of floating point errors are raised."""
        if cython.compiled:
            return adj_run_one(cython.address(self.code), x, quiet)
        return None

    def two(self, x, y, quiet):
        """The result for two arguments, or None."""
        if cython.compiled:
            return adj_run_two(cython.address(self.code), x, y, quiet)
        return None

    def several(self, values: list, quiet):
        """The result for the arguments in a list, as many as there are, or None."""
        if cython.compiled:
            return adj_run_several(cython.address(self.code), values, quiet)
        return None

    def run(self, *values):
        """The result, or None where NumPy must be asked.

        >>> import numpy
        >>> from adjoint.arrays.loops import FLOAT, Program, max_steps
        >>> steps = [(numpy.multiply, (0, 1), FLOAT, FLOAT, 0), (numpy.add, (3, 2), FLOAT, FLOAT, -1)]
        >>> result = Program(2, [0.5], steps).run(numpy.array([1.0, 2.0]), 3) if max_steps else numpy.array([3.5, 6.5])
        >>> result
        array([3.5, 6.5])
        """
        return self.several(list(values), False)


def check_size(n_inputs, constants, steps):
    """Raise ValueError for a program that does not fit the space that there is for one."""
    temporaries = max([step[4] for step in steps], default=-1) + 1
    sizes = (n_inputs, len(constants), len(steps), temporaries)
    limits = (max_inputs, max_constants, max_steps, max_temporaries)
    if not steps or any([size > limit for size, limit in zip(sizes, limits)]):
        raise ValueError(f"a program of {sizes} inputs, constants, steps and temporaries; there may be {limits}")


def expanded(array, shape):
    """A view of an array with axes of length one repeated to a shape, a tuple, and new axes in front.

    It can be written to where the array can. None where numpy.broadcast_to must be asked.

    >>> import numpy
    >>> view = expanded(numpy.ones(()), (2, 3))
    >>> view is None or (view.shape, view.strides) == ((2, 3), (0, 0))
    True
    """
    if cython.compiled:
        return adj_expand(array, shape)
    return None


def one_like(array):
    """1 in an array of the shape and type of another one, which has one element and is a plain real one; else None."""
    if cython.compiled:
        return adj_one_like(array)
    return None
