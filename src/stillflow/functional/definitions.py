"""Functions of the library that come from `FunctionDef` messages, callable from Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stillflow.functional.defun import DefinedFunction
from stillflow.graph import functions
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.function_defs import function_def
from stillflow.graph.functions import LibraryFunction
from stillflow.graph.operation import Tensor


class ImportedFunction(DefinedFunction):
    """A function without a Python function behind it."""

    def __init__(self, function: LibraryFunction, grad_func: DefinedFunction | None = None) -> None:
        signature = function.definition.signature
        super().__init__(
            _no_function,
            [arg.name for arg in signature.input_arg],
            tuple(as_dtype(arg.type) for arg in signature.input_arg),
            function.name,
            grad_func,
            out_names=[arg.name for arg in signature.output_arg],
        )
        self._made = function

    @property
    def captured_inputs(self) -> list[Tensor]:
        return []

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        return []


def _no_function(*args: Any) -> Any:
    raise NotImplementedError("the function is known by its definition only")


def from_definition(fdef: Any, grad_func: DefinedFunction | None = None) -> DefinedFunction:
    """Return a callable function of a `FunctionDef` message, with that of its gradient."""
    return ImportedFunction(LibraryFunction(fdef), grad_func)


def from_library(lib: Any) -> list[DefinedFunction]:
    """Return callable functions of a `FunctionDefLibrary`; ValueError if some are missing."""
    found = {f.name: ImportedFunction(f) for f in functions.from_library(lib)}
    for function in found.values():
        name = function.library_function.grad_func_name
        if name is not None:
            function.set_grad_func(found[name])
    return list(found.values())


def graph_to_function_def(
    graph: Any, operations: Any, inputs: Any, outputs: Any, out_names: Any = None
) -> Any:
    """Return the `FunctionDef` of a part of a graph: operations in order, arguments, results."""
    del graph
    part = SimpleNamespace(
        inputs=list(inputs), outputs=list(outputs), _operations=list(operations),
        control_outputs=[],
    )  # fmt: skip
    return function_def(part, "", out_names or ())  # type: ignore[arg-type]
