"""Attention with several heads, and the layers of transformers.

Vaswani et al. (2017), "Attention is all you need".
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from adjoint.nn import functional as F
from adjoint.nn import init
from adjoint.nn.modules.container import ModuleList
from adjoint.nn.modules.dropout import Dropout
from adjoint.nn.modules.linear import Linear, NonDynamicallyQuantizableLinear
from adjoint.nn.modules.module import Module
from adjoint.nn.modules.normalization import LayerNorm
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor


class MultiheadAttention(Module):
    """Attention of queries to keys and values in several heads; see nn.functional.multi_head_attention_forward().

    Shapes: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim). With batch_first, N is the first axis. All
    three may lack N. The result is a pair: the output (L, N, embed_dim) and the weights (N, L, S). The weights are
    None unless need_weights.

    Raises ValueError for sizes that are not positive, and AssertionError if num_heads does not divide embed_dim or
    shapes differ.

    >>> import adjoint
    >>> x = adjoint.ones(5, 1, 4)
    >>> output, weights = adjoint.nn.MultiheadAttention(4, 2)(x, x, x)
    >>> output.shape, weights.shape
    (adjoint.Size([5, 1, 4]), adjoint.Size([1, 5, 5]))
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    q_proj_weight: Tensor | None
    k_proj_weight: Tensor | None
    v_proj_weight: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same = self._qkv_same_embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        self._register(shapes, device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        extra = (1, 1, embed_dim) if add_bias_kv else None
        self._register({"bias_k": extra, "bias_v": extra}, device, dtype)
        self._reset_parameters()

    def _register(self, shapes: dict[str, tuple[int, ...] | None], device: Any, dtype: Any) -> None:
        for name, shape in shapes.items():
            values = None if shape is None else Parameter(creation.empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, values)

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)  # type: ignore[arg-type]
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        is_transposed = self.batch_first and query.ndim == 3
        if is_transposed:
            same_key, same_value = key is query, value is key
            query = query.transpose(0, 1)
            key = query if same_key else key.transpose(0, 1)
            value = key if same_value else value.transpose(0, 1)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if is_transposed else output), weights


