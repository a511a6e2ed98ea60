"""Lists as values: `append`, `pop`, `stack` and items, for the feature `LISTS`.

A list of tensors in a graph cannot be changed in place, so every change assigns the list again.
"""

from __future__ import annotations

import ast

from stillflow.autograph.build import Block, assign, expression, locate, map_blocks, operator
from stillflow.autograph.jumps import NewName

_ELEMENT = ("dtype", "shape")


def lower_lists(body: Block, new_name: NewName) -> Block:
    """Replace methods of lists in the body of a function by operators."""
    return _Lists(new_name).block(body)


class _Lists(ast.NodeTransformer):
    def __init__(self, new_name: NewName) -> None:
        self.new_name = new_name
        # The program's declarations of the items of lists, by the text of the list.
        self.known: dict[str, dict[str, ast.expr]] = {}
        self.popped: Block = []  # statements to run before the one being rewritten

    def block(self, block: Block) -> Block:
        return [new for node in block for new in self.statement(node)]

    def statement(self, node: ast.stmt) -> Block:
        if isinstance(node, ast.Expr) and self._is_directive(node.value):
            return []
        map_blocks(node, self.block)
        self.popped = []
        made = self._of_its_own(node) or node
        if made is node:
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.expr):
                    setattr(node, name, self.visit(value))
                elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                    setattr(node, name, [self.visit(item) for item in value])
        return [*(locate(new, node) for new in self.popped), locate(made, node)]

    def _is_directive(self, call: ast.expr) -> bool:
        if not (isinstance(call, ast.Call) and _called(call) == "set_element_type" and call.args):
            return False
        target, *rest = call.args
        known = dict(zip(_ELEMENT, rest, strict=False))
        known.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
        self.known[ast.unparse(target)] = known
        return True

    def _element(self, target: ast.expr, *what: str) -> dict[str, ast.expr]:
        known = self.known.get(ast.unparse(target), {})
        return {f"element_{word}": known.get(word, expression("None")) for word in what}

    def _of_its_own(self, node: ast.stmt) -> ast.stmt | None:
        """Return the replacement of `x[i] = y` and `x.append(y)`; None for other statements."""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            if isinstance(target.slice, ast.Slice | ast.Tuple):
                return None
            place, item = self.visit(target.slice), self.visit(node.value)
            return _assignment(target.value, operator("set_item", _read(target.value), place, item))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if _called(call) == "append" and len(call.args) == 1 and _only(call):
                assert isinstance(call.func, ast.Attribute)
                holder, item = call.func.value, self.visit(call.args[0])
                return _assignment(holder, operator("list_append", _read(holder), item))
        return None

    # ---- expressions

    def visit_List(self, node: ast.List) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return locate(operator("new_list", node), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Slice | ast.Tuple):
            return node
        opts = operator("GetItemOpts", **self._element(node.value, "dtype"))
        return locate(operator("get_item", node.value, node.slice, opts), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = _called(node)
        if name == "stack" and len(node.args) == 1 and _only(node, "strict"):
            known = self._element(node.args[0], "dtype")
            opts = operator("ListStackOpts", **known, original_call=node.func)
            return locate(operator("list_stack", node.args[0], opts), node)
        if name == "pop" and len(node.args) <= 1 and _only(node):
            return self._pop(node)
        return node

    def _pop(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.func, ast.Attribute)
        target, result = node.func.value, self.new_name("popped")
        opts = operator("ListPopOpts", **self._element(target, "dtype", "shape"))
        index = node.args[0] if node.args else expression("None")
        made = assign(f"{ast.unparse(target)}, {result}", "0")
        made.value = operator("list_pop", _read(target), index, opts)  # type: ignore[attr-defined]
        self.popped.append(made)
        return locate(expression(result), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def _called(call: ast.Call) -> str | None:
    """Return the last part of the callee's name, if it is an attribute."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else None


def _only(call: ast.Call, *keywords: str) -> bool:
    return all(keyword.arg in keywords for keyword in call.keywords)


def _read(target: ast.expr) -> ast.expr:
    return expression(ast.unparse(target))


def _assignment(target: ast.expr, value: ast.expr) -> ast.stmt:
    made = assign(ast.unparse(target), "0")
    made.value = value  # type: ignore[attr-defined]
    return made
