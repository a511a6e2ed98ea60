"""tf.train.match_filenames_once: names of files, looked up when local variables are initialized."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.ops.io.whole_files import matching_files
from stillflow.variables.base import Variable


@export("train.match_filenames_once", "io.match_filenames_once")
def match_filenames_once(pattern: Any, name: str | None = None) -> Any:
    """Return a local variable that is initialized to the names of the files that match.

    Args:
      pattern: a pattern or a vector of them, as `tf.io.gfile.glob` takes them.
      name: of the variable.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope,
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
