"""Nodes as objects: the abstract class, the attributes of all nodes, and the user's attributes on contexts."""

import copy
import pickle
import sys

import pytest

import adjoint
from adjoint.autograd import Function, SavedTensor, graph
from adjoint.core.recorded import operations
from adjoint.program import machine

METHODS = {"name", "next_functions", "metadata", "_input_metadata", "register_hook", "register_prehook"}
METHODS |= {"_register_hook_dict", "_sequence_nr"}


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def leaf():
    return adjoint.ones(2, requires_grad=True)


def three_nodes():
    """The nodes of an operation, of a custom function, and of a leaf."""
    x = leaf()
    return (x * x).grad_fn, Double.apply(x).grad_fn, (x * x).grad_fn.next_functions[0][0]


# the abstract class ---------------------------------------------------------------------------------------------------


def test_node_is_abstract():
    class Empty(graph.Node):
        pass

    complete = type("Complete", (graph.Node,), dict.fromkeys(METHODS))
    assert graph.Node.__abstractmethods__ == METHODS
    for cls in (graph.Node, Empty):
        with pytest.raises(TypeError, match=f"Can't instantiate abstract class {cls.__name__}"):
            cls()
    assert isinstance(complete(), graph.Node)
    for node in three_nodes():
        assert isinstance(node, graph.Node) and issubclass(type(node), graph.Node)
        assert not isinstance(node, (Empty, complete))
    assert not isinstance(leaf(), graph.Node) and not issubclass(Function, graph.Node)


def test_only_the_graph_makes_nodes_and_saved_tensors():
    operation, context, accumulator = three_nodes()
    for node in (operation, accumulator):
        with pytest.raises(TypeError, match=f"^cannot create '{type(node).__name__}' instances$"):
            type(node)()
    assert type(context)().saved_tensors == (), "a context without a run of its function is nothing harmful"
    assert isinstance(operation._raw_saved_self, SavedTensor)
    assert type(operation._raw_saved_self).__name__ == "SavedTensor"
    with pytest.raises(RuntimeError, match=r"^Trying to create a SavedTensor object from Python is forbidden\.$"):
        SavedTensor()


# attributes of all nodes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copier", [pickle.dumps, copy.copy, copy.deepcopy])
def test_nodes_are_neither_pickled_nor_copied(copier):
    x = adjoint.ones(2, requires_grad=True)
    for node, name in (
        ((x * 2).grad_fn, "MulBackward0"),
        (x.expand_as(x).grad_fn.next_functions[0][0], "AccumulateGrad"),
    ):
        with pytest.raises(TypeError, match=f"cannot pickle '{name}' object"):
            copier(node)


def test_sequence_numbers():
    operation, context, accumulator = three_nodes()
    assert operation._sequence_nr() < context._sequence_nr() < accumulator._sequence_nr() == 2**64 - 1
    for node in (operation, context, accumulator):
        node._set_sequence_nr(77)
        assert node._sequence_nr() == 77
        for number, error, message in (
            (-1, OverflowError, "can't convert negative int to unsigned"),
            (2**64, OverflowError, "int too big to convert"),
            (1.5, TypeError, "an integer is required"),
        ):
            with pytest.raises(error, match=rf"^{message}$"):
                node._set_sequence_nr(number)
        assert node._sequence_nr() == 77


def test_nodes_of_a_larger_number_run_first():
    x = leaf()
    ran = []
    first, second = x * 2, x * 3
    for name, y in (("first", first), ("second", second)):
        y.register_hook(lambda g, name=name: ran.append(name))
    (first + second).sum().backward(retain_graph=True)
    total = (first + second).sum()
    first.grad_fn._set_sequence_nr(second.grad_fn._sequence_nr() + 1)
    total.backward()
    assert ran == ["second", "first", "first", "second"]


def test_hooks_of_a_tensor_on_another_node():
    x = leaf()
    y = x * 2
    grads = []
    y.register_hook(lambda g: grads.append(g.tolist()) or g * 10)
    z = x * 3
    z.grad_fn._register_hook_dict(y)
    z.sum().backward()
    assert grads == [[1.0, 1.0]] and x.grad.tolist() == [30.0, 30.0]
    x.register_hook(lambda g: g + 1)
    x.grad.zero_()
    z = x * 3
    z.grad_fn._register_hook_dict(x)
    z.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0], "of a leaf: once as the other node's, once as its own"
    with pytest.raises(TypeError, match=r"^_register_hook_dict expected a variable$"):
        z.grad_fn._register_hook_dict({})
    with pytest.raises(ValueError, match=r"expected a variable with hooks: call its register_hook\(\) first"):
        z.grad_fn._register_hook_dict(x * 2)


