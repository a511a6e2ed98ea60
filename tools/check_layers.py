"""Check that modules import from their own layer and from those below it, in every kind of import.

An import counts wherever it stands: at the top of a module, inside a function, or as the name of a
module in a string (`import_module("stillflow.ops")`, `LazyModule`). Imports for type checkers alone
do not. `tools/layers_allowed.txt` lists the edges that still point upward and the size of the
largest cycle; neither may grow. The public API, `import stillflow as tf`, is an error below keras,
and so is a `LazyModule` anywhere that type checkers do not see as a module.

    python tools/check_layers.py            # what remains, by package; exit status 1 if it grew
    python tools/check_layers.py --shrink   # drop removed imports from the list
    python tools/check_layers.py --cycle    # print the largest cycle, with its edges
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
ALLOWED = ROOT / "tools" / "layers_allowed.txt"
PACKAGE = "stillflow"
PACKAGES = (PACKAGE, "stillflow_contrib")

# From the lowest to the highest. Packages of one layer may import each other. A name stands for all
# below it that has no line of its own. `_providers` connects the layers, so it stands at the top.
LAYERS = (
    "_api _export _home _hooks _leaving _missing _namespace _renamed version",
    (
        "errors native nest protos util"
        " platform.app platform.compat platform.native_level platform.tf_logging"
    ),
    "files",
    "graph",
    "ops",
    "runtime",
    "eager functional",
    (
        "distributions image linalg lookup losses metrics nn ragged random signal strings"
        " summary variables xla train.saveables"
        " train.global_step train.tracking.base train.tracking.captured_variables"
        " train.tracking.resources"
    ),
    (
        "autograph data debug distribute graph_util layers nn.recurrent nn.rnn_cell platform"
        " profiler saved_model train"
    ),
    (
        "keras layers.convolutional layers.core layers.normalization layers.pooling"
        " layers.separable layers.transposed"
    ),
    "estimator feature_column keras.estimator",
    "export lite serve testing tools",
    "contrib",
    "stillflow_contrib",
    "facade cli __main__ _providers .",
)
# The public API (`import stillflow as tf`) reaches every layer. From this one on it may be used;
# modules below name the modules that define what they call.
API_FROM = "keras"
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}
GENERATED = {f"{package}._api" for package in PACKAGES}

Graph = dict[str, dict[str, str]]


class Edge(NamedTuple):
    """An import of `target` by `source`."""

    source: str
    target: str
    kind: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


def modules(source: Path = SOURCE) -> dict[str, Path]:
    """Return the modules of the packages, by full name."""
    found = {}
    for path in (path for package in PACKAGES for path in sorted((source / package).rglob("*.py"))):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def layer(module: str) -> int:
    """Return the rank of the layer that a module belongs to.

    Raises:
      KeyError: if the table names neither the module nor a package around it.
    """
    name = "." if module == PACKAGE else module.removeprefix(f"{PACKAGE}.")
    while name not in RANKS:
        if "." not in name:
            raise KeyError(f"{module} is in no layer: add it to LAYERS in tools/check_layers.py")
        name = name.rpartition(".")[0]
    return RANKS[name]


class _Imports:
    """The modules that one module names."""

    def __init__(self, module: str, path: Path, known: Iterable[str]) -> None:
        self.module, self.known = module, known
        self.package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        self.found: dict[str, str] = {}
        self._visit(ast.parse(path.read_text(encoding="utf-8")), "top")

    def _visit(self, node: ast.AST, kind: str) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            children: Iterable[ast.AST] = node.orelse
        else:
            children = ast.iter_child_nodes(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            kind = "function"
        for name in self._imported(node):
            self._add(name, kind)
        if _loads_package(node):
            self._add(PACKAGE, "string")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._add_text(node.value)
        for child in children:
            self._visit(child, kind)

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = self.package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, *filter(None, [node.module])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in self.known else base

    def _add_text(self, text: str) -> None:
        """Count a string that is the name of a module, or the beginning of one in an f-string."""
        name = text.partition(":")[0].rstrip(".")
        if "." in name and name in self.known:
            self._add(name, "string")

    def _add(self, name: str, kind: str) -> None:
        while name and name not in self.known:
            name = name.rpartition(".")[0]
        if name and name != self.module:
            self.found.setdefault(name, kind)


def _loads_package(node: ast.AST) -> bool:
    """Return True for `import_module("stillflow")` and its like."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    loader = ast.unparse(node.func).rpartition(".")[2]
    argument = node.args[0]
    named = isinstance(argument, ast.Constant) and argument.value == PACKAGE
    return named and loader in ("import_module", "LazyModule", "__import__")


