"""NVRTC, NVIDIA's compiler for kernels at run time; it needs no device. The package nvidia-cuda-nvrtc has it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from adjoint.program.cuda_source import TYPES, body_of
from adjoint.program.form import Form

#: Another folder with the library in it.
VARIABLE = "ADJOINT_NVRTC"


def library() -> Path | None:
    """The shared library, or None."""
    folders = [Path(os.environ[VARIABLE])] if os.environ.get(VARIABLE) else []
    try:
        import nvidia
    except ImportError:
        pass
    else:
        folders += [Path(folder) for folder in nvidia.__path__]
    files = [file for folder in folders for file in sorted(folder.rglob("libnvrtc.so*"))]
    return files[0] if files else None


def kernel(name: str, form: Form, inputs: list[int], outputs: list[int]) -> str:
    """A form as a kernel: its body in a function of pointers, one thread for each element.

    inputs, outputs: the registers that it reads and writes.
    """
    dtypes = form.dtypes
    parameters = [f"const {TYPES[dtypes[k]]}* p{k}" for k in inputs] + [
        f"{TYPES[dtypes[k]]}* q{n}" for n, k in enumerate(outputs)
    ]
    lines = [f"const {TYPES[dtypes[k]]} in{k} = p{k}[i];" for k in inputs]
    lines += [f"{TYPES[dtypes[k]]}& out{n} = q{n}[i];" for n, k in enumerate(outputs)]
    body = "\n".join([*lines, body_of(form, outputs)])
    index = "const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;"
    head = f'extern "C" __global__ void {name}({", ".join(parameters)}, long long n)'
    return f"{head} {{\n{index}\nif (i < n) {{\n{body}\n}}\n}}\n"


def compile_to_ptx(source: str, architecture: str = "compute_80") -> str:
    """The PTX of a source. Raises RuntimeError with the message of the compiler."""
    nvrtc: Any = ctypes.CDLL(str(library()))
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"forms.cu", 0, None, None)
    options = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
    status = nvrtc.nvrtcCompileProgram(program, 1, options)
    what = "PTX" if status == 0 else "ProgramLog"
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if status:
        raise RuntimeError(text.value.decode())
    return text.value.decode()
