"""The reference: an entry for every public name, made from its docstring, on a page for each module or family.

`entries()` does not need Sphinx, so the tests use it to find missing names.
"""

import importlib
import inspect
import json
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import adjoint

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
FOLDER = DOCS / "reference" / "names"
SOURCE = "https://github.com/adjoint-autograd/adjoint/blob/main/src"
TORCH = "https://docs.pytorch.org/docs/stable/generated"
NUMPY = "https://numpy.org/doc/stable/reference/generated"
LISTED = json.loads((ROOT / "tests" / "data" / "public_names.json").read_text())
#: Public modules that no other one has as an attribute.
ALONE = ("adjoint.compat.autograd",)
#: The spaces with a page for each family.
SPREAD = ("adjoint", "adjoint.Tensor", "adjoint.nn.functional")
HEADINGS = ("Args", "Returns", "Raises", "Attributes", "Shapes", "Dtypes", "Yields", "Warns")


class Entry(NamedTuple):
    """A public name, its page, and its value."""

    space: str
    name: str
    page: str
    title: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.space}.{self.name}"


def spaces() -> dict[str, list[str]]:
    """The public modules and classes, and their names, without modules that only repeat names of others."""
    lists = dict(LISTED)
    ids = {id(getattr(attribute(space), name)) for space, names in lists.items() for name in names}
    alone = [(name, importlib.import_module(name)) for name in ALONE]
    for full, module in [*modules(adjoint, "adjoint", set()), *alone]:
        names = public_names(module)
        if full not in lists and any(id(getattr(module, name, None)) not in ids for name in names):
            lists[full] = sorted(names)
    return lists


def modules(holder: ModuleType, path: str, paths: set[str]) -> Iterator[tuple[str, ModuleType]]:
    """The public modules below one, each once."""
    for name in public_names(holder):
        value = getattr(holder, name, None)
        if isinstance(value, ModuleType) and value.__name__ == f"{path}.{name}" and value.__name__ not in paths:
            paths.add(value.__name__)
            yield value.__name__, value
            yield from modules(value, value.__name__, paths)