def untyped_lazy_modules(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that make a `LazyModule` outside the `else` of `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Call) and ast.unparse(child.func).endswith("LazyModule"):
            yield child.lineno
        yield from untyped_lazy_modules(child)


def imports(source: Path = SOURCE) -> Graph:
    """Return the imports of each module, and their kinds: module -> {module: kind}."""
    known = modules(source)
    return {
        name: _Imports(name, path, known).found if name not in GENERATED else {}
        for name, path in known.items()
    }


def upward(graph: Graph) -> Iterator[Edge]:
    """Yield the imports of modules of a higher layer, other than the public API."""
    for source, targets in graph.items():
        for target, kind in targets.items():
            if target != PACKAGE and layer(source) < layer(target):
                yield Edge(source, target, kind)


def api_imports(graph: Graph) -> Iterator[Edge]:
    """Yield the imports of the public API below `API_FROM`."""
    for source, targets in graph.items():
        if PACKAGE in targets and layer(source) < RANKS[API_FROM]:
            yield Edge(source, PACKAGE, targets[PACKAGE])


def largest_cycle(graph: Graph) -> list[str]:
    """Return the largest set of modules that reach each other, without the two that reach all."""
    inner = {name: graph[name] for name in graph if name not in (PACKAGE, f"{PACKAGE}._providers")}
    found = [sorted(group) for group in _components(inner) if len(group) > 1]
    return max(found, key=len, default=[])


def _components(graph: Graph) -> Iterator[list[str]]:
    """Yield the strongly connected components (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        while work:
            node, targets = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            for target in targets:
                if target not in graph:
                    continue
                if target not in index:
                    work.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on_stack.difference_update(group)
                    yield group


def read_allowed(path: Path) -> tuple[int, set[str]]:
    """Return the largest cycle and the upward edges that the list still allows."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return int(lines[0].removeprefix("largest cycle:")), set(lines[1:])


def write_allowed(path: Path, cycle: int, edges: Iterable[str]) -> None:
    head = "# Imports that still point upward, and the largest cycle. This list only gets shorter."
    path.write_text("\n".join([head, f"largest cycle: {cycle}", *sorted(edges), ""]), "utf-8")


def by_package(edges: Iterable[Edge]) -> Iterator[str]:
    """Yield a line for each pair of packages with upward edges between them."""

    def package(module: str) -> str:
        return module.removeprefix(f"{PACKAGE}.").partition(".")[0]

    counts: Counter[tuple[str, str]] = Counter()
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for edge in edges:
        pair = package(edge.source), package(edge.target)
        counts[pair] += 1
        kinds.setdefault(pair, Counter())[edge.kind] += 1
    for (source, target), count in sorted(counts.items()):
        told = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds[source, target].items()))
        yield f"  {source} -> {target}: {count} ({told})"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shrink", action="store_true", help="drop removed imports from the list")
    parser.add_argument("--cycle", action="store_true", help="print the largest cycle")
    options = parser.parse_args(arguments)
    graph = imports()
    edges, cycle = list(upward(graph)), largest_cycle(graph)
    if options.cycle:
        inside = set(cycle)
        for name in cycle:
            print(name, *(f"{k}:{t}" for t, k in graph[name].items() if t in inside))
        return 0
    most, allowed = read_allowed(ALLOWED)
    now = {str(edge) for edge in edges}
    if options.shrink:
        write_allowed(ALLOWED, min(most, len(cycle)), allowed & now)
        most, allowed = read_allowed(ALLOWED)
    print(f"upward imports: {len(edges)}; largest cycle: {len(cycle)} modules")
    print(*by_package(edges), sep="\n")
    new = [edge for edge in edges if str(edge) not in allowed]
    faults = [f"new upward import: {edge} ({edge.kind})" for edge in new]
    faults += [
        f"{edge.source} imports the public API ({edge.kind}), which is for {API_FROM} and above:"
        " import the modules that define the names (python -m stillflow where tf.nn.relu)"
        for edge in api_imports(graph)
    ]
    faults += [f"gone, so drop it (--shrink): {edge}" for edge in sorted(allowed - now)]
    faults += [
        f"{name}:{line}: type checkers do not see this LazyModule (docs/architecture.md)"
        for name, path in modules().items()
        if "LazyModule(" in (text := path.read_text(encoding="utf-8"))
        for line in untyped_lazy_modules(ast.parse(text))
    ]
    if len(cycle) != most:
        verb = "grew" if len(cycle) > most else "is smaller (--shrink)"
        faults.append(f"the largest cycle {verb}: {len(cycle)} modules, {most} on the list")
    print(*faults, sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
