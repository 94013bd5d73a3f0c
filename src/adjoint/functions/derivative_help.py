"""How the derivative of each public function of several operations follows, and what is saved.

Written by scripts/generate_derivative_help.py from recorded calls.
"""

from __future__ import annotations

# fmt: off
_NAMES: dict[str, str] = {
    "Derivative: none.": (
        "Tensor._indices Tensor._nnz Tensor._values Tensor.apply_ Tensor.bool Tensor.byte Tensor.ccol_indices "
        "Tensor.char Tensor.col_indices Tensor.crow_indices Tensor.dense_dim Tensor.dim_order Tensor.indices "
        "Tensor.int Tensor.is_coalesced Tensor.is_contiguous Tensor.is_set_to Tensor.long Tensor.map2_ "
        "Tensor.map_ Tensor.resize_ Tensor.resize_as_ Tensor.row_indices Tensor.set_ Tensor.short "
        "Tensor.sparse_dim allclose bartlett_window blackman_window broadcast_shapes bucketize detach_copy "
        "equal fft.fftfreq fft.rfftfreq hamming_window hann_window histc histogram histogramdd is_conj is_neg "
        "isclose isin kaiser_window linalg.matrix_rank masked.argmax masked.argmin multinomial "
        "nn.functional.one_hot nonzero nonzero_static normal searchsorted signal.windows.bartlett "
        "signal.windows.blackman signal.windows.cosine signal.windows.exponential signal.windows.gaussian "
        "signal.windows.general_cosine signal.windows.general_hamming signal.windows.hamming "
        "signal.windows.hann signal.windows.kaiser signal.windows.nuttall unravel_index"
    ),
    "Derivative: none; the tensor is filled with new numbers.": (
        "Tensor.bernoulli_ Tensor.cauchy_ Tensor.exponential_ Tensor.geometric_ Tensor.log_normal_ "
        "Tensor.normal_ Tensor.random_ Tensor.uniform_"
    ),
    "Derivative, from the cotangent g of the result y of the operation cast:\n"
    "    by input: g (saves nothing)":
        "Tensor.bfloat16 Tensor.cdouble Tensor.cfloat Tensor.double Tensor.float Tensor.half",
    "Derivative: the chain rule through operations on the values of sparse tensors; see docs/sparse.md.": (
        "Tensor.coalesce Tensor.sparse_mask Tensor.to_dense Tensor.to_sparse Tensor.to_sparse_bsc "
        "Tensor.to_sparse_bsr Tensor.to_sparse_coo Tensor.to_sparse_csc Tensor.to_sparse_csr Tensor.values "
        "sparse.addmm sparse.log_softmax sparse.mm sparse.sampled_addmm sparse.softmax sparse.spdiags "
        "sparse.sum sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor "
        "sparse_csc_tensor sparse_csr_tensor"
    ),
    "Derivative: the cotangent itself, since the result is the input.":
        "Tensor.contiguous positive resolve_conj resolve_neg",
    "Derivative, from the cotangent g of the result y of the operation copy:\n"
    "    by input: 0 (saves nothing)\n"
    "    by other: g (saves nothing)":
        "Tensor.copy_",
    "Derivative, from the cotangent g of the result y of the operation expand:\n"
    "    by input: ops.sum_to_size(g, input_shape) (saves nothing)":
        "Tensor.expand_as broadcast_tensors broadcast_to",
    "Derivative: the chain rule through the recorded operations: CopySlices.": "Tensor.fill_diagonal_",
    "Derivative, from the cotangent g of the result y of the operation reshape:\n"
    "    by input: ops.reshape(g, input_shape) (saves nothing)":
        "Tensor.reshape_as atleast_1d atleast_2d flatten ravel",
    "Derivative, from the cotangent g of the result y of the operation split:\n"
    "    by input: ops.cat(list(g), dim) (saves nothing)":
        "Tensor.split chunk split",
    "Derivative, from the cotangent g of the result y of the operation sum_to_size:\n"
    "    by input: ops.sum_to_size(g, input_shape[batch_ndim:], batch_ndim) (saves nothing)":
        "Tensor.sum_to_size",
    "Derivative, from the cotangent g of the result y of the operation unfold:\n"
    "    by input: ops.fold_windows(g, input_shape, dimension, size, step) (saves nothing)":
        "Tensor.unfold",
    "Derivative, from the cotangent g of the result y of the operation view:\n"
    "    by input: ops.reshape(g, input_shape) (saves nothing)":
        "Tensor.view Tensor.view_as unflatten",
    "Derivative, from the cotangent g of the result y of the operation where:\n"
    "    by input: ops.where(condition, g, 0) (saves condition)\n"
    "    by other: ops.where(condition, 0, g) (saves condition)":
        "Tensor.where where",
    "Derivative: the chain rule through the recorded operations: gammaincinv (saves result, self), sum, true_divide\n"
    "    (saves other, self).":
        "_sample_dirichlet",
    "Derivative: that of the operation gammaincinv (saves result, self); see adjoint/rules/distributions.py.":
        "_standard_gamma",
    "Derivative: that of the operation mean; see adjoint/rules/reduce.py.": (
        "adaptive_avg_pool1d mean nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
        "nn.functional.adaptive_avg_pool3d"
    ),
    "Derivative: that of the operation maxima (saves self); see adjoint/rules/pooling.py.": (
        "adaptive_max_pool1d max_pool1d max_pool1d_with_indices max_pool2d max_pool3d "
        "nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool1d_with_indices "
        "nn.functional.adaptive_max_pool2d nn.functional.adaptive_max_pool2d_with_indices "
        "nn.functional.adaptive_max_pool3d nn.functional.adaptive_max_pool3d_with_indices "
        "nn.functional.max_pool1d nn.functional.max_pool1d_with_indices nn.functional.max_pool2d "
        "nn.functional.max_pool2d_with_indices nn.functional.max_pool3d nn.functional.max_pool3d_with_indices"
    ),
    "Derivative: the chain rule through the recorded operations: permute, reshape, addmm (saves mat1, mat2).": "addbmm",
    "Derivative: the chain rule through the recorded operations: getitem_unsqueeze, addmm (saves mat1, mat2).": "addr",
    "Derivative, from the cotangent g of the result y of the operation transpose:\n"
    "    by input: ops.transpose(g, dim0, dim1) (saves nothing)":
        "adjoint",
    "Derivative: the chain rule through the recorded operations: transpose, bmm (saves self), reshape.":
        "affine_grid_generator nn.functional.affine_grid",
    "Derivative: the chain rule through the recorded operations: getitem_alias, clone_with_strides.": "alias_copy",
    "Derivative: the chain rule through the recorded operations: mul (saves other), add.": (
        "alpha_dropout alpha_dropout_ feature_alpha_dropout feature_alpha_dropout_ nn.functional.alpha_dropout "
        "nn.functional.feature_alpha_dropout"
    ),
    "Derivative: that of the operation aminmax (saves max, min, self); see adjoint/rules/reduce.py.": "aminmax",
    "Derivative, from the cotangent g of the result y of the operation as_strided:\n"
    "    by input: ops.restride(g, (shape, strides, offset), (input_shape, steps, 0), 1) (saves nothing)":
        "as_strided",
    "Derivative: the chain rule through the recorded operations: as_strided, clone_with_strides.": "as_strided_copy",
    "Derivative: the chain rule through the recorded operations: clone_with_strides, AsStridedScatterBackward0.":
        "as_strided_scatter",
    "Derivative: the chain rule through the recorded operations: reshape, unsqueeze.": "atleast_3d",
    "Derivative: that of the operation along_axes; see adjoint/rules/interpolation.py.": (
        "avg_pool1d nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d "
        "nn.functional.interpolate"
    ),
    "Derivative: the chain rule through the recorded operations: reshape, native_batch_norm (saves input, weight).":
        "batch_norm instance_norm native_batch_norm nn.functional.batch_norm",
    "Derivative, from the cotangent g of the result y of the operation drawn_bernoulli:\n"
    "    by input: 0 (saves nothing)":
        "bernoulli",
    "Derivative: that of the operation einsum (saves operands); see adjoint/rules/contract.py.":
        "bilinear einsum nn.functional.bilinear",
    "Derivative: that of the operation binary_cross_entropy_with_logits (saves self, target); see\n"
    "    adjoint/rules/losses.py.":
        "binary_cross_entropy_with_logits nn.functional.binary_cross_entropy_with_logits",
    "Derivative: not implemented; a backward pass through the result raises an error.":
        "binomial geqrf linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve unique unique_consecutive",
    "Derivative: the chain rule through the recorded operations: embed_view, cat.": "block_diag",
    "Derivative: the chain rule through the recorded operations: reshape, expand, stack.": "cartesian_prod",
    "Derivative: that of the operation cat; see adjoint/rules/shape.py.": "cat column_stack hstack vstack",
    "Derivative: that of the operation cdist (saves result, x1, x2); see adjoint/rules/distances.py.": "cdist",
    "Derivative: that of the operation celu (saves self); see adjoint/rules/activations.py.": "celu nn.functional.celu",
    "Derivative: the chain rule through the recorded operations: matmul (saves mat2, self).":
        "chain_matmul linalg.matrix_power",
    "Derivative: the chain rule through the recorded operations: reshape, transpose.": (
        "channel_shuffle native_channel_shuffle nn.functional.channel_shuffle "
        "nn.functional.native_channel_shuffle"
    ),
    "Derivative: that of the operation linalg_cholesky (saves result); see adjoint/rules/linalg.py.":
        "cholesky linalg.cholesky",
    "Derivative: that of the operation cholesky_solution (saves factor, result); see adjoint/rules/factorizations.py.":
        "cholesky_inverse cholesky_solve",
    "Derivative, from the cotangent g of the result y of the operation clone:\n"
    "    by input: g (saves nothing)":
        "clone",
    "Derivative, from the cotangent g of the result y of the operation index:\n"
    "    by input: ops.sum_at(g, input_shape, indices) (saves nothing)":
        "combinations",
    "Derivative, from the cotangent g of the result y of the operation conj:\n"
    "    by input: ops.conj(g) (saves nothing)":
        "conj conj_physical",
    "Derivative: that of the operation constant_pad_nd; see adjoint/rules/pooling.py.":
        "constant_pad_nd nn.functional.pad",
    "Derivative: that of the operation convolution (saves input, weight); see adjoint/rules/convolution.py.":
        "conv1d conv2d conv3d convolution nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d",
    "Derivative: the chain rule through the recorded operations: permute, convolution (saves input, weight),\n"
    "    clone_with_strides.":
        "conv_tbc nn.functional.conv_tbc",
    "Derivative: that of the operation transposed_convolution (saves input, weight); see\n"
    "    adjoint/rules/convolution.py.": (
        "conv_transpose1d conv_transpose2d conv_transpose3d nn.functional.conv_transpose1d "
        "nn.functional.conv_transpose2d nn.functional.conv_transpose3d"
    ),
    "Derivative: the chain rule through the recorded operations: mean, sub, conj_transpose, matmul (saves mat2,\n"
    "    self), true_divide (saves other, self), reshape, diagonal, real, sqrt (saves result), getitem_unsqueeze,\n"
    "    clamp (saves self).":
        "corrcoef",
    "Derivative: the chain rule through the recorded operations: mul (saves other, self), sum, add, sqrt (saves\n"
    "    result), true_divide (saves other, self), sub, where (saves condition), clamp (saves self), mean_all.":
        "cosine_embedding_loss nn.functional.cosine_embedding_loss",
    "Derivative: the chain rule through the recorded operations: linalg_vector_norm (saves result, self), add,\n"
    "    true_divide (saves other, self), mul (saves other, self), sum.":
        "cosine_similarity nn.functional.cosine_similarity",
    "Derivative: the chain rule through the recorded operations: mean, sub, conj_transpose, matmul (saves mat2,\n"
    "    self), true_divide (saves other), reshape.":
        "cov",
    "Derivative, from the cotangent g of the result y of the operation linalg_cross:\n"
    "    by input: ops.linalg_cross(ops.conjugate(other), g, dim=dim) (saves other)\n"
    "    by other: ops.linalg_cross(g, ops.conjugate(input), dim=dim) (saves input)":
        "cross linalg.cross",
    "Derivative: the chain rule through the recorded operations: ctc_loss (saves log_probs), true_divide (saves\n"
    "    other), mean_all.":
        "ctc_loss nn.functional.ctc_loss",
    "Derivative: that of the operation cumprod (saves self); see adjoint/rules/reduce.py.": "cumprod",
    "Derivative: that of the operation cumsum; see adjoint/rules/reduce.py.": "cumsum",
    "Derivative: the chain rule through the recorded operations: getitem_slice, add, mul_number, cumsum.":
        "cumulative_trapezoid",
    "Derivative, from the cotangent g of the result y of the operation embed_diagonal:\n"
    "    by input: ops.diagonal(g, offset, dim1, dim2) (saves nothing)":
        "diag diag_embed",
    "Derivative: the chain rule through the recorded operations: reshape, embed_diagonal.": "diagflat",
    "Derivative: the chain rule through the recorded operations: diagonal, clone_with_strides.": "diagonal_copy",
    "Derivative: the chain rule through the recorded operations: clone_with_strides, DiagonalScatterBackward0.":
        "diagonal_scatter",
    "Derivative: that of the operation neighbour_difference; see adjoint/rules/cumulative.py.": "diff",
    "Derivative: the chain rule through the recorded operations: sub, linalg_vector_norm (saves result, self).": "dist",
    "Derivative, from the cotangent g of the result y of the operation true_divide:\n"
    "    by input: g / other (saves other)\n"
    "    by other: g * (-(input / other / other)) (saves input, other)":
        "div",
    "Derivative, from the cotangent g of the result y of the operation mul:\n"
    "    by input: g * other (saves other)\n"
    "    by other: g * input (saves input)": (
        "dropout feature_dropout feature_dropout_ native_dropout nn.functional.dropout nn.functional.dropout1d "
        "nn.functional.dropout2d nn.functional.dropout3d"
    ),
    "Derivative: the chain rule through the recorded operations: getitem_slice.": "dsplit hsplit vsplit",
    "Derivative: the chain rule through the recorded operations: unsqueeze, cat.": "dstack",
    "Derivative: that of the operation embedding (saves indices); see adjoint/rules/embedding.py.":
        "embedding nn.functional.embedding",
    "Derivative: the chain rule through the recorded operations: embedding (saves indices), sum_at (saves indices),\n"
    "    getitem_slice.":
        "embedding_bag",
    "Derivative: the chain rule through the recorded operations: expand, clone_with_strides.": "expand_copy",
    "Derivative, from the cotangent g of the result y of the operation fft_c2c:\n"
    "    by input: ops.fft_c2c(g, dim, SWAPPED_NORM[norm], not inverse) (saves nothing)":
        "fft.fft fft.ifft",
    "Derivative: the chain rule through the recorded operations: cast, fft_c2c.":
        "fft.fft2 fft.fftn fft.ifft2 fft.ifftn",
    "Derivative, from the cotangent g of the result y of the operation roll:\n"
    "    by input: ops.roll(g, tuple((-n for n in shifts)), dims) (saves nothing)":
        "fft.fftshift fft.ifftshift roll",
    "Derivative: the chain rule through the recorded operations: conjugate, fft_c2r.": "fft.hfft fft.hfft2 fft.hfftn",
    "Derivative: the chain rule through the recorded operations: fft_r2c, conj.": "fft.ihfft fft.ihfft2 fft.ihfftn",
    "Derivative: that of the operation fft_c2r; see adjoint/rules/fft.py.": "fft.irfft fft.irfft2 fft.irfftn",
    "Derivative: that of the operation fft_r2c; see adjoint/rules/fft.py.": "fft.rfft fft.rfft2 fft.rfftn",
    "Derivative, from the cotangent g of the result y of the operation flip:\n"
    "    by input: ops.flip(g, dims) (saves nothing)":
        "fliplr flipud",
    "Derivative: that of the operation pow (saves exponent, result, self); see help(adjoint.pow).": "float_power",
    "Derivative: that of the operation linalg_vector_norm (saves result, self); see adjoint/rules/reduce.py.":
        "frobenius_norm linalg.matrix_norm linalg.norm linalg.vector_norm norm",
    "Derivative: the chain rule through the recorded operations: getitem_slice, mul_number, add, sub, div_number,\n"
    "    cat.":
        "gradient",
    "Derivative: the chain rule through the recorded operations: reshape, grid_corners (saves points), sample (saves\n"
    "    places, self, weight).":
        "grid_sampler grid_sampler_2d grid_sampler_3d nn.functional.grid_sample",
    "Derivative: the chain rule through the recorded operations: reshape, native_group_norm (saves input).":
        "group_norm nn.functional.group_norm",
    "Derivative: the chain rule through the recorded operations: reshape, linear (saves self, weight),\n"
    "    getitem_select, gru_sequence (saves bias, gates, hidden, hiddens, weight), getitem_slice, clone, stack.":
        "gru",
    "Derivative: the chain rule through the recorded operations: linear (saves self, weight), gru_step (saves before,\n"
    "    gates, state).":
        "gru_cell",
    "Derivative, from the cotangent g of the result y of the operation hardshrink:\n"
    "    by input: ops.hardshrink_backward(g, input, ops.abs(input) <= lambd) (saves input)":
        "hardshrink nn.functional.hardshrink",
    "Derivative: the chain rule through the recorded operations: sub, clamp (saves self), where (saves condition),\n"
    "    add, mean_all.":
        "hinge_embedding_loss nn.functional.hinge_embedding_loss",
    "Derivative, from the cotangent g of the result y of the operation index_put:\n"
    "    by input: g if accumulate else ops.index_put(g, indices, 0) (saves nothing)\n"
    "    by values: ops.index(g, indices) (saves nothing)":
        "index_put",
    "Derivative: that of the operation index_reduce (saves index, result, self, src); see adjoint/rules/index.py.":
        "index_reduce",
    "Derivative, from the cotangent g of the result y of the operation dot:\n"
    "    by input: g * ops.conjugate(tensor) (saves tensor)\n"
    "    by tensor: g * ops.conjugate(input) (saves input)":
        "inner",
    "Derivative: the chain rule through the recorded operations: transpose, getitem_slice, fft_c2r, mul (saves\n"
    "    other), fold_windows, true_divide (saves other).":
        "istft",
    "Derivative: that of the operation kl_div (saves self, target); see adjoint/rules/losses.py.":
        "kl_div nn.functional.kl_div",
    "Derivative: the chain rule through the recorded operations: reshape, mul (saves other, self).": "kron",
    "Derivative: that of the operation native_layer_norm (saves input); see adjoint/rules/normalization.py.":
        "layer_norm nn.functional.layer_norm",
    "Derivative, from the cotangent g of the result y of the operation linalg_cholesky_ex:\n"
    "    by A: cholesky_vjp(ops, g[0], y0, upper) (saves y0)":
        "linalg.cholesky_ex",
    "Derivative: the chain rule through the recorded operations: linalg_svd (saves S, U, Vh), getitem_select,\n"
    "    true_divide (saves other, self).":
        "linalg.cond",
    "Derivative, from the cotangent g of the result y of the operation linalg_det:\n"
    "    by A: g[..., None, None] * ops.cofactors(A) (saves A)":
        "linalg.det",
    "Derivative: that of the operation diagonal; see help(adjoint.diagonal).": "linalg.diagonal",
    "Derivative: that of the operation linalg_eig (saves eigenvalues, eigenvectors); see adjoint/rules/linalg.py.":
        "linalg.eig linalg.eigvals",
    "Derivative: that of the operation linalg_eigh (saves eigenvalues, eigenvectors); see adjoint/rules/linalg.py.":
        "linalg.eigh linalg.eigvalsh",
    "Derivative: the chain rule through the recorded operations: getitem_slice, tril, add, getitem_unsqueeze, mul\n"
    "    (saves other, self), conj_transpose, matmul (saves mat2, self), triu, linalg_solve_triangular (saves result,\n"
    "    self), sub.":
        "linalg.householder_product ormqr",
    "Derivative: that of the operation linalg_inv (saves inverse); see adjoint/rules/linalg.py.": "linalg.inv",
    "Derivative: that of the operation inverse_or_inf (saves inverse); see adjoint/rules/linalg.py.": "linalg.inv_ex",
    "Derivative: the chain rule through the recorded operations: linalg_pinv (saves result, self), matmul (saves\n"
    "    mat2, self), independent, join_results.":
        "linalg.lstsq",
    "Derivative: the chain rule through the recorded operations: linalg_lu_factor_ex (saves LU, pivots),\n"
    "    getitem_slice, tril, add, triu, join_results.":
        "linalg.lu",
    "Derivative: that of the operation linalg_lu_factor_ex (saves LU, pivots); see adjoint/rules/factorizations.py.":
        "linalg.lu_factor linalg.lu_factor_ex lu",
    "Derivative: the chain rule through the recorded operations: expand, gather (saves index),\n"
    "    linalg_solve_triangular (saves result, self).":
        "linalg.lu_solve lu_solve",
    "Derivative: that of the operation linalg_matrix_exp (saves self); see adjoint/rules/linalg.py.":
        "linalg.matrix_exp",
    "Derivative: that of the operation matmul (saves mat2, self); see help(adjoint.matmul).": "linalg.multi_dot",
    "Derivative: that of the operation linalg_pinv (saves result, self); see adjoint/rules/linalg.py.": "linalg.pinv",
    "Derivative: that of the operation linalg_qr (saves Q, R); see adjoint/rules/linalg.py.": "linalg.qr qr",
    "Derivative: that of the operation linalg_slogdet (saves A, sign); see adjoint/rules/linalg.py.": "linalg.slogdet",
    "Derivative: that of the operation linalg_solve (saves A, result); see adjoint/rules/linalg.py.": "linalg.solve",
    "Derivative: that of the operation linalg_solve_ex (saves A, result); see adjoint/rules/factorizations.py.":
        "linalg.solve_ex",
    "Derivative: that of the operation linalg_solve_triangular (saves result, self); see adjoint/rules/linalg.py.":
        "linalg.solve_triangular",
    "Derivative: that of the operation linalg_svd (saves S, U, Vh); see adjoint/rules/linalg.py.":
        "linalg.svd linalg.svdvals",
    "Derivative: the chain rule through the recorded operations: reshape, linalg_inv (saves inverse).":
        "linalg.tensorinv",
    "Derivative: the chain rule through the recorded operations: reshape, linalg_solve (saves A, result).":
        "linalg.tensorsolve",
    "Derivative: the chain rule through the recorded operations: getitem_unsqueeze, expand, cumprod (saves self),\n"
    "    cat.":
        "linalg.vander",
    "Derivative, from the cotangent g of the result y of the operation vdot:\n"
    "    by input: ops.conjugate(g) * other (saves other)\n"
    "    by other: g * input (saves input)":
        "linalg.vecdot",
    "Derivative: the chain rule through the recorded operations: linalg_eigh (saves eigenvalues, eigenvectors),\n"
    "    getitem_slice, flip, join_results.":
        "lobpcg",
    "Derivative: that of the operation log_softmax (saves result); see adjoint/rules/reduce.py.":
        "log_softmax masked.log_softmax nn.functional.log_softmax special.log_softmax",
    "Derivative: the chain rule through the recorded operations: linalg_slogdet (saves A, sign), where (saves\n"
    "    condition).":
        "logdet",
    "Derivative: the chain rule through the recorded operations: reshape, add, linear (saves self, weight),\n"
    "    getitem_select, lstm_sequence (saves gates, hidden, hiddens, memories, memory, weight), getitem_slice,\n"
    "    clone, stack.":
        "lstm",
    "Derivative: the chain rule through the recorded operations: linear (saves self, weight), lstm_step (saves gates,\n"
    "    memory).":
        "lstm_cell",
    "Derivative: the chain rule through the recorded operations: getitem_slice, tril, add, triu, join_results.":
        "lu_unpack",
    "Derivative: the chain rule through the recorded operations: sub, mul (saves self), clamp (saves self), mean_all.":
        "margin_ranking_loss nn.functional.margin_ranking_loss",
    "Derivative: the chain rule through the recorded operations: where (saves condition), amax (saves result, self).":
        "masked.amax",
    "Derivative: the chain rule through the recorded operations: where (saves condition), amin (saves result, self).":
        "masked.amin",
    "Derivative: the chain rule through the recorded operations: where (saves condition), cumprod (saves self).":
        "masked.cumprod",
    "Derivative: the chain rule through the recorded operations: where (saves condition), cumsum.": "masked.cumsum",
    "Derivative, from the cotangent g of the result y of the operation logaddexp:\n"
    "    by input: g * ops.sigmoid(input - other) (saves input, other)\n"
    "    by other: g * ops.sigmoid(other - input) (saves input, other)":
        "masked.logaddexp",
    "Derivative: the chain rule through the recorded operations: where (saves condition), logsumexp (saves result,\n"
    "    self).":
        "masked.logsumexp",
    "Derivative: the chain rule through the recorded operations: where (saves condition), sum, true_divide (saves\n"
    "    other).":
        "masked.mean nanmean",
    "Derivative: the chain rule through the recorded operations: where (saves condition), nanmedian (saves indices).":
        "masked.median",
    "Derivative: the chain rule through the recorded operations: where (saves condition), linalg_vector_norm (saves\n"
    "    result, self).":
        "masked.norm",
    "Derivative: the chain rule through the recorded operations: where (saves condition), linalg_vector_norm (saves\n"
    "    result, self), maximum (saves other, self), true_divide (saves other, self).":
        "masked.normalize",
    "Derivative: the chain rule through the recorded operations: where (saves condition), prod (saves self).":
        "masked.prod",
    "Derivative: the chain rule through the recorded operations: where (saves condition), softmax (saves result).":
        "masked.softmax",
    "Derivative: the chain rule through the recorded operations: where (saves condition), neg, softmax (saves\n"
    "    result).":
        "masked.softmin",
    "Derivative: the chain rule through the recorded operations: where (saves condition), sum, true_divide (saves\n"
    "    other), sub, mul (saves other, self), sqrt (saves result).":
        "masked.std",
    "Derivative: the chain rule through the recorded operations: where (saves condition), sum.": "masked.sum nansum",
    "Derivative: the chain rule through the recorded operations: where (saves condition), sum, true_divide (saves\n"
    "    other), sub, mul (saves other, self).":
        "masked.var",
    "Derivative: that of the operation max (saves indices); see adjoint/rules/sorting.py.": "max",
    "Derivative: that of the operation median (saves indices); see adjoint/rules/sorting.py.": "median",
    "Derivative: the chain rule through the recorded operations: reshape, expand.": "meshgrid",
    "Derivative: that of the operation min (saves indices); see adjoint/rules/sorting.py.": "min",
    "Derivative, from the cotangent g of the result y of the operation permute:\n"
    "    by input: ops.permute(g, tuple(sorted(range(len(dims)), key=dims.__getitem__))) (saves nothing)":
        "movedim permute",
    "Derivative, from the cotangent g of the result y of the operation sort:\n"
    "    by input: ops.place(g[0], dim, y1, input_shape[dim]) if input_shape else g[0] (saves y1)":
        "msort",
    "Derivative: that of the operation nanmedian (saves indices); see adjoint/rules/sorting.py.": "nanmedian",
    "Derivative: the chain rule through the recorded operations: reshape, sort (saves indices), gather (saves index),\n"
    "    lerp (saves weight).":
        "nanquantile quantile",
    "Derivative, from the cotangent g of the result y of the operation getitem_slice:\n"
    "    by input: ops.embed_view(g, input_shape, index) (saves nothing)":
        "narrow tensor_split",
    "Derivative: the chain rule through the recorded operations: getitem_slice, clone_with_strides.":
        "narrow_copy slice_copy",
    "Derivative: the chain rule through the recorded operations: reshape, native_group_norm (saves input, weight).":
        "native_group_norm",
    "Derivative: the chain rule through the recorded operations: reshape, native_layer_norm (saves input, weight).":
        "native_layer_norm",
    "Derivative: that of the operation binary_cross_entropy (saves self, target); see adjoint/rules/losses.py.":
        "nn.functional.binary_cross_entropy",
    "Derivative: the chain rule through the recorded operations: log_softmax (saves result), nll_loss (saves target).":
        "nn.functional.cross_entropy",
    "Derivative: that of the operation elu (saves self); see adjoint/rules/activations.py.":
        "nn.functional.elu nn.functional.selu selu",
    "Derivative: the chain rule through the recorded operations: embedding (saves indices), sum.":
        "nn.functional.embedding_bag",
    "Derivative, from the cotangent g of the result y of the operation col2im:\n"
    "    by input: ops.im2col(g, maps) (saves nothing)":
        "nn.functional.fold",
    "Derivative: that of the operation from_places (saves places); see adjoint/rules/pooling.py.": (
        "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool2d_with_indices "
        "nn.functional.fractional_max_pool3d nn.functional.fractional_max_pool3d_with_indices"
    ),
    "Derivative: the chain rule through the recorded operations: clone, log (saves self), sub, pow (saves self),\n"
    "    true_divide (saves other, self), add, mul (saves other), mean_all.":
        "nn.functional.gaussian_nll_loss",
    "Derivative: that of the operation gelu (saves self); see adjoint/rules/activations.py.": "nn.functional.gelu",
    "Derivative: that of the operation glu (saves self); see adjoint/rules/activations.py.": "nn.functional.glu",
    "Derivative, from the cotangent g of the result y of the operation bmm:\n"
    "    by input: ops.matmul(g, ops.conj_transpose(mat2)) (saves mat2)\n"
    "    by mat2: ops.matmul(ops.conj_transpose(input), g) (saves input)":
        "nn.functional.grouped_mm",
    "Derivative: the chain rule through the recorded operations: sub, true_divide (saves other), softmax (saves\n"
    "    result).":
        "nn.functional.gumbel_softmax",
    "Derivative: that of the operation hardsigmoid (saves self); see adjoint/rules/activations.py.":
        "nn.functional.hardsigmoid",
    "Derivative: that of the operation hardswish (saves self); see adjoint/rules/activations.py.":
        "nn.functional.hardswish",
    "Derivative, from the cotangent g of the result y of the operation hardtanh:\n"
    "    by input: ops.hardtanh_backward(g, input, (input <= min_val) | (input >= max_val)) (saves input)":
        "nn.functional.hardtanh nn.functional.relu6",
    "Derivative: that of the operation huber_loss (saves self, target); see adjoint/rules/losses.py.":
        "nn.functional.huber_loss",
    "Derivative: that of the operation native_batch_norm (saves input); see adjoint/rules/normalization.py.":
        "nn.functional.instance_norm",
    "Derivative: the chain rule through the recorded operations: sub, abs (saves self), mean_all.":
        "nn.functional.l1_loss",
    "Derivative, from the cotangent g of the result y of the operation leaky_relu:\n"
    "    by input: ops.leaky_relu_backward(g, input, ~(input > 0), negative_slope) (saves input)":
        "nn.functional.leaky_relu",
    "Derivative: that of the operation linear (saves self, weight); see adjoint/rules/contract.py.":
        "nn.functional.linear",
    "Derivative: the chain rule through the recorded operations: linear (saves self, weight), log_softmax (saves\n"
    "    result), nll_loss (saves target).":
        "nn.functional.linear_cross_entropy",
    "Derivative: the chain rule through the recorded operations: mul (saves other, self), reshape, matmul (saves\n"
    "    self), true_divide (saves other, self), add, pow (saves self).":
        "nn.functional.local_response_norm",
    "Derivative, from the cotangent g of the result y of the operation logsigmoid:\n"
    "    by input: g * ops.sigmoid(-input) (saves input)":
        "nn.functional.logsigmoid",
    "Derivative: the chain rule through the recorded operations: pow (saves self), along_axes, sign, abs (saves\n"
    "    self), relu (saves result), mul (saves other, self).":
        "nn.functional.lp_pool1d nn.functional.lp_pool2d nn.functional.lp_pool3d",
    "Derivative: the chain rule through the recorded operations: place (saves index), reshape.":
        "nn.functional.max_unpool1d",
    "Derivative: the chain rule through the recorded operations: reshape, place (saves index).":
        "nn.functional.max_unpool2d nn.functional.max_unpool3d",
    "Derivative: that of the operation mish (saves self); see adjoint/rules/activations.py.": "nn.functional.mish",
    "Derivative: that of the operation mse_loss (saves self, target); see adjoint/rules/losses.py.":
        "nn.functional.mse_loss",
    "Derivative: the chain rule through the recorded operations: split, linear (saves self, weight), reshape,\n"
    "    transpose, mul (saves other), matmul (saves mat2, self), softmax (saves result), mean.":
        "nn.functional.multi_head_attention_forward",
    "Derivative: the chain rule through the recorded operations: gather (saves index), sub, add, relu (saves result),\n"
    "    scatter (saves index), sum, true_divide (saves other), mean_all.":
        "nn.functional.multi_margin_loss",
    "Derivative: the chain rule through the recorded operations: gather (saves index), getitem_unsqueeze, sub, add,\n"
    "    relu (saves result), where (saves condition), sum, true_divide (saves other), mean_all.":
        "nn.functional.multilabel_margin_loss",
    "Derivative: the chain rule through the recorded operations: logsigmoid (saves self), mul (saves other, self),\n"
    "    sub, neg, add, sum, true_divide (saves other), mean_all.":
        "nn.functional.multilabel_soft_margin_loss",
    "Derivative: that of the operation nll_loss (saves target); see adjoint/rules/losses.py.": "nn.functional.nll_loss",
    "Derivative: the chain rule through the recorded operations: linalg_vector_norm (saves result, self), clamp\n"
    "    (saves self), true_divide (saves other, self).":
        "nn.functional.normalize",
    "Derivative: the chain rule through the recorded operations: sub, add, linalg_vector_norm (saves result, self).":
        "nn.functional.pairwise_distance pairwise_distance",
    "Derivative: that of the operation pdist (saves result, self); see adjoint/rules/distances.py.":
        "nn.functional.pdist pdist",
    "Derivative: the chain rule through the recorded operations: reshape, permute.":
        "nn.functional.pixel_shuffle nn.functional.pixel_unshuffle pixel_shuffle pixel_unshuffle",
    "Derivative: the chain rule through the recorded operations: exp (saves result), mul (saves other, self), sub,\n"
    "    where (saves condition), log (saves self), add, mean_all.":
        "nn.functional.poisson_nll_loss",
    "Derivative: the chain rule through the recorded operations: reshape, prelu_kernel (saves self, weight).":
        "nn.functional.prelu prelu",
    "Derivative, from the cotangent g of the result y of the operation relu:\n"
    "    by input: ops.threshold_backward(g, y, y <= 0) (saves y)":
        "nn.functional.relu",
    "Derivative: that of the operation fused_rms_norm (saves input); see adjoint/rules/normalization.py.":
        "nn.functional.rms_norm rms_norm",
    "Derivative, from the cotangent g of the result y of the operation rrelu_with_noise:\n"
    "    by input: g * noise (saves noise)":
        "nn.functional.rrelu rrelu",
    "Derivative: the chain rule through the recorded operations: mul (saves other), transpose, matmul (saves mat2,\n"
    "    self), safe_softmax (saves result).":
        "nn.functional.scaled_dot_product_attention",
    "Derivative: that of the operation silu (saves self); see adjoint/rules/activations.py.": "nn.functional.silu",
    "Derivative: that of the operation smooth_l1_loss (saves self, target); see adjoint/rules/losses.py.":
        "nn.functional.smooth_l1_loss",
    "Derivative: that of the operation soft_margin_loss (saves self, target); see adjoint/rules/losses.py.":
        "nn.functional.soft_margin_loss",
    "Derivative, from the cotangent g of the result y of the operation softmax:\n"
    "    by input: softmax_derivative(ops, g, y, dim) (saves y)":
        "nn.functional.softmax softmax special.softmax",
    "Derivative: the chain rule through the recorded operations: neg, softmax (saves result).": "nn.functional.softmin",
    "Derivative, from the cotangent g of the result y of the operation softshrink:\n"
    "    by input: ops.softshrink_backward(g, input, ops.abs(input) <= lambd) (saves input)":
        "nn.functional.softshrink",
    "Derivative: the chain rule through the recorded operations: abs (saves self), add, true_divide (saves other,\n"
    "    self).":
        "nn.functional.softsign",
    "Derivative: the chain rule through the recorded operations: tanh (saves result), sub.": "nn.functional.tanhshrink",
    "Derivative, from the cotangent g of the result y of the operation threshold:\n"
    "    by input: ops.threshold_backward(g, input, input <= threshold) (saves input)":
        "nn.functional.threshold threshold",
    "Derivative: the chain rule through the recorded operations: sub, add, linalg_vector_norm (saves result, self),\n"
    "    clamp (saves self), mean_all.":
        "nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss triplet_margin_loss",
    "Derivative, from the cotangent g of the result y of the operation im2col:\n"
    "    by input: ops.col2im(g, maps) (saves nothing)":
        "nn.functional.unfold",
    "Derivative: the chain rule through the recorded operations: permute, unsqueeze, reshape, linalg_vector_norm\n"
    "    (saves result, self).":
        "norm_except_dim",
    "Derivative: the chain rule through the recorded operations: permute, linalg_svd (saves S, U, Vh), sum, reshape.":
        "nuclear_norm",
    "Derivative: the chain rule through the recorded operations: getitem_unsqueeze, mul (saves other, self).": "outer",
    "Derivative: the chain rule through the recorded operations: mean, sub, matmul (saves mat2, self), linalg_qr\n"
    "    (saves Q, R), transpose, linalg_svd (saves S, U, Vh).":
        "pca_lowrank",
    "Derivative: the chain rule through the recorded operations: permute, clone_with_strides.": "permute_copy",
    "Derivative, from the cotangent g of the result y of the operation drawn_poisson:\n"
    "    by input: 0 (saves nothing)":
        "poisson",
    "Derivative: the chain rule through the recorded operations: exp (saves result), mul (saves other, self), sub,\n"
    "    mean_all.":
        "poisson_nll_loss",
    "Derivative, from the cotangent g of the result y of the operation polygamma:\n"
    "    by input: g * ops.polygamma(input, n + 1) (saves input)":
        "polygamma special.polygamma",
    "Derivative: that of the operation prod (saves self); see adjoint/rules/reduce.py.": "prod",
    "Derivative, from the cotangent g of the result y of the operation real:\n"
    "    by input: g (saves nothing)":
        "real",
    "Derivative: the chain rule through the recorded operations: reshape, expand, clone.": "repeat_interleave",
    "Derivative: the chain rule through the recorded operations: reshape, add, linear (saves self, weight),\n"
    "    getitem_select, rnn_sequence (saves hidden, result, weight), getitem_slice, clone, stack.":
        "rnn_relu rnn_tanh",
    "Derivative: the chain rule through the recorded operations: linear (saves self, weight), add, relu (saves\n"
    "    result).":
        "rnn_relu_cell",
    "Derivative: the chain rule through the recorded operations: linear (saves self, weight), add, tanh (saves\n"
    "    result).":
        "rnn_tanh_cell",
    "Derivative, from the cotangent g of the result y of the operation clone_with_strides:\n"
    "    by input: g (saves nothing)":
        "rot90",
    "Derivative: that of the operation scatter (saves index); see adjoint/rules/index.py.": "scatter",
    "Derivative: that of the operation scatter_reduce (saves index, result, self, src); see adjoint/rules/index.py.":
        "scatter_reduce segment_reduce",
    "Derivative, from the cotangent g of the result y of the operation getitem_select:\n"
    "    by input: ops.embed_view(g, input_shape, index) (saves nothing)":
        "select",
    "Derivative: the chain rule through the recorded operations: getitem_select, clone_with_strides.": "select_copy",
    "Derivative: the chain rule through the recorded operations: clone_with_strides, SelectScatterBackward0.":
        "select_scatter",
    "Derivative: the chain rule through the recorded operations: clone_with_strides, SliceScatterBackward0.":
        "slice_scatter",
    "Derivative: that of the operation airy_ai (saves self); see adjoint/rules/special.py.": "special.airy_ai",
    "Derivative, from the cotangent g of the result y of the operation polynomial:\n"
    "    by input: g * ops.polynomial(input, n, family, order + 1) (saves input, n)": (
        "special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v "
        "special.chebyshev_polynomial_w special.hermite_polynomial_h special.hermite_polynomial_he "
        "special.laguerre_polynomial_l special.legendre_polynomial_p special.shifted_chebyshev_polynomial_t "
        "special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v "
        "special.shifted_chebyshev_polynomial_w"
    ),
    "Derivative: that of the operation spherical_bessel_j (saves self); see adjoint/rules/special.py.":
        "special.spherical_bessel_j0",
    "Derivative: the chain rule through the recorded operations: split, clone_with_strides, join_results.":
        "split_copy",
    "Derivative: the chain rule through the recorded operations: split_with_sizes, clone_with_strides, join_results.":
        "split_with_sizes_copy",
    "Derivative, from the cotangent g of the result y of the operation squeeze_all:\n"
    "    by input: ops.reshape(g, input_shape) (saves nothing)":
        "squeeze",
    "Derivative: the chain rule through the recorded operations: squeeze_all, clone_with_strides.": "squeeze_copy",
    "Derivative: that of the operation std (saves result, self); see adjoint/rules/reduce.py.": "std",
    "Derivative: that of the operation std_mean (saves result0, self); see adjoint/rules/reduce.py.": "std_mean",
    "Derivative: the chain rule through the recorded operations: getitem_unsqueeze, along_axes, getitem_select,\n"
    "    unfold, fft_r2c, transpose.":
        "stft",
    "Derivative, from the cotangent g of the result y of the operation sum:\n"
    "    by input: ops.expand(restore(g, input_shape, dim, keepdim), input_shape) (saves nothing)":
        "sum",
    "Derivative: the chain rule through the recorded operations: linalg_svd (saves S, U, Vh), conj_transpose.": "svd",
    "Derivative: the chain rule through the recorded operations: matmul (saves mat2, self), linalg_qr (saves Q, R),\n"
    "    transpose, linalg_svd (saves S, U, Vh).":
        "svd_lowrank",
    "Derivative, from the cotangent g of the result y of the operation t:\n"
    "    by input: ops.t(g) (saves nothing)":
        "t",
    "Derivative: the chain rule through the recorded operations: t, clone_with_strides.": "t_copy",
    "Derivative: the chain rule through the recorded operations: expand, gather (saves index).": "take_along_dim",
    "Derivative: that of the operation tensordot (saves other, self); see adjoint/rules/contract.py.": "tensordot",
    "Derivative: that of the operation repeat; see adjoint/rules/shape.py.": "tile",
    "Derivative: the chain rule through the recorded operations: transpose, clone_with_strides.": "transpose_copy",
    "Derivative: the chain rule through the recorded operations: sum, getitem_select, add, mul_number, sub.":
        "trapezoid",
    "Derivative: the chain rule through the recorded operations: linalg_solve_triangular (saves result, self),\n"
    "    expand, clone, join_results.":
        "triangular_solve",
    "Derivative: the chain rule through the recorded operations: unbind, clone_with_strides, join_results.":
        "unbind_copy",
    "Derivative: the chain rule through the recorded operations: unfold, clone_with_strides.": "unfold_copy",
    "Derivative, from the cotangent g of the result y of the operation unsafe_split:\n"
    "    by input: ops.cat(list(g), dim) (saves nothing)":
        "unsafe_chunk",
    "Derivative: the chain rule through the recorded operations: unsqueeze, clone_with_strides.": "unsqueeze_copy",
    "Derivative: the chain rule through the recorded operations: getitem_unsqueeze, expand, cumprod (saves self),\n"
    "    cat, getitem_slice, flip.":
        "vander",
    "Derivative: that of the operation var (saves self); see adjoint/rules/reduce.py.": "var",
    "Derivative: that of the operation var_mean (saves self); see adjoint/rules/reduce.py.": "var_mean",
    "Derivative: the chain rule through the recorded operations: view_as_complex, clone_with_strides.":
        "view_as_complex_copy",
    "Derivative: the chain rule through the recorded operations: view_as_real, clone_with_strides.":
        "view_as_real_copy",
    "Derivative: the chain rule through the recorded operations: reshape, clone_with_strides.": "view_copy",
}
# fmt: on

#: A paragraph of the help of each function, by its public name.
PARAGRAPHS: dict[str, str] = {name: text for text, names in _NAMES.items() for name in names.split()}
