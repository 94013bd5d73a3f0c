"""torch.utils.flop_counter: the floating point operations of products and convolutions in a block."""

from __future__ import annotations

from collections import Counter
from typing import Any

from adjoint.profiler import profile

__all__ = ["FlopCounterMode"]

#: Elementwise operations, which torch does not count.
_OF_ELEMENTS = ("add", "add_", "mul", "mul_")


class FlopCounterMode:
    """A block that counts the floating point operations of products and convolutions, forward and backward.

    display: print a table at the end of the block. The counts are by the names of adjoint's operations, for the whole
    block and not for each module.

    >>> import adjoint
    >>> with FlopCounterMode(display=False) as counter:
    ...     product = adjoint.ones(2, 3) @ adjoint.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode(): custom_mapping is left out: it maps torch's own operations")
        self.depth, self.display = depth, display
        self._counts: Counter[str] = Counter()

    def __enter__(self) -> FlopCounterMode:
        self._counts.clear()
        self._profile = profile(with_flops=True)
        self._profile.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._profile.__exit__(*error)
        for event in self._profile.key_averages():
            name = event.key.removeprefix("aten::")
            if event.flops and name not in _OF_ELEMENTS:
                self._counts[name] += event.flops
        if self.display:
            print(self.get_table())

    def get_total_flops(self) -> int:
        """The number of all operations in the block."""
        return sum(self._counts.values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The numbers by the names of operations."""
        return {"Global": dict(self._counts)}

    def get_table(self, depth: int | None = None) -> str:
        """The numbers as a text."""
        lines = [f"{name:<24}{count:>16}" for name, count in self._counts.most_common()]
        return "\n".join([*lines, f"{'all':<24}{self.get_total_flops():>16}"])
