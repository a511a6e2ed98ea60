"""Names of ``tensorflow.python.framework.op_def_registry``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from stillflow.graph.card import find, load_all
from stillflow.graph.graphdef import op_def


class RegisteredOps(Mapping[str, Any]):
    """The ``OpDef`` of each operation there is, made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        return _message(name)

    def __iter__(self) -> Iterator[str]:
        return iter(load_all())

    def __len__(self) -> int:
        return len(load_all())


@cache
def _message(name: str) -> Any:
    card = find(name)
    if card is None:
        raise KeyError(name)
    return op_def(card.signature)


_registered = RegisteredOps()


def get_registered_ops() -> Mapping[str, Any]:
    """Return {name: ``OpDef``} of all operations."""
    return _registered


def register_op_list(op_list: Any) -> None:
    """Compare the definitions in an ``OpList`` with those there are; TypeError for another object.

    ValueError if an operation is defined otherwise, NotImplementedError if there is none.
    """
    from stillflow.protos import OpList

    if not isinstance(op_list, OpList):
        raise TypeError(f"{op_list} is {type(op_list)}, not an op_def_pb2.OpList")
    for definition in op_list.op:
        name = definition.name
        if name not in _registered:
            raise NotImplementedError(f"The operation {name} is not supported by Stillflow")
        if _registered[name] != definition:
            raise ValueError(
                f"Registered op_def for {name} ({_registered[name]}) not equal to op_def to "
                f"register ({definition})"
            )
