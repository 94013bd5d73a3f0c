"""Samples of losses."""

from __future__ import annotations

import numpy as np

from support.samples.draws import Sample, draw, index, log_probabilities

ELEMENTS = {
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "huber_loss",
    "kl_div",
    "mse_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
}

#: Operations on real numbers only.
REAL_ONLY = {*ELEMENTS, "ctc_loss", "nll_loss", "nll_spread"}


def pairs(parameter: object, low: float = -1.0, high: float = 1.0, target_low: float | None = None) -> list[Sample]:
    """Inputs and targets of several shapes, with each reduction, and over some axes."""

    def pair(*shape: int) -> Sample:
        target = draw(*shape, low=low if target_low is None else target_low, high=high)
        return {"input": draw(*shape, low=low, high=high), "target": target, "parameter": parameter}

    return [
        pair(2, 3),
        {**pair(2, 3), "reduction": "sum"},
        {**pair(2, 3), "reduction": "none"},
        {**pair(2, 3, 4), "dim": (1, 2)},
        pair(),
        {**pair(0, 3), "reduction": "sum"},
    ]


CLASSES = index(1, 3, 0)
SPATIAL = index([[0, 2]], [[3, -100]])
WEIGHTS = np.array([0.5, 1.0, 2.0, 1.5])


def nll_samples(wide: bool) -> list[Sample]:
    """Arguments of nll_loss, or of its transpose, whose input is the cotangent of the loss."""
    samples: list[Sample] = []
    for target, dim, shape in (
        (CLASSES[:, None], 1, (3, 4)),
        (SPATIAL, 1, (2, 4, 2)),
        (index(2), 0, (4,)),
    ):
        weight = WEIGHTS.reshape([4 if axis == dim else 1 for axis in range(len(shape))])
        for reduction in ("none", "sum", "mean"):
            rest = {"target": target, "weight": weight, "reduction": reduction, "dim": dim}
            if wide:
                samples.append({"input": draw(*shape), **rest})
            else:
                places = np.squeeze(target, dim).shape if reduction == "none" else ()
                samples.append({"input": draw(*places), "shape": shape, **rest})
    return samples


#: Four frames of two samples and three classes. The targets are 1, 1 and 2. The second sample has three frames.
STATES = index([0, 1, 0, 1, 0], [0, 2, 0, 0, 0])
NEVER = -1e30
CTC: Sample = {
    "log_probs": draw(4, 2, 3, low=-3.0, then=log_probabilities),
    "states": STATES,
    "skip": np.full((2, 5), NEVER),
    "last": np.array([[NEVER, NEVER, NEVER, 0, 0], [NEVER, 0, 0, NEVER, NEVER]]),
    "steps": index(4, 3),
}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "mse_loss": pairs(None),
    "huber_loss": pairs(0.4),
    "smooth_l1_loss": pairs(0.4),
    "soft_margin_loss": pairs(None),
    "kl_div": [*pairs(False, 0.2, 1.0), *pairs(True)],
    "binary_cross_entropy": pairs(None, 0.1, 0.9),
    "binary_cross_entropy_with_logits": pairs(None),
    "ctc_loss": [CTC],
    "nll_loss": nll_samples(wide=True),
    "nll_spread": nll_samples(wide=False),
}

#: Probabilities of classes sum to 1.
WITHIN = {"ctc_loss": lambda log_probs: log_probs.log_softmax(-1)}
