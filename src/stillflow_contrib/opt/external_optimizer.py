"""Optimizers outside of the graph, such as SciPy's, that ask a session for loss and gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.default_session import get_default_session
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.constants import placeholder
from stillflow.ops.gradients.gradients import gradients
from stillflow.platform import tf_logging as logging
from stillflow.variables.collections import trainable_variables

# Methods of SciPy without single precision.
_DOUBLE_ONLY = ("SLSQP", "TNC")


def _as_evaluations(options: dict[str, Any] | None) -> dict[str, Any]:
    """Options of TNC with `maxiter` under the name that SciPy 1.9 and later know alone."""
    known = dict(options or {})
    limit = known.pop("maxiter", None)
    return known if limit is None else {"maxfun": limit, **known}


def _shape(variable: Any) -> tuple[int, ...]:
    return tuple(variable.get_shape().as_list())


def _pack(tensors: Sequence[Any]) -> Tensor | None:
    """All tensors as one vector."""
    if not tensors:
        return None
    flat = [reshape(tensor, [-1]) for tensor in tensors]
    return flat[0] if len(flat) == 1 else concat(flat, 0)


@export("contrib.opt.ExternalOptimizerInterface")
class ExternalOptimizerInterface:
    """The base of optimizers that work on one vector of numbers; subclasses give `_minimize`.

    Args:
      loss: a scalar tensor.
      var_list: variables; the trainable ones by default.
      equalities: scalar tensors to be kept at 0.
      inequalities: scalar tensors to be kept at 0 or above.
      var_to_bounds: {variable: (lower, upper)}, numbers or arrays that broadcast.
      **optimizer_kwargs: further arguments of the optimizer.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: dict[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._equalities, self._inequalities = equalities or [], inequalities or []
        self._vars = trainable_variables() if var_list is None else list(var_list)
        self._packed_bounds = self._pack_bounds(var_to_bounds)
        self._update_placeholders = [placeholder(var.dtype) for var in self._vars]
        self._var_updates = [
            var.assign(reshape(value, _shape(var)))
            for var, value in zip(self._vars, self._update_placeholders, strict=True)
        ]
        loss_grads = self._gradients(loss)
        equality_grads = [self._gradients(item) for item in self._equalities]
        inequality_grads = [self._gradients(item) for item in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs
        self._packed_var = _pack(self._vars)
        self._packed_loss_grad = _pack(loss_grads)
        self._packed_equality_grads = [_pack(grads) for grads in equality_grads]
        self._packed_inequality_grads = [_pack(grads) for grads in inequality_grads]
        ends = list(itertools.accumulate((math.prod(_shape(v)) for v in self._vars), initial=0))
        self._packing_slices = [slice(*pair) for pair in itertools.pairwise(ends)]

    def _pack_bounds(self, var_to_bounds: dict[Any, Any] | None) -> list[Any] | None:
        if var_to_bounds is None:
            return None
        lower: list[Any] = []
        upper: list[Any] = []
        for var in self._vars:
            low, high = var_to_bounds.get(var, (-np.inf, np.inf))
            lower.extend(np.broadcast_to(low, _shape(var)).flat)
            upper.extend(np.broadcast_to(high, _shape(var)).flat)
        return list(zip(lower, upper, strict=True))

    def _gradients(self, tensor: Any) -> list[Any]:
        grads = gradients(tensor, self._vars)
        return [
            zeros_like(var) if grad is None else grad
            for var, grad in zip(self._vars, grads, strict=True)
        ]

    def minimize(
        self,
        session: Any = None,
        feed_dict: dict[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[..., Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimizes the loss and sets the variables.

        Args:
          session: the session; the default one if None.
          feed_dict: feeds for all runs.
          fetches: tensors whose values `loss_callback` gets.
          step_callback: called with the vector after every step of the optimizer.
          loss_callback: called with the values of `fetches` after every evaluation of the loss.
          **run_kwargs: arguments of the run that sets the variables.
        """
        session = session or get_default_session()
        feeds, extra = feed_dict or {}, list(fetches or [])

        def evaluator(tensors: Any, callback: Any = None) -> Callable[..., Any]:
            return self._make_eval_func(tensors, session, feeds, extra, callback)

        packed = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=evaluator([self._loss, self._packed_loss_grad], loss_callback),
            equality_funcs=[evaluator(item) for item in self._equalities],
            equality_grad_funcs=[evaluator(item) for item in self._packed_equality_grads],
            inequality_funcs=[evaluator(item) for item in self._inequalities],
            inequality_grad_funcs=[evaluator(item) for item in self._packed_inequality_grads],
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda vector: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = [packed[part] for part in self._packing_slices]
        session.run(
            self._var_updates,
            feed_dict=dict(zip(self._update_placeholders, values, strict=True)),
            **run_kwargs,
        )

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Any,
        equality_funcs: Any,
        equality_grad_funcs: Any,
        inequality_funcs: Any,
        inequality_grad_funcs: Any,
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        """Return the best vector; functions of a vector return the values of their names."""
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() "
            "method."
        )

    def _make_eval_func(
        self,
        tensors: Any,
        session: Any,
        feed_dict: dict[Any, Any],
        fetches: list[Any],
        callback: Any = None,
    ) -> Callable[..., Any]:
        """Return a function from the vector to the values of `tensors`."""
        wanted = tensors if isinstance(tensors, list) else [tensors]

        def evaluate(vector: Any) -> list[Any]:
            feeds = {
                var: vector[part].reshape(_shape(var))
                for var, part in zip(self._vars, self._packing_slices, strict=True)
            }
            feeds.update(feed_dict)
            values = session.run(wanted + fetches, feed_dict=feeds)
            if callable(callback):
                callback(*values[len(wanted) :])
            result: list[Any] = values[: len(wanted)]
            return result

        return evaluate


@export("contrib.opt.ScipyOptimizerInterface")
class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """`scipy.optimize.minimize`, by L-BFGS-B unless the argument `method` says otherwise."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Any,
        equality_funcs: Any,
        equality_grad_funcs: Any,
        inequality_funcs: Any,
        inequality_grad_funcs: Any,
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: dict[str, Any],
    ) -> Array:
        def loss_and_gradient(vector: Any) -> tuple[Any, Any]:
            loss, gradient = loss_grad_func(vector)
            return float(loss), gradient.astype(np.float64)

        def in_double(function: Any) -> Callable[..., Any]:
            return lambda vector: np.asarray(function(vector), np.float64)

        options = dict(optimizer_kwargs)
        given = {
            "jac": True,
            "callback": step_callback,
            "method": options.pop("method", self._DEFAULT_METHOD),
            "constraints": [
                {"type": kind, "fun": in_double(function), "jac": in_double(gradient)}
                for kind, functions, grads in (
                    ("eq", equality_funcs, equality_grad_funcs),
                    ("ineq", inequality_funcs, inequality_grad_funcs),
                )
                for function, gradient in zip(functions, grads, strict=True)
            ],
            "bounds": packed_bounds,
        }
        for argument in given:
            if argument == "bounds" and argument in options:
                raise ValueError("Bounds must be set using the var_to_bounds argument")
            if argument in options:
                raise ValueError(
                    f"Optimizer keyword arg '{argument}' is set automatically and cannot be "
                    "injected manually"
                )
        import scipy.optimize

        start = initial_val
        method = str(given["method"]).upper()
        if method == "TNC":
            given["options"] = _as_evaluations(options.pop("options", None))
        if method in _DOUBLE_ONLY:
            start = initial_val.astype(np.float64)
        result = scipy.optimize.minimize(loss_and_gradient, start, **given, **options)
        lines = [
            "Optimization terminated with:",
            f"  Message: {result.message}",
            f"  Objective function value: {result.fun:f}",
        ]
        if hasattr(result, "nit"):
            lines.append(f"  Number of iterations: {result.nit}")
        if hasattr(result, "nfev"):
            lines.append(f"  Number of functions evaluations: {result.nfev}")
        logging.info("\n".join(lines))
        return result["x"]
