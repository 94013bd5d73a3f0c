"""Errors of the core have PyTorch's messages, and bad input changes nothing."""

import contextlib
import copy

import numpy as np
import pytest

import adjoint
from adjoint.autograd import backward, grad
from adjoint.core.errors import PAGES

f64 = adjoint.float64


def leaf(*values, dtype=f64):
    return adjoint.tensor(values, dtype=dtype, requires_grad=True)


@contextlib.contextmanager
def says(error, text):
    """A block whose exception has exactly this text. Notes are extra: torch has none."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value) == text


def graph_without_values():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    return y


def other_than(x):
    return adjoint.zeros(3, dtype=f64)


def view_made_under_no_grad(x):
    y = x * 1
    with adjoint.no_grad():
        return y[0:1]


class Unnamed:
    def __call__(self, g):
        return g[:1]


SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
NO_GRAD_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case "
    "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked)."
)
MULTI_OUTPUT_VIEW = (
    "Output 0 of {} is a view and is being modified inplace. This view is the output of a function that returns "
    "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
    "inplace operation by an out-of-place one."
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)
NON_LEAF_FLAG = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that doesn't require differentiation use var_no_grad = var.detach()."
)
GRAD_DTYPE = (
    "attempting to assign a gradient with dtype 'float' to a tensor with grad_dtype 'Double'. The gradient must match "
    "the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
    "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
    "gradient may break downstream systems that assume they match."
)

#: name: (an action on a leaf x = [1, 2], the error, its text)
BACKWARD = {
    "second time": (lambda x: graph_without_values().backward(), RuntimeError, SECOND_TIME),
    "not a scalar": (
        lambda x: (x * 2).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs",
    ),
    "complex scalar": (
        lambda x: (x.sum() * 1j).backward(),
        RuntimeError,
        "grad can be implicitly created only for real scalar outputs but got adjoint.complex128",
    ),
    "no gradient": (
        lambda x: x.detach().sum().backward(),
        RuntimeError,
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "one without gradient": (
        lambda x: backward([x.sum(), x.detach().sum()]),
        RuntimeError,
        "element 1 of tensors does not require grad and does not have a grad_fn",
    ),
    "shape of the cotangent": (
        lambda x: (x * 2).backward(adjoint.ones(3, dtype=f64)),
        RuntimeError,
        "Mismatch in shape: grad_output[0] has a shape of adjoint.Size([3]) and output[0] has a shape of "
        "adjoint.Size([2]).",
    ),
    "shape of the second cotangent": (
        lambda x: grad([x.sum(), x * 2], x, [None, adjoint.ones(3, dtype=f64)]),
        RuntimeError,
        "Mismatch in shape: grad_output[1] has a shape of adjoint.Size([3]) and output[1] has a shape of "
        "adjoint.Size([2]).",
    ),
    "type of the cotangent": (
        lambda x: (x * 2).backward([3]), TypeError, "gradients can be either Tensors or None, but got int",
    ),
    "complex cotangent": (
        lambda x: (x * 2).backward(adjoint.ones(2, dtype=adjoint.complex64)),
        RuntimeError,
        "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
        "grad_output[0] has a dtype of adjoint.complex64 and output[0] has a dtype of adjoint.float64.",
    ),
    "too few cotangents": (
        lambda x: backward([x.sum(), x.sum()], [adjoint.tensor(1.0)]), RuntimeError, "got 2 tensors and 1 gradients",
    ),
    "two names of the cotangent": (
        lambda x: backward(x * 2, adjoint.ones(2), grad_variables=adjoint.ones(2)),
        RuntimeError,
        "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
        "`grad_tensors`.",
    ),
    "no inputs of backward": (
        lambda x: x.sum().backward(inputs=[]), RuntimeError, "`inputs` argument to `backward()` cannot be empty.",
    ),
    "no inputs of grad": (
        lambda x: grad(x.sum(), []), RuntimeError, "`inputs` argument to `grad()` cannot be empty.",
    ),
    "input without gradient": (
        lambda x: grad(x.sum(), [x, x.detach()]),
        RuntimeError,
        "One of the differentiated Tensors does not require grad",
    ),
    "unused input": (
        lambda x: grad(x.sum(), [x, leaf(1.0)]),
        RuntimeError,
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if "
        "this is the desired behavior.",
    ),
    "contradicting options": (
        lambda x: grad(x.sum(), x, materialize_grads=True, allow_unused=False),
        ValueError,
        "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
    ),
    "root that is no tensor": (
        lambda x: backward([x.sum(), 3.0]), TypeError, "expected Tensors, got float: 3.0",
    ),
}  # fmt: skip

TENSOR = {
    "requires_grad of integers": (
        lambda x: adjoint.tensor([1, 2], requires_grad=True),
        RuntimeError,
        "Only Tensors of floating point and complex dtype can require gradients",
    ),
    "requires_grad set on integers": (
        lambda x: setattr(adjoint.tensor([1, 2]), "requires_grad", True),
        RuntimeError,
        "only Tensors of floating point and complex dtype can require gradients",
    ),
    "requires_grad_ of integers": (
        lambda x: adjoint.tensor([1, 2]).requires_grad_(),
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
    ),
    "requires_grad taken from a result": (
        lambda x: setattr(x * 2, "requires_grad", False), RuntimeError, NON_LEAF_FLAG,
    ),
    "requires_grad_ taken from a result": (lambda x: (x * 2).requires_grad_(False), RuntimeError, NON_LEAF_FLAG),
    "requires_grad given to a result": (
        lambda x: setattr(x * 2, "requires_grad", True),
        RuntimeError,
        "you can only change requires_grad flags of leaf variables.",
    ),
    "numpy": (
        lambda x: x.numpy(),
        RuntimeError,
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
    "array": (
        lambda x: np.asarray(x * 2),
        RuntimeError,
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    ),
    "deepcopy": (
        lambda x: copy.deepcopy(x * 2),
        RuntimeError,
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. Call "
        ".detach() (or .clone().detach()) on the result first.",
    ),
    "grad of another type": (
        lambda x: setattr(x, "grad", 3),
        TypeError,
        "assigned grad expected to be a Tensor or None but got grad of type int",
    ),
    "grad of itself": (lambda x: setattr(x, "grad", x), RuntimeError, "can't assign Variable as its own grad"),
    "grad of another dtype": (lambda x: setattr(x, "grad", adjoint.ones(2)), RuntimeError, GRAD_DTYPE),
    "grad of another shape": (
        lambda x: setattr(x, "grad", adjoint.ones(3, dtype=f64)),
        RuntimeError,
        "attempting to assign a gradient of size '[3]' to a tensor of size '[2]'. Please ensure that the gradient and "
        "the tensor are the same size",
    ),
    "grad_fn": (lambda x: setattr(x, "grad_fn", None), AttributeError, None),
    "hook without gradient": (
        lambda x: x.detach().register_hook(abs),
        RuntimeError,
        "cannot register a hook on a tensor that doesn't require gradient",
    ),
    "post hook without gradient": (
        lambda x: x.detach().register_post_accumulate_grad_hook(abs),
        RuntimeError,
        "cannot register a hook on a tensor that doesn't require gradient",
    ),
    "post hook on a result": (
        lambda x: (x * 2).register_post_accumulate_grad_hook(abs),
        RuntimeError,
        "post accumulate grad hooks cannot be registered on non-leaf tensors",
    ),
    "retain_grad without gradient": (
        lambda x: x.detach().retain_grad(), RuntimeError, "can't retain_grad on Tensor that has requires_grad=False",
    ),
    "detach_ of a view": (
        lambda x: (x * 1)[0:1].detach_(), RuntimeError, "Can't detach views in-place. Use detach() instead.",
    ),
    "data": (lambda x: setattr(x, "data", 3), TypeError, "Variable data has to be a tensor, but got int"),
    "set_grad_enabled": (
        lambda x: adjoint.set_grad_enabled("on"),
        TypeError,
        "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not str",
    ),
}  # fmt: skip

#: in-place operations: (a tensor made of a leaf x = [1, 2], the operation, the text)
IN_PLACE = {
    "leaf": (
        lambda x: x, lambda x: x.add_(1), "a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    "view of a leaf": (
        lambda x: x[0:1],
        lambda v: v.add_(1),
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    "element of a leaf": (
        lambda x: x,
        lambda x: x.__setitem__(0, 5.0),
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    "view made under no_grad": (view_made_under_no_grad, lambda v: v.add_(1), NO_GRAD_VIEW),
    "view from unbind": (lambda x: (x * 1).unbind(0)[0], lambda v: v.add_(1), MULTI_OUTPUT_VIEW.format("Unbind")),
    "view from split": (
        lambda x: (x * 1).split([1, 1])[0], lambda v: v.mul_(2), MULTI_OUTPUT_VIEW.format("SplitWithSizes"),
    ),
    "expanded": (lambda x: adjoint.ones(1, dtype=f64).expand(3), lambda v: v.add_(1), OVERLAP),
    "expanded result": (lambda x: (x * 1)[:1].expand(3), lambda v: v.mul_(2), OVERLAP),
    "dtype": (
        lambda x: adjoint.tensor([1, 2]),
        lambda v: v.add_(0.5),
        "result type Float can't be cast to the desired output type Long",
    ),
    "complex into real": (
        lambda x: x * 1,
        lambda v: v.mul_(1j),
        "result type ComplexDouble can't be cast to the desired output type Double",
    ),
    "broadcast": (
        lambda x: x * 1,
        lambda v: v.add_(adjoint.ones(3, 2, dtype=f64)),
        "output with shape [2] doesn't match the broadcast shape [3, 2]",
    ),
    "shapes": (
        lambda x: x * 1,
        lambda v: v.add_(adjoint.ones(3, dtype=f64)),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    "shapes in copy_": (
        lambda x: x * 1,
        lambda v: v.copy_(adjoint.ones(3, dtype=f64)),
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    ),
    "out requires gradient": (
        lambda x: x * 1,
        lambda v: adjoint.sin(adjoint.ones(2, dtype=f64), out=v),
        "sin(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad.",
    ),
    "input of out requires gradient": (
        other_than,
        lambda v: adjoint.sin(leaf(1.0, 2.0, 3.0), out=v),
        "sin(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad.",
    ),
    "dtype of out": (
        lambda x: adjoint.tensor([1, 2]),
        lambda v: adjoint.sin(adjoint.ones(2), out=v),
        "result type Float can't be cast to the desired output type Long",
    ),
}  # fmt: skip

#: results of hooks, and the messages about them
HOOKS = {
    "size": (lambda g: g[:1], RuntimeError, "hook '<lambda>' has changed the size of value"),
    "type": (
        lambda g: g.float(),
        RuntimeError,
        "hook '<lambda>' has changed the type of value (was adjoint.DoubleTensor got adjoint.FloatTensor)",
    ),
    "no tensor": (lambda g: "gradient", TypeError, "expected Variable, but hook returned 'str'"),
    "callable object": (Unnamed(), RuntimeError, "hook '<unknown>' has changed the size of value"),
}


def expect(error, text):
    return pytest.raises(error) if text is None else says(error, text)


@pytest.mark.filterwarnings("ignore:`grad_variables` is deprecated")
@pytest.mark.parametrize("name", BACKWARD)
def test_messages_of_backward_and_grad(name):
    action, error, text = BACKWARD[name]
    x = leaf(1.0, 2.0)
    with expect(error, text):
        action(x)
    assert x.grad is None
    assert adjoint.is_grad_enabled()


@pytest.mark.parametrize("name", TENSOR)
def test_messages_of_tensors(name):
    action, error, text = TENSOR[name]
    x = leaf(1.0, 2.0)
    with expect(error, text):
        action(x)
    assert x.grad is None and x.requires_grad and x.tolist() == [1.0, 2.0]
    assert adjoint.is_grad_enabled()


@pytest.mark.parametrize("name", IN_PLACE)
def test_messages_of_operations_in_place_which_then_change_nothing(name):
    make, action, text = IN_PLACE[name]
    x = leaf(1.0, 2.0)
    target = make(x)
    before = target.tolist(), target._version, target.grad_fn, target.requires_grad, x.tolist(), x._version
    with says(RuntimeError, text):
        action(target)
    assert (target.tolist(), target._version, target.grad_fn, target.requires_grad, x.tolist(), x._version) == before


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("where", ["leaf", "result"])
@pytest.mark.parametrize("name", HOOKS)
def test_messages_about_hooks(name, where, create_graph):
    hook, error, text = HOOKS[name]
    x = leaf(1.0, 2.0)
    y = x * 1
    (x if where == "leaf" else y).register_hook(hook)
    with says(error, text):
        grad(y.sum(), x, retain_graph=True, create_graph=create_graph)
    with says(error, text):
        y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
def test_number_of_values_from_hooks_on_nodes(register):
    x = leaf(1.0, 2.0)
    y = x * x
    three = lambda *grads: (grads[0][0],) * 3
    getattr(y.grad_fn, register)(three)
    expected = 2 if register == "register_hook" else 1
    text = f"hook '<lambda>' has returned an incorrect number of values (got 3, but expected {expected})"
    with says(RuntimeError, text):
        y.sum().backward()
    assert x.grad is None


class OnlySecond(adjoint.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return None, g


@pytest.mark.parametrize(
    "register",
    [
        lambda a, hook: a.register_hook(hook),
        lambda a, hook: a.grad_fn.register_prehook(lambda gs: (hook(gs[0]),)),
        lambda a, hook: a.grad_fn.register_hook(lambda inputs, outputs: tuple(hook(g) for g in inputs)),
    ],
)
def test_hooks_see_undefined_cotangents_and_cannot_replace_them(register):
    x, notes = leaf(1.0), []
    a = x * 10
    handle = register(a, notes.append)
    OnlySecond.apply(a, x).sum().backward()
    assert set(notes) == {None} and x.grad.tolist() == [1]
    handle.remove()
    register(a, lambda g: adjoint.ones(1, dtype=f64))
    with says(RuntimeError, "can't replace a None gradient with a non-None value"):
        OnlySecond.apply(a, x).sum().backward()


def test_message_about_saved_values_modified():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = (y * 2).sum()
    y.add_(1)
    with says(
        RuntimeError,
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[adjoint.DoubleTensor [2]], which is output 0 of Exp, is at version 1; expected version 0 instead. Hint: "
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "adjoint.autograd.set_detect_anomaly(True, check_nan=False).",
    ):
        z.backward()


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda y, x: y.mul_(2), "Mul"),
        (lambda y, x: y.fill_(x[0]), "Fill3"),
        (lambda y, x: y.unsqueeze_(0), "Unsqueeze1"),
        (lambda y, x: y.copy_(x), "torch::autograd::CopyBackwards"),
        (lambda y, x: y[:1].mul_(2), "torch::autograd::CopySlices"),
    ],
)
def test_messages_name_nodes_as_torch_does(write, name):
    """Without "Backward0"; other numbers stay, and so do the names of torch's nodes that no derivative declares."""
    x = leaf(1.0, 2.0)
    y = x * 1
    z = (y * y).sum()
    write(y, x)
    with pytest.raises(RuntimeError, match=f"which is output 0 of {name}, is at version"):
        z.backward()


