"""Arithmetic of programs that may involve NumPy's numbers, rewritten for them.

NumPy's numbers are the results of its functions, of ``Session.run`` and ``eval``, and of
expressions with these: names are followed through the whole module, without looking at scopes,
and from the arguments of calls to the parameters of the module's functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stillflow.facade.revive import rewrite

_PREFIX = "__stillflow_"
_FUNCTIONS = ("combine", "added", "added_at", "total", "largest", "smallest")
COMBINE, ADDED, ADDED_AT, TOTAL, LARGEST, SMALLEST = (f"{_PREFIX}{name}__" for name in _FUNCTIONS)
_OPERATOR = _PREFIX + "operator_{}__"
_OPERATORS = ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow")
_NAMES = {kind: _OPERATOR.format(kind) for kind in _OPERATORS}
# {name in rewritten code: name in `promotion`} and {...: name in `operator`}
HELPERS = {f"{_PREFIX}{name}__": name for name in _FUNCTIONS}
OPERATORS = {
    _NAMES["Add"]: "add",
    _NAMES["Sub"]: "sub",
    _NAMES["Mult"]: "mul",
    _NAMES["Div"]: "truediv",
    _NAMES["FloorDiv"]: "floordiv",
    _NAMES["Mod"]: "mod",
    _NAMES["Pow"]: "pow",
}
# Methods whose results are NumPy's, for any object; and built-in functions that pass them on.
_METHODS = frozenset({
    "run", "eval", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch",
    "mean", "std", "var", "astype", "numpy",
})  # fmt: skip
_KEEPING = frozenset({
    "sum", "min", "max", "dot", "copy", "reshape", "flatten", "ravel", "T", "eps", "tiny",
    "resolution",
})  # fmt: skip
_BUILTINS = frozenset({
    "abs", "max", "min", "sum", "round", "zip", "enumerate", "list", "sorted", "map",
})  # fmt: skip
# Types of NumPy, which programs go through: ``for kind in (np.int8, np.float32): kind(3)``.
_KINDS = frozenset({
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64",
})  # fmt: skip
_REPLACED = {"sum": TOTAL, "max": LARGEST, "min": SMALLEST}
_GROWING = frozenset({"append", "extend", "insert"})
# Functions of NumPy that are equivalent to operators.
_COMBINING = frozenset({
    "add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "mod", "remainder",
    "power", "maximum", "minimum", "fmax", "fmin",
})  # fmt: skip
_DIVISIONS = (rewrite.DIVIDE, rewrite.DIVIDE_INTO)
# Statements that give a value a name, directly or as a function's result or a list's element.
_GIVING = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.comprehension,
    ast.FunctionDef, ast.Call,
)  # fmt: skip
_PASSES = 10


def rewritten(tree: ast.Module, values: Values | None = None) -> ast.Module | None:
    """Return a module's tree after its repair, None if it needs none."""
    repair = _Repair(values or Values(tree))
    tree = repair.visit(tree)
    return ast.fix_missing_locations(tree) if repair.changed else None


