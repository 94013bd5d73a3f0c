"""Bodies of kernels compiled for the host, each form as a loop over contiguous arrays of one length."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.program.cuda_source import TYPES, body_of, evaluate, inputs_of, registers_of
from adjoint.program.form import Form

COMPILER = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")


class Case:
    """A form, and arrays for its inputs. is_region: its kernel takes all inputs, and writes all results."""

    def __init__(self, name: str, form: Form, arrays: list[Any], is_region: bool = False) -> None:
        self.name, self.form, self.arrays = name, form, arrays
        self.outputs = registers_of(form)
        self.inputs = list(range(len(form.inputs))) if is_region else inputs_of(form, self.outputs[0])

    def source(self, number: int) -> str:
        """The body in a loop, as a function of pointers."""
        dtypes = self.form.dtypes
        reads = [
            f"const {TYPES[dtypes[k]]} in{k} = (({TYPES[dtypes[k]]}*)p[{n}])[i];" for n, k in enumerate(self.inputs)
        ]
        first = len(reads)
        outs = [f"{TYPES[dtypes[k]]} out{n};" for n, k in enumerate(self.outputs)]
        writes = [f"(({TYPES[dtypes[k]]}*)p[{first + n}])[i] = out{n};" for n, k in enumerate(self.outputs)]
        lines = "\n".join([*reads, *outs, body_of(self.form, self.outputs), *writes])
        return f'extern "C" void f{number}(void** p, long n) {{ for (long i = 0; i < n; i++) {{\n{lines}\n}} }}\n'


def differences(cases: Sequence[Case], folder: Path, rtol: float = 1e-12, rtol_single: float = 2e-5) -> dict[str, Any]:
    """The cases whose compiled bodies give other values than NumPy's functions."""
    source, library = folder / "bodies.cpp", folder / "bodies.so"
    source.write_text("#include <math.h>\n" + "".join([case.source(k) for k, case in enumerate(cases)]))
    command = [str(COMPILER), "-O0", "-w", "-shared", "-fPIC", "-ffp-contract=off", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    wrong = {}
    for k, case in enumerate(cases):
        arrays = [case.arrays[n] for n in case.inputs]
        operands = [np.ascontiguousarray(array) for array in np.broadcast_arrays(*arrays)]
        expected = evaluate(case.form, case.arrays)
        shape = np.broadcast_shapes(*[array.shape for array in operands], *[np.shape(value) for value in expected])
        outs = [np.empty(shape, np.asarray(value).dtype) for value in expected]
        pointers = (ctypes.c_void_p * (len(operands) + len(outs)))(*[a.ctypes.data for a in (*operands, *outs)])
        getattr(loaded, f"f{k}")(pointers, ctypes.c_long(int(np.prod(shape))))
        for actual, value in zip(outs, expected, strict=True):
            tolerance = rtol_single if actual.dtype == np.float32 else rtol
            if not np.allclose(actual, value, tolerance, tolerance, equal_nan=True):
                wrong[case.name] = str(case.form), actual, value
    return wrong
