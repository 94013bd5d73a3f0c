"""Layers and losses: their texts, their state, their results, and wrong arguments."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import adjoint
from adjoint import nn
from adjoint.nn.homes import HOMES

F = nn.functional
o = adjoint.ones

#: Expressions of layers, and their texts in torch.
TEXTS = {
    "nn.ELU(2, True)": "ELU(alpha=2, inplace=True)",
    "nn.GELU()": "GELU(approximate='none')",
    "nn.Hardshrink()": "Hardshrink(0.5)",
    "nn.Hardtanh(-2, 2)": "Hardtanh(min_val=-2, max_val=2)",
    "nn.ReLU6(True)": "ReLU6(inplace=True)",
    "nn.LogSoftmax()": "LogSoftmax(dim=None)",
    "nn.PReLU()": "PReLU(num_parameters=1)",
    "nn.Threshold(1, 2)": "Threshold(threshold=1, value=2)",
    "nn.MaxPool2d(3, 2, ceil_mode=True)": "MaxPool2d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=True)",
    "nn.AvgPool1d(3)": "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))",
    "nn.MaxUnpool2d(2)": "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))",
    "nn.AdaptiveAvgPool2d((3, None))": "AdaptiveAvgPool2d(output_size=(3, None))",
    "nn.LPPool1d(2, 3)": "LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)",
    "nn.CrossEntropyLoss()": "CrossEntropyLoss()",
    "nn.Bilinear(2, 3, 4)": "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)",
    "nn.Unflatten(1, (2, 3))": "Unflatten(dim=1, unflattened_size=(2, 3))",
    "nn.Linear(2, 3, False)": "Linear(in_features=2, out_features=3, bias=False)",
    "nn.Conv1d(2, 3, 4)": "Conv1d(2, 3, kernel_size=(4,), stride=(1,))",
    "nn.Conv2d(2, 4, 3, 2, 1, 2, 2, False, 'reflect')": "Conv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), "
    "padding=(1, 1), dilation=(2, 2), groups=2, bias=False, padding_mode=reflect)",
    "nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2)": "ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(2, 2), "
    "padding=(1, 1), output_padding=(1, 1), groups=2)",
    "nn.BatchNorm2d(3, affine=False)": "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, "
    "track_running_stats=True)",
    "nn.LayerNorm((2, 3))": "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=True)",
    "nn.GroupNorm(2, 4)": "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)",
    "nn.RMSNorm(3)": "RMSNorm((3,), eps=None, elementwise_affine=True)",
    "nn.LocalResponseNorm(2)": "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)",
    "nn.Dropout2d(.1, True)": "Dropout2d(p=0.1, inplace=True)",
    "nn.Embedding(3, 4, padding_idx=-1, max_norm=2.)": "Embedding(3, 4, padding_idx=2, max_norm=2.0)",
    "nn.EmbeddingBag(3, 4)": "EmbeddingBag(3, 4, mode='mean')",
    "nn.LSTM(2, 3, proj_size=2)": "LSTM(2, 3, proj_size=2)",
    "nn.RNN(2, 3, 2, bidirectional=True, bias=False)": "RNN(2, 3, num_layers=2, bias=False, bidirectional=True)",
    "nn.RNNCell(2, 3, False, 'relu')": "RNNCell(2, 3, bias=False, nonlinearity=relu)",
    "nn.Upsample(scale_factor=2)": "Upsample(scale_factor=2.0, mode='nearest')",
    "nn.ZeroPad2d(1)": "ZeroPad2d((1, 1, 1, 1))",
    "nn.ConstantPad1d(1, 2)": "ConstantPad1d(padding=(1, 1), value=2)",
    "nn.Fold((4, 5), 2)": "Fold(output_size=(4, 5), kernel_size=2, dilation=1, padding=0, stride=1)",
    "nn.MultiheadAttention(4, 2)": "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear(in_features=4, "
    "out_features=4, bias=True)\n)",
    "nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])": "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)",
}


@pytest.mark.parametrize("expression", TEXTS)
def test_text(expression):
    assert repr(eval(expression)) == TEXTS[expression]


#: Layers with an input, and the function that computes the same.
FUNCTIONS = {
    "nn.LeakyReLU(0.2)": lambda x: F.leaky_relu(x, 0.2),
    "nn.Softplus(2.0, 5.0)": lambda x: F.softplus(x, 2.0, 5.0),
    "nn.Softmax2d()": lambda x: F.softmax(x, 1),
    "nn.MaxPool2d(2, 1, 1)": lambda x: F.max_pool2d(x, 2, 1, 1),
    "nn.AvgPool2d(2, count_include_pad=False, padding=1)": lambda x: F.avg_pool2d(x, 2, 2, 1, False, False),
    "nn.LPPool2d(2, 2)": lambda x: F.lp_pool2d(x, 2, 2),
    "nn.AdaptiveMaxPool2d(2)": lambda x: F.adaptive_max_pool2d(x, 2),
    "nn.ReflectionPad2d((1, 2, 0, 1))": lambda x: F.pad(x, (1, 2, 0, 1), "reflect"),
    "nn.CircularPad2d(1)": lambda x: F.pad(x, (1,) * 4, "circular"),
    "nn.ReplicationPad2d(1)": lambda x: F.pad(x, (1,) * 4, "replicate"),
    "nn.ConstantPad2d(1, 3.0)": lambda x: F.pad(x, (1,) * 4, value=3.0),
    "nn.ZeroPad2d(1)": lambda x: F.pad(x, (1,) * 4),
    "nn.Unfold(2, stride=2)": lambda x: F.unfold(x, 2, stride=2),
    "nn.PixelShuffle(2)": lambda x: F.pixel_shuffle(x, 2),
    "nn.ChannelShuffle(2)": lambda x: F.channel_shuffle(x, 2),
    "nn.Upsample(size=5, mode='bilinear')": lambda x: F.interpolate(x, 5, mode="bilinear"),
    "nn.UpsamplingBilinear2d(scale_factor=2)": lambda x: F.interpolate(
        x, scale_factor=2, mode="bilinear", align_corners=True
    ),
    "nn.Flatten()": lambda x: x.flatten(1),
    "nn.Unflatten(1, (2, 2))": lambda x: x.unflatten(1, (2, 2)),
    "nn.LocalResponseNorm(2)": lambda x: F.local_response_norm(x, 2),
    "nn.InstanceNorm2d(4)": lambda x: F.instance_norm(x),
    "nn.GroupNorm(2, 4)": lambda x: F.group_norm(x, 2),
    "nn.LayerNorm(4)": lambda x: F.layer_norm(x, (4,)),
    "nn.RMSNorm(4)": lambda x: F.rms_norm(x, (4,)),
    "nn.BatchNorm2d(4)": lambda x: F.batch_norm(x, None, None, training=True),
    "nn.Dropout(0.5).eval()": lambda x: x,
}


@pytest.mark.parametrize("expression", FUNCTIONS)
def test_layers_are_their_functions(expression):
    adjoint.manual_seed(0)
    x = adjoint.randn(2, 4, 4, 4)
    result, expected = eval(expression)(x), FUNCTIONS[expression](x)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


x, y, classes = (
    adjoint.tensor([[0.2, 0.7], [0.4, 0.1]]),
    adjoint.tensor([[0.0, 1.0], [1.0, 1.0]]),
    adjoint.tensor([0, 1]),
)
signs = adjoint.tensor([1.0, -1.0])
#: Losses with their arguments, and the function that computes the same.
LOSSES = {
    "nn.L1Loss(reduction='sum')(x, y)": lambda: F.l1_loss(x, y, reduction="sum"),
    "nn.SmoothL1Loss(beta=0.5)(x, y)": lambda: F.smooth_l1_loss(x, y, beta=0.5),
    "nn.HuberLoss(delta=0.5)(x, y)": lambda: F.huber_loss(x, y, delta=0.5),
    "nn.BCELoss(weight=y)(x, y)": lambda: F.binary_cross_entropy(x, y, y),
    "nn.BCEWithLogitsLoss(pos_weight=o(2) * 3)(x, y)": lambda: F.binary_cross_entropy_with_logits(
        x, y, pos_weight=o(2) * 3
    ),
    "nn.CrossEntropyLoss(o(2) * 2, ignore_index=1)(x, classes)": lambda: F.cross_entropy(
        x, classes, o(2) * 2, ignore_index=1
    ),
    "nn.NLLLoss(reduction='none')(x, classes)": lambda: F.nll_loss(x, classes, reduction="none"),
    "nn.KLDivLoss(reduction='batchmean', log_target=True)(x, y)": lambda: F.kl_div(
        x, y, reduction="batchmean", log_target=True
    ),
    "nn.PoissonNLLLoss(full=True)(x, y)": lambda: F.poisson_nll_loss(x, y, full=True),
    "nn.GaussianNLLLoss(full=True)(x, y, y + 1)": lambda: F.gaussian_nll_loss(x, y, y + 1, full=True),
    "nn.HingeEmbeddingLoss(2.0)(x, y)": lambda: F.hinge_embedding_loss(x, y, 2.0),
    "nn.MultiLabelSoftMarginLoss()(x, y)": lambda: F.multilabel_soft_margin_loss(x, y),
    "nn.MultiMarginLoss(2, 0.5)(x, classes)": lambda: F.multi_margin_loss(x, classes, 2, 0.5),
    "nn.SoftMarginLoss()(x, y)": lambda: F.soft_margin_loss(x, y),
    "nn.CosineEmbeddingLoss(0.1)(x, y, signs)": lambda: F.cosine_embedding_loss(x, y, signs, 0.1),
    "nn.MarginRankingLoss(0.1)(x[0], y[0], signs)": lambda: F.margin_ranking_loss(x[0], y[0], signs, 0.1),
    "nn.TripletMarginLoss(2.0, swap=True)(x, y, x + y)": lambda: F.triplet_margin_loss(x, y, x + y, 2.0, swap=True),
    "nn.TripletMarginWithDistanceLoss()(x, y, x + y)": lambda: F.triplet_margin_loss(x, y, x + y),
    "nn.CosineSimilarity(0)(x, y)": lambda: F.cosine_similarity(x, y, 0),
    "nn.PairwiseDistance(1.0, keepdim=True)(x, y)": lambda: F.pairwise_distance(x, y, 1.0, keepdim=True),
}


@pytest.mark.parametrize("expression", LOSSES)
def test_losses_are_their_functions(expression):
    assert bool(adjoint.allclose(eval(expression), LOSSES[expression]()))


def test_older_names_of_reductions():
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"


def test_every_class_is_found_and_has_a_signature():
    names = [name for listed in HOMES.values() for name in listed.split()]
    assert len(names) == len(set(names)) >= 140 and set(names) <= set(nn.__all__)
    for name in names:
        cls = getattr(nn, name)
        assert issubclass(cls, nn.Module) and cls.__name__ == name and cls.__module__.startswith("adjoint.nn.modules.")
        assert inspect.signature(cls.__init__) and getattr(nn.modules, name) is cls


BAD = {
    "nn.MaxPool2d()": "MaxPool2d.__init__() missing 1 required positional argument: 'kernel_size'",
    "nn.Hardtanh(2, 1)": "max_val (1) must be greater than min_val (2)",
    "nn.Dropout(3)": "dropout probability has to be between 0 and 1, but got 3",
    "nn.MultiMarginLoss(3)": "only p == 1 and p == 2 supported",
    "nn.MultiMarginLoss(1, weight=o(2, 2))": "MultiMarginLoss: expected weight to be None or 1D tensor, got 2D instead",
    "nn.TripletMarginWithDistanceLoss(reduction='x')": "x is not a valid value for reduction",
    "nn.FractionalMaxPool2d(2)": "FractionalMaxPool2d requires specifying either an output size, or a pooling ratio",
    "nn.FractionalMaxPool2d(2, 2, 2)": "only one of output_size and output_ratio may be specified",
    "nn.FractionalMaxPool2d(2, output_ratio=2)": "output_ratio must be between 0 and 1 (got 2)",
    "nn.Softmax2d()(o(2))": "Softmax2d: expected input to be 3D or 4D, got 1D instead",
    "nn.Unflatten(1, 3)": "unflattened_size must be a tuple of ints, but found type int",
    "nn.Unflatten(1, (2, 2.))": "unflattened_size must be tuple of ints, but found element of type float at pos 1",
    "nn.Bilinear(0, 2, 3)": "in1_features must be > 0, but got (in1_features=0)",
    "nn.Conv2d(3, 4, 3, groups=2)": "in_channels must be divisible by groups",
    "nn.Conv2d(4, 3, 3, groups=2)": "out_channels must be divisible by groups",
    "nn.Conv2d(4, 3, 3, groups=0)": "groups must be a positive integer",
    "nn.Conv2d(4, 3, 3, padding='x')": "Invalid padding string 'x', should be one of {'same', 'valid'}",
    "nn.Conv2d(4, 3, 3, padding='same', stride=2)": "padding='same' is not supported for strided convolutions",
    "nn.Conv2d(4, 3, 3, padding_mode='x')": "padding_mode must be one of {'zeros', 'circular', 'reflect', "
    "'replicate'}, but got padding_mode='x'",
    "nn.ConvTranspose2d(4, 3, 3, padding_mode='reflect')": 'Only "zeros" padding mode is supported for ConvTranspose2d',
    "nn.ConvTranspose2d(4, 3, 3, 2)(o(1, 4, 3, 3), (2,))": "ConvTranspose2D: for 4D input, output_size must have 2 or "
    "4 elements (got 1)",
    "nn.ConvTranspose2d(4, 3, 3, 2)(o(1, 4, 3, 3), (2, 2))": "requested an output size of (2, 2), but valid sizes "
    "range from [7, 7] to [8, 8] (for an input of adjoint.Size([3, 3]))",
    "nn.BatchNorm1d(2)(o(2))": "expected 2D or 3D input (got 1D input)",
    "nn.BatchNorm2d(2)(o(2))": "expected 4D input (got 1D input)",
    "nn.BatchNorm3d(2)(o(2))": "expected 5D input (got 1D input)",
    "nn.InstanceNorm1d(2)(o(2))": "expected 2D or 3D input (got 1D input)",
    "nn.InstanceNorm1d(2, affine=True)(o(3, 3))": "expected input's size at dim=0 to match num_features (2), but got: "
    "3.",
    "nn.GroupNorm(2, 3)": "num_channels (3) must be divisible by num_groups (2)",
    "nn.Embedding(3, 2, padding_idx=7)": "Padding_idx must be within num_embeddings",
    "nn.Embedding(3, 2, _weight=o(3, 3))": "Shape of weight does not match num_embeddings and embedding_dim",
    "nn.Embedding.from_pretrained(o(3))": "Embeddings parameter is expected to be 2-dimensional",
    "nn.RNN(2, 3, dropout=2)": "dropout should be a number in range [0, 1] representing the probability of an element "
    "being zeroed",
    "nn.RNN(2, 0)": "hidden_size must be greater than zero",
    "nn.RNN(2, 3.0)": "hidden_size should be of type int, got: float",
    "nn.RNN(2, 3, 0)": "num_layers must be greater than zero",
    "nn.RNN(2, 3, nonlinearity='x')": "Unknown nonlinearity 'x'. Select from 'tanh' or 'relu'.",
    "nn.LSTM(2, 3, proj_size=-1)": "proj_size should be a positive integer or zero to disable projections",
    "nn.LSTM(2, 3, proj_size=5)": "proj_size has to be smaller than hidden_size",
    "nn.GRU(2, 3, proj_size=5)": "proj_size argument is only supported for LSTM, not RNN or GRU",
    "nn.RNN(2, 3, proj_size=5)": "proj_size argument is only supported for LSTM, not RNN or GRU",
    "nn.RNN(2, 3)(o(4))": "RNN: Expected input to be 2D or 3D, got 1D tensor instead",
    "nn.RNN(2, 3)(o(4, 5))": "input.size(-1) must be equal to input_size. Expected 2, got 5",
    "nn.RNN(2, 3)(o(4, 5, 2), o(2, 2))": "For batched 3-D input, hx should also be 3-D but got 2-D tensor",
    "nn.RNN(2, 3)(o(4, 5, 2), o(2, 2, 2))": "Expected hidden size (1, 5, 3), got [2, 2, 2]",
    "nn.RNN(2, 3)(o(4, 5, 2).double())": "RNN input dtype (adjoint.float64) does not match weight dtype "
    "(adjoint.float32). Convert input: input.to(adjoint.float32), or convert model: model.to(adjoint.float64)",
    "nn.LSTM(2, 3)(o(4, 2), (o(2, 2, 2), o(2, 2, 2)))": "For unbatched 2-D input, hx and cx should also be 2-D but got "
    "(3-D, 3-D) tensors",
    "nn.RNNCell(2, 3)(o(4, 5, 2))": "RNNCell: Expected input to be 1D or 2D, got 3D instead",
    "nn.LSTMCell(2, 3)(o(4, 2), (o(2, 2, 2), o(2)))": "LSTMCell: Expected hx[0] to be 1D or 2D, got 3D instead",
    "nn.RNNCell(2, 3, nonlinearity='x')(o(4, 2))": "Unknown nonlinearity: x",
    "nn.modules.rnn.RNNBase('X', 2, 3)": "Unrecognized RNN mode: X",
    "nn.MultiheadAttention(5, 2)": "embed_dim must be divisible by num_heads",
    "nn.MultiheadAttention(0, 2)": "embed_dim and num_heads must be greater than 0, got embed_dim=0 and num_heads=2 "
    "instead",
    "nn.TransformerEncoderLayer(4, 2, activation='x')": "activation should be relu/gelu, not x",
    "nn.Transformer(4, 2, 1, 1, 8)(o(2, 2, 4), o(2, 3, 4))": "the batch number of src and tgt must be equal",
    "nn.Transformer(4, 2, 1, 1, 8)(o(2, 2, 3), o(2, 2, 3))": "the feature number of src and tgt must be equal to "
    "d_model",
}


@pytest.mark.parametrize("expression", BAD)
def test_bad_arguments(expression):
    with pytest.raises(Exception) as caught:
        eval(expression)
    assert str(caught.value) == BAD[expression]


# initial values ------------------------------------------------------------------------------------------------------

#: A layer, one of its parameters, and the bound of its uniform initial distribution.
BOUNDS = {
    "nn.Linear(100, 200)": ("weight", 0.1),
    "nn.Bilinear(64, 10, 20)": ("weight", 0.125),
    "nn.Conv2d(16, 32, 5)": ("weight", 0.05),
    "nn.ConvTranspose1d(40, 10, 10)": ("weight", 0.1),
    "nn.LSTM(10, 100)": ("weight_hh_l0", 0.1),
    "nn.GRUCell(10, 100)": ("weight_ih", 0.1),
    "nn.MultiheadAttention(50, 2)": ("in_proj_weight", math.sqrt(6 / 200)),
}


@pytest.mark.parametrize("expression", BOUNDS)
def test_first_values(expression):
    adjoint.manual_seed(0)
    name, bound = BOUNDS[expression]
    values = getattr(eval(expression), name).detach().numpy()
    assert 0.97 * bound < abs(values).max() <= bound * (1 + 1e-6)
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)


def test_layers_of_given_vectors():
    table = nn.Embedding.from_pretrained(o(3, 2), False, 1, 2.0, 1.0, True, True)
    assert (table.padding_idx, table.max_norm, table.norm_type) == (1, 2.0, 1.0)
    assert table.scale_grad_by_freq and table.sparse and table.weight.requires_grad
    bags = nn.EmbeddingBag.from_pretrained(o(3, 2), True, 2.0, 1.0, False, "sum", True, True, 1)
    assert (bags.max_norm, bags.norm_type, bags.mode, bags.padding_idx) == (2.0, 1.0, "sum", 1)
    assert bags.sparse and bags.include_last_offset and not bags.weight.requires_grad


def test_other_first_values():
    adjoint.manual_seed(0)
    table = nn.Embedding(100, 100, padding_idx=3).weight.detach().numpy()
    assert table.std() == pytest.approx(1, rel=0.05) and not table[3].any()
    norm = nn.BatchNorm1d(3)
    assert norm.weight.tolist() == [1, 1, 1] and norm.bias.tolist() == [0, 0, 0]
    attention = nn.MultiheadAttention(4, 2, add_bias_kv=True, kdim=3, vdim=5)
    assert list(attention.state_dict()) == [
        "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight",
        "out_proj.bias",
    ]  # fmt: skip
    assert not attention.in_proj_bias.any() and not attention.out_proj.bias.any()
    assert nn.PReLU(2).weight.tolist() == [0.25, 0.25]


# layers with a state -------------------------------------------------------------------------------------------------


def test_running_statistics():
    norm, batch = nn.BatchNorm1d(2), adjoint.tensor([[1.0, 2.0], [3.0, 6.0]])
    norm(batch)
    assert norm.running_mean.tolist() == pytest.approx([0.2, 0.4]) and norm.num_batches_tracked.item() == 1
    assert norm.running_var.tolist() == pytest.approx([0.9 + 0.2, 0.9 + 0.8])
    assert bool(adjoint.allclose(norm.eval()(batch), (batch - norm.running_mean) / (norm.running_var + 1e-5).sqrt()))
    mean = nn.BatchNorm1d(2, momentum=None)
    for value in (1.0, 3.0):
        mean(adjoint.full((2, 2), value))
    assert mean.running_mean.tolist() == [2, 2]
    mean.reset_running_stats()
    assert mean.running_mean.tolist() == [0, 0] and mean.num_batches_tracked.item() == 0
    plain = nn.BatchNorm1d(2, track_running_stats=False).eval()
    assert list(plain.state_dict()) == ["weight", "bias"]
    assert bool(adjoint.allclose(plain(batch).mean(0), adjoint.zeros(2), atol=1e-6))


def test_state_of_a_batch_norm_that_did_not_count():
    state = nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"], state._metadata
    nn.BatchNorm1d(2).load_state_dict(state)


def test_instance_norm_without_its_number_of_features_warns():
    with pytest.warns(UserWarning, match="does not match num_features"):
        nn.InstanceNorm1d(7)(o(2, 3, 4))


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_are_those_of_each_length(name, bidirectional):
    adjoint.manual_seed(0)
    model = getattr(nn, name)(3, 4, num_layers=2, bidirectional=bidirectional)
    sequences = [adjoint.randn(length, 3) for length in (2, 5, 3)]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    output, states = model(packed)
    parts = nn.utils.rnn.unpack_sequence(output)
    for k, sequence in enumerate(sequences):
        expected, last = model(sequence)
        assert bool(adjoint.allclose(parts[k], expected, atol=1e-6))
        pairs = zip(states, last, strict=True) if name == "LSTM" else [(states, last)]
        assert all(bool(adjoint.allclose(result[:, k], one, atol=1e-6)) for result, one in pairs)
    begin = tuple(each * 0 for each in states) if name == "LSTM" else states * 0
    again, _ = model(packed, begin)
    assert bool(adjoint.allclose(again.data, output.data))


def test_orders_of_axes_and_single_sequences():
    model, first = nn.GRU(3, 4), nn.GRU(3, 4, batch_first=True)
    first.load_state_dict(model.state_dict())
    batch = adjoint.randn(5, 2, 3)
    output, state = model(batch)
    turned, same = first(batch.transpose(0, 1))
    assert bool(adjoint.allclose(turned.transpose(0, 1), output)) and bool(adjoint.allclose(same, state))
    single, last = first(batch[:, 0])
    assert bool(adjoint.allclose(single, output[:, 0])) and last.shape == (1, 4)
    cell = nn.GRUCell(3, 4)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in model.state_dict().items()})
    assert bool(adjoint.allclose(cell(batch[0, 0]), output[0, 0]))


def test_packing_of_lengths():
    rnn = nn.utils.rnn
    padded = adjoint.arange(12.0).reshape(3, 2, 2)
    assert rnn.pack_padded_sequence(padded, [3, 1]).batch_sizes.tolist() == [2, 1, 1]
    for lengths, message in (([1, 3], "sorted in decreasing"), ([3, 0], "greater than 0"), ([3], "Expected `len")):
        with pytest.raises(RuntimeError, match=message):
            rnn.pack_padded_sequence(padded, lengths)
    packed = rnn.pack_padded_sequence(padded.transpose(0, 1), adjoint.tensor([1, 3]), True, enforce_sorted=False)
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
    assert back.shape == (2, 4, 2) and back[0, 1:].unique().tolist() == [-1] and lengths.tolist() == [1, 3]
    with pytest.raises(ValueError, match="Expected total_length to be at least"):
        rnn.pad_packed_sequence(packed, total_length=1)
    left = rnn.pad_sequence([o(2), o(3)], True, 5.0, padding_side="left")
    assert left.tolist() == [[5, 1, 1], [1, 1, 1]]
    with pytest.raises(RuntimeError, match="Expected iterable"):
        rnn.pad_sequence(3)
    with pytest.raises(RuntimeError, match="one of left or right"):
        rnn.pad_sequence([o(2)], padding_side="x")
    with pytest.raises(ValueError, match="batch_sizes is None"):
        rnn.PackedSequence(o(2))
    names = ("double", "float", "half", "long", "int", "short", "char", "byte")
    kinds = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8")
    for name, kind in zip(names, kinds, strict=True):
        converted = getattr(packed, name)()
        assert str(converted.data.dtype) == f"adjoint.{kind}" and converted.batch_sizes is packed.batch_sizes
    assert packed.cpu() is packed.float() is packed and not packed.is_cuda and not packed.is_pinned()


def test_masks_of_transformers():
    adjoint.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
    batch = adjoint.randn(2, 5, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    causal = model(batch, mask)
    # later steps do not matter
    later = batch.clone()
    later[:, 3:] = 7.0
    assert bool(adjoint.allclose(model(later, mask)[:, :3], causal[:, :3], atol=1e-5))
    assert bool(adjoint.allclose(model(batch, mask, is_causal=True), causal, atol=1e-6))
    padding = adjoint.zeros(2, 5, dtype=adjoint.bool)
    padding[:, 4] = True
    changed = batch.clone()
    changed[:, 4] = 3.0
    result = [model(each, src_key_padding_mask=padding)[:, :4] for each in (batch, changed)]
    assert bool(adjoint.allclose(*result, atol=1e-5))
    whole = nn.Transformer(4, 2, 1, 1, 8, dropout=0.0, batch_first=True, norm_first=True)
    assert whole(batch, batch[:, :3], tgt_mask=mask[:3, :3]).shape == (2, 3, 4)
