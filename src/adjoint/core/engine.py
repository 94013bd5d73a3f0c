"""The backward pass.

1. `count_consumers` walks the graph from the roots, with a list instead of recursion. For each node it counts the
consumers that will deliver a cotangent to it. If only some gradients are requested, `find_needed` has marked the nodes
that lead to them, and the pass skips all others.
2. `go` runs the nodes that are ready. A node is ready when all its consumers have delivered. The node recorded last
   (with the highest sequence number) runs first; leaves run at once.
3. `evaluate` lets a node pull its cotangent back to its inputs and free its saved values. `pass_on` delivers the
   results to the next nodes along its edges.

With create_graph false, cotangents are raw arrays and no Tensor is made; with create_graph true they are Tensors and
the same formulas are recorded. Only hooks see Tensors in both cases.

The notes of a pass about a node (a `Slot`) are fields of the node itself. If another pass that still runs (an outer
one, or one in another thread) uses these fields, this pass keeps its own in a dictionary.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import _thread
import contextvars
import operator
import sys
from heapq import heappop, heappush, heappushpop

import numpy

from adjoint.arrays.kernels.products_and_sums import one_like
from adjoint.core import errors
from adjoint.core.locations import caller
from adjoint.core.modes.interceptors import PROFILER
from adjoint.core.modes.state import adopt
from adjoint.runtime.forks import new_rlock
from adjoint.runtime.lazy import LateModule
from adjoint.runtime.memory import with_kept_memory

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.arrays.kernels.products_and_sums import add_into, plus
    from adjoint.core.graph import (
        ALL_EDGES,
        MOST_BITS,
        AccumulateGrad,
        ContextNode,
        Extras,
        Node,
        Slot,
        TensorBase,
        dtype_of,
        edge_of,
        gradient_edge,
        has_layout,
        is_older,
        needs_grad,
        new_tensor,
        next_sequence_nr,
        oldest_of,
        output_number,
        shape_of,
        shown_edges,
    )
    from adjoint.core.modes.interceptors import Interceptor, interceptor_at
    from adjoint.core.modes.state import ThreadState, current
    from adjoint.runtime.crossovers import is_large

    def run_of(node):
        """The number of the pass whose notes about a node are in its own fields."""
        return node._ad_run

    def set_run(node, number):
        """Give the fields of a node to a pass."""
        node._ad_run = number


def quiet_errors():
    """NumPy's context variable for floating point errors, and its value that ignores all of them.

    It has the effect of numpy.errstate in a twentieth of the time; (None, None) where NumPy stores the state elsewhere.
    """
    try:
        from numpy._core._ufunc_config import _extobj_contextvar as variable
    except ImportError:
        return None, None
    with numpy.errstate(all="ignore"):
        return variable, variable.get()


def set_errors(handling):
    """Have errors handled as before; once more if there is no memory at first, since the end of a pass frees some."""
    try:
        _set_errors(handling)
    except MemoryError:
        _set_errors(handling)
        raise


anomaly = LateModule("adjoint.core.modes.anomaly")
_ndarray = numpy.ndarray
_ERRORS, _QUIET = quiet_errors()
# methods are looked up before, which takes memory that there may not be at the end of a pass
_set_errors = None if _ERRORS is None else _ERRORS.set
_active_runs: set = set()
# held while a pass marks its nodes, during which no code of the user runs
_claiming = new_rlock()
_claim, _end_claim = _claiming.acquire, _claiming.release
# the number of nested passes in one thread; the next nested pass gets a new thread with a stack of its own
_PASSES_PER_THREAD = 30
# where a pass captures, a node: leads to a captured one, is one; is being searched, has been; takes part
_NEEDED, _CAPTURED, _OPEN, _DONE, _COUNTED = 1, 2, 4, 8, 16


# one pass -------------------------------------------------------------------------------------------------------------


@cython.final
@cython.cclass
class Run:
    """One backward pass.

    captures: the cotangents to return, as {node: [(output number, index in the result)]}, or None to accumulate into
    every leaf. Only nodes that lead to a captured node take part.
    interceptors: they wrap each node; the interceptors of the thread, and one more in anomaly mode. profiler: the
    interceptor that records nodes, or None. callbacks: the functions to call when all nodes have run, or None.
    called_at: the user's line, while locations are recorded.
    """

    def __init__(self, retain_graph, create_graph, captures, accumulate, n_captures):
        self.number = next_sequence_nr()
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.captures = captures
        self.accumulate = accumulate
        self.captured = [None] * n_captures
        self.foreign = None
        # one of the ready nodes has no place in the heap: in chains there is no other
        self.following = None
        self.ready = []
        state: ThreadState = current()
        self.interceptors = (*state.interceptors, anomaly.Watch()) if state.anomaly else state.interceptors
        self.profiler = interceptor_at(self.interceptors, PROFILER)
        self.callbacks = None
        self.called_at = caller() if state.locations else None

    def slot(self, node: Node) -> Slot:
        """This pass's notes about a node it has claimed."""
        if run_of(node) == self.number:
            return node
        return self.foreign[node]

    def claim(self, node: Node):
        """Start the notes about a node; True at the first visit of this pass."""
        if run_of(node) == self.number or (self.foreign is not None and node in self.foreign):
            return False
        before: cython.longlong = run_of(node)
        if before and before in _active_runs:
            if self.foreign is None:
                self.foreign = {}
            self.foreign[node] = Slot.__new__(Slot)
            return True
        set_run(node, self.number)
        node._ad_pending = 0
        node._ad_marks = 0
        node._ad_buffer = None
        return True

    def first_visit(self, node: Node):
        """Note that a node takes part; True if that was not noted before."""
        if self.captures is None:
            return self.claim(node)
        slot: Slot = self.slot(node)
        if slot._ad_marks & _COUNTED:
            return False
        slot._ad_marks |= _COUNTED
        return True

    def is_needed(self, node: Node):
        """True if a node that the roots lead to leads to a captured node, or is one."""
        if self.captures is None:
            return True
        slot: Slot = self.slot(node)
        return slot._ad_marks & _NEEDED != 0

    def find_needed(self, roots: list):
        """Mark the captured nodes and all nodes between the roots and them, without recursion.

        Nodes that are older than all captured ones lead to none of them, so that they are not searched.
        """
        node: Node
        slot: Slot
        self.oldest = oldest_of(list(self.captures))
        for node in self.captures:
            self.claim(node)
            slot = self.slot(node)
            slot._ad_marks = _NEEDED | _CAPTURED
        for node in roots:
            self.claim(node)
        # a node stays on the stack until the nodes behind it are searched, and is decided afterwards
        stack: list = list(roots)
        while stack:
            node = stack[len(stack) - 1]
            slot = self.slot(node)
            if slot._ad_marks & (_OPEN | _DONE) == 0:
                slot._ad_marks |= _OPEN
                self.push_unsearched(node, stack)
                continue
            stack.pop()
            if slot._ad_marks & _DONE == 0:
                slot._ad_marks |= _DONE
                if not self.is_end(node):
                    slot._ad_marks |= _NEEDED

    def push_unsearched(self, node: Node, stack: list):
        """Add the nodes that a node's edges lead to, as far as none of them has been searched."""
        target: Node
        slot: Slot
        for i in range(node._ad_n_edges):
            target = edge_of(node, i)
            if target is None:
                continue
            self.claim(target)
            slot = self.slot(target)
            if slot._ad_marks & (_OPEN | _DONE) == 0 and not is_older(target, self.oldest):
                stack.append(target)

    def count_consumers(self, roots: list):
        """Walk the graph and note how many cotangents each node waits for."""
        node: Node
        target: Node
        slot: Slot
        stack: list = []
        following: Node = None
        for node in roots:
            if self.first_visit(node):
                stack.append(node)
        while following is not None or stack:
            # a chain needs no stack
            node = stack.pop() if following is None else following
            following = None
            for i in range(node._ad_n_edges):
                target = edge_of(node, i)
                if target is None or (self.captures is not None and not self.is_needed(target)):
                    continue
                if self.first_visit(target):
                    if following is None:
                        following = target
                    else:
                        stack.append(target)
                slot = self.slot(target)
                slot._ad_pending += 1

    def deliver(self, target: Node, nr, cotangent):
        """Add a cotangent to the sum for a node."""
        slot: Slot = self.slot(target)
        if target._ad_n_outputs == 1:
            if slot._ad_buffer is None:
                slot._ad_buffer = cotangent
                slot._ad_owned = False
            elif slot._ad_owned and not self.create_graph and self.profiler is None:
                if not add_into(slot._ad_buffer, cotangent):
                    slot._ad_buffer += cotangent
            else:
                slot._ad_buffer = self.sum(slot._ad_buffer, cotangent)
                slot._ad_owned = True
            return
        if slot._ad_buffer is None:
            slot._ad_buffer = [None] * target._ad_n_outputs
        received: list = slot._ad_buffer
        before = received[nr]
        received[nr] = cotangent if before is None else self.sum(before, cotangent)

    def sum(self, first, second):
        """The sum of two cotangents."""
        if self.profiler is None or self.create_graph:
            return sum_of_cotangents(first, second, self.create_graph)
        return self.profiler.call("add", sum_of_both, [first, second])

    def enqueue(self, node: Node):
        """Schedule a node whose consumers have all delivered: a leaf runs at once, another node in its turn."""
        if isinstance(node, AccumulateGrad):
            self.process(node)
        elif self.following is None:
            self.following = node
        else:
            heappush(self.ready, node)

    def go(self, roots: list):
        """Run every node whose turn comes."""
        node: Node
        slot: Slot
        for node in roots:
            slot = self.slot(node)
            if slot._ad_pending == 0:
                slot._ad_pending = -1
                self.enqueue(node)
        ready: list = self.ready
        while self.following is not None or ready:
            node = self.following
            self.following = None
            if node is None:
                node = heappop(ready)
            elif ready:
                node = heappushpop(ready, node)
            self.process(node)
        if self.callbacks is not None:
            # one hook may start another
            for callback in self.callbacks:
                callback()

    def go_quietly(self, roots: list):
        """`go` without NumPy's warnings: a division by zero in the backward pass follows one in the forward pass."""
        if _QUIET is None:
            with numpy.errstate(all="ignore"):
                self.go(roots)
            return
        before = _ERRORS.get()
        try:
            _set_errors(_QUIET)
            self.go(roots)
        finally:
            set_errors(before)

    def process(self, node: Node):
        """Let one node pull its cotangent back and deliver the results."""
        self.pass_on(node, self.proceed(node, -1) if self.interceptors else self.evaluate(node))

    def proceed(self, node: Node, position):
        """Run the interceptors after a position, then the node; see `evaluate`."""
        interceptor: Interceptor
        for interceptor in self.interceptors:
            if interceptor.position > position and interceptor.has_node:
                return interceptor.node(self, node)
        return self.evaluate(node)

    def cotangents_at(self, node: Node):
        """The sum of the cotangents that a node has received so far."""
        return self.slot(node)._ad_buffer

    def replace_cotangents(self, node: Node, cotangents):
        """Let a node have received other cotangents."""
        self.slot(node)._ad_buffer = cotangents

    def end_at(self, node: Node, cotangents):
        """Return these cotangents to the caller of the pass, if it requested them. The pass ends at this node."""
        self.replace_cotangents(node, None)
        if self.slot(node)._ad_marks & _CAPTURED:
            self.capture(node, cotangents)

    def evaluate(self, node: Node):
        """Run the hooks of a node and the node; returns the cotangents to deliver, or None for none."""
        slot: Slot = self.slot(node)
        cotangent = slot._ad_buffer
        slot._ad_buffer = None
        leaf: AccumulateGrad = node if isinstance(node, AccumulateGrad) else None
        extras: Extras = node._ad_extras
        if extras is not None and extras.tensor_hooks is not None:
            cotangent = run_output_hooks(node, extras.tensor_hooks, cotangent, self.create_graph)
        if leaf is not None and leaf.variable._hooks:
            cotangent = run_tensor_hooks(leaf.variable._hooks, cotangent, self.create_graph)
        if slot._ad_marks & _CAPTURED:
            self.capture(node, cotangent)
            if not (leaf is not None and self.accumulate) and self.is_end(node):
                if leaf is None and self.accumulate:
                    self.finish(node, cotangent)
                return None
        cotangent = self.before(node, cotangent)
        defined = cotangent is not None and (node._ad_n_outputs == 1 or any_defined(cotangent))
        if leaf is not None:
            if defined:
                self.accumulate_into(leaf, cotangent)
            return None
        # a custom function decides itself how to treat missing cotangents
        if defined or isinstance(node, ContextNode):
            return self.pull(node, cotangent)
        return self.after(node, None, cotangent)

    def before(self, node: Node, cotangent):
        """The cotangents that a node received, after the hooks that see them before it runs."""
        extras: Extras = node._ad_extras
        if extras is None or not extras.pre_hooks:
            return cotangent
        return run_pre_hooks(node, extras.pre_hooks, cotangent, self.create_graph)

    def after(self, node: Node, pulled, cotangent):
        """The cotangents of a node's inputs, None where it did not run, after the hooks that see them."""
        extras: Extras = node._ad_extras
        if extras is None or extras.post_hooks is None:
            return pulled
        values = [None] * node._ad_n_edges if pulled is None else list(pulled)
        numbers = shown_edges(node)
        outputs = output_values(node, cotangent)
        inputs = run_post_hooks(extras.post_hooks, [values[i] for i in numbers], outputs, self.create_graph)
        for i, value in zip(numbers, inputs):
            values[i] = value
        return values

    def finish(self, node: Node, cotangent):
        """Run the hooks of a node at which backward(inputs=) ends, and free the saved values; no formula runs."""
        cotangent = self.before(node, cotangent)
        self.after(node, None, cotangent)
        if not self.retain_graph:
            node._ad_release()
            if self.called_at is not None:
                anomaly.note_release(node, self.called_at)

    def pull(self, node: Node, cotangent):
        """Run the formulas of a node and the hooks after them, and free the saved values."""
        if self.profiler is None or self.create_graph:
            pulled = node._ad_pull(cotangent, self.create_graph, self.needed_edges(node))
        else:
            pulled = self.profiler.pull(node, cotangent, self.needed_edges(node))
        pulled = self.after(node, pulled, cotangent)
        if not self.retain_graph:
            node._ad_release()
            if self.called_at is not None:
                anomaly.note_release(node, self.called_at)
        return pulled

    def needed_edges(self, node: Node):
        """The edges of a node that lead to captured nodes, as bits."""
        target: Node
        edges: cython.longlong = ALL_EDGES
        if self.captures is None:
            return edges
        for i in range(min(node._ad_n_edges, MOST_BITS)):
            target = edge_of(node, i)
            if target is None or not self.is_needed(target):
                edges -= cython.cast(cython.longlong, 1) << i
        return edges

    def accumulate_into(self, node: AccumulateGrad, cotangent):
        """Add a cotangent to a leaf's gradient, and call the hooks on the leaf."""
        # converted before, so that the leaf does not own the array that hooks are going to see
        extras: Extras = node._ad_extras
        post_hooks = None if extras is None else extras.post_hooks
        received = as_tensor(cotangent, self.create_graph) if post_hooks else None
        node._ad_pull(cotangent, self.create_graph, ALL_EDGES)
        hooks = node.variable._post_hooks
        if hooks:
            for hook in list(hooks.values()):
                returned = hook(node.variable)
                if returned is None or returned is node.variable:  # as what changes it in place gives it back
                    continue
                if not isinstance(returned, TensorBase):
                    raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if received is not None:
            run_post_hooks(post_hooks, [], [received], True)

    def pass_on(self, node: Node, pulled):
        """Deliver along the edges; None (undefined) counts as delivered."""
        target: Node
        slot: Slot
        for i in range(node._ad_n_edges):
            target = edge_of(node, i)
            if target is None or (self.captures is not None and not self.is_needed(target)):
                continue
            if pulled is not None:
                cotangent = pulled[i]
                if cotangent is not None:
                    self.deliver(target, output_number(node, i), cotangent)
                    # a leaf may keep the array itself if nobody else holds it
                    pulled[i] = cotangent = None
            slot = self.slot(target)
            slot._ad_pending -= 1
            if slot._ad_pending == 0:
                self.enqueue(target)

    def is_end(self, node: Node):
        """True if no captured node can be reached from this one."""
        target: Node
        for i in range(node._ad_n_edges):
            target = edge_of(node, i)
            if target is not None and self.is_needed(target):
                return False
        return True

    def capture(self, node: Node, cotangent):
        """Store the cotangents that the caller requested."""
        for nr, index in self.captures.get(node, ()):
            self.captured[index] = cotangent if node._ad_n_outputs == 1 or cotangent is None else cotangent[nr]

    def end_early(self, roots: list):
        """End a pass after an error. Meanwhile no other pass marks nodes, which would take over those of this one."""
        _claim()
        try:
            _active_runs.discard(self.number)
            self.forget(roots)
        finally:
            _end_claim()

    def forget(self, roots: list):
        """After an error: drop the cotangents that still wait in nodes."""
        node: Node
        target: Node
        stack: list = list(roots)
        while stack:
            node = stack.pop()
            if run_of(node) != self.number:
                continue
            set_run(node, 0)
            node._ad_buffer = None
            for target in node._ad_edges:
                if target is not None:
                    stack.append(target)


