"""Streams and events of CUDA devices, through CuPy, under torch's names."""

from __future__ import annotations

import importlib
from typing import Any

from adjoint.cuda._devices import cuda_of, number_of


class Stream:
    """A queue of work of a device. Raises AssertionError without a device.

    device: the device of the stream, by default the current one. priority: work with lower numbers runs first.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _stream: Any = None) -> None:
        cuda = cuda_of("Stream")
        self.device_index = number_of(device, "Stream")
        if _stream is None:
            with cuda.Device(self.device_index):
                _stream = cuda.Stream(non_blocking=True, priority=priority)
        self._stream = _stream

    @property
    def cuda_stream(self) -> int:
        """The address of CUDA's stream, an integer.

        Other libraries can use the same stream through it.
        """
        return int(self._stream.ptr)

    def synchronize(self) -> None:
        """Wait until all work in the stream is done.

        The calling thread is blocked meanwhile.
        """
        self._stream.synchronize()

    def query(self) -> bool:
        """True if all work in the stream is done.

        It does not wait.
        """
        return bool(self._stream.done)

    def wait_event(self, event: Event) -> None:
        """Let later work of the stream wait for an event.

        event: an Event that a stream has recorded.
        """
        self._stream.wait_event(event._event_of_cupy())

    def wait_stream(self, stream: Stream) -> None:
        """Let later work wait for the work that another stream has received so far.

        stream: a Stream of the same or another device.
        """
        self._stream.wait_event(stream.record_event()._event_of_cupy())

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event after the work that the stream has received so far, and return it.

        event: an Event; the default is a new one.
        """
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<adjoint.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """A mark in a stream, for synchronization and timing. Raises AssertionError without a device.

    enable_timing: whether `elapsed_time` is available. blocking: whether the processor sleeps while it waits.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._options = {"block": blocking, "disable_timing": not enable_timing, "interprocess": interprocess}
        self._event = cuda_of("Event").Event(**self._options)

    def _event_of_cupy(self) -> Any:
        return self._event

    def record(self, stream: Stream | None = None) -> None:
        """Set the mark after the work that a stream has received so far.

        stream: a Stream; the current one unless it is passed.
        """
        self._event.record(None if stream is None else stream._stream)

    def synchronize(self) -> None:
        """Wait until the device has reached the mark.

        The calling thread is blocked meanwhile.
        """
        self._event.synchronize()

    def query(self) -> bool:
        """True if the device has reached the mark.

        It does not wait.
        """
        return bool(self._event.done)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream wait for the mark.

        stream: a Stream; the current one unless it is passed.
        """
        (current_stream() if stream is None else stream).wait_event(self)

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this mark to the mark of another event.

        Raises RuntimeError for events without `enable_timing`.
        """
        if self._options["disable_timing"] or end_event._options["disable_timing"]:
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        return float(cuda_of("Event").get_elapsed_time(self._event, end_event._event))


class StreamContext:
    """A block that sends its work to a stream.

    stream: a Stream; None has no effect.
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[Any] = []

    def __enter__(self) -> None:
        if self.stream is None:
            return
        device = cuda_of("stream").Device(self.stream.device_index)
        device.__enter__()
        self.stream._stream.__enter__()
        self._before.append(device)

    def __exit__(self, *error: object) -> None:
        if self.stream is None:
            return
        self.stream._stream.__exit__(*error)
        self._before.pop().__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """A block that sends its work to a stream; None has no effect.

    >>> import adjoint
    >>> with adjoint.cuda.stream(None):
    ...     x = adjoint.ones(2)
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The current stream.

    device: a device, its number or name; the default is the current device.
    Raises AssertionError without a device.
    """
    cuda = cuda_of("current_stream")
    number = number_of(device, "current_stream")
    with cuda.Device(number):
        return Stream(number, _stream=cuda.get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The default stream of a device.

    device: a device, its number or name; the default is the current device.
    Raises AssertionError without a device.
    """
    return Stream(number_of(device, "default_stream"), _stream=cuda_of("default_stream").Stream.null)


def set_stream(stream: Stream | None) -> None:
    """Select the current stream of the thread, and the device of the stream as current device.

    stream: a Stream; None has no effect.
    """
    if stream is not None:
        importlib.import_module("cupy").cuda.Device(stream.device_index).use()
        stream._stream.use()
