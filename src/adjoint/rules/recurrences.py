"""Propagation of truncated Taylor series through operations: by kind, or by a table of recurrences.

A series is an array of its normalised coefficients x[k] (derivative k divided by k!) along a new first axis; x[0] is
the value. Constants have series of any length. A result has the length of the shortest series that it depends on.

    kind          the series of the result
    constant      none
    linear        the operation on each coefficient
    multilinear   the operation on pairs of coefficients whose orders add up
    elementwise   by a recurrence of `RECURRENCES`, else as
    general       the integral of the jvp on series: y' = J(x) x'. If the formula needs y itself, the orders follow
                  one by one: coefficients of y up to order k give y' up to k, and so coefficient k + 1 of y

The recurrences of elementwise functions are operations of `rules/series.py`. Those of matrices solve the defining
equation order by order: A X = B, say, gives A[0] X[k] = B[k] - A[1] X[k - 1] - ... - A[k] X[0].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log, prod
from typing import Any

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.kernels.series.elementwise import RICCATI, WAVES
from adjoint.arrays.kernels.series.loops import LARGEST_BY_PRODUCTS

from . import factor_series
from .declare import Rule
from .derive import call, jvp, plus

#: A recurrence: gives the series of the result, or NotImplemented where the way by kind serves these arguments.
Recurrence = Callable[["Step"], Any]


class Step:
    """One operation on series.

    series: the series of inputs by name, all of one length (for a sequence of arrays a list, None for members without).
    values: the arguments by name. y: the result, a tuple for several. ops: the operations on coefficients. level: holds
    the series of Tensors, see `TaylorLevel` in transforms/taylor.py.
    """

    def __init__(self, rule: Rule, ops: Any, series: dict[str, Any], values: dict[str, Any], y: Any, level: Any):
        self.rule, self.ops, self.values, self.y, self.level = rule, ops, values, y, level
        self.n = min(s.shape[0] for s in flat(series.values()))
        self.series = {name: truncate(s, self.n) for name, s in series.items()}

    def align(self, name: str) -> Any:
        """The series of an input, with the number of axes of the result's series."""
        return with_rank(self.ops, self.series[name], self.y.ndim + 1)

    def complete(self, name: str) -> Any:
        """The series of an input, of a constant if it has none."""
        if name in self.series:
            return self.align(name)
        value = self.values[name]
        like = next(flat(self.series.values()))
        value = self.ops.zeros_like(like[0]) + value
        return with_rank(self.ops, self.with_first(value, self.ops.zeros_like(value)[None]), self.y.ndim + 1)

    def with_first(self, first: Any, rest: Any) -> Any:
        """The series of n coefficients from the first and the others; a single other one is repeated."""
        if self.n == 1:
            return first[None]
        if rest.shape[0] == 1:
            rest = self.ops.expand(rest, (self.n - 1, *rest.shape[1:]))
        return self.ops.cat([first[None], rest], 0)

    def result(self, rest: Any, y: Any = None) -> Any:
        """The series of a result from its coefficients of order 1 and more."""
        y = self.y if y is None else y
        if rest.shape[1:] != y.shape:
            rest = self.ops.expand(with_rank(self.ops, rest, y.ndim + 1), (rest.shape[0], *y.shape))
        if kind_of(rest) != kind_of(y):
            y = y + self.ops.zeros_like(rest[0])
        return self.with_first(y, rest)

    def constant(self, value: float, name: str) -> Any:
        """The series of a number, in the shape of an input's series."""
        zeros = self.ops.zeros_like(self.align(name))
        return self.with_first(zeros[0] + value, zeros[1:])


def flat(series: Any) -> Iterator[Any]:
    """All series, also those in lists."""
    for member in series:
        if isinstance(member, list):
            yield from (s for s in member if s is not None)
        else:
            yield member


def truncate(series: Any, n: int) -> Any:
    """The first n coefficients."""
    if isinstance(series, list):
        return [None if s is None else truncate(s, n) for s in series]
    return series if series.shape[0] == n else series[:n]


