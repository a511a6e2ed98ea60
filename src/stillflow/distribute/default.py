"""The strategy where none was entered: one replica, wherever the program says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.distribute import context
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.numpy_dataset import dataset_of_variables
from stillflow.distribute.one_replica import OneReplicaExtended
from stillflow.distribute.replica_context import ReplicaContext
from stillflow.distribute.strategy import Strategy, StrategyV2, scope_exit
from stillflow.graph.api import colocate_with
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.constants import constant
from stillflow.variables.base import Variable
from stillflow.variables.creation import variable_creator_scope

if TYPE_CHECKING:
    from stillflow.data.dataset_v1 import DatasetV1Adapter


class DefaultStrategy(Strategy):
    """The strategy where none was entered."""

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("Should only create a single instance of _DefaultDistributionStrategy")


class _DefaultExtended(OneReplicaExtended):
    def _scope(self, strategy: StrategyV2) -> Any:
        return _DefaultScope(strategy)

    def variable_created_in_scope(self, v: Any) -> bool:
        return getattr(v, "_distribute_strategy", None) is None

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        self._require_scope()
        return colocate_with(colocate_with_variable)

    def _call_for_each_replica(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with ReplicaContext(self._strategy, constant(0)):
            return fn(*args, **kwargs)

    def _update_non_slot(
        self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Any:
        with context.updating(colocate_with):
            result = fn(*args, **kwargs)
        return result if group else nest.map_structure(self._local_results, result)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        return min(var_list, key=lambda variable: variable.name)

    def _experimental_distribute_dataset(self, dataset: Any) -> Any:
        return dataset

    def _experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> Any:
        return dataset_fn(InputContext())

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        return _Iterator(dataset)

    def _make_input_fn_iterator(self, input_fn: Any, replication_mode: Any) -> Any:
        return _Iterator(input_fn(InputContext()))

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> DatasetV1Adapter:
        def make(array: Any) -> Variable:
            start = zeros(array.shape, array.dtype)
            return Variable(start, trainable=False, use_resource=True)

        return dataset_of_variables(numpy_input, make, session)

    @property
    def worker_devices(self) -> Any:
        raise RuntimeError("worker_devices() method unsupported by default tf.distribute.Strategy.")

    @property
    def parameter_devices(self) -> Any:
        raise RuntimeError(
            "parameter_devices() method unsupported by default tf.distribute.Strategy."
        )


class _Iterator:
    """Iterator over a dataset, restarted by its `initialize()` operations."""

    def __init__(self, dataset: Any) -> None:
        self._iterator = dataset.make_initializable_iterator()

    def get_next(self) -> Any:
        return self._iterator.get_next()

    def initialize(self) -> list[Any]:
        return [self._iterator.initializer]


class _DefaultScope:
    """Scope without effect, except that no other strategy may be entered."""

    def __init__(self, strategy: StrategyV2) -> None:
        self._strategy, self._entered = strategy, 0

        def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            strategy.extended._require_scope()
            return next_creator(**kwargs)

        self._creators = variable_creator_scope(create)

    def __enter__(self) -> StrategyV2:
        if context.has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        if not self._entered:
            self._creators.__enter__()
        self._entered += 1
        return self._strategy

    def __exit__(self, *details: Any) -> None:
        self._entered -= 1
        if not self._entered:
            with scope_exit("Variable creator"):
                self._creators.__exit__(*details)


def _default_mode() -> context.Mode:
    strategy = DefaultStrategy()
    return context.Mode(strategy, None, ReplicaContext(strategy, 0))


context.make_default_mode.provide(_default_mode)