def test_a_node_can_be_called():
    x = leaf()
    y = x * x
    z = y.exp()
    e = 2.718281828
    recorded = z.grad_fn(adjoint.ones(2))
    assert recorded.tolist() == pytest.approx([e, e]) and recorded.requires_grad
    with adjoint.no_grad():
        plain = z.grad_fn(adjoint.ones(2))
    assert plain.tolist() == pytest.approx([e, e]) and not plain.requires_grad
    assert z.grad_fn(None) is None and y.grad_fn(None) == (None, None)
    assert [g.tolist() for g in y.grad_fn(adjoint.ones(2))] == [[1, 1], [1, 1]]
    left, _ = (x * 1).split(1)
    assert left.grad_fn(adjoint.ones(1), None).tolist() == [1, 0]
    assert y.grad_fn.next_functions[0][0](adjoint.ones(2)) == () and x.grad.tolist() == [1, 1]
    y.register_hook(lambda g: pytest.fail("called a hook"))
    y.grad_fn(adjoint.ones(2))
    for arguments, message in (((), "expected 1 arguments, got 0 instead"), ((3.0,), "argument 0 is not a Variable")):
        with pytest.raises(TypeError, match=rf"^{message}$"):
            z.grad_fn(*arguments)
    with pytest.raises(TypeError, match=r"^'DoubleBackward' object is not callable$"):
        Double.apply(x).grad_fn(adjoint.ones(2))


# attributes of users --------------------------------------------------------------------------------------------------

