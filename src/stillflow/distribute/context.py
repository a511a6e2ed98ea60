"""Current strategy and replica of newly built operations."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from stillflow._hooks import Hook
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph

if TYPE_CHECKING:
    from stillflow.distribute.replica_context import ReplicaContext
    from stillflow.distribute.strategy import Strategy, StrategyV2


class Mode(NamedTuple):
    """State of a thread: a strategy as a whole, or one replica of it."""

    strategy: Any
    cross_replica: Any  # the strategy, or None inside of a replica
    replica: Any  # the `ReplicaContext`, or None outside


def cross_replica_mode(strategy: StrategyV2) -> Mode:
    return Mode(strategy, strategy, None)


def replica_mode(context: ReplicaContext) -> Mode:
    return Mode(context.strategy, None, context)


def current() -> Mode:
    """Return the mode of this thread for the default graph."""
    stack = get_default_graph()._of_thread.strategies
    return stack[-1] if stack else _default_mode()


def push(mode: Mode) -> None:
    get_default_graph()._of_thread.strategies.append(mode)


def pop() -> None:
    get_default_graph()._of_thread.strategies.pop()


# The mode where no strategy was entered.
make_default_mode: Hook[Callable[[], Mode]] = Hook("distribute.context.make_default_mode")
_default: Mode | None = None


def _default_mode() -> Mode:
    global _default
    if _default is None:
        _default = make_default_mode.value()
    return _default


def default_strategy() -> Any:
    """Return the strategy where none was entered."""
    return _default_mode().strategy


def default_replica_context() -> Any:
    """Return the replica where no strategy was entered."""
    return _default_mode().replica


def is_default(mode: Mode) -> bool:
    """Return True if no strategy was entered."""
    return mode is _default_mode()


@export("distribute.get_strategy", "contrib.distribute.get_strategy")
def get_strategy() -> Strategy:
    """Return the strategy whose scope is entered; the default one, with one replica, if none is."""
    return current().strategy


@export("distribute.has_strategy", "contrib.distribute.has_strategy")
def has_strategy() -> bool:
    """Return True if the scope of a strategy is entered."""
    return get_strategy() is not _default_mode().strategy


@export("distribute.get_replica_context", "contrib.distribute.get_replica_context")
def get_replica_context() -> Any:
    """Return the `ReplicaContext` of the replica being built, None where all are."""
    return current().replica


@export("distribute.in_cross_replica_context", "contrib.distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Return True if operations are made for all replicas together."""
    return current().cross_replica is not None


def get_cross_replica_context() -> Strategy:
    """Return the strategy where operations are made for all of its replicas, else None."""
    return current().cross_replica


class _Update(threading.local):
    device: str | None = None


_update = _Update()


def update_device() -> str | None:
    """Return the device whose copy of a variable is being updated; None outside of updates."""
    return _update.device


@contextlib.contextmanager
def updating(device: str) -> Iterator[None]:
    """Return a context in which the copy of a variable on a device is updated."""
    before, _update.device = _update.device, device
    try:
        yield
    finally:
        _update.device = before


@contextlib.contextmanager
def entered_or_required(strategy: StrategyV2) -> Iterator[None]:
    """Return the scope of a strategy, entered if no strategy's is; RuntimeError in another's."""
    if not has_strategy():
        with strategy.scope():
            yield
        return
    if get_strategy() is not strategy:
        raise wrong_scope(strategy)
    yield


def wrong_scope(strategy: StrategyV2) -> RuntimeError:
    """Return the error of an object that belongs into the scope of a strategy and is not there."""
    if not has_strategy():
        return RuntimeError(f'Need to be inside "with strategy.scope()" for {strategy}')
    return RuntimeError(
        f"Mixing different tf.distribute.Strategy objects: {get_strategy()} is not {strategy}"
    )


_entered: Any = None


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Any) -> None:
    """Enters the scope of a strategy for good; None leaves the one entered so.

    Raises:
      RuntimeError: if a scope was entered by `with`.
    """
    global _entered
    stack = get_default_graph()._of_thread.strategies
    if len(stack) > 1 or (stack and _entered is None):
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if _entered is not None and stack:
        _entered.__exit__(None, None, None)
    _entered = None
    if strategy is not None:
        _entered = strategy.scope()
        _entered.__enter__()
