"""A user's function that loses the derivative inside of a solver or a transformation raises an error."""

from __future__ import annotations

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import adjoint
from adjoint import func, implicit, integrate, optimize
from adjoint.autograd import functional
from adjoint.core.modes.state import current
from adjoint.core.operations.dependence import LostDerivativeError

KIND = {"dtype": adjoint.float64}


def start(*values):
    return adjoint.tensor(values or (1.0, 2.0), **KIND)


def leaves(*values):
    return start(*values).requires_grad_()


# Each program takes `lose`, which is applied to a function's result.
SOLVERS = {
    "minimize": lambda lose, **o: optimize.minimize(lambda x: lose((x**2).sum()), np.ones(2), **o),
    "minimize exact": lambda lose, **o: optimize.minimize(
        lambda x: lose((x**2).sum()), np.ones(2), method="trust-exact", **o
    ),
    "minimize products": lambda lose, **o: optimize.minimize(
        lambda x: lose((x**2).sum()), {"a": np.ones(2)}["a"], method="newton-cg", **o
    ),
    "constraint": lambda lose, **o: optimize.minimize(
        lambda x: (x**2).sum(),
        np.ones(2),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: lose(x.sum())},
        **o,
    ),
    "least_squares": lambda lose, **o: optimize.least_squares(lambda x: lose(x - 2), np.ones(2), **o),
    "least_squares tall": lambda lose, **o: optimize.least_squares(
        lambda x: lose(adjoint.cat([x, x]) - 2), np.ones(2), **o
    ),
    "least_squares sparse": lambda lose, **o: optimize.least_squares(lambda x: lose(x - 2), np.ones(3), "sparse", **o),
    "least_squares free": lambda lose, **o: optimize.least_squares(
        lambda x: lose(x - 2), np.ones(2), "matrix-free", **o
    ),
    "curve_fit": lambda lose, **o: optimize.curve_fit(lambda x, a: lose(a * x), np.arange(3.0), np.arange(3.0), **o),
    "root": lambda lose, **o: optimize.root(lambda x: lose(x**2 - 2), np.ones(2), **o),
    "root lm": lambda lose, **o: optimize.root(lambda x: lose(x**2 - 2), np.ones(2), method="lm", **o),
    "root_scalar": lambda lose, **o: optimize.root_scalar(lambda x: lose(x**2 - 2), x0=1.0, **o),
    "scipy_function": lambda lose, **o: optimize.scipy_function(lambda x: lose((x**2).sum()), **o).jac([1.0, 2.0]),
    "solve_ivp": lambda lose, **o: integrate.solve_ivp(lambda t, y: lose(-y), (0, 1), [1.0], "Radau", **o),
    "implicit.root": lambda lose, **o: implicit.root(lambda x, a: lose(x**2 - a), start(), leaves(), **o),
    "implicit.root hybr": lambda lose, **o: implicit.root(
        lambda x, a: lose(x**2 - a), start(), leaves(), method="hybr", **o
    ),
    "implicit.root args": lambda lose, **o: implicit.root(lambda x, a: x**2 - lose(a), start(), leaves(), **o),
    "fixed_point": lambda lose, **o: implicit.fixed_point(
        lambda x, a: lose((a * x).cos()), start(), leaves(0.5, 0.3), **o
    ),
    "minimize_stationary": lambda lose, **o: implicit.minimize_stationary(
        lambda x, a: lose(((x - a) ** 2).sum()), start(), leaves(), method="newton", **o
    ),
    "linear_solve": lambda lose, **o: implicit.linear_solve(lambda x, a: lose(a * x), start(), leaves(), **o),
    "linear_solve args": lambda lose, **o: implicit.linear_solve(
        lambda x, a: lose(a) * x, start(), leaves(), method="cg", **o
    ),
    "odeint": lambda lose, **o: integrate.odeint(lambda t, y, a: lose(a * y), start(), [0.0, 1.0], leaves(), **o),
    "odeint adjoint": lambda lose, **o: integrate.odeint(
        lambda t, y, a: lose(a * y), start(), [0.0, 1.0], leaves(), derivative="adjoint", **o
    ),
}


def without_recording(x):
    with adjoint.no_grad():
        return x * 1.0