def with_rank(ops: Any, series: Any, ndim: int) -> Any:
    """The series with axes of size 1 behind the first, ndim axes in all."""
    shape = series.shape
    return series if len(shape) >= ndim else ops.reshape(series, (shape[0], *(1,) * (ndim - len(shape)), *shape[1:]))


def propagate(step: Step) -> Any:
    """The series of the result of an operation; for several results a tuple, None for results without one."""
    recurrence = RECURRENCES.get(step.rule.name)
    if recurrence is not None:
        series = recurrence(step)
        if series is not NotImplemented:
            return series
    return _BY_KIND[step.rule.kind](step)


# by kind --------------------------------------------------------------------------------------------------------------


def _constant(step: Step) -> None:
    return None


def _linear(step: Step) -> Any:
    """The operation on each coefficient; inputs without a series have zeros from order 1 on."""
    rule, values = step.rule, step.values
    if all(_has_all(step, name) for name in rule.inputs):
        return step.level.over_orders(rule, {**values, **step.series}, list(slots_of(step)))
    rest = {name: _rest(s) for name, s in step.series.items()}
    filled = {name: zeros_for(step.ops, values[name], rest.get(name)) for name in rule.inputs}
    if step.n == 1:
        return _with_first_by_name(step, None)
    return _with_first_by_name(step, step.level.over_orders(rule, {**values, **filled}, list(slots_of(step))))


def _has_all(step: Step, name: str) -> bool:
    """True if all arrays of an input have series."""
    value = step.values[name]
    if name not in step.series:
        return value is None
    return not isinstance(step.series[name], list) or all(s is not None for s in step.series[name])


def _rest(series: Any) -> Any:
    if isinstance(series, list):
        return [None if s is None else s[1:] for s in series]
    return series[1:]


def zeros_for(ops: Any, value: Any, series: Any) -> Any:
    """The series of an input; zeros without an axis of orders for arrays without series."""
    if isinstance(value, (list, tuple)):
        members = [None] * len(value) if series is None else series
        return [zeros_for(ops, member, s) for member, s in zip(value, members, strict=True)]
    if series is not None or value is None:
        return series
    return 0 if isinstance(value, (bool, int, float, complex)) else ops.zeros_like(value)


def _with_first_by_name(step: Step, rest: Any) -> Any:
    """The series of one or several results from the results y and the further coefficients."""
    if step.rule.outputs is None:
        return step.y[None] if rest is None else step.result(rest)
    if rest is None:
        return tuple(y[None] for y in step.y)
    return tuple(None if r is None else step.result(r, y) for r, y in zip(rest, step.y, strict=True))


def _multilinear(step: Step) -> Any:
    """The convolution of the series of all factors with series."""
    slots = list(slots_of(step))
    return _convolution(step, step.values, slots, [member_at(step.series, slot) for slot in slots])


#: An input, and for a member of a sequence its number.
Slot = tuple[str, "int | None"]


def slots_of(step: Step) -> Iterator[Slot]:
    """The factors that have series."""
    for name, series in step.series.items():
        if isinstance(series, list):
            yield from ((name, i) for i, s in enumerate(series) if s is not None)
        else:
            yield name, None


def member_at(arguments: dict[str, Any], slot: Slot) -> Any:
    name, i = slot
    return arguments[name] if i is None else arguments[name][i]


def replace_arguments(arguments: dict[str, Any], slots: list[Slot], arrays: list[Any]) -> dict[str, Any]:
    """The arguments with other arrays for some factors."""
    arguments = dict(arguments)
    for (name, i), array in zip(slots, arrays, strict=True):
        if i is None:
            arguments[name] = array
        else:
            arguments[name] = [array if k == i else member for k, member in enumerate(arguments[name])]
    return arguments


def _convolution(step: Step, values: dict[str, Any], slots: list[Slot], series: list[Any]) -> Any:
    """The convolution of the series of factors, the other factors being constants."""

    def on(*arrays: Any) -> Any:
        return step.level.over_orders(step.rule, replace_arguments(values, slots, list(arrays)), slots)

    if len(slots) == 1:
        return on(series[0])
    if len(slots) == 2:
        return convolve(step, series[0], series[1], on, prod(step.y.shape))
    total = None
    n = series[0].shape[0]
    for k in range(n):
        fixed = replace_arguments(values, slots[:1], [series[0][k]])
        part = _convolution(step, fixed, slots[1:], [s[: n - k] for s in series[1:]])
        part = step.ops.cat([*[step.ops.zeros_like(part[:1])] * k, part], 0)
        total = part if total is None else total + part
    return total


