"""Series of factors of matrices (eigenvectors, singular vectors, QR), order by order from their defining equations.

Coefficient k of a factor F is F[0] times a matrix D. Two conditions determine D. The equation of order k gives the part
that the other factor's shape does not fix. The columns stay orthonormal, which gives D + H(D) = C. The phases of
complex vectors are fixed as for the first derivatives in `linalg.py`. If eigenvalues or singular values are equal,
first derivatives are those of `linalg.py`, too. Coefficients of order 2 and more then depend on the choice of the
vectors, and are NaN.
"""

from __future__ import annotations

from math import nan
from typing import Any

from .derive import plus
from .linalg import H, diagonal, gaps, on_diagonal

Rows = list[Any]


def inner_products(ops: Any, rows: Rows, k: int) -> Any:
    """rows[1]^H rows[k - 1] + ... + rows[k - 1]^H rows[1]; None for k = 1."""
    terms = [H(ops, rows[j]) @ rows[k - j] for j in range(1, k)]
    return sum(terms[1:], terms[0]) if terms else None


def less(x: Any, *terms: Any) -> Any:
    """x less the terms that are not None."""
    for term in terms:
        x = x if term is None else x - term
    return x


def half(x: Any) -> Any:
    """Minus one half of a sum of inner products: the Hermitian part that keeps columns orthonormal."""
    return None if x is None else -0.5 * x


def turning(ops: Any, rows: Rows, k: int) -> Any:
    """The imaginary part of diag(F[0]^H F[k]) for which diag(F^H F') is real, so that columns keep their phases."""
    if k == 1:
        return ops.zeros_like(ops.imag(rows[0][..., 0, :]))
    terms = [(j - k) / k * ops.imag(diagonal(ops, H(ops, rows[j]) @ rows[k - j])) for j in range(1, k)]
    return sum(terms[1:], terms[0])


def nan_of_equal_values(ops: Any, of_gaps: Any) -> Any:
    """NaN where two different values are equal, 0 elsewhere."""
    identity = ops.identity(of_gaps, *of_gaps.shape[-2:])
    return ops.where(of_gaps + identity == 0, nan, 0.0)


def eigh(step: Any) -> Any:
    """A V = V diag(w), in the basis of the eigenvectors of A[0]."""
    ops, (values, vectors) = step.ops, step.y
    a = H(ops, vectors) @ step.series["A"] @ vectors
    of_gaps = gaps(values)
    start = ops.identity(vectors, *vectors.shape[-2:]) + ops.zeros_like(vectors)
    # the coefficients of the vectors, and those from which further ones are computed
    result_turns, turns, rows = [start], [start], [values]
    for k in range(1, step.n):
        known_terms = a[k]
        for j in range(1, k):
            known_terms = known_terms + a[j] @ turns[k - j] - turns[j] * rows[k - j][..., None, :]
        rows.append(ops.real(diagonal(ops, known_terms)))
        turn = ops.divide_or_zero(known_terms, of_gaps)
        inner = half(inner_products(ops, turns, k))
        if ops.is_complex_array(turn):
            turn = turn + 1j * on_diagonal(ops, turning(ops, turns, k))
        turn = turn if inner is None else turn + on_diagonal(ops, diagonal(ops, inner))
        result_turns.append(turn)
        turns.append(turn + nan_of_equal_values(ops, of_gaps) if k == 1 else turn)
    return ops.stack(rows, 0), vectors @ ops.stack(result_turns, 0)


def qr(step: Any) -> Any:
    """A = Q R of tall matrices; in wide ones, columns after the square part are Q times the same columns of R."""
    ops, (q, r), a = step.ops, step.y, step.series["A"]
    m, n = a.shape[-2:]
    if step.values["mode"] == "r" or (step.values["mode"] == "complete" and m > n):
        return NotImplemented
    qs, rs = [q], [r[..., :m]]
    lower = H(ops, rs[0])
    for k in range(1, step.n):
        known_terms = less(a[k][..., :m], *[qs[j] @ rs[k - j] for j in range(1, k)])
        scaled = H(ops, ops.linalg_solve_triangular(lower, H(ops, known_terms), upper=False))
        inner = half(inner_products(ops, qs, k))
        free = less(H(ops, q) @ scaled, inner)
        below = ops.tril(free, -1)
        skew = below - H(ops, below)
        if ops.is_complex_array(free):
            skew = skew + 1j * on_diagonal(ops, ops.imag(diagonal(ops, free)))
        upper = free - skew
        rs.append(ops.triu(upper @ rs[0]))
        qs.append(scaled - q @ upper)
    of_q, of_r = ops.stack(qs, 0), ops.stack(rs, 0)
    if m < n:
        behind = [sum(H(ops, qs[j]) @ a[k - j][..., m:] for j in range(k + 1)) for k in range(step.n)]
        of_r = ops.cat([of_r, ops.stack(behind, 0)], of_r.ndim - 1)
    return of_q, of_r


def svd(step: Any) -> Any:
    """A = U diag(S) H(V), for the vectors of all singular values."""
    ops, (u, s, vh), a = step.ops, step.y, step.series["A"]
    m, n = a.shape[-2:]
    if step.values["full_matrices"] and m != n:
        return NotImplemented
    v, squares = H(ops, vh), gaps(s * s)
    by_row, by_column = s[..., None], s[..., None, :]
    us, ss, vs, scaled = [u], [s], [v], [u * by_column]
    shown_u, shown_v = [u], [v]
    for k in range(1, step.n):
        products = [us[j] * ss[k - j][..., None, :] for j in range(1, k)]
        product = sum(products[1:], products[0]) if products else None
        known_terms = less(
            a[k],
            None if product is None else product @ vh,
            *[scaled[j] @ H(ops, vs[k - j]) for j in range(1, k)],
        )
        of_u, of_v = half(inner_products(ops, us, k)), half(inner_products(ops, vs, k))
        right, left = known_terms @ v, H(ops, known_terms) @ u
        core = H(ops, u) @ right
        free = less(core, None if of_u is None else of_u * by_column, None if of_v is None else by_row * of_v)
        free_h = H(ops, free)
        turn_u = ops.divide_or_zero(free * by_column + by_row * free_h, squares)
        turn_v = ops.divide_or_zero(by_row * free + free_h * by_column, squares)
        if ops.is_complex_array(u):
            # both vectors turn, each by half of the angle between them
            angle = ops.divide_or_zero(ops.imag(diagonal(ops, free)), s)
            common = turning(ops, us, k) + turning(ops, vs, k)
            turn_u = turn_u + 0.5j * on_diagonal(ops, common + angle)
            turn_v = turn_v + 0.5j * on_diagonal(ops, common - angle)
        ss.append(ops.real(diagonal(ops, free)))
        next_u, next_v = u @ plus(turn_u, of_u), v @ plus(turn_v, of_v)
        if m > n:
            next_u = next_u + ops.divide_or_zero(right - u @ core, by_column)
        if n > m:
            next_v = next_v + ops.divide_or_zero(left - v @ H(ops, core), by_column)
        shown_u.append(next_u)
        shown_v.append(next_v)
        if k == 1:
            columns = ops.sum(nan_of_equal_values(ops, squares), (squares.ndim - 2,), True)
            next_u, next_v = next_u + columns, next_v + columns
        us.append(next_u)
        vs.append(next_v)
        scaled.append(plus(product, next_u * by_column + u * ss[k][..., None, :]))
    return ops.stack(shown_u, 0), ops.stack(ss, 0), H(ops, ops.stack(shown_v, 0))
