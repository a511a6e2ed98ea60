"""Hyperparameters written as text: "layers=3,rates=[0.1,0.2],names[1]=b"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from stillflow.graph.export import export

_ASSIGNMENT = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)\s*"
    r"(?:\[\s*(?P<index>\d+)\s*\]\s*)?=\s*"
    r"(?:(?P<one>[^,\[]*)|\[(?P<several>[^\]]*)\])"
    r"(?:$|,\s*)"
)


def _cannot(name: str, kind: type, value: str, text: str) -> NoReturn:
    raise ValueError(
        f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{value}' in {text}"
    )


def _again(name: str, text: str) -> NoReturn:
    raise ValueError(f"Multiple assignments to variable '{name}' in {text}")


def _bool(text: str) -> bool:
    known = {"true": True, "True": True, "false": False, "False": False}
    return known[text] if text in known else bool(int(text))


def _assign(found: dict[str, Any], name: str, index: str | None, value: Any, text: str) -> None:
    if index is None:
        if name in found:
            _again(name, text)
        found[name] = value
        return
    elements = found.setdefault(name, {})
    if not isinstance(elements, dict):
        _again(name, text)
    if int(index) in elements:
        _again(f"{name}[{int(index)}]", text)
    elements[int(index)] = value


@export("contrib.training.parse_values")
def parse_values(
    values: str, type_map: Mapping[str, Callable[[str], Any]], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Read hyperparameters: `name=value`, `name=[value,value]`, `name[index]=value`.

    Args:
      values: assignments, separated by commas.
      type_map: {name: type of its value or values}.
      ignore_unknown: whether other names are passed over.

    Returns:
      {name: value}, where a value is a list, or {index: value}, if it was written so.

    Raises:
      ValueError: other text, a value of another type, an unknown name, a name given twice.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if not match:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name, index, one, several = match.group("name", "index", "one", "several")
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind: Any = type_map[name]
        parse = _bool if kind is bool else kind
        if several is not None and index is not None:
            raise ValueError("Assignment of a list to a list index.")
        if several is not None and name in found:
            _again(name, values)
        try:
            value = (
                parse(one) if several is None
                else [parse(element) for element in re.split("[ ,]", several) if element]
            )  # fmt: skip
        except ValueError:
            _cannot(name, kind, one if several is None else several, values)
        _assign(found, name, index, value, values)
    return found
