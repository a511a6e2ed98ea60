"""Stubs of the public API for the wheel, which editors and type checkers read.

The package finds its public names at run time, which no editor can follow. So the build writes one
stub file per namespace from the same table (`_api.py` of both packages):

    from stillflow.ops.nn.activations import relu as relu

Where a signature derives from another one (layers), the stub spells it out: derived_signatures.py.
`tf.raw_ops`, which has no sources, is written from the table raw_ops.txt.

A checkout has no stubs: they would hide our own modules from our own type checker. To look at them,
`python tools/build_stubs.py FOLDER`.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from derived_signatures import derived

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stillflow"
CONTRIB = ROOT / "src" / "stillflow_contrib"
RAW_OPS = ROOT / "tools" / "raw_ops.txt"
HEADER = """# Written from the table of public names by tools/build_stubs.py.
from typing import Any
"""


def read_table() -> dict[str, str]:
    """Return the table of public names, read without importing the package."""
    table: dict[str, str] = {}
    for package in (PACKAGE, CONTRIB):
        tree = ast.parse((package / "_api.py").read_text(encoding="ascii"))
        assignment = next(node for node in tree.body if isinstance(node, ast.Assign))
        table.update(ast.literal_eval(assignment.value))
    return dict(sorted(table.items()))


def stubs(table: dict[str, str]) -> dict[str, str]:
    """Return the stub files, by their path inside the package.

    A namespace that is a module file of ours (errors.py) speaks for itself and gets none.
    """
    members: dict[str, dict[str, str]] = defaultdict(dict)
    spaces: dict[str, set[str]] = defaultdict(set)
    for name, target in table.items():
        space, _, leaf = name.rpartition(".")
        members[space][leaf] = target
        while space:
            space, _, leaf = space.rpartition(".")
            spaces[space].add(leaf)
    spaces[""] |= {"compat", "raw_ops"}
    spaces["compat"].add("v1")
    files = {}
    for space in sorted({*members, *spaces}):
        if not (PACKAGE / f"{space.replace('.', '/')}.py").is_file() or not space:
            path = Path(*space.split("."), "__init__.pyi").as_posix()
            files[path] = _stub(space, members[space], spaces[space])
    files["__init__.pyi"] += "__stillflow_version__: str\n" + _own_functions()
    files["compat/v1/__init__.pyi"] = _stub("", members[""], spaces[""])
    files["raw_ops/__init__.pyi"] = HEADER + _raw_ops()
    return files


def _raw_ops() -> str:
    """Return the functions of `tf.raw_ops`, with named tuples of several outputs."""
    lines = [
        "from typing import NamedTuple as _NamedTuple\n",
        "from stillflow.graph.operation import Operation as _Operation, Tensor as _Tensor\n",
    ]
    for line in RAW_OPS.read_text(encoding="ascii").splitlines():
        head, _, outputs = line.partition(" ->")
        function = ast.parse(f"def {head}: ...").body[0]
        assert isinstance(function, ast.FunctionDef)
        given = [
            f"{x.arg}: Any" + (f" = {ast.unparse(default)}" if default else "")
            for x, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        ]
        types = {x.rstrip("*"): "list[_Tensor]" if "*" in x else "_Tensor" for x in outputs.split()}
        returns = next(iter(types.values()), "_Operation")
        if len(types) > 1:
            returns = f"_{function.name}"
            lines.append(f"class {returns}(_NamedTuple):\n")
            lines += [f"    {name}: {text}\n" for name, text in types.items()]
        lines.append(f"def {function.name}(*, {', '.join(given)}) -> {returns}: ...\n")
    return "".join(lines)


def _stub(space: str, members: dict[str, str], spaces: set[str]) -> str:
    lines = [HEADER]
    signatures = {leaf: derived(target) for leaf, target in members.items()}
    if any(found and found.returns == "_Tensor" for found in signatures.values()):
        lines.append("from stillflow.graph.operation import Tensor as _Tensor\n")
    imports = {text for found in signatures.values() if found for text in found.imports}
    lines += sorted(imports - set(lines))
    package = ".".join(filter(None, ["stillflow", space]))
    for leaf in sorted(spaces - set(members)):
        lines.append(f"from {package} import {leaf} as {leaf}\n")
    for leaf, target in sorted(members.items()):
        module, _, name = target.partition(":")
        if module == space:
            lines.append(f"{leaf}: Any\n")
        else:
            home = "" if module.startswith("stillflow_contrib.") else "stillflow."
            found = signatures[leaf]
            if found and found.kind == "def":
                lines.append(f"def {leaf}({found.text()}) -> {found.returns}: ...\n")
            elif found:
                lines.append(f"from {home}{module} import {name} as _{leaf}\n")
                lines.append(f"class {leaf}(_{leaf}):\n")
                lines.append(f"    def __init__({found.text()}) -> None: ...\n")
            else:
                lines.append(f"from {home}{module} import {name} as {leaf}\n")
    return "".join(lines)


def _own_functions() -> str:
    """stillflow.install() and the other functions of the package itself, without their bodies."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        function.body = [ast.Expr(ast.Constant(...))]
    return "".join(f"{ast.unparse(function)}\n" for function in functions)


def write(folder: Path) -> list[str]:
    """Write the stubs below a folder; return their paths inside the package."""
    files = stubs(read_table())
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="ascii")
    return list(files)


if __name__ == "__main__":
    print("\n".join(write(Path(sys.argv[1]))))
