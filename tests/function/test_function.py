"""autograd.Function: arguments, calls of ctx, the backward pass and its errors."""

import threading
import warnings

import numpy as np
import pytest

import adjoint
from adjoint.autograd import Function, forward_ad, grad, graph
from adjoint.autograd.function import (
    BackwardCFunction,
    FunctionCtx,
    InplaceFunction,
    NestedIOFunction,
    once_differentiable,
)
from adjoint.utils.checkpoint import checkpoint


def leaf(*values, dtype=adjoint.float64):
    return adjoint.tensor(values, dtype=dtype, requires_grad=True)


def values(tensor):
    return tensor.detach().numpy().tolist()


class First(Function):
    """All outputs have the gradient of the first output."""

    @staticmethod
    def backward(ctx, *grads):
        return grads[0]


def make(forward, backward=None, **others):
    """Make a Function with the name My from plain functions."""
    members = {"forward": staticmethod(forward)}
    if backward is not None:
        members["backward"] = staticmethod(backward)
    members |= {name: staticmethod(member) if callable(member) else member for name, member in others.items()}
    return type("My", (First,), members)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Exp(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def vjp(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


# usual functions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "second"), [(Square, lambda x: 2 + 0 * x), (Exp, np.exp)])
def test_first_and_second_derivative(function, second):
    x = leaf(0.5, -1.0)
    (first,) = grad(function.apply(x).sum(), x, create_graph=True)
    (gradient,) = grad(first.sum(), x)
    x = x.detach().numpy()
    np.testing.assert_allclose(first.detach().numpy(), 2 * x if function is Square else np.exp(x))
    np.testing.assert_allclose(gradient.numpy(), second(x))


def test_node_is_the_context():
    def forward(ctx, x):
        ctx.note = "kept"
        ctx.shape, ctx.dtype, ctx.edges, ctx.n_outputs, ctx.value = (7,), "mine", 1, 9, 2
        assert vars(ctx)["note"] == "kept" and ctx.name() == "MyBackward"
        assert len(ctx.next_functions) == 1 and ctx.needs_input_grad == (True,)
        return x * 2

    function = make(forward)
    x = leaf(1.0)
    node = function.apply(x).grad_fn
    assert type(node).__name__ == node.name() == "MyBackward"
    assert isinstance(node, BackwardCFunction) and isinstance(node, FunctionCtx) and isinstance(node, graph.Node)
    assert type(node) is function._backward_cls and type(node)._forward_cls is function
    assert node.note == "kept" and node.saved_tensors == ()
    assert node.to_save is node.dirty_tensors is None
    # attributes of the user do not change the node's own attributes
    assert values(grad((function.apply(x) * 3).sum(), x)[0]) == [3.0]
    assert (node.shape, node.dtype, node.edges, node.n_outputs, node.value) == ((7,), "mine", 1, 9, 2)


def test_modes_inside():
    flags = []

    def forward(x):
        flags.append(adjoint.is_grad_enabled())
        return x * 2

    def setup_context(ctx, inputs, output):
        flags.append((adjoint.is_grad_enabled(), output.requires_grad))

    def backward(ctx, g):
        flags.append(adjoint.is_grad_enabled())
        return g

    function = make(forward, backward, setup_context=setup_context)
    x = leaf(1.0)
    grad(function.apply(x).sum(), x)
    grad(function.apply(x).sum(), x, create_graph=True)
    assert flags == [False, (False, False), False, False, (False, False), True]


def test_exceptions_come_out_unchanged_and_restore_modes():
    class Mine(Exception):
        pass

    def failing(*args):
        raise Mine("why")

    x = leaf(1.0)
    with pytest.raises(Mine, match="why"):
        make(failing).apply(x)
    assert adjoint.is_grad_enabled()
    with pytest.raises(Mine, match="why"):
        make(lambda ctx, x: x * 2, failing).apply(x).sum().backward()
    assert x.grad is None


# arguments ------------------------------------------------------------------------------------------------------------


def test_arguments_by_name():
    def forward(ctx, x, a=3, b=4):
        return x * a + b

    function = make(forward, lambda ctx, g: (g, *[None] * (len(ctx.needs_input_grad) - 1)))
    x = leaf(1.0)
    assert values(function.apply(x, b=1)) == [4.0]
    assert function.apply(x).grad_fn.needs_input_grad == (True,)
    assert function.apply(x, b=1).grad_fn.needs_input_grad == (True, False, False)
    assert values(function.apply(a=2, x=x)) == [6.0]


def test_setup_context_sees_defaults():
    notes = []
    function = make(
        lambda x, a=3: x * a,
        lambda ctx, g: (g * 3, None),
        setup_context=lambda ctx, inputs, output: notes.append(inputs[1]),
    )
    x = leaf(1.0)
    function.apply(x).backward(adjoint.ones(1, dtype=adjoint.float64))
    function.apply(x, a=5)
    assert notes == [3, 5]
    assert values(x.grad) == [3.0]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1,), {"q": 1}, "forward() got an unexpected keyword argument 'q'"),
        ((), {"a": 1}, "forward() missing required argument: 'x' (position 0)"),
        ((1,), {"x": 1}, "forward() got multiple values for argument 'x'"),
        ((1,), {"only": 1}, "forward() got an unexpected keyword argument 'only'"),
    ],
)
def test_wrong_arguments(args, kwargs, message):
    function = make(lambda ctx, x, a=1, *, only=2: x)
    with pytest.raises(TypeError) as error:
        function.apply(*args, **kwargs)
    assert str(error.value) == message


