"""CUDA graphs: the work of a step, captured once and launched repeatedly, under torch's names.

CuPy captures the work that it sends to a stream. During a capture, CuPy refuses calls of CUDA's libraries for matrices,
random numbers and sparse arrays (NotImplementedError), and CUDA refuses to wait for the device.
"""

from __future__ import annotations

import gc
from contextlib import ExitStack
from typing import Any

from adjoint.arrays.size import cuda_is_available
from adjoint.cuda._devices import cuda_of, empty_cache, synchronize
from adjoint.cuda._streams import Stream, StreamContext

#: CUDA's number of the capture mode that allows allocation of memory; CuPy's pool needs this.
_RELAXED = 2


def is_current_stream_capturing() -> bool:
    """True while the current stream is being captured; False without a device.

    >>> import adjoint
    >>> adjoint.cuda.is_current_stream_capturing()
    False
    """
    return cuda_is_available() and bool(cuda_of("is_current_stream_capturing").get_current_stream().is_capturing())


def graph_pool_handle() -> Any:
    """Memory for graphs; graphs that are launched in sequence may share it.

    Raises AssertionError without a device.
    """
    return cuda_of("graph_pool_handle").MemoryPool()


class CUDAGraph:
    """The captured work of a stream. Raises AssertionError without a device.

    keep_graph: accepted without effect.

    Tensors from the capture belong to the graph: a launch writes to the same memory. For a new step, copy its values
    into the input tensors of the captured step (`x.copy_(values)`).
    """

    def __init__(self, keep_graph: bool = False) -> None:
        cuda_of("CUDAGraph")
        self._graph: Any = None
        self._pool: Any = None
        self._capture: ExitStack | None = None
        self._stream: Any = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Begin a capture of the current stream, which must not be a default stream of CUDA.

        pool: a result of `graph_pool_handle`, or another graph's `pool`. capture_error_mode: accepted without effect;
        the mode is always relaxed, since CuPy's pool may allocate memory.

        Raises RuntimeError during a capture.
        """
        if self._capture is not None:
            raise RuntimeError("CUDAGraph.capture_begin: this graph is being captured: call capture_end first")
        cuda = cuda_of("CUDAGraph")
        self.reset()
        self._pool = cuda.MemoryPool() if pool is None else pool
        self._stream = cuda.get_current_stream()
        with ExitStack() as stack:
            stack.enter_context(cuda.using_allocator(self._pool.malloc))
            self._stream.begin_capture(_RELAXED)
            self._capture = stack.pop_all()

    def capture_end(self) -> None:
        """End the capture; then the graph can be launched.

        Raises RuntimeError without a capture, and CuPy's errors for unsupported work.
        """
        if self._capture is None:
            raise RuntimeError("CUDAGraph.capture_end: nothing is being captured: call capture_begin first")
        capture, self._capture = self._capture, None
        with capture:
            self._graph = self._stream.end_capture()

    def replay(self) -> None:
        """Launch the captured work on the current stream.

        Raises RuntimeError before a capture.
        """
        if self._graph is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._graph.launch(cuda_of("CUDAGraph").get_current_stream())

    def reset(self) -> None:
        """Release the captured work and its memory.

        Tensors from the capture keep their memory.
        """
        self._graph = self._pool = self._stream = None

    def pool(self) -> Any:
        """The memory of this graph, for another graph that is launched after it.

        It is None before a capture.
        """
        return self._pool


class graph:
    """A block whose work is captured in a CUDAGraph, on a separate stream. The work runs only in `replay`.

    cuda_graph: the CUDAGraph. pool: see `CUDAGraph.capture_begin`. stream: a Stream; the default is a new one.
    capture_error_mode: accepted without effect.

    Run one step before the capture, to compile its kernels. An error in the block ends the capture.
    """

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None, capture_error_mode: str = "global"
    ) -> None:
        self.cuda_graph, self.pool = cuda_graph, pool
        self.capture_stream = Stream() if stream is None else stream
        self.capture_error_mode = capture_error_mode
        self._context = StreamContext(self.capture_stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException as error:
            self._context.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, *error: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        except Exception:
            # an error in the block has also ended the capture; show this error instead of the second one
            if error[0] is None:
                raise
            self.cuda_graph.reset()
        finally:
            self._context.__exit__(*error)
