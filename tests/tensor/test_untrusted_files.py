"""Malicious files: loading runs none of their code, and each file raises one clear error (SECURITY.md)."""

from __future__ import annotations

import io
import os
import pickle
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.tensor.memory import safe_pickle


class Watch:
    """A hook that notes audit events. Reading a file of tensors causes none of these."""

    QUIET = ("object.", "builtins.id", "pickle.find_class", "import", "sys.", "array.", "code.", "compile", "exec")

    def __init__(self) -> None:
        self.deeds: list[str] | None = None
        self.events: list[str] = []
        sys.addaudithook(self.note)

    def note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.deeds is not None and not event.startswith(self.QUIET):
            self.deeds.append(f"{event} {arguments!r:.80}")


WATCH = Watch()


@pytest.fixture(scope="module", autouse=True)
def import_modules() -> None:
    """Import all modules that reading a file needs, before the first test."""
    adjoint.load(io.BytesIO(pickle.dumps(["text"], 0)))
    adjoint.load(io.BytesIO(archive_of([*entries(adjoint.ones(1)), ("ä", b"")])))
    with zipfile.ZipFile(io.BytesIO(archive_of([("a", b"")]))) as archive:
        archive.namelist()
    "a".encode("cp437")


def check_refusal(contents: bytes, match: str | None = None) -> None:
    """Read a file from memory. It must raise an UnpicklingError and cause no event."""
    with pytest.raises(pickle.UnpicklingError, match=match):
        watch(lambda: adjoint.load(io.BytesIO(contents)))
    assert WATCH.events == []


def watch(call: Callable[[], Any]) -> Any:
    WATCH.deeds = WATCH.events = []
    try:
        return call()
    finally:
        WATCH.deeds = None