def test_message_about_a_modified_leaf_names_no_operation():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = (x * w).sum()
    with adjoint.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match=r"\[adjoint.DoubleTensor \[2\]\] is at version 1; expected version 0"):
        z.backward()


def test_out_writes_nothing_if_one_of_several_results_does_not_fit():
    values, indices = adjoint.zeros(2, dtype=f64), adjoint.zeros(2, dtype=adjoint.bool)
    with says(RuntimeError, "Expected out tensor to have dtype long int, but got bool instead"):
        adjoint.topk(adjoint.tensor([3.0, 1.0, 2.0], dtype=f64), 2, out=(values, indices))
    assert values.tolist() == [0.0, 0.0] and indices.tolist() == [False, False]
    assert (values._version, indices._version) == (0, 0)


def test_out_with_a_sequence_that_requires_gradient():
    target = adjoint.zeros(4, dtype=f64)
    with says(
        RuntimeError,
        "cat(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
        "requires grad.",
    ):
        adjoint.cat([leaf(1.0, 2.0), adjoint.ones(2, dtype=f64)], out=target)
    assert target.tolist() == [0.0] * 4 and target._version == 0


def test_gradients_are_not_accumulated_into_an_expanded_one():
    x = leaf(1.0, 2.0)
    x.grad = adjoint.ones(1, dtype=f64).expand(2)
    with adjoint.autograd.enforce_grad_layout_policy(False), says(RuntimeError, OVERLAP):
        (x * x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_out_is_allowed_under_no_grad():
    target = adjoint.zeros(2, dtype=f64)
    with adjoint.no_grad():
        assert adjoint.mul(leaf(1.0, 2.0), 3, out=target) is target
    assert target.tolist() == [3.0, 6.0] and target._version == 1 and not target.requires_grad


def test_failed_setitem_changes_nothing():
    y = leaf(1.0, 2.0, 3.0) * 1
    node = y.grad_fn
    with pytest.raises(RuntimeError):
        y[:2] = adjoint.ones(3, dtype=f64)
    with pytest.raises(IndexError):
        y[5] = 1.0
    assert y.tolist() == [1.0, 2.0, 3.0] and y._version == 0 and y.grad_fn is node


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: adjoint.sin("x"), TypeError, "sin(): argument 'input' (position 1) must be Tensor, not str"),
        (lambda x: adjoint.add(x, "y"), TypeError, "add(): argument 'other' (position 2) must be Tensor, not str"),
        (lambda x: x + None, TypeError, "unsupported operand type(s) for +: 'Tensor' and 'NoneType'"),
        (lambda x: adjoint.sin(), TypeError, 'sin() missing 1 required positional arguments: "input"'),
        (lambda x: x.sin(1), TypeError, None),
        (
            lambda x: adjoint.sin(x, speed=1),
            TypeError,
            "sin() got an unexpected keyword argument 'speed'; it takes input",
        ),
        (lambda x: adjoint.mul(x, x, other=x), TypeError, "mul() got multiple values for argument 'other'"),
        (
            lambda x: adjoint.mul(x, other=x, of=x),
            TypeError,
            "mul() got an unexpected keyword argument 'of'; it takes input, other",
        ),
        (lambda x: adjoint.stack(x), TypeError, None),
        (lambda x: adjoint.stack([x, 3]), TypeError, "expected Tensor as element 1 in argument 0, but got int"),
        (
            lambda x: x + adjoint.ones(3),
            RuntimeError,
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
        ),
        (
            lambda x: x.cumsum(2),
            IndexError,
            "Dimension out of range (expected to be in range of [-1, 0], but got 2)",
        ),
    ],
)
def test_messages_of_operations(call, error, text):
    with expect(error, text):
        call(leaf(1.0, 2.0))


# notes, which torch does not have -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "notes"),
    [
        (
            lambda: (leaf(1.0, 2.0) * 2).backward(),
            [
                "This one has shape [2]: reduce it to one element, as in y.sum(), or give the gradient with respect to "
                "it.",
                f"See {PAGES}/not-a-scalar.html or call adjoint.explain(error)",
            ],
        ),
        (
            lambda: grad(leaf(1.0).sum(), [leaf(1.0), adjoint.ones(2, 3)]),
            [
                "It is the one at index 1, of shape [2, 3]: call requires_grad_() on it before it is used.",
                f"See {PAGES}/no-history.html or call adjoint.explain(error)",
            ],
        ),
        (lambda: leaf(1.0).add_(1), [f"See {PAGES}/leaf-in-place.html or call adjoint.explain(error)"]),
    ],
)
def test_notes_tell_values_remedies_and_pages(call, notes):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert caught.value.__notes__ == notes


def test_warnings_reach_code_that_has_no_name() -> None:
    y = adjoint.ones(2, requires_grad=True) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        exec("y.grad", {"y": y})
