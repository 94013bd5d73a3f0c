"""The profiler's hook around operations and nodes: it records when they begin and end.

A `ProfilerHook` is an interceptor. A plain profiler needs `note` alone, so it is compiled. A profiler that wants more
of each operation (shapes, memory, ranges for other programs) sets `detailed` and defines the rest in a subclass.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

from time import perf_counter_ns

if not cython.compiled:
    # the compiled form has them from the .pxd
    from _thread import get_ident

    from adjoint.core.graph import AccumulateGrad, Node, TensorBase, new_tensor
    from adjoint.core.in_place import CopySlices
    from adjoint.core.modes.interceptors import Interceptor, interceptor_at
    from adjoint.core.modes.state import ThreadState, change_modes, current
    from adjoint.core.recorded import OpNode

from adjoint.core.modes.interceptors import PROFILER
from adjoint.core.modes.state import INTERCEPT

#: The kind of an event, with torch's numbers; CUSTOM is a user's function, under its own name.
OPERATION, NODE, USER, CUSTOM = 0, 1, 7, -1


@cython.cclass
class ProfilerHook(Interceptor):
    """Records the operations and backward nodes of the threads whose modes contain it.

    notes: a tuple for each event (name, start, end, thread, sequence number, scope), with times in nanoseconds of
    `time.perf_counter_ns`.
    detailed: `call_in_detail` and `evaluate_in_detail` are called instead.
    """

    def __init__(self) -> None:
        Interceptor.__init__(self, PROFILER)
        self.notes = []
        self.detailed = False
        self.before = None

    def start(self) -> None:
        """Stand in the modes of the calling thread, in place of who stands there."""
        self.before = current_profiler()
        change_modes(((INTERCEPT, "interceptors", (PROFILER, self)),))

    def stop(self) -> None:
        """Undo what `start` did."""
        profiler: ProfilerHook = current_profiler()
        if profiler is self:
            change_modes(((INTERCEPT, "interceptors", (PROFILER, self.before)),))
            return
        while profiler is not None:
            # a profiler that started later goes on
            if profiler.before is self:
                profiler.before = self.before
                return
            profiler = profiler.before

    def operation(self, operation, values):
        """Run an operation and note it."""
        return self.call(operation.name, proceeding(operation.proceed), values)

    def in_place(self, operation, values):
        """Run an operation in place and note it."""
        return self.call(operation.name + "_", proceeding(operation.proceed_in_place), values)

    def call(self, name, function, values, scope=OPERATION):
        """Run something on bound arguments and note it."""
        if self.detailed:
            return self.call_in_detail(name, function, values, scope)
        result = None
        start = perf_counter_ns()
        try:
            result = function(values)
        finally:
            self.note(name, start, result, scope)
        return result

    def note(self, name, start, result, scope=OPERATION):
        """Note an operation that ends now."""
        end = perf_counter_ns()
        self.notes.append((name, start, end, thread_ident(), number_of_result(result), scope))

    def node(self, run, node):
        """Let a node of a backward pass do its work, hooks included, and note it."""
        if self.detailed:
            return self.evaluate_in_detail(run, node)
        start = perf_counter_ns()
        try:
            return run.proceed(node, PROFILER)
        finally:
            end = perf_counter_ns()
            number: cython.longlong = -1
            if not isinstance(node, AccumulateGrad):
                number = cython.cast(Node, node)._ad_sequence_nr
            self.notes.append((node.name(), start, end, thread_ident(), number, NODE))

    def pull(self, node: Node, cotangent, edges):
        """Let a node of an operation pull its raw cotangents back on Tensors, so that its formulas are noted too."""
        if not isinstance(node, (OpNode, CopySlices)):
            return node._ad_pull(cotangent, False, edges)
        if node._ad_n_outputs == 1:
            pulled = node._ad_pull(new_tensor(cotangent), True, edges)
        else:
            pulled = node._ad_pull([None if g is None else new_tensor(g) for g in cotangent], True, edges)
        return [None if g is None else cython.cast(TensorBase, g)._array for g in pulled]


def proceeding(proceed):
    """A function of values: the rest of the chain after a profiler."""
    return lambda values: proceed(values, PROFILER)


def current_profiler() -> object:
    """The profiler of the calling thread, or None."""
    state: ThreadState = current()
    return interceptor_at(state.interceptors, PROFILER)


def sole_profiler(state: ThreadState):
    """The same where nothing else is unusual, else None."""
    if state.unusual != 1 or len(state.interceptors) != 1:
        return None
    return interceptor_at(state.interceptors, PROFILER)


def thread_ident():
    """The identity of the calling thread."""
    if cython.compiled:
        return PyThread_get_thread_ident()
    return get_ident()


def number_of_result(result):
    """The sequence number of the node that an operation recorded, -1 if it recorded none."""
    if isinstance(result, tuple) and result:
        result = result[0]
    if not isinstance(result, TensorBase):
        return -1
    node: Node = cython.cast(TensorBase, result)._node
    if node is None:
        return -1
    # a tensor that is written into while recording is off may have a node from before
    state: ThreadState = current()
    return node._ad_sequence_nr if state.grad_enabled else -1
