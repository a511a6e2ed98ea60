"""Modules whose images have their channels first: permutations of the axes are left out.

Layers of PyTorch take such images already; what works element by element does not care. Everything
else gets the image with its channels last, as in TensorFlow.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

_FIRST, _LAST = (0, 3, 1, 2), (0, 2, 3, 1)  # the order of axes for an image of the other kind
_PLACES = {0: 0, 1: 2, 2: 3, 3: 1, -4: 0, -3: 2, -2: 3, -1: 1}  # of axes, with channels first
_ELEMENTS = frozenset(
    f"{home}.{name}" for home in ("F", "torch") for name in (
        "relu", "relu6", "elu", "selu", "leaky_relu", "softplus", "tanh", "sigmoid", "square",
        "abs", "exp", "sqrt", "rsqrt", "maximum", "minimum", "clamp", "neg", "hardtanh",
    )
)  # fmt: skip


class _Channels(ast.NodeTransformer):
    """Rewriter of expressions; `first` are the names of images with their channels first."""

    def __init__(self, first: set[str]) -> None:
        self.first = first

    def image(self, node: ast.expr) -> ast.expr | None:
        """Return an expression as an image with its channels first; None if it is none yet."""
        if isinstance(node, ast.Name):
            return node if node.id in self.first else None
        inner = _permuted(node, _LAST)
        if inner is not None:
            return self.visit(inner)
        if isinstance(node, ast.BinOp):
            parts = self._images([node.left, node.right])
            return parts and ast.BinOp(parts[0], node.op, parts[1])  # type: ignore[return-value]
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        name, arguments = ast.unparse(node.func), node.args
        if name == "torch.cat" and isinstance(arguments[0], (ast.List, ast.Tuple)):
            parts, axis = self._images(arguments[0].elts), [0, *map(_numbers, arguments[1:])][-1]
            if parts and isinstance(axis, list) and len(axis) == 1:
                return ast.Call(node.func, [ast.List(parts), ast.Constant(_PLACES[axis[0]])], [])
            return None
        parts = self._images(arguments) if name in _ELEMENTS else None
        return ast.Call(node.func, parts, []) if parts else None

    def _images(self, nodes: Sequence[ast.expr]) -> list[ast.expr] | None:
        """Return images and numbers with channels first; None if something else is there."""
        images = [None if _numbers(node) else self.image(node) for node in nodes]
        made = [
            image or node for image, node in zip(images, nodes, strict=True)
            if image is not None or _numbers(node)
        ]  # fmt: skip
        return made if any(images) and len(made) == len(nodes) else None

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _permute(node, _LAST) if node.id in self.first else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        inner = _permuted(node, _FIRST)
        image = None if inner is None else self.image(inner)
        if image is not None:
            return image
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in ("mean", "amax") and node.args:
            image, axes = self.image(function.value), _numbers(node.args[0])
            if image is not None and axes in ([1, 2], [-3, -2]) and not node.keywords:
                return ast.parse(f"{ast.unparse(image)}.{function.attr}((2, 3))", mode="eval").body
        return self.generic_visit(node)


def _permuted(node: ast.expr, order: tuple[int, ...]) -> ast.expr | None:
    """Return the inner part of an expression that puts its axes into this order."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    is_permuted = node.func.attr == "permute" and list(map(_numbers, node.args)) == [
        [place] for place in order
    ]
    return node.func.value if is_permuted else None


def _permute(node: ast.expr, order: tuple[int, ...]) -> ast.expr:
    return ast.Call(ast.Attribute(node, "permute"), [ast.Constant(i) for i in order], [])


def _numbers(node: ast.expr) -> list[int]:
    """Return the numbers of a literal; none of other expressions."""
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return []
    numbers = list(found) if isinstance(found, (tuple, list)) else [found]
    return numbers if all(isinstance(number, (int, float)) for number in numbers) else []


def channels_first(
    lines: Sequence[str], images: Collection[str], results: Sequence[bool]
) -> list[str]:
    """Return the lines of `forward` for images with their channels first.

    Args:
      lines: with comments, indented; the last one returns.
      images: arguments that are images.
      results: which results are.
    """
    depth = len(lines[0]) - len(lines[0].lstrip())
    changed = {_target(line) for line in lines if line[depth:].startswith(" ")}  # in blocks
    rewriter = _Channels(set(images))
    return [_line(line, rewriter, changed, results) for line in lines]


def _target(line: str) -> str:
    name, equals, _ = line.strip().partition(" = ")
    return name if equals and name.isidentifier() else ""


def _line(line: str, rewriter: _Channels, changed: Collection[str], results: Sequence[bool]) -> str:
    code, mark, comment = line.partition("  # ")
    text = code.strip()
    if not text or text.startswith("#") or text in ("else:", "while True:", "break"):
        return line
    indent, block = code[: len(code) - len(code.lstrip())], text.endswith(":")
    statement = ast.parse(f"{text} pass" if block else f"def f():\n {text}").body[0]
    if isinstance(statement, ast.FunctionDef):
        statement = statement.body[0]
    target = _target(text)
    if isinstance(statement, ast.Return) and statement.value is not None:
        values = statement.value.elts if len(results) > 1 else [statement.value]  # type: ignore[attr-defined]
        made = [
            rewriter.image(v) or _permute(v, _FIRST) if is_image else rewriter.visit(v)
            for v, is_image in zip(values, results, strict=True)
        ]
        statement.value = made[0] if len(made) == 1 else ast.Tuple(made)
    elif isinstance(statement, ast.Assign) and target and target not in changed:
        image = rewriter.image(statement.value)
        statement.value = image or rewriter.visit(statement.value)
        (rewriter.first.add if image is not None else rewriter.first.discard)(target)
    else:
        statement = rewriter.visit(statement)
    found = ast.unparse(ast.fix_missing_locations(statement)).removesuffix("\n    pass")
    return f"{indent}{found}{mark}{comment}"
