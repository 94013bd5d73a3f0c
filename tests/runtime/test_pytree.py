"""Trees: flattened, rebuilt, compared."""

import copy
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint
from adjoint.arrays.size import Size
from adjoint.runtime import pytree
from adjoint.utils import _pytree as torch_pytree

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


# torch's names --------------------------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")
TREE = {"x": [1, (2,)], "y": Pair(3, OrderedDict(q=4)), 5: None, 6: defaultdict(list, z=[7]), 7: deque([8], maxlen=3)}


def test_paths_lead_to_the_leaves():
    pairs, structure = torch_pytree.tree_flatten_with_path(TREE)
    assert [torch_pytree.keystr(path) for path, _ in pairs] == [
        "['x'][0]", "['x'][1][0]", "['y'].a", "['y'].b['q']", "[5]", "[6]['z'][0]", "[7][0]"
    ]  # fmt: skip
    assert all(torch_pytree.key_get(TREE, path) is leaf for path, leaf in pairs)
    assert torch_pytree.tree_leaves_with_path(TREE) == pairs
    assert [leaf for _, leaf in pairs] == torch_pytree.tree_leaves(TREE)
    assert torch_pytree.tree_unflatten([leaf for _, leaf in pairs], structure) == TREE
    assert pairs[2][0] == (torch_pytree.MappingKey("y"), torch_pytree.GetAttrKey("a"))
    assert (structure.num_leaves, structure.num_children) == (7, 5)
    # seven leaves in eight containers
    assert structure.num_nodes == 15


def test_map_with_paths():
    result = torch_pytree.tree_map_with_path(lambda path, a, b: (str(path[0]), a + b), [1, 2], [10, 20])
    assert result == [("[0]", 11), ("[1]", 22)]
    assert torch_pytree.tree_is_leaf(3) and not torch_pytree.tree_is_leaf([3])
    assert torch_pytree.tree_is_leaf([3], lambda part: type(part) is list)


@pytest.mark.parametrize(
    "tree", [defaultdict(int, a=1), deque([1, 2], maxlen=4), deque()], ids=["defaultdict", "deque", "empty"]
)
def test_further_containers_keep_their_options(tree):
    leaves, structure = pytree.flatten(tree)
    again = structure.unflatten([leaf * 2 for leaf in leaves])
    assert type(again) is type(tree) and len(again) == len(tree)
    for option in ("default_factory", "maxlen"):
        assert getattr(again, option, None) == getattr(tree, option, None)
    assert structure == pytree.flatten(again)[1]
    assert repr(structure).startswith(type(tree).__name__)


def test_transforms_take_further_containers():
    x = adjoint.ones(2)
    gradient = adjoint.func.grad(lambda tree: (3 * tree["a"]).sum())(defaultdict(int, a=x))
    assert type(gradient) is defaultdict and gradient["a"].tolist() == [3.0, 3.0]
    gradient = adjoint.func.grad(lambda tree: (3 * tree[0]).sum())(deque([x]))
    assert type(gradient) is deque and gradient[0].tolist() == [3.0, 3.0]


class Grid:
    """A registered container whose members have names."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns


def test_a_registered_class_names_its_members():
    def entries(grid):
        pairs = [(torch_pytree.GetAttrKey("rows"), grid.rows), (torch_pytree.MappingKey("columns"), grid.columns)]
        return pairs, None

    if not pytree.is_registered(Grid):
        torch_pytree.register_pytree_node(
            Grid,
            lambda grid: ([grid.rows, grid.columns], None),
            lambda members, context: Grid(*members),
            flatten_with_keys_fn=entries,
        )
    paths = [torch_pytree.keystr(path) for path, _ in torch_pytree.tree_leaves_with_path([Grid((1, 2), 3)])]
    assert paths == ["[0].rows[0]", "[0].rows[1]", "[0]['columns']"]


def test_the_number_of_leaves_is_checked():
    _, structure = torch_pytree.tree_flatten([1, 2])
    with pytest.raises(ValueError, match="`leaves` has length 3 but the spec refers to a pytree that holds 2 items"):
        torch_pytree.tree_unflatten([1, 2, 3], structure)
