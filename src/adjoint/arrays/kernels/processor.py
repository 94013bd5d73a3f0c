"""The kinds of processor for which vector loops are compiled, and the kind in use.

It is the best kind that the processor supports, or the kind named by the environment variable ADJOINT_CPU.
"""

import os
from collections.abc import Sequence

VARIABLE = "ADJOINT_CPU"
#: By the number of the kind: what every processor has, AVX2 with FMA, AVX-512.
NAMES = ("baseline", "avx2", "avx512")


def kind_in_use(kinds: Sequence[int]) -> int:
    """The number of the kind whose loops run.

    Raises ValueError if ADJOINT_CPU names a kind that this processor lacks.

    >>> kind_in_use(range(1))
    0
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return max(kinds)
    available = [NAMES[kind] for kind in kinds]
    if name not in available:
        raise ValueError(f"{VARIABLE}={name}: this processor has the kinds {', '.join(available)}")
    return NAMES.index(name)
