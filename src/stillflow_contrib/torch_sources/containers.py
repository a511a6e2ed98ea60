"""Stacks as lists of Python, variables of one step, mutexes, optional values."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import source_of
from stillflow.ops.variables.buffer import Buffer


@source_of("Stack", "StackV2")
def stack_source(node: Node, *size: Any) -> str:
    return "[]"


@source_of("StackPush", "StackPushV2")
def push_source(node: Node, stack: Any, value: Any) -> Call:
    return node.call(_push, stack, value)


def _push(stack: Any, value: Any) -> Any:
    stack.append(value)
    return value


@source_of("StackPop", "StackPopV2")
def pop_source(node: Node, stack: Any) -> str:
    return f"{stack}.pop()"


@source_of("TemporaryVariable")
def temporary_variable_source(node: Node) -> Call:
    shape = tuple(node.op.attrs["shape"].as_list())
    return node.call(_made, shape, getattr(torch, node.op.attrs["dtype"].torch_name))


def _made(shape: Any, dtype: Any) -> Any:
    return Buffer(torch.zeros(shape, dtype=dtype))


@source_of("DestroyTemporaryVariable")
def destroy_temporary_variable_source(node: Node, variable: Any) -> str:
    return f"{variable}.read().clone()"


@source_of("MutexLock")
def mutex_lock_source(node: Node, mutex: Any) -> Call:
    return node.call(_locked, mutex)


def _locked(mutex: Any) -> Any:
    mutex.acquire()
    return mutex


@source_of("ConsumeMutexLock")
def consume_mutex_lock_source(node: Node, lock: Any) -> str:
    return f"{lock}.release()"


@source_of("StackClose", "StackCloseV2")
def stack_close_source(node: Node, stack: Any) -> str:
    return f"{stack}.clear()"
