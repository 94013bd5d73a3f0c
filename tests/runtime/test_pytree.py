"""Trees: flattened, rebuilt, compared."""

import copy
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.arrays.size import Size
from adjoint.runtime import pytree

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Model:
    weight: Any
    bias: Any = None
    name: str = field(default="", metadata={"static": True})


@dataclass(frozen=True)
class Circle:
    radius: Any
    area: Any = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "area", 3 * self.radius**2)


TREES = [
    (1, [1]),
    ("text", ["text"]),
    (None, []),
    ((), []),
    ([], []),
    ({}, []),
    ((1, 2), [1, 2]),
    ([1, (2, [3])], [1, 2, 3]),
    ({"b": 1, "a": 2}, [1, 2]),
    ({1: 1, "a": {None: 2}}, [1, 2]),
    (OrderedDict(b=1, a=(2, None)), [1, 2]),
    (Point(1, (2, 3)), [1, 2, 3]),
    (Model([1, 2], name="m"), [1, 2]),
    (Model(Model(1, 2), {"x": 3}), [1, 2, 3]),
    (Circle(2), [2]),
    (Size([2, 3]), [Size([2, 3])]),
    ({1, 2}, [{1, 2}]),
    (Model, [Model]),
]


@pytest.mark.parametrize(("tree", "leaves"), TREES, ids=lambda value: repr(value)[:40])
def test_there_and_back(tree, leaves):
    result, structure = pytree.flatten(tree)
    assert result == leaves and structure.n_leaves == len(leaves)
    again = structure.unflatten(result)
    assert again == tree and type(again) is type(tree)
    assert pytree.flatten(copy.copy(tree))[1] == structure
    assert structure.flatten_up_to(tree) == leaves
    assert len(pytree.places(structure)) == len(leaves)


nested = st.recursive(
    st.integers() | st.none() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
        | st.builds(Point, inner, inner)
        | st.builds(Model, inner, inner, st.text(max_size=2))
    ),
    max_leaves=12,
)


@pytest.mark.quick(0)
@given(nested)
def test_any_tree_there_and_back(tree):
    leaves, structure = pytree.flatten(tree)
    assert structure.unflatten(leaves) == tree
    assert pytree.map(lambda leaf: leaf, tree) == tree
    assert pytree.flatten(structure.unflatten(range(len(leaves)))) == (list(range(len(leaves))), structure)


@given(nested)
def test_places_lead_to_the_leaves(tree):
    leaves, structure = pytree.flatten(tree)
    results = [eval(f"tree{position}", {"tree": tree}) for position in pytree.places(structure)]
    assert all(a is b for a, b in zip(leaves, results, strict=True))


def test_static_fields_belong_to_the_structure():
    _, first = pytree.flatten(Model(1, name="a"))
    _, second = pytree.flatten(Model(1, name="b"))
    assert first != second
    assert first.unflatten([5]) == Model(5, name="a")


def test_computed_fields_are_computed_again():
    _, structure = pytree.flatten(Circle(2))
    assert structure.unflatten([10]).area == 300


def test_a_default_dictionary_is_a_leaf():
    tree = defaultdict(list, a=1)
    assert pytree.flatten(tree) == ([tree], pytree.LEAF)


def test_is_leaf():
    leaves, structure = pytree.flatten((1, None, [2, 3]), is_leaf=lambda tree: tree is None or isinstance(tree, list))
    assert leaves == [1, None, [2, 3]]
    assert structure.unflatten("abc") == ("a", "b", "c")


def test_structures_tell_containers_keys_and_order_apart():
    trees = [1, (1,), [1], {"a": 1}, {"b": 1}, OrderedDict(a=1), Point(1, 2), (1, 2), {"a": 1, "b": 2}, (1, None)]
    structures = [pytree.flatten(tree)[1] for tree in trees]
    for i, first in enumerate(structures):
        assert [first == second for second in structures] == [i == j for j in range(len(trees))]
    assert pytree.flatten({"a": 1, "b": 2})[1] != pytree.flatten({"b": 2, "a": 1})[1]
    assert hash(structures[8]) == hash(pytree.flatten({"a": 5, "b": 6})[1])


def test_flatten_up_to_keeps_subtrees_and_ignores_the_order_of_dictionaries():
    _, structure = pytree.flatten({"a": 1, "b": (2, 3)})
    assert structure.flatten_up_to({"b": ([4], None), "a": "x"}) == ["x", [4], None]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([1], "expected dict, as in the other tree, but got list"),
        ({"a": 1}, r"expected the keys \['a', 'b'\] but got \['a'\]"),
        ({"a": 1, "b": [2, 3]}, r"expected tuple at \['b'\], as in the other tree, but got list"),
        ({"a": 1, "b": (2,)}, r"expected the keys \[0, 1\] at \['b'\] but got \[0\]"),
    ],
)
def test_other_structures_are_named(tree, message):
    _, structure = pytree.flatten({"a": 1, "b": (2, 3)})
    with pytest.raises(ValueError, match=f"^{message}$"):
        structure.flatten_up_to(tree)
    with pytest.raises(ValueError, match=f"^{message}$"):
        pytree.map(max, {"a": 1, "b": (2, 3)}, tree)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (1, "*"),
        (None, "None"),
        ((), "()"),
        ((1,), "(*,)"),
        ((1, [2, 3]), "(*, [*, *])"),
        ({"a": 1, "b": {2: 3}}, "{'a': *, 'b': {2: *}}"),
        (OrderedDict(a=1), "OrderedDict({'a': *})"),
        (Point(1, (2, None)), "Point(x=*, y=(*, None))"),
        (Model(1, [2], "m"), "Model(weight=*, bias=[*], name='m')"),
    ],
)
def test_a_structure_is_written_as_its_tree_with_stars(tree, text):
    assert repr(pytree.flatten(tree)[1]) == text


def test_number_of_leaves():
    _, structure = pytree.flatten((1, 2))
    with pytest.raises(
        ValueError, match=r"^a tree with 2 leaves cannot be made from 3 values: give one value for each leaf$"
    ):
        structure.unflatten([1, 2, 3])
    with pytest.raises(
        ValueError, match=r"^a tree with 2 leaves cannot be made from 1 values: give one value for each leaf$"
    ):
        structure.unflatten([1])
