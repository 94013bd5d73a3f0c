"""Damaged files: archives and pickles for adjoint.load, traces for the viewer, traces of nvprof.

A case is a chain of MUTATIONS files of one format. Each file is a mutation of a file of a pool. The pool begins with
valid files, and with pickles that call dangerous functions. A file joins the pool if the reader runs new lines for it,
according to sys.settrace. The reader may raise only the errors of its documentation. It may not allocate gigabytes.
Audit events show its other actions: opening files, starting processes, importing modules.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import os
import pickle
import random
import sqlite3
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import adjoint
from adjoint.tools.profiler import nvprof, view
from trust.fuzz.faults import Fault

MUTATIONS = 300
#: The modules whose lines are counted.
READERS = tuple(
    os.path.join("adjoint", *parts)
    for parts in (
        ("tensor", "memory"), ("tools", "profiler", "view"), ("tools", "profiler", "nvprof"),
        ("functions", "sparse_operations"),
    )
)  # fmt: skip
#: Audit events that reading a file may raise; `open` and `sqlite3.connect` of the file itself.
QUIET = (
    "object.",
    "builtins.id",
    "pickle.find_class",
    "sys._getframe",
    "code.__new__",
    "marshal.",
    "array.__new__",
    "gc.",
    "sys.settrace",
)
OWN_FILE = ("open", "sqlite3.connect", "sqlite3.connect/handle")
Edge = tuple[str, int, int]


class Format(NamedTuple):
    """A format: its first files, its reader, and the errors of the reader."""

    corpus: Callable[[], list[bytes]]
    reader: Callable[[Path], Any]
    errors: tuple[type[Exception], ...]


# valid files, and pickles that call ----------------------------------------------------------------------------------


class Call:
    """Pickled as a call."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __reduce__(self) -> Any:
        return self.parts


def objects() -> list[Any]:
    """A file that save() writes."""
    x = adjoint.arange(6.0).reshape(2, 3)
    model = adjoint.nn.Linear(2, 1)
    return [
        x, {"x": x, "views": [x.mT, x[0]], "n": [1, 2.5, "a", None, True, b"b", (1j, {3})]}, model.state_dict(),
        adjoint.tensor([1, 2], dtype=adjoint.bfloat16), adjoint.tensor([1 + 2j]).conj(), adjoint.nn.Parameter(x),
        np.arange(4.0)[::-1], adjoint.eye(3).to_sparse(), adjoint.eye(3).to_sparse_csr(), adjoint.zeros(0, 3),
        adjoint.optim.Adam(model.parameters()).state_dict(), [adjoint.Size([2]), adjoint.float16, np.float32(2)],
    ]  # fmt: skip


def calls() -> list[Any]:
    """A function that a file tries to call."""
    return [
        Call(os.system, ("touch executed",)), Call(eval, ("1 + 1",)), Call(np.ndarray, ((2,), "f8", b"0" * 8)),
        Call(getattr, (np.ndarray, "tobytes")), Call(np.load, ("executed",)), Call(bytearray, (2**40,)),
    ]  # fmt: skip


def archives() -> list[bytes]:
    files = []
    for value in objects():
        file = io.BytesIO()
        adjoint.save(value, file)
        files.append(file.getvalue())
    return files + [rewrite(files[0], partial(instead, pickle.dumps(call, 2))) for call in calls()]


def instead(contents: bytes, _: bytes) -> bytes:
    """Other contents of an entry."""
    return contents


def pickles() -> list[bytes]:
    values = [*objects(), *calls()]
    return [pickle.dumps(value, protocol) for value in values for protocol in (0, 2, 5)]


def traces() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        with adjoint.profiler.profile(profile_memory=True, record_shapes=True) as profile:
            adjoint.ones(3, requires_grad=True).sin().sum().backward()
        file = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(file)
        whole = json.loads(Path(file).read_text(encoding="utf-8"))
    kinds = {(entry["ph"], entry.get("cat")): entry for entry in whole["traceEvents"]}
    whole["traceEvents"] = list(kinds.values())
    text = json.dumps(whole).encode()
    return [text, gzip.compress(text), b'[{"ph": "X"}]', b"[" * 3000]


