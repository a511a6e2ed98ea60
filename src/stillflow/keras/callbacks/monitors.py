"""Callbacks that look at a result and stop, save, or change the learning rate."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from typing import Any

import numpy as np

from stillflow.distribute import worker_context
from stillflow.graph.export import export
from stillflow.keras.backend.session import get_value, set_value
from stillflow.keras.callbacks.backups import TrainingBackup, load_weights, saving_folder
from stillflow.keras.callbacks.base import Callback
from stillflow.platform import tf_logging as logging
from stillflow.platform.compat import path_to_str
from stillflow.train.checkpoint_management import checkpoint_exists, latest_checkpoint


def _is_maximized(monitor: str, mode: str, kind: str) -> bool:
    """Return True if a result is better when it is larger."""
    if mode not in ("auto", "min", "max"):
        logging.warning(f"{kind} mode {mode} is unknown, fallback to auto mode.")
        mode = "auto"
    return mode == "max" or (mode == "auto" and "acc" in monitor)


def _missing(what: str, monitor: str, logs: Any) -> None:
    logging.warning(
        f"{what} conditioned on metric `{monitor}` which is not available. Available metrics are: "
        f"{','.join(logs)}"
    )


@export("keras.callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Callback that stops when the loss is not finite."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Check the loss."""
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