class Values:
    """Names and expressions of a module that may stand for values of NumPy's.

    Attributes:
      modules: the names under which it knows NumPy, or a module of NumPy's.
      functions: functions whose results may be NumPy's.
      names: variables.
      attributes: attributes of any object.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.modules: set[str] = set()
        self.functions: set[str] = set()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self._parameters: dict[str, list[list[str]]] = {}  # by the name of a function
        self._looped: set[str] = set()  # variables of loops, which may be functions
        nodes = []
        for node in ast.walk(tree):
            if isinstance(node, _GIVING):
                nodes.append(node)
                if isinstance(node, ast.FunctionDef):
                    self._parameters.setdefault(node.name, []).append(_parameters(node))
                elif isinstance(node, (ast.For, ast.comprehension)):
                    self._looped.update(_names_in(node.target))
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._imports(node)
        before = -1
        for _ in range(_PASSES):
            if self._known() == before:
                break
            before = self._known()
            for node in nodes:
                self._follow(node)

    def _known(self) -> int:
        return len(self.functions) + len(self.names) + len(self.attributes)

    def _imports(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _of_numpy(alias.name):
                    self.modules.add(alias.asname or "numpy")
        elif isinstance(node, ast.ImportFrom) and not node.level and _of_numpy(node.module):
            self.functions.update(alias.asname or alias.name for alias in node.names)

    def _follow(self, node: ast.AST) -> None:
        """Record the targets of a statement that gives them such a value."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            if node.value is not None and self.holds(node.value):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self._give(target)
        elif isinstance(node, (ast.For, ast.comprehension)):
            if self.holds(node.iter):
                self._give(node.target)
        elif isinstance(node, ast.FunctionDef):
            if node.name not in self.functions and any(map(self.holds, _returned(node))):
                self.functions.add(node.name)
        elif isinstance(node, ast.Call):
            self._follow_call(node)

    def _follow_call(self, call: ast.Call) -> None:
        """Record the parameters that get such a value, and a list that one is added to."""
        function = call.func
        into = function.value if isinstance(function, ast.Attribute) else None
        if into and _called_name(function) in _GROWING and any(map(self.holds, call.args)):
            self._give(into)
        for parameters in self._parameters.get(_called_name(function), ()):
            given = [*zip(parameters, call.args, strict=False)]
            given += [(word.arg, word.value) for word in call.keywords if word.arg in parameters]
            self.names.update(name for name, value in given if self.holds(value))

    def _give(self, target: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._give(part)
        elif isinstance(target, (ast.Starred, ast.Subscript)):
            self._give(target.value)
        elif isinstance(target, ast.Name):
            self.names.add(target.id)
        elif isinstance(target, ast.Attribute):
            self.attributes.add(target.attr)

    def holds(self, node: ast.expr) -> bool:
        """Return whether an expression may be, or contain, a value of NumPy's."""
        if isinstance(node, ast.Name):
            return node.id in self.names
        if isinstance(node, ast.Call):
            return self._returns(node)
        if isinstance(node, ast.Attribute):
            is_kind = node.attr in _KINDS and getattr(node.value, "id", "") in self.modules
            return is_kind or node.attr in self.attributes or (
                node.attr in _KEEPING and self.holds(node.value)
            )  # fmt: skip
        return any(map(self.holds, _parts(node)))

    def _returns(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Name):
            if function.id in _BUILTINS or function.id in _DIVISIONS or function.id in self._looped:
                return function.id in self.names or any(map(self.holds, call.args))
            return function.id in self.functions or function.id in self.names
        if not isinstance(function, ast.Attribute):
            return False
        if function.attr in _METHODS or function.attr in self.functions:
            return True
        if function.attr in _KEEPING and self.holds(function.value):
            return True
        root = function.value
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and root.id in self.modules


def _names_in(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _called_name(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's parameters, in the order of a call's arguments."""
    taken = function.args
    names = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _of_numpy(module: str | None) -> bool:
    return (module or "").partition(".")[0] == "numpy"


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """Give the parts of an expression of which its value is made."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, (ast.Subscript, ast.Starred, ast.NamedExpr)):
        yield node.value
    elif isinstance(node, (ast.Tuple, ast.List)):
        yield from node.elts
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        yield node.elt


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the returned expressions of a function, without those of inner functions."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


class _Repair(ast.NodeTransformer):
    def __init__(self, values: Values) -> None:
        self.values = values
        self.changed = False

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        wanted = self._meets(node.op, node.left, node.right)
        self.generic_visit(node)
        if not wanted:
            return node
        return self._call(COMBINE, [_name(_named(node.op)), node.left, node.right], node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        wanted = _is_plain(node.target) and self._meets(node.op, node.target, node.value)
        self.generic_visit(node)
        if wanted:
            beside = ast.parse(ast.unparse(node.target), mode="eval").body
            name = ADDED_AT if isinstance(node.target, ast.Subscript) else ADDED
            node.value = self._call(name, [node.value, beside], node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if self._combines(node):
            self.generic_visit(node)
            return self._call(COMBINE, [function, *node.args], node)
        wanted = isinstance(function, ast.Name) and any(map(self.values.holds, node.args))
        self.generic_visit(node)
        if not wanted or not isinstance(function, ast.Name):
            return node
        if function.id in _DIVISIONS:
            return self._call(COMBINE, [function, *node.args], node)
        if function.id in _REPLACED and function.id not in self.values.functions:
            self.changed = True
            node.func = ast.copy_location(_name(_REPLACED[function.id]), function)
        return node

    def _combines(self, call: ast.Call) -> bool:
        """Return whether a call is of a function of NumPy's that combines two operands."""
        return (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in _COMBINING
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id in self.values.modules
            and len(call.args) == 2
            and not call.keywords
            and not any(isinstance(operand, ast.Starred) for operand in call.args)
        )

    def _meets(self, kind: ast.operator, left: ast.expr, right: ast.expr) -> bool:
        """Return whether an operation may be one of NumPy's values, and is not one of text."""
        texts = any(
            isinstance(side, ast.JoinedStr)
            or (isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)))
            for side in (left, right)
        )
        return (
            _named(kind) != ""
            and not texts
            and (self.values.holds(left) or self.values.holds(right))
        )

    def _call(self, name: str, args: list[ast.expr], node: ast.expr) -> ast.expr:
        self.changed = True
        call = ast.copy_location(ast.Call(_name(name), args, []), node)
        return ast.fix_missing_locations(call)


def _named(kind: ast.operator) -> str:
    return _NAMES.get(type(kind).__name__, "")


def _is_plain(target: ast.expr) -> bool:
    """Return whether reading a target twice is the same as reading it once."""
    if isinstance(target, ast.Attribute):
        return _is_plain(target.value)
    if isinstance(target, ast.Subscript):
        return _is_plain(target.value) and isinstance(target.slice, (ast.Name, ast.Constant))
    return isinstance(target, ast.Name)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
