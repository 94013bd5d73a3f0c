"""Containers: sequences, lists and dictionaries of modules and of parameters."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import adjoint
from adjoint import nn

o = adjoint.ones


def names(container):
    return [type(module).__name__ for module in container]


def test_sequential():
    row = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert names(row[:2]) == ["ReLU", "Tanh"] and isinstance(row[-1], nn.Sigmoid) and len(row) == 3
    assert isinstance(row.pop(0), nn.ReLU)
    assert names(row.append(nn.SELU()).insert(1, nn.CELU()).extend([nn.ELU()])) == [
        "Tanh", "CELU", "Sigmoid", "SELU", "ELU",
    ]  # fmt: skip
    assert names(row[:1] + row[:1]) == ["Tanh", "Tanh"] and names(row[:1] * 2) == names(2 * row[:1]) == ["Tanh"] * 2
    del row[0]
    del row[1:]
    assert names(row) == ["CELU"] and list(row._modules) == ["0"]
    row[0] = nn.Tanh()
    row += nn.Sequential(nn.ReLU())
    row *= 2
    assert names(row) == ["Tanh", "ReLU", "Tanh", "ReLU"]
    network = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert isinstance(network.second, nn.Tanh) and list(network[1:]._modules) == ["second"]
    assert network(adjoint.tensor([-1.0])).item() == 0


def test_list():
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    layers.insert(1, nn.ELU())
    layers += [nn.SELU()]
    assert names(layers) == ["ReLU", "ELU", "Tanh", "SELU"] and names(layers[2:]) == ["Tanh", "SELU"]
    assert names(layers + [nn.CELU()])[-1] == "CELU" and repr(nn.ModuleList()) == "ModuleList()"
    assert isinstance(layers.pop(-1), nn.SELU)
    del layers[0]
    assert names(layers) == ["ELU", "Tanh"] and list(layers._modules) == ["0", "1"]


def test_dictionary():
    layers = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    assert list(layers) == list(layers.keys()) == ["b", "a"] and names(layers.values()) == ["ReLU", "Tanh"]
    layers.update([("c", nn.ELU())])
    assert "c" in layers and len(layers) == 3 and dict(layers.items())["c"] is layers["c"]
    assert isinstance(layers.pop("b"), nn.ReLU)
    del layers["a"]
    layers.clear()
    assert len(layers) == 0


def test_list_of_parameters():
    values = nn.ParameterList([o(2), nn.Parameter(o(3)), 3])
    assert [type(value).__name__ for value in values] == ["Parameter", "Parameter", "int"]
    assert list(values.state_dict()) == ["0", "1"] and len(values[:2]) == 2 and values[-1] == 3
    values += [o(1)]
    assert values.pop(0).shape == (2,) and len(values) == 3 and "0" not in dir(values)
    values[0] = o(4)
    assert values[0].shape == (4,) and isinstance(values[0], nn.Parameter)
    assert repr(nn.ParameterList([o(2, 3), 3])) == (
        "ParameterList(\n    (0): Parameter containing: [adjoint.float32 of size 2x3]\n    (1): Object of type: int\n)"
    )


def test_dictionary_of_parameters():
    values = nn.ParameterDict({"b": o(2), "a": 3})
    # plain dictionaries are ordered by keys, ordered ones keep their order
    assert list(values) == ["a", "b"] and list(nn.ParameterDict(OrderedDict(b=o(1), a=o(1)))) == ["b", "a"]
    assert values.get("z", 4) == 4 and values.setdefault("c", o(3)).shape == (3,) and len(values.values()) == 3
    other = values | {"d": 1}
    assert "d" in other and "d" not in values and list(reversed(values)) == ["c", "b", "a"]
    assert list({"e": 1} | values) == ["e", "a", "b", "c"]
    values |= {"d": 1}
    assert values.popitem() == ("d", 1) and values.pop("a") == 3 and list(values.state_dict()) == ["b", "c"]
    assert list(values.fromkeys(["x"], 1).items()) == [("x", 1)]
    values.clear()
    assert len(values) == 0 and list(values.keys()) == []
    with pytest.raises(KeyError):
        values.popitem()


BAD = {
    "nn.Sequential(3)": "int is not a Module subclass",
    "nn.Sequential(nn.ReLU)": "adjoint.nn.modules.activation.ReLU is not a Module subclass",
    "nn.Sequential()[0]": "index 0 is out of range",
    "nn.Sequential()['2']": "'str' object cannot be interpreted as an integer",
    "nn.Sequential() + 3": "add operator supports only objects of Sequential class, but <class 'int'> is given.",
    "nn.Sequential().__iadd__(3)": "add operator supports only objects of Sequential class, but <class 'int'> is "
    "given.",
    "nn.Sequential() * 'a'": "unsupported operand type(s) for *: <class 'adjoint.nn.modules.container.Sequential'> and "
    "<class 'str'>",
    "nn.Sequential() * 0": "Non-positive multiplication factor 0 for <class 'adjoint.nn.modules.container.Sequential'>",
    "nn.Sequential().insert(9, nn.ReLU())": "Index out of range: 9",
    "nn.Sequential().insert(0, 3)": "module should be of type: <class 'adjoint.nn.modules.module.Module'>",
    "nn.ModuleList(3)": "ModuleList.extend should be called with an iterable, but got int",
    "nn.ModuleDict(3)": "ModuleDict.update should be called with an iterable of key/value pairs, but got int",
    "nn.ModuleDict([3])": "ModuleDict update sequence element #0 should be Iterable; isint",
    "nn.ModuleDict([('a',)])": "ModuleDict update sequence element #0 has length 1; 2 is required",
    "nn.ParameterList(3)": "ParameterList.extend should be called with an iterable, but got int",
    "nn.ParameterList([1])[4]": "index 4 is out of range",
    "nn.ParameterList()(3)": "ParameterList should not be called.",
    "nn.ParameterDict()(3)": "ParameterDict should not be called.",
    "nn.ParameterDict({3: o(2)})": "Index given to ParameterDict cannot be used as a key as it is not a string (type "
    "is 'int').",
}


@pytest.mark.parametrize("expression", BAD)
def test_bad_arguments(expression):
    with pytest.raises(Exception) as caught:
        eval(expression)
    assert str(caught.value) == BAD[expression]
