"""Functions that do not check their arguments in advance still raise errors that name the wrong argument."""

from __future__ import annotations

import inspect

import numpy
import pytest

import adjoint
from adjoint import Tensor
from adjoint.arrays.libraries.sparse_arrays import SparseArray
from adjoint.core.operations.arguments import INTERNAL, blame_arguments, explanation
from adjoint.functions import binding
from adjoint.functions.composite import COMPOSITES

F = adjoint.nn.functional
x = adjoint.ones(2, 3)

CALLS = {
    "no tensor": (lambda: adjoint.t(100), TypeError, "t(): argument 'input' (position 1) must be Tensor, not int"),
    "a class": (lambda: adjoint.hsplit(adjoint.float64, 1), TypeError, "hsplit(): argument 'input' (position 1)"),
    "a module": (
        lambda: adjoint.meshgrid(adjoint, x[0], indexing="ij"), TypeError, "argument 'tensors' (position 1) must be",
    ),
    "the class": (
        lambda: adjoint.meshgrid(x[0], adjoint.Tensor, indexing="ij"), TypeError, "argument 'tensors' (position 2)",
    ),
    "numbers in an iterable": (
        lambda: adjoint.nn.utils.vector_to_parameters(x[0], numpy.arange(3)), TypeError, "argument 'parameters'",
    ),
    "text in an array": (
        lambda: adjoint.nn.utils.get_total_norm(numpy.array(["a"]), 1.0), TypeError, "argument 'tensors' (position 1)",
    ),
    "a structure": (
        lambda: adjoint.nn.utils.get_total_norm(numpy.zeros(2, "f8,i4")), TypeError, "argument 'tensors' (position 1)",
    ),
    "bytes": (
        lambda: adjoint.nn.utils.get_total_norm(b"x"), TypeError, "argument 'tensors' (position 1)",
    ),
    "no object with parameters": (
        lambda: adjoint.func.functional_call(0, {}), TypeError, "functional_call(): argument 'module' (position 1)",
    ),
    "too many steps": (
        lambda: adjoint.pca_lowrank(x, 1, niter=2**63 - 1), ValueError, "niter may be at most 100000",
    ),
    "a raw array": (
        lambda: F.max_unpool1d(adjoint.ones(1, 1), numpy.zeros((1, 1), int), 2), TypeError,
        "argument 'indices' (position 2) must be Tensor, not ndarray",
    ),
    "NumPy's flags": (
        lambda: adjoint.numpy.require([1.0], None, [adjoint.ones(2)]), ValueError, "knows the requirements C, CONTIGU",
    ),
    "in a list": (
        lambda: adjoint.broadcast_tensors(x, 7), TypeError, "argument 'tensors' (position 2) must be Tensor, not int",
    ),
    "a method's": (lambda: x.take_along_dim("ij"), TypeError, "argument 'indices' (position 2) must be Tensor"),
    "a dtype": (
        lambda: adjoint.linalg.vector_norm(x, dtype=2), TypeError, "vector_norm(): argument 'dtype' (position 5)",
    ),
    "a generator": (lambda: x.normal_(generator=3), TypeError, "argument 'generator' must be Generator, not int"),
    "a check of an operation": (lambda: x.masked_fill(-1, x), TypeError, "argument 'mask' (position 2) must be Tensor"),
    "NumPy's function": (lambda: adjoint.numpy.sin(x, 1), TypeError, "return arrays must be of ArrayType"),
    "a module's function": (lambda: adjoint.nn.init.dirac_(3), TypeError, "dirac_(): argument 'tensor' (position 1)"),
    "a solver": (
        lambda: adjoint.optimize.minimize(adjoint.sum, x, method=adjoint.ones(1)), TypeError, "argument 'method'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_argument_to_blame_is_named(name):
    call, kind, message = CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_errors_of_functions_that_users_give_stay_what_they_are():
    def wrong(y):
        return y.no_such_name

    with pytest.raises(AttributeError, match="no_such_name"):
        adjoint.vmap(wrong)(x)
    with pytest.raises(AttributeError, match="no_such_name"):
        adjoint.optimize.minimize(wrong, x)
    with pytest.raises(AttributeError, match="no_such_name"):
        x.clone().apply_(wrong)


def _is_internal(error):
    """The error, raised inside of this package."""
    try:
        exec("raise error", {"__name__": "adjoint.inside", "error": error})
    except Exception as caught:
        return caught


def _with_options(input, **options: Tensor):
    pass


def _with_a_choice(input: Tensor, how: str = "a", sizes: tuple = ()):
    pass


def _with_a_number(input: Tensor, p: float = 1.0):
    pass


def _with_anything(input):
    pass


BLAMED = {
    "a tensor": (_with_anything, (x,), {}, AttributeError("no such", obj=x), TypeError("must be no Tensor")),
    "no tensor": (_with_anything, (3,), {}, AttributeError("no such", obj=3), TypeError("must be Tensor, not int")),
    "an option": (
        _with_options,
        (x,),
        {"a": 3},
        AttributeError("no", obj=3),
        TypeError("'a' (position 2) must be"),
    ),
    "a choice": (_with_a_choice, (x, "zz"), {}, KeyError("zz"), ValueError("'how' (position 2) has no such choice as")),
    "a letter": (
        _with_a_choice,
        ("zq",),
        {},
        AttributeError("no", obj="q"),
        TypeError("'input' (position 1) must"),
    ),
    "a type": (
        _with_a_choice,
        (x, "a", 3),
        {},
        TypeError("wrong"),
        TypeError("'sizes' (position 3) must be tuple"),
    ),
    "a number": (
        _with_a_number,
        (x, adjoint.ones(2)),
        {},
        AttributeError("no"),
        TypeError("'p' (position 2) must be float, not Tensor"),
    ),
    "an array as a number": (_with_a_number, (x, numpy.array(2.0)), {}, AttributeError("no"), None),
    "too many": (_with_anything, (x, x), {}, AttributeError("no such", obj=x), None),
    "no one": (_with_a_choice, (x, "a", (1,)), {}, KeyError("zz"), None),
}


@pytest.mark.parametrize("name", BLAMED)
def test_which_argument_is_to_blame(name):
    function, args, kwargs, error, expected = BLAMED[name]
    result = explanation(function, "f", args, kwargs, _is_internal(error))
    assert type(result) is type(expected) and (expected is None or str(expected) in str(result)), result


def test_errors_for_which_no_argument_is_to_blame_stay_what_they_are():
    def fail(input, key="a"):
        return {}["b"] if key == "a" else None.name

    for key in "ac":
        with pytest.raises((KeyError, AttributeError)):
            blame_arguments(fail)(x, key=key)


WRONG = (3, "a", None, [], ["a"], (1, None), {}, object(), adjoint.float64, int, 2**70, 1j, numpy.array("x"), slice(1))


def _error_of(function, *args):
    """The internal error of a call, in a list; an empty list if there is none."""
    try:
        function(*args)
    except INTERNAL as error:
        if not (isinstance(error, AssertionError) and error.args):
            yield error
    except Exception:
        return


def _errors_of(function, firsts):
    for first in firsts:
        for others in ((), *((value,) for value in WRONG), *((1, value) for value in WRONG), *((x, v) for v in WRONG)):
            for error in _error_of(function, first, *others):
                yield first, others, error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(binding._QUICK_METHODS))
def test_quick_composites_need_no_look_at_their_arguments(name):
    """Such functions raise no internal error for these arguments: methods for tensors, functions for any values."""
    results = [declared for (_, key), declared in COMPOSITES.items() if name in (key, declared.method)]
    assert results
    for declared in results:
        firsts = (x, *WRONG) if name in binding._QUICK and declared.namespace != "(method)" else (x,)
        assert list(_errors_of(declared.function, firsts)) == []


ARRAYS = {
    "matrix": numpy.ones((2, 2)).view(numpy.matrix),
    "recarray": numpy.ones(2).view(numpy.recarray),
    "masked": numpy.ma.array([1.0, 2.0], mask=[0, 1]),
    "structure": numpy.zeros(2, "f8,i4"),
    "objects": numpy.array([1, 2], object),
    "other byte order": numpy.ones(2, ">f8"),
    "longdouble": numpy.ones(2, "g"),
    "text": numpy.array(["a"]),
    "dates": numpy.array(["2020"], "M8[Y]"),
}
CHANGING = {"save", "load", "set_default_dtype", "seed", "manual_seed", "set_rng_state", "set_default_tensor_type"}
SPACES = {"": adjoint, "linalg": adjoint.linalg, "special": adjoint.special, "nn.functional": F, "fft": adjoint.fft}
FUNCTIONS = {
    f"{space}.{name}": value
    for space, module in SPACES.items()
    for name, value in vars(module).items()
    if callable(value) and not isinstance(value, type) and not name.startswith(("_", "set_")) and name not in CHANGING
}


#: The classes of arrays of tensors in main memory, dense and sparse.
PLAIN = (numpy.ndarray, SparseArray)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ARRAYS)
def test_tensors_hold_plain_arrays_only(kind):
    """Results of raw arrays hold NumPy's own array class and a dtype that tensors have."""
    a = ARRAYS[kind]
    results = []
    with numpy.errstate(all="ignore"):
        for name, function in FUNCTIONS.items():
            for args in ((a,), (a, 0), (a, 2), (a, a), ([a, a],), (a, (2, 2)), (adjoint.ones(2, 2), a)):
                try:
                    result = function(*args)
                except Exception:
                    continue
                parts = result if isinstance(result, (tuple, list)) else (result,)
                results += [
                    name
                    for part in parts
                    if isinstance(part, adjoint.Tensor)
                    and (type(part._array) not in PLAIN or part._array.dtype.char in "gGOSUMm")
                ]
    assert sorted(set(results)) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: adjoint.func.stack_module_state([1, 2]),
        lambda: adjoint.func.rearrange(x, 10**9),
        lambda: x.view(dtype=b"x"),
        lambda: x.view(dtype=3),
    ],
)
def test_wrong_models_patterns_and_types_are_named(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "value",
    [numpy.ones((2, 3)), numpy.array(["a"]), numpy, adjoint, adjoint.Tensor, [numpy.arange(3)]],
    ids=["array", "text", "NumPy", "adjoint", "the class", "a list of arrays"],
)
@pytest.mark.parametrize("space", sorted(SPACES))
def test_what_is_no_tensor_gives_no_error_of_the_inside(space, value):
    """A raw array or a module replaces each of the first arguments in turn. The function accepts it or names it."""
    results = []
    for name, function in FUNCTIONS.items():
        # its error says which method is missing, as errors of other libraries do
        if name.rpartition(".")[0] == space and name != ".from_dlpack":
            for n in (1, 2, 3):
                for position in range(n):
                    args = [value if i == position else x for i in range(n)]
                    results += [(name, args, error) for error in _error_of(function, *args)]
    assert results == []


