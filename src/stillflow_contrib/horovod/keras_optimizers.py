"""Keras optimizers that reduce gradients over all ranks, and models that are loaded with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import stillflow as tf
from stillflow.graph.eager_mode import executing_eagerly
from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.aggregation import LocalGradientAggregationHelper
from stillflow_contrib.horovod.compression import Compression
from stillflow_contrib.horovod.optimizers import make_allreduce_grads


class _Reducing:
    """Mixin of optimizers: gradients are reduced as soon as they are computed."""

    _horovod: dict[str, Any] = {}

    def __init__(self, **kwargs: Any) -> None:
        settings = self._horovod
        default = f"Distributed{type(self).__mro__[2].__name__}"
        self._allreduce_grads = make_allreduce_grads(
            settings["name"] or default, **settings["reduction"]
        )
        self._aggregated_gradients = False
        self._agg_helper: LocalGradientAggregationHelper | None = None
        super().__init__(**kwargs)

    def get_gradients(self, loss: Any, params: Any) -> Any:
        """Return the reduced gradients of a loss."""
        return self._reduced(super().get_gradients(loss, params), params)  # type: ignore[misc]

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> Any:
        pairs = super()._compute_gradients(loss, var_list, grad_loss)  # type: ignore[misc]
        grads, variables = zip(*pairs, strict=True)
        return list(zip(self._reduced(grads, variables), variables, strict=True))

    def _aggregate_gradients(self, grads_and_vars: Any) -> Any:
        grads, variables = zip(*grads_and_vars, strict=True)
        return self._reduced(grads, variables)

    def _allreduce(self, grads: Any) -> Any:
        return self._reduced(grads, grads)

    def _reduced(self, grads: Any, variables: Any) -> Any:
        self._aggregated_gradients = True
        settings = self._horovod
        if settings["passes"] <= 1:
            return self._allreduce_grads(list(grads), list(variables))
        if self._agg_helper is None:
            if executing_eagerly():
                raise ValueError("backward_passes_per_step > 1 is not supported in eager execution")
            self._agg_helper = LocalGradientAggregationHelper(
                settings["passes"], self._allreduce_grads, settings["reduction"]["sparse_as_dense"],
                settings["average_passes"], basics.rank(),
                LocalGradientAggregationHelper._OPTIMIZER_TYPE_KERAS,
            )  # fmt: skip
        return self._agg_helper.compute_gradients(grads, variables)

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply gradients, which `get_gradients` has reduced."""
        if not self._aggregated_gradients:
            raise Exception(  # the class that Horovod raises
                "`apply_gradients()` was called without a call to `get_gradients()` or "
                "`_aggregate_gradients`. If you're using TensorFlow 2.0, please specify "
                "`experimental_run_tf_function=False` in `compile()`."
            )
        pairs = list(grads_and_vars)
        apply = super().apply_gradients  # type: ignore[misc]
        if self._agg_helper is None:
            return apply(pairs, *args, **kwargs)
        return self._agg_helper.apply_gradients(
            lambda: apply(pairs, *args, **kwargs), self, pairs, *args, **kwargs
        )


def distributed_class(kind: type, **settings: Any) -> type:
    """Return a class of optimizers like `kind`, and of its name, that reduces gradients."""
    names = {"_horovod": settings, "__module__": "horovod._keras"}  # where Horovod has them
    return type(kind.__name__, (_Reducing, kind), names)


def wrapper(
    name: str | None = None, device_dense: str = "", device_sparse: str = "",
    compression: Any = Compression.none, sparse_as_dense: bool = False,
    gradient_predivide_factor: float = 1.0, op: int = basics.Average,
    backward_passes_per_step: int = 1, average_aggregated_gradients: bool = False,
    groups: Any = None,
) -> Callable[[type], type]:  # fmt: skip
    """Return a function from a class of optimizers to one that reduces gradients."""
    if op != basics.Average and op != basics.Sum:
        raise ValueError("op currently only supports Average and Sum")
    if gradient_predivide_factor != 1.0 and op != basics.Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    reduction = {
        "device_dense": device_dense, "device_sparse": device_sparse, "compression": compression,
        "sparse_as_dense": sparse_as_dense, "op": op,
        "gradient_predivide_factor": gradient_predivide_factor, "groups": groups,
    }  # fmt: skip
    return lambda kind: distributed_class(
        kind, name=name, reduction=reduction, passes=backward_passes_per_step,
        average_passes=average_aggregated_gradients,
    )  # fmt: skip


def load_model(
    keras: Any, filepath: Any, custom_optimizers: Iterable[type] | None,
    custom_objects: dict[str, Any] | None, compression: Any,
) -> Any:  # fmt: skip
    """Return a saved model whose optimizer reduces gradients."""
    wrap = wrapper(compression=compression)
    base = keras.optimizers.Optimizer
    known = {
        each.__name__.lower(): wrap(each)
        for each in _subclasses(base)
        if not issubclass(each, _Reducing)
    }
    known.update({each.__name__: wrap(each) for each in custom_optimizers or ()})
    known.update(custom_objects or {})
    return keras.models.load_model(filepath, custom_objects=known)


def _subclasses(kind: Any) -> Iterable[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def evaluate(result: Any) -> Any:
    """Return the value of an operation; in eager execution it has one."""
    return result if executing_eagerly() else tf.keras.backend.get_session().run(result)