LOSSES = {
    "detach": adjoint.numpy.detach,
    "numpy": lambda x: adjoint.as_tensor(adjoint.numpy.detach(x)),
    "data": lambda x: adjoint.as_tensor(x).data,
    "no_grad": without_recording,
    "numbers": lambda x: adjoint.tensor(adjoint.numpy.detach(x).tolist(), **KIND),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_functions_without_history_are_errors(solver, loss):
    with pytest.raises(RuntimeError, match=r"does not depend on .* by any recorded operation"):
        SOLVERS[solver](LOSSES[loss])


@pytest.mark.parametrize("solver", SOLVERS)
def test_functions_with_history_are_none(solver):
    SOLVERS[solver](lambda x: x)


@pytest.mark.parametrize("solver", ["minimize", "least_squares", "curve_fit", "fixed_point", "linear_solve args",
                                    "odeint", "odeint adjoint", "scipy_function", "solve_ivp"])  # fmt: skip
def test_constants_may_be_allowed(solver):
    with warnings.catch_warnings():
        # curve_fit cannot estimate a covariance here
        warnings.simplefilter("ignore")
        SOLVERS[solver](LOSSES["detach"], allow_constant=True)


def test_a_result_that_depends_on_others_only_is_an_error():
    w = leaves()
    with pytest.raises(RuntimeError, match="does not depend on x"):
        optimize.minimize(lambda x: (adjoint.numpy.detach(x) * w).sum(), np.ones(2))


def test_constants_where_no_derivative_is_asked_for():
    assert optimize.minimize(lambda x: float((x**2).sum()), [1.0], method="Nelder-Mead").success
    assert optimize.root_scalar(lambda x: math.sin(x) - 0.5, bracket=(0, 1)).converged
    assert optimize.root(lambda x: adjoint.numpy.detach(x) - 1, [0.0], method="df-sane").success
    assert integrate.solve_ivp(lambda t, y: [math.cos(y[0])], (0, 1), [1.0]).success
    result = implicit.linear_solve(lambda x: (2 * x).detach(), start(), method="gmres")
    assert result.tolist() == pytest.approx([0.5, 1.0])
    field = integrate.odeint(lambda t, y: adjoint.ones_like(y), start(), [0.0, 1.0])
    assert field[-1].tolist() == pytest.approx([2.0, 3.0])
    # a field may depend on captured tensors, and then has the derivative by them
    w = leaves()
    integrate.odeint(lambda t, y: w * 1.0, start(), [0.0, 1.0])[-1].sum().backward()
    assert w.grad.tolist() == pytest.approx([1.0, 1.0])


# conversions ----------------------------------------------------------------------------------------------------------


def item_of_array(x):
    array = np.zeros(2)
    array[0] = x[0]  # here
    return x * array[0]


def whole_array(x):
    array = np.zeros(2)
    array[:] = x[:2]
    return x * array[0]


CONVERSIONS = {
    "float": lambda x: x * float(x[0]),
    "complex": lambda x: x * complex(x[0]).real,
    "math": lambda x: x * math.sin(x[0]),
    "item of an array": item_of_array,
    "array": whole_array,
    "asarray": lambda x: x * np.asarray(x)[0],
    "numpy": lambda x: x * float(x.numpy()[0]),
    "list": lambda x: x * adjoint.tensor([x[0], 1.0])[0],
    "tensor": lambda x: x * adjoint.tensor(x),
    "as_tensor": lambda x: x * adjoint.as_tensor([x[0]]),
    "full": lambda x: x * adjoint.full((2,), x[0]),
    "alpha": lambda x: adjoint.add(x, x, alpha=x[0]),
    "linspace": lambda x: x * adjoint.linspace(0.0, x[0], 2),
    "arange": lambda x: x * adjoint.arange(0.0, x[0], 0.5).sum(),
    "scalar_tensor": lambda x: x * adjoint.scalar_tensor(x[0]),
    "numpy number": lambda x: x * np.float64(x[0]),
    "new_tensor": lambda x: x * x.new_tensor([x[0]]),
    "asarray of ours": lambda x: x * adjoint.asarray([x[0]]),
    "dlpack": lambda x: x * adjoint.from_numpy(np.from_dlpack(x)),
}

DIFFERENTIATIONS = {
    "grad": lambda f, x: func.grad(lambda x: f(x).sum())(x),
    "grad_and_value": lambda f, x: func.grad_and_value(lambda x: f(x).sum())(x),
    "vjp": lambda f, x: func.vjp(f, x),
    "jvp": lambda f, x: func.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: func.linearize(f, x),
    "linear_transpose": lambda f, x: func.linear_transpose(f, x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "hessian": lambda f, x: func.hessian(lambda x: f(x).sum())(x),
    "functional.vjp": lambda f, x: functional.vjp(f, x, x),
    "functional.jvp": lambda f, x: functional.jvp(f, x, x),
    "functional.jvp forward": lambda f, x: functional.jvp(f, x, x, strategy="forward-mode"),
    "functional.vhp": lambda f, x: functional.vhp(lambda x: f(x).sum(), x, x),
    "functional.hvp": lambda f, x: functional.hvp(lambda x: f(x).sum(), x, x),
    "functional.jacobian": lambda f, x: functional.jacobian(f, x),
    "functional.jacobian graph": lambda f, x: functional.jacobian(f, x, create_graph=True),
    "functional.hessian": lambda f, x: functional.hessian(lambda x: f(x).sum(), x),
    "of one that is followed": lambda f, x: func.grad(lambda x: f(x).sum())(x.clone().requires_grad_() * 1.0),
    "minimize": lambda f, x: optimize.minimize(lambda x: f(x).sum(), x),
    "least_squares": lambda f, x: optimize.least_squares(f, x),
    "root": lambda f, x: optimize.root(f, x),
    "curve_fit": lambda f, x: optimize.curve_fit(lambda t, a, b: f(adjoint.stack([a, b])), [0.0, 1.0], [0.0, 1.0]),
    "solve_ivp": lambda f, x: integrate.solve_ivp(lambda t, y: f(y), (0, 1), x, "BDF"),
    "odeint": lambda f, x: integrate.odeint(lambda t, y: f(y), x.clone().requires_grad_(), [0.0, 1.0]),
    "implicit.root": lambda f, x: implicit.root(lambda x, a: f(x) - a, x, leaves()),
    "implicit.root by its argument": lambda f, x: implicit.root(lambda x, a: x - f(a), x, leaves()),
    "fixed_point": lambda f, x: implicit.fixed_point(lambda x, a: f(x) * a, x, leaves()),
    "minimize_stationary": lambda f, x: implicit.minimize_stationary(lambda x, a: (f(x) * a).sum(), x, leaves()),
    "linear_solve": lambda f, x: implicit.linear_solve(lambda x, a: f(x) * a, x, leaves()),
}


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("way", DIFFERENTIATIONS)
def test_conversions_inside_functions_that_are_differentiated(way, conversion):
    x = start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((RuntimeError, TypeError, BufferError)) as caught:
            DIFFERENTIATIONS[way](CONVERSIONS[conversion], x)
    # A tensor inside of a transformation cannot become an array, or an element of one. The message is torch's.
    messages = ("Can't call numpy()", "must be Number, not ", "Can't export tensors that require gradient")
    if not any(text in str(caught.value) for text in messages):
        assert caught.type is LostDerivativeError
        assert "test_lost_derivatives.py" in str(caught.value) and "line " in str(caught.value)
        assert "x.item() or x.detach()" in str(caught.value)
    state = current()
    assert (state.differentiated, state.transforms, state.dual_stack) == ((), (), ())


def test_the_error_names_the_line():
    with pytest.raises(LostDerivativeError, match=r"in item_of_array: array\[0\] = x\[0\]  # here"):
        func.jacrev(item_of_array)(start())


def test_explicit_constants_are_allowed():
    x = start()
    assert func.grad(lambda x: (x * x[0].item()).sum())(x).tolist() == [1.0, 1.0]
    assert func.grad(lambda x: (x * float(x[0].detach())).sum())(x).tolist() == [1.0, 1.0]
    assert func.jvp(lambda x: x * x.detach().numpy()[0], (x,), (x,))[1].tolist() == [1.0, 2.0]
    assert func.grad(lambda x: x.sum() * int(x[1]))(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("way", ["grad", "jvp", "functional.vjp", "functional.jvp forward", "minimize"])
def test_other_tensors_may_be_converted(way):
    other, followed = start(3.0), leaves(3.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DIFFERENTIATIONS[way](lambda x: x**2 * float(other) * float(followed), start())
    lost = [str(w.message) for w in caught if "Converting a tensor with requires_grad" in str(w.message)]
    assert lost


def test_a_thread_that_runs_nothing_of_the_user_names_the_library():
    with ThreadPoolExecutor(1) as pool, pytest.raises(LostDerivativeError, match=r"lost at File .*thread\.py"):
        pool.submit(func.grad(float), start(2.0)[0]).result()


def test_outside_there_is_a_warning():
    x = leaves(2.0)
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        assert float(x) == 2.0
    with pytest.warns(UserWarning, match="Converting a tensor"):
        np.zeros(1)[0] = x[0]
    assert adjoint.tensor([x[0].detach()]).tolist() == [2.0]
    with adjoint.autograd.forward_ad.dual_level():
        dual = adjoint.autograd.forward_ad.make_dual(start(2.0), start(1.0))
        assert float(dual) == 2.0 and np.asarray(dual).tolist() == [2.0]


def test_another_value_error_of_numpy_stays_what_it_is():
    def write_ragged(x):
        np.zeros(2)[0] = [1, 2]
        return x

    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        func.grad(lambda x: write_ragged(x).sum())(start())
