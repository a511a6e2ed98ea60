"""Results, graphs and histograms for TensorBoard."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any, ClassVar

import numpy as np

import stillflow as tf
from stillflow.eager import profiler
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.keras.callbacks.base import Callback
from stillflow.keras.callbacks.projections import Projections
from stillflow.layers.node import int_shape

_NOT_RESULTS = ("batch", "size", "num_steps")


@export("keras.callbacks.TensorBoard")
class TensorBoard(Callback):
    """Callback that writes event files.

    Args:
      log_dir: their directory.
      histogram_freq: every how many epochs there are histograms, made in validation; 0 for none.
      batch_size: of no effect.
      write_graph: whether the graph is written.
      write_grads, write_images: whether histograms of gradients and images of variables are.
      embeddings_freq: every how many epochs there is a checkpoint, for the projector, of what
        layers make of `embeddings_data`; 0 for none. TensorFlow 1.15.5 itself fails to find the
        variables of it, which nobody initializes there.
      embeddings_layer_names: of these layers; of all embeddings if it is None or empty.
      embeddings_metadata: the file that labels the examples, or a dict of them by layer.
      embeddings_data: the examples: an array, or one for each input.
      update_freq: "epoch", "batch", or after how many examples results are written.
      profile_batch: which batch is profiled, counted from 1; 0 for none.
    """

    _chief_worker_only = True

    writer: Any
    # Ends the profile that is being made: one at a time, and none longer than its callback lives,
    # or training that an error ends would leave every later run traced.
    _profile: ClassVar[weakref.finalize[Any, Any] | None] = None

    def __init__(
        self,
        log_dir: Any = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        embeddings_freq: int = 0,
        embeddings_layer_names: Any = None,
        embeddings_metadata: Any = None,
        embeddings_data: Any = None,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
    ) -> None:
        super().__init__()
        self.embeddings_freq, self.embeddings_data = embeddings_freq, embeddings_data
        self.embeddings_layer_names = embeddings_layer_names
        self.embeddings_metadata = embeddings_metadata
        self.log_dir, self.histogram_freq, self.batch_size = log_dir, histogram_freq, batch_size
        self.write_graph, self.write_grads = write_graph, write_grads
        self.write_images = write_images
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self.merged: Any = None
        self._samples = self._samples_at_write = 0
        self._batches = self._validation_batches = 0
        self._profile_batch = profile_batch
        self._projections: Projections | None = None

    def set_model(self, model: Any) -> None:
        """Open the file."""
        self.model = model
        graph = tf.get_default_graph() if self.write_graph else None
        self.writer = tf.summary.FileWriter(self.log_dir, graph)
        if self.histogram_freq and self.merged is None:
            for layer in model.layers:
                self._add_summaries(layer)
        self.merged = tf.summary.merge_all()
        if self.embeddings_freq and self.embeddings_data is not None:
            self._projections = Projections(
                model, self.embeddings_layer_names, self.embeddings_data, self.embeddings_metadata,
                self.batch_size,
            )  # fmt: skip
            self._projections.describe(self.writer)

    def _add_summaries(self, layer: Any) -> None:
        for weight in layer.weights:
            name = weight.name.replace(":", "_")
            tf.summary.histogram(name, weight)
            if self.write_images:
                _add_image(name, weight)
        if self.write_grads:
            for weight in layer.trainable_weights:
                grads = self.model.optimizer.get_gradients(self.model.total_loss, weight)
                grads = [g.values if isinstance(g, IndexedSlices) else g for g in grads]
                tf.summary.histogram(f"{weight.name.replace(':', '_')}_grad", grads)
        if isinstance(layer.output, list):
            for i, output in enumerate(layer.output):
                tf.summary.histogram(f"{layer.name}_out_{i}", output)
        else:
            tf.summary.histogram(f"{layer.name}_out", layer.output)

    def _write(self, step: int, logs: Any) -> None:
        for name, value in logs.items():
            number = float(np.asarray(value))
            summary = tf.Summary(value=[tf.Summary.Value(tag=name, simple_value=number)])
            self.writer.add_summary(summary, step)
        self.writer.flush()

    def _write_histograms(self, summary: Any) -> None:
        self.writer.add_summary(summary, self._validation_batches)
        self._validation_batches += 1

    @property
    def _is_profiling(self) -> bool:
        running = TensorBoard._profile.peek() if TensorBoard._profile is not None else None
        return running is not None and running[0] is self

    def _end_profile(self) -> None:
        assert TensorBoard._profile is not None
        TensorBoard._profile.detach()
        profiler.save(self.log_dir, profiler.stop())

    def _begin_profile(self) -> None:
        if TensorBoard._profile is not None:
            TensorBoard._profile()
        profiler.start()
        TensorBoard._profile = weakref.finalize(self, _stop_profiler)
        TensorBoard._profile.atexit = False

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins to profile, if it is the first batch that is profiled."""
        if self._profile_batch == 1:
            self._begin_profile()

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Write results after so many examples, and the profile of a batch."""
        logs = logs or {}
        self._samples += logs.get("size", 1)
        fresh = self._samples - self._samples_at_write
        if self.update_freq != "epoch" and fresh >= self.update_freq:
            self._write(self._batches, _named("batch_", logs))
            self._samples_at_write = self._samples
        self._batches += 1
        if self._is_profiling:
            self._end_profile()
        elif self._batches == self._profile_batch - 1:
            self._begin_profile()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Make validation write histograms."""
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self.model._make_test_function()
            function = self.model.test_function
            if self.merged not in function.fetches:
                function.fetches.append(self.merged)
                function.fetch_callbacks[self.merged] = self._write_histograms

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Write the results of an epoch."""
        step = epoch if self.update_freq == "epoch" else self._samples
        self._write(step, _named("epoch_", logs or {}))
        if self.histogram_freq:
            function = self.model.test_function
            function.fetches = [x for x in function.fetches if x is not self.merged]
            function.fetch_callbacks.pop(self.merged, None)
        if self.embeddings_freq and self.embeddings_data is None:
            raise ValueError("To visualize embeddings, embeddings_data must be provided.")
        if self._projections is not None and epoch % self.embeddings_freq == 0:
            self._projections.write(self.log_dir, epoch)

    def on_train_end(self, logs: Any = None) -> None:
        """Close the file."""
        if self._is_profiling:
            self._end_profile()
        self.writer.close()


def _stop_profiler() -> None:
    with contextlib.suppress(profiler.ProfilerNotRunningError):  # the program has stopped it
        profiler.stop()


def _named(prefix: str, logs: Any) -> dict[str, Any]:
    return {prefix + key: value for key, value in logs.items() if key not in _NOT_RESULTS}


def _add_image(name: str, weight: Any) -> None:
    """Add a summary of a variable as images, if it has up to three dimensions."""
    image = tf.squeeze(weight)
    shape = int_shape(image) or ()
    if len(shape) == 1:
        image = tf.reshape(image, [1, shape[0], 1, 1])
    elif len(shape) == 2:
        if shape[0] > shape[1]:
            image, shape = tf.transpose(image), shape[::-1]
        image = tf.reshape(image, [1, shape[0], shape[1], 1])
    elif len(shape) == 3:
        image = tf.transpose(image, perm=[2, 0, 1])
        image = tf.reshape(image, [shape[2], shape[0], shape[1], 1])
    else:
        return
    tf.summary.image(name, image)
