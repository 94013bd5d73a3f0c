"""Random numbers for CUDA devices: drawn by the default generator on the CPU, and copied to the device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adjoint.arrays.size import cuda_is_available
from adjoint.core.modes import random
from adjoint.cuda._devices import device_count, number_of


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current device. It has no effect without a device.

    One generator draws for all devices and for main memory, so that this function is `adjoint.manual_seed` then.

    >>> import adjoint
    >>> adjoint.cuda.manual_seed(3)
    """
    seed = int(seed)
    if cuda_is_available():
        random.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all devices; see `manual_seed`.

    >>> import adjoint
    >>> adjoint.cuda.manual_seed_all(3)
    """
    manual_seed(seed)


def seed() -> None:
    """Seed the generator of the current device with a random number.

    It has no effect without a device. See `manual_seed`.
    """
    if cuda_is_available():
        random.seed()


def seed_all() -> None:
    """Seed the generators of all devices with a random number.

    It has no effect without a device. See `manual_seed`.
    """
    seed()


def initial_seed() -> int:
    """The last seed of the generator of the current device.

    Raises AssertionError without a device.
    """
    number_of(None, "initial_seed")
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the generator of a device, a tensor of bytes.

    All devices share one generator. Raises AssertionError without a device.
    """
    number_of(device, "get_rng_state")
    return random.get_rng_state()


def get_rng_state_all() -> list[Any]:
    """The state of the generator for each device; an empty list without a device.

    >>> import adjoint
    >>> len(adjoint.cuda.get_rng_state_all()) == adjoint.cuda.device_count()
    True
    """
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of the generator of a device.

    new_state: a tensor of bytes from `get_rng_state`. It has no effect without a device.
    """
    if cuda_is_available():
        number_of(device, "set_rng_state")
        random.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set the states of the generators of all devices.

    new_states: one state for each device. The devices share one generator, which gets the last state.
    """
    for number, state in enumerate(new_states):
        set_rng_state(state, number)
