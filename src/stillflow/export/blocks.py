"""Name scopes that compute the same with weights of their own, as instances of one class.

The statements of scopes are compared as text in which a name stands for the order in which it comes
up: scopes of equal text, such as the layers of a transformer, share a class.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stillflow.export.body import Names

_LEAST = 4  # statements of a class
_Path = tuple[str, ...]


@dataclass
class Block:
    """A class for several scopes.

    Attributes:
      name: of the class.
      scopes: the scopes in TensorFlow.
      members: the expressions that make its members, by key.
      arguments: names of `forward`'s arguments.
      lines: of `forward`.
    """

    name: str
    scopes: list[str]
    members: dict[str, str]
    arguments: list[str]
    lines: list[str]


@dataclass
class _Statement:
    lines: list[str]
    tree: ast.stmt
    path: _Path | None  # of the scope of its operation
    made: list[str]
    taken: set[str]  # local names, and "self.key" for members
    shape: str  # its text without names


@dataclass
class _Scope:
    """A scope's statements, from `first` to before `last`.

    Attributes:
      key: of its instance in the model.
      names: locals, and members from elsewhere -> their order.
      inside: members that its instance has.
      text: what has to be equal for one class.
    """

    path: _Path
    first: int
    last: int
    key: str = ""
    names: dict[str, str] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)
    text: tuple[str, ...] = ()

    @property
    def places(self) -> range:
        return range(self.first, self.last)


class BlockFinder:
    """Finder of repeated scopes in the lines of a `forward`.

    Args:
      lines: the lines, indented twice.
      arguments: names of the function's arguments.
      members: the expressions that make the model's members, by key.
      unique: returns a class name that the module does not have yet, from a wish.
    """

    def __init__(
        self, lines: Sequence[str], arguments: Sequence[str], members: dict[str, str],
        unique: Callable[[str], str],
    ) -> None:  # fmt: skip
        self.members, self.unique, self.locals = members, unique, set(arguments)
        self.statements = self._parsed(lines)
        self.holders: dict[str, list[int]] = {}  # names -> the statements that take them
        for place, each in enumerate(self.statements):
            for name in each.taken:
                self.holders.setdefault(name, []).append(place)
        for place, each in enumerate(self.statements):  # sizes that no layer needs
            if each.made and each.lines[0].lstrip().startswith("size"):
                each.lines = each.lines if self.holders[each.made[0]] != [place] else []
        self.makers = Counter(name for each in self.statements for name in each.made)

    def find(self) -> tuple[list[str], list[Block]]:
        """Return the lines of a `forward` that calls blocks; members become those of blocks."""
        groups: dict[Any, list[_Scope]] = {}
        scopes = list(self._scopes())
        shared: dict[Any, set[int]] = {}  # weights -> the statements of scopes that take them
        for scope in scopes:
            shared.setdefault(self._weights(scope), set()).update(scope.places)
        for scope in scopes:
            for places in {frozenset(scope.places), frozenset(shared[self._weights(scope)])}:
                spelled = _Scope(scope.path, scope.first, scope.last)
                if self._spell(spelled, places):
                    key = "" if len(places) == len(scope.places) else spelled.key
                    groups.setdefault((key, *spelled.text), []).append(spelled)
        blocks: list[Block] = []
        calls: dict[int, tuple[int, list[str]]] = {}  # places -> that behind, and the lines
        used: set[int] = set()
        for group in sorted(groups.values(), key=lambda g: (1 - len(g)) * len(g[0].places)):
            free: list[_Scope] = []
            left = set(range(len(self.statements))) - used
            for each in sorted(group, key=lambda scope: -len(scope.path)):
                if left.issuperset(each.places):
                    left -= {*each.places}
                    free.append(each)
            if len(free) > 1 and self.members.keys().isdisjoint(each.key for each in free):
                used = set(range(len(self.statements))) - left
                blocks.append(self._block(sorted(free, key=lambda scope: scope.first), calls))
        lines: list[str] = []
        place = 0
        while place < len(self.statements):
            place, added = calls.get(place, (place + 1, self.statements[place].lines))
            lines += added
        return lines, blocks

    # ---- statements

    def _parsed(self, lines: Sequence[str]) -> list[_Statement]:
        source = "\n".join(["def forward():", *lines, ""])
        (function,) = ast.parse(source).body
        assert isinstance(function, ast.FunctionDef)
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = {t.start[0]: t.string[2:] for t in tokens if t.type == tokenize.COMMENT}
        self.locals.update(_stored(function))
        found: list[_Statement] = []
        start = 2
        for tree in function.body:
            end = (tree.end_lineno or 0) + 1
            paths = [tuple(comments[n].split("/")[:-1]) for n in range(start, end) if n in comments]
            path = _common(paths) if paths else None
            words = list(self._words(tree, lambda name: f"@{name}"))
            taken = {word[1:] for word in words if word[0] == "@"}
            shape = " ".join("@" if word[0] == "@" else word for word in words)
            part = list(lines[start - 2 : end - 2])
            found.append(_Statement(part, tree, path, _stored(tree), taken, shape))
            start = end
        for statement, after in zip(found[-2::-1], found[:0:-1], strict=True):
            if statement.path is None:
                statement.path = after.path  # it serves the operation behind it
        return found

    def _words(self, node: Any, name_of: Callable[[str], str]) -> Iterator[str]:
        """Yield the words of a tree; those of local names and of members are given."""
        if isinstance(node, ast.Name) and node.id in self.locals:
            yield name_of(node.id)
        elif isinstance(node, ast.Attribute) and (key := self._member(node)):
            yield name_of(f"self.{key}")
        elif isinstance(node, ast.AST):
            yield type(node).__name__
            for _, value in ast.iter_fields(node):
                yield from self._words(value, name_of)
        elif isinstance(node, list):
            yield "["
            for each in node:
                yield from self._words(each, name_of)
            yield "]"
        else:
            yield repr(node)

    def _member(self, node: ast.expr) -> str:
        """Return the key of the member that an expression is, or ""."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        key = ".".join(reversed(parts))
        named = isinstance(node, ast.Name) and node.id == "self"
        return key if named and (key in self.members or key == "device") else ""

    # ---- scopes

    def _scopes(self) -> Iterator[_Scope]:
        """Yield the scopes whose statements stand together and look like those of others."""
        found: dict[_Path, list[int]] = {}
        for place, statement in enumerate(self.statements):
            for end in range(1, len(statement.path or ()) + 1):
                found.setdefault((statement.path or ())[:end], []).append(place)
        scopes = [
            _Scope(path, places[0], places[-1] + 1) for path, places in found.items()
            if len(places) >= _LEAST and places[-1] - places[0] + 1 == len(places)
        ]  # fmt: skip
        shapes = [tuple(self.statements[place].shape for place in s.places) for s in scopes]
        times = Counter(shapes)
        yield from (s for s, shape in zip(scopes, shapes, strict=True) if times[shape] > 1)

    def _weights(self, scope: _Scope) -> Any:
        taken = {name for place in scope.places for name in self.statements[place].taken}
        return len(scope.places), *sorted(
            n for n in taken if n.startswith("self.") and n.count(".") > 1
        )

    def _spell(self, scope: _Scope, places: frozenset[int]) -> bool:
        """Set the text of a scope; return False for one that can be no class.

        `places` are the statements that may take its members: its own, or those that share them.
        """
        part = self.statements[scope.first : scope.last]
        taken = {name for each in part for name in each.taken}
        own = {
            name.removeprefix("self.") for name in taken
            if name.startswith("self.") and places.issuperset(self.holders[name])
        } - {"device"}  # fmt: skip
        paths = [tuple(key.split(".")[:-1]) for key in own if "." in key]
        scope.key = ".".join(_common(paths)) if paths else ""
        start = f"{scope.key}."
        below = {key for key in self.members if key.startswith(start)}
        made = Counter(name for each in part for name in each.made)
        if not scope.key or scope.key in self.members or not below <= own:
            return False
        if any(self.makers[name] != times for name, times in made.items()):
            return False
        # Small constants stand at the top of the model.
        small = {
            key for key in own - below if self.members[key].endswith("!")
            and set(self.holders[f"self.{key}"]) <= {*scope.places}
        }  # fmt: skip
        scope.inside = {key: self.members[key] for key in sorted({*below, *small})}

        def name_of(name: str) -> str:
            key = name.removeprefix("self.")
            if key in below and name != key:
                return f"self.{key.removeprefix(start)}"
            made = f"={self.members[key]}" if key in small and name != key else ""
            return scope.names.setdefault(name, f"v{len(scope.names)}") + made

        words = [word for each in part for word in self._words(each.tree, name_of)]
        makes = [f"{k.removeprefix(start)}={self.members[k]}" for k in sorted(below)]
        scope.text = (*makes, *words)
        return True

    # ---- classes

    def _block(self, scopes: list[_Scope], calls: dict[int, tuple[int, list[str]]]) -> Block:
        """Return the class of scopes, and add its calls."""
        first = scopes[0]
        made = {name for place in first.places for name in self.statements[place].made}
        orders = [{order: name for name, order in each.names.items()} for each in scopes]
        given = [
            order for order, name in orders[0].items()
            if name not in made and name.removeprefix("self.") not in first.inside
        ]  # fmt: skip
        results = [
            order for order, name in orders[0].items() if name in made and any(
                not set(self.holders.get(names[order], ())) <= {*each.places}
                for names, each in zip(orders, scopes, strict=True))
        ]  # fmt: skip
        ends = [each.key.rpartition(".")[2] for each in scopes]
        wish = "".join(_common([tuple(end) for end in ends]))
        wish = wish if wish in ends else wish.rstrip("_0123456789")
        words = re.findall(r"[A-Za-z]+|\d+", wish.lstrip("_0123456789") or "block")
        name = self.unique("".join(word[0].upper() + word[1:] for word in words))
        for each, names in zip(scopes, orders, strict=True):
            targets = ", ".join(names[order] for order in results)
            values = ", ".join(names[order] for order in given)
            call = f"        {targets} = self.{each.key}({values})  # {'/'.join(each.path)}"
            calls[each.first] = each.last, [call]
            for key in each.inside:
                self.members.pop(key, None)
            self.members[each.key] = f"{name}()"
        lines = [line for place in first.places for line in self.statements[place].lines]
        lines.append(f"        return {', '.join(orders[0][order] for order in results)}")
        text = re.sub(rf"\bself\.{re.escape(first.key)}\.", "self.", "\n".join(lines))
        text = text.replace(f"# {'/'.join(first.path)}/", "# ")
        arguments = {orders[0][order]: orders[0][order] for order in given}
        local = Names(first.names)
        for outer in sorted((each for each in arguments if "." in each), key=len, reverse=True):
            arguments[outer] = local(outer.rpartition(".")[2])
            text = re.sub(rf"\b{re.escape(outer)}\b", arguments[outer], text)
        inside = {key.removeprefix(f"{first.key}."): make for key, make in first.inside.items()}
        shown = ["/".join(scope.path) for scope in scopes]
        return Block(name, shown, inside, list(arguments.values()), text.split("\n"))


def _stored(tree: ast.AST) -> list[str]:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return list(dict.fromkeys(n.id for n in names if isinstance(n.ctx, ast.Store)))


def _common(paths: Sequence[_Path]) -> _Path:
    """Return the beginning that all paths share."""
    different = (n for n, parts in enumerate(zip(*paths, strict=False)) if len({*parts}) > 1)
    return paths[0][: next(different, min(map(len, paths)))]