def public_names(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")])


def attribute(full: str) -> Any:
    """The value of a dotted name below adjoint."""
    value: Any = adjoint
    path = "adjoint"
    for part in full.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(path)
    return value


def entries() -> Iterator[Entry]:
    """An entry for each public name, by space."""
    table = runpy.run_path(str(ROOT / "scripts" / "generate_function_table.py"))
    families, methods = {title: slug(title) for title in table["FAMILIES"]}, table["METHODS"]
    for space, names in spaces().items():
        holder = attribute(space)
        for name in names:
            value = inspect.getattr_static(holder, name, None)
            value = value if isinstance(value, property) else getattr(holder, name)
            page = title = space
            if space in SPREAD:
                title = family(value, name, space, table["family_of"], methods)
                page = f"{space}.{families.get(title, slug(title))}"
            yield Entry(space, name, page, title, value)


def family(value: Any, name: str, space: str, family_of: Any, methods: str) -> str:
    """The title of the page that has a name of one of the large spaces."""
    if isinstance(value, ModuleType):
        return "Modules"
    if inspect.isclass(value):
        return "Classes"
    if not callable(value) and not isinstance(value, property) and space == "adjoint":
        return "Constants and dtypes"
    short = name[:-1] if name.endswith("_") and not name.startswith("_") else name
    prefix = "" if space != "adjoint.nn.functional" else "nn.functional."
    title = str(family_of(prefix + short))
    if title != methods:
        return title
    return "Attributes and other methods" if space == "adjoint.Tensor" else "Modes, derivatives and settings"


def slug(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


# ---------------------------------------------------------------------------------------------------- reStructuredText


def escape_text(text: str) -> str:
    """Text of a docstring, with `code` as code and all other text unchanged."""
    parts = re.split(r"``?([^`\n]+?)``?", text)
    return "".join(
        f"\\ ``{part.strip()}``\\ " if k % 2 else re.sub(r"([*_|`<>\\])", r"\\\1", part) for k, part in enumerate(parts)
    )


def indent(lines: list[str], by: int = 3) -> list[str]:
    return [" " * by + line if line else "" for line in lines]


def block_of_code(lines: list[str], language: str) -> list[str]:
    return [f".. code-block:: {language}", "", *indent(lines), ""]


def items(lines: list[str]) -> list[str]:
    """Indented lines as a list; a line that is indented further continues the one before."""
    lines = inspect.cleandoc("\n".join(lines)).splitlines()
    joined: list[str] = []
    for line in lines:
        if line.startswith(" ") and joined:
            joined[-1] += " " + line.strip()
        elif line.strip():
            joined.append(line.strip())
    result = []
    for line in joined:
        head = re.match(r"([\w*, ]+|[\w.]+\(.*?\)):\s+(.*)", line)
        formula = re.fullmatch(r"by (\w+): (.*?)( \(saves? .*\))?", line)
        if formula:  # of a derivative
            text = f"by ``{formula[1]}``: ``{formula[2]}``{escape_text(formula[3] or '')}"
        else:
            text = f"``{head[1]}``: {escape_text(head[2])}" if head else escape_text(line)
        result.append(f"* {text}")
    return [*result, ""]


def body(text: str) -> Iterator[str]:
    """The paragraphs, examples and lists of a docstring."""
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = block.splitlines()
        if lines[0].lstrip().startswith(">>>"):
            yield from block_of_code(inspect.cleandoc(block).splitlines(), "pycon")
            continue
        group: list[str] = []  # lines of a paragraph
        k = 0
        while k < len(lines):
            line = lines[k]
            end = k + 1
            while end < len(lines) and lines[end].startswith("  "):
                end += 1
            if line.startswith(" "):  # a block that begins with indented lines
                yield from paragraph(group)
                group = []
                while end < len(lines) and lines[end].startswith(" "):
                    end += 1
                yield from items(lines[k:end])
            elif line.lstrip().startswith(">>>"):
                yield from paragraph(group)
                group = []
                yield from block_of_code(lines[k:], "pycon")
                end = len(lines)
            elif end > k + 1:
                yield from paragraph(group)
                group = []
                yield from [f"**{line.rstrip(':')}**" if line.rstrip(":") in HEADINGS else escape_text(line), ""]
                yield from items(lines[k + 1 : end])
            elif re.match(r"(PyTorch: torch|NumPy: numpy|Declared at )", line):
                yield from paragraph(group)
                group = []
                yield from [link_of(line), ""]
            elif re.match(r"(Shapes|Dtypes|In place|Derivative|Raises)\b", line) and group:
                yield from paragraph(group)
                group = [line]
            else:
                group.append(line)
            k = end
        yield from paragraph(group)


def paragraph(lines: list[str]) -> list[str]:
    return [escape_text(" ".join(line.strip() for line in lines)), ""] if lines else []


def link_of(line: str) -> str:
    """The last lines of a docstring lead to PyTorch's page and to the source."""
    kind, _, rest = line.partition(" ")
    if kind == "PyTorch:":
        return f"PyTorch: `{rest} <{TORCH}/{rest}.html>`__"
    if kind == "NumPy:":
        return f"NumPy: `{rest} <{NUMPY}/{rest}.html>`__"
    path, _, number = line.removeprefix("Declared at ").partition(":")
    return f"Source: `{path} <{SOURCE}/{path}#L{number}>`__"


def source_of(value: Any) -> str:
    """A link to the source, for docstrings that name none."""
    try:
        plain = inspect.unwrap(getattr(value, "fget", None) or value)
        path = Path(inspect.getsourcefile(plain) or "")
        line = inspect.getsourcelines(plain)[1]
        return f"Source: `{path.relative_to(ROOT / 'src')} <{SOURCE}/{path.relative_to(ROOT / 'src')}#L{line}>`__"
    except (TypeError, OSError, ValueError):
        return ""


def signature_of(value: Any) -> str:
    try:
        text = re.sub(r"ForwardRef\('([^']*)'[^)]*\)", r"\1", str(inspect.signature(value)))
        text = re.sub(r"['\"]([A-Z][\w\[\], |.]*|\w+)['\"]", r"\1", text)
    except (ValueError, TypeError):
        return "(...)"
    return re.sub(r"<[^>]*>", "...", text)


def lines_of(entry: Entry) -> list[str]:
    """The entry as reStructuredText."""
    value, full = entry.value, entry.full
    if isinstance(value, ModuleType):
        lines = [line for line in (value.__doc__ or "").strip().splitlines() if line.strip("=- ")]
        first = escape_text(lines[0] if lines else "")
        target = f"{value.__name__}"
        link = f"See :doc:`{target} <{target}>`." if (FOLDER / f"{target}.rst") in PAGES else ""
        return [f".. py:data:: {full}", "", *indent([first, "", link, ""])]
    doc = str(value.__doc__ or "")
    if is_foreign(value, doc):  # help of another library, which is on its own site
        paragraphs = [p for p in doc.strip().split("\n\n") if not p.startswith((f"{entry.name}(", ".. "))]
        link = [f"NumPy: numpy.{entry.name}"] if entry.space == "adjoint.numpy" else []
        doc = "\n\n".join([*paragraphs[:1], *link])
    if inspect.isclass(value):
        head = f".. py:class:: {full}{signature_of(value).partition(' ->')[0]}"
    elif isinstance(value, property):
        head = f".. py:property:: {full}"
    elif callable(value):
        kind = "method" if entry.space == "adjoint.Tensor" else "function"
        head = f".. py:{kind}:: {full}{signature_of(value)}"
    else:
        is_plain = value is None or isinstance(value, (int, float, str, tuple, frozenset))
        head, doc = f".. py:data:: {full}", "" if is_plain else doc.partition("\n")[0]
        if isinstance(value, (int, float)) or value is None:
            doc = f"`{value!r}`"
    # the signature stands in the head
    own_call = re.compile(rf"^\s*(Tensor\.)?{re.escape(entry.name)}\(.*\) -> .*\n", re.MULTILINE)
    text = list(body(own_call.sub("", doc, count=1))) if doc.strip() else []
    if "Source: " not in "".join(text) and callable(value):
        text += [source_of(value), ""]
    if inspect.isclass(value) and full != "adjoint.Tensor" and "adjoint" in getattr(value, "__module__", ""):
        text += members(value, full)
    return [head, "", *indent(text)]


def is_foreign(value: Any, doc: str) -> bool:
    """True for an object of another library, or one with NumPy's help."""
    home = str(getattr(value, "__module__", None) or "adjoint")
    return not home.startswith("adjoint") or bool(re.search(r"^\s*----+$", doc, re.MULTILINE))


def members(value: type, full: str) -> list[str]:
    """The public methods and properties that a class defines itself."""
    text = []
    for name, member in vars(value).items():
        plain = getattr(member, "__func__", member)
        doc = getattr(plain, "__doc__", None)
        if name.startswith("_") or not doc or not (callable(plain) or isinstance(member, property)):
            continue
        kind = "property" if isinstance(member, property) else "method"
        signature = "" if kind == "property" else signature_of(plain)
        text += [f".. py:{kind}:: {full}.{name}{signature}", "   :no-index-entry:", "", *indent(list(body(doc)))]
    return text


#: The pages of the last call of `write`.
PAGES: set[Path] = set()


def write(folder: Path = FOLDER) -> list[Entry]:
    """Write the pages; an entry for each name."""
    sys.path.insert(0, str(ROOT / "tests"))
    listed = list(entries())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages: dict[str, list[Entry]] = {}
    for entry in listed:
        pages.setdefault(entry.page, []).append(entry)
    PAGES.clear()
    PAGES.update(folder / f"{page}.rst" for page in [*pages, *SPREAD])
    for page, contents in pages.items():
        space = contents[0].space
        head = contents[0].title if space in SPREAD else space
        intro = [] if space in SPREAD else list(body(attribute(space).__doc__ or ""))
        text = [head, "=" * len(head), "", *([f"Names of ``{space}``.", ""] if space in SPREAD else intro)]
        for entry in contents:
            text += lines_of(entry)
        (folder / f"{page}.rst").write_text("\n".join(text) + "\n", encoding="utf-8")
    for space in SPREAD:
        own_pages = [page for page in pages if pages[page][0].space == space]
        tree = [".. toctree::", "   :maxdepth: 1", "", *[f"   {page}" for page in sorted(own_pages)], ""]
        intro = list(body(attribute(space).__doc__ or ""))
        (folder / f"{space}.rst").write_text("\n".join([space, "=" * len(space), "", *intro, *tree]), encoding="utf-8")
    tops = [*SPREAD, *sorted(page for page in pages if pages[page][0].space not in SPREAD)]
    index = ["Reference by module", "=" * 19, "", ".. toctree::", "   :maxdepth: 1", "", *[f"   {p}" for p in tops], ""]
    (folder / "index.rst").write_text("\n".join(index), encoding="utf-8")
    return listed


def plain_types(app: Any, tree: Any) -> None:
    """In signatures only Tensor is a link: `bool` and others would lead to NumPy's types of the same name."""
    from sphinx.addnodes import pending_xref

    for reference in list(tree.findall(pending_xref)):
        if reference.get("refdomain") == "py" and reference.get("reftype") in ("class", "obj"):
            if reference["reftarget"] == "Tensor":
                reference["reftarget"] = "adjoint.Tensor"
            elif not reference["reftarget"].startswith("adjoint."):
                reference.replace_self(reference.children)


def setup(app: Any) -> dict[str, Any]:
    expected: list[Entry] = []

    def check(app: Any, exception: Exception | None) -> None:
        """Every name of the list has an anchor."""
        if exception is None:
            objects = app.env.domaindata["py"]["objects"]
            missing = [entry.full for entry in expected if entry.full not in objects]
            if missing:
                raise ValueError(f"names without an anchor in the reference: {missing}")

    app.connect("builder-inited", lambda app: expected.extend(write()))
    app.connect("doctree-read", plain_types)
    app.connect("build-finished", check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
