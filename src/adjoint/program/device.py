"""Elementwise functions and regions on CuPy's arrays: one kernel for all steps of the form that NumPy's arrays use.

CuPy compiles a kernel at its first call and keeps it on disk. A function without a kernel of its own runs operation by
operation, one CuPy kernel each; `reason` says why.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy

from adjoint.arrays.namespace import is_on_device
from adjoint.runtime.caches import reset_with

from .cuda_source import NAMES, Unprintable, body_of, inputs_of, parameter, registers_of, result, results_of
from .form import Form
from .trace import NOTHING, Looked, Untraceable, trace

#: So many kernels has a function: each set of numbers that are constants needs one of its own.
MOST_KERNELS = 8
#: A form of fewer steps is one of CuPy's own functions.
FEWEST_STEPS = 2
#: The forms of all kernels, by their names in profilers.
FORMS: dict[str, Form] = {}
_kernels: dict[Form, Kernel] = {}
_region_kernels: dict[Form, RegionKernel] = {}


class Kernel:
    """Compile a form to a CuPy ElementwiseKernel.

    Raises Unprintable for a form that has none.
    """

    def __init__(self, form: Form) -> None:
        self.outputs = results_of(form)
        self.inputs = inputs_of(form, self.outputs[0])
        self.results = form.results
        self._kernel = cupy_kernel(form, self.inputs, self.outputs)

    def __call__(self, values: list[Any]) -> Any:
        """The results, as the form has them."""
        arrays = self._kernel(*[values[k] for k in self.inputs])
        if not isinstance(self.results, tuple):
            return arrays
        by_register = dict(zip(self.outputs, arrays if isinstance(arrays, (tuple, list)) else (arrays,), strict=True))
        return tuple([None if register is None else by_register[register] for register in self.results])


class RegionKernel:
    """Compile the form of a region to a CuPy ElementwiseKernel that writes into existing arrays.

    Inputs and outputs have one shape; an input that is broadcast has strides of zero.

    Raises Unprintable for a form that has none.
    """

    def __init__(self, form: Form) -> None:
        self._kernel = cupy_kernel(form, list(range(len(form.inputs))), registers_of(form))

    def __call__(self, inputs: list[Any], outputs: list[Any]) -> None:
        """Run all steps."""
        self._kernel(*inputs, *outputs)


def region_kernel(form: Form) -> RegionKernel:
    """The kernel of a region; equal regions share one."""
    kernel = _region_kernels.get(form)
    if kernel is None:
        kernel = _region_kernels[form] = RegionKernel(form)
    return kernel


def cupy_kernel(form: Form, inputs: list[int], outputs: list[int]) -> Any:
    """CuPy's kernel for a form that reads and writes some registers, under a name that equal kernels share."""
    body = body_of(form, outputs)
    dtypes = form.dtypes
    in_parameters = ", ".join([f"{NAMES[dtypes[k]]} {parameter(k)}" for k in inputs])
    out_parameters = ", ".join([f"{NAMES[dtypes[k]]} {result(n)}" for n, k in enumerate(outputs)])
    name = "adjoint_" + hashlib.sha256(f"{in_parameters};{out_parameters};{body}".encode()).hexdigest()[:12]
    FORMS[name] = form
    return sys.modules["cupy"].ElementwiseKernel(in_parameters, out_parameters, body, name)


def run_on_device(fused: Any, values: list[Any]) -> Any:
    """The result of a `Fused` for CuPy's arrays by one kernel, or None if there is no kernel."""
    try:
        key = tuple([_part_of_key(value, fused.numbers) for value in values])
    except TypeError:
        return None
    kernel = fused.kernels.get(key, fused)
    if kernel is fused:
        if len(fused.kernels) >= MOST_KERNELS:
            return None
        kernel = fused.kernels[key] = _kernel_for(fused, values)
    if kernel is None:
        return None
    inputs = _inputs(values, fused.numbers)
    if not all(value.flags.c_contiguous for value in inputs if is_on_device(value)):
        # CuPy's functions keep the memory order of their operands; kernels write row-major
        return None
    try:
        return kernel(inputs)
    except ValueError:
        # of shapes that do not meet the function itself has to tell
        return None


def _kernel_for(fused: Any, values: list[Any]) -> Kernel | None:
    """The kernel of a function for arguments like these, or None."""
    try:
        form = trace(fused.in_order, _as_numpy(values), NOTHING, fused.numbers)
        if len(form.steps) < FEWEST_STEPS:
            return None
        kernel = _kernels.get(form)
        if kernel is None:
            kernel = _kernels[form] = Kernel(form)
        return kernel
    except (Looked, Untraceable, Unprintable) as why:
        fused.reason = str(why)
        return None


def _as_numpy(value: Any) -> Any:
    """Arguments with empty arrays of NumPy's in the place of CuPy's: a trace reads their types."""
    if isinstance(value, (tuple, list)):
        return type(value)([_as_numpy(member) for member in value])
    return numpy.empty(0, value.dtype) if is_on_device(value) else value


def _part_of_key(value: Any, numbers: bool) -> Any:
    """The properties of an argument that a kernel depends on. TypeError for an argument of another kind."""
    if is_on_device(value):
        return value.dtype.char
    kind = type(value)
    if kind is float or kind is int:
        return "number" if numbers else (kind, repr(value))
    if kind is tuple:
        return tuple([_part_of_key(member, numbers) for member in value])
    if kind in (bool, str, type(None)) or isinstance(value, (numpy.dtype, type)):
        return kind, value
    raise TypeError(f"no kernel depends on a {kind.__name__}")


def _inputs(values: Any, numbers: bool) -> list[Any]:
    """The arguments that are inputs, also inside tuples."""
    inputs: list[Any] = []
    for value in values:
        if type(value) is tuple:
            inputs += _inputs(value, numbers)
        elif is_on_device(value) or (numbers and type(value) in (float, int)):
            inputs.append(value)
    return inputs


def reset() -> None:
    """Forget all kernels; CuPy keeps what it compiled."""
    _kernels.clear()
    _region_kernels.clear()
    FORMS.clear()


reset_with(reset)
