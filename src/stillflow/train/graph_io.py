"""tf.train.write_graph: a graph or another message in a file."""

from __future__ import annotations

import os
from typing import Any

from stillflow.files import gfile, whole_file
from stillflow.graph.export import export
from stillflow.graph.graph import Graph


@export("train.write_graph", "io.write_graph")
def write_graph(graph_or_graph_def: Any, logdir: Any, name: str, as_text: bool = True) -> str:
    """Write a graph to a file, which is there as a whole or not at all.

    Args:
      graph_or_graph_def: A `Graph`, `GraphDef`, or any other message.
      logdir: The directory; it is made if it is missing.
      name: The name of the file.
      as_text: Whether it is written as text.

    Returns:
      The path of the file.

    Example:
      >>> x = tf.constant(1.0, name="x")
      >>> tf.train.write_graph(tf.get_default_graph(), "model", "graph.pbtxt")
      'model/graph.pbtxt'
    """
    if isinstance(graph_or_graph_def, Graph):
        message = graph_or_graph_def.as_graph_def()
    else:
        message = graph_or_graph_def
    directory = os.fspath(logdir)
    if directory:
        gfile.recursive_create_dir_v2(directory)
    path = os.path.join(directory, name)
    if as_text:
        from google.protobuf import text_format

        content = text_format.MessageToString(message, as_utf8=False).encode()
    else:
        content = message.SerializeToString()
    whole_file.write(path, content)
    return path