def databases() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trace.sqlite")
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.executescript(
                """PRAGMA page_size = 512;
                CREATE TABLE StringTable (_id_ INTEGER, value TEXT);
                CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (id INTEGER, name INTEGER, timestamp INTEGER);
                CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                    (correlationId INTEGER, name INTEGER, deviceId INTEGER, start INTEGER, end INTEGER);
                CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (correlationId INTEGER, start INTEGER);
                INSERT INTO StringTable VALUES (1, 'a'), (2, 'kernel');
                INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1, 1, 1000), (1, 0, 5000), (2, 2, 2000), (2, 0, 3000);
                INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (7, 2, 0, 2500, 2600);
                INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (7, 2400);"""
            )
        return [Path(file).read_bytes()]


# reading -------------------------------------------------------------------------------------------------------------


def load(path: Path) -> None:
    """Read a file, and every element of its contents."""
    rest = [adjoint.load(path)]
    ids: set[int] = set()
    while rest:
        value = rest.pop()
        if id(value) in ids:
            continue
        ids.add(id(value))
        if isinstance(value, adjoint.Tensor):
            check_array(value)
        elif isinstance(value, dict):
            rest += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            rest += value


def check_array(value: Any) -> None:
    """Read the elements of a tensor. Strides of 0 can turn few elements into many."""
    if value.layout is adjoint.strided and value.numel() <= 10**6 and value.dtype is not adjoint.bfloat16:
        value.detach().numpy().copy()


def look(path: Path) -> None:
    trace = view.read_trace(path)
    view.page(trace, path.name)
    view.text(trace)


FORMATS = {
    "archives": Format(archives, load, (pickle.UnpicklingError,)),
    "pickles": Format(pickles, load, (pickle.UnpicklingError,)),
    "traces": Format(traces, look, (ValueError, OSError)),
    "databases": Format(databases, nvprof.load_nvprof, (sqlite3.Error, RuntimeError)),
}


# mutations -----------------------------------------------------------------------------------------------------------

#: Pieces that mean something in one of the formats.
WORDS = (
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch\nSize\n", b"PK\x03\x04",
    b"../", b"/etc/passwd", b"\x80\x02", b"(", b"t", b"R", b"b", b"o", b"\x81", b"\x93", b"\x94", b"Q", b".", b"}",
    b"]", b")", b"e", b"\x85", b"\x86", b"\x87", b"q\x00", b"h\x00", b"2", b"K\x00", b"M\xff\xff", b"J\xff\xff\xff\xff",
    b"\x8a\x08" + b"\xff" * 8, b"-1", b"1e999", b"NaN", b"null", b"[]", b"{}", b'"a"', b"</script>", b"9" * 30,
    b'"ph": "C"', b'"ph": "X"', b"\x1f\x8b",
)  # fmt: skip
NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**40, 2**62, 2**63 - 1)


