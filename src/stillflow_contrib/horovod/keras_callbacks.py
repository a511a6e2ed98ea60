"""Keras callbacks of Horovod programs, for tf.keras or the package keras."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.eager_mode import executing_eagerly
from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.reductions import (
    allreduce,
    broadcast_global_variables,
    broadcast_variables,
)


class BroadcastGlobalVariablesCallback(tf.keras.callbacks.Callback):
    """Callback that gives all variables rank `root_rank`'s values after the first batch.

    Args:
      root_rank: the rank whose values count.
      device: of the broadcasts.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self.root_rank, self.device = root_rank, device
        self.broadcast_done = False

    def on_batch_end(self, batch: Any, logs: Any = None) -> None:
        """Broadcast once: the optimizer's variables exist now."""
        if self.broadcast_done:
            return
        with tf.device(self.device):
            if executing_eagerly():
                broadcast_variables(self.model.variables, self.root_rank)
                broadcast_variables(self.model.optimizer.variables(), self.root_rank)
            else:
                session = tf.keras.backend.get_session()
                session.run(broadcast_global_variables(self.root_rank))
        self.broadcast_done = True


class MetricAverageCallback(tf.keras.callbacks.Callback):
    """Callback that averages the metrics of an epoch over all ranks, for callbacks after it.

    Args:
      device: of the reductions.
    """

    def __init__(self, device: str = "") -> None:
        super().__init__()
        self.device = device
        self._averages: dict[str, tuple[Any, Any]] = {}

    def on_epoch_end(self, epoch: Any, logs: Any = None) -> None:
        """Replace metrics by their averages, in the order of their names."""
        logs = {} if logs is None else logs
        logs.update({name: self._average(name, value) for name, value in sorted(logs.items())})

    def _average(self, name: str, value: Any) -> Any:
        backend = tf.keras.backend
        if executing_eagerly():
            return allreduce(backend.constant(value, name=name)).numpy()
        session = backend.get_session()
        if name not in self._averages:
            with backend.name_scope("MetricAverageCallback"):
                variable = backend.variable(value, name=name)
                session.run(variable.initializer)
                average = allreduce(variable, device_dense=self.device)
            self._averages[name] = variable, average
        variable, average = self._averages[name]
        backend.set_value(variable, value)
        return session.run(average)


class LearningRateScheduleCallback(tf.keras.callbacks.Callback):
    """Callback that multiplies the initial learning rate by a factor of the epoch.

    Args:
      initial_lr: the rate before.
      multiplier: a number, or a function of the epoch, which has a fraction within an epoch.
      start_epoch: the first epoch that it is for.
      end_epoch: the epoch after the last one; None for all.
      staircase: whether the rate changes at the beginning of epochs alone.
      momentum_correction: whether the momentum follows the rate for one batch.
      steps_per_epoch: found from the program's arguments by default.

    Raises:
      ValueError: without an initial rate.
    """

    def __init__(
        self, initial_lr: float, multiplier: Any, start_epoch: int = 0,
        end_epoch: int | None = None, staircase: bool = True, momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if initial_lr is None:
            raise ValueError("Parameter `initial_lr` is required")
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.momentum_correction, self.steps_per_epoch = momentum_correction, steps_per_epoch
        self.staircase = staircase or not callable(multiplier)
        self.multiplier = multiplier if callable(multiplier) else lambda epoch: multiplier
        self.restore_momentum: Any = None
        self.current_epoch: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Find the number of steps of an epoch."""
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self._found_steps()

    def on_epoch_begin(self, epoch: Any, logs: Any = None) -> None:
        """Note the epoch."""
        self.current_epoch = epoch

    def on_batch_begin(self, batch: Any, logs: Any = None) -> None:
        """Set the rate of the batch."""
        epoch = self.current_epoch
        if epoch < self.start_epoch or (self.end_epoch is not None and epoch >= self.end_epoch):
            return
        if not self.staircase:
            self._adjust(epoch + batch / self.steps_per_epoch)
        elif batch == 0:
            self._adjust(epoch)

    def on_batch_end(self, batch: Any, logs: Any = None) -> None:
        """Give the optimizer its momentum back."""
        if self.restore_momentum:
            tf.keras.backend.set_value(self.model.optimizer.momentum, self.restore_momentum)
            self.restore_momentum = None

    def on_epoch_end(self, epoch: Any, logs: Any = None) -> None:
        """Log the rate."""
        if logs is not None:
            logs["lr"] = tf.keras.backend.get_value(self.model.optimizer.lr)

    def _found_steps(self) -> int:
        params = self.params
        if params.get("steps"):
            return int(params["steps"])
        if params.get("samples") and params.get("batch_size"):
            return int(params["samples"] // params["batch_size"])
        raise ValueError(
            "Could not autodetect the number of steps per epoch. Please specify the "
            f"steps_per_epoch parameter to the {type(self).__name__}() or upgrade to the latest "
            "version of Keras."
        )

    def _adjust(self, epoch: float) -> None:
        backend, optimizer = tf.keras.backend, self.model.optimizer
        old, new = backend.get_value(optimizer.lr), self.initial_lr * self.multiplier(epoch)
        backend.set_value(optimizer.lr, new)
        if hasattr(optimizer, "momentum") and self.momentum_correction:
            self.restore_momentum = backend.get_value(optimizer.momentum)
            backend.set_value(optimizer.momentum, self.restore_momentum * new / old)


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Callback that raises the rate from that of one rank to that of all of them.

    Args:
      initial_lr: the rate of all ranks.
      warmup_epochs: the epochs that it takes.
      momentum_correction: see `LearningRateScheduleCallback`.
      steps_per_epoch: see there.
      verbose: 1 to print the rate at the end.
    """

    def __init__(
        self, initial_lr: float, warmup_epochs: int = 5, momentum_correction: bool = True,
        steps_per_epoch: int | None = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        def multiplier(epoch: float) -> float:
            epoch += 1.0 / self.steps_per_epoch  # type: ignore[operator]
            size = basics.size()
            return 1.0 / size * (epoch * (size - 1) / warmup_epochs + 1)

        super().__init__(
            initial_lr, multiplier, 0, warmup_epochs, False, momentum_correction, steps_per_epoch
        )
        self.verbose = verbose

    def on_epoch_end(self, epoch: Any, logs: Any = None) -> None:
        """Log the rate, and say when it has come to its end."""
        super().on_epoch_end(epoch, logs)
        is_last = self.end_epoch is not None and epoch == self.end_epoch - 1
        if is_last and self.verbose > 0 and basics.rank() == 0:
            rate = tf.keras.backend.get_value(self.model.optimizer.lr)
            print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {rate:g}.")


class BestModelCheckpoint(tf.keras.callbacks.ModelCheckpoint):
    """Callback that keeps the best model in the file that its attribute `filepath` names."""

    def __init__(
        self, monitor: str = "val_loss", verbose: int = 0, mode: str = "auto",
        save_freq: Any = "epoch",
    ) -> None:  # fmt: skip
        super().__init__(
            filepath=None, monitor=monitor, verbose=verbose, save_best_only=True,
            save_weights_only=False, mode=mode, save_freq=save_freq,
        )  # fmt: skip
