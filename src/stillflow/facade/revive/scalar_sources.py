"""Calls, formats, stores and comparisons that arrays may take part in, rewritten for them.

``int(x)`` becomes a call of `scalars.to_int`, ``"%d" % x`` one of `scalars.percent`, ``x[i] = v``
is tried first and repaired if it fails, and comparisons of values that may be NumPy's go through
`comparisons`.  Operands that cannot be arrays are left alone: constants, lengths, text.  In modules
that import pandas, assignments to a column of a frame change the frame.
"""

from __future__ import annotations

import ast
import copy
import re
import struct
from types import CodeType

from stillflow.facade.revive.number_sources import Values
from stillflow.facade.revive.rewrite import as_expression

_PREFIX = "__stillflow_"


def _named(*names: str) -> dict[str, str]:
    return {f"{_PREFIX}{name}__": name for name in names}


# {name in rewritten code: name in `scalars`}, {...: name in `comparisons`}, {...: in `operator`}
SCALARS = _named(
    "call_all",
    "call_one",
    "filled",
    "to_int",
    "to_float",
    "to_complex",
    "percent",
    "stored",
    "set_item",
    "typed",
)
COMPARISONS = _named("compared", "ordered", "contained", "truth")
CHAINS = _named("chained", "in_place")
_PANDAS = "stillflow.facade.revive.old_pandas"
TYPED = f"{_PREFIX}typed__"
_COMPARED = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}
OPERATORS = {f"{_PREFIX}operator_{name}__": name for name in _COMPARED.values()}

# Modules whose functions take numbers, and in others those that do.
_OF_NUMBERS = frozenset({"math", "cmath"})
_FUNCTIONS = {
    "random": {"randint", "randrange"}, "time": {"sleep"}, "struct": {"pack", "pack_into"},
    "array": {"array"},
}  # fmt: skip
_OF_CLASSES = frozenset({"fromtimestamp", "utcfromtimestamp"})
_BUILT_IN = {"int": "to_int", "float": "to_float", "complex": "to_complex"}
_TYPES = frozenset({
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "byte", "ubyte", "short", "ushort", "intc", "uintc", "uint", "ulonglong", "longlong",
})  # fmt: skip
_TO_NUMBERS = re.compile(r"%(?:\([^)]*\))?[-#0 +]*[\d.*]*[hlL]?[diufFeEgG]")
# Methods that return text, lengths and the like, of any object.
_PLAIN_CALLS = frozenset({"len", "ord", "id", "hash", "input", "raw_input", "str", "repr", "bool"})
_PLAIN_METHODS = frozenset({
    "strip", "lstrip", "rstrip", "split", "group", "groups", "readline", "read", "replace", "join",
    "lower", "upper", "getenv", "time", "total_seconds", "get_shape", "as_list",
})  # fmt: skip
_SMALL = 127  # every type of integers holds numbers from 0 to here
_FAILURES = ("TypeError", "ValueError", "OverflowError")


def suspicious(code: CodeType) -> bool:
    """Return whether code, the nested functions left out, may take arrays for numbers; cheap."""
    return not _SUSPECTS.isdisjoint(code.co_names) or any(
        isinstance(constant, str) and "%" in constant and _TO_NUMBERS.search(constant)
        for constant in code.co_consts
    )


_SUSPECTS = _OF_NUMBERS | _BUILT_IN.keys()
# Types of Python that NumPy had under these names; they are types of NumPy's own now.
_ALIASES = {"bool": "bool", "long": "int"}


def rewritten(tree: ast.Module, values: Values) -> tuple[ast.Module, dict[str, dict[str, str]]]:
    """Return a module's tree after its repair, and the required imports."""
    from stillflow.facade.revive import comparisons, indexing, scalars

    wanted: dict[str, dict[str, str]] = {}
    if any(name.partition(".")[0] == "pandas" for name in _imports(tree)):
        chains = Chains()
        tree = chains.visit(tree)
        if chains.changed:
            wanted[_PANDAS] = CHAINS
    nested = indexing.Nested(values.holds)
    tree = nested.visit(tree)
    if nested.changed:
        wanted[indexing.__name__] = indexing.NESTED
    if scalars.renamed():
        aliases = Aliases(values)
        tree = aliases.visit(tree)
        if aliases.used:
            wanted["builtins"] = aliases.used
    if scalars.needed() or scalars.bounded():
        repair = Scalars(values, tree)
        tree = repair.visit(tree)
        values.functions.add(TYPED)
        if repair.changed:
            wanted[scalars.__name__] = SCALARS
    if comparisons.needed():
        compared = Comparisons(values)
        tree = compared.visit(tree)
        if compared.changed:
            wanted[comparisons.__name__] = COMPARISONS
            wanted["operator"] = OPERATORS
    return tree, wanted