#: Names inside of nodes, with and without a prefix, and some other likely names.
NAMES = """
buffer run first second others pending owned n_edges output_nrs sequence_nr notes tensor_hooks pre_hooks post_hooks
pull release edge set_edges saved_items name register_hook register_prehook _sequence_nr _set_sequence_nr
needs_input_grad _saved saved_at apply_jvp apply_boxed function variable saved hooks inner place plan freed shape
dtype x y result inputs outputs save_for_backward mark_dirty _shape _dtype _edges _tangents _model _owner _n_outputs
edges node grad _places data value key n_outputs output_nr _freed _cleared _in_jvp _keeps_undefined _grad_dtypes
_n_arguments _structures _value _save _free _forget _pull_back version base half tangents owner counter versions
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", NAMES)
def test_context_takes_attributes_of_any_name(name):
    contexts = []

    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            setattr(ctx, name, "mine")
            return x * factor

        @staticmethod
        def backward(ctx, g):
            contexts.append(getattr(ctx, name))
            (x,) = ctx.saved_tensors
            return g * 2 * x, None

    x = leaf()
    y = Scale.apply(x, 2.0)
    (y.sum() + y.exp().sum()).backward(retain_graph=True)
    assert contexts == ["mine"] and x.grad.tolist() == pytest.approx([16.778112] * 2)
    y.sum().backward(create_graph=False)
    assert repr(y.grad_fn).startswith("<ScaleBackward object at") and repr(y).endswith("grad_fn=<ScaleBackward>)")
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


@pytest.mark.parametrize(
    "name", ["next_functions", "metadata", "requires_grad", "_input_metadata", "saved_tensors", "saved_variables"]
)
def test_context_keeps_what_is_its_own(name):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, "mine")

    with pytest.raises(AttributeError, match=name):
        Wrong.apply(leaf())


def test_error_messages_name_a_context_with_a_name_of_the_users():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.name = "mine"
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, g

    with pytest.raises(RuntimeError, match="function WrongBackward returned an incorrect number of gradients"):
        Wrong.apply(leaf()).sum().backward()


def test_materialize_grads_is_true_or_false():
    text = r"^set_materialize_grads received an invalid combination of arguments - got \(int\), but expected \(bool\)$"

    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, direct):
            if direct:
                ctx.materialize_grads = 1
            ctx.set_materialize_grads(1)

    for direct in (True, False):
        with pytest.raises(TypeError, match=text):
            Wrong.apply(leaf(), direct)


@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 1)])
def test_a_number_and_a_tensor_have_nodes_of_their_own_each_time(order):
    x = adjoint.ones(3, requires_grad=True)
    values = [2.0, adjoint.tensor(2.0, requires_grad=True)]
    names = ["IndexFillBackward0", "IndexFillBackward1"]
    for kind in order:
        assert x.index_fill(0, adjoint.tensor([0]), values[kind]).grad_fn.name() == names[kind]


@pytest.mark.skipif(not machine.compiled, reason="objects of the plain form are larger")
def test_nodes_are_small():
    node = (leaf() * 1.0001).grad_fn
    assert sys.getsizeof(node) <= 240
    node.register_hook(lambda inputs, outputs: None)
    node.metadata["note"] = 1
    assert sys.getsizeof(node) <= 240


def test_calls_of_nodes_with_undefined_gradients():
    x = adjoint.ones(4, requires_grad=True)
    first, second = x.split(2)
    assert first.grad_fn is second.grad_fn and first.grad_fn.requires_grad
    assert first.grad_fn(adjoint.ones(2), None).tolist() == [1, 1, 0, 0]
    assert first.grad_fn(None, None) is None
    with adjoint.no_grad():
        assert first.grad_fn(None, adjoint.ones(2)).tolist() == [0, 0, 1, 1]


class Nothing(Function):
    @staticmethod
    def forward(ctx, input):
        return input * 1

    @staticmethod
    def backward(ctx, gradient):
        return None


@pytest.mark.parametrize("hooked", [False, True])
def test_nodes_of_several_results_that_receive_nothing(hooked):
    x = adjoint.ones(4, requires_grad=True)
    parts, notes = x.split(2), []
    if hooked:
        parts[0].register_hook(notes.append)
        parts[0].retain_grad()
    sum(Nothing.apply(part).sum() for part in parts).backward()
    assert x.grad is None or not x.grad.any()
    assert all(gradient is None or not gradient.any() for gradient in notes)


def test_a_hook_of_another_node_may_leave_the_gradient():
    x = leaf()
    z = x * 3
    other = x * 2
    other.register_hook(lambda g: None)
    z.grad_fn._register_hook_dict(other)
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_who_freed_a_graph_is_named_without_who_saved_it():
    x = adjoint.ones(2, requires_grad=True)
    y = (x * x).sum()
    with graph.record_locations():
        y.backward()
        with pytest.raises(RuntimeError, match="which freed what MulBackward0 had saved, was called here"):
            y.backward()


def test_a_view_whose_base_has_other_memory_stands_alone():
    x, base = leaf(), adjoint.ones(4)
    view = base[:2]
    base.data = adjoint.zeros(4)
    view.mul_(x * 3)
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and base.tolist() == [0, 0, 0, 0] and not base.requires_grad


def test_integers_in_place_by_a_row():
    x = adjoint.ones(300, 300, dtype=adjoint.int64)
    assert x.bitwise_and_(adjoint.arange(300) % 2) is x
    assert x[7].tolist() == [0, 1] * 150


def test_out_of_none_is_no_out():
    x = adjoint.ones(2)
    assert operations["sin"](x, out=None).tolist() == adjoint.sin(x).tolist()


def test_the_type_of_a_gradient_follows_when_it_is_changed_later():
    x = adjoint.ones(2, requires_grad=True)
    y = x.double() * 2
    x.grad_dtype = adjoint.float64
    y.sum().backward()
    assert x.grad.dtype is adjoint.float64


@pytest.mark.parametrize("function", [lambda node: repr(operations["sin"]), dir])
def test_what_is_shown_of_nodes_and_operations(function):
    y = adjoint.ones(2, requires_grad=True).clamp(0, 2)
    y.sum().backward()
    assert "sin(input)" in function(y.grad_fn) or "name" in function(y.grad_fn)


NUMBERS = {
    "pow": (lambda x: x**2, 1),
    "rpow": (lambda x: 2**x, 1),
    "rsub": (lambda x: 1 - x, 1),
    "clamp": (lambda x: x.clamp(0, 1), 1),
    "clamp from below": (lambda x: x.clamp(min=0), 1),
    "clamp by tensors": (lambda x: x.clamp(x.detach()), 3),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 2.0), 1),
    "lerp": (lambda x: adjoint.lerp(x, x.detach(), 0.5), 2),
    "in place": (lambda x: (x * 1).clamp_(0, 1), 1),
    "mul": (lambda x: x * 2, 2),
}


@pytest.mark.parametrize(("function", "n"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_overloads_have_no_edge(function, n):
    # as in PyTorch 2.13: for example, the node of x ** 2 has one input and that of x * 2 has two
    x = adjoint.tensor([0.5, 2.0], dtype=adjoint.float64, requires_grad=True)
    y = function(x)
    node, notes = y.grad_fn, []
    node.register_hook(lambda inputs, outputs: notes.append(inputs))
    (plain,) = adjoint.autograd.grad(y.sum(), x, retain_graph=True)
    result = node(adjoint.ones_like(y))
    assert len(node.next_functions) == len(notes[0]) == n
    assert (1 if isinstance(result, adjoint.Tensor) else len(result)) == n
    node.register_hook(lambda inputs, outputs: tuple(None if g is None else g * 10 for g in inputs))
    assert adjoint.equal(adjoint.autograd.grad(y.sum(), x)[0], 10 * plain)


def test_saved_results_of_integers_require_no_gradient():
    values, indices = adjoint.tensor([[1.0, 3.0]], requires_grad=True).max(1)
    saved = values.grad_fn._saved_indices
    assert adjoint.equal(saved, indices) and not saved.requires_grad and saved.grad_fn is None


def test_tables_of_hooks():
    x = adjoint.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    assert x._backward_hooks is x._post_accumulate_grad_hooks is y._backward_hooks is None
    handles = [x.register_hook(print), y.register_hook(print), x.register_post_accumulate_grad_hook(print)]
    tables = [x._backward_hooks, y._backward_hooks, x._post_accumulate_grad_hooks]
    assert tables == [{handle.id: print} for handle in handles]
