"""Say which file and line serve a name of TensorFlow, and which operations it makes."""

from __future__ import annotations

import argparse
import difflib
import json
import sys

from stillflow.cli.locating.cards import place_of_card
from stillflow.cli.locating.names import Served, Unknown, served


def main(arguments: list[str]) -> int:
    """Print where names are served; returns the exit status, 1 if one is unknown."""
    parser = argparse.ArgumentParser(prog="python -m stillflow where", description=__doc__)
    parser.add_argument(
        "names", nargs="+", metavar="NAME",
        help="tf.nn.dynamic_rnn, tensorflow.python.ops.array_ops.concat, or an operation: Conv2D",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, a list of the results")
    flags = parser.parse_args(arguments)
    found, unknown = [], []
    for name in flags.names:
        try:
            found.append(served(name))
        except Unknown as error:
            unknown.append(_explained(name, error))
    if flags.json:
        json.dump([_as_json(one) for one in found], sys.stdout, indent=2)
        print()
    else:
        print("\n\n".join("\n".join(_lines(one)) for one in found))
    for text in unknown:
        print(text, file=sys.stderr)
    return int(bool(unknown))


def _explained(name: str, error: Unknown) -> str:
    near = [f"tf.{near}" for near in difflib.get_close_matches(error.asked, error.known, 3)]
    hint = f"; is it {' or '.join(near)}?" if near else ""
    return f"where: there is no {name}{hint}"


def _lines(one: Served) -> list[str]:
    rows = [("served by", f"{one.place}  {one.kind}")]
    rows += [("operation" if i == 0 else "", text) for i, text in enumerate(_operations(one))]
    if one.calls:
        rows.append(("calls", ", ".join(one.calls)))
    return [one.name, *(f"  {topic:<10} {text}" for topic, text in rows)]


def _operations(one: Served) -> list[str]:
    width = max((len(name) for name in one.operations), default=0)
    return [f"{name:<{width}}  {place_of_card(name)}" for name in one.operations]


def _as_json(one: Served) -> dict[str, object]:
    operations = {name: str(place_of_card(name)) for name in one.operations}
    return {
        "name": one.name, "file": one.place.file, "line": one.place.line, "kind": one.kind,
        "operations": operations, "calls": list(one.calls),
    }  # fmt: skip