# cotangents -----------------------------------------------------------------------------------------------------------


def any_defined(values):
    """True if one is not None."""
    for value in values:
        if value is not None:
            return True
    return False


def sum_of_cotangents(first, second, create_graph):
    """The sum of two cotangents; for raw cotangents always a new array, also if it is zero-dimensional."""
    if not create_graph:
        quick = plus(first, second)
        if quick is not None:
            return quick
    total = with_kept_memory(operator.add, (first, second)) if is_large(first) else first + second
    # one of the two may be equal for all members of a batch
    if create_graph or type(total) is type(first) or type(total) is type(second):
        return total
    return numpy.asarray(total)


def sum_of_both(cotangents):
    """The sum of two raw cotangents."""
    return sum_of_cotangents(cotangents[0], cotangents[1], False)


# running a pass -------------------------------------------------------------------------------------------------------


def run_backward(roots: list, cotangents: list, retain_graph, create_graph, captures, n_captures, accumulate) -> list:
    """Run the backward pass from the roots, given as (node, output number) pairs with a cotangent for each.

    Returns the captured cotangents, in the order of their indices, as raw arrays, or Tensors with create_graph.
    """
    depth = current().backward_depth
    arguments = (roots, cotangents, retain_graph, create_graph, captures, n_captures, accumulate)
    if depth and depth % _PASSES_PER_THREAD == 0:
        return in_new_thread(run_pass, arguments)
    return run_pass(*arguments)


