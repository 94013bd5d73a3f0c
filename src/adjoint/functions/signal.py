"""Short-time Fourier transforms: the spectra of windows along a signal, and the signal from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from adjoint.arrays.namespace import underlying
from adjoint.functions.composite import composite, ops, separate, torch_call
from adjoint.functions.padding import pad
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# margins and windows --------------------------------------------------------------------------------------------------


def _pad(x: Tensor, n: int, mode: str) -> Tensor:
    """A signal, or a batch of them, with n elements more on both ends."""
    extra = max(3 - x.ndim, 0)
    return pad(x[(None,) * extra], (n, n), mode)[(0,) * extra]


def _center(window: Tensor, n_fft: int) -> Tensor:
    """The window in the middle of n_fft places, zeros around it."""
    more = n_fft - window.shape[0]
    return pad(window, (more // 2, more - more // 2)) if more else window


def _name_of(window: Tensor | None) -> str:
    return "None" if window is None else f"adjoint.{window.dtype.long_name}Tensor{{{list(window.shape)}}}"


def _flag(value: bool | None) -> str:
    return "None" if value is None else str(int(value))


# the transforms -------------------------------------------------------------------------------------------------------

_NO_COMPLEX = "Cannot have onesided output if window or input is complex"


@composite()
@torch_call()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform: the spectra of windows of size n_fft along a signal (..., time).

    Args:
        hop_length: the distance between windows, by default n_fft // 4.
        win_length: the size of `window`, which is centred in the n_fft samples; by default n_fft.
        window: factors of the elements of each window, by default ones.
        center: pad the signal by n_fft // 2 on both ends, by `pad_mode` ("reflect", "constant", "replicate",
            "circular"), so that the k-th window has its middle at k * hop_length.
        normalized: divide by the root of n_fft.
        onesided: only the first half of each spectrum; by default True, for complex numbers False.
        return_complex: complex numbers; False, an older form, gives pairs of real numbers along a last axis.
        align_to_window: without `center`, the signal begins at the start of `window`, not of its n_fft samples.

    Returns a tensor (..., frequencies, windows). Raises RuntimeError if sizes do not fit.

    >>> import adjoint
    >>> adjoint.stft(adjoint.ones(100), 16, return_complex=True).shape
    adjoint.Size([9, 26])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    complex_numbers = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not complex_numbers:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    if return_complex is False:
        warn_caller(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex "
            "tensors for all inputs, and return_complex=False will raise an error.\n"
            "Note: you can still call torch.view_as_real on the complex output to recover the old return format."
        )
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        input = _pad(input, n_fft // 2, pad_mode)

    def refuse(expected: str) -> NoReturn:
        raise RuntimeError(
            f"stft(adjoint.{input.dtype.long_name}Tensor{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={size}, window={_name_of(window)}, normalized={int(normalized)}, onesided={_flag(onesided)}, "
            f"return_complex={_flag(return_complex)}, align_to_window={_flag(align_to_window)}) : expected {expected}"
        )

    if not (input.is_floating_point() or input.is_complex()):
        refuse("a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        refuse("a 1D or 2D tensor")
    if not 0 < n_fft <= input.shape[-1]:
        refuse(f"0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        refuse(f"hop_length > 0, but got hop_length={hop}")
    if not 0 < size <= n_fft:
        refuse(f"0 < win_length <= n_fft, but got win_length={size}")
    if window is not None and tuple(window.shape) != (size,):
        refuse(f"a 1D window tensor of size equal to win_length={size}, but got window with size {list(window.shape)}")
    if align_to_window:
        input = _pad(input, (n_fft - size) // 2, "constant")
    if onesided is None:
        onesided = not complex_numbers
    if onesided and complex_numbers:
        raise RuntimeError(_NO_COMPLEX)
    pieces = ops.unfold(input, input.ndim - 1, n_fft, hop)
    if window is None and size < n_fft:
        window = ops.ones_like(input[(0,) * (input.ndim - 1)][:size]).detach()
    if window is not None:
        pieces = pieces * _center(window, n_fft)
    axis, norm = (pieces.ndim - 1,), "ortho" if normalized else "backward"
    spectra = ops.fft_r2c(pieces, axis, norm) if onesided else ops.fft_c2c(pieces, axis, norm, False)
    spectra = separate(ops.transpose(spectra, -2, -1))
    if return_complex is False:
        return ops.view_as_real(spectra)
    return spectra


@composite()
@torch_call()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal (..., time) from its short-time Fourier transform (..., frequencies, windows): stft's inverse.

    Args:
        n_fft, hop_length, win_length, window, center, normalized, onesided: as given to stft; the default of onesided
            follows from the number of frequencies.
        length: crop the signal, or pad it with zeros, to this size.
        return_complex: the signal is complex; this needs whole spectra.

    The result is the signal whose transform is closest to the input. Raises RuntimeError if sizes do not fit, or if an
    element lies in no window.

    >>> import adjoint
    >>> spectra = adjoint.stft(adjoint.arange(40.0), 8, return_complex=True)
    >>> adjoint.istft(spectra, 8)[:4]
    tensor([0., 1., 2., 3.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )

    is_onesided = _flag(onesided)

    def refuse(why: str) -> NoReturn:
        raise RuntimeError(
            f"istft(CPU{input.dtype.long_name}Type{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={size}, window={_name_of(window)}, center={int(center)}, normalized={int(normalized)}, "
            f"onesided={is_onesided}, length={length}, return_complex={int(return_complex)}) {why}"
        )

    _check_spectra(input, n_fft, hop, size, window, onesided, refuse)
    if onesided is None:
        onesided = input.shape[-2] != n_fft
    if return_complex and onesided:
        raise RuntimeError(_NO_COMPLEX)
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra, norm = ops.transpose(input, -2, -1), "ortho" if normalized else "backward"
    axis = (spectra.ndim - 1,)
    if return_complex:
        pieces = ops.fft_c2c(spectra, axis, norm, True)
    else:
        pieces = ops.fft_c2r(spectra[..., : n_fft // 2 + 1], axis, norm, n_fft)
    if window is None:
        window = ops.ones_like(pieces[(0,) * (pieces.ndim - 1)][:size]).detach()
    window = _center(window, n_fft)
    whole = n_fft + hop * (spectra.shape[-2] - 1)
    start = n_fft // 2 if center else 0
    stop = whole - start if length is None else start + length
    shape = (*spectra.shape[:-2], whole)
    signal = ops.fold_windows(pieces * window, shape, len(shape) - 1, n_fft, hop)[..., start:stop]
    squares = ops.expand(window * window, (spectra.shape[-2], n_fft))
    weight = ops.fold_windows(squares, (whole,), 0, n_fft, hop)[start:stop]
    if not weight.numel():
        refuse(f": no element lies between the margins of {start} on both ends")
    if not abs(underlying(weight._array)).min() > 1e-11:
        refuse("window overlap add min: 1")
    signal = signal / weight
    if stop > whole:
        warn_caller(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
            "tail. Please check your center and hop_length settings"
        )
        signal = ops.resize_axes(signal, (signal.ndim - 1,), (stop - start,))
    return signal


def _check_spectra(
    input: Tensor,
    n_fft: int,
    hop: int,
    size: int,
    window: Tensor | None,
    onesided: bool | None,
    refuse: Callable[[str], NoReturn],
) -> None:
    if not input.numel():
        refuse(": input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        refuse(f": expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    n_frequencies = input.shape[-2]
    if n_frequencies != n_fft // 2 + 1 and (onesided or (onesided is None and n_frequencies != n_fft)):
        refuse(
            ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
            f"onesided=True, but got {n_frequencies}"
        )
    if onesided is False and n_frequencies != n_fft:
        refuse(
            ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {n_frequencies}"
        )
    if not 0 < hop <= size:
        refuse(": expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        refuse(": expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (size,):
        refuse(": Invalid window shape. window has to be 1D and length of `win_length`")
