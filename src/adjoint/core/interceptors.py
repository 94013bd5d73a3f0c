"""What may stand in between: between the call of an operation and its kernel, and around the nodes of a backward pass.

The modes of a thread have a chain of interceptors, empty at almost all times. Each method of one is called in place of
the work that its name says, and has that done by `proceed`, `proceed_in_place`, `proceed_to_kernel` of the operation or
`proceed` of the pass, which it gives its place: these call the next in the chain, or do the work behind the last one.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

#: Places in the chain, the outermost first; there is at most one interceptor in each. A profiler's is a `ProfilerHook`.
PROFILER, DUAL_LEVELS, RECORDING, CHECKPOINT, INSPECTION, ANOMALY = range(6)


@cython.cclass
class Interceptor:
    """One member of a chain; for what a subclass does not define it is passed over.

    place: one of the constants above.
    """

    def __init__(self, place):
        self.place = place
        self.has_operation = self.defines("operation")
        self.has_in_place = self.defines("in_place")
        self.has_kernel = self.defines("kernel")
        self.has_node = self.defines("node")

    def defines(self, name):
        """True if a method is a subclass's own."""
        return getattr(type(self), name) is not getattr(Interceptor, name)

    def operation(self, operation, values: list):
        """Run an operation on prepared arguments; returns its results."""
        return operation.proceed(values, self.place)

    def in_place(self, operation, values: list):
        """Run an operation in place on prepared arguments; returns the first of them, which is written into."""
        return operation.proceed_in_place(values, self.place)

    def kernel(self, operation, raw: list, half):
        """Run a kernel on raw arguments; returns its results, see `Kernel.run`."""
        return operation.proceed_to_kernel(raw, half, self.place)

    def node(self, run, node):
        """Let a node of a backward pass do its work, hooks included; returns what it delivers, None for nothing."""
        return run.proceed(node, self.place)


def with_interceptor(chain: tuple, place, interceptor) -> tuple:
    """A chain with another interceptor, or None, in a place."""
    before = [other for other in chain if other.place < place]
    behind = [other for other in chain if other.place > place]
    return (*before, *([] if interceptor is None else [interceptor]), *behind)


def interceptor_at(chain: tuple, place):
    """The interceptor that a chain has in a place, or None."""
    for interceptor in chain:
        if interceptor.place == place:
            return interceptor
    return None
