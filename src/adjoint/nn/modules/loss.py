"""Losses of an input and a target. reduction: "mean", "sum", or "none" for one loss per element or row."""

from __future__ import annotations

from functools import partial
from typing import Any

from adjoint.functions import loss_reductions
from adjoint.nn import functional as F
from adjoint.nn.modules._base.declare import Layer, layer
from adjoint.nn.modules.shape import PairwiseDistance
from adjoint.tensor.tensor import Tensor

#: The two deprecated arguments, and the argument that replaces them.
OLDER = "size_average=None, reduce=None, reduction='mean'"


class _Loss(Layer):
    """The base class of losses, with a reduction."""

    reduction: str


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element."""


def _resolve(self: Any) -> None:
    """Set `reduction` from the deprecated arguments."""
    size_average, reduce = self.__dict__.pop("size_average", None), self.__dict__.pop("reduce", None)
    if size_average is not None or reduce is not None:
        self.reduction = loss_reductions.resolve_reduction("mean", size_average, reduce)


_declare = partial(layer, inputs="input, target", prepare=_resolve, base=_Loss)
_declare_weighted = partial(_declare, base=_WeightedLoss, buffers="weight pos_weight")

L1Loss = _declare(
    "L1Loss",
    OLDER,
    function="l1_loss",
    call="reduction",
    doc="Absolute differences.",
    example="L1Loss()(ones(2), zeros(2)) -> tensor(1.)",
)
MSELoss = _declare(
    "MSELoss",
    OLDER,
    function="mse_loss",
    call="reduction",
    doc="Squares of differences.",
    example="MSELoss()(ones(2), zeros(2)) -> tensor(1.)",
)
SmoothL1Loss = _declare(
    "SmoothL1Loss",
    f"{OLDER}, beta=1.0",
    function="smooth_l1_loss",
    call="reduction beta",
    doc="`difference ** 2 / (2 * beta)` for absolute differences below beta, `abs(difference) - beta / 2` for others.",
    example="SmoothL1Loss()(ones(2), zeros(2)) -> tensor(0.5000)",
)
HuberLoss = _declare(
    "HuberLoss",
    "reduction='mean', delta=1.0",
    function="huber_loss",
    doc="`difference ** 2 / 2` for absolute differences up to delta, `delta * (abs(difference) - delta / 2)` beyond.",
    example="HuberLoss()(ones(2), zeros(2)) -> tensor(0.5000)",
)
BCELoss = _declare_weighted(
    "BCELoss",
    f"weight=None, {OLDER}",
    function="binary_cross_entropy",
    call="weight reduction",
    doc="Binary cross entropy of probabilities.",
    example="BCELoss()(tensor([0.5]), ones(1)) -> tensor(0.6931)",
)
BCEWithLogitsLoss = _declare_weighted(
    "BCEWithLogitsLoss",
    f"weight=None, {OLDER}, pos_weight=None",
    function="binary_cross_entropy_with_logits",
    call="weight reduction pos_weight",
    base=_Loss,
    doc="Binary cross entropy of logits; pos_weight multiplies the terms of positive targets.",
    example="BCEWithLogitsLoss()(zeros(1), ones(1)) -> tensor(0.6931)",
)
CrossEntropyLoss = _declare_weighted(
    "CrossEntropyLoss",
    "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0",
    function="cross_entropy",
    call="weight ignore_index reduction label_smoothing",
    doc="Cross entropy of logits (N, C, ...) and classes (N, ...) or probabilities (N, C, ...).",
    example="CrossEntropyLoss()(zeros(1, 2), tensor([1])) -> tensor(0.6931)",
)
NLLLoss = _declare_weighted(
    "NLLLoss",
    "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
    function="nll_loss",
    call="weight ignore_index reduction",
    doc="Minus the logarithm of the probability of each target class: log-probabilities (N, C, ...), classes (N, ...).",
    example="NLLLoss()(tensor([[-1.0, -2.0]]), tensor([1])) -> tensor(2.)",
)
NLLLoss2d = _declare_weighted(
    "NLLLoss2d",
    "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
    function="nll_loss",
    call="weight ignore_index reduction",
    base=NLLLoss,
    doc="A deprecated name of NLLLoss, for images.",
    example="NLLLoss2d()(tensor([[-1.0, -2.0]]), tensor([1])) -> tensor(2.)",
)
KLDivLoss = _declare(
    "KLDivLoss",
    f"{OLDER}, log_target=False",
    function="kl_div",
    call="reduction log_target",
    doc="Kullback-Leibler divergence of log-probabilities from a target; log_target: the target has logarithms, too.",
    example="KLDivLoss(reduction='sum')(zeros(1), ones(1)) -> tensor(0.)",
)
PoissonNLLLoss = _declare(
    "PoissonNLLLoss",
    "log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'",
    inputs="log_input, target",
    function="poisson_nll_loss",
    call="log_input full eps reduction",
    doc="Minus the log-probability of the target under Poisson distributions; log_input: the input has log-rates.",
    example="PoissonNLLLoss()(zeros(1), ones(1)) -> tensor(1.)",
)
GaussianNLLLoss = _declare(
    "GaussianNLLLoss",
    "*, full=False, eps=1e-6, reduction='mean'",
    inputs="input, target, var",
    function="gaussian_nll_loss",
    doc="Minus the log-density of the target under normal distributions; the inputs are their means and variances.",
    example="GaussianNLLLoss()(zeros(1), ones(1), ones(1)) -> tensor(0.5000)",
)
HingeEmbeddingLoss = _declare(
    "HingeEmbeddingLoss",
    f"margin=1.0, {OLDER}",
    function="hinge_embedding_loss",
    call="margin reduction",
    doc="The input for targets 1, `max(0, margin - input)` for targets -1.",
    example="HingeEmbeddingLoss()(tensor([3.0, 0.5]), tensor([1.0, -1.0])) -> tensor(1.7500)",
)
MultiLabelMarginLoss = _declare(
    "MultiLabelMarginLoss",
    OLDER,
    function="multilabel_margin_loss",
    call="reduction",
    doc="Hinge losses with several classes for each row; the target lists them, and -1 ends the list.",
    example="MultiLabelMarginLoss()(tensor([[1.0, 0.0]]), tensor([[0, -1]])) -> tensor(0.)",
)
MultiLabelSoftMarginLoss = _declare_weighted(
    "MultiLabelSoftMarginLoss",
    f"weight=None, {OLDER}",
    function="multilabel_soft_margin_loss",
    call="weight reduction",
    doc="Binary cross entropy of logits, averaged over the classes of each row.",
    example="MultiLabelSoftMarginLoss()(zeros(1, 2), ones(1, 2)) -> tensor(0.6931)",
)


def _check_margin(self: Any) -> None:
    _resolve(self)
    if self.p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if self.weight is not None and self.weight.ndim != 1:
        raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.ndim}D instead")


MultiMarginLoss = _declare_weighted(
    "MultiMarginLoss",
    f"p=1, margin=1.0, weight=None, {OLDER}",
    function="multi_margin_loss",
    call="p margin weight reduction",
    prepare=_check_margin,
    doc="Hinge losses to the power p between the class of each row and the others. ValueError unless p is 1 or 2.",
    example="MultiMarginLoss()(tensor([[1.0, 0.0]]), tensor([1])) -> tensor(1.)",
)
SoftMarginLoss = _declare(
    "SoftMarginLoss",
    OLDER,
    function="soft_margin_loss",
    call="reduction",
    doc="`log(1 + exp(-target * input))` for targets 1 and -1.",
    example="SoftMarginLoss()(zeros(2), ones(2)) -> tensor(0.6931)",
)
CosineEmbeddingLoss = _declare(
    "CosineEmbeddingLoss",
    f"margin=0.0, {OLDER}",
    inputs="input1, input2, target",
    function="cosine_embedding_loss",
    call="margin reduction",
    doc="`1 - cosine` for targets 1, `max(0, cosine - margin)` for targets -1.",
    example="CosineEmbeddingLoss()(ones(1, 2), ones(1, 2), -ones(1)) -> tensor(1.)",
)
MarginRankingLoss = _declare(
    "MarginRankingLoss",
    f"margin=0.0, {OLDER}",
    inputs="input1, input2, target",
    function="margin_ranking_loss",
    call="margin reduction",
    doc="`max(0, -target * (input1 - input2) + margin)`.",
    example="MarginRankingLoss()(zeros(1), ones(1), ones(1)) -> tensor(1.)",
)
TripletMarginLoss = _declare(
    "TripletMarginLoss",
    f"margin=1.0, p=2.0, eps=1e-6, swap=False, {OLDER}",
    inputs="anchor, positive, negative",
    function="triplet_margin_loss",
    call="margin p eps swap reduction",
    doc="`max(0, margin + distance to the positive - distance to the negative)`.",
    example="TripletMarginLoss()(ones(1, 2), ones(1, 2), ones(1, 2)) -> tensor(1.)",
)
CTCLoss = _declare(
    "CTCLoss",
    "blank=0, reduction='mean', zero_infinity=False",
    inputs="log_probs, targets, input_lengths, target_lengths",
    function="ctc_loss",
    doc="Connectionist temporal classification of log-probabilities (T, N, C).",
    example="CTCLoss()(zeros(3, 1, 2), tensor([[1]]), (3,), (1,)) -> tensor(-1.7918)",
)


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with another distance, a function or a module; the default is PairwiseDistance().

    >>> import adjoint
    >>> x = adjoint.ones(1, 2)
    >>> adjoint.nn.TripletMarginWithDistanceLoss()(x, x, x)
    tensor(1.)
    """

    def __init__(
        self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap, self.reduction = margin, swap, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