def test_missing_argument_with_setup_context():
    function = make(lambda x, b: x, setup_context=lambda ctx, inputs, output: None)
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        function.apply(leaf(1.0))


def test_arguments_that_are_no_tensors():
    function = make(lambda ctx, x, n, y, s: x * n, lambda ctx, g: (g * 3, None, None, None))
    x = leaf(1.0)
    y = function.apply(x, 3, adjoint.ones(1), "s")
    assert y.grad_fn.needs_input_grad == (True, False, False, False)
    assert [node is None for node, _ in y.grad_fn.next_functions] == [False, True]
    assert values(grad(y.sum(), x)[0]) == [3.0]
    # a function does not see tensors inside of containers
    assert not make(lambda ctx, xs: xs[0] * 2).apply([x]).requires_grad
    assert make(lambda ctx: 7).apply() == 7


# results --------------------------------------------------------------------------------------------------------------


def test_results_of_all_kinds():
    notes = []

    def backward(ctx, *grads):
        notes.extend(grads)
        return grads[2]

    function = make(lambda ctx, x: (1, "a", x * 2, None, x.long()), backward)
    x = leaf(1.0)
    results = function.apply(x)
    assert results[:2] == (1, "a") and results[3] is None
    assert results[2].output_nr == 2 and not results[4].requires_grad
    results[2].sum().backward()
    assert values(x.grad) == [1.0]
    assert notes[0] is notes[1] is notes[3] is None and values(notes[4]) == [0]


@pytest.mark.parametrize("result", [2.0, None, (), {"a": 1}, [1, 2]])
def test_results_without_tensors_come_back_as_they_are(result):
    assert make(lambda ctx, x: result).apply(leaf(1.0)) == result


def test_undefined_gradients():
    notes = []
    backward = lambda ctx, a, b: (notes.append((a, b)), None if a is None else a)[1]
    filled = make(lambda ctx, x: (x * 1, x.sum()), backward)
    x = leaf(1.0, 2.0)
    grad(filled.apply(x)[0].sum(), x)
    assert values(notes[0][1]) == 0.0
    function = make(lambda ctx, x: (ctx.set_materialize_grads(False), x * 1, x.sum())[1:], backward)
    grad(function.apply(x)[0].sum(), x)
    assert notes[1][1] is None


@pytest.mark.parametrize("materialize", [True, False])
def test_undefined_gradients_pass_through_functions(materialize):
    grads = []

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 1

    inner = make(forward, lambda ctx, g: (grads.append(g), g)[1])
    nothing = make(lambda ctx, x: x * 1, lambda ctx, g: None)
    x = leaf(1.0)
    (gradient,) = grad(nothing.apply(inner.apply(x)).sum(), x, allow_unused=True)
    if materialize:
        assert values(gradient) == values(grads[0]) == [0.0]
    else:
        assert gradient is None and grads == [None]


