"""Epochs of steps, with callbacks and progress."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.keras.callbacks.base import Callback, CallbackList, configure_callbacks, make_logs
from stillflow.keras.callbacks.progress import ProgbarLogger
from stillflow.keras.engine.aggregators import MetricsAggregator, OutputsAggregator
from stillflow.keras.engine.modes import PREDICT, TRAIN
from stillflow.keras.engine.sources import Source, StepResults
from stillflow.platform import tf_logging as logging


class Loop:
    """Loop of a model over data.

    Args:
      model: the model.
      mode: "train", "test" or "predict".
      source: the batches.
      callbacks: callbacks, or the list of a loop around.
      verbose: 0 for silence, 1 for a bar, 2 for a line for each epoch.
      epochs, initial_epoch: the epochs are numbered from the second to below the first.
      batch_size: the value for callbacks.
      validation: `f(callbacks)` gives the results of validation; None for none.
      validation_freq: every how many epochs there is one, or the epochs' numbers.
      steps_name: the name of the argument for the number of steps, for messages.
    """

    def __init__(
        self,
        model: Any,
        mode: str,
        source: Source,
        callbacks: Any = None,
        verbose: int = 0,
        epochs: int = 1,
        initial_epoch: int = 0,
        batch_size: int | None = None,
        validation: Any = None,
        validation_freq: Any = 1,
        steps_name: str = "steps",
    ) -> None:
        self.model, self.mode, self.source = model, mode, source
        self.epochs, self._initial_epoch = epochs, initial_epoch
        self._validation, self._validation_freq = validation, validation_freq
        self._steps, self._steps_name = source.steps, steps_name
        self.callbacks: CallbackList = configure_callbacks(
            callbacks, model, do_validation=validation is not None, batch_size=batch_size,
            epochs=epochs, steps_per_epoch=source.steps, samples=source.count, mode=mode,
        )  # fmt: skip
        names = getattr(model, "metrics_names", ["loss"])
        self._progress = ProgbarLogger(source.unit, stateful_metrics=names[1:])
        self._progress.params = self.callbacks.params
        self._progress.params["verbose"] = verbose
        if mode == PREDICT:
            self._results: Any = OutputsAggregator(source.count if source.by_examples else None)
        else:
            self._results = MetricsAggregator(source.count, source.by_examples)

    def run(self) -> Any:
        """All epochs; the history of training, else the results of the last epoch."""
        self.callbacks.model.stop_training = False
        self.callbacks.call_begin_hook(self.mode)
        self._progress.on_train_begin()
        results: Any = None
        try:
            for epoch in range(self._first_epoch(), self.epochs):
                if self.callbacks.model.stop_training:
                    break
                results = self._epoch(epoch)
        finally:
            self.source.close()
        self.callbacks.call_end_hook(self.mode)
        return self.model.history if self.mode == TRAIN else results

    def _first_epoch(self) -> int:
        first = self._initial_epoch
        for callback in self.callbacks.callbacks if self.mode == TRAIN else ():
            if isinstance(callback, Callback):
                first = callback._first_epoch(first)
        return first

    def _epoch(self, epoch: int) -> Any:
        logs: dict[str, Any] = {}
        self.model.reset_metrics()
        if self.mode == TRAIN:
            self.callbacks.on_epoch_begin(epoch, logs)
        self._progress.on_epoch_begin(epoch, logs)
        self._run_steps()
        self._results.finalize()
        results = self._results.results
        logs = make_logs(self.model, logs, results, self.mode)
        if self._validates_after(epoch):
            validated = self._validation(self.callbacks)
            validated = validated if isinstance(validated, list) else [validated]
            logs = make_logs(self.model, logs, validated, self.mode, prefix="val_")
        if self.mode == TRAIN:
            self.callbacks.on_epoch_end(epoch, logs)
        self._progress.on_epoch_end(epoch, logs)
        if epoch < self.epochs - 1:
            self.source.restart()
        return results[0] if len(results) == 1 else results

    def _run_steps(self) -> None:
        step = -1
        limit = self._steps
        for step, batch in enumerate(self.source.batches()):
            if limit is not None and step >= limit:
                return
            logs: dict[str, Any] = {"batch": step, "size": batch.size}
            self.callbacks.call_batch_hook(self.mode, "begin", step, logs)
            self._progress.on_batch_begin(step, logs)
            try:
                outputs = batch.run()
            except errors.OutOfRangeError:
                self._ran_out(step)
                return
            outputs = outputs if isinstance(outputs, list) else [outputs]
            if isinstance(outputs, StepResults) and self.mode != PREDICT:
                logs["size"] = outputs.size
            if step == 0:  # an epoch without steps goes on with the results of the last one
                self._results.reset()
            self._results.add(outputs, batch.start, batch.end)
            logs = make_logs(self.model, logs, outputs, self.mode)
            self.callbacks.call_batch_hook(self.mode, "end", step, logs)
            self._progress.on_batch_end(step, logs)
            if self.callbacks.model.stop_training or (limit is not None and step + 1 >= limit):
                return
        if limit is not None and step + 1 < limit:
            self._ran_out(step + 1)

    def _ran_out(self, step: int) -> None:
        """Handle the end of the data, before or with the epoch's."""
        if self.source.ends_by_itself and not self._steps:
            if step > 0:
                at_once = self.model._runs_at_once()
                self._steps = None if at_once else step  # TensorFlow counts again there
                self._results.count = step
                if self.mode == TRAIN or at_once:
                    self._progress.params["steps"] = step
                    self._progress.progbar.target = step
            return
        self.callbacks.model.stop_training = True
        wanted = (self._steps or 0) * self.epochs
        if self.source.ends_by_itself and self.model._runs_at_once():
            logging.warning(
                "Your input ran out of data; interrupting training. Make sure that your dataset or "
                "generator can generate at least `steps_per_epoch * epochs` batches (in this case, "
                f"{wanted} batches). You may need to use the repeat() function when building your "
                "dataset."
            )
        elif self.source.ends_by_itself:
            logging.warning(
                "Your dataset ran out of data; interrupting training. Make sure that your dataset "
                f"can generate at least `{self._steps_name} * epochs` batches (in this case, "
                f"{wanted} batches). You may need to use the repeat() function when building your "
                "dataset."
            )
        else:
            logging.warning(
                "Your dataset iterator ran out of data; interrupting training. Make sure that your "
                f"iterator can generate at least `{self._steps_name} * epochs` batches (in this "
                f"case, {wanted} batches). You may need touse the repeat() function when building "
                "your dataset."
            )

    def _validates_after(self, epoch: int) -> bool:
        if self._validation is None or self.callbacks.model.stop_training:
            return False
        frequency = self._validation_freq
        if isinstance(frequency, int):
            if frequency < 1:
                raise ValueError("`validation_freq` can not be less than 1.")
            return (epoch + 1) % frequency == 0
        if not hasattr(frequency, "__contains__"):
            raise ValueError(
                "`validation_freq` must be an Integer or `collections_abc.Container` (e.g. list, "
                "tuple, etc.)"
            )
        return epoch + 1 in frequency