#: So many elements may the products of all pairs of coefficients have, to be computed together.
_TOGETHER = 2**16


def convolve(step: Step, a: Any, b: Any, product: Callable[[Any, Any], Any], size: int) -> Any:
    """The convolution of two series: sums of products over pairs of coefficients whose orders add up to each order.

    product: takes several coefficients of each along a first axis. size: the number of elements of one product.
    """
    ops, n = step.ops, a.shape[0]
    if n * (n + 1) // 2 * size <= _TOGETHER:
        of_left, of_right, sums = step.level.pairs(a)
        products = product(ops.index_select(a, 0, of_left), ops.index_select(b, 0, of_right))
        return ops.index_add(ops.zeros_like(products[:n]), 0, sums, products)
    reversed_b = ops.flip(b, (0,))
    rows = [ops.sum(product(a[: k + 1], reversed_b[n - 1 - k :]), (0,)) for k in range(n)]
    return ops.stack(rows, 0)


def _by_jvp(step: Step) -> Any:
    """The integral of the jvp, run on series."""
    rule, n = step.rule, step.n
    if n == 1:
        return _with_first_by_name(step, None)
    rates = {name: derive_series(step, s) for name, s in step.series.items()}
    if not needs_result(step):
        return _with_first_by_name(step, _integrate(step, _jvp(step, rates, step.y, n - 1)))
    outputs = (step.y,) if rule.outputs is None else step.y
    coefficients: list[Any] = [[y] if kind_of(y) in "fc" else None for y in outputs]
    for k in range(1, n):
        y = tuple(
            output if rows is None else step.level.tensor(step.ops.stack(rows, 0))
            for output, rows in zip(outputs, coefficients, strict=True)
        )
        rates_k = _jvp(step, cut_all(rates, k), y[0] if rule.outputs is None else y, k)
        for rows, rate, output in zip(
            coefficients,
            (rates_k,) if rule.outputs is None else rates_k or (None,) * len(outputs),
            outputs,
            strict=True,
        ):
            if rows is not None:
                rows.append(step.ops.zeros_like(output) if rate is None else rate[k - 1] / k)
    series = tuple(None if rows is None else step.ops.stack(rows, 0) for rows in coefficients)
    return series[0] if rule.outputs is None else series


def cut_all(series: dict[str, Any], n: int) -> dict[str, Any]:
    """The first n coefficients of each series."""
    return {name: truncate(s, n) for name, s in series.items()}


def needs_result(step: Step) -> bool:
    """True if the jvp by inputs with series needs the series of a floating-point result itself."""
    rule = step.rule
    needs = set()
    for name in step.series:
        formula = rule.jvps.get(name)
        formulas = [formula] if formula is not None else [f for f in rule.vjps if name in f.inputs]
        needs |= {need for f in formulas for need in f.needs}
    outputs = (step.y,) if rule.outputs is None else step.y
    names = ["y"] if rule.outputs is None else [f"y{i}" for i in range(len(outputs))]
    return any(name in needs and kind_of(y) in "fc" for name, y in zip(names, outputs, strict=True)) or (
        rule.outputs is not None and "y" in needs
    )


def derive_series(step: Step, series: Any) -> Any:
    """The series of the derivative by t, of one order less."""
    if isinstance(series, list):
        return [None if s is None else derive_series(step, s) for s in series]
    rest = series[1:]
    return rest * step.level.numbers(rest)


def _jvp(step: Step, rates: dict[str, Any], y: Any, n: int) -> Any:
    """The first n coefficients of the derivative of the results by t: the jvp on Tensors that have series."""
    tensors = {name: _tensors(step, rate, None) for name, rate in rates.items()}
    values = {
        **step.values,
        **{name: _tensors(step, truncate(s, n), step.values[name]) for name, s in step.series.items()},
    }
    return step.level.series_of(lambda ops, transposed: jvp(step.rule, ops, tensors, values, y, transposed), n)


