"""The capabilities of the processor."""

import typing as _typing

import numpy as _numpy

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The widest vectors that NumPy finds on this processor: "AVX512", "AVX2" or "DEFAULT".

    >>> import adjoint
    >>> adjoint.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    extensions = _numpy.show_config(mode="dicts")["SIMD Extensions"]
    lists = [_typing.cast(list[str], extensions.get(group, [])) for group in ("baseline", "found")]
    features = {str(name) for names in lists for name in names}
    if any(name.startswith(("AVX512", "X86_V4")) for name in features):
        return "AVX512"
    return "AVX2" if features & {"AVX2", "X86_V3"} else "DEFAULT"
