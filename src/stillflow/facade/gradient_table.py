"""The registry of gradients as TensorFlow's internal modules show it: a table that can be changed.

Programs such as SHAP replace gradients in it for a while and restore the previous ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from stillflow.graph import gradient_registry
from stillflow.graph.card import find, load_all
from stillflow.graph.node import Node

Gradient = Callable[..., Any]


class Entry(MutableMapping[str, Any]):
    """Registered gradient of a type of operations, as `"type"`.

    It takes an operation and the gradients of its outputs; None says that gradients stop there.
    """

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type
        self._given: Gradient | None = None

    def _of_card(self) -> Gradient | None:
        card = find(self._op_type)
        part = None if card is None else card.gradient_part
        if part is not None and self._given is None:
            self._given = lambda op, *grads: part(Node(op), *grads)
        return self._given

    def __getitem__(self, key: str) -> Callable[..., Any] | None:
        if key != "type":
            raise KeyError(key)
        registered = gradient_registry._registered
        return registered[self._op_type] if self._op_type in registered else self._of_card()

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "type":
            raise KeyError(key)
        if value is not None and value is self._given:
            gradient_registry._registered.pop(self._op_type, None)
        else:
            gradient_registry._registered[self._op_type] = value

    def __delitem__(self, key: str) -> None:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("type",))

    def __len__(self) -> int:
        return 1


class Table(MutableMapping[str, Entry]):
    """The entries by types of operations."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, op_type: str) -> Entry:
        load_all()
        card = find(op_type)
        known = card is not None and (card.gradient_part is not None or not card.differentiable)
        if not known and op_type not in gradient_registry._registered:
            raise KeyError(op_type)
        return self._entries.setdefault(op_type, Entry(op_type))

    def __setitem__(self, op_type: str, value: Any) -> None:
        gradient_registry._registered[op_type] = value["type"]

    def __delitem__(self, op_type: str) -> None:
        del gradient_registry._registered[op_type]

    def __iter__(self) -> Iterator[str]:
        types = load_all().keys() | gradient_registry._registered.keys()
        return (op_type for op_type in sorted(types) if op_type in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Gradients:
    """`ops._gradient_registry`."""

    def __init__(self) -> None:
        self._registry = Table()

    def list(self) -> list[str]:
        """Return the types of operations that have a gradient, or are said to have none."""
        return list(self._registry)

    def lookup(self, name: str) -> Gradient | None:
        """Return the gradient of a type of operations.

        Raises:
          LookupError: if none is registered.
        """
        if name not in self._registry:
            raise LookupError(f"gradient registry has no entry for: {name}")
        gradient: Gradient | None = self._registry[name]["type"]
        return gradient

    def register(self, candidate: Gradient | None, name: str) -> None:
        """Add the gradient of a type of operations, as `tf.RegisterGradient` does."""
        gradient_registry._register(name, candidate)


GRADIENTS = Gradients()
