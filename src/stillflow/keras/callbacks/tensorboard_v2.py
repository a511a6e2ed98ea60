"""Results, graphs and histograms for TensorBoard, in a directory for each kind of run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode, executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.keras.callbacks.base import Callback
from stillflow.keras.callbacks.projections import CHECKPOINT, describe_embeddings
from stillflow.layers.symbolic_graph import symbolic_graph
from stillflow.platform import tf_logging as logging
from stillflow.protos import SummaryMetadata
from stillflow.summary.recording import always_record_summaries, set_step, state
from stillflow.summary.resource_writer import ResourceSummaryWriter, create_file_writer_v2
from stillflow.summary.writing import graph, histogram, image, scalar, summary_scope, write

_TRAIN, _VALIDATION = "train", "validation"
_NOT_RESULTS = ("batch", "size", "num_steps")
_PREFIX = "val_"

# Arguments of the first generation's callback that this one does not need.
_IGNORED = {
    "write_grads": "`write_grads` will be ignored in TensorFlow 2.0 for the `TensorBoard` "
    "Callback.",
    "batch_size": "`batch_size` is no longer needed in the `TensorBoard` Callback and will be "
    "ignored in TensorFlow 2.0.",
    "embeddings_layer_names": "`embeddings_layer_names` is not supported in TensorFlow 2.0. "
    "Instead, all `Embedding` layers will be visualized.",
    "embeddings_data": "`embeddings_data` is not supported in TensorFlow 2.0. Instead, all "
    "`Embedding` variables will be visualized.",
}


@export("compat.v2.keras.callbacks.TensorBoard")
class TensorBoard(Callback):
    """Callback that writes event files: training into `train`, validation into `validation`.

    Args:
      log_dir: the directory of both.
      histogram_freq: every how many epochs there are histograms of variables; 0 for none.
      write_graph: whether the graph and the model are written.
      write_images: True to write variables as images in addition to their histograms.
      update_freq: "epoch", "batch", or after how many batches results are written.
      profile_batch: of no effect.
      embeddings_freq: every how many epochs there is a checkpoint of the embeddings; 0 for none.
      embeddings_metadata: the file that labels their rows, or a dict of them by layer.
      **kwargs: arguments of `tf.keras.callbacks.TensorBoard`, of no effect but a warning.

    Raises:
      ValueError: for other arguments.
    """

    _chief_worker_only = True

    def __init__(
        self,
        log_dir: str = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        update_freq: Any = "epoch",
        profile_batch: int = 2,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        for key, warning in _IGNORED.items():
            if kwargs.pop(key, False):
                logging.warning(warning)
        if kwargs:
            raise ValueError(f"Unrecognized arguments in `TensorBoard` Callback: {set(kwargs)}")
        self.embeddings_freq, self.embeddings_metadata = embeddings_freq, embeddings_metadata
        self.log_dir, self.histogram_freq = log_dir, histogram_freq
        self.write_graph, self.write_images = write_graph, write_images
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writers: dict[str, Any] = {}
        self._total_batches_seen: dict[str, Any] = {}

    def set_model(self, model: Any) -> None:
        """Write the graph, and the model if it is not a subclass."""
        self.model = model
        self._close_writers()
        if self.write_graph:
            built = symbolic_graph()
            with self._writing(_TRAIN):
                graph(built, step=0)
                if model._is_graph_network or type(model).__name__ == "Sequential":
                    _write_model(model)
        if self.embeddings_freq:
            describe_embeddings(model, self.embeddings_metadata, self.log_dir)
        self._before = state.writer, state.condition, state.step

    # ---- files

    def _writer(self, run: str) -> ResourceSummaryWriter:
        if run not in self._writers:
            with eager_mode():
                path = os.path.join(self.log_dir, run)
                self._writers[run] = create_file_writer_v2(path)
        return self._writers[run]

    @contextlib.contextmanager
    def _writing(self, run: str) -> Iterator[Any]:
        """Write recorded summaries at once."""
        writer = self._writer(run)
        with eager_mode(), writer.as_default(), always_record_summaries():
            yield writer

    def _close_writers(self) -> None:
        with eager_mode():
            for writer in self._writers.values():
                writer.close()
        self._writers.clear()

    # ---- summaries of the program itself, made in batches

    def _set_default_writer(self, run: str) -> None:
        if self.update_freq == "epoch":
            return
        step = self._total_batches_seen[run]
        state.writer = self._writer(run)
        state.condition = lambda: tf.equal(step % self.update_freq, 0)
        set_step(step)

    def _count(self, run: str) -> None:
        step = self._total_batches_seen[run]
        if isinstance(step, tf.Variable):
            step.assign_add(1)
        else:
            self._total_batches_seen[run] += 1

    # ---- callbacks of training

    def on_train_begin(self, logs: Any = None) -> None:
        """Start to count batches."""
        counts = executing_eagerly_outside_functions()
        self._total_batches_seen = {
            run: tf.Variable(0, dtype=tf.int64) if counts else 0 for run in (_TRAIN, _VALIDATION)
        }

    def on_test_begin(self, logs: Any = None) -> None:
        """Has summaries of the program written as those of validation."""
        if self._total_batches_seen:
            self._set_default_writer(_VALIDATION)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Write results after so many batches."""
        seen = self._total_batches_seen[_TRAIN]
        if self.update_freq != "epoch" and batch % self.update_freq == 0:
            self._write_results(logs or {}, "batch_", seen)
        self._count(_TRAIN)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count a batch."""
        if self.update_freq != "epoch" and self._total_batches_seen:
            self._count(_VALIDATION)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Has summaries of the program written as those of training."""
        self._set_default_writer(_TRAIN)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Write the results of an epoch, and histograms."""
        self._write_results(logs or {}, "epoch_", epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_weights(epoch)
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            path = os.path.join(self.log_dir, _TRAIN, f"{CHECKPOINT}-{epoch}")
            self.model.save_weights(path)

    def on_train_end(self, logs: Any = None) -> None:
        """Close the files."""
        self._close_writers()
        state.writer, state.condition, state.step = self._before

    # ---- written content

    def _write_results(self, logs: dict[str, Any], prefix: str, step: Any) -> None:
        found: dict[str, dict[str, Any]] = {_TRAIN: {}, _VALIDATION: {}}
        for name, value in logs.items():
            if name not in _NOT_RESULTS:
                run = _VALIDATION if name.startswith(_PREFIX) else _TRAIN
                found[run][prefix + name.removeprefix(_PREFIX)] = value
        for run, values in found.items():
            if values:
                with self._writing(run):
                    for name, value in values.items():
                        scalar(name, value, step=step)

    def _write_weights(self, epoch: int) -> None:
        weights = [weight for layer in self.model.layers for weight in layer.weights]
        values = tf.keras.backend.batch_get_value(weights)
        with self._writing(_TRAIN) as writer:
            for weight, value in zip(weights, values, strict=True):
                name = weight.name.replace(":", "_")
                histogram(name, value, step=epoch)
                if self.write_images:
                    _write_image(name, value, epoch)
            writer.flush()


def _write_image(name: str, value: Any, epoch: int) -> None:
    """Write a variable as images, if it has up to three dimensions."""
    pictures = np.squeeze(value)
    if pictures.ndim == 1:
        pictures = pictures.reshape(1, -1, 1, 1)
    elif pictures.ndim == 2:
        wide = pictures.T if pictures.shape[0] > pictures.shape[1] else pictures
        pictures = wide[np.newaxis, ..., np.newaxis]
    elif pictures.ndim == 3:
        if tf.keras.backend.image_data_format() == "channels_last":
            pictures = pictures.transpose(2, 0, 1)
        pictures = pictures[..., np.newaxis]
    if pictures.ndim == 4 and pictures.shape[-1] in (1, 3, 4):
        image(name, pictures, step=epoch)


def _write_model(model: Any) -> None:
    """Write a model for the plugin that draws graphs, if it can be told in JSON."""
    try:
        told = model.to_json()
    except Exception as error:  # a model of the program's own must not break its training
        logging.warning("Model failed to serialize as JSON. Ignoring... %s", error)
        return
    metadata = SummaryMetadata()
    metadata.plugin_data.plugin_name = "graph_keras_model"
    metadata.plugin_data.content = b"1"
    with summary_scope("keras", "graph_keras_model", [told]) as (tag, _):
        write(tag, tf.constant(told), step=0, metadata=metadata)
