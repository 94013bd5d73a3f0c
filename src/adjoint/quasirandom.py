"""Sobol's sequences, under torch.quasirandom's name: points that fill a cube more evenly than random ones."""

from __future__ import annotations

import typing as _typing
from typing import Any

from adjoint.arrays.dtypes import as_dtype as _as_dtype
from adjoint.arrays.dtypes import dtype as _dtype
from adjoint.arrays.dtypes import get_default_dtype as _get_default_dtype
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tensor.tensor import Tensor

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of Sobol's sequence in the cube of a dimension, computed by SciPy.

    scramble: shuffle the sequence and shift it, by numbers from the seed (adjoint's generator gives one otherwise).

    Raises ValueError for a dimension below 0 or above MAXDIM.

    >>> import adjoint
    >>> adjoint.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], but got {dimension}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        self.reset()

    def reset(self) -> SobolEngine:
        """Go back to the first point, of the same scrambled sequence."""
        from scipy.stats import qmc

        if self.scramble and self.seed is None:
            import adjoint

            self.seed = int(adjoint.randint(2**31, (), dtype=adjoint.int64))
        self._sequence = qmc.Sobol(self.dimension, scramble=self.scramble, bits=self.MAXBIT, rng=self.seed)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next n points."""
        if n:
            self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next n points, of shape (n, dimension), in the default dtype unless another is given.

        out: a tensor that they are written into, which is returned.
        """
        import warnings

        from adjoint.tensor.creation import from_numpy

        with warnings.catch_warnings():
            # that a number of points is no power of 2 is the caller's choice
            warnings.simplefilter("ignore", UserWarning)
            points = from_numpy(self._sequence.random(n))
        self.num_generated += n
        kind: _dtype = _get_default_dtype() if dtype is None else _as_dtype(dtype)
        sample: Tensor = points.to(kind)
        if out is None:
            return sample
        return out.resize_as_(sample).copy_(sample)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points. Raises ValueError if the number of points so far and these is no power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require the total number of points to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: {self.num_generated}+2**{m}="
                f"{total}. If you still want to do this, the function 'SobolEngine.draw()' can be used."
            )
        return self.draw(n, out, dtype)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
