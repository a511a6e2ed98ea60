"""Make a frozen GraphDef infer with less work."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from stillflow.files import gfile
from stillflow.protos import GraphDef
from stillflow.tools.command_line import parser, read_message, write_message
from stillflow.tools.optimize_for_inference_lib import optimize_for_inference


def _placeholder_types(text: str) -> int | list[int]:
    values = [int(value) for value in text.split(",")]
    return values if len(values) > 1 else values[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    flags = parser(
        "optimize_for_inference",
        __doc__,
        ("input", "", "TensorFlow 'GraphDef' file to load."),
        ("output", "", "File to save the output graph to."),
        ("input_names", "", "Input node names, comma separated."),
        ("output_names", "", "Output node names, comma separated."),
        ("frozen_graph", True, "If true, the files are binary, otherwise text."),
        (
            "placeholder_type_enum",
            "1",
            "The DataType to use for placeholders, or one for each input, comma separated.",
        ),
        ("toco_compatible", False, "If true, leaves out operations that TOCO does not know."),
    ).parse_args(arguments)
    if not gfile.file_exists(flags.input):
        print(f"Input graph file '{flags.input}' does not exist!")
        return 1
    graph_def = optimize_for_inference(
        read_message(GraphDef, flags.input, flags.frozen_graph, "graph"),
        flags.input_names.split(","),
        flags.output_names.split(","),
        _placeholder_types(flags.placeholder_type_enum),
        flags.toco_compatible,
    )
    write_message(graph_def, flags.output, flags.frozen_graph)
    return 0


if __name__ == "__main__":
    sys.exit(main())
