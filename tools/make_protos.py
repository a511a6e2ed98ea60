"""Write the compact tables of TensorFlow's protobuf messages, ``src/stillflow/protos/*.txt``.

    python tools/make_protos.py FACTS.json [MORE_FACTS.json ...]
    python tools/make_protos.py --table distributed.txt FACTS.json

The facts are JSON: ``{path: {package, syntax, imports, messages, enums, services}}``, as written by
``record_protos.py``.  A table holds one line per message, enum or service;
``stillflow.protos.schema`` documents its syntax and turns it into descriptors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "src" / "stillflow" / "protos"
# The beginning of each table.
HEADS = {
    "schema.txt": """\
# Protobuf messages of TensorFlow 1.15, written by tools/make_protos.py from recorded facts.
# file PATH PACKAGE [IMPORTED PATH ...], then one line per message or enum; see schema.py.
""",
    "distributed.txt": """\
# Messages and services of TensorFlow's own gRPC protocol between clients, masters and workers,
# written by tools/make_protos.py from recorded facts, in the form of schema.txt.
""",
}

# Packages of services, and those that calls name: TensorFlow's stubs are written by hand.
CALLED = {"tensorflow.grpc": "tensorflow"}


def type_text(name: str, package: str) -> str:
    """Return a type name as the table spells it: relative to the file's package where it can be."""
    prefix = f".{package}."
    if not name.startswith("."):
        return name
    return "." + name[len(prefix) :] if name.startswith(prefix) else "/" + name[1:]


def field_text(field: dict[str, Any], message: dict[str, Any], package: str) -> str:
    """Return one field, e.g. ``input:string*=3`` or ``attr:string>.AttrValue=5`` for a map."""
    entry = None
    if field["type"].startswith("."):
        nested = message.get("messages", {}).get(field["type"].rpartition(".")[2])
        entry = nested if nested is not None and nested.get("map_entry") else None
    if entry is not None:
        key, value = (type_text(part["type"], package) for part in entry["fields"])
        return f"{field['name']}:{key}>{value}={field['number']}"
    star = "*" if field.get("label") == "repeated" else ""
    return f"{field['name']}:{type_text(field['type'], package)}{star}={field['number']}"


def message_lines(name: str, message: dict[str, Any], package: str) -> Iterator[str]:
    """Yield the line of a message, then those of its nested ones."""
    oneofs = message.get("oneofs", [])
    words, current = [f"message {name}"], None
    for field in message.get("fields", []):
        group = oneofs[field["oneof"]] if "oneof" in field else None
        if group != current:
            words += ["}"] * (current is not None) + [f"{group}{{"] * (group is not None)
            current = group
        words.append(field_text(field, message, package))
    yield " ".join(words + ["}"] * (current is not None))
    for nested, inner in message.get("messages", {}).items():
        if not inner.get("map_entry"):
            yield from message_lines(f"{name}.{nested}", inner, package)
    for nested, enum in message.get("enums", {}).items():
        yield enum_line(f"{name}.{nested}", enum)


def enum_line(name: str, enum: dict[str, Any]) -> str:
    """Return the line of an enum."""
    values = (f"{value}={number}" for value, number in enum["values"].items())
    return " ".join([f"enum {name}", *values])


def service_line(name: str, methods: dict[str, list[str]], package: str) -> str:
    """Return the line of a service."""
    words = [
        f"{method}:{type_text(request, package)}>{type_text(response, package)}"
        for method, (request, response) in methods.items()
    ]
    return " ".join([f"service {name}", *words])


def table_lines(files: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the whole table, files in alphabetical order."""
    for path, file in sorted(files.items()):
        if file["syntax"] != "proto3":
            raise SystemExit(f"{path}: the table has no way to write {file['syntax']}")
        package = CALLED.get(file["package"], file["package"])
        yield " ".join(["file", path, package, *file["imports"]])
        for name, enum in file["enums"].items():
            yield enum_line(name, enum)
        for name, message in file["messages"].items():
            yield from message_lines(name, message, package)
        for name, methods in file.get("services", {}).items():
            yield service_line(name, methods, package)


def main() -> None:
    """Merge the facts files and write a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("facts", nargs="+", type=Path, help="what record_protos.py wrote")
    parser.add_argument("--table", choices=HEADS, default="schema.txt", help="the table's name")
    given = parser.parse_args()
    files: dict[str, dict[str, Any]] = {}
    for path in given.facts:
        files.update(json.loads(path.read_text()))
    text = HEADS[given.table] + "\n".join(table_lines(files)) + "\n"
    (FOLDER / given.table).write_text(text)


if __name__ == "__main__":
    main()