#: For each annotation: a value that fits it, a value that does not, and the type in the error.
ANNOTATIONS = [
    ("Tensor", x, 1, "int"),
    ("int", 1, "1", "str"),
    ("bool", True, "a", "str"),
    ("float", 1.5, "a", "str"),
    ("complex", 1j, "a", "str"),
    ("str", "a", 1, "int"),
    ("dtype", adjoint.float32, 1, "int"),
    ("Callable", len, 1, "int"),
    ("Sequence", [1], 1, "int"),
    ("Sequence[int]", (1, 2), ["a"], "list of str"),
    ("Iterable[int]", iter(()), 1, "int"),
    ("int | Sequence[int | None]", [1, None], ["a"], "list of str"),
    ("Sequence[int | None] | int", 3, "a", "str"),
    ("tuple[Tensor, ...]", (x,), (1,), "tuple of int"),
    ("Generator | None", None, 3, "int"),
]


@pytest.mark.parametrize(("annotation", "fitting", "unfit", "kind"), ANNOTATIONS, ids=[case[0] for case in ANNOTATIONS])
def test_an_argument_fits_its_annotation_or_is_named(annotation, fitting, unfit, kind):
    space = {"__name__": "adjoint.inside"}
    exec("def fail():\n    assert False", space)
    with pytest.raises(AssertionError) as caught:
        space["fail"]()
    parameter = inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
    signature = inspect.Signature([parameter])
    assert explanation(signature, "f", (fitting,), {}, caught.value) is None
    result = explanation(signature, "f", (unfit,), {}, caught.value)
    assert isinstance(result, TypeError)
    assert str(result) == f"f(): argument 'value' (position 1) must be {annotation}, not {kind}"
