"""Signals and images: transforms, filters, windows."""

from __future__ import annotations

from .program import Field, with_gradients

PROGRAMS = Field("signals")


@PROGRAMS
def filter_by_fourier(torch, draw):
    """A filter of 129 frequencies for eight signals of 256 samples."""
    signals, targets, gain = draw.normal(8, 256), draw.normal(8, 256), draw.leaf(129)

    def loss():
        result = torch.fft.irfft(torch.fft.rfft(signals) * torch.sigmoid(gain), n=256)
        return (result - targets).pow(2).mean()

    return with_gradients(torch, loss, [gain])


@PROGRAMS
def denoising(torch, draw):
    """The smoothed total variation of an image of 32 x 32, and its distance from data."""
    image, data = draw.leaf(32, 32), draw.normal(32, 32)

    def loss():
        dx, dy = image[:, 1:] - image[:, :-1], image[1:, :] - image[:-1, :]
        variation = torch.sqrt(dx[:-1] ** 2 + dy[:, :-1] ** 2 + 1e-3).sum()
        return 0.5 * torch.sum((image - data) ** 2) + 0.3 * variation

    return with_gradients(torch, loss, [image])


@PROGRAMS
def autocorrelation(torch, draw):
    """The autocorrelation of a moving average by Fourier transforms, fitted to a target."""
    noise, weights, target = draw.normal(128), draw.leaf(5), draw.normal(10)

    def loss():
        signal = torch.nn.functional.conv1d(noise[None, None], weights[None, None], padding=2)[0, 0]
        spectrum = torch.fft.rfft(signal - signal.mean(), n=256)
        correlation = torch.fft.irfft(spectrum.abs() ** 2, n=256)[:10]
        return (correlation / correlation[0] - target).square().sum()

    return with_gradients(torch, loss, [weights])


@PROGRAMS
def moving_windows(torch, draw):
    """A filter by windows of a signal, with a normalised response in each window."""
    signal, taps = draw.leaf(300), draw.leaf(4, 16)

    def loss():
        windows = signal.unfold(0, 16, 4)
        windows = windows - windows.mean(1, keepdim=True)
        response = windows @ taps.T / (windows.std(1, keepdim=True) + 0.1)
        return torch.relu(response).amax(0).sum()

    return with_gradients(torch, loss, [signal, taps])


@PROGRAMS
def wavelets(torch, draw):
    """Five levels of Haar wavelets by slices, with a threshold."""
    signal, threshold = draw.leaf(256), draw.leaf(5, shift=0.3, scale=0.05)

    def loss():
        low, total = signal, 0.0
        for level in range(5):
            even, odd = low[0::2], low[1::2]
            low, high = (even + odd) * 0.5**0.5, (even - odd) * 0.5**0.5
            shrunk = torch.sign(high) * torch.relu(high.abs() - threshold[level])
            total = total + (high - shrunk).square().sum() + 0.1 * shrunk.abs().sum()
        return total + low.square().mean()

    return with_gradients(torch, loss, [signal, threshold])


@PROGRAMS
def edge_detection(torch, draw):
    """Gradients of images by fixed kernels, their norms and directions, pooled."""
    functional = torch.nn.functional
    images = draw.leaf(4, 1, 20, 20)
    kernels = draw.constant([[[[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]], [[[-1.0, -2, -1], [0, 0, 0], [1, 2, 1]]]])

    def loss():
        gx, gy = functional.conv2d(images, kernels, padding=1).unbind(1)
        strength = torch.hypot(gx, gy + 1e-6)
        turned = torch.atan2(gy, gx + 1e-3)
        pooled = functional.avg_pool2d((strength * torch.cos(2 * turned))[:, None], 4)
        return pooled.square().sum()

    return with_gradients(torch, loss, [images])


@PROGRAMS
def spectral_distance(torch, draw):
    """The distance of two signals: the difference of the logarithms of their short-time spectra."""
    x, y, window = draw.leaf(2, 512), draw.normal(2, 512), torch.hann_window(64, dtype=torch.float64)

    def spectra(signal):
        frames = signal.unfold(-1, 64, 32) * window
        return torch.log(torch.fft.rfft(frames).abs() + 1e-3)

    def loss():
        return (spectra(x) - spectra(y)).abs().mean()

    return with_gradients(torch, loss, [x])


@PROGRAMS
def moved_image(torch, draw):
    """The affine map from one image to another, by affine_grid and grid_sample."""
    functional, change = torch.nn.functional, draw.leaf(2, 3, scale=0.1)
    image, target = draw.normal(1, 1, 16, 16), draw.normal(1, 1, 16, 16)
    identity = draw.constant([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])

    def loss():
        grid = functional.affine_grid((identity + change)[None], (1, 1, 16, 16), align_corners=False)
        return functional.mse_loss(functional.grid_sample(image, grid, align_corners=False), target)

    return with_gradients(torch, loss, [change])


@PROGRAMS
def short_time_spectrum(torch, draw):
    """The difference of two short-time spectra of 512 samples, and of their logarithms."""
    signal, other = draw.leaf(512), draw.normal(512)
    window = torch.hann_window(64, dtype=torch.float64)

    def spectrum(x):
        return torch.stft(x, 64, 16, window=window, return_complex=True).abs()

    def loss():
        one, two = spectrum(signal), spectrum(other)
        return (one - two).abs().mean() + (torch.log(one + 1e-5) - torch.log(two + 1e-5)).abs().mean()

    return with_gradients(torch, loss, [signal])


@PROGRAMS
def hologram(torch, draw):
    """The phases of a field of 32 x 32 that has a given intensity after free propagation."""
    phases, distances, target = draw.leaf(32, 32), draw.normal(32, 32), draw.uniform(32, 32)

    def loss():
        field = torch.fft.fft2(torch.polar(torch.ones_like(phases), phases))
        intensity = torch.fft.ifft2(field * torch.exp(1j * distances)).abs() ** 2
        return ((intensity - target) ** 2).mean()

    return with_gradients(torch, loss, [phases])
