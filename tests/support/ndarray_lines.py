"""Lines of NumPy code about every attribute and method of numpy.ndarray."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The variables of the lines below. Each line is differentiated by the variables in it.
VALUES: dict[str, Any] = {
    "x": np.array([[0.7, -1.2, 2.3], [1.9, 0.4, -0.6]]),
    "y": np.array([[1.3, 0.8, -0.5], [0.9, -1.7, 2.1]]),
    "v": np.array([0.5, 2.25, -1.5, 1.75, 0.25, 3.0]),
    "w": np.array([1.57, 0.33, 2.21]),
    "s": np.array([[2.03, 0.31, -0.42], [0.13, 1.56, 0.24], [-0.37, 0.64, 1.29]]),
    "t": np.linspace(-1.1, 2.4, 24).reshape(2, 3, 4) ** 2,
    "z": np.array([[0.6 + 0.3j, -1.1 + 0.9j], [0.2 - 0.7j, 1.4 + 0.1j]]),
    "n": 1.7,
}

#: Lines of NumPy code by attribute. The last part of a line is the result.
LINES: dict[str, list[str]] = {
    # attributes
    "shape": ["x.shape", "x * x.shape[0]", "a = x * 1; a.shape = 3, 2; a", "a = x * 1; a.shape = -1; a"],
    "ndim": ["x.ndim, n * x.ndim"],
    "size": ["x.size, x / x.size"],
    "dtype": ["x.dtype, z.dtype", "x.dtype.kind, np.finfo(x.dtype).eps * x"],
    "itemsize": ["x.itemsize, z.itemsize"],
    "nbytes": ["x.nbytes, z.nbytes"],
    "strides": ["x.strides, x.T.strides, x[:, ::2].strides"],
    "flags": ["x.flags.c_contiguous, x.T.flags.c_contiguous, x.T.flags.f_contiguous"],
    "base": ["(x * 2).base is None, (x * 2)[0].base is None", "a = x * 2; b = a[0]; b.base[1]"],
    "device": ["x.device"],
    "real": ["z.real", "x.real", "a = z * 1; a.real = 2.0; a", "a = z * 1; a.real = x[:2, :2]; a",
             "a = x * 1; a.real = y; a", "a = z * 1; a.real[0] *= 3; a"],
    "imag": ["z.imag", "x.imag", "a = z * 1; a.imag = 2.0; a", "a = z * 1; a.imag = x[:2, :2]; a",
             "a = z * 1; a.imag[:, 0] += 1; a"],
    "T": ["x.T", "v.T", "t.T", "a = x * 1; a.T[0] = 5.0; a", "a = x * 1; a.T[1:, 0] *= w[:2]; a"],
    "mT": ["x.mT", "t.mT", "a = t * 1; a.mT[0, 0] = 5.0; a"],
    "flat": [
        "x.flat[2]", "x.flat[1:5:2]", "x.flat[[0, 4]]", "x.flat[::-1]", "[a * 2 for a in x.flat]", "len(x.flat)",
        "a = x * 1; a.flat[3] = n; a", "a = x * 1; a.flat[1:4] = w; a", "a = x * 1; a.flat = 3.0; a",
        "a = x * 1; a.flat = w; a", "a = x * 1; a.flat[[0, 5]] = w[:2]; a", "a = x * 1; a.T.flat[1] = n; a",
        "a = x * 1; a.flat[::2] *= 2; a", "a = x * 1; a.flat[::-2] = w; a",
        "a = x.flat; next(a), next(a)", "x.flat.copy()", "x.T.flat[1]", "x.T.flat[:]", "sum(x.flat)",
        "max(x.flat), min(x.flat)", "a = x.flat; next(a); a.index, a.coords", "x.flat.base * 2",
        "x.flat == y.flat", "a = x * 1; a.flat[a.ravel() > 0.5] = 0; a",
    ],
    # reductions
    "all": ["x.all()", "(x * 0).all(axis=0)", "x.all(axis=1, keepdims=True)", "x.all(where=x > 0)"],
    "any": ["x.any()", "(x * 0).any(axis=(0, 1))", "x.any(axis=1, keepdims=True)", "x.any(where=x > 0)"],
    "sum": [
        "x.sum()", "x.sum(0)", "x.sum(axis=-1, keepdims=True)", "t.sum(axis=(0, 2))", "x.sum(initial=2.0)",
        "x.sum(where=x > 0)", "x.sum(axis=1, where=x > 0, initial=n)", "x.sum(dtype=np.float32)", "x.sum(axis=None)",
        "z.sum(axis=0)", "a = np.zeros_like(w); x.sum(axis=0, out=a); a", "x.sum(dtype=complex)", "t.sum(axis=())",
    ],
    "prod": [
        "x.prod()", "x.prod(0)", "x.prod(axis=-1, keepdims=True)", "t.prod(axis=(0, 2))", "x.prod(initial=2.0)",
        "x.prod(where=x > 0)", "x.prod(axis=1, where=x > 0, initial=2.0)", "z.prod()", "x.prod(dtype=np.float32)",
        "(x * np.array([0.0, 1, 1])).prod(axis=1)", "a = np.zeros_like(w); x.prod(axis=0, out=a); a",
    ],
    "mean": [
        "x.mean()", "x.mean(0)", "x.mean(axis=-1, keepdims=True)", "t.mean(axis=(0, 2))", "x.mean(where=x > 0)",
        "x.mean(dtype=np.float32)", "z.mean(axis=1)", "a = np.zeros_like(w); x.mean(axis=0, out=a); a",
    ],
    "std": [
        "x.std()", "x.std(0)", "x.std(axis=-1, keepdims=True)", "x.std(ddof=1)", "t.std(axis=(0, 2), ddof=0.5)",
        "x.std(where=x > 0)", "z.std(axis=1)", "x.std(axis=1, mean=x.mean(1, keepdims=True))",
        "a = np.zeros_like(w); x.std(axis=0, out=a); a", "x.std(dtype=np.float32)",
    ],
    "var": [
        "x.var()", "x.var(0)", "x.var(axis=-1, keepdims=True)", "x.var(ddof=1)", "t.var(axis=(0, 2), ddof=0.5)",
        "x.var(where=x > 0)", "z.var(axis=1)", "x.var(axis=1, mean=x.mean(1, keepdims=True))",
        "a = np.zeros_like(w); x.var(axis=0, out=a); a", "x.var(dtype=np.float32)",
    ],
    "max": [
        "x.max()", "x.max(0)", "x.max(axis=-1, keepdims=True)", "t.max(axis=(0, 2))", "x.max(initial=2.0)",
        "x.max(axis=1, where=x > 0, initial=-1.0)", "z.max()", "a = np.zeros_like(w); x.max(axis=0, out=a); a",
    ],
    "min": [
        "x.min()", "x.min(0)", "x.min(axis=-1, keepdims=True)", "t.min(axis=(0, 2))", "x.min(initial=-2.0)",
        "x.min(axis=1, where=x > 0, initial=3.0)", "z.min()", "a = np.zeros_like(w); x.min(axis=0, out=a); a",
    ],
    "argmax": ["x.argmax()", "x.argmax(axis=0)", "x.argmax(axis=1, keepdims=True)", "v[v.argmax()]"],
    "argmin": ["x.argmin()", "x.argmin(axis=0)", "x.argmin(axis=1, keepdims=True)", "v[v.argmin()]"],
    "cumsum": ["x.cumsum()", "x.cumsum(axis=0)", "x.cumsum(1, dtype=np.float32)", "z.cumsum(axis=1)",
               "a = np.zeros_like(x); x.cumsum(axis=1, out=a); a"],
    "cumprod": ["x.cumprod()", "x.cumprod(axis=0)", "x.cumprod(1, dtype=np.float32)", "z.cumprod(axis=1)",
                "a = np.zeros_like(x); x.cumprod(axis=1, out=a); a"],
    "trace": ["s.trace()", "s.trace(1)", "t.trace(offset=-1, axis1=1, axis2=2)", "x.trace(dtype=np.float32)",
              "a = np.zeros_like(t[0, 0]); t.trace(out=a); a"],
    "clip": ["x.clip(-0.5, 1.0)", "x.clip(min=0.1)", "x.clip(max=0.1)", "x.clip(y, 2.0)", "x.clip(-n, n)",
             "a = np.zeros_like(x); x.clip(0, 1, out=a); a", "x.clip(None, y)"],
    "round": ["x.round()", "x.round(1)", "x.round(decimals=2)", "z.round(1)", "round(n, 1)",
              "a = np.zeros_like(x); x.round(1, out=a); a"],
    "dot": ["x.dot(w)", "s.dot(s)", "w.dot(w)", "x.dot(2.0)", "t.dot(np.ones((4, 2)))", "s.dot(y.T)",
            "a = np.zeros_like(s); s.dot(s, out=a); a", "z.dot(z[0])"],
    "conj": ["z.conj()", "x.conj()"],
    "conjugate": ["z.conjugate()", "x.conjugate()"],
    # shapes
    "reshape": ["x.reshape(3, 2)", "x.reshape((3, 2))", "x.reshape(-1)", "x.reshape(3, 2, order='F')",
                "x.reshape((-1, 2), order='A')", "x.T.reshape(6)", "x.T.reshape(6, order='F')",
                "n * x[:1, :1].reshape(())",
                "a = x * 1; a.reshape(-1)[2] = n; a", "x.reshape(3, 2, copy=True)", "x.T.reshape(2, 3, order='A')",
                "a = x * 1; b = a.reshape(-1, copy=True); b[0] = 5; a, b", "x.reshape([6, 1])"],
    "ravel": ["x.ravel()", "x.ravel('F')", "x.ravel(order='A')", "x.T.ravel(order='K')", "x.T.ravel('A')",
              "a = x * 1; a.ravel()[3] = n; a", "a = x * 1; a.ravel()[1:3] *= 2; a",
              "a = x * 1; a.ravel('F')[1] = 9; a"],
    "flatten": ["x.flatten()", "x.flatten('F')", "x.flatten(order='C')", "x.T.flatten('K')", "x.T.flatten('A')",
                "a = x * 1; b = a.flatten(); b[3] = n; a, b"],
    "copy": ["x.copy()", "x.copy('F')", "x.copy(order='K').flags.c_contiguous", "x.copy(order='F').flags.f_contiguous",
             "a = x.copy(); a[0] = w; x, a", "x.T.copy().flags.c_contiguous", "x.T.copy('K').flags.f_contiguous",
             "x.T.copy('A').flags.f_contiguous, x.copy('A').flags.c_contiguous"],
    "transpose": ["x.transpose()", "t.transpose(2, 0, 1)", "t.transpose((1, 2, 0))", "t.transpose(None)",
                  "t.transpose(-1, 0, 1)", "a = x * 1; a.transpose()[0] = 5; a", "t.transpose([2, 1, 0])"],
    "swapaxes": ["t.swapaxes(0, 2)", "x.swapaxes(0, -1)", "a = x * 1; a.swapaxes(0, 1)[2] = n; a"],
    "squeeze": ["x[:, :1].squeeze()", "x[:, :1].squeeze(axis=1)", "x[None, :, None].squeeze((0, 2))",
                "x[:1, :1].squeeze()", "a = x[:1] * 1; a.squeeze()[1] = n; a"],
    "diagonal": ["s.diagonal()", "s.diagonal(1)", "t.diagonal(offset=-1, axis1=2, axis2=1)",
                 "x.diagonal(axis1=1, axis2=0)"],
    "repeat": ["x.repeat(2)", "x.repeat([1, 3], axis=0)", "x.repeat(repeats=2, axis=1)"],
    "resize": ["a = x * 1; a.resize(2, 2, refcheck=False); a", "a = x * 1; a.resize((3, 3), refcheck=False); a",
               "a = x * 1; a.resize(4, refcheck=False); a[0] = n; a", "a = x * 1; a.resize(refcheck=False); a"],
    "view": ["x.view()", "a = x * 1; a.view()[0] = w; a", "z.view(float)", "z.view(np.float64)", "v.view(complex)",
             "a = z * 1; a.view(float)[0, 1] = n; a", "a = v * 1; a.view(complex)[1] = z[0, 0]; a", "x.view(x.dtype)",
             "x.view(dtype=float)", "x.view(type(x)) + 1"],
    # selection and order
    "take": ["x.take([0, 4])", "x.take([[0, 4], [1, 1]])", "x.take(1, axis=1)", "x.take([2, 0], axis=-1)",
             "x.take([7, -9], mode='wrap')", "x.take([7, -9], mode='clip')", "x.take(np.array([1, 0]), 0)",
             "a = np.zeros_like(w); v.take([0, 2, 5], out=a); a", "x.take(2)"],
    "put": ["a = x * 1; a.put([0, 4], [n, 2.0]); a", "a = x * 1; a.put([0, -1], w); a", "a = x * 1; a.put(2, n); a",
            "a = x * 1; a.put([7], [n], mode='wrap'); a", "a = x * 1; a.put([7], [n], mode='clip'); a",
            "a = x * 1; a.T.put([1], n); a", "a = x * 1; a.put([0, 1, 2, 3], w[:2]); a"],
    "fill": ["a = x * 1; a.fill(2.0); a", "a = x * 1; a.fill(n); a", "a = x * 1; a[0].fill(n); a"],
    "choose": ["np.choose([1, 0, 1], [w, n])",
               "np.choose([0, 3], [w[:2], n], mode='clip')"],
    "compress": ["x.compress([True, False, True], axis=1)", "x.compress([0, 1, 1])", "x.compress(w > 1, axis=-1)",
                 "a = np.zeros_like(w[:2]); v.compress([0, 1, 1], out=a); a"],
    "nonzero": ["(x > 0).nonzero(), x[x.nonzero()]"],
    "searchsorted": ["np.sort(v).searchsorted([0.3, 2.0])", "np.sort(v).searchsorted(n, side='right')",
                     "v.searchsorted(1.0, sorter=v.argsort())"],
    "argsort": ["x.argsort()", "x.argsort(axis=0)", "x.argsort(axis=None)", "v.argsort(kind='stable')",
                "v[v.argsort()[::-1]]", "x.argsort(stable=True)"],
    "argpartition": ["v[v.argpartition(2)[:3]].sum()", "v.argpartition([1, 3]).shape", "x.argpartition(1, axis=0)"],
    "sort": ["a = x * 1; a.sort(); a", "a = x * 1; a.sort(axis=0); a", "a = v * 1; a.sort(kind='stable'); a",
             "a = x * 1; a[1].sort(); a", "a = x * 1; a.T.sort(); a", "a = z * 1; a.sort(); a",
             "a = v * 1; a[::2].sort(); a", "a = x * 1; a.sort(stable=True); a"],
    "partition": ["a = v * 1; a.partition(2); a[2]", "a = x * 1; a.partition(1, axis=0); a",
                  "a = x * 1; a[1].partition(1); a[1, 1]", "a = v * 1; a.partition((1, 3)); a[[1, 3]]"],
    # types
    "astype": ["x.astype(np.float32)", "x.astype(complex)", "z.real.astype(float, copy=False)", "x.astype(int)",
               "x.astype('f4').astype('f8')", "(x > 0).astype(float) * x", "x.astype(bool)", "x.astype(x.dtype)",
               "x.astype(np.float32, order='F').flags.f_contiguous", "x.astype(float, casting='safe')",
               "a = x.astype(float); a[0] = n; x, a", "x.astype(np.float32)[1]", "x.astype(dtype=float, order='C')",
               "x.astype(float, copy=False) is x"],
    "item": ["x.item(2)", "x.item(1, 2)", "x[:1, :1].item()", "x.item((0, 1)) * n", "x.item(-1)"],
    "tolist": ["x.tolist()", "v.tolist()[2] * n", "n * x[0, 0].tolist()", "z.tolist()"],
    "to_device": ["x.to_device('cpu')"],
    # bytes; another table has more of them
    "setflags": ["a = x * 1; a.setflags(write=False); a.flags.writeable, a * 2",
                 "a = x * 1; a.setflags(write=False); a.setflags(write=True); a[0] = n; a"],
    # methods that Python calls
    "__len__": ["len(x), len(v)"],
    "__iter__": ["[a.sum() for a in x]", "[a * v[0] for a in v]", "p, q = x; p * q", "(p, q, r), u = x; p * r + u",
                 "[a * b for a, b in zip(x, y)]", "first, *rest = v; first * rest[1]", "sum(v), max(v), min(v)",
                 "sorted(v)[1]", "sorted(x, key=lambda row: row[0])", "list(reversed(v))",
                 "[i * a for i, a in enumerate(v)]"],
    "__contains__": ["0.7 in x, 5.0 in x, x[0, 1] in x"],
    "__bool__": ["bool(x[0, 0]), bool(x[0, 0] > 3)", "n if x[0, 0] else -n", "not x[0, 0]", "x[0, 0] and n, n or 2"],
    "__format__": ["f'{n}', f'{n:.3f}', f'{x[0, 0]:8.2e}'", "'{:>10}'.format(n), '{}'.format(x)", "format(n, '.2f')"],
    "__str__": ["str(x), str(n), str(x[0]), str(z)"],
    "__repr__": ["repr(x).replace('Array', 'array')", "repr(x.astype('f4')).replace('Array', 'array')",
                 "repr(z[0]).replace('Array', 'array')", "repr(x[:0]).replace('Array', 'array')"],
    "__hash__": ["{x[0, 0]: n}[x[0, 0]]", "len({x[0, 0], x[0, 1]})"],
    "__copy__": ["a = copy.copy(x); a[0] = n; x, a"],
    "__deepcopy__": ["a = copy.deepcopy(x); a[0] = n; x, a", "a = copy.deepcopy({'k': [x]})['k'][0]; a += 1; x, a"],
    "__getitem__": [
        "x[0]", "x[-1, 2]", "x[:, 1]", "x[0, ::2]", "v[::-1]", "v[4:1:-2]", "x[::-1, ::-1]", "x[..., 0]", "x[None]",
        "x[:, None, 1:]", "x[np.newaxis, ..., np.newaxis]", "x[()]", "x[...]", "n * x[0, 0][()]", "n * x[0, 0][...]",
        "x[x > 0]", "x[x > 0, ]", "x[[True, False]]", "x[:, [True, False, True]]", "x[[1, 0, 1]]", "x[[0, 1], [2, 0]]",
        "x[np.array([[0, 1], [1, 0]])]", "x[:, [2, 0]]", "x[np.ix_([0, 1], [2, 0])]",
        "x[np.ix_([True, False], [0, 2])]",
        "x[np.s_[:, 1:]]", "x[np.index_exp[0, ...]]", "x[(0, 1)]", "x[0, [1, 2]]", "t[0, :, [1, 2]]", "t[:, 0, [1, 2]]",
        "t[[0, 1], :, [1, 2]]", "t[1, ..., ::2]", "t[[[0], [1]], [0, 2]]", "t[:, None, [0, 2], ::-1]", "x[1:][0][::2]",
        "v[1:][::2][1:]", "v[::-1][1:3]", "x.T[1:].T[0]", "v[np.array(2)]", "v[np.int64(3)]", "x[True]",
        "x[None, True]",
        "v[slice(None, None, 2)]", "v[[]]", "x[:0]", "v[10:]", "v[np.argsort(v)]", "x[np.nonzero(x > 0)]",
        "t[np.where(t > 2)]", "x[np.array([0, 1]), np.array(1)]", "v[True, 1:]", "x[1][None][0]",
        "v[v.astype(int) == 0]",
        "x[[0, 1], None]", "t[..., [0, 1], [1, 2]]", "t[0, [True, False, True], 1]", "x[range(2), [0, 1]]",
        "v[(0, 1), ]", "x[[[0, 1]]]", "v[-3:]", "v[np.s_[1:3]]", "x[np.uint8(1)]", "v[[np.int64(1), 2]]",
    ],
    "__setitem__": [
        "a = x * 1; a[0] = w; a", "a = x * 1; a[0, 1] = n; a", "a = x * 1; a[:, 1] = 2.0; a",
        "a = x * 1; a[...] = y; a",
        "a = x * 1; a[a > 0] = 0.0; a", "a = x * 1; a[a > 0] = w[:3] if (a > 0).sum() == 3 else n; a",
        "a = x * 1; a[x > 0] = y[x > 0]; a", "a = x * 1; a[[1, 0]] = y; a", "a = v * 1; a[[0, 0]] = w[:2]; a",
        "a = v * 1; a[[0, 0]] += w[:2]; a", "a = v * 1; a[::-1] = v; a", "a = v * 1; a[4:1:-1] = w; a",
        "a = x * 1; a[::-1, ::2] = y[:, :2]; a", "a = x * 1; a[None, 0] = w; a",
        "a = x * 1; a[np.ix_([0, 1], [2, 0])] = n; a",
        "a = x * 1; b = a[0]; b[1] = n; a, b", "a = x * 1; b = a.T[1:]; b[0] = 7; a, b",
        "a = v * 1; b = a[1:][::2]; b[:] = w[:2 + 1]; a",
        "a = x * 1; b = a[0]; a[0] = w; b", "a = x * 1; b = a * a; a[0] = w; b, a * a", "a = v * 1; a[1:] = a[:-1]; a",
        "a = v * 1; a[:] = a[::-1]; a", "a = np.zeros(3, like=x); a[1] = n; a", "a = np.empty_like(x); a[:] = y; a",
        "a = np.zeros_like(x); a[1, 1:] = n; a", "a = np.zeros_like(x, dtype=complex); a[0] = 1j * w; a",
        "a = x.astype('f4'); a[0] = w; a", "a = x * 1; a[0] = [1, n, 3]; a", "a = x * 1; a[0] = [n, n * n, 1.0]; a",
        "a = x * 1; a[()] = n; a", "a = np.array(0.0, like=x); a[...] = n; a", "a = x * 1; a[True] = 1.0; a",
        "a = t * 1; a[0, :, [1, 2]] = n; a", "a = t * 1; a[..., ::2][1] = 0; a",
        "a = v * 1; a[:3], a[3:] = a[3:], a[:3]; a",
        "a = v * 1; a[0], a[1] = a[1], a[0]; a", "a = x * 1; a[0][1] = n; a", "a = x * 1; a[np.array(1)] = w; a",
        "a = x * 1; a[1] = w[::-1]; a", "a = x * 1; a[:, :1] = x[:, 1:2]; a", "a = x * 1; a[:0] = n; a",
        "a = v * 1; a[[]] = n; a", "a = v * 1; a[[1, 2], ] = n; a", "a = x * 1; a[[0, 1], [1, 1]] = w[1:]; a",
        "a = v * 1; b = a[::-1]; c = b * 2; a[0] = n; a, c",
    ],
    "__array__": ["np.asarray(np.ones(3) * 2) + w"],
    "__array_ufunc__": [
        "np.add(x, y)", "np.add(x, y, dtype=np.float32)", "np.multiply(x, y, where=x > 0, out=np.zeros_like(x))",
        "a = np.zeros_like(x); np.exp(x, out=a); a", "a = x * 1; np.multiply(a, 2, out=a); a", "np.add.reduce(x)",
        "np.multiply.reduce(x, axis=1)", "np.add.accumulate(v)", "np.multiply.accumulate(v)",
        "np.maximum.accumulate(v)",
        "np.add.reduceat(v, [0, 2, 4])", "np.multiply.outer(w, v)", "np.subtract.outer(v, v)", "np.logaddexp.reduce(v)",
        "a = v * 1; np.add.at(a, [0, 0, 1], w); a", "a = v * 1; np.multiply.at(a, [0, 2], n); a",
        "a = x * 1; np.add.at(a, (slice(None), [0, 0]), 1.0); a", "a = v * 1; np.negative.at(a, [0, 1]); a",
        "np.hypot.reduce(v)", "np.modf(x)", "np.frexp(x)[1]", "np.add(x, y, casting='safe')",
        "np.maximum.reduce(x, axis=0)",
        "np.add(np.float32(2), x)", "np.add.reduce(x, axis=(0, 1), keepdims=True, initial=2.0)",
    ],
    "__array_namespace__": ["x.__array_namespace__().sin(x)"],
    "__array_priority__": ["np.float64(2.0) * x", "np.ones(3) * w", "np.ones((2, 3)) - x"],
    "__class_getitem__": ["type(x)[float] is not None"],
    "__array_function__": [
        "np.concatenate([x, y], axis=1)", "np.where(x > 0, x, y)", "np.stack([w, w * n])",
        *[f"a = x * 1; b = {view}; b[...] = 5.0; a, b" for view in (
            "np.reshape(a, (3, 2))", "np.ravel(a)", "np.transpose(a)", "np.swapaxes(a, 0, 1)", "np.moveaxis(a, 0, 1)",
            "np.rollaxis(a, 1)", "np.expand_dims(a, 0)", "np.squeeze(a[:1])", "np.atleast_3d(a)", "np.atleast_2d(a[0])",
            "np.flip(a)", "np.fliplr(a)", "np.flipud(a)", "np.rot90(a)", "np.split(a, 2)[1]", "np.hsplit(a, 3)[0]",
            "np.array_split(a[0], 2)[0]", "np.vsplit(a, 2)[0]", "np.unstack(a)[1]",
            "np.atleast_1d(a)", "np.real(a)", "np.matrix_transpose(a)", "np.permute_dims(a)",
            "np.broadcast_arrays(a)[0][:0]", "np.astype(a, a.dtype, copy=False)",
            "np.copy(a)", "np.roll(a, 1)", "np.concatenate([a])", "np.stack([a])", "np.sort(a)", "np.diag(a[0])",
            "np.triu(a)", "np.tile(a, 1)", "np.clip(a, 0, 1)", "np.where(True, a, a)", "np.take(a, [0, 1])",
            "np.abs(a)",
        )],
        "a = z * 1; b = np.real(a); b[0] = n; a", "a = z * 1; b = np.imag(a); b[0] = n; a",
    ],
}  # fmt: skip

OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "floordiv": "//", "pow": "**", "matmul": "@",
}  # fmt: skip
for _name, _sign in OPERATORS.items():
    _left, _right = ("abs(s)", "s + 3") if _name == "pow" else ("s", "s.T + 3")
    LINES[f"__{_name}__"] = [f"({_left}) {_sign} ({_right})", f"({_left}) {_sign} np.full((3, 3), 1.5)"]
    LINES[f"__r{_name}__"] = [f"np.full((3, 3), 1.5) {_sign} ({_right})"]
    if _name != "matmul":
        LINES[f"__{_name}__"] += [f"({_left}) {_sign} n", f"({_left}) {_sign} 2", f"abs(s) {_sign} w",
                                  f"abs(s.astype('f4')) {_sign} 1.5", f"abs(s) {_sign} np.float32(1.5)",
                                  f"abs(s) {_sign} np.arange(1, 4)", f"n {_sign} n",
                                  f"abs(s) {_sign} True"]  # fmt: skip
        LINES[f"__r{_name}__"] += [
            f"1.5 {_sign} ({_right})", f"3 {_sign} ({_right})", f"np.float64(1.5) {_sign} ({_right})",
            f"np.arange(1, 4) {_sign} (s + 3)", f"[1.5, 2.5, 3.5] {_sign} (s + 3)",
        ]  # fmt: skip
    LINES[f"__i{_name}__"] = [f"a = {_left} * 1; a {_sign}= ({_right}); a"]
    if _name != "matmul":
        LINES[f"__i{_name}__"] += [
            f"a = {_left} * 1; a[1:] {_sign}= w + 3; a", f"a = {_left} * 1; b = a[:, 0]; b {_sign}= n; a, b",
            f"a = {_left} * 1; b = a.T; a {_sign}= 2; b", f"a = abs(s).astype('f4'); a {_sign}= 2.5; a",
            f"a = n; a {_sign}= 2.5; a, n", f"a = abs(v); a[::-2] {_sign}= w + 3; a",
            f"a = abs(v); a[v > 1] {_sign}= n; a",
        ]  # fmt: skip
LINES |= {
    "__pow__": LINES["__pow__"] + ["pow(x, 2)", "x ** 2", "x ** 3.0", "x ** -1", "x ** 0", "abs(x) ** 0.5", "z ** 2"],
    "__rpow__": LINES["__rpow__"] + ["2 ** x", "np.e ** n", "2j ** x"],
    "__divmod__": ["divmod(x, n)", "divmod(x, 2)", "divmod(x, y)"],
    "__rdivmod__": ["divmod(3.1, x)", "divmod(np.full(3, 2.5), w)"],
    "__neg__": ["-x", "-n", "-z"],
    "__pos__": ["+x", "a = +x; a[0] = n; x, a"],
    "__abs__": ["abs(x)", "abs(n)", "abs(z)"],
    "__eq__": ["x == y", "x == x", "n == n", "x == 0.7", "(x == None).any()", "x == 'text'"],
    "__ne__": ["x != y", "x != x", "n != 0.5", "(x != None).all()"],
    "__lt__": ["x < y", "x < 0.5", "0.5 < x", "n < 2", "x < np.ones(3)"],
    "__le__": ["x <= y", "0.7 <= x"],
    "__gt__": ["x > y", "0.7 > x", "x[x > 0] * n"],
    "__ge__": ["x >= y", "0.7 >= x"],
}

#: Lines that raise NumPy's error, also on plain arrays.
SAME_ERROR: dict[str, tuple[str, type[Exception]]] = {
    **{f"__{name}__": (f"x {sign} 1.5", TypeError) for name, sign in
       {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}.items()},
    **{f"__r{name}__": (f"True {sign} x", TypeError) for name, sign in
       {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}.items()},
    **{f"__i{name}__": (f"x {sign}= 1.5", TypeError) for name, sign in
       {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}.items()},
    "__invert__": ("~x", TypeError),
    "__delitem__": ("del x[0]", ValueError),
    "__index__": ("[1, 2][x[0, 0]]", TypeError),
}  # fmt: skip

#: Lines that need the bytes of elements, which have no derivative. They raise only under differentiation.
BYTES: dict[str, str] = {
    "tobytes": "x.tobytes('F')",
    "tofile": "x.tofile('/dev/null')",
    "dump": "x.dump('/dev/null')",
    "dumps": "pickle.loads(x.dumps())",
    "data": "x.data.tobytes()",
    "ctypes": "type(x.ctypes.data), x.ctypes.strides[:]",
    "byteswap": "x.byteswap()",
    "getfield": "x.getfield(np.float64)",
    "setfield": "a = +x; a.setfield(2.0, np.float64); a",
    "view": "x.view(np.int64)",
    "__dlpack__": "np.from_dlpack(x)",
    "__dlpack_device__": "x.__dlpack_device__()",
    "__array__": "np.asarray(x)",
    "__float__": "float(x[0, 0])",
    "__int__": "int(x[0, 0])",
    "__complex__": "complex(x[0, 0])",
    "__reduce__": "pickle.loads(pickle.dumps(x))",
    "__reduce_ex__": "x.__reduce_ex__(2)[0] is not None",
}

#: Attributes of ndarray that differentiable arrays do not have, with the reasons.
ABSENT: dict[str, str] = {
    "__array_interface__": "NumPy would read the memory through it before it asks __array__",
    "__array_struct__": "NumPy would read the memory through it before it asks __array__",
    "__buffer__": "NumPy would read the memory through it before it asks __array__",
    "_set_shape": "NumPy's own, since 2.5: the attribute is set",
    "_set_dtype": "NumPy's own, since 2.5: the attribute is set",
    "__array_finalize__": "for subclasses of ndarray",
    "__array_wrap__": "for subclasses of ndarray",
    "__setstate__": "__reduce__ makes the array anew",
    "itemset": "gone since NumPy 2.0, where the name of an ndarray raises an error",
    "newbyteorder": "gone since NumPy 2.0, where the name of an ndarray raises an error",
    "ptp": "gone since NumPy 2.0, where the name of an ndarray raises an error",
    "tostring": "gone since NumPy 2.3: the old name of tobytes",
}