def _tensors(step: Step, series: Any, value: Any) -> Any:
    """The Tensor, or Tensors, that have these series; the value where there is none."""
    if isinstance(series, list):
        values = [None] * len(series) if value is None else value
        return [v if s is None else step.level.tensor(s) for s, v in zip(series, values, strict=True)]
    return step.level.tensor(series)


def _integrate(step: Step, rates: Any) -> Any:
    """The coefficients of order 1 and more from the series of the derivative."""
    if isinstance(rates, tuple):
        return tuple(_integrate(step, rate) for rate in rates)
    return None if rates is None else rates / step.level.numbers(rates)


def _elementwise(step: Step) -> Any:
    """The partial derivatives on each coefficient if they are constants, else the integral of the jvp."""
    rule = step.rule
    formulas = [f for f in rule.vjps if f.inputs[0] in step.series]
    if not formulas:
        return None
    if any(name == "y" or name in rule.inputs for f in formulas for name in f.needs):
        return _by_jvp(step)
    return _by_partials(step, formulas)


def _by_partials(step: Step, formulas: list[Any]) -> Any:
    """The sum of the partial derivatives at the values times the coefficients of order 1 and more."""
    if step.n == 1:
        return step.y[None]
    total = None
    for formula in formulas:
        rest = step.align(formula.inputs[0])[1:]
        values = [step.y if name == "y" else step.values[name] for name in formula.needs]
        total = plus(total, formula.call(step.ops, rest, *values))
    return step.result(total)


_BY_KIND: dict[str, Recurrence] = {
    "constant": _constant,
    "linear": _linear,
    "multilinear": _multilinear,
    "elementwise": _elementwise,
    "general": _by_jvp,
}


# recurrences of elementwise functions ---------------------------------------------------------------------------------


def _same(step: Step) -> Any:
    """A linear operation whose arrays all have series; constants are added to the value alone."""
    if all(
        isinstance(step.values[name], (int, float, complex)) or name in step.series for name in step.rule.inputs
    ) and (len(step.series) == len(step.rule.inputs)):
        aligned = {name: step.align(name) for name in step.series}
        return call(step.rule, step.ops, {**step.values, **aligned})
    return NotImplemented


def _product(step: Step) -> Any:
    return product_of(step, "input", "other")


def product_of(step: Step, left: str, right: str) -> Any:
    """The series of the product of two inputs."""
    if left in step.series and right in step.series:
        return step.ops.series_product(step.align(left), step.align(right), 0)
    if left in step.series:
        return step.align(left) * step.values[right]
    return step.align(right) * step.values[left]


def _square(step: Step) -> Any:
    return step.ops.series_product(step.series["input"], step.series["input"], 0)


def _quotient(step: Step) -> Any:
    if "other" not in step.series:
        return step.align("input") / step.values["other"]
    return step.ops.series_quotient(step.complete("input"), step.align("other"), 0)


def _reciprocal(step: Step) -> Any:
    return step.ops.series_quotient(step.constant(1.0, "input"), step.series["input"], 0)


def _riccati(step: Step) -> Any:
    return step.ops.series_riccati(step.series["input"], step.rule.name, 0)


def _wave(step: Step) -> Any:
    return step.ops.series_wave(step.series["input"], step.rule.name, 0)


def _power_of(exponent: float) -> Recurrence:
    return lambda step: step.ops.series_power(step.series["input"], exponent, 0)


def _exp2(step: Step) -> Any:
    return step.ops.series_riccati(step.series["input"] * log(2), "exp", 0)


def _power_of_series(step: Step) -> Any:
    """y = y[0] exp(e log x - e[0] log x[0]), where both have series."""
    ops, x, exponent = step.ops, step.complete("input"), step.complete("exponent")
    if step.n == 1:
        return step.y[None]
    rates = ops.series_quotient(derive_series(step, x), x[:-1], 0) / step.level.numbers(x[1:])
    logarithm = step.with_first(ops.log(x[0]), rates)
    product = ops.series_product(exponent, logarithm, 0)
    return step.y * ops.series_riccati(step.with_first(ops.zeros_like(product[0]), product[1:]), "exp", 0)


