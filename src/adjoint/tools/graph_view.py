"""Looking at a graph: as a drawing, and as a list of the tensors that it keeps in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.namespace import underlying
from adjoint.core.edges import GradientEdge, as_edge
from adjoint.core.graph import AccumulateGrad, Node, SavedTensor, TensorBase
from adjoint.core.locations import description
from adjoint.runtime.drawings import INNER, LEAF, ROOT, Box, Drawing
from adjoint.tools.sizes import readable

if TYPE_CHECKING:
    from adjoint.tools.profiler.export.pictures import Picture

Target = TensorBase | GradientEdge | Node


def nodes_of(targets: Target | Iterable[Target]) -> Iterator[Node]:
    """The nodes that can be reached, each once, results before their inputs; without recursion."""
    if isinstance(targets, (TensorBase, GradientEdge, Node)):
        targets = [targets]
    stack: list[Any] = [target if isinstance(target, Node) else as_edge(target).node for target in targets]
    if None in stack:
        raise ValueError(
            f"target {stack.index(None)} has no graph: it neither requires grad nor has a grad_fn; call "
            "requires_grad_() on an input before the computation"
        )
    visited: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in visited:
            continue
        visited.add(node)
        yield node
        stack.extend(target for target in reversed(node._ad_edges) if target is not None)


# drawing ------------------------------------------------------------------------------------------------------------


def draw(targets: Target | Iterable[Target], *, max_nodes: int | None = None) -> Drawing:
    """A drawing of the graph behind a tensor (or several, or edges or nodes).

    max_nodes: stop after so many nodes, those nearest to the result first; None draws all.

    >>> import adjoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> print(adjoint.autograd.graph.draw((x * x).sum()).mermaid(), end="")
    flowchart BT
      n0["SumBackward0<br/>()"]
      n1["MulBackward0<br/>(2,)"]
      n2(["leaf<br/>(2,)"])
      n1 --> n0
      n2 --> n1
      n2 --> n1
    """
    if isinstance(targets, (TensorBase, GradientEdge, Node)):
        targets = [targets]
    targets = list(targets)
    roots: set[Any] = {target if isinstance(target, Node) else as_edge(target).node for target in targets}
    nodes: list[Node] = []
    for node in nodes_of(targets):
        if max_nodes is not None and len(nodes) >= max_nodes:
            break
        nodes.append(node)
    numbers = {node: i for i, node in enumerate(nodes)}
    boxes = [Box(_label(node), LEAF if isinstance(node, AccumulateGrad) else ROOT if node in roots else INNER)
             for node in nodes]  # fmt: skip
    arrows = [
        (numbers[source], i)
        for i, node in enumerate(nodes)
        for source in node._ad_edges
        if source is not None and source in numbers
    ]
    return Drawing(boxes, arrows, "graph_of_gradients")


def _label(node: Node) -> str:
    shapes = [node._ad_shape] if node._ad_n_outputs == 1 else list(node._ad_shape or ())
    name = "leaf" if isinstance(node, AccumulateGrad) else type(node).__name__
    # a custom function may return other values than tensors
    return name + "\n" + " ".join(str(tuple(shape)) for shape in shapes if shape is not None)


# saved tensors ------------------------------------------------------------------------------------------------------


class Placement(NamedTuple):
    """The facts that a packed value gives by its method `placement`.

    array: None where it is not in memory. fate: "keep", "recompute" or "disk". plan: the plan that said so; it has a
    method `picture`. memory: what several packed values of one array have in common.
    """

    array: Any
    shape: tuple[int, ...]
    dtype: Any
    nbytes: int
    fate: str
    plan: Any
    memory: Any


class SavedEntry(NamedTuple):
    """One tensor that the graph keeps.

    operation, name: the node that saves the value, and the value's name. shape, dtype: None if a hook has packed it.
    nbytes: the bytes of its memory; 0 if an earlier entry keeps the same memory, so that the sum is the graph's memory.
    location: the source line that saved it, if locations are recorded. fate: "keep", "recompute" or "disk" in a plan of
    `checkpoint.auto`; empty without a plan. size: its bytes, in memory or not; 0 if an earlier entry has the same
    bytes. number: the node's number; later nodes have larger numbers.
    """

    operation: str
    name: str
    shape: tuple[int, ...] | None
    dtype: Any
    nbytes: int
    location: str | None
    fate: str = ""
    size: int = 0
    number: int = 0


class SavedTensors(list[SavedEntry]):
    """The tensors that a graph keeps, largest first; prints as a table, and `plot()` draws its memory over time.

    plan: the plan of `checkpoint.auto`, if it made a part of the graph.
    """

    plan: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of all together, memory that several share counted once."""
        return sum(entry.nbytes for entry in self)

    def by_operation(self) -> dict[str, int]:
        """Bytes kept by the nodes of each name, largest first."""
        total: dict[str, int] = {}
        for entry in self:
            total[entry.operation] = total.get(entry.operation, 0) + entry.nbytes
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    def table(self, limit: int | None = 30) -> Any:
        """A table for `rich.print`, of the largest `limit` entries."""
        from rich.table import Table

        entries = self if limit is None else self[:limit]
        missing = sum(entry.size for entry in self) - self.nbytes
        title = f"{len(self)} saved tensors, {readable(self.nbytes)}"
        table = Table(title=f"{title}; {readable(missing)} are not in memory" if missing else title)
        for column, side in (("bytes", "right"), ("shape", "left"), ("dtype", "left"), ("saved by", "left"),
                             ("as", "left"), ("plan", "left"), ("line", "left")):  # fmt: skip
            table.add_column(column, justify=side)  # type: ignore[arg-type]
        for entry in entries:
            table.add_row(
                readable(entry.size) if entry.size else "shared",
                "packed" if entry.shape is None else str(entry.shape),
                "" if entry.dtype is None else str(entry.dtype),
                entry.operation,
                entry.name,
                entry.fate,
                entry.location or "",
            )
        if len(entries) < len(self):
            table.add_row("...", f"and {len(self) - len(entries)} more")
        return table

    def plot(self) -> Picture:
        """Saved memory while the function and its backward pass run, as SVG: a notebook shows it, `save` writes it.

        For a graph by `checkpoint.auto` it shows the plan, the memory without a plan, and the budget.

        >>> import adjoint
        >>> x = adjoint.ones(1000, requires_grad=True)
        >>> str(adjoint.autograd.graph.saved_tensors((x.exp() * x).sum()).plot())[:4]
        '<svg'
        """
        from adjoint.tools.memory_picture import Line, memory_picture

        if self.plan is not None:
            return self.plan.picture()  # type: ignore[no-any-return]
        sizes = [0]
        for entry in sorted(self, key=lambda entry: entry.number):
            sizes.append(sizes[-1] + entry.nbytes)
        return memory_picture([Line("saved", "#5b8ff9", [*sizes, *reversed(sizes[:-1])])])

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=140, record=True, quiet=False, file=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self.table())
        return capture.get()

    def __rich__(self) -> Any:
        return self.table()


