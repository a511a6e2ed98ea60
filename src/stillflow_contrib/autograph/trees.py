"""Trees of gast: their sources, the objects that they make, and names that are free."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import gast

from stillflow.autograph.source import function_node
from stillflow_contrib.autograph.qualified_names import QN

_counter = itertools.count()


def parse_entity(entity: Any, future_features: Iterable[str]) -> tuple[Any, str]:
    """Return the tree of a function, method or class, and the source that it is of.

    ValueError if the source cannot be had.
    """
    function = inspect.unwrap(getattr(entity, "__func__", entity))
    try:
        text = textwrap.dedent(inspect.getsource(function))
        if inspect.isclass(function):
            node: ast.AST = ast.parse(text).body[0]
        else:
            node = function_node(function)
    except (OSError, SyntaxError) as error:
        raise ValueError(f"Unable to locate the source code of {entity}: {error}") from None
    lines = [f"from __future__ import {name}" for name in future_features]
    return gast.ast_to_gast(node), "\n".join([*lines, text])


def ast_to_source(node: Any, indentation: str = "  ", include_encoding_marker: bool = True) -> str:
    """Return the code of a node or of several."""
    nodes = node if isinstance(node, (list, tuple)) else [node]
    code = "\n".join(ast.unparse(to_ast(each)) for each in nodes) + "\n"
    lines = []
    for line in code.splitlines(keepends=True):
        bare = line.lstrip(" ")
        lines.append(indentation * ((len(line) - len(bare)) // 4) + bare)
    return ("# coding=utf-8\n" if include_encoding_marker else "") + "".join(lines)


def ast_to_object(
    nodes: Any,
    indentation: str = "  ",
    include_source_map: bool = False,
    delete_on_exit: bool = True,
) -> tuple[ModuleType, str, None]:
    """Run the code of a node or of several.

    Args:
      nodes: statements.
      indentation: of the source.
      include_source_map: has to be False.
      delete_on_exit: is not used; the source is in no file, only where `inspect` looks for it.

    Returns:
      A module, its source, and None.

    Raises:
      NotImplementedError: if a source map is asked for.
    """
    if include_source_map:
        raise NotImplementedError("ast_to_object(include_source_map=True) is not supported")
    source = ast_to_source(nodes, indentation)
    name = f"autograph_{next(_counter)}"
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    module = ModuleType(name)
    module.__file__ = filename
    exec(compile(source, filename, "exec"), module.__dict__)
    return module, source, None


def to_ast(node: Any) -> Any:
    """Return a node of gast as one of Python's, whose places in the source are filled in."""
    if not type(node).__module__.startswith("gast"):
        return node
    return ast.fix_missing_locations(gast.gast_to_ast(_Complete().visit(node)))


class _Complete(ast.NodeTransformer):
    """Sets fields that a node was made without: those of newer releases of gast."""

    def generic_visit(self, node: Any) -> Any:
        for name in node._fields:
            if not hasattr(node, name):
                setattr(node, name, [] if name in ("type_ignores", "type_params") else None)
        return super().generic_visit(node)


class Namer:
    """Makes names that code does not use yet.

    Args:
      global_namespace: names that are taken.
    """

    def __init__(self, global_namespace: Any) -> None:
        self.global_namespace = global_namespace
        self.generated_names: set[str] = set()

    def new_symbol(self, name_root: str, reserved_locals: Iterable[Any]) -> str:
        """Return a name, with a number behind it if that without is taken.

        Args:
          name_root: its first part.
          reserved_locals: more names that are taken, strings or a `QN` each; else ValueError.
        """
        taken = {*self.global_namespace, *self.generated_names}
        for name in reserved_locals:
            if not isinstance(name, (str, QN)):
                raise ValueError(f'Unexpected symbol type "{type(name)}"')
            taken.update(name.qn if isinstance(name, QN) else [name])
        root, _, number = name_root.rpartition("_")
        root, start = (root, int(number)) if number.isdigit() else (name_root, 0)
        names = (f"{root}_{n}" for n in itertools.count(start + 1))
        found = next(name for name in itertools.chain([root], names) if name not in taken)
        self.generated_names.add(found)
        return found