class Aliases(ast.NodeTransformer):
    """Rewriter of ``np.bool`` and ``np.long`` to types of Python's.

    Attributes:
      used: {name in rewritten code: name in `builtins`}.
    """

    def __init__(self, values: Values) -> None:
        self._modules = values.modules
        self.used: dict[str, str] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Put the type in the place of its former name."""
        self.generic_visit(node)
        meant = _ALIASES.get(node.attr)
        of_numpy = isinstance(node.value, ast.Name) and node.value.id in self._modules
        if meant is None or not of_numpy or not isinstance(node.ctx, ast.Load):
            return node
        name = f"{_PREFIX}python_{meant}__"
        self.used[name] = meant
        return ast.copy_location(ast.Name(name, ast.Load()), node)


class Scalars(ast.NodeTransformer):
    """Rewriter for arrays of one element as numbers, and integers that wrap around.

    Args:
      values: what may be NumPy's in the module.
      tree: the module.
    """

    def __init__(self, values: Values, tree: ast.Module) -> None:
        self.values = values
        self.changed = False
        self.bound: set[str] = set()
        self.modules: dict[str, str] = {}
        self.functions: set[str] = set()
        self.texts: set[str] = set()
        self._temporaries = 0
        for node in ast.walk(tree):
            self._take_note(node)

    def _take_note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)
        elif isinstance(node, ast.arg):
            self.bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            self.bound.add(node.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                self.modules[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                self.bound.add(name)
                if not node.level and _takes_numbers(node.module or "", alias.name):
                    self.functions.add(name)
        elif isinstance(node, ast.Assign) and self._is_text(node.value):
            self.texts.update(item.id for item in node.targets if isinstance(item, ast.Name))

    def _is_text(self, node: ast.expr) -> bool:
        """Return whether an expression is text, with a conversion of numbers if it stands here."""
        if isinstance(node, ast.Constant):
            value = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            return isinstance(value, str) and _TO_NUMBERS.search(value) is not None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._is_text(node.left) or self._is_text(node.right)
        return isinstance(node, ast.Name) and node.id in self.texts

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name):
            if function.id in self.bound:
                known = function.id in self.functions
                return self._called(node) if known and _any_number(node) else node
            if function.id == "map" and node.args:
                self._mapping(node)
            elif function.id in _BUILT_IN and _any_number(node):
                if _is_of_one(node):
                    return self._replaced(_BUILT_IN[function.id], node.args, node)
                return self._called(node)
            elif function.id == "chr" and _any_number(node):
                return self._called(node)
        elif not isinstance(function, ast.Attribute):
            return node
        elif function.attr == "fill" and self.values.holds(function.value):
            return self._replaced("filled", [function.value, *node.args], node, node.keywords)
        elif function.attr in _OF_CLASSES and _any_number(node):
            return self._called(node)
        elif isinstance(function.value, ast.Name):
            root, name = function.value.id, function.attr
            if _takes_numbers(self.modules.get(root, ""), name) and _any_number(node):
                return self._called(node)
            if root in self.values.modules and name in _TYPES and any(map(_storable, node.args)):
                return self._replaced("typed", [function, *node.args], node, node.keywords)
        return node

    def _mapping(self, call: ast.Call) -> None:
        """Make `map` call a function of ours instead of ``int`` or ``float``."""
        first = call.args[0]
        if isinstance(first, ast.Name) and first.id in _BUILT_IN and first.id not in self.bound:
            self.changed = True
            call.args[0] = ast.copy_location(_name(_BUILT_IN[first.id]), first)

    def _called(self, node: ast.Call) -> ast.expr:
        if _is_of_one(node):
            return self._replaced("call_one", [node.func, *node.args], node)
        return self._replaced("call_all", [node.func, *node.args], node, node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and self._is_text(node.left):
            parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            if any(_may_be_array(part) for part in parts):
                return self._replaced("percent", [node.left, node.right], node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return node
        if _is_key(target.slice) or not _storable(node.value):
            return node
        twice = _is_plain(target.value) and _is_plain(target.slice)
        if not twice and not self.values.holds(target.value):
            return node
        self.changed = True
        # The value has a name, since an assignment evaluates it first, a call would do so last.
        value, before, after = node.value, [], []
        if not isinstance(value, (ast.Name, ast.Constant)):
            self._temporaries += 1
            name = f"{_PREFIX}value_{self._temporaries}__"
            before = [ast.Assign([ast.Name(name, ast.Store())], value)]
            after = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))]
            value = ast.Name(name, ast.Load())
        node.value = value
        made: list[ast.stmt] = [*before, self._store(node, target, value, twice), *after]
        return [ast.fix_missing_locations(ast.copy_location(item, node)) for item in made]

    def _store(
        self, node: ast.Assign, target: ast.Subscript, value: ast.expr, twice: bool
    ) -> ast.stmt:
        """Return an assignment that is repaired if it fails; trying it costs nothing."""
        if not twice:
            places = [target.value, as_expression(target.slice), value]
            return ast.Expr(ast.Call(_name("set_item"), places, []))
        again = copy.deepcopy([target.value, as_expression(target.slice), value])
        handler = ast.ExceptHandler(
            ast.Tuple([ast.Name(kind, ast.Load()) for kind in _FAILURES], ast.Load()),
            None,
            [ast.If(
                ast.UnaryOp(ast.Not(), ast.Call(_name("stored"), again, [])), [ast.Raise()], []
            )],
        )  # fmt: skip
        return ast.Try([node], [handler], [], [])

    def _replaced(
        self,
        name: str,
        args: list[ast.expr],
        node: ast.AST,
        keywords: list[ast.keyword] | None = None,
    ) -> ast.expr:
        self.changed = True
        call = ast.copy_location(ast.Call(_name(name), args, keywords or []), node)
        return ast.fix_missing_locations(call)


class Chains(ast.NodeTransformer):
    """Rewriter for ``frame["x"][i] = v`` and ``frame["x"].fillna(0, inplace=True)``."""

    def __init__(self) -> None:
        self.changed = False

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return node
        parts = _column(target.value)
        # All is evaluated twice unless it is plain, which a value that is a call is not.
        twice = all(map(_is_plain, (target.value, target.slice, node.value)))
        if parts is None or not twice:
            return node
        again = copy.deepcopy([*parts, as_expression(target.slice), node.value])
        call = ast.Call(_name("chained"), again, [])
        return self._made(ast.If(ast.UnaryOp(ast.Not(), call), [node], []), node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return node
        owner = call.func.value
        if not isinstance(owner, ast.Subscript) or not _is_key(owner.slice):
            return node
        if not any(word.arg == "inplace" for word in call.keywords):
            return node
        parts = [owner.value, owner.slice, ast.Constant(call.func.attr), *call.args]
        return self._made(ast.Expr(ast.Call(_name("in_place"), parts, call.keywords)), node)

    def _made(self, new: ast.stmt, old: ast.stmt) -> ast.stmt:
        self.changed = True
        return ast.fix_missing_locations(ast.copy_location(new, old))


def _column(node: ast.expr) -> list[ast.expr] | None:
    """Return a possible frame, and a column of it; None if it is none."""
    if isinstance(node, ast.Subscript) and _is_key(node.slice):
        return [node.value, node.slice]
    if isinstance(node, ast.Attribute) and node.attr not in ("loc", "iloc", "at", "iat", "values"):
        return [node.value, ast.Constant(node.attr)]
    return None


def _imports(tree: ast.Module) -> set[str]:
    """Return the names of the modules that a module imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


