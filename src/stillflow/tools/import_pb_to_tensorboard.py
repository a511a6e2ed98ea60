"""Write the graph in a file of a GraphDef into an event file for TensorBoard."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.importer import import_graph_def
from stillflow.protos import GraphDef
from stillflow.summary.writer import FileWriter
from stillflow.tools.command_line import parser, read_message


def import_to_tensorboard(model_dir: Any, log_dir: Any) -> None:
    """Write the graph in a file, a serialized `GraphDef`, into an event file in `log_dir`."""
    graph_def = read_message(GraphDef, model_dir, True, "graph")
    with Graph().as_default() as graph:
        import_graph_def(graph_def, name="")
    with FileWriter(log_dir) as writer:
        writer.add_graph(graph)
    print(f"Model Imported. Visualize by running: tensorboard --logdir={log_dir}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = parser(
        "import_pb_to_tensorboard",
        __doc__,
        ("model_dir", "", "The location of the protobuf ('pb') model to visualize."),
        ("log_dir", "", "The location of the event file."),
    )
    flags = options.parse_args(arguments)
    if not flags.model_dir or not flags.log_dir:
        options.error("--model_dir and --log_dir are needed")
    import_to_tensorboard(flags.model_dir, flags.log_dir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