def test_results_marked_constant():
    def forward(ctx, x):
        constant = x * 3
        ctx.mark_non_differentiable(constant)
        return x * 2, constant

    notes = []
    function = make(forward, lambda ctx, a, b: (notes.append(b), a * 2)[1])
    x = leaf(1.0)
    first, constant = function.apply(x)
    assert not constant.requires_grad and constant.grad_fn is None
    first.sum().backward()
    assert values(notes[0]) == [0.0]
    same = make(lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1]).apply(x)
    assert same is not x and not same.requires_grad


def test_integer_gradients_may_stay_undefined():
    def forward(ctx, x):
        assert ctx._materialize_non_diff_grads
        ctx._materialize_non_diff_grads = False
        assert not ctx._materialize_non_diff_grads
        return x * 2, x.long()

    notes = []
    function = make(forward, lambda ctx, a, b: (notes.append(b), a)[1])
    function.apply(leaf(1.0))[0].sum().backward()
    assert notes == [None]


def test_no_grad():
    x = leaf(1.0)
    with adjoint.no_grad():
        assert not Square.apply(x).requires_grad
        same = make(lambda ctx, x: x).apply(x)
        assert same is not x and not same.requires_grad and same.data_ptr() == x.data_ptr()
    assert not Square.apply(x.detach()).requires_grad


# results of backward --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda g: g, "function MyBackward returned an incorrect number of gradients (expected 2, got 1)"),
        (lambda g: (), "function MyBackward returned an incorrect number of gradients (expected 2, got 0)"),
        (lambda g: [g, None], "function MyBackward returned an incorrect number of gradients (expected 2, got 1)"),
        (lambda g: (g, None, g), "function MyBackward returned an incorrect number of gradients (expected 2, got 3)"),
        (
            lambda g: (g, g),
            "function MyBackward returned a gradient different than None at position 2, but the corresponding forward "
            "input was not a Variable",
        ),
        (lambda g: (2.0, None), "expected Variable or None (got float)"),
        (
            lambda g: (g.sum(), None),
            "Function MyBackward returned an invalid gradient at index 0 - got [] but expected shape compatible with "
            "[2]",
        ),
        (
            lambda g: (adjoint.ones(3), None),
            "Function MyBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with "
            "[2]",
        ),
        (
            lambda g: (g * 1j, None),
            "Function MyBackward returned an invalid gradient at index 0 - expected type adjoint.float64 but got "
            "adjoint.complex128: the gradient of a real input is real",
        ),
    ],
)
@pytest.mark.parametrize("create_graph", [False, True])
def test_wrong_gradients(returned, message, create_graph):
    x = leaf(1.0, 2.0)
    y = make(lambda ctx, x, n: x * n, lambda ctx, g: returned(g)).apply(x, 2)
    with pytest.raises(RuntimeError) as error:
        grad(y.sum(), x, create_graph=create_graph)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (lambda g: (g, None, None), [1.0, 1.0]),
        (lambda g: (g.float(), None), [1.0, 1.0]),
        (lambda g: (g.long(), None), [1.0, 1.0]),
        (lambda g: (g.expand(3, 2), None), [3.0, 3.0]),
    ],
)
def test_gradients_are_made_fit(returned, expected):
    x = leaf(1.0, 2.0)
    (gradient,) = grad(make(lambda ctx, x, n: x * n, lambda ctx, g: returned(g)).apply(x, 2).sum(), x)
    assert gradient.dtype is adjoint.float64 and values(gradient) == expected


def test_gradients_in_a_list():
    notes = []
    function = make(
        lambda ctx, x: (x * 2, x * 3),
        lambda ctx, grads: (notes.append(type(grads)), grads.pop(0))[1],
        boxed_grads_call=True,
    )
    x = leaf(1.0)
    assert values(grad(function.apply(x)[0].sum(), x)[0]) == [1.0]
    assert notes == [list]


