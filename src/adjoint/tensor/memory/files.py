"""Tensors in files: save() and load(), by pickle."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

from adjoint.tensor.memory.safe_pickle import SafeUnpickler

File = str | os.PathLike[str] | IO[bytes]


def save(obj: Any, f: File, pickle_module: Any = pickle, pickle_protocol: int = 5) -> None:
    """Write an object that may hold tensors to a file, given by its path or open for writing bytes.

    Tensors are written with their values, requires_grad and attributes, without history. Those that share memory do not
    when they are read again. The files are pickles, which torch does not read, nor adjoint torch's.

    >>> import adjoint, io
    >>> file = io.BytesIO()
    >>> adjoint.save({"weight": adjoint.tensor([1.0, 2.0])}, file)
    >>> adjoint.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 2.])}
    """
    with _opened(f, "wb") as file:
        pickle_module.dump(obj, file, protocol=pickle_protocol)


def load(f: File, map_location: Any = None, pickle_module: Any = pickle, *, weights_only: bool = True) -> Any:
    """The object that save() wrote to a file.

    weights_only: read tensors, arrays of numbers, numbers and containers of these only, each checked while it is read.
    Without it, a file may run any code while it is read. map_location: the device of the tensors, which can only be
    main memory.

    Raises pickle.UnpicklingError for other contents, for files that torch has written, and for broken ones.
    """
    if map_location is not None and str(map_location) != "cpu":
        raise ValueError(f"load(): files are read to main memory, map_location='cpu', but got {map_location!r}")
    with _opened(f, "rb") as file:
        if file.seekable():
            start = file.tell()
            if file.read(4) == b"PK\x03\x04":
                raise pickle.UnpicklingError(
                    "load(): this is a file of torch.save(), which only torch can read. There, save its arrays, such "
                    "as {name: tensor.numpy()}, by numpy.savez, and read these."
                )
            file.seek(start)
        return SafeUnpickler(file).load() if weights_only else pickle_module.load(file)


@contextlib.contextmanager
def _opened(f: File, mode: str) -> Iterator[Any]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
    else:
        yield f
