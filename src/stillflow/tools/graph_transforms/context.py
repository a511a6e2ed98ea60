"""Context of graph transforms, and the list of all transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow import errors


class Context(NamedTuple):
    """Arguments of a transform.

    Attributes:
      inputs, outputs: the names of the nodes that are fed and fetched.
      parameters: the values of each parameter, in order.
    """

    inputs: list[str]
    outputs: list[str]
    parameters: dict[str, list[str]]

    def one(self, name: str, default: str) -> str:
        """Return the value of a parameter that may be given once.

        Raises:
          InvalidArgumentError: If it is given more often.
        """
        values = self.parameters.get(name, [default])
        if len(values) != 1:
            raise invalid(
                f"Expected a single '{name}' parameter, but found {len(values)} occurrences"
            )
        return values[0]

    def number(self, name: str, default: int) -> int:
        """Return the value of a parameter that is a whole number."""
        text = self.one(name, str(default))
        try:
            return int(text)
        except ValueError:
            raise invalid(f"Couldn't interpret the {name} argument as a number:{text}") from None

    def flag(self, name: str, default: bool) -> bool:
        """Return the value of a parameter that is true or false."""
        text = self.one(name, str(default)).lower()
        if text in ("true", "1"):
            return True
        if text in ("false", "0"):
            return False
        if name == "ignore_errors":
            raise invalid(f"ignore_errors should be true or false, found {text}")
        raise invalid(
            f"Couldn't interpret the {name} argument as a boolean:{text} (expected true, "
            "false, 0 or 1)"
        )


invalid = errors.invalid_argument


Transform = Callable[[Any, Context], Any]
TRANSFORMS: dict[str, Transform] = {}


def transforms(name: str) -> Callable[[Transform], Transform]:
    """Put the decorated function on the list; it takes a GraphDef and return another."""

    def put(function: Transform) -> Transform:
        TRANSFORMS[name] = function
        return function

    return put