def saved_tensors(targets: Target | Iterable[Target]) -> SavedTensors:
    """Every tensor that the graph behind a tensor (or several) keeps for its backward pass, largest first.

    Printing it as a table needs `rich`. Values packed by hooks are listed without a shape. Values of
    `utils.checkpoint.auto` show the plan: kept, recomputed, or on disk.

    >>> import adjoint
    >>> x = adjoint.ones(1000, requires_grad=True)
    >>> kept = adjoint.autograd.graph.saved_tensors((x.exp() * x).sum())
    >>> [(entry.operation, entry.name, entry.nbytes) for entry in kept]
    [('MulBackward0', 'other', 4000), ('MulBackward0', 'self', 4000), ('ExpBackward0', 'result', 0)]
    """
    memory_ids: set[int] = set()
    entries = SavedTensors()
    for node in nodes_of(targets):
        location = getattr(node, "_ad_saved_at", None)
        line = None if location is None else description(location)
        for name, saved in node._ad_saved_items():
            placement = _placement_of(saved)
            entries.append(_entry(node, name, placement, memory_ids, line))
            entries.plan = entries.plan or placement.plan
    entries.sort(key=lambda entry: (-entry.nbytes, -entry.size))
    return entries


def _placement_of(saved: Any) -> Placement:
    """The place of a saved value; unknown if other hooks have packed it."""
    tell = getattr(saved.packed, "placement", None) if isinstance(saved, SavedTensor) else None
    if tell is not None:
        return tell()  # type: ignore[no-any-return]
    array = _array_of(saved)
    return Placement(None, (), None, 0, "", None, None) if array is None else placement_of(array)


def placement_of(array: Any) -> Placement:
    """The place of an array in memory."""
    owner = _memory(array)
    nbytes = int(getattr(owner, "nbytes", array.size * array.dtype.itemsize))
    return Placement(array, tuple(array.shape), array.dtype, nbytes, "", None, owner)


def _array_of(entry: Any) -> Any:
    if isinstance(entry, SavedTensor):
        return entry.array if entry.original is None else entry.original._array
    return entry._array if isinstance(entry, TensorBase) else entry


def _entry(node: Node, name: str, placement: Placement, memory_ids: set[int], line: str | None) -> SavedEntry:
    operation, number = type(node).__name__, node._ad_sequence_nr
    if placement.dtype is None:
        return SavedEntry(operation, name, None, None, 0, line, number=number)
    size = 0 if id(placement.memory) in memory_ids else placement.nbytes
    memory_ids.add(id(placement.memory))
    return SavedEntry(
        operation,
        name,
        placement.shape,
        from_numpy_dtype(placement.dtype),
        0 if placement.array is None else size,
        line,
        placement.fate,
        size,
        number,
    )


def _memory(array: Any) -> Any:
    """The array that owns the memory."""
    array = underlying(array)
    while getattr(array, "base", None) is not None and hasattr(array.base, "nbytes"):
        array = array.base
    return array