def _power(step: Step) -> Any:
    """Powers with a number as exponent: products for small whole numbers, as the base may be 0. Powers of a number."""
    base, exponent = step.values["input"], step.values["exponent"]
    if "exponent" not in step.series and isinstance(exponent, (int, float)):
        if exponent == int(exponent) and 0 <= exponent <= LARGEST_BY_PRODUCTS:
            return whole_power(step, step.align("input"), int(exponent))
        return step.ops.series_power(step.align("input"), exponent, 0)
    if isinstance(base, (int, float)) and base > 0:
        return step.ops.series_riccati(step.align("exponent") * log(base), "exp", 0)
    return _power_of_series(step) if len(step.series) == 2 else NotImplemented


def whole_power(step: Step, series: Any, exponent: int) -> Any:
    """The product of so many equal series, by repeated squares."""
    if not exponent:
        return step.constant(1.0, "input")
    result = None
    while exponent:
        if exponent & 1:
            result = series if result is None else step.ops.series_product(result, series, 0)
        exponent >>= 1
        if exponent:
            series = step.ops.series_product(series, series, 0)
    return result


def _piecewise(step: Step) -> Any:
    """Linear around each value, so that the partial derivatives at the values hold for all orders."""
    return _by_partials(step, [f for f in step.rule.vjps if f.inputs[0] in step.series])


def _abs(step: Step) -> Any:
    """Linear around each real number; the root of the sum of squares of real and imaginary part."""
    ops, x = step.ops, step.series["input"]
    if kind_of(x) != "c":
        return _by_partials(step, list(step.rule.jvps.values()))
    real, imaginary = ops.real(x), ops.imag(x)
    squares = ops.series_product(real, real, 0) + ops.series_product(imaginary, imaginary, 0)
    return ops.series_power(squares, 0.5, 0)


def _sgn(step: Step) -> Any:
    """The quotient by the absolute value."""
    x = step.series["input"]
    return NotImplemented if kind_of(x) != "c" else step.ops.series_quotient(x, _abs(step) + 0j, 0)


def _log(step: Step) -> Any:
    return step.ops.series_log(step.series["input"], 0)


# recurrences of matrices ----------------------------------------------------------------------------------------------


def _linear_equation(step: Step) -> Any:
    """The solution y of an equation linear in y and in each input, order by order.

    The jvp by the right-hand side, at b, is the solution for b. The jvp by the matrix, at A, is minus the solution for
    A y. So coefficient k is the sum of the first for b[k] and of the second for all A[j] and y[k - j].
    """
    several = step.rule.outputs is not None
    rows = [step.y[0] if several else step.y]
    for k in range(1, step.n):
        total = None
        for name, series in step.series.items():
            formula = step.rule.jvps[name]
            of_matrix = any(need in ("y", "y0") for need in formula.needs)
            for j in range(1 if of_matrix else k, k + 1):
                values = [rows[k - j] if need in ("y", "y0") else step.values[need] for need in formula.needs]
                term = formula.call(step.ops, series[j], *values)
                total = plus(total, term[0] if several else term)
        rows.append(total)
    series = step.ops.stack(rows, 0)
    return (series, *[None] * (len(step.y) - 1)) if several else series


def _convolved_at(a: Any, rows: list[Any], k: int) -> Any:
    """a[1] rows[k - 1] + ... + a[k] rows[0], products of matrices."""
    return sum((a[j] @ rows[k - j] for j in range(2, k + 1)), a[1] @ rows[k - 1])


def _solve(step: Step) -> Any:
    """A X = B, with one solution for each order."""
    a, b = step.series.get("A"), step.series.get("B")
    rows = [step.y]
    for k in range(1, step.n):
        known_term = None if a is None else -_convolved_at(a, rows, k)
        rows.append(step.ops.linalg_solve(step.values["A"], plus(known_term, None if b is None else b[k])))
    return step.ops.stack(rows, 0)


def _inverse(step: Step) -> Any:
    a = step.series["A"]
    rows = [step.y]
    for k in range(1, step.n):
        rows.append(-(step.y @ _convolved_at(a, rows, k)))
    return step.ops.stack(rows, 0)


