"""Layers' outputs for some examples, and embeddings, for TensorBoard's projector."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.contrib.tensorboard.plugins.projector import visualize_embeddings
from stillflow.keras.layers.embeddings import Embedding
from stillflow.protos import ProjectorConfig
from stillflow.train.saver import Saver

CHECKPOINT = "keras_embedding.ckpt"


class Projections:
    """Layers' outputs for given examples, kept in variables and written to checkpoints.

    Args:
      model: the model.
      names: of the layers; of all embeddings if there are none.
      data: the examples: an array, or one for each input of the model.
      metadata: the name of the file that labels the examples, or a dict of them by layer.
      batch_size: how many examples go through the model at once.
    """

    def __init__(self, model: Any, names: Any, data: Any, metadata: Any, batch_size: int) -> None:
        self._model, self._batch_size = model, batch_size
        self._data = [np.asarray(x) for x in (data if isinstance(data, (list, tuple)) else [data])]
        self._first = tf.placeholder(tf.int32)
        self._count = tf.placeholder(tf.int32)
        shown = names or [layer.name for layer in model.layers if isinstance(layer, Embedding)]
        self._kept = {
            layer.name: self._variable(layer) for layer in model.layers if layer.name in shown
        }
        last = self._first + self._count
        self._assigns = []
        for name, kept in self._kept.items():
            rows = tf.reshape(model.get_layer(name).output, (self._count, kept.shape.as_list()[1]))
            self._assigns.append(tf.assign(kept[self._first : last], rows))
        self._saver = Saver(list(self._kept.values()))
        self._metadata = metadata
        tf.keras.backend.get_session().run(tf.variables_initializer(list(self._kept.values())))

    def _variable(self, layer: Any) -> Any:
        size = int(np.prod(layer.output.shape.as_list()[1:]))
        return tf.Variable(tf.zeros((len(self._data[0]), size)), name=layer.name + "_embedding")

    def describe(self, writer: Any) -> None:
        """Write for TensorBoard which variables there are, and who labels them."""
        config = ProjectorConfig()
        for name, kept in self._kept.items():
            _add(config, kept.name, _label(self._metadata, name))
        visualize_embeddings(writer, config)

    def write(self, folder: str, epoch: int) -> None:
        """Write the layers' present outputs for the examples."""
        session, backend = tf.keras.backend.get_session(), tf.keras.backend
        for first in range(0, len(self._data[0]), self._batch_size):
            batch = [array[first : first + self._batch_size] for array in self._data]
            feeds: dict[Any, Any] = dict(zip(self._model.inputs, batch, strict=True))
            feeds.update({self._first: first, self._count: len(batch[0])})
            if not isinstance(backend.learning_phase(), int):
                feeds[backend.learning_phase()] = False
            session.run(self._assigns, feeds)
        self._saver.save(session, os.path.join(folder, CHECKPOINT), epoch)


def describe_embeddings(model: Any, metadata: Any, folder: str) -> None:
    """Write to a folder, for TensorBoard, which embeddings a model has.

    `metadata` is the name of the file that labels the rows, or a dict of them by layer.
    """
    config = ProjectorConfig()
    layers = [layer for layer in model.layers if isinstance(layer, Embedding)]
    unknown = set(metadata if isinstance(metadata, dict) else ()) - {x.name for x in layers}
    if unknown:
        raise ValueError(
            "Unrecognized `Embedding` layer names passed to `keras.callbacks.TensorBoard` "
            f"`embeddings_metadata` argument: {sorted(unknown)}"
        )
    for layer in layers:
        _add(config, layer.embeddings.name, _label(metadata, layer.name))
    visualize_embeddings(_Folder(folder), config)


class _Folder:
    """Stands for a writer of events into a directory."""

    def __init__(self, path: str) -> None:
        self._path = path

    def get_logdir(self) -> str:
        """Return the directory."""
        tf.gfile.MakeDirs(self._path)
        return self._path


def _label(metadata: Any, name: str) -> str | None:
    return metadata.get(name) if isinstance(metadata, dict) else metadata


def _add(config: Any, variable: str, label: str | None) -> None:
    embedding = config.embeddings.add(tensor_name=variable)
    if label is not None:
        embedding.metadata_path = label
