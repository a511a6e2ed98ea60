"""Traits: facts about a card's operation besides its parts.

Placement, threads, loops and the passes of plans ask the card, so no table elsewhere names
operations. A trait is a keyword of `op(...)`; `ops/CARDS.md` lists them with their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

# Devices that have a kernel: any; the host alone; any, but a GPU only where a program says so.
Devices = Literal["any", "host", "host first"]
# Types of numbers that kernels for GPUs compute with: those of one operand at least.
GpuTypes = Literal["all", "floats", "fractions"]
# Kernels that PyTorch has for Apple's GPUs.
Apple = Literal["all", "no int64", "none"]
# Objects that handles stand for; "any" where it does not matter which.
HandleKind = Literal[
    "any", "variable", "tensor array", "tensor list", "stack", "queue", "iterator", "dataset",
    "optional", "mutex", "rendezvous", "table", "reader", "barrier", "accumulator",
    "staging area", "summary writer",
]  # fmt: skip
# Accesses of an operation to the object of its handle.
Access = Literal[
    "read", "write", "replace", "gather", "scatter", "split", "size", "add", "subtract",
    "put", "take", "push", "pop", "close", "gradient", "is initialized", "lock",
]  # fmt: skip
# How an operation computes all iterations of a loop, or all elements of a dataset, at once.
Batching = Literal["vmap", "each string"]
# Its part in control flow; "identity" hands its input on.
Flow = Literal[
    "switch", "merge", "enter", "exit", "next iteration", "loop condition", "trigger", "identity"
]
# How long TensorFlow waits for it: it runs where it stands; its effect is done at once; long.
Latency = Literal["none", "brief", "usual", "long"]

# Objects that hold tensors, on the device where these are.
CONTAINERS = frozenset(("tensor array", "tensor list", "stack"))


@dataclass(frozen=True)
class Cost:
    """Cost model of a kernel, and the condition under which several threads share it.

    Attributes:
      kind: the unit of the work. "elements": the numbers that are computed; "product": a matrix
        product; "matrices": decompositions of the first input's matrices; "window": a convolution;
        "cells": a layer of recurrent cells; "passes": as elements, shared for any number of them;
        "unknown": threads share it, and its size is not known.
      nanoseconds: for each number, of one thread.
      soon: threads share few numbers already.
      counts: the numbers that are worked on.
      places: of a window, the results and the filter among inputs and outputs; of cells, the
        input of the rows and those of the weights.
    """

    kind: Literal["elements", "product", "matrices", "window", "cells", "passes", "unknown"] = (
        "elements"
    )
    nanoseconds: float = 1.0
    soon: bool = False
    counts: Literal["outputs", "first input", "inputs"] = "outputs"
    places: tuple[int, ...] = ()


class Scalar(NamedTuple):
    """An operation on integers or truths in Python.

    Attributes:
      text: an expression with places for the operands.
      wraps: the result may need more bits than its type has.
      divides: zero and -1 are divisors with results of their own.
    """

    text: str
    wraps: bool = False
    divides: bool = False


class Traits:
    """The traits of a card, with their defaults.

    Attributes:
      devices: the devices that have a kernel.
      gpu_types: the types that kernels for GPUs compute with.
      apple: the kernels for Apple's GPUs.
      reads_on_host: it reads its inputs on the host, on whichever device it stands.
      numbers: arguments that kernels read as numbers of the host.
      anywhere: arguments that kernels take from any device.
      cost: the cost model of its kernel.
      latency: how long TensorFlow waits for it.
      batching: its rule for many iterations at once; None where they run one by one.
      scalar: its computation on Python's numbers.
      handle: the kind of object that it takes or gives a handle of.
      gives: the kind of object that its output is the handle of.
      access: what it does with the object.
      flow: its part in control flow.
      update: it applies an optimizer's gradient, of a whole variable or of some of its rows.
      aliases: its output always is the memory of its first input.
      metadata: it looks at shapes alone.
      idempotent: stateful by its signature, but a second run changes nothing.
      asserts: pure by its signature, but wanted for what it raises.
      inlined: a run replaces it by other operations: the body of the function that it calls, or
        the result of its group.
    """

    devices: Devices = "any"
    gpu_types: GpuTypes = "all"
    apple: Apple = "all"
    reads_on_host: bool = False
    numbers: tuple[str, ...] = ()
    anywhere: tuple[str, ...] = ()
    cost: Cost = Cost()
    latency: Latency = "usual"
    batching: Batching | None = None
    scalar: Scalar | None = None
    handle: HandleKind | None = None
    gives: HandleKind | None = None
    access: Access | None = None
    flow: Flow | None = None
    update: Literal["dense", "sparse"] | None = None
    aliases: bool = False
    metadata: bool = False
    idempotent: bool = False
    asserts: bool = False
    inlined: bool = False

    @property
    def reads_variable(self) -> bool:
        """True if it reads the value of the variable that its handle stands for."""
        return self.access == "read" and self.handle == "variable"


NAMES = frozenset(Traits.__annotations__)