def _cholesky(step: Step) -> Any:
    """L H(L) = A: the change of L by what A[k] has beyond the products of coefficients of order 1 to k - 1."""
    several = step.rule.outputs is not None
    ops, upper, formula = step.ops, step.values["upper"], step.rule.jvps["A"]
    rows = [step.y[0] if several else step.y]
    for k in range(1, step.n):
        remainder = step.series["A"][k]
        for j in range(1, k):
            row_h = ops.conj_transpose(rows[j] if upper else rows[k - j])
            remainder = remainder - (row_h @ rows[k - j] if upper else rows[j] @ row_h)
        change = formula.call(ops, remainder, *[upper if need == "upper" else rows[0] for need in formula.needs])
        rows.append(change[0] if several else change)
    series = ops.stack(rows, 0)
    return (series, None) if several else series


def _logarithmic_rate(step: Step) -> Any:
    """The series of the trace of inv(A) A', the derivative of the logarithm of the determinant."""

    def rate(a: Any, change: Any) -> Any:
        product = step.ops.linalg_inv(a) @ change
        return step.ops.sum(step.ops.diagonal(product, 0, product.ndim - 2, product.ndim - 1), (product.ndim - 2,))

    a = step.series["A"]
    return step.level.run(rate, a[:-1], derive_series(step, a))


def _det(step: Step) -> Any:
    """y' = y trace(inv(A) A')."""
    if step.n == 1:
        return step.y[None]
    exponent = _integrate(step, _logarithmic_rate(step))
    exponent = step.with_first(step.ops.zeros_like(exponent[0]), exponent)
    return step.y * step.ops.series_riccati(exponent, "exp", 0)


def _slogdet(step: Step) -> Any:
    """The phase and the real part of the integral of trace(inv(A) A')."""
    ops, (sign, logarithm) = step.ops, step.y
    if step.n == 1:
        return sign[None], logarithm[None]
    exponent = _integrate(step, _logarithmic_rate(step))
    if kind_of(exponent) != "c":
        return None, step.result(exponent, logarithm)
    turn = 1j * ops.imag(exponent)
    phase = step.with_first(ops.zeros_like(turn[0]), turn)
    return sign * ops.series_riccati(phase, "exp", 0), step.result(ops.real(exponent), logarithm)


# functions of several elements, from others --------------------------------------------------------------------------


def _softmax(step: Step) -> Any:
    """y = exp(x - x[0]) y[0] / sum of these."""
    ops, dim = step.ops, step.values["dim"]

    def softmax(change: Any) -> Any:
        weights = step.y * ops.exp(change)
        return weights / ops.sum(weights, (dim,), True)

    return step.level.run(softmax, _without_value(step))


def _without_value(step: Step) -> Any:
    """The series of an input with 0 as its value."""
    x = step.series["input"]
    return step.with_first(step.ops.zeros_like(x[0]), x[1:])


def _log_softmax(step: Step) -> Any:
    ops, dim = step.ops, step.values["dim"]

    def log_softmax(change: Any) -> Any:
        return step.y + change - ops.log(ops.sum(ops.exp(step.y + change), (dim,), True))

    return step.level.run(log_softmax, _without_value(step))


def _logsumexp(step: Step) -> Any:
    """y = y[0] + log of the sum of exp(x - y[0])."""
    ops, dim, keepdim = step.ops, step.values["dim"], step.values["keepdim"]
    first = step.series["input"][0]
    y = restore(ops, step.y, first.ndim, dim, keepdim)
    weights = ops.exp(first - y)
    return step.level.run(
        lambda change: step.y + ops.log(ops.sum(weights * ops.exp(change), dim, keepdim)), _without_value(step)
    )


def restore(ops: Any, y: Any, ndim: int, dim: Any, keepdim: bool) -> Any:
    """The result of a reduction with the axes that it lacks."""
    if keepdim:
        return y
    axes = range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    shape = list(y.shape)
    for axis in sorted(axes):
        shape.insert(axis, 1)
    return ops.reshape(y, tuple(shape))


