"""The pages about errors, which are installed with the package: `adjoint.explain(error)`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from adjoint.arrays.size import type_name
from adjoint.core.errors import PAGES

FOLDER = Path(__file__).parent / "error_pages"


def explain(error: BaseException | str | None = None) -> None:
    """Print the page about an error: its meaning, a program that fails, and one that works.

    error: an exception of adjoint, or the name of a page, such as "backward-twice"; by default the last exception that
    an interactive session showed. The documentation has the same pages; the exception's note has the address.

    Raises:
        TypeError: error is neither.
        ValueError: there is no page about it; the message lists the pages.

    >>> import adjoint
    >>> try:
    ...     adjoint.ones(2, requires_grad=True).backward()
    ... except RuntimeError as error:
    ...     adjoint.explain(error)  # doctest: +ELLIPSIS
    # backward() of a tensor with several elements
    ...
    """
    if error is None:
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if not isinstance(error, (str, BaseException, type(None))):
        raise TypeError(f"explain() takes an exception or the name of a page, but got {type_name(error)}")
    names = [error] if isinstance(error, str) else list(pages_of(error))
    pages = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "README")
    page = next((name for name in names if name in pages), None)
    if page is None:
        text = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else repr(error)
        raise ValueError(f"no page explains {text}; the pages are {', '.join(pages)}")
    print((FOLDER / f"{page}.md").read_text(encoding="utf-8").rstrip())


def pages_of(error: BaseException | None) -> Iterator[str]:
    """The pages named in an exception's notes, then in the notes of its causes."""
    while error is not None:
        yield from re.findall(rf"{re.escape(PAGES)}/([\w-]+)\.html", "\n".join(getattr(error, "__notes__", ())))
        error = error.__cause__ or error.__context__
