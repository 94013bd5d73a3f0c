"""Dropout: random elements or channels are set to zero during training."""

from __future__ import annotations

from functools import partial
from typing import Any

from adjoint.nn.modules._base.declare import Layer, layer


class _DropoutNd(Layer):
    """The base class of dropout layers, with a probability p."""

    p: float
    inplace: bool


def _check_probability(self: Any) -> None:
    if not 0 <= self.p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


_dropout = partial(
    layer,
    parameters="p=0.5, inplace=False",
    call="p training inplace",
    show="p inplace",
    prepare=_check_probability,
    base=_DropoutNd,
)
_DOC = "{} are zero with probability p in training, the others grow{}.\n\nRaises ValueError unless p is a probability."
_GROW = " by 1 / (1 - p)"
Dropout = _dropout("Dropout", doc=_DOC.format("Elements", _GROW), example="Dropout(1.0)(ones(2)) -> tensor([0., 0.])")
Dropout1d = _dropout(
    "Dropout1d",
    doc=_DOC.format("Channels (N, C, L)", _GROW),
    example="Dropout1d(1.0)(ones(1, 1, 2)) -> tensor([[[0., 0.]]])",
)
Dropout2d = _dropout(
    "Dropout2d",
    doc=_DOC.format("Channels (N, C, H, W)", _GROW),
    example="Dropout2d(1.0)(ones(1, 1, 1, 2)) -> tensor([[[[0., 0.]]]])",
)
Dropout3d = _dropout(
    "Dropout3d",
    doc=_DOC.format("Channels (N, C, D, H, W)", _GROW),
    example="Dropout3d(0.0)(ones(1, 1, 1, 1, 2)).sum() -> tensor(2.)",
)
AlphaDropout = _dropout(
    "AlphaDropout",
    function="alpha_dropout",
    doc=_DOC.format("Elements", " so that mean and variance stay: for SELU, whose limit takes the place of zero"),
    example="AlphaDropout(0.0)(ones(2)) -> tensor([1., 1.])",
)
FeatureAlphaDropout = _dropout(
    "FeatureAlphaDropout",
    function="feature_alpha_dropout",
    doc=_DOC.format("Channels", " so that mean and variance stay, as in AlphaDropout"),
    example="FeatureAlphaDropout(0.0)(ones(1, 2)) -> tensor([[1., 1.]])",
)
