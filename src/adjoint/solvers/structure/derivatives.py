"""Sparse Jacobians and Hessians: pattern and colouring once, then a few batched products for each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.operations.dependence import differentiating
from adjoint.runtime.once import warn_once
from adjoint.solvers.flattening import Flat, constant_error, to_numpy
from adjoint.solvers.functions import slope, start_of
from adjoint.solvers.structure.colouring import Part, Pattern, compression, count_of, symmetric_compression
from adjoint.solvers.structure.progress import count_steps
from adjoint.solvers.structure.sets import DensePatternError
from adjoint.solvers.structure.tracing import pattern as traced_pattern
from adjoint.tensor.creation import from_numpy
from adjoint.tensor.differentiate import needing_grad
from adjoint.transforms import func
from adjoint.transforms.batching.vmap import vmap
from adjoint.transforms.passing import calls_back, has_tensor_leaf

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

Array = np.ndarray
Function = Callable[..., Any]

#: Numbers in one batch of products: more of them do not fit into caches.
_BATCH = 2**22
#: The fraction of the largest entry below which a difference is rounding, by the size of the numbers in bytes.
_ROUNDING = {8: 1e-9, 4: 1e-3}

MISSING = (
    "{name}: the pattern lacks the entry ({row}, {column}), where the {what} is {value:.6g}, perhaps among others; add "
    "it to the pattern, or leave the pattern out to have it traced"
)
UNSEEN = (
    "the structure of {name} cannot be seen, so that each element of its result counts as dependent on every element "
    "of x: derivatives are right, but take more products. Give the pattern if it is known"
)
WRONG_SHAPE = "{name}: expected a pattern of shape {expected}, got {shape}"
FORMS = ("global", "local")


class SparseDerivative:
    """A matrix of derivatives with a known pattern, at any point. Subclasses say which.

    function: of a vector. name: the function that the user called, for messages.
    """

    what = ""

    def __init__(self, name: str, function: Callable[[Tensor], Tensor], start: Tensor, pattern: Pattern) -> None:
        self.name, self.function, self.start = name, function, start
        self.places = pattern
        self.is_traced = True
        self.unseen: list[str] = []
        self.parts: list[Part] = []

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self.places.shape

    @property
    def pattern(self) -> Any:
        """The possible entries of the matrix, as a csr_array of booleans."""
        return self.places.matrix(np.ones(self.nnz, dtype=bool))

    @property
    def nnz(self) -> int:
        """The number of entries that the pattern has."""
        return self.places.nnz

    @property
    def colors(self) -> int:
        """The number of products that one matrix takes."""
        return count_of(self.parts)

    def matrix_at(self, vector: Tensor, with_progress: bool = False) -> Any:
        """The matrix at a point, as a csr_array."""
        products = self.products(vector)
        data = np.zeros(self.nnz, dtype=vector._array.dtype)
        for part, first, last in count_steps(list(self.batches()), self.name, with_progress):
            size = self.shape[0] if part.by_rows else self.shape[1]
            seeds = part.seeds(first, last, size, vector._array.dtype)
            mask = (part.colours >= first) & (part.colours < last)
            result = to_numpy(products(from_numpy(seeds), part.by_rows))
            data[part.entries[mask]] = result[part.colours[mask] - first, part.places[mask]]
        matrix = self.places.matrix(data)
        if not self.is_traced:
            self.check(vector, matrix, products)
        return matrix

    def batches(self) -> Iterator[tuple[Part, int, int]]:
        """Ranges of colours whose products are computed together."""
        step = max(1, _BATCH // max(1, *self.shape))
        for part in self.parts:
            for first in range(0, part.n_colours, step):
                yield part, first, min(first + step, part.n_colours)

    def products(self, vector: Tensor) -> Callable[[Tensor, bool], Tensor]:
        """A function of (seeds, by_rows) that gives the product with each seed, a row."""
        raise NotImplementedError

    def check(self, vector: Tensor, matrix: Any, products: Callable[[Tensor, bool], Tensor]) -> None:
        """Raise ValueError if the product with a random vector shows an entry that the pattern lacks."""
        random = np.random.default_rng(0)
        kind = vector._array.dtype
        driver = random.uniform(1.0, 2.0, self.shape[1]).astype(kind)
        expected = to_numpy(products(from_numpy(driver[None]), False))[0]
        errors = np.abs(matrix @ driver - expected)
        limit = _ROUNDING[kind.itemsize] * max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        if np.all(errors <= limit):
            return
        row = int(np.argmax(errors))
        unit = np.zeros((1, self.shape[0]), dtype=kind)
        unit[0, row] = 1
        line = to_numpy(products(from_numpy(unit), True))[0].copy()
        line[self.places.indices[self.places.indptr[row] : self.places.indptr[row + 1]]] = 0
        column = int(np.argmax(np.abs(line)))
        raise ValueError(
            MISSING.format(name=self.name, row=row, column=column, what=self.what, value=float(line[column]))
        )

    def info(self) -> dict[str, Any]:
        """The cost of the matrix: products, colours, entries."""
        return {"passes": self.colors + (not self.is_traced), "colors": self.colors, "nnz": self.nnz}

    def __repr__(self) -> str:
        colours = [f"{part.n_colours} colours of {'rows' if part.by_rows else 'columns'}" for part in self.parts]
        size = "×".join(map(str, self.shape))
        return f"<{self.what} of {size}, {self.nnz} entries, {' and '.join(colours) or 'no colours'}>"


class SparseJacobian(SparseDerivative):
    """The Jacobian of a function from vectors to vectors."""

    what = "Jacobian"

    def compress(self) -> None:
        """Choose the products."""
        self.parts = compression(self.places)

    def products(self, vector: Tensor) -> Callable[[Tensor, bool], Tensor]:
        recording: list[Any] = []

        def by_columns(seed: Tensor) -> Tensor:
            return func.jvp(self.function, (vector,), (seed,))[1]

        def multiply(seeds: Tensor, by_rows: bool) -> Tensor:
            if not by_rows:
                return vmap(by_columns)(seeds)
            if not recording:
                leaf = needing_grad(from_numpy(vector._array))
                with enable_grad(), differentiating([leaf]):
                    recording.extend((leaf, self.function(leaf)))
            return slope(recording[1], recording[0], seeds, is_grads_batched=True)

        return multiply


class SparseHessian(SparseDerivative):
    """The Hessian of a function from vectors to numbers."""

    what = "Hessian"

    def compress(self) -> None:
        """Choose the products."""
        self.parts = symmetric_compression(self.places)

    def products(self, vector: Tensor) -> Callable[[Tensor, bool], Tensor]:
        leaf = needing_grad(from_numpy(vector._array))
        with enable_grad():
            gradient = gradient_of(self.function)(leaf)
        return lambda seeds, by_rows: slope(gradient, leaf, seeds, is_grads_batched=True)


def gradient_of(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The gradient, with its history, of a function of a leaf."""

    def gradient(leaf: Tensor) -> Tensor:
        with differentiating([leaf]):
            result = function(leaf)
        return slope(result, leaf, create_graph=True)

    return gradient


