"""Print the card signatures of TF 1.15 ops, from the recorded facts.

python tools/signature.py FACTS/ops.json Conv2D MatMul ...
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def arg_text(arg: dict[str, Any]) -> str:
    ref = "&" if arg.get("is_ref") else ""
    if "type_list_attr" in arg:
        return f"{arg['name']}: {ref}[{arg['type_list_attr']}]"
    kind = arg.get("type_attr") or arg["type"]
    number = f"{arg['number_attr']}*" if "number_attr" in arg else ""
    return f"{arg['name']}: {ref}{number}{kind}"


def default_text(kind: str, value: Any) -> str:
    if kind == "type":
        return str(value)
    if kind == "list(type)":
        return "[" + ", ".join(value) + "]"
    if kind == "shape":
        return "?" if value is None else json.dumps(value).replace("null", "?").replace("-1", "?")
    if kind == "float" and isinstance(value, float):
        return f"{value:.8g}"
    return json.dumps(value)


def attr_text(attr: dict[str, Any]) -> str:
    kind = attr["type"]
    element = kind[5:-1] if kind.startswith("list(") else kind
    if "allowed" in attr:
        quote = json.dumps if element == "string" else str
        element = "{" + ", ".join(quote(a) for a in attr["allowed"]) + "}"
    text = f"list({element})" if kind.startswith("list(") else element
    text = f"{attr['name']}: {text}"
    if "minimum" in attr:
        text += f" >= {attr['minimum']}"
    if "default" in attr:
        text += f" = {default_text(kind, attr['default'])}"
    return text


def signature(name: str, facts: dict[str, Any]) -> str:
    outputs = [arg_text(a) for a in facts["outputs"]]
    text = f"{name}({', '.join(arg_text(a) for a in facts['inputs'])})"
    if len(outputs) == 1:
        text += f" -> {outputs[0]}"
    elif outputs:
        text += f" -> ({', '.join(outputs)})"
    lines = [text, *(attr_text(a) for a in facts["attrs"])]
    words = {
        "is_stateful": "stateful",
        "is_commutative": "commutative",
        "is_aggregate": "aggregate",
        "allows_uninitialized_input": "uninitialized",
    }
    flags = [word for key, word in words.items() if facts.get(key)]
    if flags:
        lines.append("flags: " + ", ".join(flags))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("facts", type=Path, help="the recorded signatures, ops.json")
    parser.add_argument("ops", nargs="+", metavar="op", help="the type of an op, LeakyRelu")
    arguments = parser.parse_args()
    ops = json.loads(arguments.facts.read_text())
    for name in arguments.ops:
        if name not in ops:
            parser.error(f"{arguments.facts} has no op {name}")
        print(signature(name, ops[name]), end="\n\n")


if __name__ == "__main__":
    main()
