"""Shape functions of libraries: they run while a graph is built, and only then.

Public ones are sometimes wrong. A plan therefore takes the shapes of a library's outputs from the
values themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.build import arg_length
from stillflow.graph.infer import describe
from stillflow.ops.custom.messages import Reader, Writer

Shapes = list[tuple[int | None, ...] | None]


def infer(node: Any, library: Any, number: int) -> Shapes:
    """Infer the shapes of a node of operation `number`; ValueError if its function raises."""
    known: dict[int, Any] = {}
    shapes: dict[int, Any] = {}
    while True:
        code = library.interface.infer(number, *_sized(_request(node, known, shapes)))
        answer = library.interface.answer()
        if code and not _is_answer(answer):  # an exception
            raise errors.exception_type_from_error_code(code)(
                None, None, answer.decode(errors="replace")
            )
        reader = Reader(answer)
        learned = _learn(reader.numbers(), known, node.value, len(node.inputs))
        if _learn(reader.numbers(), shapes, node.shape_value, len(node.inputs)) or learned:
            continue
        if code == errors.INVALID_ARGUMENT:
            raise ValueError(reader.text())
        if code:
            message = describe(ValueError(reader.text()), node.op, node)
            raise errors.exception_type_from_error_code(code)(None, None, message)
        return [reader.shape() for _ in node.outputs]


def _learn(asked: list[int], known: dict[int, Any], value: Any, inputs: int) -> bool:
    """Look up what was asked for; return True if that is more than was known."""
    count = len(known)
    for index in asked:
        if index not in known and 0 <= index < inputs:
            found = value(index)
            if found is not None:
                known[index] = found
    return len(known) > count


def _is_answer(answer: bytes) -> bool:
    """Return True for a message of the library's, False for the plain text of an exception."""
    return len(answer) >= 8 and 0 <= int.from_bytes(answer[:8], "little", signed=True) < 1 << 16


def _sized(message: bytes) -> tuple[bytes, int]:
    return message, len(message)


def _request(node: Any, known: dict[int, Any], shapes: dict[int, Any]) -> bytes:
    writer = Writer()
    write_node(writer, node)
    for args in (node.op.card.signature.inputs, node.op.card.signature.outputs):
        writer.arguments(counts(node, args))
    for index in range(len(node.inputs)):
        writer.shape(node.dims(index))
    writer.number(len(known))
    for index, value in known.items():
        writer.number(index)
        writer.value(value, node.dtype(index))
    writer.number(len(shapes))
    for index, dims in shapes.items():
        writer.number(index)
        writer.shape(dims)
    return writer.finish()


def write_node(writer: Writer, node: Any) -> None:
    """Write a node's name, type, device and attributes."""
    for text in (node.name, node.op.type, node.op._device or ""):
        writer.text(text)
    kinds = {attr.name: attr.kind for attr in node.op.card.signature.attrs.values()}
    attributes = Writer()
    attributes.attributes(node.op.attrs, kinds)
    writer.text(attributes.finish())


def counts(node: Any, args: Sequence[Any]) -> list[tuple[str, int]]:
    """Return the names of arguments with the number of tensors of each."""
    signature = node.op.card.signature
    return [(arg.name, arg_length(signature, arg, node.op.attrs)) for arg in args]