def sparse_derivative(
    kind: type[Any],
    name: str,
    function: Callable[[Tensor], Tensor],
    start: Tensor,
    pattern: Any = None,
    form: str = "global",
    allow_constant: bool = False,
    most_entries: float | None = None,
) -> Any:
    """The derivative of a function of vectors with its pattern, traced at a start unless it is given, and colouring.

    most_entries: raise DensePatternError above this share of entries, whose colouring would take long; no warning then
    says what could not be seen.
    """
    if form not in FORMS:
        raise ValueError(f"{name}: unknown form={form!r}; known are {' and '.join(FORMS)}")
    n = start._array.size
    unseen: list[str] = []
    if pattern is None:
        places, unseen = trace(kind, name, function, start, form == "local", allow_constant)
    else:
        places = Pattern.of(pattern)
        m = n if kind is SparseHessian else function(start)._array.size
        if places.shape != (m, n):
            raise ValueError(WRONG_SHAPE.format(name=name, expected=(m, n), shape=places.shape))
    if kind is SparseHessian:
        places = places.symmetric()
    if most_entries is not None and places.nnz > most_entries * prod(places.shape):
        raise DensePatternError(
            f"{name}: {places.nnz} entries are more than the share {most_entries} of a matrix of shape {places.shape}: "
            "use the dense derivative, or raise most_entries"
        )
    derivative = kind(name, function, start, places)
    derivative.is_traced, derivative.unseen = pattern is None, unseen
    if unseen and most_entries is None:
        warn_once(UNSEEN.format(name=" and ".join(unseen)), key=f"structure of {unseen}")
    derivative.compress()
    return derivative


