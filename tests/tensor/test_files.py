"""save() and load(): stored values are restored, and loading runs no code from the file."""

import codecs
import collections
import io
import os
import pickle
import pickletools
import sys
import zipfile
from pathlib import Path

import numpy
import pytest

import adjoint
from adjoint.tensor.memory import torch_files


def store(value, **options):
    file = io.BytesIO()
    adjoint.save(value, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("protocol", range(6))
def test_everything_comes_back(protocol):
    weight = adjoint.nn.Parameter(adjoint.tensor([1.0, 2.0]))
    weight.tag = "first"
    contents = {
        "weight": weight,
        "kinds": [adjoint.tensor([1, 2], dtype=kind) for kind in (adjoint.bfloat16, adjoint.int8, adjoint.complex64)],
        "plain": (1.5, None, "text", b"bytes", True, 2j, {1, 2}),
        "mappings": (collections.OrderedDict(a=1), collections.Counter("aab")),
        "array": numpy.arange(3.0)[::-1],
        "number": numpy.float64(3),
        "named": (adjoint.float32, adjoint.Size([1, 2]), adjoint.device("cpu")),
        "view": adjoint.arange(6.0).reshape(2, 3).T,
    }
    result = adjoint.load(store(contents, pickle_protocol=protocol))
    assert type(result["weight"]) is adjoint.nn.Parameter and result["weight"].requires_grad
    assert result["weight"].tag == "first" and result["weight"].tolist() == [1, 2]
    assert [each.dtype for each in result["kinds"]] == [each.dtype for each in contents["kinds"]]
    assert all(result[name] == contents[name] for name in ("plain", "mappings", "named"))
    assert [type(each) for each in result["mappings"]] == [collections.OrderedDict, collections.Counter]
    assert result["array"].tolist() == [2, 1, 0] and result["number"] == 3
    assert result["view"].tolist() == contents["view"].tolist()


def test_the_state_of_every_schedule_comes_back():
    parameters = [adjoint.nn.Parameter(adjoint.ones(1))]
    schedules = adjoint.optim.lr_scheduler
    for make in (
        lambda optimizer: schedules.MultiStepLR(optimizer, [1, 1, 3]),
        lambda optimizer: schedules.OneCycleLR(optimizer, 0.1, total_steps=5),
        schedules.ReduceLROnPlateau,
        lambda optimizer: schedules.SequentialLR(optimizer, [schedules.ConstantLR(optimizer)], []),
    ):
        state = make(adjoint.optim.SGD(parameters, lr=0.1)).state_dict()
        assert adjoint.load(store(state)) == state


def test_history_stays_behind():
    x = adjoint.ones(2, requires_grad=True)
    result = adjoint.load(store(2 * x))
    assert result.is_leaf and result.requires_grad and result.tolist() == [2, 2]


def test_by_path(tmp_path):
    adjoint.save(adjoint.ones(2), tmp_path / "ones")
    for location in ("cpu", "cpu:0", adjoint.device("cpu")):
        assert adjoint.load(str(tmp_path / "ones"), map_location=location).tolist() == [1, 1]


class Other:
    pass


@pytest.mark.parametrize("value", [os.system, Other, Other()], ids=["function", "class", "instance"])
def test_what_could_run_code_is_refused_unless_asked_for(value):
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed: the file names .* weights_only=False"):
        adjoint.load(store(value))
    assert type(adjoint.load(store(value), weights_only=False)) is type(value)


def test_pickles_of_earlier_versions_are_read():
    state = {"weight": adjoint.nn.Parameter(adjoint.ones(2)), "number": 3}
    result = adjoint.load(io.BytesIO(pickle.dumps(state)))
    assert type(result["weight"]) is adjoint.nn.Parameter
    assert result["weight"].tolist() == [1, 1] and result["number"] == 3


def test_tensors_over_one_memory_stay_so():
    x = adjoint.arange(6.0)
    result, first, column = adjoint.load(store([x, x[1:3], x.reshape(2, 3)[:, 2]]))
    result[2] = 9.0
    assert first.tolist() == [1, 9] and column.tolist() == [9, 5]


def is_mapped(tensor):
    memory = tensor._array
    while isinstance(memory, numpy.ndarray):
        memory = memory.base
    return isinstance(memory, memoryview)


def test_tensors_that_lie_in_a_mapped_file(tmp_path):
    path = tmp_path / "tensors.pt"
    whole = adjoint.arange(6.0)
    tensors = {
        "whole": whole,
        "part": whole[2:],
        "short": adjoint.ones(3, dtype=adjoint.int16),
        "none": adjoint.ones(0),
    }
    adjoint.save(tensors, path)
    contents = adjoint.load(path, mmap=True)
    assert all(contents[name].tolist() == tensors[name].tolist() for name in tensors)
    assert all(is_mapped(contents[name]) and contents[name]._array.flags.aligned for name in ("whole", "part", "short"))
    contents["whole"].mul_(2)
    assert contents["part"].tolist() == [4, 6, 8, 10]
    assert adjoint.load(path)["whole"].tolist() == whole.tolist()


def test_entries_at_any_place_of_a_mapped_file_are_read(tmp_path):
    path = tmp_path / "tensors.pt"
    adjoint.save(adjoint.arange(6.0), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    # the new archive lacks the padding that aligns arrays
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    assert adjoint.load(path, mmap=True).tolist() == [0, 1, 2, 3, 4, 5]
    data = path.read_bytes()
    at = data.index(b"PK", data.index(b"PK", 4) + 4)
    path.write_bytes(data[:at] + b"XX" + data[at + 2 :])
    with pytest.raises(pickle.UnpicklingError):
        adjoint.load(path, mmap=True)


def test_what_cannot_be_mapped(tmp_path):
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        adjoint.load(io.BytesIO(), mmap=True)
    path = tmp_path / "pickle"
    path.write_bytes(pickle.dumps([1.0]))
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved by"):
        adjoint.load(path, mmap=True)
    assert adjoint.load(path, mmap=False) == [1.0]


def test_the_archive_is_one_of_torch():
    """The names in the pickle are torch's. torch.save wrote the file tests/data/torch_state_dict.pt."""
    state = collections.OrderedDict(weight=adjoint.ones(2, 3))
    with zipfile.ZipFile(store(state)) as archive:
        names = {name: archive.read(name) for name in archive.namelist()}
    assert set(names) == {f"archive/{name}" for name in ("data.pkl", "byteorder", "data/0", "version")}
    assert names["archive/data/0"] == numpy.ones(6, "f4").tobytes() and names["archive/version"] == b"3\n"
    assert {"torch._utils _rebuild_tensor_v2", "torch FloatStorage"} <= set(words(names["archive/data.pkl"]))


def test_the_order_of_bytes_is_that_of_the_machine(monkeypatch):
    """A file names its byte order, so other machines can read it. An untyped storage has the order of its tensors."""
    here, there = ("little", "big") if sys.byteorder == "little" else ("big", "little")
    one = adjoint.tensor([1, 2], dtype=adjoint.uint16)  # torch has no class of storages for uint16
    typed, untyped = store(one.to(adjoint.int16)), store([one, one[1:]])
    with zipfile.ZipFile(typed) as archive:
        assert archive.read("archive/byteorder").decode() == here
    monkeypatch.setattr(sys, "byteorder", there)
    assert adjoint.load(typed).tolist() == [256, 512]
    assert [x.tolist() for x in adjoint.load(untyped)] == [[256, 512], [512]]
    with zipfile.ZipFile(store(adjoint.ones(1))) as archive:
        assert archive.read("archive/byteorder").decode() == there


def test_a_storage_in_another_order_of_bytes_has_one_dtype():
    storage = torch_files._Storage(bytearray(b"\0\1\0\2"), None, foreign=True)
    for _ in range(2):
        assert storage.bytes_for(numpy.dtype("u2")) == b"\1\0\2\0"
    with pytest.raises(ValueError, match="has elements of one type"):
        storage.bytes_for(numpy.dtype("u4"))


def test_arrays_of_bfloat16_in_another_order_of_bytes_are_refused(monkeypatch):
    """NumPy has no dtype for bfloat16 in another byte order. Arrays of other types keep their order."""
    halves, numbers = (store(adjoint.ones(2, dtype=kind).numpy()) for kind in (adjoint.bfloat16, adjoint.int16))
    assert adjoint.load(halves).tolist() == [1, 1]
    monkeypatch.setattr(sys, "byteorder", "big" if sys.byteorder == "little" else "little")
    assert adjoint.load(numbers).tolist() == [1, 1]
    with pytest.raises(pickle.UnpicklingError, match="bfloat16 in the other order of bytes"):
        adjoint.load(halves)


def words(contents):
    """The names of global objects in a pickle."""
    return [argument for code, argument, _ in pickletools.genops(contents) if code.name == "GLOBAL"]


def test_a_file_that_torch_wrote_is_read():
    result = adjoint.load(Path(__file__).parents[1] / "data" / "torch_state_dict.pt")
    model = adjoint.nn.Sequential(adjoint.nn.Linear(2, 3), adjoint.nn.BatchNorm1d(3))
    assert str(model.load_state_dict(result["model"])) == "<All keys matched successfully>"
    assert result["model"]._metadata["1"] == {"version": 2}
    assert type(result["parameter"]) is adjoint.nn.Parameter and result["parameter"].requires_grad
    result["views"][0][0] = 9.0
    assert result["x"].tolist() == [0, 9, 2, 3, 4, 5] and result["x"].tag == "first"
    assert result["turned"].tolist() == [[0, 3], [1, 4], [2, 5]] and result["conjugate"].tolist() == [-1j]
    assert [result[name].dtype for name in ("uint16", "bfloat16")] == [adjoint.uint16, adjoint.bfloat16]
    assert result["plain"] == (adjoint.float32, adjoint.Size([2]), adjoint.device("cpu"))
    optimizer = adjoint.optim.Adam(model.parameters())
    optimizer.load_state_dict(result["optimizer"])
    assert optimizer.state[model[0].weight]["step"] == 1


def alter(change):
    """A copy of a torch file with another pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(store(adjoint.ones(2))) as archive, zipfile.ZipFile(file, "w") as other:
        for name in archive.namelist():
            contents = archive.read(name)
            other.writestr(name, change(contents) if name.endswith("data.pkl") else contents)
    file.seek(0)
    return file


WRONG = {
    "another size": (b"K\x02\x85", b"K\x03\x85"),
    "another place": (b"QK\x00", b"QK\x07"),
    "another storage": (b"X\x01\x00\x00\x000", b"X\x01\x00\x00\x001"),
    "another class": (b"torch\nFloatStorage", b"torch\nQInt8Storage"),
    "another function": (b"_rebuild_tensor_v2", b"_rebuild_qtensor"),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_archives_with_other_references_are_refused(change):
    assert adjoint.load(alter(lambda contents: contents)).tolist() == [1, 1]
    with pytest.raises(pickle.UnpicklingError):
        adjoint.load(alter(lambda contents: contents.replace(*change)))


def test_whole_modules_are_read_where_code_may_run():
    model = adjoint.nn.Sequential(adjoint.nn.Linear(2, 3), adjoint.nn.ReLU())
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        adjoint.load(store(model))
    result = adjoint.load(store(model), weights_only=False)
    assert str(result) == str(model) and result[0].weight.tolist() == model[0].weight.tolist()


def test_other_places_are_refused():
    with pytest.raises(ValueError, match="map_location='cpu', but got 'cuda:0'"):
        adjoint.load(store(1), map_location="cuda:0")


# files written by hand -----------------------------------------------------------------------------------------------


class Call:
    """A value that is pickled as a call of any function with arguments and a state."""

    def __init__(self, function, *arguments, state=None):
        self.parts = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.parts


FLOAT = numpy.dtype("f8")
RECONSTRUCT = numpy.arange(3)[::-1].__reduce__()[0]
FROMBUFFER, *_ = numpy.arange(3).__reduce_ex__(5)
SCALAR = numpy.float64(3).__reduce__()[0]
REBUILD = adjoint.ones(1).__reduce_ex__(2)[0]
UNSAFE = {
    "an array over any memory": Call(numpy.ndarray, (2,), "f8", b"0" * 8),
    "an array of pointers": Call(FROMBUFFER, b"0" * 8, numpy.dtype("O"), (1,), "C"),
    "pointers by their code": Call(numpy.dtype, "O", False, True),
    "a structure": Call(numpy.dtype, [("a", "f8"), ("b", "O")], False, True),
    "text": numpy.array(["text"]),
    "dates": numpy.array(["2020-01-01"], "M8[D]"),
    "a shape without its elements": Call(FROMBUFFER, b"0" * 8, FLOAT, (2**40,), "C"),
    "more elements than its shape": Call(FROMBUFFER, b"0" * 16, FLOAT, (1,), "C"),
    "a negative length": Call(FROMBUFFER, b"0" * 8, FLOAT, (-1,), "C"),
    "an empty shape of enormous lengths": Call(FROMBUFFER, b"", FLOAT, (0, 2**62, 2**62), "C"),
    "axes that are none": Call(FROMBUFFER, b"0" * 8, FLOAT, (1, 1), "K", (0, 0)),
    "an array of pointers in two steps": Call(
        RECONSTRUCT, numpy.ndarray, (0,), b"b", state=(1, (1,), numpy.dtype("O"), False, [1])
    ),
    "an array that is larger than its bytes": Call(
        RECONSTRUCT, numpy.ndarray, (0,), b"b", state=(1, (2**30,), FLOAT, False, b"0" * 8)
    ),
    "an array that begins large": Call(RECONSTRUCT, numpy.ndarray, (2**40,), b"b"),
    "a subclass": Call(RECONSTRUCT, numpy.matrix, (0,), b"b"),
    "the state of an array that is complete": Call(
        FROMBUFFER, b"0" * 8, FLOAT, (1,), "C", state=(1, (1,), FLOAT, False, b"0" * 8)
    ),
    "a number of other bytes": Call(SCALAR, FLOAT, b"0"),
    "a number that is an object": Call(SCALAR, numpy.dtype("O"), 3),
    "a dtype with fields": Call(numpy.dtype, "f8", False, True, state=(3, "<", None, ("a",), {}, 8, 1, 0)),
    "a tensor over anything": Call(REBUILD, adjoint.Tensor, [1.0], False, {}),
    "a tensor of another class": Call(REBUILD, dict, numpy.ones(1), False, {}),
    "a factory that is no class of values": Call(collections.defaultdict, print),
    "a codec that unpacks": Call(codecs.encode, "x", "rot13"),
    "memory": Call(bytearray, 2**40),
    "a list as long as one likes": Call(list, range(2**40)),
    "an array by its type": Call(numpy.float64, 2),
}


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("value", UNSAFE.values(), ids=UNSAFE)
def test_files_call_nothing_with_arguments_of_their_own(value, protocol):
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed: .* weights_only=False"):
        adjoint.load(store(value, pickle_protocol=protocol))


@pytest.mark.parametrize("kind", list("?bhilqBHILQefdgFDG"))
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("protocol", range(6))
def test_arrays_of_every_plain_type_and_layout_come_back(kind, order, protocol):
    dtype = numpy.dtype(kind).newbyteorder(order)
    whole = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
    for array in (whole, whole.T, whole.transpose(1, 0, 2), whole[::-1], whole[:0], whole[0, 0, 0], whole[:1, :, :1]):
        result, again = adjoint.load(store([array, array], pickle_protocol=protocol))
        plain = pickle.loads(pickle.dumps(array, protocol=protocol))
        assert result.dtype == plain.dtype and result.strides == plain.strides and result is again
        assert result.shape == array.shape and numpy.array_equal(result, array)
    assert adjoint.load(store(dtype, pickle_protocol=protocol)) == dtype


def test_a_short_file_asks_for_little_memory():
    """Lengths in a file cause an allocation only if the file has the bytes."""
    for code in (b"\x96", b"\x8e", b"\x8d", b"\x95"):  # BYTEARRAY8, BINBYTES8, BINUNICODE8, FRAME
        with pytest.raises(pickle.UnpicklingError):
            adjoint.load(io.BytesIO(b"\x80\x05" + code + (2**40).to_bytes(8, "little") + b"0" * 8 + b"."))
    with pytest.raises(pickle.UnpicklingError):
        adjoint.load(io.BytesIO(b"\x80\x05\x8b" + (2**31 - 1).to_bytes(4, "little") + b"0" * 8 + b"."))  # LONG4


def test_keys_nested_without_end_are_refused():
    deep = b"\x80\x05})" + b"\x85" * 100_000 + b"Ns."
    with pytest.raises(pickle.UnpicklingError, match="tuples in tuples"):
        adjoint.load(io.BytesIO(deep))


def test_instructions_that_save_never_writes_are_unknown():
    for code in ("INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER"):
        with pytest.raises(pickle.UnpicklingError):
            adjoint.load(io.BytesIO(b"\x80\x05" + getattr(pickle, code) + b"\x01\n."))


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_files_cut_off_or_with_other_bytes_raise_one_kind_of_error(protocol):
    whole = store({"a": adjoint.ones(3), "b": [1, (2.0, {3})]}, pickle_protocol=protocol).getvalue()
    draw = numpy.random.default_rng(protocol)
    for position in range(len(whole)):
        spoilt = bytearray(whole)
        spoilt[position] = draw.integers(256)
        for contents in (whole[:position], bytes(spoilt)):
            try:
                adjoint.load(io.BytesIO(contents))
            except pickle.UnpicklingError:
                pass