@export("keras.callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Callback that stops when a result does not improve.

    Args:
      monitor: the result's name.
      min_delta: how much better it must get.
      patience: for how many epochs it may get no better.
      verbose: 1 for a message.
      mode: "min", "max", or "auto" for a choice by the name.
      baseline: what it must be better than at first.
      restore_best_weights: whether the variables get back their values of the best epoch.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self._maximized = _is_maximized(monitor, mode, "EarlyStopping")
        self.monitor_op = np.greater if self._maximized else np.less
        self.min_delta = abs(min_delta) if self._maximized else -abs(min_delta)
        self.wait = self.stopped_epoch = 0
        self.best_weights: Any = None
        self.best: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Reset."""
        self.wait = self.stopped_epoch = 0
        worst = -np.inf if self._maximized else np.inf
        self.best = worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Check the result."""
        current = self.get_monitor_value(logs)
        if current is None:
            return
        is_better = self.monitor_op(current - self.min_delta, self.best)
        self.wait = 0 if is_better else self.wait + 1
        if not is_better:
            if self.wait >= self.patience:
                self._stop(epoch)
            return
        self.best = current
        if self.restore_best_weights:
            self.best_weights = self.model.get_weights()

    def _stop(self, epoch: int) -> None:
        self.stopped_epoch, self.model.stop_training = epoch, True
        if self.restore_best_weights:
            if self.verbose > 0:
                print("Restoring model weights from the end of the best epoch.")
            self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        """Says when training was stopped."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")

    def get_monitor_value(self, logs: Any) -> Any:
        """Return the result, or None with a warning."""
        value = (logs or {}).get(self.monitor)
        if value is None:
            _missing("Early stopping", self.monitor, logs or {})
        return value


@export("keras.callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Lowers the learning rate when a result gets no better.

    Args:
      monitor: the result's name.
      factor: of the learning rate.
      patience: for how many epochs the result may get no better.
      verbose: 1 for a message.
      mode: "min", "max", or "auto" for a choice by the name.
      min_delta: how much better it must get.
      cooldown: how many epochs to wait after that.
      min_lr: the least learning rate.

    Raises:
      ValueError: if the factor is not below 1.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if "epsilon" in kwargs:
            min_delta = kwargs.pop("epsilon")
            logging.warning(
                "`epsilon` argument is deprecated and will be removed, use `min_delta` instead."
            )
        self.monitor, self.factor, self.patience = monitor, factor, patience
        self.verbose, self.mode, self.min_delta = verbose, mode, min_delta
        self.cooldown, self.min_lr = cooldown, min_lr
        self._reset()

    def _reset(self) -> None:
        self._maximized = _is_maximized(self.monitor, self.mode, "Learning Rate Plateau Reducing")
        self.best = -np.inf if self._maximized else np.inf
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Reset."""
        self._reset()

    def monitor_op(self, current: float, best: float) -> bool:
        """Return True if a result is better than another."""
        if self._maximized:
            return bool(current > best + self.min_delta)
        return bool(current < best - self.min_delta)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Check the result."""
        logs = {} if logs is None else logs
        logs["lr"] = get_value(self.model.optimizer.lr)
        current = logs.get(self.monitor)
        if current is None:
            _missing("Reduce LR on plateau", self.monitor, logs)
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(epoch)

    def _reduce(self, epoch: int) -> None:
        before = float(get_value(self.model.optimizer.lr))
        if before <= self.min_lr:
            return
        rate = max(before * self.factor, self.min_lr)
        set_value(self.model.optimizer.lr, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
        self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self) -> bool:
        """Return True if it waits."""
        return self.cooldown_counter > 0


@export("keras.callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Callback that sets the learning rate before each epoch.

    Args:
      schedule: `f(epoch, learning rate)` or `f(epoch)` gives it.
      verbose: 1 for a message.
    """

    def __init__(self, schedule: Any, verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the learning rate.

        Raises:
          ValueError: if the optimizer has none, or the schedule gives no number.
        """
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        try:
            rate = self.schedule(epoch, float(get_value(self.model.optimizer.lr)))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.float32, np.float64)):
            raise ValueError('The output of the "schedule" function should be float.')
        set_value(self.model.optimizer.lr, rate)
        if self.verbose > 0:
            print(
                f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}."
            )

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Put the learning rate into `logs`."""
        if logs is not None:
            logs["lr"] = get_value(self.model.optimizer.lr)


@export("keras.callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model.

    Args:
      filepath: of the file; "{epoch}" and names of results in it are filled in.
      monitor: the name of the result that says which epoch is the best.
      verbose: 1 for messages.
      save_best_only: whether only better models are saved.
      save_weights_only: whether only variables are saved.
      mode: "min", "max", or "auto" for a choice by the name.
      save_freq: "epoch", or after how many examples.
      period: every how many epochs, by its old name.
      load_weights_on_restart: whether to begin with what the file has.

    Raises:
      ValueError: for another `save_freq`.
    """

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.monitor, self.verbose = monitor, verbose
        self.filepath = path_to_str(filepath)
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.save_freq = save_freq
        self.epochs_since_last_save = self._samples_since_save = self._current_epoch = 0
        self._backup: TrainingBackup | None = None
        self.load_weights_on_restart = kwargs.get("load_weights_on_restart", False)
        if "load_weights_on_restart" in kwargs:
            logging.warning(
                "`load_weights_on_restart` argument is deprecated. Please use "
                "`model.load_weights()` for loading weights before the start of `model.fit()`."
            )
        self.period = kwargs.get("period", 1)
        if "period" in kwargs:
            logging.warning(
                "`period` argument is deprecated. Please use `save_freq` to specify the frequency "
                "in number of samples seen."
            )
        maximized = _is_maximized(monitor, mode, "ModelCheckpoint") or (
            mode == "auto" and monitor.startswith("fmeasure")
        )
        self.monitor_op = np.greater if maximized else np.less
        self.best = -np.inf if maximized else np.inf
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")

    def set_model(self, model: Any) -> None:
        """Set the model; of a subclass only the variables can be saved."""
        self.model = model
        if not model._is_graph_network and type(model).__name__ != "Sequential":
            self.save_weights_only = True

    def on_train_begin(self, logs: Any = None) -> None:
        """Begin with the saved state, if wanted, or if several workers have ended early."""
        self._backup = None
        if worker_context.current() is not None:
            self._backup = TrainingBackup(self.model, self.filepath)
            if self._backup.restore():
                return
        path = None
        if self.load_weights_on_restart:
            path = self._get_most_recently_modified_file_matching_pattern(self.filepath)
        if path is not None and (os.path.exists(path) or checkpoint_exists(path)):
            load_weights(self.model, path)

    def on_train_end(self, logs: Any = None) -> None:
        """Delete what several workers would go on with."""
        if self._backup is not None:
            self._backup.delete()
            self._backup = None

    def _first_epoch(self, wanted: int) -> int:
        return wanted if self._backup is None else self._backup.first_epoch(wanted)

    def _get_most_recently_modified_file_matching_pattern(self, pattern: str) -> str | None:
        """Return the file saved last of a path whose file name has "{...}" for what differs."""
        directory, name = os.path.split(pattern)
        named = re.compile("^" + re.sub("{.*}", ".*", name) + "$")
        checkpoint = latest_checkpoint(directory)
        if checkpoint is not None and named.match(os.path.basename(checkpoint)):
            return str(checkpoint)
        if not os.path.isdir(directory or "."):
            return None
        names = [name for name in os.listdir(directory or ".") if named.match(name)]
        paths = [os.path.join(directory, name) for name in names]
        return max(paths, key=lambda path: (os.path.getmtime(path), path), default=None)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save after so many examples."""
        if isinstance(self.save_freq, int):
            self._samples_since_save += (logs or {}).get("size", 1)
            if self._samples_since_save >= self.save_freq:
                self._save_model(self._current_epoch, logs)
                self._samples_since_save = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Remembers the epoch."""
        self._current_epoch = epoch

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save after so many epochs."""
        self.epochs_since_last_save += 1
        if self.save_freq == "epoch" and self.epochs_since_last_save >= self.period:
            with nullcontext() if self._backup is None else self._backup.hidden():
                self._save_model(epoch, logs)
        if self._backup is not None:
            self._backup.save(epoch)

    def _save_model(self, epoch: int, logs: Any) -> None:
        logs = logs or {}
        self.epochs_since_last_save = 0
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only and not self._is_better(epoch, logs.get(self.monitor), path):
            return
        if not self.save_best_only:
            self._say(epoch, f"saving model to {path}")
        save = self.model.save_weights if self.save_weights_only else self.model.save
        with saving_folder(os.path.dirname(path)) as folder:
            save(os.path.join(folder, os.path.basename(path)), overwrite=True)

    def _is_better(self, epoch: int, current: Any, path: str) -> bool:
        if current is None:
            logging.warning(f"Can save best model only with {self.monitor} available, skipping.")
            return False
        if not self.monitor_op(current, self.best):
            self._say(epoch, f"{self.monitor} did not improve from {self.best:0.5f}")
            return False
        self._say(
            epoch,
            f"{self.monitor} improved from {self.best:0.5f} to {current:0.5f}, saving model to "
            f"{path}",
        )
        self.best = current
        return True

    def _say(self, epoch: int, what: str) -> None:
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: {what}")
