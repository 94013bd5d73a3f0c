"""Interceptors: they wrap operations, kernels and the nodes of backward passes.

The modes of a thread hold a chain of interceptors, which is usually empty. A method of an interceptor is called instead
of the work that its name says. It has the work done by `proceed`, `proceed_in_place` or `proceed_to_kernel` of the
operation, or by `proceed` of the pass, and gives them its position. They call the next interceptor of the chain; after
the last one they do the work.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

#: Positions in the chain, outermost first. Each holds at most one interceptor; a profiler's is a `ProfilerHook`.
PROFILER, DUAL_LEVELS, RECORDING, CHECKPOINT, INSPECTION, ANOMALY, PROGRAM, STRUCTURE, NODES, ENDS, METER = range(11)


@cython.cclass
class Interceptor:
    """A member of the chain. Work for which a subclass has no method goes on to the next member.

    position: one of the constants above. has_quick: the subclass defines the method `quick`.
    """

    def __init__(self, position) -> None:
        self.position = position
        self.has_quick = False
        self.has_operation = self.defines("operation")
        self.has_in_place = self.defines("in_place")
        self.has_kernel = self.defines("kernel")
        self.has_node = self.defines("node")
        self.has_draw = self.defines("draw")

    def defines(self, name):
        """True if a subclass overrides the method."""
        return getattr(type(self), name) is not getattr(Interceptor, name)

    def quick(self, operation, operands: list):
        """Run an operation on one or two unprepared arguments, or return NotImplemented to use `operation`.

        It is called only if the chain has a single member and no other mode is on.
        """
        return NotImplemented

    def operation(self, operation, values: list):
        """Run an operation on prepared arguments; returns its results."""
        return operation.proceed(values, self.position)

    def in_place(self, operation, values: list):
        """Run an operation in place on prepared arguments; returns the first of them, which is written into."""
        return operation.proceed_in_place(values, self.position)

    def kernel(self, operation, raw: list, half):
        """Run a kernel on raw arguments; returns its results, see `Kernel.run`."""
        return operation.proceed_to_kernel(raw, half, self.position)

    def node(self, run, node):
        """Run a node of a backward pass with its hooks; returns its results, or None."""
        return run.proceed(node, self.position)

    def draw(self, function, args, kwargs):
        """Call a function that draws random numbers; returns its array. The first interceptor alone is called."""
        return function(*args, **kwargs)


def with_interceptor(chain: tuple, position, interceptor) -> tuple:
    """A copy of a chain with this interceptor, or none, at a position."""
    before = [member for member in chain if member.position < position]
    behind = [member for member in chain if member.position > position]
    return (*before, *([] if interceptor is None else [interceptor]), *behind)


def interceptor_at(chain: tuple, position):
    """The interceptor of a chain at a position, or None."""
    for interceptor in chain:
        if interceptor.position == position:
            return interceptor
    return None