def _activation(name: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if not isinstance(name, str):
        return name
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {name}")
    function: Callable[[Tensor], Tensor] = getattr(F, name)
    return function


def _relu(input: Tensor) -> Tensor:
    return F.relu(input)


class _TransformerLayer(Module):
    """The base class of encoder and decoder layers: the block of two linear layers, and the order of the norms."""

    def _make(
        self,
        attentions: tuple[str, ...],
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: Any,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        factory = {"device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory)
        self.norm_first = norm_first
        numbers = range(1, len(attentions) + 2)
        for k in numbers:
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, **factory))
        for k in numbers:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(self, name: str, k: int, x: Tensor, other: Tensor, mask: Any, padding: Any, is_causal: bool) -> Tensor:
        attention = getattr(self, name)
        output = attention(
            x, other, other, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]
        return getattr(self, f"dropout{k}")(output)

    def _ff_block(self, x: Tensor) -> Tensor:
        inner = self.dropout(self.activation(self.linear1(x)))
        last = len([name for name in self._modules if name.startswith("norm")])
        return getattr(self, f"dropout{last}")(self.linear2(inner))

    def _in_order(self, x: Tensor, blocks: list[Callable[[Tensor], Tensor]]) -> Tensor:
        """Run each block with its residual; the norm comes before the block, or after the sum."""
        for k, block in enumerate(blocks, 1):
            norm = getattr(self, f"norm{k}")
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention of a sequence, then two linear layers; both blocks have a residual and a norm.

    Shapes: src (S, N, d_model), with batch_first (N, S, d_model), or (S, d_model); the output has the same shape.
    activation: "relu", "gelu" or a function. norm_first: the norms come before the blocks.

    Raises RuntimeError for another name of an activation.

    >>> import adjoint
    >>> adjoint.nn.TransformerEncoderLayer(4, 2, 8)(adjoint.ones(5, 1, 4)).shape
    adjoint.Size([5, 1, 4])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = _relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        self._make(("self_attn",), d_model, nhead, *options)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend("self_attn", 1, x, x, src_mask, src_key_padding_mask, is_causal)

        return self._in_order(src, [attend, self._ff_block])


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention of a sequence, attention to the memory, then two linear layers.

    Shapes: tgt (T, N, d_model) and memory (S, N, d_model), with batch_first N first, or without N. The output has the
    shape of tgt. It has the arguments and errors of TransformerEncoderLayer.

    >>> import adjoint
    >>> memory = adjoint.ones(6, 1, 4)
    >>> adjoint.nn.TransformerDecoderLayer(4, 2, 8)(adjoint.ones(5, 1, 4), memory).shape
    adjoint.Size([5, 1, 4])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = _relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        self._make(("self_attn", "multihead_attn"), d_model, nhead, *options)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend("self_attn", 1, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def attend_to_memory(x: Tensor) -> Tensor:
            return self._attend("multihead_attn", 2, x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)

        return self._in_order(tgt, [attend, attend_to_memory, self._ff_block])


def _copies(layer: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(n)])


def _is_causal(mask: Tensor | None, is_causal: bool | None) -> bool:
    """True for a causal mask: `is_causal` says it, or for None the values of the mask."""
    if is_causal is not None or mask is None or mask.ndim != 2:
        return bool(is_causal)
    causal = generate_square_subsequent_mask(mask.shape[0], mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """A causal mask (sz, sz): -inf above the diagonal, zeros elsewhere. Each position sees itself and earlier ones.

    >>> from adjoint.nn.modules.attention import generate_square_subsequent_mask
    >>> generate_square_subsequent_mask(2)
    tensor([[0., -inf],
            [0., 0.]])
    """
    return ops.triu(creation.full((sz, sz), float("-inf"), dtype=dtype, device=device), 1)


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, with an optional norm at the end.

    The output has the shape of the input; see TransformerEncoderLayer for shapes.

    >>> import adjoint
    >>> layer = adjoint.nn.TransformerEncoderLayer(4, 2, 8)
    >>> adjoint.nn.TransformerEncoder(layer, 2)(adjoint.ones(5, 1, 4)).shape
    adjoint.Size([5, 1, 4])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(encoder_layer, num_layers), num_layers, norm
        # an attribute of torch's class; nested tensors do not exist here
        self.enable_nested_tensor, self.use_nested_tensor, self.mask_check = enable_nested_tensor, False, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        causal = _is_causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, with an optional norm at the end.

    The output has the shape of the target; see TransformerDecoderLayer for shapes.

    >>> import adjoint
    >>> layer = adjoint.nn.TransformerDecoderLayer(4, 2, 8)
    >>> adjoint.nn.TransformerDecoder(layer, 2)(adjoint.ones(5, 1, 4), adjoint.ones(6, 1, 4)).shape
    adjoint.Size([5, 1, 4])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _copies(decoder_layer, num_layers), num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of a source, and a decoder of a target that attends to the encoded source.

    Shapes: src (S, N, d_model) and tgt (T, N, d_model). With batch_first, N is the first axis. Both may lack N. The
    result has the shape of tgt.

    Raises RuntimeError for different batch sizes, and for widths other than d_model.

    >>> import adjoint
    >>> model = adjoint.nn.Transformer(4, 2, 1, 1, 8)
    >>> model(adjoint.ones(6, 1, 4), adjoint.ones(5, 1, 4)).shape
    adjoint.Size([5, 1, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = _relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        encoder, decoder = custom_encoder, custom_decoder
        if encoder is None:
            layer: Module = TransformerEncoderLayer(d_model, nhead, *options)
            encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if decoder is None:
            layer = TransformerDecoderLayer(d_model, nhead, *options)
            decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder, self.decoder = encoder, decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    generate_square_subsequent_mask = staticmethod(generate_square_subsequent_mask)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
