"""Stacks: values that a loop's forward pass leaves for its backward pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.node import Node
from stillflow.ops.kernels import type_of

_counter = itertools.count()


class StackStore:
    """A stack during a run; it keeps tensors as they are, without copies."""

    __slots__ = ("closed", "dtype", "max_size", "name", "pushed")

    def __init__(self, name: str, dtype: DType, max_size: int = -1) -> None:
        self.name = f"{name}_{next(_counter)}"
        self.dtype = dtype
        self.max_size = max_size
        self.pushed: list[Any] = []
        self.closed = False

    # Old graphs have references to stacks; the value of one is the stack itself.
    value = property(lambda self: self)
    ndim = 1

    def copy(self) -> np.ndarray:
        """Return the value of a fetched handle of an old graph: the stack's container and name."""
        return np.array([b"_stacks", self.name.encode()], dtype=object)

    def check_open(self) -> None:
        if self.closed:
            raise errors.invalid_argument(f"Stack[{self.name}] has already been closed.")

    def push(self, value: Any) -> Any:
        """Put a value on top; give it back.

        Raises:
          InvalidArgumentError: if the stack is full or closed.
        """
        values = self.pushed
        if self.closed or 0 <= self.max_size <= len(values):
            self.check_open()
            raise errors.invalid_argument(
                f"Stack[{self.name}] overflowed its max_size ({self.max_size})"
            )
        values.append(value)
        return value

    def pop(self) -> Any:
        """Pop the value on top.

        Raises:
          InvalidArgumentError: if there is none or the stack is closed.
        """
        if not self.pushed:
            self.check_open()
            raise errors.invalid_argument(f"Stack[{self.name}] is empty when calling Pop().")
        return self.pushed.pop()

    def close(self) -> None:
        self.pushed.clear()
        self.closed = True


def _push(node: Node) -> Callable[..., Any]:
    dtype = node.dtype(1)

    def push(stack: StackStore, value: Any) -> Any:
        if stack.dtype != dtype:
            actual = type_of(value).as_datatype_enum
            raise errors.invalid_argument(
                f"Must have type {stack.dtype.as_datatype_enum} but got {actual}"
            )
        return stack.push(value)

    return push


def _new(node: Node, max_size: Any = -1) -> StackStore:
    name = node.stack_name.decode() or node.name
    return StackStore(name, node.elem_type, int(max_size))


def _stack_kernel(node: Node) -> Callable[..., Any]:
    return lambda *size: _new(node, *size)


# Version 2 hands stacks on as resources, version 1 as references to strings.
_FLAGS = "flags: stateful"
stack_v2_op = op(
    f'StackV2(max_size: int32) -> handle: resource\nelem_type: type\nstack_name: string = ""\n'
    f"{_FLAGS}",
    differentiable=False,
    handle="stack",
    gives="stack",
)
stack_op = op(
    f'Stack() -> handle: &string\nelem_type: type\nstack_name: string = ""\n{_FLAGS}',
    differentiable=False,
    handle="stack",
    gives="stack",
)
stack_push_v2_op = op(
    f"StackPushV2(handle: resource, elem: T) -> output: T\nT: type\n"
    f"swap_memory: bool = false\n{_FLAGS}",
    view=True,
    differentiable=False,
    handle="stack",
    access="push",
)
stack_push_op = op(
    "StackPush(handle: &string, elem: T) -> output: T\nT: type\nswap_memory: bool = false",
    view=True,
    differentiable=False,
    effect="state",
    handle="stack",
    access="push",
)
stack_pop_v2_op = op(
    f"StackPopV2(handle: resource) -> elem: elem_type\nelem_type: type\n{_FLAGS}",
    view=True,
    differentiable=False,
    handle="stack",
    access="pop",
)
stack_pop_op = op(
    "StackPop(handle: &string) -> elem: elem_type\nelem_type: type",
    view=True,
    differentiable=False,
    effect="state",
    handle="stack",
    access="pop",
)
stack_close_v2_op = op(
    f"StackCloseV2(handle: resource)\n{_FLAGS}",
    differentiable=False,
    handle="stack",
    access="close",
)
stack_close_op = op(
    "StackClose(handle: &string)",
    differentiable=False,
    effect="state",
    handle="stack",
    access="close",
)

for _card in (stack_op, stack_v2_op):
    _card.shape(lambda node: (2,))
    _card.kernel(_stack_kernel)
for _card in (stack_push_op, stack_push_v2_op):
    _card.shape(lambda node: node.dims(1))
    _card.kernel(_push)
for _card in (stack_pop_op, stack_pop_v2_op):
    _card.shape(lambda node: None)
    _card.kernel(lambda node: node.call(StackStore.pop, node.inputs[0]))
for _card in (stack_close_op, stack_close_v2_op):
    _card.kernel(lambda node: node.call(StackStore.close, node.inputs[0]))