class Comparisons(ast.NodeTransformer):
    """Rewriter for comparisons with the types of old NumPy, and for empty arrays that are false.

    Arrays of different shapes are unequal; ``0.1 == np.float32(0.1)`` compares doubles.

    Args:
      values: what may be NumPy's in the module.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        self.changed = False

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        sides = [node.left, *node.comparators]
        wanted = any(map(self.values.holds, sides))
        if wanted and len(node.ops) > 1 and all(map(_is_plain, sides[1:-1])):
            return self.visit(_pairs(node))
        self.generic_visit(node)
        if not wanted or len(node.ops) > 1:
            return node
        kind = node.ops[0]
        if isinstance(kind, (ast.In, ast.NotIn)):
            found = self._call("contained", [node.left, node.comparators[0]], node)
            if isinstance(kind, ast.In):
                return found
            return ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        meant = _COMPARED.get(type(kind).__name__)
        if meant is None or any(map(_is_narrow, sides)):
            return node
        name = "compared" if meant in ("eq", "ne") else "ordered"
        return self._call(name, [_name(f"operator_{meant}"), node.left, node.comparators[0]], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        plain = isinstance(node.func, ast.Name) and node.func.id == "bool" and len(node.args) == 1
        wanted = plain and self.values.holds(node.args[0])
        self.generic_visit(node)
        return self._call("truth", node.args, node) if wanted else node

    def _test(self, node: ast.AST) -> ast.AST:
        test: ast.expr = node.test  # type: ignore[attr-defined]
        wanted = self._true(test)
        self.generic_visit(node)
        if wanted:
            node.test = self._tested(node.test)  # type: ignore[attr-defined]
        return node

    visit_If = visit_While = visit_IfExp = visit_Assert = _test

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        wanted = isinstance(node.op, ast.Not) and self._true(node.operand)
        self.generic_visit(node)
        if wanted:
            node.operand = self._tested(node.operand)
        return node

    def _true(self, test: ast.expr) -> bool:
        """Return whether a condition may be an array."""
        if isinstance(test, ast.BoolOp):
            return any(map(self._true, test.values))
        if isinstance(test, ast.Compare):
            sides = [test.left, *test.comparators]
            return not isinstance(test.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) and any(
                map(self.values.holds, sides)
            )
        return self.values.holds(test)

    def _tested(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.BoolOp):
            test.values = [self._tested(part) for part in test.values]
            return test
        if isinstance(test, (ast.Constant, ast.UnaryOp)):
            return test
        return self._call("truth", [test], test)

    def _call(self, name: str, args: list[ast.expr], node: ast.AST) -> ast.expr:
        self.changed = True
        call = ast.copy_location(ast.Call(_name(name), args, []), node)
        return ast.fix_missing_locations(call)


def _takes_numbers(module: str, name: str) -> bool:
    return module in _OF_NUMBERS or name in _FUNCTIONS.get(module, ())


def _is_of_one(call: ast.Call) -> bool:
    """Return whether a call has one argument, given by place."""
    alone = len(call.args) == 1 and not call.keywords
    return alone and not isinstance(call.args[0], ast.Starred)


def _any_number(call: ast.Call) -> bool:
    return any(
        _may_be_array(item) for item in [*call.args, *(word.value for word in call.keywords)]
    )


def _may_be_array(node: ast.expr) -> bool:
    """Return False for certain numbers and texts."""
    if isinstance(node, ast.BinOp):
        return _may_be_array(node.left) or _may_be_array(node.right)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and _may_be_array(node.operand)
    if isinstance(node, ast.Subscript):
        return _may_be_array(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr not in ("shape", "argv", "size", "ndim")
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute):
            return function.attr not in _PLAIN_METHODS
        return not (isinstance(function, ast.Name) and function.id in _PLAIN_CALLS)
    return not isinstance(node, (ast.Constant, ast.JoinedStr, ast.Compare))


def _storable(node: ast.expr) -> bool:
    """Return whether storing a value may fail where it did not."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int and not 0 <= node.value <= _SMALL
    return not isinstance(node, (ast.JoinedStr, ast.Dict, ast.Set, ast.Lambda, ast.DictComp))