def test_dtypes_of_gradients():
    def forward(ctx, x):
        ctx.set_output_grad_dtype(adjoint.float64, None, None)
        return x * 1, x * 2, "no tensor"

    notes = []
    function = make(forward, lambda ctx, a, b, c: (notes.extend((a.dtype, b.dtype, c)), a + b)[1])
    x = leaf(1.0, dtype=adjoint.float32)
    a, b, _ = function.apply(x)
    grad([a, b.double()], x, [adjoint.ones(1), adjoint.ones(1, dtype=adjoint.float64)])
    # the second cotangent has the dtype that the cast gives it
    assert notes == [adjoint.float64, adjoint.float64, None]
    wrong = make(lambda ctx, x: (ctx.set_output_grad_dtype(None), x, x)[1:])
    with pytest.raises(RuntimeError, match="got 1 dtypes, but the function MyBackward returned 2 values"):
        wrong.apply(x)
    whole = make(lambda ctx, x: (ctx.set_output_grad_dtype(adjoint.float32, adjoint.float32), x * 1, x.long())[1:])
    with pytest.raises(RuntimeError, match="for output 1 of MyBackward, which has no gradient; pass None"):
        whole.apply(x)


# saved tensors --------------------------------------------------------------------------------------------------------


def test_saved_inputs_are_the_very_tensors():
    function = make(lambda ctx, x, y: (ctx.save_for_backward(x, None, y), x * y)[1])
    x, y = leaf(1.0), leaf(2.0) * 2
    saved = function.apply(x, y).grad_fn.saved_tensors
    assert saved[0] is x and saved[1] is None and saved[2] is y


def test_saved_tensors_when_freed():
    x = leaf(1.0)
    y = Square.apply(x).sum()
    node = y.grad_fn.next_functions[0][0]
    y.backward()
    for access in (lambda: node.saved_tensors, lambda: node._raw_saved_tensors, y.backward):
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            access()
    # a function that saves nothing can run again, unless it asks for saved tensors
    y = make(lambda ctx, x: x * 2).apply(x).sum()
    y.backward()
    y.backward()
    y = make(lambda ctx, x: x * 2, lambda ctx, g: g * (2 + len(ctx.saved_tensors))).apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


@pytest.mark.parametrize(("function", "culprit", "name"), [(Square, "input", "Add"), (Exp, "output", "Exp")])
def test_saved_tensors_overwritten(function, culprit, name):
    """The message names the operation that modified an input, as for inputs of operations."""
    x = leaf(1.0) * 1
    y = function.apply(x)
    (x if culprit == "input" else y).add_(1)
    wording = f"modified by an inplace operation.*output 0 of {name}, is at version 1; expected version 0"
    with pytest.raises(RuntimeError, match=wording):
        y.sum().backward()


def test_saved_tensors_are_tensors():
    function = make(lambda ctx, x: (ctx.save_for_backward(x, 3), x * 1)[1])
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        function.apply(leaf(1.0))
    function = make(lambda ctx, x: (ctx.save_for_forward(3), x * 1)[1])
    with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tensors"):
        function.apply(leaf(1.0))


def test_saved_tensors_cleared_on_access():
    forward = Square.forward
    once = make(forward, Square.backward, clear_saved_tensors_on_access=True)
    x = leaf(3.0)
    assert values(grad(once.apply(x).sum(), x)[0]) == [6.0]
    twice = make(forward, lambda ctx, g: (ctx.saved_tensors, ctx.saved_tensors), clear_saved_tensors_on_access=True)
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
        twice.apply(x).sum().backward()


@pytest.mark.parametrize("is_retained", [False, True])
def test_saved_tensors_cleared_by_their_function(is_retained):
    reads = []

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.maybe_clear_saved_tensors() is None
        try:
            reads.append(ctx.saved_tensors[0] is x)
        except RuntimeError as error:
            reads.append("Trying to backward through the graph a second time" in str(error) and None)
        return 2 * x * g

    x = leaf(3.0)
    y = make(Square.forward, backward).apply(x)
    # outside of a backward pass it has no effect
    y.grad_fn.maybe_clear_saved_tensors()
    y.sum().backward(retain_graph=is_retained)
    assert values(x.grad) == [6.0] and reads == [True if is_retained else None]
    if is_retained:
        y.sum().backward()
        assert values(x.grad) == [12.0]
    else:
        with pytest.raises(RuntimeError, match="a second time"):
            y.sum().backward()


