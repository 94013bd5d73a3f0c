"""Tables of vectors that integers index: Embedding, EmbeddingBag."""

from __future__ import annotations

from typing import Any

from adjoint.core.modes.grad_mode import no_grad
from adjoint.nn import functional as F
from adjoint.nn import init
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor


class _Table(Module):
    """The base class of both.

    The weight (num_embeddings, embedding_dim) has normal numbers initially, and zeros at padding_idx.
    """

    weight: Tensor
    padding_idx: int | None
    _repr_defaults: dict[str, Any] = {}

    def _make(
        self, size: tuple[int, int], padding_idx: int | None, weight: Any, freeze: bool, device: Any, dtype: Any
    ) -> None:
        self.num_embeddings, self.embedding_dim = size
        if padding_idx is not None:
            if not -size[0] <= padding_idx < size[0]:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= size[0]
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = Parameter(creation.empty(size, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if tuple(weight.shape) != size:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _with_weight(cls, embeddings: Tensor, freeze: bool, **options: Any) -> Any:
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        embedding = cls(*embeddings.shape, _weight=embeddings, **options)
        embedding.weight.requires_grad_(not freeze)
        return embedding

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        values = [(name, getattr(self, name)) for name in self._repr_defaults]
        parts += [f"{name}={value!r}" for name, value in values if value != self._repr_defaults[name]]
        return ", ".join(parts)


class Embedding(_Table):
    """The vectors of a table at integer indices: shapes (...) and (..., embedding_dim); see nn.functional.embedding().

    padding_idx: a row without gradient, initially zero. max_norm: vectors with a larger norm are scaled down to it.

    Raises AssertionError for a padding_idx outside the table.

    >>> import adjoint
    >>> adjoint.nn.Embedding(10, 3)(adjoint.tensor([[1, 2], [4, 5]])).shape
    adjoint.Size([2, 2, 3])
    """

    _repr_defaults = {
        "padding_idx": None,
        "max_norm": None,
        "norm_type": 2,
        "scale_grad_by_freq": False,
        "sparse": False,
    }

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make((num_embeddings, embedding_dim), padding_idx, _weight, _freeze, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """A layer with these vectors (num_embeddings, embedding_dim). freeze: they do not require grad.

        The other arguments are those of the class. Raises AssertionError unless `embeddings` is a matrix.

        >>> import adjoint
        >>> adjoint.nn.Embedding.from_pretrained(adjoint.ones(3, 2))
        Embedding(3, 2)
        """
        return cls._with_weight(
            embeddings,
            freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of the vectors of bags of integer indices; see nn.functional.embedding_bag().

    Shapes: indices (B, N), or (N,) with offsets (B,), to (B, embedding_dim). mode: "sum", "mean" or "max".

    Raises AssertionError for a padding_idx outside the table.

    >>> import adjoint
    >>> bags = adjoint.tensor([1, 2, 4, 5]), adjoint.tensor([0, 3])
    >>> adjoint.nn.EmbeddingBag(10, 3, mode="sum")(*bags).shape
    adjoint.Size([2, 3])
    """

    _repr_defaults = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "mode": None, "padding_idx": None}

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._make((num_embeddings, embedding_dim), padding_idx, _weight, False, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Any:
        """A layer with these vectors (num_embeddings, embedding_dim). freeze: they do not require grad.

        The other arguments are those of the class. Raises AssertionError unless `embeddings` is a matrix.

        >>> import adjoint
        >>> adjoint.nn.EmbeddingBag.from_pretrained(adjoint.ones(3, 2), mode="sum")
        EmbeddingBag(3, 2, mode='sum')
        """
        return cls._with_weight(
            embeddings,
            freeze,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