def _is_plain(node: ast.AST) -> bool:
    """Return whether an expression can be evaluated again."""
    if isinstance(node, (ast.Name, ast.Constant)):
        return True
    if isinstance(node, (ast.Attribute, ast.Starred)):
        return _is_plain(node.value)
    if isinstance(node, ast.Subscript):
        return _is_plain(node.value) and _is_plain(node.slice)
    if isinstance(node, (ast.Slice, ast.BinOp, ast.Compare, ast.UnaryOp, ast.Tuple, ast.List)):
        parts = ast.iter_child_nodes(node)
        return all(_is_plain(item) for item in parts if isinstance(item, ast.expr))
    return False


def _is_key(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _is_narrow(node: ast.expr) -> bool:
    """Return whether it is None, or a number that every type of floating point holds."""
    value = getattr(node, "value", "") if isinstance(node, ast.Constant) else ""
    if not isinstance(value, (int, float)):
        return value is None
    try:
        return bool(struct.unpack("e", struct.pack("e", value))[0] == value)
    except (OverflowError, struct.error):
        return False


def _pairs(chain: ast.Compare) -> ast.expr:
    """Return ``a < b and b < c`` for ``a < b < c``."""
    sides = [chain.left, *chain.comparators]
    pairs: list[ast.expr] = [
        ast.Compare(copy.deepcopy(left), [kind], [right])
        for left, kind, right in zip(sides, chain.ops, sides[1:], strict=False)
    ]
    return ast.fix_missing_locations(ast.copy_location(ast.BoolOp(ast.And(), pairs), chain))


def _name(name: str) -> ast.Name:
    return ast.Name(f"{_PREFIX}{name}__", ast.Load())