def mutate(draw: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """A file with one change."""
    n = len(data)
    start = draw.randrange(n + 1)
    end = min(n, start + draw.choice((1, 1, 2, 4, 8, 30)))
    kind = draw.randrange(8)
    if kind == 0:
        middle = bytes([draw.randrange(256)]) * (end - start)
    elif kind == 1:
        middle = bytes(byte ^ (1 << draw.randrange(8)) for byte in data[start:end])
    elif kind == 2:
        middle = b""
    elif kind == 3:
        middle = data[start:end] * draw.choice((2, 3, 50))
    elif kind == 4:
        middle = draw.choice(WORDS)
        end = start if draw.random() < 0.5 else min(n, start + len(middle))
    elif kind == 5:
        size = draw.choice(("<B", "<H", "<I", "<Q", ">I"))
        number = draw.choice(NUMBERS) % 256 ** struct.calcsize(size)
        middle = struct.pack(size, number)
        end = min(n, start + len(middle))
    elif kind == 6:
        other = draw.choice(pool)
        position = draw.randrange(len(other) + 1)
        middle = other[position : position + draw.choice((2, 8, 40, 400))]
        end = start if draw.random() < 0.5 else min(n, start + len(middle))
    else:
        return data[:start]
    return data[:start] + middle + data[end:]


def rewrite(data: bytes, change: Callable[[bytes], bytes], part: str = "data.pkl") -> bytes:
    """An archive with another content of an entry, and the checksum that belongs to it."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(file, "w") as other:
        for name in archive.namelist():
            contents = archive.read(name)
            other.writestr(name, change(contents) if name.endswith(part) else contents)
    return file.getvalue()


def next_file(draw: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """A file with some changes, of an archive also within an entry."""
    inner = draw.random() < 0.7
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        if inner and data.startswith(b"PK"):
            part = draw.choice(("data.pkl", "data.pkl", "data.pkl", "data/0", "byteorder"))
            with contextlib.suppress(Exception):
                data = rewrite(data, lambda contents: mutate(draw, contents, pool), part)
        elif inner and data.startswith(b"\x1f\x8b"):
            with contextlib.suppress(Exception):
                data = gzip.compress(mutate(draw, gzip.decompress(data), pool))
        else:
            data = mutate(draw, data, pool)
    return data


# watching ------------------------------------------------------------------------------------------------------------


class Watch:
    """Notes the pairs of lines that the readers run, and the other actions of a reader."""

    def __init__(self) -> None:
        self.edges: set[Edge] = set()
        self.deeds: list[str] = []
        self.path: str | None = None
        self.readable: tuple[str, ...] = ()
        self.line = 0
        sys.addaudithook(self.audit)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.path is None or event.startswith(QUIET):
            return
        if event in OWN_FILE and (event.endswith("handle") or str(arguments[0]).startswith(self.readable)):
            return
        self.deeds.append(f"{event} {arguments!r:.100}")
        raise PermissionError(f"the reader may not: {event}")

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self.follow if any(part in frame.f_code.co_filename for part in READERS) else None

    def follow(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.edges.add((frame.f_code.co_name, self.line, frame.f_lineno))
        self.line = frame.f_lineno
        return self.follow

    @contextlib.contextmanager
    def over(self, path: Path) -> Iterator[None]:
        self.edges, self.deeds, self.path, self.line = set(), [], str(path), 0
        # the page of the viewer is made of files of the package
        self.readable = (str(path), f"file:{path}", os.path.dirname(adjoint.__file__))
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(None)
            self.path = None


class Cases:
    """Chains of damaged files."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.corpora = {name: form.corpus() for name, form in FORMATS.items()}
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "file"
        self.watch = Watch()
        self.edges: dict[str, set[Edge]] = {}
        for name, form in FORMATS.items():
            # what is imported late is imported here
            for data in self.corpora[name]:
                self.path.write_bytes(data)
                with contextlib.suppress(*form.errors):
                    form.reader(self.path)
            self.edges[name] = set()
            for data in self.corpora[name]:
                self.read(name, data)
                self.edges[name] |= self.watch.edges

    def text(self, number: int) -> str:
        """The format, and the file, by base64."""
        name, data, fault = self.chain(number)
        return f"{name}: {base64.b64encode(data).decode()}" if fault else name

    def fault(self, number: int) -> Fault | None:
        return self.chain(number)[2]

    def close(self) -> None:
        self.folder.cleanup()

    def chain(self, number: int) -> tuple[str, bytes, Fault | None]:
        draw = random.Random(f"{self.seed}:{number}")
        name = draw.choice(["archives", "pickles", *FORMATS])
        pool, edges = list(self.corpora[name]), set(self.edges[name])
        for _ in range(MUTATIONS):
            # newer files are drawn more often
            position = max(draw.randrange(len(pool)), draw.randrange(len(pool)))
            data = next_file(draw, pool[position], pool)
            fault = self.read(name, data)
            if fault:
                return name, data, fault
            if not self.watch.edges <= edges:
                edges |= self.watch.edges
                pool.append(data)
        return name, b"", None

    def read(self, name: str, data: bytes) -> Fault | None:
        self.path.write_bytes(data)
        try:
            with self.watch.over(self.path):
                FORMATS[name].reader(self.path)
        except FORMATS[name].errors as error:
            if self.watch.deeds:
                return Fault("deed", name, f"{self.watch.deeds[0]} ({error})")
            return None
        except Exception as error:
            return Fault(type(error).__name__, name, f"{self.watch.deeds or ''} {error}")
        return Fault("deed", name, self.watch.deeds[0]) if self.watch.deeds else None
