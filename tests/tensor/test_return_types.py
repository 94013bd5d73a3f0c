"""Named tuples of several results."""

from __future__ import annotations

import copy
import pickle

import pytest

import adjoint
from adjoint.func import vmap


def test_results_print_one_to_a_line() -> None:
    x = adjoint.tensor([[1.0, 3.0], [2.0, 0.0]])
    text = "adjoint.return_types.max(\nvalues=tensor([2., 3.]),\nindices=tensor([1, 0]))"
    assert repr(x.max(0)) == str(x.max(0)) == text
    assert repr(adjoint.aminmax(x)) == "adjoint.return_types.aminmax(\nmin=tensor(0.),\nmax=tensor(3.))"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("max", lambda x: x.max(0)),
        ("sort", adjoint.sort),
        ("linalg_svd", adjoint.linalg.svd),
        ("slogdet", adjoint.slogdet),
        ("histogram", lambda x: adjoint.histogram(x, 3)),
        ("aminmax", adjoint.aminmax),
    ],
)
def test_classes_of_results(name: str, call: object) -> None:
    kind = getattr(adjoint.return_types, name)
    assert name in dir(adjoint.return_types)
    result = call(adjoint.eye(2) + 1)
    assert type(result) is kind and kind.__name__ == kind.__qualname__ == name
    first, second, *rest = result
    # the classes take one sequence, as in torch
    for again in (kind((first, second, *rest)), kind(first, second, *rest), copy.copy(result)):
        assert type(again) is kind and again[0] is first and again[1] is second
    with pytest.raises(TypeError):
        kind((first,))
    loaded = pickle.loads(pickle.dumps(result))
    assert type(loaded) is kind
    assert [r.tolist() for r in loaded] == [r.tolist() for r in result]


def test_results_keep_their_class_through_vmap() -> None:
    assert type(vmap(lambda x: x.max(0))(adjoint.eye(2))) is adjoint.return_types.max


def test_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        adjoint.return_types.sin  # noqa: B018


def test_named_results_bear_the_name_of_their_function() -> None:
    x = adjoint.eye(2)
    calls = {
        "linalg_svd": adjoint.linalg.svd(x), "svd": adjoint.svd(x), "linalg_qr": adjoint.linalg.qr(x),
        "qr": adjoint.qr(x),
        "slogdet": adjoint.slogdet(x), "linalg_slogdet": adjoint.linalg.slogdet(x), "linalg_lu": adjoint.linalg.lu(x),
        "lu_unpack": adjoint.lu_unpack(*adjoint.linalg.lu_factor(x)), "linalg_lu_factor": adjoint.linalg.lu_factor(x),
        "linalg_lstsq": adjoint.linalg.lstsq(x, x), "aminmax": adjoint.aminmax(x), "max": adjoint.max(x, 0),
    }  # fmt: skip
    assert {name: type(result).__name__ for name, result in calls.items()} == {name: name for name in calls}
    assert repr(adjoint.aminmax(x)) == "adjoint.return_types.aminmax(\nmin=tensor(0.),\nmax=tensor(1.))"
    assert type(pickle.loads(pickle.dumps(calls["linalg_lu"]))) is type(calls["linalg_lu"])
