"""Remove nodes from a GraphDef that some of its nodes do not need."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from stillflow.tools.command_line import parser
from stillflow.tools.strip_unused_lib import strip_unused_from_files


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    flags = parser(
        "strip_unused",
        __doc__,
        ("input_graph", "", "TensorFlow 'GraphDef' file to load."),
        ("input_binary", False, "Whether the input file is in binary format."),
        ("output_graph", "", "Output 'GraphDef' file name."),
        ("output_binary", True, "Whether to write a binary format graph."),
        ("input_node_names", "", "The name of the input nodes, comma separated."),
        ("output_node_names", "", "The name of the output nodes, comma separated."),
        ("placeholder_type_enum", 1, "The DataType to use for placeholders."),
    ).parse_args(arguments)
    return 1 if strip_unused_from_files(**vars(flags)) else 0


if __name__ == "__main__":
    sys.exit(main())
