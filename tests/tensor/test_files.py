"""save() and load(): what is written comes back, and nothing that a file brings with it is run."""

import collections
import io
import os
import pickle
import zipfile

import numpy
import pytest

import adjoint


def written(value, **options):
    file = io.BytesIO()
    adjoint.save(value, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("protocol", range(6))
def test_everything_comes_back(protocol):
    weight = adjoint.nn.Parameter(adjoint.tensor([1.0, 2.0]))
    weight.tag = "first"
    given = {
        "weight": weight,
        "kinds": [adjoint.tensor([1, 2], dtype=kind) for kind in (adjoint.bfloat16, adjoint.int8, adjoint.complex64)],
        "plain": (1.5, None, "text", b"bytes", True, 2j, {1, 2}, collections.OrderedDict(a=1)),
        "array": numpy.arange(3.0)[::-1],
        "number": numpy.float64(3),
        "named": (adjoint.float32, adjoint.Size([1, 2]), adjoint.device("cpu")),
        "view": adjoint.arange(6.0).reshape(2, 3).T,
    }
    found = adjoint.load(written(given, pickle_protocol=protocol))
    assert type(found["weight"]) is adjoint.nn.Parameter and found["weight"].requires_grad
    assert found["weight"].tag == "first" and found["weight"].tolist() == [1, 2]
    assert [each.dtype for each in found["kinds"]] == [each.dtype for each in given["kinds"]]
    assert found["plain"] == given["plain"] and found["named"] == given["named"]
    assert found["array"].tolist() == [2, 1, 0] and found["number"] == 3
    assert found["view"].tolist() == given["view"].tolist()


def test_history_stays_behind():
    x = adjoint.ones(2, requires_grad=True)
    found = adjoint.load(written(2 * x))
    assert found.is_leaf and found.requires_grad and found.tolist() == [2, 2]


def test_by_path(tmp_path):
    adjoint.save(adjoint.ones(2), tmp_path / "ones")
    assert adjoint.load(str(tmp_path / "ones"), map_location="cpu").tolist() == [1, 1]


class Other:
    pass


@pytest.mark.parametrize("value", [os.system, Other, Other()], ids=["function", "class", "instance"])
def test_what_could_run_code_is_refused_unless_asked_for(value):
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed: the file names .* weights_only=False"):
        adjoint.load(written(value))
    assert type(adjoint.load(written(value), weights_only=False)) is type(value)


def test_files_of_torch_are_recognised():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"a file of torch.save"):
        adjoint.load(file)


def test_the_place_in_a_file_is_kept():
    file = io.BytesIO()
    for number in range(3):
        adjoint.save(adjoint.tensor(number), file)
    file.seek(0)
    assert [adjoint.load(file).item() for _ in range(3)] == [0, 1, 2]


def test_other_places_are_refused():
    with pytest.raises(ValueError, match="map_location='cpu', but got 'cuda:0'"):
        adjoint.load(written(1), map_location="cuda:0")