def archive_of(entries: list[tuple[str | zipfile.ZipInfo, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, contents in entries:
            archive.writestr(name, contents)
    return file.getvalue()


def entries(value: Any, folder: str = "archive") -> list[tuple[str, bytes]]:
    """The archive entries of a file by save()."""
    file = io.BytesIO()
    adjoint.save(value, file)
    with zipfile.ZipFile(file) as archive:
        return [(f"{folder}/{name.partition('/')[2]}", archive.read(name)) for name in archive.namelist()]


# pickles that call functions -----------------------------------------------------------------------------------------


class Call:
    """A value that is pickled as a call, sometimes with a state or items."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return self.parts


CALLS = {
    "os.system": Call(os.system, ("touch harm",)),
    "eval": Call(eval, ("open('harm', 'w')",)),
    "exec": Call(exec, ("open('harm', 'w')",)),
    "a process": Call(subprocess.Popen, (["touch", "harm"],)),
    "a file": Call(open, ("harm", "w")),
    "an import": Call(__import__, ("antigravity",)),
    "an attribute": Call(getattr, (np.ndarray, "tofile")),
    "NumPy's own files": Call(np.load, ("harm", None, True)),
    "memory from an address": Call(np.frombuffer, (b"0" * 8, "O")),
    "a state": Call(adjoint.Size, ((1,),), {"__class__": int}),
    "items": Call(list, (), None, iter([1, 2])),
    "an optimizer": Call(adjoint.optim.SGD, ([], 0.1)),
    "a module": Call(adjoint.nn.Linear, (2, 3)),
    "a custom function": Call(adjoint.vmap, (print,)),
}
#: The same call in old instructions, which Python's pickle no longer writes, and by dotted names.
BY_HAND = {
    "INST": b"(S'touch harm'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'touch harm'\no.",
    "NEWOBJ": b"\x80\x02cos\nsystem\nS'touch harm'\n\x85\x81.",
    "a dotted name": b"\x80\x04\x8c\x07adjoint\x8c\x0ctensor.numpy\x93)R.",
    "a name in a name": b"\x80\x04\x8c\x11adjoint.tensor.os\x8c\x06system\x93\x8c\nharm\x85R.",
    "an extension": b"\x80\x02\x82\x01.",
    "a reference": b"\x80\x02X\x04\x00\x00\x00harmQ.",
    "a function as a state": b"\x80\x02cadjoint.arrays.size\nSize\n)\x81}X\x03\x00\x00\x00runcos\nsystem\nsb.",
}


@pytest.mark.parametrize("protocol", [0, 2, 5])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("form", ["pickle", "archive"])
def test_calls_are_refused(
    name: str, form: str, protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = pickle.dumps({"weight": 1, "call": CALLS[name]}, protocol)
    check_refusal(contents if form == "pickle" else archive_of([("archive/data.pkl", contents)]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BY_HAND)
def test_instructions_by_hand_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_refusal(BY_HAND[name])
    check_refusal(archive_of([("archive/data.pkl", BY_HAND[name])]))
    assert list(tmp_path.iterdir()) == []


def test_nothing_runs_before_the_refusal() -> None:
    """A file cannot make hooks, weak references or finalizers, so objects before the refusal run no code."""
    check_refusal(pickle.dumps([adjoint.ones(2), CALLS["eval"]]), match=r"Weights only load failed: .*builtins.eval")


# archives ------------------------------------------------------------------------------------------------------------


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry, target.encode()


def test_names_of_entries_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of entries are never paths: entries are read from the archive, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    x = adjoint.arange(3.0)
    for folder in ("/etc", "..", "../../..", "C:\\windows", "archive"):
        more = [("../escaped", b"1"), ("/escaped", b"1"), (f"{folder}/../escaped", b"1")]
        contents = archive_of([*entries(x, folder), *more])
        assert adjoint.load(io.BytesIO(contents)).tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    """An entry that is a link only has the path of its target as contents."""
    (tmp_path / "secret").write_bytes(bytes(12))
    parts = [entry for entry in entries(adjoint.arange(3.0)) if not entry[0].endswith("data/0")]
    check_refusal(archive_of([*parts, link("archive/data/0", str(tmp_path / "secret"))]), match="no links")
    check_refusal(archive_of([link("archive/data.pkl", str(tmp_path / "secret")), *parts[1:]]))


def test_bombs_are_refused() -> None:
    data = entries(adjoint.zeros(1000))
    check_refusal(archive_of(data, zipfile.ZIP_DEFLATED), match="entries are not compressed")
    check_refusal(archive_of(data, zipfile.ZIP_BZIP2), match="entries are not compressed")


def test_entries_that_share_bytes_are_refused() -> None:
    """Otherwise many entries could refer to the same bytes, and reading would take very long."""
    n = 40
    values = [adjoint.zeros(1000) + k for k in range(n)]
    contents = archive_of(entries(values))
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        offsets = {entry.filename: entry.header_offset for entry in archive.infolist()}
    first = offsets["archive/data/0"]
    directory = contents.rindex(b"PK\x01\x02" + b"", 0, contents.index(b"PK\x01\x02") + 4)
    tail = bytearray(contents[directory:])
    for k in range(1, n):
        # the name of an entry follows its offset
        offset = tail.index(f"archive/data/{k}".encode()) - 4
        assert struct.unpack_from("<I", tail, offset)[0] == offsets[f"archive/data/{k}"]
        struct.pack_into("<I", tail, offset, first)
    shorter = contents[:first] + contents[first : offsets["archive/data/1"]]
    end = tail.rindex(b"PK\x05\x06")
    struct.pack_into("<I", tail, end + 16, len(shorter))
    check_refusal(shorter + bytes(tail))


@pytest.mark.parametrize("field", ["file_size", "compress_size", "header_offset", "crc", "flags", "method"])
def test_headers_that_lie_are_refused(field: str) -> None:
    """Wrong sizes, offsets outside of the file, wrong checksums, encryption, and unknown methods of compression."""
    contents = bytearray(archive_of(entries(adjoint.zeros(1000))))
    start = contents.index(b"PK\x01\x02")
    offset, form, value = {
        "file_size": (24, "<I", 0x7FFFFFFF), "compress_size": (20, "<I", 0x7FFFFFFF),
        "header_offset": (42, "<I", 0xFFFFFF), "crc": (16, "<I", 1), "flags": (8, "<H", 1), "method": (10, "<H", 99),
    }[field]  # fmt: skip
    struct.pack_into(form, contents, start + offset, value)
    check_refusal(bytes(contents))


def test_archives_that_are_cut_off_or_lack_parts_are_refused() -> None:
    whole = entries({"a": adjoint.ones(3), "b": adjoint.ones(2, dtype=adjoint.int16)})
    for k in range(len(whole)):
        if whole[k][0].rpartition("/")[2] not in ("byteorder", "version"):
            check_refusal(archive_of([*whole[:k], *whole[k + 1 :]]))
            check_refusal(archive_of([*whole[:k], (whole[k][0], whole[k][1][:-1]), *whole[k + 1 :]]))
    contents = archive_of(whole)
    for length in range(4, len(contents), 7):
        check_refusal(contents[:length])


CHANGES: dict[str, tuple[bytes, bytes]] = {
    "a negative length": (b"K\x05\x85", b"J\xff\xff\xff\xff\x85"),
    "a length beyond the storage": (b"K\x05\x85", b"M\xff\xff\x85"),
    "a length of 2^62": (b"K\x05\x85", b"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40\x85"),
    "a length that is a number with a point": (b"K\x05\x85", b"G@\x14\x00\x00\x00\x00\x00\x00\x85"),
    "a length that is text": (b"K\x05\x85", b"X\x01\x00\x00\x005\x85"),
    "a length that is True": (b"K\x05\x85", b"\x88\x85"),
    "a negative stride": (b"K\x01\x85", b"J\xff\xff\xff\xff\x85"),
    "a stride beyond the storage": (b"K\x01\x85", b"M\xff\xff\x85"),
    "more strides than lengths": (b"K\x01\x85", b"K\x01K\x01\x86"),
    "a place beyond the storage": (b"QK\x00", b"QK\x02"),
    "a negative place": (b"QK\x00", b"QJ\xff\xff\xff\xff"),
    "another dtype": (b"torch\nFloatStorage", b"torch\nDoubleStorage"),
    "a dtype of pointers": (b"torch\nFloatStorage", b"torch\nObjectStorage"),
    "a name of a storage that leads out": (b"X\x01\x00\x00\x000", b"X\x07\x00\x00\x00../../0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_tensors_outside_of_their_storage_are_refused(name: str) -> None:
    before, after = CHANGES[name]
    parts = dict(entries(adjoint.arange(5.0)))
    assert before in parts["archive/data.pkl"]
    parts["archive/data.pkl"] = parts["archive/data.pkl"].replace(before, after, 1)
    check_refusal(archive_of(list(parts.items())))


def test_conjugates_of_repeated_elements_take_little_memory() -> None:
    """Strides of 0 make a large tensor of few bytes. A conjugate of it must not copy all elements."""
    parts = dict(entries(adjoint.tensor([1 + 2j])))
    pickled = parts["archive/data.pkl"]
    conjugated = pickled.replace(b"K\x01\x85", b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85", 1).replace(
        b"K\x01\x85", b"K\x00\x85", 1
    )
    parts["archive/data.pkl"] = conjugated.replace(b"tq", b"}X\x04\x00\x00\x00conj\x88stq", 2)
    try:
        x = adjoint.load(io.BytesIO(archive_of(list(parts.items()))))
    except pickle.UnpicklingError:
        return
    assert x.shape == (2**40,) and x[:2].tolist() == [1 - 2j, 1 - 2j]


def test_copies_of_what_a_file_has_are_counted() -> None:
    """A short file cannot repeat the same bytes, lists, texts and counts many times."""
    chunk = 1 << 20
    data = b"\x80\x05(cbuiltins\nbytearray\nq\x00B" + struct.pack("<I", chunk) + bytes(chunk) + b"q\x010"
    check_refusal(data + b"h\x00h\x01\x85R" * 10_000 + b"l.", match="again and again")
    texts = b"\x80\x05(c_codecs\nencode\nq\x00X" + struct.pack("<I", chunk) + b"a" * chunk + b"q\x010"
    check_refusal(texts + b"h\x00h\x01\x85R" * 10_000 + b"l.", match="again and again")
    lists = b"\x80\x05(cbuiltins\nfrozenset\nq\x00](" + b"K\x01" * chunk + b"eq\x010"
    check_refusal(lists + b"h\x00h\x01\x85R" * 10_000 + b"l.", match="again and again")
    counts = b"\x80\x05(ccollections\nCounter\nq\x00}(" + b"".join(
        struct.pack("<ciBB", b"J", k, 75, 1) for k in range(4096)
    )
    counts += b"uq\x010"
    check_refusal(counts + b"h\x00h\x01\x85R" * 10_000 + b"l.", match="again and again")


@pytest.mark.parametrize("reader", [Path.read_bytes, Path])
def test_any_other_file_is_one_error(reader: Callable[[Path], Any], tmp_path: Path) -> None:
    for contents in (
        b"",
        b"PK\x03\x04",
        b"PK\x03\x04" + bytes(100),
        b"\x7fELF",
        b"{}",
        b"\x89HDF\r\n",
        b"\x93NUMPY\x01\x00",
    ):
        file = tmp_path / "file"
        file.write_bytes(contents)
        source = reader(file)
        with pytest.raises(pickle.UnpicklingError):
            adjoint.load(io.BytesIO(source) if isinstance(source, bytes) else source)


# classes that the program trusts --------------------------------------------------------------------------------------


class Point:
    """A class of a program: its objects are made by NEWOBJ, and get their state by BUILD."""

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y


class Path2(list):  # type: ignore[type-arg]
    """A subclass of a container."""


def make_point(x: float) -> Point:
    """A function that files call."""
    return Point(x, x)


class MadeByFunction:
    def __reduce__(self) -> Any:
        return make_point, (3.0,)


TRUSTED_VALUES: dict[str, tuple[list[Any], Any, Callable[[Any], bool]]] = {
    "object": ([Point], Point(1.0, 2.0), lambda value: type(value) is Point and (value.x, value.y) == (1.0, 2.0)),
    "list": ([Path2], Path2([1, 2]), lambda value: type(value) is Path2 and value == [1, 2]),
    "function": ([make_point, Point], MadeByFunction(), lambda value: (value.x, value.y) == (3.0, 3.0)),
    "members": ([Point], {"a": [Point(1.0, adjoint.ones(2))]}, lambda value: value["a"][0].y.tolist() == [1.0, 1.0]),
}


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("name", TRUSTED_VALUES)
def test_files_make_objects_of_trusted_classes_alone(name: str, protocol: int) -> None:
    classes, value, is_right = TRUSTED_VALUES[name]
    file = io.BytesIO()
    adjoint.save(value, file, pickle_protocol=protocol)
    with safe_pickle.safe_globals(classes):
        assert is_right(adjoint.load(io.BytesIO(file.getvalue())))
        assert safe_pickle.get_safe_globals() == classes
    assert safe_pickle.get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        adjoint.load(io.BytesIO(file.getvalue()))


def test_a_trusted_class_may_have_another_name_in_files() -> None:
    file = io.BytesIO(pickle.dumps(Point(1.0, 2.0)).replace(b"Point", b"Other"))
    with safe_pickle.safe_globals([(Point, f"{__name__}.Other")]):
        assert adjoint.load(file).x == 1.0
    safe_pickle.add_safe_globals([Point])
    safe_pickle.clear_safe_globals()
    assert safe_pickle.get_safe_globals() == []
    with pytest.raises(TypeError, match="a pair is an object and its full name"):
        safe_pickle.add_safe_globals([(Point, 3)])


def test_trust_in_one_class_opens_no_other() -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("true",)

    file = io.BytesIO(pickle.dumps([Point(1.0, 2.0), Evil()]))
    with safe_pickle.safe_globals([Point]), pytest.raises(pickle.UnpicklingError, match="system, which may run"):
        adjoint.load(file)
