"""torch.library: functions of programs as operations, with derivatives of their own; torch.ops, which has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import adjoint
from adjoint.as_torch._absent import absent
from adjoint.core.view_steps import shares_memory
from adjoint.runtime import pytree
from adjoint.tensor.older.left_out import explanation
from adjoint.tensor.tensor import Tensor

__all__ = [
    "CustomOpDef",
    "custom_op",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

#: The other names of torch.library.
_LEFT_OUT = """
    Library define fallthrough_kernel get_ctx get_kernel impl impl_abstract infer_schema opcheck triton_op wrap_triton
"""
_operations: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operation of a program: a function of tensors, which the graph records as one node.

    Its function runs without recording. `register_autograd` gives its derivative, `register_vmap` its batch form.
    """

    def __init__(self, name: str, fn: Callable[..., Any], mutates_args: str | Iterable[str]) -> None:
        namespace, _, last = name.partition("::")
        if not (namespace and last):
            raise ValueError(
                f"custom_op(): the name must have a namespace, such as 'mylib::{name or 'mul'}', but got {name!r}"
            )
        self._qualname, self._namespace, self._name = name, namespace, last
        self._fn, self._mutates = fn, bool(mutates_args)
        self._signature = inspect.signature(fn)
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self.__name__, self.__doc__ = last, fn.__doc__
        self.default = self
        self._function = self._make_function()

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._qualname}() {error}. Declaration: {self._qualname}{self._signature}") from None
        bound.apply_defaults()
        if self._mutates:
            with adjoint.no_grad():
                return self._fn(*bound.args, **bound.kwargs)
        return self._function.apply(bound.kwargs, *bound.args)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Any = None) -> None:
        """Set the derivative: `backward(ctx, *grads)`, and `setup_context(ctx, inputs, output)` to save values for it.

        Raises RuntimeError for an operation that modifies its arguments.
        """
        if self._mutates:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self._qualname}. Please create a "
                "functional operator and register an autograd formula for that."
            )
        self._backward, self._setup_context = backward, setup_context

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Set the batch form: `func(info, in_dims, *args)` returns the result and its batch axes."""
        if func is None:
            return self.register_vmap
        self._vmap = func
        self._function = self._make_function()
        return func

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Set the function for arrays in main memory. Functions for other devices never run."""
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        devices = [device_types] if isinstance(device_types, str) else device_types
        if devices is None or "cpu" in devices:
            self._fn = fn
        return fn

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """The function of shapes, which nothing here needs: results are computed at once."""
        return fn

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """No effect: autocast changes no dtypes here."""

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """The function for a class with __torch_dispatch__, which never occurs here."""
        return (lambda function: function) if fn is None else fn

    def _make_function(self) -> Any:
        """The Function whose node records this operation. The first argument holds those by keyword."""
        members: dict[str, Any] = {"forward": self._forward, "setup_context": self._setup, "backward": self._pull}
        if self._vmap is None:
            members["generate_vmap_rule"] = True
        else:
            members["vmap"] = self._batch_form
        wrapped = {name: staticmethod(value) if callable(value) else value for name, value in members.items()}
        name = f"GeneratedBackwardFor_{self._namespace}_{self._name}_default"
        return type(name, (adjoint.autograd.Function,), wrapped)

    def _forward(self, kwargs: Any, *args: Any) -> Any:
        return self._result(args, kwargs)

    def _setup(self, ctx: Any, inputs: Any, output: Any) -> None:
        kwargs, *args = inputs
        if self._setup_context is None or not any(ctx.needs_input_grad):
            return
        options = {"keyword_only_inputs": kwargs} if kwargs else {}
        self._setup_context(ctx, inputs=tuple(args), output=output, **options)

    def _pull(self, ctx: Any, *grads: Any) -> Any:
        if self._backward is None:
            raise RuntimeError(
                f"Trying to backward through {self._namespace}.{self._name}.default but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        results = self._backward(ctx, *grads)
        return (None, *results) if isinstance(results, (tuple, list)) else (None, results)

    def _batch_form(self, info: Any, in_dims: Any, kwargs: Any, *args: Any) -> Any:
        assert self._vmap is not None
        return self._vmap(info, in_dims[1:], *args, **kwargs)

    def _result(self, args: Any, kwargs: Any) -> Any:
        """The result of the function. Raises RuntimeError for a result that shares memory with an argument."""
        result = self._fn(*args, **kwargs)
        inputs = [each for each in pytree.flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        for output in pytree.flatten(result)[0]:
            if isinstance(output, Tensor) and any(shares_memory(each._array, output._array) for each in inputs):
                raise RuntimeError(
                    f"{self._name} (with implementation in {inspect.getmodule(self._fn)}): The output of this custom "
                    "operator (1) must not also be an input to this custom operator and (2) may not alias any inputs "
                    "to this custom operator or other returns. The most common way to trigger this error is if we have "
                    "y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending "
                    "output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
                )
        return result


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """A function as an operation with the name "namespace::name"; also as a decorator.

    mutates_args: the names of the arguments that it modifies. schema: types as text, otherwise from annotations.

    Raises ValueError for a name without a namespace, and for parameters without annotations.
    """

    def define(function: Callable[..., Any]) -> CustomOpDef:
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if schema is None and parameter.annotation is inspect.Parameter.empty:
                raise ValueError(
                    f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with "
                    f"signature {signature})"
                )
        operation = _operations[name] = CustomOpDef(name, function, mutates_args)
        return operation

    return define if fn is None else define(fn)


def _operation(op: Any) -> CustomOpDef:
    if isinstance(op, str):
        namespace, _, name = op.partition("::")
        op = getattr(getattr(ops, namespace), name)
    if not isinstance(op, CustomOpDef):
        raise ValueError(f"expected an operation of custom_op, or its name, but got {type(op).__name__}")
    return op


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None) -> None:
    """As `CustomOpDef.register_autograd`; op: an operation or its name."""
    _operation(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """As `CustomOpDef.register_vmap`; op: an operation or its name."""
    return _operation(op).register_vmap(func)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """As `CustomOpDef.register_kernel`; op: an operation or its name."""
    return _operation(op).register_kernel(device_types, func)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **_: Any) -> Any:
    """As `CustomOpDef.register_fake`; op: an operation or its name."""
    operation = _operation(op)
    return operation.register_fake if func is None else operation.register_fake(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """As `CustomOpDef.register_autocast`; op: an operation or its name."""
    _operation(op).register_autocast(device_type, cast_inputs)


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """As `CustomOpDef.register_torch_dispatch`; op: an operation or its name."""
    return _operation(op).register_torch_dispatch(torch_dispatch_class, func)


class _Namespace:
    """The operations of programs in one namespace."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        operation = _operations.get(f"{self.name}::{name}")
        if operation is None:
            reason = explanation("", "ops") if self.name in ("aten", "prims", "prim") else None
            raise AttributeError(
                f"'_OpNamespace' {self.name!r} object has no attribute {name!r}" + (f": {reason}" if reason else ""),
                name=name,
                obj=self,
            )
        return operation


class _Namespaces:
    """torch.ops."""

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(f"'_Ops' object has no attribute {name!r}", name=name, obj=self)
        return _Namespace(name)


ops = _Namespaces()


def __getattr__(name: str) -> Any:
    if name not in _LEFT_OUT.split():
        raise AttributeError(f"module 'torch.library' has no attribute {name!r}", name=name)
    return absent(f"torch.library.{name}")
