"""Examples of classify and regress requests from JSON, and their results as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow import errors
from stillflow.protos import Example
from stillflow.serve.json_tensors import decoded, is_binary
from stillflow.serve.messages import Input

_KINDS = {"bytes": "bytes_list", "float": "float_list", "int64": "int64_list"}
_LARGEST = 1 << 63


def input_of(request: Mapping[str, Any]) -> Any:
    """Return the `Input` message of a request.

    Raises:
      InvalidArgumentError: if the request has no examples, or features of mixed types.
    """
    examples = request.get("examples")
    if not isinstance(examples, list):
        raise errors.invalid_argument(
            "When method is classify, key 'examples' is expected and should be a list"
        )
    if not examples:
        raise errors.invalid_argument("JSON Value: [] Expecting non-empty 'examples' list")
    found = Input()
    target = found.example_list
    if "context" in request:
        target = found.example_list_with_context
        target.context.CopyFrom(_example(request["context"]))
    for value in examples:
        target.examples.append(_example(value))
    return found


def _example(value: Any) -> Any:
    if not isinstance(value, dict):
        raise errors.invalid_argument("Example must be JSON object but got JSON list or value")
    found = Example()
    for name, content in value.items():
        _fill(name, found.features.feature[_encodable(name)], content)
    return found


def _encodable(name: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise errors.invalid_argument(f"The name {name!r} is not Unicode text")
    return name


def _fill(name: str, feature: Any, content: Any) -> None:
    items = content if isinstance(content, list) else [content]
    kind = ""
    values = []
    for item in items:
        own, value = _typed(name, item)
        kind = kind or own
        if own != kind:
            if (kind, own) != ("float", "int64"):
                raise errors.invalid_argument(
                    f"Unexpected element type in feature: {name} expecting type: {kind}"
                )
            value = float(value)
        values.append(value)
    if kind:
        getattr(feature, _KINDS[kind]).value.extend(values)


def _typed(name: str, item: Any) -> tuple[str, Any]:
    """Return the kind of a value of a feature, and the value as messages hold it."""
    if isinstance(item, str):
        return "bytes", item.encode("utf-8", "surrogatepass")
    if is_binary(item):
        return "bytes", decoded(item)
    if isinstance(item, float):
        return "float", item
    if isinstance(item, int) and not isinstance(item, bool) and -_LARGEST <= item < _LARGEST:
        return "int64", item
    raise errors.invalid_argument(
        f"Feature: {name} has element with unexpected JSON type: {type(item).__name__}"
    )


def classifications(result: Any) -> dict[str, Any]:
    """Return a `ClassificationResult` as the body of a response."""
    return {
        "results": [
            [[one.label, float(f"{one.score:.9g}")] for one in each.classes]
            for each in result.classifications
        ]
    }


def regressions(result: Any) -> dict[str, Any]:
    """Return a `RegressionResult` as the body of a response."""
    return {"results": [float(f"{each.value:.9g}") for each in result.regressions]}