def trace(
    kind: type[Any],
    name: str,
    function: Callable[[Tensor], Tensor],
    start: Tensor,
    is_local: bool,
    allow_constant: bool,
) -> tuple[Pattern, list[str]]:
    """The pattern from one run, and what could not be seen."""
    leaf = needing_grad(from_numpy(start._array.copy()))

    def check(vector: Tensor) -> Tensor:
        with differentiating([leaf]):
            result = function(vector)
        if not result.requires_grad and not allow_constant:
            raise constant_error(name, "x")
        return result

    traced_function = gradient_of(check) if kind is SparseHessian else check
    with enable_grad():
        matrix, unseen = traced_pattern(traced_function, leaf, is_local)
    return Pattern(matrix.shape, matrix.indptr, matrix.indices), unseen


# functions of trees ---------------------------------------------------------------------------------------------------


class OfTrees:
    """A derivative of a function of numbers, arrays, or trees of these; call it with a point."""

    def __init__(
        self,
        kind: type[Any],
        name: str,
        function: Function,
        x: Any,
        args: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:
        self.flat = Flat(start_of(x), name)
        self.flat.of_arrays = not has_tensor_leaf((x, args))
        self.user_function, self.args = function, args
        self.derivative = sparse_derivative(
            kind, name, scalar(self.value, name) if kind is SparseHessian else self.value, self.flat.start(), **options
        )

    @calls_back
    def value(self, vector: Tensor) -> Tensor:
        """The function's result for a vector, as a vector."""
        result = self.user_function(self.flat.argument(vector), *self.args)
        return Flat(result, self.flat.name).start()

    def __call__(self, x: Any, *, full_output: bool = False, progress: bool = False) -> Any:
        """The matrix at x, as a scipy.sparse.csr_array; with full_output also the products, colours and entries."""
        vector = self.flat.ravel(start_of(x))
        matrix = self.derivative.matrix_at(vector.detach(), progress)
        return (matrix, self.info()) if full_output else matrix

    def info(self) -> dict[str, Any]:
        """{"passes": products that a matrix takes, "colors": their number without checks, "nnz": entries}."""
        return self.derivative.info()

    @property
    def pattern(self) -> Any:
        """The possible entries of the matrix, as a scipy.sparse.csr_array of booleans."""
        return self.derivative.pattern

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self.derivative.shape

    @property
    def nnz(self) -> int:
        """The number of entries of the pattern."""
        return self.derivative.nnz

    @property
    def colors(self) -> int:
        """The number of products that a matrix takes."""
        return self.derivative.colors

    @property
    def unseen(self) -> list[str]:
        """The names of the nodes whose structure could not be seen, so that they count as dense."""
        return list(self.derivative.unseen)

    def __repr__(self) -> str:
        return repr(self.derivative)


def scalar(function: Callable[[Tensor], Tensor], name: str) -> Callable[[Tensor], Tensor]:
    """The function, with a check that it returns one real number."""

    def value(vector: Tensor) -> Tensor:
        result = function(vector)
        if result._array.size != 1:
            raise ValueError(
                f"{name}: expected the function to return one real number, got shape {tuple(result.shape)}"
            )
        return result.reshape(())

    return value


def prepare_jacobian(
    f: Function, x: Any, *, args: Any = (), pattern: Any = None, form: str = "global", allow_constant: bool = False
) -> OfTrees:
    """The pattern and the colouring of f's Jacobian, once for many points: J = prepare_jacobian(f, x), then J(x).

    Args:
        f: gets x in its structure, then args; returns an array or a tree of arrays. If x or args hold tensors it gets
            tensors, else differentiable arrays that follow NumPy.
        x: numbers, an array, or a tree of arrays with n numbers in all (a complex one counts as two).
        pattern: a sparse or dense matrix of shape (m, n), not zero where the Jacobian may be; by default it is traced
            in one run of f. Each Jacobian is checked for entries that a given pattern lacks.
        form: "global": the pattern holds at all points where f takes the branches of this run, for any elements that
            sort(), max() or where() pick; "local": it holds only at x, without the entries that are zero there.
        allow_constant: the Jacobian has no entries if the result does not depend on x, instead of an error.

    Returns a callable of points with the structure of x, whose results are scipy.sparse.csr_array of shape (m, n), in
    the order of the leaves. Attributes: pattern, shape, nnz, colors, unseen (nodes that count as dense).

    Raises:
        ValueError: a given pattern has another shape or lacks an entry, which the message names; an unknown form.
        RuntimeError: the result does not depend on x by any recorded operation.

    >>> import adjoint, numpy
    >>> J = adjoint.sparse.prepare_jacobian(lambda x: x[1:] * x[:-1], numpy.arange(4.0))
    >>> J
    <Jacobian of 3×4, 6 entries, 2 colours of columns>
    >>> J(numpy.array([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[2., 1., 0., 0.],
           [0., 3., 2., 0.],
           [0., 0., 4., 3.]])
    """
    options = {"pattern": pattern, "form": form, "allow_constant": allow_constant}
    return OfTrees(SparseJacobian, "prepare_jacobian()", f, x, as_tuple(args), options)


def prepare_hessian(
    f: Function, x: Any, *, args: Any = (), pattern: Any = None, form: str = "global", allow_constant: bool = False
) -> OfTrees:
    """The pattern and the colouring of f's Hessian, once for many points: H = prepare_hessian(f, x), then H(x).

    f returns one real number. Everything else is as for `prepare_jacobian`. The pattern belongs to the Jacobian of the
    gradient; a given pattern is made symmetric.

    >>> import adjoint, numpy
    >>> H = adjoint.sparse.prepare_hessian(lambda x: (x[0] * x[1:] ** 2).sum(), numpy.ones(1000))
    >>> H
    <Hessian of 1000×1000, 2997 entries, 2 colours of columns>
    """
    options = {"pattern": pattern, "form": form, "allow_constant": allow_constant}
    return OfTrees(SparseHessian, "prepare_hessian()", f, x, as_tuple(args), options)


def jacobian(
    f: Function,
    x: Any,
    *,
    args: Any = (),
    pattern: Any = None,
    form: str = "global",
    allow_constant: bool = False,
    full_output: bool = False,
    progress: bool = False,
) -> Any:
    """The Jacobian of f at x as a scipy.sparse.csr_array of shape (m, n), from as few products as its colours.

    full_output: the result is (A, info), info a dict with "passes" (products used), "colors" and "nnz" (entries).
    progress: a bar shows the batches of products as they are done; it needs the package rich.
    The other arguments and the errors are as in `prepare_jacobian`, which is faster for many points.

    >>> import adjoint, numpy
    >>> A, info = adjoint.sparse.jacobian(lambda x: x[2:] - 2 * x[1:-1] + x[:-2], numpy.zeros(1000), full_output=True)
    >>> A.shape, info
    ((998, 1000), {'passes': 3, 'colors': 3, 'nnz': 2994})
    """
    options = {"pattern": pattern, "form": form, "allow_constant": allow_constant}
    prepared = OfTrees(SparseJacobian, "jacobian()", f, x, as_tuple(args), options)
    return prepared(x, full_output=full_output, progress=progress)


def hessian(
    f: Function,
    x: Any,
    *,
    args: Any = (),
    pattern: Any = None,
    form: str = "global",
    allow_constant: bool = False,
    full_output: bool = False,
    progress: bool = False,
) -> Any:
    """The Hessian of f at x as a scipy.sparse.csr_array of shape (n, n), from as few products as its colours.

    The arguments are those of `jacobian`; f returns one real number.

    >>> import adjoint, numpy
    >>> A = adjoint.sparse.hessian(lambda x: ((x[1:] - x[:-1] ** 2) ** 2).sum(), numpy.ones(3))
    >>> A.toarray()
    array([[ 8., -4.,  0.],
           [-4., 10., -4.],
           [ 0., -4.,  2.]])
    """
    options = {"pattern": pattern, "form": form, "allow_constant": allow_constant}
    prepared = OfTrees(SparseHessian, "hessian()", f, x, as_tuple(args), options)
    return prepared(x, full_output=full_output, progress=progress)


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Further arguments as a tuple."""
    return args if isinstance(args, tuple) else (args,)
