"""The kinds of processor that loops by vectors are compiled for, and the one whose loops run.

It is the best one that the processor has, or the one that the environment variable ADJOINT_CPU names.
"""

import os
from collections.abc import Sequence

VARIABLE = "ADJOINT_CPU"
#: By the number of the kind: what every processor has, AVX2 with FMA, AVX-512.
NAMES = ("baseline", "avx2", "avx512")


def kind_in_use(kinds: Sequence[int]) -> int:
    """The number of the kind whose loops run, of those that this processor has.

    Raises ValueError if ADJOINT_CPU names none of them.

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
