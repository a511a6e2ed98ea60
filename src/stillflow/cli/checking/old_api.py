"""Signs, found by reading a source, that it was written for TensorFlow 0.x."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from stillflow.cli.checking.uses import Reader

_ROOT = "tensorflow."
_LOSSES = tuple(
    f"nn.{kind}softmax_cross_entropy_with_logits" for kind in ("", "sparse_")
) + ("nn.sigmoid_cross_entropy_with_logits",)  # fmt: skip


class Sign(NamedTuple):
    """A place that TensorFlow 1.x reads in another way, or not at all.

    Attributes:
      name: the public name, "tf.concat".
      line: the first line of the place.
      end: its last line.
    """

    name: str
    line: int
    end: int


def signs(tree: ast.Module) -> list[Sign]:
    """Return the signs of 0.x in a module, in the order of lines."""
    reader = _OldReader()
    reader.visit(tree)
    return sorted(set(reader.signs), key=lambda sign: (sign.line, sign.name))


class _OldReader(Reader):
    """Looks at names that were removed for 1.0, and at calls in the order of before."""

    def __init__(self) -> None:
        super().__init__()
        self.signs: list[Sign] = []

    def _add(self, name: str, node: ast.AST) -> None:
        super()._add(name, node)
        if not self.found[-1].guarded and _is_old_name(name):
            self._sign(name, node)

    def _sign(self, name: str, node: ast.AST) -> None:
        line = getattr(node, "lineno", 0)
        shown = name if name.startswith(_OLD_MODULES) else f"tf.{name.removeprefix(_ROOT)}"
        self.signs.append(Sign(shown, line, getattr(node, "end_lineno", None) or line))

    def visit_Call(self, node: ast.Call) -> None:
        name = self.dotted(node.func)
        is_old = _OLD_CALLS.get(name.removeprefix(_ROOT)) if name else None
        if name and is_old is not None and is_old(node):
            self._sign(name, node)
        self.generic_visit(node)


_OLD_MODULES = ("tensorflow.models.", "tensorflow.python.ops.seq2seq")


def _is_old_name(name: str) -> bool:
    from stillflow._renamed import SUCCESSORS
    from stillflow.facade.tf0.tables import GONE

    public = name.removeprefix(_ROOT)
    if public in SUCCESSORS or name.startswith(_OLD_MODULES):
        return True
    if public.rpartition(".")[2] in ("_parse_flags", "__flags"):
        return "flags.FLAGS." in public
    return any(public == gone or public.startswith(gone + ".") for gone in GONE)


def _is_number(node: ast.AST) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _has_keyword(*names: str) -> Callable[[ast.Call], bool]:
    return lambda call: any(keyword.arg in names for keyword in call.keywords)


def _axis_first(call: ast.Call) -> bool:
    by_name = _has_keyword("concat_dim", "split_dim", "num_split")
    return by_name(call) or (len(call.args) > 1 and _is_number(call.args[0]))


def _by_position(call: ast.Call) -> bool:
    return len(call.args) > 1 or _has_keyword("targets")(call)


def _by_flags(call: ast.Call) -> bool:
    dims = call.args[1] if len(call.args) > 1 else None
    elements = dims.elts if isinstance(dims, (ast.List, ast.Tuple)) else []
    return any(isinstance(one, ast.Constant) and type(one.value) is bool for one in elements)


def _height_and_width(call: ast.Call) -> bool:
    if _has_keyword("new_height")(call):
        return True
    size = call.args[1] if len(call.args) > 2 else None
    return size is not None and not isinstance(size, (ast.List, ast.Tuple, ast.Call)) and (
        len(call.args) > 3 or _is_number(size)
    )  # fmt: skip


_OLD_CALLS: dict[str, Callable[[ast.Call], bool]] = {
    "SparseTensor": _has_keyword("shape"),
    "concat": _axis_first,
    "image.resize_images": _height_and_width,
    "reverse": _by_flags,
    "split": _axis_first,
    **{
        f"{space}.{cell}": _has_keyword("input_size")
        for space in ("nn.rnn_cell", "python.ops.rnn_cell")
        for cell in ("BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell")
    },
    **dict.fromkeys(_LOSSES, _by_position),
}
