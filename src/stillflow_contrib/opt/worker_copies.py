"""Local variables of every worker, in addition to those that all workers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.train.session_run_hook import SessionRunHook

CENTER = "global_center_variable"


def local_step() -> Any:
    """Return the variable in which a worker counts its own steps."""
    local = [tf.GraphKeys.LOCAL_VARIABLES]
    return tf.get_variable("local_step", initializer=0, trainable=False, collections=local)


class CopiesGetter:
    """A custom getter that makes three variables of each that is trained.

    The one that is trained lies on the worker; one more, on the worker too, and one that all
    workers share. For `tf.get_variable` with `tf.train.replica_device_setter`.

    Args:
      worker_device: the device of the worker.
    """

    # The prefix of the name of the second variable of a worker.
    _beside = ""

    def __init__(self, worker_device: Any) -> None:
        self._worker_device = worker_device
        self._global_map: dict[Any, Any] = {}
        self._beside_map: dict[Any, Any] = {}

    def __call__(
        self, getter: Any, name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if not trainable:
            return self._untrained(getter, name, trainable, collections, *args, **kwargs)
        of_worker = [tf.GraphKeys.LOCAL_VARIABLES]
        with tf.device(self._worker_device):
            local = getter(name, *args, trainable=True, collections=of_worker, **kwargs)
        if kwargs["reuse"] is True:
            return local
        shared = [tf.GraphKeys.GLOBAL_VARIABLES]
        name_of_center = f"{CENTER}/{name}"
        center = getter(name_of_center, *args, trainable=False, collections=shared, **kwargs)
        with tf.device(self._worker_device):
            name = f"{self._beside}/{name}"
            beside = getter(name, *args, trainable=False, collections=of_worker, **kwargs)
        parts = [(local, beside, center)]
        if kwargs["partitioner"] is not None:
            parts = list(zip(local, beside, center, strict=True))
        for own, second, common in parts:
            self._beside_map[own] = second
            self._global_map[own] = common
        return local

    def _untrained(
        self, getter: Any, name: str, trainable: Any, collections: Any, *args: Any, **kwargs: Any
    ) -> Any:
        kwargs.update(trainable=trainable, collections=collections)
        return getter(name, *args, **kwargs)


def untrained_on_worker(
    device: Any, getter: Any, name: str, collections: Any, *args: Any, **kwargs: Any
) -> Any:
    """Return a variable that is not trained: on the worker, if it is local."""
    kwargs["collections"] = collections
    if tf.GraphKeys.LOCAL_VARIABLES in collections:
        with tf.device(device):
            return getter(name, *args, **kwargs)
    return getter(name, *args, **kwargs)


class InitialCopiesHook(SessionRunHook):
    """Hook that initializes the variables of a worker in a new session.

    Args:
      is_chief: whether the worker initializes the shared variables too.
      init_op: makes the operation that sets the variables of the worker.
    """

    def __init__(self, is_chief: bool, init_op: Callable[[], Any]) -> None:
        self._is_chief = is_chief
        self._init_op = init_op

    def begin(self) -> None:
        """Make the operations, while the graph may still change."""
        self._local_init_op = tf.local_variables_initializer()
        self._global_init_op = tf.global_variables_initializer() if self._is_chief else None
        self._variable_init_op = self._init_op()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Set the variables of the worker."""
        session.run(self._variable_init_op)
