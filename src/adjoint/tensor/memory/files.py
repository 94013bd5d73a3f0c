"""Tensors in files: save() and load(), in the form of torch.save."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

from adjoint.tensor.memory import torch_files
from adjoint.tensor.memory.safe_pickle import SafeUnpickler

File = str | os.PathLike[str] | IO[bytes]


def save(obj: Any, f: File, pickle_module: Any = pickle, pickle_protocol: int = 2) -> None:
    """Write an object that may hold tensors to a file, given by its path or open for writing bytes.

    Tensors are written with their values, requires_grad and attributes, without history. Tensors that share memory
    share it again after reading. The file has torch.save's format: torch.load reads tensors, numbers and containers of
    these, such as state dicts. pickle_protocol: 2 is what torch.load reads with weights_only. pickle_module is not
    used: the pickle is written by Python's own.

    >>> import adjoint, io
    >>> file = io.BytesIO()
    >>> adjoint.save({"weight": adjoint.tensor([1.0, 2.0])}, file)
    >>> adjoint.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 2.])}
    """
    folder = os.path.splitext(os.path.basename(f))[0] if isinstance(f, (str, os.PathLike)) else torch_files.FOLDER
    with _open_file(f, "wb") as file:
        torch_files.write(obj, file, pickle_protocol, os.fspath(folder))


def load(
    f: File,
    map_location: Any = None,
    pickle_module: Any = pickle,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
) -> Any:
    """The object that save() wrote to a file, or torch.save.

    weights_only: read only tensors, arrays of numbers, numbers and containers of these, and check each. Otherwise
    reading the file may run any code. map_location: the device of the tensors, which can only be main memory; torch's
    functions and dictionaries are accepted, too. mmap: leave tensors in the file, given by its path, and read them at
    their use; a change of a tensor does not change the file. Pickles of earlier versions can be read, too.

    Raises pickle.UnpicklingError for other contents, and for broken files. With mmap it raises ValueError for an open
    file, and RuntimeError for a file that is no archive.

    >>> import adjoint, io
    >>> file = io.BytesIO()
    >>> adjoint.save(adjoint.nn.Linear(2, 1).state_dict(), file)
    >>> list(adjoint.load(io.BytesIO(file.getvalue())))
    ['weight', 'bias']
    """
    by_storage = callable(map_location) or isinstance(map_location, dict)
    if map_location is not None and not by_storage and str(map_location).partition(":")[0] != "cpu":
        raise ValueError(f"load(): files are read to main memory, map_location='cpu', but got {map_location!r}")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _open_file(f, "rb") as file:
        if file.seekable():
            start = file.tell()
            if file.read(4) == torch_files.MAGIC:
                file.seek(start)
                return torch_files.read(file, weights_only, pickle_module or pickle, bool(mmap))
            file.seek(start)
        if mmap:
            raise RuntimeError("mmap can only be used with files saved by save(), or torch.save(), as archives")
        return SafeUnpickler(file).load() if weights_only else (pickle_module or pickle).load(file)


@contextlib.contextmanager
def _open_file(f: File, mode: str) -> Iterator[Any]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
    else:
        yield f