def in_new_thread(function, arguments):
    """Call a function in a thread of its own, in the modes of this one, which waits for it."""
    state: ThreadState = current()
    context = contextvars.copy_context()
    outcome: list = []
    finished = _thread.allocate_lock()

    def work():
        adopt(state)
        try:
            outcome.append((context.run(function, *arguments), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            finished.release()

    finished.acquire()
    if sys.is_finalizing():
        return function(*arguments)
    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:
        # the system has no thread to give
        return function(*arguments)
    interrupt = None
    while not outcome:
        try:
            finished.acquire()
        except BaseException as error:
            # a signal arrived: wait on, since the pass still works on the graph
            interrupt = error
    result, error = outcome.pop()
    if interrupt is not None:
        raise interrupt
    if error is not None:
        raise error
    return result


def run_pass(roots: list, cotangents: list, retain_graph, create_graph, captures, n_captures, accumulate) -> list:
    """`run_backward` in this thread."""
    state: ThreadState = current()
    # where forward mode is on, cotangents must be Tensors, since they have tangents
    on_tensors = create_graph or bool(state.dual_stack)
    run: Run = Run(retain_graph, on_tensors, captures, accumulate, n_captures)
    if on_tensors:
        cotangents = [c if isinstance(c, TensorBase) else new_tensor(c) for c in cotangents]
    nodes = [node for node, _ in roots]
    # allocated now, since there may be no memory for it at the end
    number: object = run.number
    active: set = _active_runs
    # modes that hooks switch on without a block end with the pass
    state.keep()
    is_complete = False
    try:
        state.grad_enabled = create_graph
        state.backward_depth += 1
        active.add(number)
        _claim()
        try:
            if captures is not None:
                run.find_needed(nodes)
                nodes = [node for node in nodes if run.is_needed(node)]
            run.count_consumers(nodes)
        finally:
            _end_claim()
        for (node, nr), cotangent in zip(roots, cotangents):
            if run.is_needed(node):
                run.deliver(node, nr, cotangent)
        state.run = run
        run.go_quietly(nodes)
        is_complete = True
    finally:
        state.restore()
        # last, since it needs memory, which may be what ended the pass
        if is_complete:
            active.discard(number)
        else:
            run.end_early(nodes)
    return run.captured


# passes that need no check of arguments -------------------------------------------------------------------------------


def root_of(tensor: TensorBase, grad_output, create_graph):
    """Node, output number and cotangent of a plain tensor, while no unusual mode is on.

    given: the cotangent, or None for 1, which is right for one element. Returns None if detailed checks are needed.
    """
    state: ThreadState = current()
    if state.unusual or state.batches or state.dual_stack or not needs_grad(tensor):
        return None
    array = tensor._array
    if grad_output is None:
        cotangent = one_like(array)
    elif not isinstance(grad_output, TensorBase):
        return None
    else:
        cotangent = cython.cast(TensorBase, grad_output)._array
        if type(array) is not _ndarray or type(cotangent) is not _ndarray:
            return None
        if not has_layout(cotangent, shape_of(array), dtype_of(array)):
            return None
        if create_graph:
            cotangent = grad_output
    if cotangent is None or getattr(tensor, "_draw", None) is not None:
        return None
    node: Node = gradient_edge(tensor)
    return None if node is None else (node, tensor._output_nr, cotangent)


def backward_from(tensor: TensorBase) -> bool:
    """Run the backward pass of one tensor without further arguments; False if that needs the checks of `backward`."""
    state: ThreadState = current()
    root = None if state.transforms else root_of(tensor, None, False)
    if root is None:
        return False
    node, nr, one = root
    root = None
    cotangents = [one]
    one = None
    run_backward([(node, nr)], cotangents, False, False, None, 0, True)
    return True


def gradients_of(outputs, inputs, cotangents, retain_graph, create_graph):
    """The gradients of one tensor or several for several, None for those without influence, raw or as Tensors.

    None instead of a list where that needs the checks of `grad`.
    """
    captures: dict = {}
    tensor: TensorBase
    node: Node
    index: cython.int = 0
    for member in inputs:
        if not isinstance(member, TensorBase):
            return None
        tensor = member
        node = gradient_edge(tensor) if needs_grad(tensor) else None
        if node is None:
            return None
        number = captures.get(node)
        if number is None:
            captures[node] = number = []
        number.append((tensor._output_nr, index))
        index += 1
    members = (outputs,) if isinstance(outputs, TensorBase) else outputs
    if cotangents is None:
        cotangents = (None,) * len(members)
    elif isinstance(cotangents, TensorBase):
        cotangents = (cotangents,)
    if index == 0 or not members or len(members) != len(cotangents):
        return None
    roots: list = []
    ones: list = []
    for member, cotangent in zip(members, cotangents):
        root = root_of(member, cotangent, create_graph) if isinstance(member, TensorBase) else None
        if root is None:
            return None
        node, nr, one = root
        roots.append((node, nr))
        ones.append(one)
    return run_backward(roots, ones, retain_graph, create_graph, captures, index, False)


def as_results(gradients: list):
    """Gradients that are all raw arrays of NumPy's as a tuple of Tensors; None where one is not."""
    results: list = []
    for value in gradients:
        if type(value) is not _ndarray:
            return None
        results.append(new_tensor(value))
    return tuple(results)


# functions for code that runs inside a pass ---------------------------------------------------------------------------


def run_number() -> int:
    """The number of the innermost backward pass of the calling thread, larger than all before; -1 if none runs."""
    run: Run = current().run
    return -1 if run is None else run.number


def accumulates() -> bool:
    """True if the innermost backward pass of the calling thread accumulates into all leaves that it reaches."""
    run: Run = current().run
    return run is not None and run.captures is None


def call_at_end(callback) -> None:
    """Call a function without arguments when the innermost backward pass of the calling thread has run all its nodes.

    Raises RuntimeError if none runs. An error in the pass, or in a function called before, drops it.
    """
    run: Run = current().run
    if run is None:
        raise RuntimeError(errors.CALLBACK_OUTSIDE)
    if run.callbacks is None:
        run.callbacks = []
    run.callbacks.append(callback)


def will_run(node: Node) -> bool:
    """True if the innermost backward pass of the calling thread reaches a node."""
    run: Run = current().run
    if run is None or not (run_of(node) == run.number or (run.foreign is not None and node in run.foreign)):
        return False
    slot: Slot = run.slot(node)
    return run.captures is None or slot._ad_marks & _COUNTED != 0


# hooks ----------------------------------------------------------------------------------------------------------------


def as_tensor(cotangent, create_graph):
    """A cotangent as hooks see it."""
    return cotangent if create_graph or cotangent is None else new_tensor(cotangent)


def as_cotangent(replacement, before, create_graph, hook):
    """The value that a hook returned, in the engine's form, checked against the value before."""
    if not isinstance(replacement, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(replacement).__name__}'")
    tensor: TensorBase = replacement
    array = before._array if isinstance(before, TensorBase) else before
    if array is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if array.dtype != tensor._array.dtype:
        raise RuntimeError(errors.hook_changed_type(hook, array, tensor._array))
    if array.shape != tensor._array.shape:
        raise RuntimeError(f"{errors.named_hook(hook)} has changed the size of value")
    return tensor if create_graph else tensor._array


def run_tensor_hooks(hooks, cotangent, create_graph):
    """Call the hooks of one tensor; each may replace the cotangent.

    All see one Tensor: what a hook sets as an attribute of it, the next one finds.
    """
    tensor = as_tensor(cotangent, create_graph)
    for hook in list(hooks.values()):
        replacement = hook(tensor)
        if replacement is not None:
            cotangent = as_cotangent(replacement, cotangent, create_graph, hook)
            tensor = replacement
    return cotangent


def output_values(node: Node, cotangent):
    """The cotangents that a node received, as a list with one entry for each output."""
    if node._ad_n_outputs == 1:
        return [cotangent]
    return [None] * node._ad_n_outputs if cotangent is None else cotangent


def run_output_hooks(node: Node, hooks_by_number: dict, cotangent, create_graph):
    """Call the hooks on the outputs of a node; they see None where no cotangent arrived."""
    values = output_values(node, cotangent)
    for nr, hooks in list(hooks_by_number.items()):
        values[nr] = run_tensor_hooks(hooks, values[nr], create_graph)
    return values[0] if node._ad_n_outputs == 1 else values


def run_pre_hooks(node: Node, hooks, cotangent, create_graph):
    """Call the hooks on the cotangents that a node received, before the node runs."""
    values = output_values(node, cotangent)
    tensors = tuple([as_tensor(value, create_graph) for value in values])
    for hook in list(hooks.values()):
        replacement = hook(tensors)
        if replacement is not None:
            values = hook_replacements(replacement, values, create_graph, hook)
            tensors = replacement
    return values[0] if node._ad_n_outputs == 1 else values


def hook_replacements(replacement, values, create_graph, hook):
    """The values that a hook on a node returned to replace its arguments."""
    if not isinstance(replacement, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(replacement).__name__}'")
    if len(replacement) != len(values):
        raise RuntimeError(errors.hook_changed_number(hook, len(replacement), len(values)))
    return [
        None if new is None else as_cotangent(new, old, create_graph, hook) for new, old in zip(replacement, values)
    ]


def run_post_hooks(hooks, pulled, received, create_graph):
    """Call the hooks of a node on the cotangents that it computed from those in `received`."""
    outputs = tuple([as_tensor(value, create_graph) for value in received])
    tensors = tuple([as_tensor(value, create_graph) for value in pulled])
    for hook in list(hooks.values()):
        replacement = hook(tensors, outputs)
        if replacement is not None:
            pulled = hook_replacements(replacement, pulled, create_graph, hook)
            tensors = replacement
    return pulled
