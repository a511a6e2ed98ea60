"""Callbacks of training, and lists of them."""

from __future__ import annotations

import functools
import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging


@export("keras.callbacks.Callback")
class Callback:
    """Callback of training; a subclass overrides some methods.

    Attributes:
      params: "verbose", "epochs" and others.
      model: the model.
    """

    params: dict[str, Any]
    _chief_worker_only: bool | None = None  # True: not for the other workers of a strategy

    def __init__(self) -> None:
        self.validation_data = None
        self.model: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Set the parameters of the training."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Set the model."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Act before each step of training."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Act after each step of training; `logs` has the loss and the metrics."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Act before each epoch of training."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Act after each epoch of training; `logs` has the results, and those of validation."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Act before each step of training, by default by `on_batch_begin`."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Act after each step of training, by default by `on_batch_end`."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Act before each step of evaluation."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Act after each step of evaluation."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Act before each step of prediction."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Act after each step of prediction."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Act before training."""

    def on_train_end(self, logs: Any = None) -> None:
        """Act after training."""

    def _first_epoch(self, wanted: int) -> int:
        """Return the epoch that training begins with, once `on_train_begin` was called."""
        return wanted

    def on_test_begin(self, logs: Any = None) -> None:
        """Act before evaluation."""

    def on_test_end(self, logs: Any = None) -> None:
        """Act after evaluation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Act before prediction."""

    def on_predict_end(self, logs: Any = None) -> None:
        """Act after prediction."""


@export("keras.callbacks.BaseLogger")
class BaseLogger(Callback):
    """Callback that replaces steps' values by their means over an epoch.

    Args:
      stateful_metrics: the names of what is a mean already.
    """

    def __init__(self, stateful_metrics: Any = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.seen = 0
        self.totals: dict[str, Any] = {}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begins new sums."""
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Add to the sums."""
        logs = logs or {}
        size = logs.get("size", 0)
        self.seen += size * logs.get("num_steps", 1)
        for key, value in logs.items():
            if key in self.stateful_metrics:
                self.totals[key] = value
            else:
                self.totals[key] = self.totals.get(key, 0) + value * np.float64(size)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Put the means into `logs`."""
        if logs is None:
            return
        for key in self.params["metrics"]:
            if key in self.totals:
                stateful = key in self.stateful_metrics
                logs[key] = self.totals[key] if stateful else self.totals[key] / self.seen


@export("keras.callbacks.History")
class History(Callback):
    """Remembers the results of epochs; `fit` gives one.

    Attributes:
      epoch: the epochs' numbers.
      history: a list of results for each name.
    """

    def on_train_begin(self, logs: Any = None) -> None:
        """Reset."""
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Add the results of an epoch."""
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


_BATCH_HOOK = re.compile("on_(train_|test_|predict_|)batch_(begin|end)$")
_HOOK = re.compile("on_(train|test|predict)_(begin|end)$")


class CallbackList:
    """Callbacks that are called after each other.

    Args:
      callbacks: the callbacks.
      queue_length: of how many calls the time is looked at.
    """

    def __init__(self, callbacks: Any = None, queue_length: int = 10) -> None:
        self.callbacks = list(callbacks or ())
        self.params: dict[str, Any] = {}
        self.model: Any = None
        self._queue_length = queue_length
        self._reset_times()

    def _reset_times(self) -> None:
        self._began = self._step_time = 0.0
        self._times: dict[str, deque[float]] = defaultdict(
            functools.partial(deque, maxlen=self._queue_length)
        )

    def append(self, callback: Any) -> None:
        """Add a callback at the end."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set the parameters of the training in all callbacks."""
        self.params = params
        self._call("set_params", params)

    def set_model(self, model: Any) -> None:
        """Set the model in all callbacks."""
        self.model = model
        self._call("set_model", model)

    def _call(self, hook: str, *args: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(*args)

    def call_begin_hook(self, mode: str) -> None:
        """Call `on_train_begin` and so on."""
        self._call(f"on_{mode}_begin", None)

    def call_end_hook(self, mode: str) -> None:
        """Call `on_train_end` and so on."""
        self._call(f"on_{mode}_end", None)

    def call_batch_hook(self, mode: str, hook: str, batch: int, logs: Any = None) -> None:
        """Call `on_train_batch_begin` and so on; warn if that takes longer than the steps."""
        if not self.callbacks:
            return
        now = time.time()
        if hook == "begin":
            self._began = now
        else:
            self._step_time = now - self._began
        name = f"on_{mode}_batch_{hook}"
        self._call(name, batch, logs or {})
        times = self._times[name]
        times.append(time.time() - now)
        median = float(np.median(times))
        if self._step_time > 0.0 and median > 0.95 * self._step_time and median > 0.1:
            logging.warning(
                "Method (%s) is slow compared to the batch update (%f). Check your callbacks.",
                name, median,
            )  # fmt: skip

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """`on_train_batch_begin`, `on_batch_end`, `on_test_begin` and so on: calls all of them."""
        batch = _BATCH_HOOK.match(name)
        if batch:
            mode, hook = batch.group(1) or "train_", batch.group(2)
            return functools.partial(self.call_batch_hook, mode[:-1], hook)
        if not _HOOK.match(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return lambda logs=None: self._call(name, logs)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Call all before an epoch."""
        self._call("on_epoch_begin", epoch, {} if logs is None else logs)
        self._reset_times()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Call all after an epoch."""
        self._call("on_epoch_end", epoch, {} if logs is None else logs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.callbacks)


def configure_callbacks(
    callbacks: Any,
    model: Any,
    do_validation: bool = False,
    batch_size: int | None = None,
    epochs: int | None = None,
    steps_per_epoch: int | None = None,
    samples: int | None = None,
    mode: str = "train",
) -> CallbackList:
    """Return the callbacks of a run, with those that every training has.

    A `CallbackList` is given back as it is. The last arguments are values for callbacks.
    """
    if isinstance(callbacks, CallbackList):
        return callbacks
    callbacks = list(callbacks or ())
    if mode == "train":
        model.history = History()
        callbacks = [BaseLogger(), *callbacks, model.history]
    found = CallbackList(callbacks)
    found.set_model(model._callback_model or model)
    names = list(model.metrics_names) if mode != "predict" else []
    for callback in callbacks:
        if hasattr(callback, "stateful_metrics"):
            callback.stateful_metrics = model.metrics_names[1:]
    if do_validation:
        names += [f"val_{name}" for name in names]
    found.set_params(
        {
            "batch_size": batch_size, "epochs": epochs, "steps": steps_per_epoch,
            "samples": samples, "verbose": 0, "do_validation": do_validation, "metrics": names,
        }
    )  # fmt: skip
    model.stop_training = False
    return found


def make_logs(
    model: Any, logs: dict[str, Any], outputs: Any, mode: str, prefix: str = ""
) -> dict[str, Any]:
    """Add results to the logs of callbacks."""
    if mode == "predict":
        logs["outputs"] = outputs
    else:
        for name, value in zip(model.metrics_names, outputs, strict=False):
            logs[prefix + name] = value
    return logs
