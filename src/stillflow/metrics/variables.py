"""Shared parts of metrics: their variables, and the pair that they return."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.distribute.context import get_replica_context
from stillflow.graph.api import add_to_collections, control_dependencies
from stillflow.graph.graph import runs_at_once
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.division import div_no_nan
from stillflow.variables.base import VariableAggregation, VariableSynchronization
from stillflow.variables.creation import create_variable

Pair = tuple[Tensor, Tensor]
# The names by which errors speak of metrics that were renamed.
_OLD_NAMES = {
    "average_precision_at_k": "sparse_average_precision_at_k",
    "precision_at_k": "sparse_precision_at_k",
}


def graph_only(metric: Callable[..., Pair]) -> Callable[..., Pair]:
    """Return the metric, which raises RuntimeError by its name in eager execution."""

    @functools.wraps(metric)
    def refused_when_eager(*args: Any, **kwargs: Any) -> Pair:
        if runs_at_once():
            name = _OLD_NAMES.get(metric.__name__, metric.__name__)
            raise RuntimeError(
                f"tf.metrics.{name} is not supported when eager execution is enabled."
            )
        return metric(*args, **kwargs)

    refused_when_eager.__signature__ = inspect.signature(metric)  # type: ignore[attr-defined]
    return refused_when_eager


def metric_variable(
    shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None
) -> Any:
    """Return a variable of zeros among the local and the metric variables."""
    return create_variable(
        initial_value=lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def collect(collections: Any, value: Any) -> Any:
    """Add `value` to the collections, if there are any, and give it back."""
    if collections:
        add_to_collections(collections, value)
    return value


def across_replicas(collections: Any, compute: Callable[..., Any], *values: Any) -> Tensor:
    """Return `compute(strategy, *values)`, run once on the values of all replicas."""

    def once(strategy: Any, *whole: Any) -> Tensor:
        with _outside_of_steps(strategy.extended):
            return collect(collections, compute(strategy, *whole))

    return get_replica_context().merge_call(once, args=values)


@contextlib.contextmanager
def _outside_of_steps(extended: Any) -> Iterator[None]:
    """Return a context around the loop, where several steps run in one."""
    if not hasattr(extended, "_outer_control_flow_context"):
        yield
        return
    outer = extended._outer_control_flow_context
    if outer is None:
        with control_dependencies(None):
            yield
        return
    outer.Enter()
    yield
    outer.Exit()


def read(variable: Any, collections: Any) -> Tensor:
    """Return the variable's value, collected."""
    value: Tensor = across_replicas(
        collections, lambda strategy, whole: strategy.extended.read_var(whole), variable
    )
    return value


def value_and_update(
    compute: Callable[..., Any],
    variables: Sequence[Any],
    updates: Sequence[Any],
    metrics_collections: Any,
    updates_collections: Any,
    names: tuple[str | None, str | None] = ("value", "update_op"),
) -> Pair:
    """Return the metric of the variables, and of the variables after their updates.

    `compute` makes it of one value per variable, in the order of both, and of the node's name, one
    of `names`. The two results are added to the collections.
    """
    value = across_replicas(
        metrics_collections, lambda strategy, *whole: compute(*whole, names[0]), *variables
    )
    update = collect(updates_collections, compute(*updates, names[1]))
    return value, update


def safe_scalar_div(numerator: Tensor, denominator: Tensor, name: str | None) -> Tensor:
    """Return `numerator / denominator`, 0 where that is 0; ValueError for ranks above 1."""
    numerator.shape.with_rank_at_most(1)
    denominator.shape.with_rank_at_most(1)
    return div_no_nan(numerator, denominator, name=name)


def mean_of(total: Any, count: Any, name: str | None) -> Tensor:
    """`total / count`, 0 where nothing was counted."""
    return div_no_nan(total, maximum(count, 0), name=name)
