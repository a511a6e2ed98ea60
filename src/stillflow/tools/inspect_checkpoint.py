"""Print the names, shapes and values of the tensors in a checkpoint."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.tools.command_line import parser

_PART = re.compile(r"(.*)\.(?:index|meta|data-\d+-of-\d+)$", re.DOTALL)


def _count_total_params(reader: Any, count_exclude_pattern: str = "") -> int:
    shapes = reader.get_variable_to_shape_map()
    if count_exclude_pattern:
        left_out = {
            name: shape for name, shape in shapes.items() if re.search(count_exclude_pattern, name)
        }
        params = sum(int(np.prod(shape)) for shape in left_out.values())
        print(
            f"# Excluding {len(left_out)} tensors ({params} params) that match "
            f"{count_exclude_pattern} when counting."
        )
        shapes = {name: shape for name, shape in shapes.items() if name not in left_out}
    return sum(int(np.prod(shape)) for shape in shapes.values())


def print_tensors_in_checkpoint_file(
    file_name: Any,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Print the content of a checkpoint, or, in one line, the reason why it cannot be read.

    Args:
      file_name: the checkpoint; of one of several files, the prefix of the file names.
      tensor_name: the tensor to print; if empty, names, types and shapes of all.
      all_tensors: whether to print the values of all.
      all_tensor_names: whether to print the names of all.
      count_exclude_pattern: a regular expression; tensors that match are not counted.
    """
    from stillflow.train.checkpoint_utils import new_checkpoint_reader

    try:
        reader = new_checkpoint_reader(file_name)
        if all_tensors or all_tensor_names:
            for key in sorted(reader.get_variable_to_shape_map()):
                print("tensor_name: ", key)
                if all_tensors:
                    print(reader.get_tensor(key))
        elif tensor_name:
            print("tensor_name: ", tensor_name)
            print(reader.get_tensor(tensor_name))
        else:
            print(reader.debug_string().decode())
        total = _count_total_params(reader, count_exclude_pattern)
        print(f"# Total number of params: {total}")
    except Exception as error:
        print(error)
    part = _PART.fullmatch(str(file_name))
    if part:
        print(
            f"\n{file_name} is one file of a checkpoint; name the checkpoint itself:\n"
            f"  --file_name={part[1]}"
        )


def parse_numpy_printoption(kv_str: str) -> None:
    """Set one of NumPy's options of printing, written key=value, or raise ArgumentTypeError."""
    key, equals, text = kv_str.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"'{kv_str}' is not in the form k=v.")
    options: dict[str, Any] = dict(np.get_printoptions())
    if key not in options:
        raise argparse.ArgumentTypeError(f"'{key}' is not a valid printoption.")
    kind = type(options[key])
    if options[key] is None:
        raise argparse.ArgumentTypeError(f"Setting '{key}' from the command line is not supported.")
    try:
        value = text.lower() in ("true", "t", "1") if kind is bool else kind(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    chosen: dict[str, Any] = {key: value}
    np.set_printoptions(**chosen)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = parser(
        "inspect_checkpoint",
        __doc__,
        ("file_name", "", "Checkpoint filename: what the names of its files begin with."),
        ("tensor_name", "", "Name of the tensor to inspect"),
        ("count_exclude_pattern", "", "Pattern of tensors that are not counted."),
        ("all_tensors", False, "If True, print the names and values of all the tensors."),
        ("all_tensor_names", False, "If True, print the names of all the tensors."),
    )
    options.add_argument(
        "--printoptions",
        nargs="*",
        type=parse_numpy_printoption,
        help="Argument for numpy.set_printoptions(), in the form 'k=v'.",
    )
    flags = options.parse_args(arguments)
    if not flags.file_name:
        options.print_usage()
        return 1
    print_tensors_in_checkpoint_file(
        flags.file_name,
        flags.tensor_name,
        flags.all_tensors,
        flags.all_tensor_names,
        flags.count_exclude_pattern,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
