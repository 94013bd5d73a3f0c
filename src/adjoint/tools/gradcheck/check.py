"""gradcheck and gradgradcheck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from adjoint.core.errors import explain
from adjoint.tensor.differentiate import grad
from adjoint.tensor.tensor import Tensor

from . import contracts, messages
from .analytical import Pulled, pull_back, push_forward
from .bases import Ray, Units
from .diagnosis import Case, mismatch_of
from .functions import Array, Evaluation, Function, as_tuple, check_inputs, results_of, tensor_of, tensors_to_check
from .messages import GradcheckError
from .numerical import Numerical, central
from .sparse_inputs import refuse_sparse, with_strided_inputs

Inputs = Tensor | Sequence[Any]


class Options(NamedTuple):
    """The arguments of gradcheck."""

    eps: float = 1e-6
    atol: float = 1e-5
    rtol: float = 1e-3
    nondet_tol: float = 0.0
    check_undefined_grad: bool = True
    check_grad_dtypes: bool = False
    check_batched_grad: bool = False
    check_batched_forward_grad: bool = False
    check_forward_ad: bool = False
    check_backward_ad: bool = True
    fast_mode: bool = False
    method: type[Numerical] = Numerical


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check gradients computed via small finite differences against analytical gradients with respect to `inputs`.

    Inputs are perturbed in place, so `func` need not read them from its arguments. They should have double precision.
    If differences at `eps` do not agree, they are extrapolated from several steps. So rounding alone does not fail the
    check. For a complex output, the real and the imaginary part are checked in turn.

    Args:
        func: takes tensors, and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of arguments; tensors with requires_grad=True are checked.
        eps: perturbation for finite differences.
        atol, rtol: absolute and relative tolerance of an entry of the Jacobian.
        raise_exception: raise if the check fails, instead of returning False.
        nondet_tol: the largest allowed difference of two backward passes.
        check_undefined_grad: check that undefined output gradients are treated as zeros.
        check_grad_dtypes: check that gradients have the dtypes of their inputs.
        check_batched_grad: check that the backward pass can be run for a batch of cotangents.
        check_batched_forward_grad: check that forward mode can be run for a batch of tangents.
        check_forward_ad: check forward mode too.
        check_backward_ad: False: check only forward mode.
        fast_mode: compare one random projection of each Jacobian instead of all entries.
        masked: for sparse inputs, perturb only the stored values and compare derivatives by them. Otherwise all
            elements are perturbed, and a position without a gradient value means a derivative of zero.

    Returns:
        True if all derivatives agree.

    Raises:
        GradcheckError: they do not. The message shows both Jacobians, the worst entry, and the likely fault.
        ValueError: no input requires a gradient.
        RuntimeError: an input's elements overlap in memory, or cannot be written to.
        AssertionError: the function's results change shape or dtype, or options contradict each other.

    >>> import adjoint
    >>> x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    >>> adjoint.autograd.gradcheck(adjoint.exp, x)
    True
    """
    _demand(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _demand(
        not (check_batched_grad and not check_backward_ad),
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    )
    _demand(
        not (check_batched_forward_grad and not check_forward_ad),
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    )
    options = Options(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
        check_batched_forward_grad, check_forward_ad, check_backward_ad, fast_mode,
    )  # fmt: skip
    try:
        check(*with_strided_inputs(func, as_tuple(inputs), bool(masked)), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Inputs,
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check gradients of gradients against small finite differences, with respect to `inputs` and `grad_outputs`.

    This is `gradcheck` of the function that takes inputs and output gradients to the input gradients.

    Args:
        func: takes tensors, and returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of arguments; tensors with requires_grad=True are checked.
        grad_outputs: the gradients of those outputs that require one; drawn at random by default.
        gen_non_contig_grad_outputs: draw them so that they are not contiguous.
        check_fwd_over_rev: check forward mode over backward mode.
        check_rev_over_rev: check backward mode over backward mode.
        eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
            fast_mode, masked: as in `gradcheck`.

    Returns:
        True if all derivatives agree.

    Raises:
        GradcheckError: they do not, and otherwise as `gradcheck`.

    >>> import adjoint
    >>> x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    >>> adjoint.autograd.gradgradcheck(adjoint.exp, x)
    True
    """
    _demand(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    _demand(
        not (check_undefined_grad and not check_rev_over_rev),
        "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
    )
    _demand(
        not (check_batched_grad and not check_rev_over_rev),
        "Setting check_batched_grad=True requires check_rev_over_rev to be True",
    )
    func, arguments = with_strided_inputs(func, as_tuple(inputs), masked)
    cotangents = given_cotangents(func, arguments, grad_outputs, gen_non_contig_grad_outputs)
    return gradcheck(
        Pullback(func, len(arguments)),
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _demand(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


class Pullback:
    """The function that takes the arguments of another, and cotangents of its outputs, to the gradients."""

    def __init__(self, func: Function, n_arguments: int) -> None:
        self.func = func
        self.n_arguments = n_arguments

    def __call__(self, *values: Any) -> tuple[Tensor, ...]:
        arguments, cotangents = values[: self.n_arguments], values[self.n_arguments :]
        outputs = list(tensors_to_check(results_of(self.func, arguments)).values())
        targets = list(tensors_to_check(arguments).values())
        if not outputs:
            return ()
        gradients = grad(outputs, targets, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in gradients if g is not None)


def given_cotangents(
    func: Function, arguments: tuple[Any, ...], cotangents: Any, non_contiguous: bool
) -> tuple[Any, ...]:
    """The cotangents of the outputs that require a gradient: the given ones, or random ones with requires_grad."""
    if cotangents is not None:
        return as_tuple(cotangents)
    outputs = tensors_to_check(results_of(func, arguments)).values()
    return tuple(random_cotangent(y, seed, non_contiguous) for seed, y in enumerate(outputs))


def random_cotangent(output: Tensor, seed: int, non_contiguous: bool) -> Tensor:
    """Normal random numbers like an output, perhaps with a gap behind each."""
    array = contracts.noise(output, numpy.random.default_rng(seed))._array
    if non_contiguous:
        array = numpy.stack([array, array], axis=-1)[..., 0]
    return tensor_of(array).requires_grad_()


# the check ------------------------------------------------------------------------------------------------------------


def check(func: Function, inputs: tuple[Any, ...], options: Options) -> None:
    """Raise unless all derivatives agree."""
    check_inputs(inputs)
    results = results_of(func, inputs)
    refuse_sparse(results)
    outputs = tensors_to_check(results)
    if not outputs:
        check_constant(Evaluation(func, inputs, floating(results)), inputs, options)
        return
    problem = Problem(func, inputs, outputs, options)
    if options.check_backward_ad:
        compare_all(problem, gradients_of(problem))
    if options.check_forward_ad:
        compare_all(problem, tangents_of(problem))
        if options.check_undefined_grad:
            contracts.check_undefined_tangents(func, inputs, list(outputs))
        if options.check_batched_forward_grad:
            contracts.check_batched_jvp(func, inputs, list(outputs))
    if options.check_backward_ad:
        if options.check_batched_grad:
            for index, output in enumerate(outputs.values()):
                contracts.check_batched_grad(list(tensors_to_check(inputs).values()), output, index)
        contracts.check_multiplied(func, inputs)
        if options.check_undefined_grad:
            contracts.check_undefined(func, inputs)


def floating(results: tuple[Tensor, ...]) -> dict[int, Tensor]:
    """The floating-point outputs, by their places."""
    return {i: y for i, y in enumerate(results) if y.is_floating_point() or y.is_complex()}


def check_constant(evaluate: Evaluation, inputs: tuple[Any, ...], options: Options) -> None:
    """Outputs that require no gradient must not change with the inputs."""
    for i, x in enumerate(tensors_to_check(inputs).values()):
        basis = basis_of(x, (0, i), options.fast_mode)
        for unit in (1, 1j) if x.is_complex() else (1,):
            for v in basis.vectors():
                slopes = central(evaluate, x, unit * v, options.eps)
                if any((numpy.abs(slope) > options.atol).any() for slope in slopes):
                    raise GradcheckError(messages.NOT_ZERO)


def basis_of(x: Tensor, seed: tuple[int, int], fast: bool) -> Units:
    """All unit vectors, or one random vector."""
    return Ray(x.shape, seed) if fast else Units(x.shape)


class Problem:
    """The data of a comparison: the function, its inputs and outputs, and their bases.

    Only inputs and outputs that require a gradient; `input_places` and `output_places` have their positions.
    """

    def __init__(self, func: Function, inputs: tuple[Any, ...], outputs: dict[int, Tensor], options: Options) -> None:
        self.func, self.arguments, self.options = func, inputs, options
        self.input_places, self.inputs = list(tensors_to_check(inputs)), list(tensors_to_check(inputs).values())
        self.output_places, self.outputs = list(outputs), list(outputs.values())
        self.directions = [basis_of(x, (0, i), options.fast_mode) for i, x in enumerate(self.inputs)]
        self.cotangents = [basis_of(y, (1, o), options.fast_mode) for o, y in enumerate(self.outputs)]
        self.evaluate = Evaluation(func, inputs, outputs)
        self._numerical: dict[int, Numerical] = {}

    def numerical(self, i: int) -> Numerical:
        """The derivatives of all outputs by one input, by differences."""
        if i not in self._numerical:
            columns = self.options.method(self.evaluate, self.inputs[i], self.directions[i], self.options.eps)
            self._numerical[i] = columns
        return self._numerical[i]

    def pull_back(self, o: int, unit: complex) -> Pulled:
        """The gradients of one output by all inputs, by backward mode."""
        return pull_back(self.outputs[o], self.inputs, self.cotangents[o], self.directions, unit)

    def push_forward(self, i: int, unit: complex) -> list[Array]:
        """The tangents of all outputs along one input, by forward mode."""
        position, basis = self.input_places[i], self.directions[i]
        return push_forward(self.func, self.arguments, position, self.evaluate.outputs, basis, unit)

    def slow(self) -> Problem:
        """The same problem with all unit vectors."""
        return Problem(self.func, self.arguments, self.evaluate.outputs, self.options._replace(fast_mode=False))


class Pair:
    """One Jacobian, or its part for the real or the imaginary part of something, by both ways.

    input, output: indices among those checked. about: a description in words. unit: 1j for an imaginary part.
    """

    forward = False

    def __init__(self, input: int, output: int, analytical: Array, about: str, unit: complex) -> None:
        self.input, self.output = input, output
        self.analytical, self.about, self.unit = analytical, about, unit

    def numerical(self, problem: Problem) -> Array:
        """The Jacobian by differences."""
        raise NotImplementedError

    def in_full(self, slow: Problem) -> Pair:
        """This pair with all entries, for the message."""
        raise NotImplementedError


class Gradients(Pair):
    """A pair whose analytical part is from backward mode."""

    def numerical(self, problem: Problem) -> Array:
        whole = problem.numerical(self.input).gradients(self.output, "imag" if self.unit == 1j else "real")
        return problem.cotangents[self.output].products(whole)

    def in_full(self, slow: Problem) -> Pair:
        matrix = slow.pull_back(self.output, self.unit).matrices[self.input]
        return Gradients(self.input, self.output, matrix, self.about, self.unit)


class Tangents(Pair):
    """A pair whose analytical part is from forward mode."""

    forward = True

    def numerical(self, problem: Problem) -> Array:
        return problem.numerical(self.input).tangents(self.output, self.unit)

    def in_full(self, slow: Problem) -> Pair:
        matrix = slow.push_forward(self.input, self.unit)[self.output]
        return Tangents(self.input, self.output, matrix, self.about, self.unit)


PARTS: list[tuple[str, complex]] = [("imaginary", 1j), ("real", 1)]


def gradients_of(problem: Problem) -> Iterator[Pair]:
    """By backward mode: the imaginary parts of complex outputs, then all others."""
    for name, unit in PARTS:
        for o, output in enumerate(problem.outputs):
            if unit == 1j and not output.is_complex():
                continue
            about = f"While considering the {name} part of complex outputs only, " if output.is_complex() else ""
            for i, matrix in enumerate(reproducible(problem, o, unit)):
                yield Gradients(i, o, matrix, f"{about}Jacobian", unit)


def tangents_of(problem: Problem) -> Iterator[Pair]:
    """By forward mode: along the imaginary parts of complex inputs, then along all others."""
    for name, unit in PARTS:
        for i, x in enumerate(problem.inputs):
            if unit == 1j and not x.is_complex():
                continue
            about = f"While considering the {name} part of complex inputs only, " if x.is_complex() else ""
            for o, matrix in enumerate(problem.push_forward(i, unit)):
                yield Tangents(i, o, matrix, f"{about}Jacobian computed with forward mode", unit)


def reproducible(problem: Problem, o: int, unit: complex) -> list[Array]:
    """The gradients of one output, if two passes give the same. Raises GradcheckError otherwise."""
    options = problem.options
    first, second = problem.pull_back(o, unit), problem.pull_back(o, unit)
    if options.check_grad_dtypes and not first.dtypes:
        raise GradcheckError(messages.WRONG_DTYPE)
    if not first.sizes:
        raise GradcheckError(messages.WRONG_SIZE)
    for a, b in zip(first.matrices, second.matrices, strict=True):
        if not numpy.allclose(a, b, rtol=0, atol=options.nondet_tol, equal_nan=True):
            text = messages.NOT_REENTRANT.format(tolerance=options.nondet_tol)
            raise GradcheckError(text + messages.FAILED_NONDET_MSG)
    return first.matrices


# comparing ------------------------------------------------------------------------------------------------------------


def compare_all(problem: Problem, pairs: Iterator[Pair]) -> None:
    """Raise GradcheckError for the first pair that does not agree."""
    for pair in pairs:
        if not agrees(problem, pair):
            raise error_of(problem, pair)


def closeness(problem: Problem, pair: Pair) -> Callable[[Array, Array], Array]:
    """A function that returns the mask of equal entries of two Jacobians."""
    weight = problem.directions[pair.input].weight
    if not pair.forward:
        weight *= problem.cotangents[pair.output].weight
    return partial(numpy.isclose, rtol=problem.options.rtol, atol=problem.options.atol * weight)


def agrees(problem: Problem, pair: Pair) -> bool:
    """Compare a pair; rows that do not agree are refined, until one does not agree even so."""
    close = closeness(problem, pair)
    bad = ~close(pair.analytical, pair.numerical(problem))
    for row in numpy.flatnonzero(bad.any(axis=1)):
        problem.numerical(pair.input).refine(int(row), problem.options.atol / 10, problem.options.rtol / 10)
        if not close(pair.analytical[row], pair.numerical(problem)[row]).all():
            return False
    return True


def error_of(problem: Problem, pair: Pair) -> GradcheckError:
    """The error for a pair that does not agree, with both Jacobians, the worst entry and the likely fault."""
    numerical, analytical = jacobian_texts(problem, pair)
    text = (
        f"{pair.about} mismatch for output {pair.output} with respect to input {pair.input},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )
    if problem.options.fast_mode:
        problem = problem.slow()
        pair = pair.in_full(problem)
        if agrees(problem, pair):
            return GradcheckError(text + messages.FAST_FAIL_SLOW_OK_MSG)
        numerical, analytical = jacobian_texts(problem, pair)
        difference = float(numpy.abs(pair.analytical - pair.numerical(problem)).max())
        text += messages.FAST.format(numerical=numerical, analytical=analytical, difference=difference)
    mismatch = mismatch_of(case_of(problem, pair), problem.input_places[pair.input], problem.output_places[pair.output])
    return explain(GradcheckError(f"{text}\n{mismatch}\n", mismatch=mismatch), "jacobian-mismatch")


def case_of(problem: Problem, pair: Pair) -> Case:
    """A pair in full, for the diagnosis."""
    shapes = (problem.inputs[pair.input].shape, problem.outputs[pair.output].shape)
    numerical = pair.numerical(problem)
    return Case(numerical, pair.analytical, *shapes, pair.unit, pair.forward, closeness(problem, pair))


def jacobian_texts(problem: Problem, pair: Pair) -> tuple[str, str]:
    """The numerical and the analytical Jacobian as text: matrices, or in fast mode numbers, or vectors of tangents."""
    result, argument = problem.outputs[pair.output], problem.inputs[pair.input]
    matrices = (pair.numerical(problem), result), (pair.analytical, result if pair.forward else argument)
    numerical, analytical = (in_precision_of(matrix, like, problem.options.fast_mode) for matrix, like in matrices)
    return numerical, analytical


def in_precision_of(matrix: Array, like: Tensor, fast: bool) -> str:
    """A Jacobian with the precision of a tensor."""
    if fast:
        matrix = matrix[0, 0] if matrix.shape == (1, 1) else matrix[0]
    if fast and not matrix.ndim:
        return str(matrix.item())
    kind = like._array.real.dtype if like._array.dtype.kind != "V" else numpy.dtype("float32")
    return str(tensor_of(matrix.astype(numpy.result_type(kind, "complex64") if matrix.dtype.kind == "c" else kind)))
