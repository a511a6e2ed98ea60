"""Write the compact table of TensorFlow's protobuf messages, ``src/stillflow/protos/schema.txt``.

    python tools/make_protos.py FACTS.json [MORE_FACTS.json ...]

The facts are JSON: ``{path: {package, syntax, imports, messages, enums}}``, as written by
``record_protos.py``.  The table holds one line per message or enum; ``stillflow.protos.schema``
documents its syntax and turns it into descriptors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "src" / "stillflow" / "protos" / "schema.txt"
HEAD = """\
# Protobuf messages of TensorFlow 1.15, written by tools/make_protos.py from recorded facts.
# file PATH PACKAGE [IMPORTED PATH ...], then one line per message or enum; see schema.py.
"""


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


def table_lines(files: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the whole table, files in alphabetical order."""
    for path, file in sorted(files.items()):
        if file["syntax"] != "proto3":
            raise SystemExit(f"{path}: the table has no way to write {file['syntax']}")
        yield " ".join(["file", path, file["package"], *file["imports"]])
        for name, enum in file["enums"].items():
            yield enum_line(name, enum)
        for name, message in file["messages"].items():
            yield from message_lines(name, message, file["package"])


def main() -> None:
    """Merge the facts files and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("facts", nargs="+", type=Path, help="what record_protos.py wrote")
    files: dict[str, dict[str, Any]] = {}
    for path in parser.parse_args().facts:
        files.update(json.loads(path.read_text()))
    TABLE.write_text(HEAD + "\n".join(table_lines(files)) + "\n")


if __name__ == "__main__":
    main()
