"""`tf.contrib.tensorboard.plugins.projector`: which embeddings TensorBoard's projector shows."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format

from stillflow.files import gfile
from stillflow.graph.export import export

_FILE = "projector_config.pbtxt"  # where the projector looks


@export("contrib.tensorboard.plugins.projector.visualize_embeddings")
def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write the list of embeddings to show, next to the events.

    Args:
      summary_writer: the `FileWriter`, whose directory also has the checkpoint.
      config: a `ProjectorConfig`: names of variables, files with labels, sprites.

    Raises:
      ValueError: if the writer has no directory.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    content = text_format.MessageToString(config, as_utf8=False)
    gfile.write_string_to_file(os.path.join(folder, _FILE), content)
