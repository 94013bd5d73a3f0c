"""Idioms of numerical practice in plain NumPy code, each a small function of arrays and numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Function = Callable[..., Any]


class Idiom(NamedTuple):
    """A function of NumPy, and arguments to differentiate it by."""

    function: Function
    arguments: tuple[Any, ...]


IDIOMS: dict[str, Idiom] = {}

V = np.array([0.5, 2.25, -1.5, 1.75, 0.25, 3.0])
W = np.array([1.57, 0.33, 2.21])
X = np.array([[0.7, -1.2, 2.3], [1.9, 0.4, -0.6]])
Y = np.array([[1.3, 0.8, -0.5], [0.9, -1.7, 2.1]])
S = np.array([[2.03, 0.31, -0.42], [0.13, 1.56, 0.24], [-0.37, 0.64, 1.29]])
Z = np.array([0.6 + 0.3j, -1.1 + 0.9j, 0.2 - 0.7j])
N = 1.7


def idiom(*arguments: Any) -> Callable[[Function], Function]:
    """Enter a function under its name."""

    def enter(function: Function) -> Function:
        name = function.__name__
        if name in IDIOMS:
            raise ValueError(f"{name} is there twice")
        IDIOMS[name] = Idiom(function, arguments)
        return function

    return enter


def lines(family: str, *arguments: Any, **functions: Function) -> None:
    """Enter several functions of the same arguments."""
    for name, function in functions.items():
        IDIOMS[f"{family}_{name}"] = Idiom(function, arguments)


# loops that fill arrays -----------------------------------------------------------------------------------------------


@idiom(V)
def fill_zeros_like(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] ** 2
    return out


@idiom(V)
def fill_empty_like(x):
    out = np.empty_like(x)
    for i, value in enumerate(x):
        out[i] = np.sin(value)
    return out


@idiom(V)
def fill_empty_with_like(x):
    out = np.empty((len(x), 2), like=x)
    for i in range(len(x)):
        out[i, 0] = x[i]
        out[i, 1] = x[i] ** 3
    return out


@idiom(V)
def fill_ones_like_backwards(x):
    out = np.ones_like(x)
    for i in reversed(range(len(x) - 1)):
        out[i] = out[i + 1] * x[i]
    return out


@idiom(X)
def fill_full_like(x):
    out = np.full_like(x, 2.0)
    out[:, 1:] -= x[:, :-1]
    return out


@idiom(V)
def fill_while(x):
    out, i = np.zeros_like(x), 0
    while i < x.size:
        out[i] = x[: i + 1].sum()
        i += 2
    return out


@idiom(W, W)
def outer_by_loops(a, b):
    out = np.zeros((3, 3), like=a)
    for i in range(3):
        for j in range(3):
            out[i, j] = a[i] * b[j]
    return out


@idiom(S, S)
def matrix_product_by_loops(a, b):
    out = np.zeros_like(a)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                out[i, j] += a[i, k] * b[k, j]
    return out


@idiom(S)
def cholesky_by_hand(s):
    a = s @ s.T + np.eye(3)
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - low[i, :j] @ low[j, :j]
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low


@idiom(S)
def lu_by_hand(s):
    u, low = s.copy(), np.eye(3, like=s)
    for k in range(3):
        for i in range(k + 1, 3):
            low[i, k] = u[i, k] / u[k, k]
            u[i] -= low[i, k] * u[k]
    return low, u


@idiom(S, W)
def gauss_elimination_with_pivots(s, b):
    a, b = s.copy(), b.copy()
    for k in range(3):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        a[[k, p]] = a[[p, k]]
        b[[k, p]] = b[[p, k]]
        for i in range(k + 1, 3):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    for k in (2, 1, 0):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :]) / a[k, k]
    return b


@idiom(S)
def gram_schmidt(a):
    q = np.empty_like(a)
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for k in range(j):
            v -= (q[:, k] @ a[:, j]) * q[:, k]
        q[:, j] = v / np.linalg.norm(v)
    return q


@idiom(V, V + 4.0, V)
def thomas(a, b, d):
    n = len(d)
    c, e = np.zeros_like(d), np.zeros_like(d)
    c[0], e[0] = a[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c[i - 1]
        c[i] = a[i] / m
        e[i] = (d[i] - a[i] * e[i - 1]) / m
    for i in range(n - 2, -1, -1):
        e[i] -= c[i] * e[i + 1]
    return e


@idiom(V)
def running_maximum(x):
    out = x.copy()
    for i in range(1, len(out)):
        if out[i - 1] > out[i]:
            out[i] = out[i - 1]
    return out


@idiom(V, 0.3)
def exponential_smoothing(x, alpha):
    out = np.zeros_like(x)
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


@idiom(V)
def list_then_stack(x):
    rows = []
    for value in x:
        rows.append(np.sin(value) * value)
    return np.stack(rows)


@idiom(W)
def list_with_like(x):
    return np.array([[x[0], -x[1]], [x[1], x[0] * x[2]]], like=x)


@idiom(W)
def cross_matrix(k):
    zero = np.zeros_like(k[0])
    return np.array([[zero, -k[2], k[1]], [k[2], zero, -k[0]], [-k[1], k[0], zero]], like=k)


@idiom(V)
def bubble_sort(x):
    x = x.copy()
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1].copy(), x[j].copy()
    return x


@idiom(V)
def levinson_like_recursion(r):
    a = np.zeros_like(r)
    a[0] = 1.0
    for k in range(1, 4):
        old = a.copy()
        a[1 : k + 1] += r[k] * 0.1 * old[k - 1 :: -1][:k]
    return a


@idiom(X)
def dynamic_programming(cost):
    best = np.zeros_like(cost)
    best[0] = cost[0]
    for j in range(3):
        best[1, j] = cost[1, j] + np.min(best[0, max(j - 1, 0) : j + 2])
    return best


# iterations and steps -------------------------------------------------------------------------------------------------


@idiom(V, N)
def horner(c, x):
    result = 0.0
    for each in c[::-1]:
        result = result * x + each
    return result


@idiom(V, N)
def clenshaw(c, x):
    b1 = b2 = 0.0
    for each in c[:0:-1]:
        b1, b2 = 2 * x * b1 - b2 + each, b1
    return c[0] + x * b1 - b2


@idiom(W, 0.1)
def runge_kutta(y, h):
    def f(t, y):
        return np.array([y[1], -y[0] + t * y[2], -y[2] * y[1]], like=y)

    t = 0.0
    for _ in range(5):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
    return y


@idiom(W, 0.1)
def euler_with_history(y, h):
    path = np.empty((6, 3), like=y)
    path[0] = y
    for i in range(5):
        path[i + 1] = path[i] + h * np.cos(path[i][::-1])
    return path


@idiom(W, W, 0.05)
def leapfrog(q, p, h):
    p = p - h / 2 * q**3
    for _ in range(4):
        q = q + h * p
        p = p - h * q**3
    return q, p


@idiom(2.0)
def newton_root(a):
    x = 1.0
    for _ in range(8):
        x = x - (x * x - a) / (2 * x)
    return x


@idiom(2.0)
def newton_until_converged(a):
    x = a
    while abs(x**3 - a) > 1e-12:
        x -= (x**3 - a) / (3 * x**2)
    return x


@idiom(S)
def power_iteration(s):
    a = s @ s.T
    v = np.ones(3)
    for _ in range(10):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


@idiom(S, W)
def jacobi_iteration(a, b):
    d = np.diag(a)
    r = a - np.diagflat(d)
    x = np.zeros_like(b)
    for _ in range(6):
        x = (b - r @ x) / d
    return x


@idiom(S + 3 * np.eye(3), W)
def gauss_seidel(a, b):
    x = np.zeros_like(b)
    for _ in range(4):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@idiom(S, W)
def conjugate_gradients(s, b):
    a = s @ s.T + np.eye(3)
    x, r = np.zeros_like(b), b.copy()
    p = r.copy()
    for _ in range(3):
        alpha = (r @ r) / (p @ a @ p)
        x += alpha * p
        old = r @ r
        r -= alpha * (a @ p)
        p = r + (r @ r) / old * p
    return x


@idiom(np.array([1.2, -0.7]))
def gradient_descent(x):
    for _ in range(5):
        g = np.array([2 * (x[0] - 1) + x[1], 4 * x[1] + x[0]], like=x)
        x -= 0.1 * g
    return x


@idiom(0.3, 2.9)
def logistic_map(x, r):
    xs = [x]
    for _ in range(6):
        xs.append(r * xs[-1] * (1 - xs[-1]))
    return np.stack(xs)


@idiom(1.3)
def exponential_series(x):
    term, total = 1.0, 1.0
    for n in range(1, 15):
        term *= x / n
        total += term
    return total


@idiom(1.3, 0.4)
def arithmetic_geometric_mean(a, b):
    for _ in range(5):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


@idiom(V)
def kalman_1d(z):
    x, p, out = 0.0, 1.0, []
    for each in z:
        p = p + 0.1
        gain = p / (p + 0.5)
        x = x + gain * (each - x)
        p *= 1 - gain
        out.append(x)
    return np.array(out, like=z)


@idiom(np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([0.4, 0.6]))
def markov_chain(p, start):
    states = [start]
    for _ in range(4):
        states.append(states[-1] @ p)
    return np.vstack(states)


# stencils and slices --------------------------------------------------------------------------------------------------

lines(
    "stencil", V,
    forward=lambda x: x[1:] - x[:-1],
    central=lambda x: (x[2:] - x[:-2]) / 2,
    second=lambda x: x[2:] - 2 * x[1:-1] + x[:-2],
    periodic=lambda x: np.roll(x, -1) - 2 * x + np.roll(x, 1),
    padded=lambda x: np.diff(np.pad(x, 1, mode="edge"), n=2),
    reversed=lambda x: x[::-1] * x,
    even_and_odd=lambda x: x[::2] - x[1::2],
    windows=lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=-1),
    moving_average=lambda x: np.convolve(x, np.ones(3) / 3, mode="valid"),
    moving_average_by_sums=lambda x: (np.cumsum(x)[3:] - np.cumsum(x)[:-3]) / 3,
    gradient=lambda x: np.gradient(x, 0.5),
    last_and_first=lambda x: np.r_[0.0:2.0] * x[-1] + x[0],
    halves=lambda x: np.add(*np.split(x, 2)),
    triples=lambda x: x.reshape(-1, 3).sum(axis=1),
)  # fmt: skip


@idiom(V, 0.2)
def heat_in_place(u, r):
    u = u.copy()
    for _ in range(3):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@idiom(np.outer(V[:4], V[1:5]))
def laplace_2d(u):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return out


@idiom(V, 0.4)
def upwind_advection(u, c):
    u = u * 1.0
    for _ in range(3):
        u[1:] = u[1:] - c * (u[1:] - u[:-1])
    return u


@idiom(V)
def boundary_conditions(u):
    u = u.copy()
    u[0], u[-1] = u[1], u[-2]
    return u


@idiom(np.outer(V[:4], V[1:5]))
def convolve_2d_by_slices(image):
    kernel = np.array([[1.0, 2.0], [0.5, -1.0]])
    out = np.zeros((3, 3), like=image)
    for i in range(2):
        for j in range(2):
            out += kernel[i, j] * image[i : i + 3, j : j + 3]
    return out


@idiom(V)
def swap_by_slices(x):
    y = x.copy()
    y[::2], y[1::2] = x[1::2], x[::2]
    return y


@idiom(X)
def view_of_view(x):
    y = x * 1.0
    row = y[1]
    tail = row[1:]
    tail *= 10.0
    row[0] = 0.0
    return y


@idiom(V)
def reversed_view_written(x):
    y = x.copy()
    back = y[::-1]
    back[:2] = x[:2] * 3
    return y, back


# broadcasting ---------------------------------------------------------------------------------------------------------

lines(
    "broadcast", X, W,
    add_row=lambda x, w: x + w,
    add_column=lambda x, w: x + x.mean(axis=1)[:, None],
    center=lambda x, w: x - x.mean(axis=0, keepdims=True),
    standardize=lambda x, w: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True),
    normalize_rows=lambda x, w: x / np.linalg.norm(x, axis=1, keepdims=True),
    distances=lambda x, w: np.sqrt(((x[:, None, :] - x[None, :, :] + 1e-3) ** 2).sum(-1)),
    differences=lambda x, w: np.subtract.outer(w, w),
    outer_newaxis=lambda x, w: w[:, np.newaxis] * w[np.newaxis, :],
    tile=lambda x, w: np.tile(w, (2, 1)) * x,
    repeat=lambda x, w: np.repeat(w, 2).reshape(3, 2) @ x,
    broadcast_to=lambda x, w: np.broadcast_to(w, (2, 3)) * x,
    broadcast_arrays=lambda x, w: np.multiply(*np.broadcast_arrays(x, w)),
    softmax=lambda x, w: np.exp(x - x.max(1)[:, None]) / np.exp(x - x.max(1)[:, None]).sum(1, keepdims=True),
    logsumexp=lambda x, w: np.log(np.exp(x - x.max()).sum()) + x.max(),
    covariance=lambda x, w: (x - x.mean(0)).T @ (x - x.mean(0)) / (len(x) - 1),
    mahalanobis=lambda x, w: np.einsum("ij,jk,ik->i", x, np.diag(w), x),
    weighted_mean=lambda x, w: (x * w).sum(axis=1) / w.sum(),
    average=lambda x, w: np.average(x, axis=1, weights=w),
    minmax=lambda x, w: (x - x.min()) / (x.max() - x.min()),
    scale_in_place=lambda x, w: _scale(x, w),
)  # fmt: skip


def _scale(x, w):
    x = x.copy()
    x *= w
    x -= x.mean(axis=0)
    x /= 1 + w[0] ** 2
    return x


# products and contractions --------------------------------------------------------------------------------------------

lines(
    "product", X, Y,
    einsum_trace=lambda x, y: np.einsum("ij,ij->", x, y),
    einsum_outer=lambda x, y: np.einsum("i,j->ij", x[0], y[1]),
    einsum_diagonal=lambda x, y: np.einsum("ii->i", x @ y.T),
    einsum_optimized=lambda x, y: np.einsum("ij,kj,kl->il", x, y, y, optimize=True),
    matmul=lambda x, y: x @ y.T,
    dot=lambda x, y: np.dot(x, y.T),
    inner=lambda x, y: np.inner(x, y),
    vdot=lambda x, y: np.vdot(x, y),
    tensordot=lambda x, y: np.tensordot(x, y, axes=([0, 1], [0, 1])),
    kron=lambda x, y: np.kron(x, y),
    cross=lambda x, y: np.cross(x, y),
    outer=lambda x, y: np.outer(x, y),
    multi_dot=lambda x, y: np.linalg.multi_dot([x, y.T, x]),
    trace_of_product=lambda x, y: np.trace(x @ y.T),
    quadratic_form=lambda x, y: x[0] @ (y.T @ y) @ x[0],
)  # fmt: skip

# building arrays ------------------------------------------------------------------------------------------------------

lines(
    "build", X, W,
    concatenate=lambda x, w: np.concatenate([x.ravel(), w]),
    concatenate_with_plain=lambda x, w: np.concatenate([np.zeros(2), w, [1.0, 2.0]]),
    stack=lambda x, w: np.stack([x[0], w, x[1] * w], axis=1),
    hstack=lambda x, w: np.hstack([x, np.ones((2, 1)), x[:, :1]]),
    vstack=lambda x, w: np.vstack([x, w]),
    dstack=lambda x, w: np.dstack([x, x * 2]),
    column_stack=lambda x, w: np.column_stack([np.ones(3), w, w**2]),
    block=lambda x, w: np.block([[np.eye(2), x], [x.T, np.zeros((3, 3))]]),
    append=lambda x, w: np.append(w, x[0, 0]),
    insert=lambda x, w: np.insert(w, 1, x[0, 1]),
    delete=lambda x, w: np.delete(x, 1, axis=1),
    pad=lambda x, w: np.pad(x, ((1, 0), (0, 2)), constant_values=1.5),
    pad_reflect=lambda x, w: np.pad(w, 2, mode="reflect"),
    meshgrid=lambda x, w: np.sin(np.meshgrid(w, x[0])[0]) * np.meshgrid(w, x[0])[1],
    diag=lambda x, w: np.diag(w) + np.diag(w[:2], k=1),
    vander=lambda x, w: np.vander(w, 4, increasing=True),
    linspace=lambda x, w: np.linspace(w[0], w[1], 5),
    arange=lambda x, w: np.arange(4) * w[0],
    full=lambda x, w: np.full((2, 2), w[0], like=w),
    fill_diagonal=lambda x, w: _with_diagonal(w),
    triangle=lambda x, w: np.triu(np.outer(w, w), 1) + np.tril(np.outer(w, w), -1),
    triangle_indices=lambda x, w: _from_triangle(x),
    tuple_unpacking=lambda x, w: (lambda a, b: a * b)(*x),
    zip_rows=lambda x, w: sum(float(i) * (a @ w) for i, (a, b) in enumerate(zip(x, x, strict=True), start=1)),
    transpose_pairs=lambda x, w: [a * b for a, b in x.T],
    array_split=lambda x, w: [part.sum() for part in np.array_split(x.ravel(), 4)],
    moveaxis=lambda x, w: np.moveaxis(x[None] * w, 0, -1),
    rot90=lambda x, w: np.rot90(x, k=3) * np.arange(6.0).reshape(3, 2),
)  # fmt: skip


def _with_diagonal(w):
    a = np.zeros((3, 3), like=w)
    np.fill_diagonal(a, w)
    a[np.diag_indices(3)] *= 2
    return a


def _from_triangle(x):
    a = np.zeros((3, 3), like=x)
    a[np.triu_indices(3)] = x.ravel()
    return a + a.T - np.diag(np.diag(a))


# masks and choices ----------------------------------------------------------------------------------------------------

lines(
    "mask", V,
    where=lambda x: np.where(x > 0, np.sqrt(np.abs(x)), x**2),
    relu=lambda x: np.maximum(x, 0),
    leaky=lambda x: np.where(x > 0, x, 0.1 * x),
    clip=lambda x: np.clip(x, -1.0, 2.0),
    boolean_sum=lambda x: x[x > 0].sum(),
    times_truth=lambda x: (x > 0) * x + (x <= 0) * x**2,
    count=lambda x: x.sum() / np.count_nonzero(x > 0),
    select=lambda x: np.select([x < 0, x < 1], [x**2, 3 * x], default=1.0),
    select_list=lambda x: np.select([x < 0], [np.exp(x)], default=x),
    piecewise=lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t**2]),
    piecewise_constant=lambda x: np.piecewise(x, [x < 0], [0.0, lambda t: np.sin(t)]),
    choose=lambda x: np.choose((x > 0).astype(int), [x**2, x]),
    compress=lambda x: np.compress(x > 0, x) * 2,
    extract=lambda x: np.extract(x < 1, x) ** 2,
    nonzero=lambda x: x[np.nonzero(x > 1)] * 2,
    flatnonzero=lambda x: x[np.flatnonzero(x > 1)].prod(),
    isfinite=lambda x: x[np.isfinite(x)].mean(),
    nan_to_num=lambda x: np.nan_to_num(np.where(x > 2, np.nan, x)),
    nan_to_num_in_place=lambda x: np.nan_to_num(a := np.where(x > 2, np.nan, x), copy=False, nan=3.0) * a,
    nanmean=lambda x: np.nanmean(np.where(x > 2, np.nan, x)),
    huber=lambda x: np.where(np.abs(x) < 1, 0.5 * x**2, np.abs(x) - 0.5).sum(),
    sign=lambda x: np.sign(x) * np.log1p(np.abs(x)),
    heaviside=lambda x: np.heaviside(x, 0.5) * x,
    safe_log=lambda x: np.log(np.where(x > 0, x, 1.0)),
    any_all=lambda x: x * 2 if np.any(x > 2) and not np.all(x > 2) else x,
    logical=lambda x: x[(x > 0) & (x < 2) | (x < -1)] ** 2,
    isclose=lambda x: x * (3.0 if np.isclose(x[1], 2.25) else 5.0),
    allclose=lambda x: x**2 if np.allclose(x, x * 1.0) else x,
    digitize=lambda x: np.array([1.0, 5.0, 7.0])[np.digitize(x, [0.0, 1.0])] * x,
    putmask=lambda x: _put_mask(x),
    place=lambda x: _place(x),
    copyto=lambda x: _copied_to(x),
    errstate=lambda x: _quiet(x),
)  # fmt: skip


def _put_mask(x):
    y = x.copy()
    np.putmask(y, x < 0, x**2)
    return y


def _place(x):
    y = x.copy()
    np.place(y, x > 1, [x[0], 2.0])
    return y


def _copied_to(x):
    y = np.zeros_like(x)
    np.copyto(y, np.sin(x), where=x > 0)
    return y


def _quiet(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(x > 0, np.log(np.abs(x)), 0.0)


@idiom(V)
def masked_assignment(x):
    y = x.copy()
    y[y < 0] = 0.0
    y[y > 2] *= 0.5
    return y


@idiom(V, W)
def masked_assignment_of_values(x, w):
    y = x.copy()
    y[x > 1] = w
    return y


@idiom(V, N)
def if_on_values(x, n):
    return x * n if x[0] > x[1] else x / n


@idiom(V)
def early_return(x):
    for i, value in enumerate(x):
        if value < 0:
            return x[i] * x[i - 1]
    return x.sum()


@idiom(V)
def argmax_use(x):
    i = np.argmax(x)
    return x[i] ** 2 + x[i - 1]


# sorting and searching ------------------------------------------------------------------------------------------------

lines(
    "order", V,
    sort=lambda x: np.sort(x) * np.arange(6),
    sort_descending=lambda x: np.sort(x)[::-1] ** 2,
    argsort=lambda x: (x**2)[np.argsort(x)],
    ranks=lambda x: x * np.argsort(np.argsort(x)),
    median=lambda x: np.median(x),
    quantile=lambda x: np.quantile(x, [0.1, 0.55]),
    percentile=lambda x: np.percentile(x, 30),
    partition=lambda x: np.partition(x, 2)[:3].sum(),
    trimmed_mean=lambda x: np.sort(x)[1:-1].mean(),
    gini=lambda x: np.abs(x[:, None] - x[None, :] + 1e-9).mean(),
    top_two=lambda x: x[np.argpartition(x, -2)[-2:]].prod(),
    searchsorted=lambda x: x[np.searchsorted([0.0, 1.0, 2.0], x)],
    unique=lambda x: np.unique(x) * np.arange(6),
    builtin_sum=lambda x: sum(x**2),
    builtin_max=lambda x: max(x) * min(x),
    builtin_sorted=lambda x: sorted(x)[0] * sorted(x)[-1],
    builtin_sorted_by_key=lambda x: sorted(x, key=lambda value: -abs(value))[0] ** 2,
    builtin_abs=lambda x: [abs(value) for value in x],
    builtin_pow=lambda x: [pow(value, 2) for value in x],
    builtin_map=lambda x: list(map(np.sin, x)),
    builtin_any=lambda x: x * any(x > 2),
    lexsort=lambda x: x[np.lexsort((x, np.abs(x) > 1))] * np.arange(6),
)  # fmt: skip

# sums and integrals ---------------------------------------------------------------------------------------------------

lines(
    "sum", V,
    cumsum=lambda x: np.cumsum(x),
    cumprod=lambda x: np.cumprod(x),
    reverse_cumsum=lambda x: np.cumsum(x[::-1])[::-1],
    trapezoid=lambda x: np.trapezoid(x, dx=0.1),
    trapezoid_by_hand=lambda x: ((x[1:] + x[:-1]) / 2 * 0.1).sum(),
    simpson_by_hand=lambda x: (x[:5:2][0] + 4 * x[1:4:2].sum() + 2 * x[2:3].sum() + x[4]) / 3,
    riemann=lambda x: np.sum(x[:-1] * np.diff(np.linspace(0, 1, 6))),
    reduce=lambda x: np.add.reduce(x**2),
    multiply_reduce=lambda x: np.multiply.reduce(x),
    maximum_accumulate=lambda x: np.maximum.accumulate(x),
    accumulate=lambda x: np.add.accumulate(x),
    outer=lambda x: np.multiply.outer(x, x[:2]),
    reduceat=lambda x: np.add.reduceat(x, [0, 3, 4]),
    logaddexp_reduce=lambda x: np.logaddexp.reduce(x),
    norm=lambda x: np.linalg.norm(x),
    rms=lambda x: np.sqrt(np.mean(np.square(x))),
    entropy=lambda x: -np.sum(x**2 / (x**2).sum() * np.log(x**2 / (x**2).sum())),
    variance_by_hand=lambda x: ((x - x.mean()) ** 2).sum() / (x.size - 1),
    histogram_weights=lambda x: np.histogram([0.1, 0.4, 0.6, 0.9, 0.2, 0.7], bins=3, weights=x)[0],
    bincount_weights=lambda x: np.bincount([0, 1, 1, 2, 0, 2], weights=x),
    autocorrelation=lambda x: np.correlate(x, x, mode="full"),
    ediff1d=lambda x: np.ediff1d(x, to_begin=0.0),
    nansum=lambda x: np.nansum(x),
    apply_along_axis=lambda x: np.apply_along_axis(lambda row: row[0] * row.sum(), 1, x.reshape(2, 3)),
    apply_over_axes=lambda x: np.apply_over_axes(np.sum, x.reshape(2, 3), [0, 1]),
    ptp=lambda x: np.ptp(x),
    corrcoef=lambda x: np.corrcoef(x.reshape(2, 3)),
    cov=lambda x: np.cov(x.reshape(2, 3)),
)  # fmt: skip


@idiom(V)
def ufunc_at(x):
    out = np.zeros(3, like=x)
    np.add.at(out, [0, 1, 1, 2, 0, 2], x)
    return out


@idiom(V, W)
def scatter_last_wins(x, w):
    y = x.copy()
    y[[0, 0, 2]] += w
    return y


# interpolation and polynomials ----------------------------------------------------------------------------------------


@idiom(V, N)
def linear_interpolation(y, x):
    grid = np.arange(6.0)
    i = np.searchsorted(grid, x) - 1
    t = (x - grid[i]) / (grid[i + 1] - grid[i])
    return (1 - t) * y[i] + t * y[i + 1]


@idiom(W, V, V)
def interp(x, knots, y):
    return np.interp(x, np.sort(knots), y)


@idiom(np.outer(V[:4], V[1:5]), 1.3, 2.6)
def bilinear_interpolation(image, r, c):
    i, j = int(np.floor(r)), int(np.floor(c))
    a, b = r - i, c - j
    corner = image[i : i + 2, j : j + 2]
    return np.array([1 - a, a], like=image) @ corner @ np.array([1 - b, b], like=image)


@idiom(np.array([0.0, 1.1, 2.3, 3.2]), V[:4], N)
def lagrange_interpolation(xs, ys, x):
    total = 0.0
    for i in range(4):
        others = np.delete(xs, i)
        total += ys[i] * np.prod((x - others) / (xs[i] - others))
    return total


@idiom(V[:4], N)
def newton_divided_differences(y, x):
    xs, c = np.arange(4.0), y.copy()
    for k in range(1, 4):
        c[k:] = (c[k:] - c[k - 1 : -1]) / (xs[k:] - xs[: 4 - k])
    value = c[-1]
    for k in (2, 1, 0):
        value = value * (x - xs[k]) + c[k]
    return value


lines(
    "polynomial", V[:4], W,
    polyval=lambda c, x: np.polyval(c, x),
    powers=lambda c, x: sum(a * x**k for k, a in enumerate(c)),
    vander=lambda c, x: np.vander(x, 4) @ c,
    polyfit=lambda c, x: np.polyfit(np.arange(4.0), c, 2),
    polyder=lambda c, x: np.polyval(np.polyder(c), x),
    polyint=lambda c, x: np.polyval(np.polyint(c), x),
    polymul=lambda c, x: np.polymul(c, x),
    polydiv=lambda c, x: np.polydiv(c, x)[0],
    roots=lambda c, x: np.sort(np.roots(x).real),
    least_squares=lambda c, x: np.linalg.lstsq(np.vander(np.arange(4.0), 3), c, rcond=None)[0] * x,
)  # fmt: skip

# linear algebra -------------------------------------------------------------------------------------------------------

lines(
    "linalg", S, W,
    solve=lambda s, w: np.linalg.solve(s, w),
    inv=lambda s, w: np.linalg.inv(s) @ w,
    det=lambda s, w: np.linalg.det(s),
    slogdet=lambda s, w: np.linalg.slogdet(s)[1],
    slogdet_named=lambda s, w: np.linalg.slogdet(s).logabsdet,
    eigvalsh=lambda s, w: np.linalg.eigvalsh(s + s.T),
    eigh=lambda s, w: np.abs(np.linalg.eigh(s + s.T)[1]),
    eigh_reconstruct=lambda s, w: _square_root(s @ s.T),
    svd_values=lambda s, w: np.linalg.svd(s, compute_uv=False),
    svd_low_rank=lambda s, w: _low_rank(s),
    qr=lambda s, w: np.abs(np.linalg.qr(s)[1]),
    norms=lambda s, w: [np.linalg.norm(s), np.linalg.norm(s, 2), np.linalg.norm(w, 1), np.linalg.norm(s, "nuc")],
    cholesky=lambda s, w: np.linalg.cholesky(s @ s.T + np.eye(3)),
    pinv=lambda s, w: np.linalg.pinv(s[:, :2]),
    matrix_power=lambda s, w: np.linalg.matrix_power(s, 3),
    cond=lambda s, w: np.linalg.cond(s),
    trace=lambda s, w: s.trace() + np.trace(s @ s),
    ridge=lambda s, w: np.linalg.solve(s.T @ s + 0.1 * np.eye(3), s.T @ w),
    gaussian_loglik=lambda s, w: -0.5 * w @ np.linalg.solve(s @ s.T, w) - 0.5 * np.linalg.slogdet(s @ s.T)[1],
    expm_by_series=lambda s, w: _exponential(s),
    gram=lambda s, w: np.exp(-0.5 * ((s[:, None] - s[None]) ** 2).sum(-1)),
    householder=lambda s, w: np.eye(3) - 2 * np.outer(w, w) / (w @ w),
    rotation=lambda s, w: np.array([[np.cos(w[0]), -np.sin(w[0])], [np.sin(w[0]), np.cos(w[0])]], like=w) @ w[1:],
    projection=lambda s, w: (w @ s[0]) / (s[0] @ s[0]) * s[0],
    eigvals_sum=lambda s, w: np.linalg.eigvals(s).sum().real,
    tensorsolve=lambda s, w: np.linalg.tensorsolve(s, w),
    vecdot=lambda s, w: np.linalg.vecdot(s, w),
)  # fmt: skip


def _square_root(a):
    values, vectors = np.linalg.eigh(a)
    return (vectors * np.sqrt(values)) @ vectors.T


def _low_rank(s):
    u, d, vt = np.linalg.svd(s, full_matrices=False)
    return (u[:, :2] * d[:2]) @ vt[:2]


def _exponential(s):
    total, term = np.eye(3), np.eye(3)
    for k in range(1, 12):
        term = term @ s / k
        total = total + term
    return total


# complex numbers and Fourier transforms -------------------------------------------------------------------------------

lines(
    "fourier", V,
    spectrum=lambda x: np.abs(np.fft.rfft(x)) ** 2,
    low_pass=lambda x: _low_pass(x),
    derivative=lambda x: np.fft.ifft(1j * np.fft.fftfreq(6) * np.fft.fft(x)).real,
    convolution=lambda x: np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(np.arange(6.0)), n=6),
    shift=lambda x: np.abs(np.fft.fftshift(np.fft.fft(x))),
    analytic_signal=lambda x: np.abs(np.fft.ifft(np.fft.fft(x) * np.array([1, 2, 2, 1, 0, 0.0]))),
    two_dimensional=lambda x: np.fft.fft2(x.reshape(2, 3)),
    phase=lambda x: np.angle(x + 1j * x[::-1]),
    unit_circle=lambda x: np.exp(1j * x),
    modulus=lambda x: np.abs(x + 2j),
    polar=lambda x: x * np.exp(2j * np.pi * x).real,
    dft_matrix=lambda x: np.exp(-2j * np.pi * np.outer(np.arange(6), np.arange(6)) / 6) @ x,
    complex_from_parts=lambda x: _complex_from_parts(x),
)  # fmt: skip
lines(
    "complex", Z,
    conjugate=lambda z: z * z.conj(),
    absolute=lambda z: np.abs(z) ** 2,
    parts=lambda z: z.real * z.imag,
    square=lambda z: z**2 + 1 / z,
    exponential=lambda z: np.exp(z) * np.log(z),
    root=lambda z: np.sqrt(z),
    angle=lambda z: np.angle(z),
    fft=lambda z: np.fft.fft(z),
    mobius=lambda z: (z - 1j) / (z + 2j),
    vdot=lambda z: np.vdot(z, z * 1j),
)  # fmt: skip


def _low_pass(x):
    spectrum = np.fft.rfft(x)
    spectrum[2:] = 0
    return np.fft.irfft(spectrum, n=len(x))


def _complex_from_parts(x):
    z = np.empty(3, dtype=complex, like=x)
    z.real = x[:3]
    z.imag = x[3:]
    return z**2


# dtypes, containers, text ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Oscillator:
    """Parameters in a dataclass."""

    mass: Any
    position: Any

    def energy(self):
        return 0.5 * self.mass * np.sum(self.position**2)


@idiom(N, W)
def dataclass_method(mass, position):
    return Oscillator(mass, position).energy()


@idiom(N, W)
def dataclass_replaced(mass, position):
    return dataclasses.replace(Oscillator(mass, position), mass=mass**2)


@idiom(N, W)
def dictionary_of_arrays(a, b):
    state = {"a": a, "b": b}
    state["a"] += 1.0
    state["b"] = state["b"] * state["a"]
    return state


@idiom(W)
def text_of_values(x):
    label = f"{x[0]:.1f} {x.shape} {x.sum():8.1e}"
    return x * len(label)


@idiom(W)
def keyed_by_value(x):
    table = {float(k): 2.0 for k in range(3)}
    return x * table[1.0]


@idiom(V)
def memo(x):
    cache = {}
    for i in range(6):
        cache[i] = x[i] + cache.get(i - 1, 0.0)
    return list(cache.values())


@idiom(V)
def class_with_state(x):
    class Counter:
        total = 0.0

        def add(self, value):
            self.total += value
            return self.total

    counter = Counter()
    return [counter.add(value) for value in x]


@idiom(W)
def integer_powers(x):
    return x ** np.arange(3)


@idiom(W)
def integer_and_float(x):
    return np.arange(3) * x + np.array([1, 2, 3], dtype=np.int32)


@idiom(W)
def boolean_and_float(x):
    return np.array([True, False, True]) * x


@idiom(W)
def promotion_from_list(x):
    return x + [1, 2, 3] + (0.5, 1.5, 2.5)


@idiom(W)
def generator_of_numbers(x):
    return sum(value**2 for value in x)


@idiom(X)
def nested_iteration(x):
    total = 0.0
    for row in x:
        for value in row:
            total += value**2
    return total


@idiom(X)
def ndindex_iteration(x):
    total = 0.0
    for index in np.ndindex(x.shape):
        total += x[index] * sum(index)
    return total


@idiom(X)
def ndenumerate_by_flat(x):
    return sum(i * value for i, value in enumerate(x.flat))


@idiom(X)
def shapes_and_sizes(x):
    rows, columns = x.shape
    return x.reshape(columns, rows).sum(axis=0) / x.size + np.size(x, 0) + np.ndim(x) + len(x)


@idiom(X)
def atleast(x):
    return np.atleast_2d(x[0]) @ np.atleast_1d(x[1])[:, None]


@idiom(np.array([0.3, 1.2, 2.0]), 1.5, 0.7)
def model_with_defaults(t, amplitude, decay):
    def model(t, amplitude=1.0, *, decay=1.0):
        return amplitude * np.exp(-decay * t)

    return model(t, amplitude, decay=decay)


@idiom(W, X)
def residuals_with_star(p, data):
    def residual(a, b, c):
        return data[0] - (a * np.exp(-b * data[1]) + c)

    return np.sum(residual(*p) ** 2)


@idiom(np.array([0.2, -0.4, 0.3, 0.5, 0.1, -0.2]), X)
def unpack_parameters(p, x):
    weights, bias = p[:3].reshape(3, 1), p[3:5]
    hidden = np.tanh(x @ weights + bias[:1])
    return hidden * p[-1] + bias[1]


@idiom(np.array([0.3, 0.8, -0.2]), np.array([1.0, 0.0, 1.0]))
def cross_entropy(logits, labels):
    p = 1 / (1 + np.exp(-logits))
    return -np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p))


@idiom(W, N)
def in_place_operators(x, n):
    y = x.copy()
    y += n
    y *= x
    y -= 1
    y /= n
    y **= 2
    return y


@idiom(W)
def out_argument(x):
    out = np.empty_like(x)
    np.multiply(x, 2.0, out=out)
    np.add(out, x, out=out)
    return np.exp(out, out=out)


@idiom(W)
def where_argument(x):
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 1)


@idiom(N)
def number_functions(n):
    return np.sin(n) * np.float64(2.0) + np.exp(-n) / 3 + n**2 - 1


@idiom(N)
def number_becomes_array(n):
    return np.array([1.0, 2.0]) * n + np.ones(2) / n


@idiom(N, W)
def stack_of_numbers(n, w):
    return np.stack([n, n**2, w[0]])


@idiom(N)
def closure(n):
    def scale(x):
        return n * x

    return scale(scale(np.array([1.0, 2.0])))


@idiom(W)
def recursion(x):
    def power(base, k):
        return 1.0 if k == 0 else base * power(base, k - 1)

    return power(x, 4)


@idiom(W)
def copies_do_not_alias(x):
    y = x.copy()
    z = y
    z[0] = 5.0
    return x, y


@idiom(X)
def array_functions_of_axis(x):
    return [np.sum(x, axis=k) * np.prod(x, axis=k) - np.max(x, axis=k) for k in (0, 1, -1)]


@idiom(X)
def expand_and_squeeze(x):
    return np.squeeze(np.expand_dims(x, (0, 2)), axis=0) * x[:, None, :]


@idiom(X, W)
def take_and_put(x, w):
    y = np.take(x, [2, 0, 1], axis=1)
    np.put(y, [0, 5], w[:2])
    return y


@idiom(X)
def take_along_axis(x):
    order = np.argsort(x, axis=1)
    return np.take_along_axis(x, order, axis=1) * [1.0, 2.0, 3.0]


@idiom(X)
def put_along_axis(x):
    y = x.copy()
    np.put_along_axis(y, np.argmax(x, axis=1, keepdims=True), 0.0, axis=1)
    return y


@idiom(W, W)
def hypot_and_arctan2(x, y):
    return np.hypot(x, y + 1) + np.arctan2(y, x)


@idiom(W)
def special_functions(x):
    return np.sinc(x) + np.i0(x) + np.logaddexp(x, 1.0) + np.expm1(x) + np.cbrt(x) + np.log2(x)


@idiom(W)
def angles(x):
    return np.deg2rad(x * 100) + np.unwrap(x * 4) + np.rad2deg(np.arcsinh(x))


@idiom(V)
def haversine(p):
    a, b = np.radians(p[:2]), np.radians(p[2:4])
    h = np.sin((b[0] - a[0]) / 2) ** 2 + np.cos(a[0]) * np.cos(b[0]) * np.sin((b[1] - a[1]) / 2) ** 2
    return 2 * np.arcsin(np.sqrt(h))


@idiom(X)
def polygon_area(p):
    x, y = p
    return 0.5 * np.abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


@idiom(np.array([0.1, 0.5, 0.9]), 0.2)
def lennard_jones(x, sigma):
    energy = 0.0
    for i in range(len(x)):
        for j in range(i):
            r = np.abs(x[i] - x[j])
            energy += 4 * ((sigma / r) ** 12 - (sigma / r) ** 6)
    return energy


@idiom(np.abs(V))
def black_scholes_like(p):
    s, k, t, r, vol = p[:5] + 0.5
    d1 = (np.log(s / k) + (r + vol**2 / 2) * t) / (vol * np.sqrt(t))
    return s * np.tanh(d1) - k * np.exp(-r * t) * np.tanh(d1 - vol * np.sqrt(t))


# functions that call functions ----------------------------------------------------------------------------------------


@idiom(X)
def deviations_along_an_axis(x):
    return np.apply_along_axis(lambda row, factor: factor * row.std() + row.size, 1, x, 2.0)


@idiom(X)
def maxima_over_axes(x):
    return np.apply_over_axes(lambda a, axis: a.max(axis=axis, keepdims=True) + a.std(axis, keepdims=True), x, [0, 1])


@idiom(V)
def pieces_by_methods(x):
    return np.piecewise(x, [x < 1, x >= 1], [lambda v, c: c * v * v.std(), lambda v, c: v**2 + v.size], 3.0)


# arguments that libraries give ----------------------------------------------------------------------------------------


@idiom(V)
def copied_if_needed(x):
    return np.array(x * 2, copy=np._CopyMode.IF_NEEDED, like=x) ** 2


@idiom(V)
def place_without_axes(x):
    out = np.zeros((), like=x)
    np.place(out, np.array(True), x[0] ** 2)
    np.place(out, np.array(False), x[1] ** 2)
    return out[()] * x[1]


@idiom(V)
def assigned_where_nothing_holds(x):
    out = np.zeros((), like=x)
    out[...] = x[0] ** 2
    low = np.array(False)
    out[low] = x[:1][np.array([False])]
    return out[()] * x[1]
