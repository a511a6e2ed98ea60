"""Size of a model: lists of its operations and of its variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow.graph.export import export


def _heading(text: str) -> None:
    print("---------", text, "---------", sep="\n")


@export("contrib.slim.model_analyzer.tensor_description")
def tensor_description(var: Any) -> str:
    """Return the type and the sizes of a tensor or variable, "(float32 2x3)"."""
    sizes = "x".join(str(size) for size in var.get_shape())
    return f"({var.dtype.name} {sizes})"


@export("contrib.slim.model_analyzer.analyze_ops")
def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """Return the number of elements of all operations' outputs in a graph.

    Args:
      graph: the graph; outputs of unknown size count as empty.
      print_info: whether each operation is printed.
    """
    if print_info:
        _heading("Operations: name -> (type shapes) [size]")
    total = 0
    for op in graph.get_operations():
        size = sum(output.get_shape().num_elements() or 0 for output in op.outputs)
        total += size
        if print_info:
            shapes = [tensor_description(output) for output in op.outputs if output.get_shape()]
            print(op.name, "\t->", ", ".join(shapes), f"[{size}]")
    return total


@export("contrib.slim.model_analyzer.analyze_vars")
def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Return the number of elements of variables, and their bytes.

    Args:
      variables: the variables.
      print_info: whether each variable is printed.
    """
    given = list(variables)
    counts = [variable.get_shape().num_elements() or 0 for variable in given]
    sizes = [count * variable.dtype.size for count, variable in zip(counts, given)]
    if print_info:
        _heading("Variables: name (type shape) [size]")
        for variable, count, size in zip(given, counts, sizes):
            print(variable.name, tensor_description(variable), f"[{count}, bytes: {size}]")
        print(f"Total size of variables: {sum(counts)}\nTotal bytes of variables: {sum(sizes)}")
    return sum(counts), sum(sizes)