def _vector_norm(step: Step) -> Any:
    """The root of the sum of squares, for the Euclidean norm of real vectors."""
    ops, values = step.ops, step.values
    if values["ord"] != 2 or kind_of(step.series["input"]) == "c":
        return NotImplemented
    dim = values["dim"]
    axes = tuple(range(values["input"].ndim)) if dim is None else dim
    return step.level.run(lambda x: ops.sqrt(ops.sum(x * x, axes, values["keepdim"])), step.series["input"])


def _prod(step: Step) -> Any:
    """Multiplies halves of the elements until one element is left."""
    ops, dim = step.ops, step.values.get("dim")
    x = step.series["input"]
    axes = tuple(range(1, x.ndim)) if dim is None else tuple(d + 1 for d in (dim if isinstance(dim, tuple) else (dim,)))
    axes = tuple(axis for axis in axes if axis < x.ndim)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    lengths = [x.shape[axis] for axis in others]
    x = ops.reshape(ops.permute(x, (*others, *axes)), (*lengths, prod([x.shape[axis] for axis in axes])))
    if not x.shape[-1]:
        return NotImplemented
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        joined = ops.series_product(x[..., :half], x[..., half : 2 * half], 0)
        x = ops.cat([joined, x[..., 2 * half :]], x.ndim - 1) if x.shape[-1] % 2 else joined
    return ops.reshape(x, (step.n, *step.y.shape))


def _cumprod(step: Step) -> Any:
    """Products with the results so many elements before, for 1, 2, 4 ... elements."""
    ops, x = step.ops, step.series["input"]
    if x.ndim == 1:
        return x
    axis = step.values["dim"] + 1
    before = (slice(None),) * axis
    shift = 1
    while shift < x.shape[axis]:
        joined = ops.series_product(x[(*before, slice(shift, None))], x[(*before, slice(None, -shift))], 0)
        x = ops.cat([x[(*before, slice(None, shift))], joined], axis)
        shift *= 2
    return x


def _matrix_function(step: Step) -> Any:
    """The first blocks of the function of the block triangular matrix whose diagonals repeat the coefficients."""
    ops, a = step.ops, step.series["A"]
    n, m = step.n, a.shape[-1]
    zeros = ops.zeros_like(a[0])
    rows = [ops.cat([a[i - j] if i >= j else zeros for j in range(n)], zeros.ndim - 1) for i in range(n)]
    whole = call(step.rule, ops, {**step.values, "A": ops.cat(rows, zeros.ndim - 2)})
    return ops.stack([whole[..., i * m : (i + 1) * m, :m] for i in range(n)], 0)


_LINEAR_EQUATIONS = ("linalg_solve_ex", "linalg_solve_triangular", "sylvester", "banded_solution")
RECURRENCES: dict[str, Recurrence] = {
    **dict.fromkeys(("add", "sub", "rsub", "neg", "mul_number", "div_number", "deg2rad", "rad2deg"), _same),
    **dict.fromkeys(RICCATI, _riccati),
    **dict.fromkeys(WAVES, _wave),
    **dict.fromkeys(("relu", "copysign", "leaky_relu", "threshold", "hardtanh", "clamp"), _piecewise),
    "mul": _product,
    "abs": _abs,
    "sgn": _sgn,
    "square": _square,
    "true_divide": _quotient,
    "reciprocal": _reciprocal,
    "exp2": _exp2,
    "sqrt": _power_of(0.5),
    "rsqrt": _power_of(-0.5),
    "pow": _power,
    "log": _log,
    "linalg_solve": _solve,
    "linalg_inv": _inverse,
    "inverse_or_inf": _inverse,
    **dict.fromkeys(("linalg_cholesky", "linalg_cholesky_ex"), _cholesky),
    **dict.fromkeys(_LINEAR_EQUATIONS, _linear_equation),
    **dict.fromkeys(("prod", "prod_all"), _prod),
    "cumprod": _cumprod,
    "linalg_eigh": factor_series.eigh,
    "linalg_qr": factor_series.qr,
    "linalg_svd": factor_series.svd,
    "linalg_det": _det,
    "linalg_slogdet": _slogdet,
    "linalg_matrix_exp": _matrix_function,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "linalg_vector_norm": _vector_norm,
}
