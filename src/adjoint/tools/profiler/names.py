"""Names of events: torch's names for operations and public functions."""

from __future__ import annotations

PREFIX = "aten::"
EVALUATE = "autograd::engine::evaluate_function: "

DRAWN = ("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "poisson", "random", "uniform")
#: Operations that torch calls otherwise: those over all axes, views by an index, random numbers, kernels of functions.
OPERATIONS = {f"{name}_all": name for name in ("sum", "mean", "prod", "max", "min", "squeeze", "median", "nanmedian")}
OPERATIONS |= {f"drawn_{name}_": f"{name}_" for name in DRAWN}
OPERATIONS |= {f"getitem_{name}": name for name in ("select", "slice", "unsqueeze", "alias")}
OPERATIONS |= {
    "amax_all": "amax",
    "amin_all": "amin",
    "cast": "_to_copy",
    "clone_with_strides": "clone",
    "conj_transpose": "mH",
    "conjugate": "conj",
    "convolution_weight": "convolution_backward",
    "drawn_around": "normal",
    "drawn_with_chances_": "bernoulli_",
    "embed_diagonal": "diagonal_backward",
    "embed_view": "slice_backward",
    "embedding_counts": "bincount",
    "embedding_sum": "embedding_bag",
    "fold_windows": "unfold_backward",
    "identity": "alias",
    "maxima": "max_pool2d_with_indices",
    "mish_gate": "mish_backward",
    "nonzero_places": "nonzero",
    "prelu_kernel": "_prelu_kernel",
    "restride": "as_strided_scatter",
    "safe_softmax": "_safe_softmax",
    "sorted_places": "searchsorted",
    "squeeze_several": "squeeze",
    "transposed_convolution": "convolution",
    "true_divide": "div",
    "trunc_divide": "div",
    "view_bits": "view",
    "zeros_of": "zeros",
}

#: Public functions that torch calls otherwise in a profile.
FUNCTIONS = {
    "as_tensor": "to",
    "asarray": "to",
    "affine_grid": "affine_grid_generator",
    "bfloat16": "to",
    "bool": "to",
    "byte": "to",
    "cdouble": "to",
    "cfloat": "to",
    "char": "to",
    "cpu": "to",
    "cross_entropy": "cross_entropy_loss",
    "double": "to",
    "dropout1d": "feature_dropout",
    "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout",
    "float": "to",
    "fold": "col2im",
    "from_numpy": "lift_fresh",
    "half": "to",
    "int": "to",
    "long": "to",
    "nll_loss": "nll_loss_nd",
    "short": "to",
    "tensor": "lift_fresh",
    "type_as": "to",
    "unfold": "im2col",
    "__invert__": "bitwise_not",
    "__div__": "div",
    "__idiv__": "div_",
}
#: How the functions of a namespace begin; those of `masked` are no operations in torch.
NAMESPACES = {"": "", "(method)": "", "linalg": "linalg_", "fft": "fft_", "special": "special_", "nn.functional": ""}
#: Functions that only return properties of tensors, and functions of which torch shows the inner operations alone.
QUIET = {
    "broadcast_shapes", "get_rng_state", "is_complex", "is_conj", "is_contiguous", "is_floating_point", "is_neg",
    "is_same_size", "is_set_to", "is_signed", "is_tensor", "numel", "result_type", "set_rng_state",
    "contiguous", "norm", "normalize", "softmin", "softsign", "tanhshrink",
}  # fmt: skip
#: Methods of Tensor that are written by hand.
METHODS = (
    "__bool__", "cpu", "detach", "detach_", "item", "new_empty", "new_full", "new_ones", "new_zeros", "to", "type_as",
    "zero_",
)  # fmt: skip
FUNCTIONS["__bool__"] = "is_nonzero"


def operation(name: str) -> str:
    """The event name of a declared operation."""
    return PREFIX + OPERATIONS.get(name, name)


def function(name: str, namespace: str) -> str | None:
    """The event name of a public function, without the prefix; None if it has none."""
    start = NAMESPACES.get(namespace)
    if start == "":
        return None if name in QUIET else FUNCTIONS.get(name, name)
    return None if start is None else start + name