@pytest.mark.parametrize("function", [Square, Exp])
def test_hooks_on_saved_tensors(function):
    notes = []
    x = leaf(1.0)
    pack, unpack = lambda t: (notes.append("pack"), t * 2)[1], lambda t: (notes.append("unpack"), t / 2)[1]
    with graph.saved_tensors_hooks(pack, unpack):
        y = function.apply(x)
    (gradient,) = grad(y.sum(), x, retain_graph=True)
    assert notes == ["pack", "unpack"]
    assert gradient.equal(grad(function.apply(x).sum(), x)[0])
    z = function.apply(x)
    (raw,) = z.grad_fn._raw_saved_tensors
    raw.register_hooks(lambda t: t * 3, lambda t: t)
    assert values(grad(z.sum(), x)[0]) == [3 * gradient.item()]
    none = make(lambda ctx, x: (ctx.save_for_backward(None), x * 1)[1]).apply(x).grad_fn._raw_saved_tensors[0]
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        none.register_hooks(lambda t: t, lambda t: t)


def test_saved_variables_is_deprecated():
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        assert len(Square.apply(leaf(1.0)).grad_fn.saved_variables) == 1


# missing parts, second passes, and old forms --------------------------------------------------------------------------


def test_missing_parts():
    x = leaf(1.0)
    with pytest.raises(NotImplementedError, match="You must implement the forward function for custom"):
        Function.apply(x)
    no_backward = type("My", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        no_backward.apply(x).sum().backward()
    both = make(lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not"):
        both.apply(x).sum().backward()


def test_instances_are_legacy():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Square()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        instance(leaf(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert InplaceFunction(inplace=True).inplace


def test_arguments_of_ctx_methods():
    def marks(method, *args):
        def forward(ctx, x):
            getattr(ctx, method)(*args)
            return x * 1

        return make(forward)

    x = leaf(1.0)
    with pytest.raises(TypeError, match="set_materialize_grads received an invalid combination of arguments"):
        marks("set_materialize_grads", 3).apply(x)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables, but argument 0 is of type int"):
        marks("mark_dirty", 3).apply(x)
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments, but got int"):
        marks("mark_non_differentiable", 3).apply(x)
    with pytest.raises(TypeError, match="set_output_grad_dtype expects dtypes or None, but got str"):
        marks("set_output_grad_dtype", "float32").apply(x)
    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        marks("mark_shared_storage", (x, x)).apply(x)


def test_nested_io():
    class Nested(NestedIOFunction):
        def forward_extended(self, pair):
            self.save_for_backward(*pair)
            return pair[0] * 2, {"b": pair[1] * 3}

        def backward_extended(self, first, second):
            assert len(self.saved_tensors) == 2
            return ((first * 2, second["b"] * 3),)

    x, y = leaf(1.0), leaf(2.0)
    first, second = Nested.apply((x, y))
    grads = grad((first + second["b"]).sum(), (x, y))
    assert [values(g) for g in grads] == [[2.0], [3.0]]


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not adjoint.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    (plain,) = grad(Once.apply(x).sum(), x, create_graph=True)
    assert values(plain) == [6.0] and not plain.requires_grad
    g = leaf(1.0)
    (gradient,) = grad(Once.apply(x), x, g, create_graph=True)
    assert gradient.requires_grad
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        gradient.sum().backward()


def test_hooks_on_the_node():
    x = leaf(1.0)
    y = Square.apply(x)
    notes = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
    y.grad_fn.register_hook(lambda inputs, outputs: (notes.append(values(outputs[0])), (inputs[0] * 2,))[1])
    assert values(grad(y.sum(), x)[0]) == [12.0] and notes == [[3.0]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_on_the_node_see_gradients_that_nothing_needs(create_graph):
    x, constant, gradients = leaf(1, 2), adjoint.tensor([3.0, 4.0], dtype=adjoint.float64), []
    y = make(lambda ctx, a, b, n: a * b, lambda ctx, g: (g, g * 2, None)).apply(constant, x, 3)
    y.grad_fn.register_hook(lambda grads, _: gradients.append([g.tolist() for g in grads]))
    (gradient,) = grad(y.sum(), x, create_graph=create_graph)
    assert gradients == [[[1, 1], [2, 2]]] and values(gradient) == [2, 2]


def test_threads():
    x = leaf(2.0)
    results = []

    def run():
        results.append(grad(Square.apply(x).sum(), x)[0].item())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [4.0] * 4


def test_anomaly_names_the_function():
    function = make(lambda ctx, x: x * 2, lambda ctx, g: g * float("nan"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with adjoint.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="Function 'MyBackward' returned nan"):
            function.apply(leaf(1.0)).sum().backward()


def test_pictures_and_lists_of_graphs():
    y = make(lambda ctx, x: (ctx.save_for_backward(x, None), x * 2, "no tensor")[1:]).apply(leaf(1.0))[0]
    assert "MyBackward" in graph.draw(y).dot()
    assert [(entry.operation, entry.name, entry.nbytes) for entry in graph.saved_tensors(y)] == [
        ("MyBackward", "saved_tensors[0]", 8)
    ]
    assert [metadata and metadata.shape for metadata in y.grad_fn._input_metadata] == [(1,), None]


def test_in_a_checkpoint():
    x = leaf(0.5)
    y = checkpoint(lambda x: Exp.apply(x) * Square.apply(x), x, use_reentrant=False)
    (gradient,) = grad(y.sum(), x)
    assert gradient.equal(grad((Exp.apply(x) * Square.apply(x)).sum(), x)[0])


def test_marking_what_is_no_input_as_dirty_warns():
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    text = r"^ctx\.mark_dirty\(\) received a tensor that was not an input\. Only input Tensors that have been mutated"
    with pytest.warns(UserWarning, match=text):
        make(forward).apply(leaf(1.0))


@pytest.mark.parametrize("returned", [1, 2, 3])
def test_the_node_of_once_differentiable_has_an_edge_for_each_result_of_backward(returned):
    def backward(ctx, g):
        gradients = (g * 2, None, g * 3)[:returned]
        return gradients if returned > 1 else gradients[0]

    function = make(lambda ctx, *args: args[0] * 2, once_differentiable(backward))
    x, y, g = leaf(1.0, 2.0), leaf(1.0, 2.0), leaf(1.0, 1.0)
    arguments = (x, 3, y)[:returned]
    inputs = [x] if returned < 3 else [x, y]
    gradients = grad(function.apply(*arguments), inputs, g, create_graph=True)
    node = gradients[0].grad_fn
    assert node.name() == "torch::autograd::Error"
    assert all(result.grad_fn is node and result.requires_grad for result in gradients)
    assert [result.output_nr for result in gradients] == [0, 2][: len(gradients)]
    behind = [target and target.name() for target, _ in node.next_functions]
    assert behind == ["torch::autograd::AccumulateGrad", None, "torch::autograd::AccumulateGrad"][:returned]
    for result in gradients:
        with pytest.raises(RuntimeError, match="differentiate twice"):
            result.sum().backward(retain_graph=True)
    assert x.grad is None and g.grad is None


class TwoResults(Function):
    @staticmethod
    def forward(x):
        return x * x, x * 3

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, of_square, of_triple):
        (x,) = ctx.saved_tensors
        return 2 * x * of_square + 3 * of_triple

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 2 * x * t, 3 * t


def test_a_context_says_whether_it_makes_zeros():
    class Asking(Function):
        @staticmethod
        def forward(ctx, x):
            before = ctx.materialize_grads
            ctx.set_materialize_grads(False)
            assert (before, ctx.materialize_grads) == (True, False)
            return x * 1

    Asking.apply(adjoint.ones(1, requires_grad=True))


@pytest.mark.parametrize("detached", [False, True])
def test_saved_results_keep_their_tangents_when_they_are_detached(detached):
    x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    with forward_ad.dual_level():
        _, y = TwoResults.apply(forward_ad.make_dual(x, adjoint.ones_like(x)))
        total = (y.sin() * y).sum()
        if detached:
            y.detach_()
        (gradient,) = adjoint.autograd.grad(total, x, create_graph=True)
        second = forward_ad.unpack_dual(gradient).tangent
    y = 3 * x.detach()
    adjoint.testing.assert_close(second.detach(), 9 * (2 * y.cos() - y * y.sin()))
