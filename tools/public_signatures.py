"""Description of a public symbol and its signature, as one line of text.

The same code describes TensorFlow's symbol and Stillflow's, so the two lines can be compared. Run
by a Python that has TensorFlow 1.15, it records all the symbols that programs were seen to use:

    python tools/public_signatures.py USAGE_JSON tests/facts/signatures.json

or all that namespaces hold:

    python tools/public_signatures.py layers,keras.layers tests/facts/layer_signatures.json

or all public names, from the packages' tables:

    python tools/public_signatures.py src/stillflow/_api.py,src/stillflow_contrib/_api.py \
        tests/facts/public_signatures.json

It runs on Python 3.7 too.
"""

from __future__ import annotations

import argparse
import ast
import enum
import functools
import importlib
import inspect
import json
import re
import types

PLAIN = (type(None), bool, int, float, str, bytes)
ANYTHING = "(*args, **kwargs)"
HIDDEN = re.compile(r"\(\*\w+, \*\*\w+\)")


def resolve(root: types.ModuleType, symbol: str) -> object:
    """Return the object for the name `symbol` ("tf.nn.relu"), below the module `tensorflow`.

    Raises:
      AttributeError: There is none.
    """
    found: object = root
    path = root.__name__
    for name in symbol.split(".")[1:]:
        path += "." + name
        try:
            found = getattr(found, name)
        except AttributeError:
            try:  # tf.python.ops.array_ops and the like have to be imported
                found = importlib.import_module(path)
            except ImportError as error:
                raise AttributeError(str(error)) from error
    return found


def describe(obj: object) -> str:
    """One line: "module", "value 20", "function (x, name=None)" or "class (name='Adam')"."""
    if inspect.ismodule(obj):
        return "module"
    if inspect.isclass(obj) and issubclass(obj, enum.Enum):
        return "class (value)"  # Python 3.12 says that there may be several
    if inspect.isclass(obj):
        return "class " + signature_text(constructor(obj))
    if inspect.isroutine(obj) or isinstance(obj, functools.partial):
        return "function " + signature_text(obj)
    return "value " + value_text(obj)


def constructor(cls: type) -> object:
    """Return the function whose arguments are the class's.

    Its first one is left out by signature_text.
    """
    if getattr(cls, "__signature__", None) is not None:  # its metaclass decides about the instance
        return cls
    for base in cls.__mro__:
        for name in ("__init__", "__new__"):
            if name in vars(base) and base is not object:
                return getattr(cls, name)
    return None


def signature_text(function: object) -> str:
    """Return the arguments with their defaults, without `self` and annotations."""
    if function is None:
        return "()"
    try:
        parameters = list(inspect.signature(function).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):  # built in C: a protobuf message
        return ANYTHING
    if parameters and parameters[0].name in ("self", "cls", "_cls"):
        parameters = parameters[1:]
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    texts = []
    bare_star = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            bare_star = True
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not bare_star:
            bare_star = True
            texts.append("*")
        text = stars.get(parameter.kind, "") + parameter.name
        if parameter.default is not inspect.Parameter.empty:
            text += "=" + value_text(parameter.default)
        texts.append(text)
    return "(" + ", ".join(texts) + ")"


def value_text(value: object) -> str:
    """Return a value as text that does not depend on where it lives."""
    if isinstance(value, enum.Enum):
        return f"<{type(value).__name__}.{value.name}>"
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, (tuple, list)) and all(isinstance(item, PLAIN) for item in value):
        return repr(value)
    if type(value).__name__ == "DType":
        return "tf." + value.name  # type: ignore[attr-defined]
    named = value if inspect.isroutine(value) or inspect.isclass(value) else type(value)
    return f"<{named.__name__}>"  # type: ignore[union-attr]


def same(recorded: str, found: str) -> bool:
    """Return True if a symbol of ours is called as TensorFlow's is.

    A signature that TensorFlow's own decorators hide, or that protobuf has none of, holds nothing
    against ours.
    """
    kind, _, arguments = recorded.partition(" ")
    our_kind, _, ours = found.partition(" ")
    if recorded == found or recorded == "?":
        return True
    if HIDDEN.fullmatch(arguments):
        return our_kind in ("class", "function")
    if kind == "value":  # an object of ours may have another class
        return our_kind == kind and arguments.startswith("<")
    return {kind, our_kind} <= {"class", "function"} and arguments == ours


def record(usage: dict, root: types.ModuleType) -> dict:
    """Return {symbol: [area, repositories, description]}; "?" if missing in this TensorFlow."""
    rows = {}
    for row in usage["symbols"]:
        try:
            description = describe(resolve(root, row["symbol"]))
        except Exception:  # any error of an old module at its import
            description = "?"
        rows[row["symbol"]] = [row["area"], row["repos"], description]
    return rows


def record_namespaces(spaces: list, root: types.ModuleType) -> dict:
    """{symbol: description} of the public members of namespaces."""
    members = {}
    for space in spaces:
        namespace = resolve(root, "tf." + space)
        for name in dir(namespace):
            if not name.startswith("_"):
                members[f"tf.{space}.{name}"] = describe(getattr(namespace, name))
    return members


def record_table(path: str, root: types.ModuleType) -> dict:
    """{symbol: description} of the names in a table of public names; "?" if missing."""
    with open(path, encoding="ascii") as file:
        tree = ast.parse(file.read())
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    members = {}
    for name in ast.literal_eval(table):
        try:
            members["tf." + name] = describe(resolve(root, "tf." + name))
        except AttributeError:
            members["tf." + name] = "?"
    return members


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "usage", help="the record of the symbols that programs use, namespaces, or tables"
    )
    parser.add_argument("out")
    arguments = parser.parse_args()
    tensorflow = importlib.import_module("tensorflow")
    if arguments.usage.endswith(".json"):
        with open(arguments.usage, encoding="utf-8") as file:
            rows = record(json.load(file), tensorflow)
    elif arguments.usage.endswith(".py"):
        rows = {}
        for path in arguments.usage.split(","):
            rows.update(record_table(path, tensorflow))
    else:
        rows = record_namespaces(arguments.usage.split(","), tensorflow)
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items())]
    with open(arguments.out, "w", encoding="ascii") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
