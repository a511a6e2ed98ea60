"""GeneratorDataset: elements that functions give until they say that there are no more."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from stillflow import errors
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.background import cancelled
from stillflow.ops.data.functions import function_of
from stillflow.ops.data.mapping import bound
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    component_dims,
    dataset_op,
)
from stillflow.ops.data.walk import Element, Unsaved

generator_dataset_op = dataset_op(
    "GeneratorDataset(init_func_other_args: [Tinit_func_args], next_func_other_args: "
    "[Tnext_func_args], finalize_func_other_args: [Tfinalize_func_args]) -> handle: variant\n"
    "init_func: func\nnext_func: func\nfinalize_func: func\n"
    "Tinit_func_args: list(type) >= 0\nTnext_func_args: list(type) >= 0\n"
    f"Tfinalize_func_args: list(type) >= 0{TYPED}\nflags: stateful",
    devices="host first",
)


class _Generated(Unsaved):
    """Results of `advance` for the state that `begin` made."""

    def __init__(self, context: Context, begin: Any, advance: Any, finish: Any) -> None:
        self.context = context
        self.begin = begin
        self.advance = advance
        self.finish = finish
        self.state: Element | None = None
        self.ended = False
        self._finalizer: Any = None

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        if self.context.closed:  # its effects may be visible
            raise cancelled()
        if self.state is None:
            self.state = self.begin(())
            self._finalizer = weakref.finalize(self, _give_up, self.finish, self.state)
            self._finalizer.atexit = False
        try:
            return self.advance(self.state)
        except errors.OutOfRangeError:
            self.ended = True
            self._finalizer.detach()
            self.finish(self.state)
            raise StopIteration from None


def _give_up(finish: Any, state: Element) -> None:
    """Finish an abandoned walk; the session, with its resources, may be closed by now."""
    with contextlib.suppress(errors.NotFoundError, errors.CancelledError):
        finish(state)


@generator_dataset_op.kernel
def generator_dataset_kernel(node: Node) -> Kernel:
    functions = [function_of(node, f"{part}_func") for part in ("init", "next", "finalize")]
    counts = [len(node.Tinit_func_args), len(node.Tnext_func_args)]
    types, shapes = list(node.output_types), component_dims(node)

    def run(*captured: Any) -> Dataset:
        first, second = counts[0], counts[0] + counts[1]
        parts = captured[:first], captured[first:second], captured[second:]
        calls = [bound(f, part) for f, part in zip(functions, parts, strict=True)]

        def make(context: Context, prefix: str) -> Elements:
            return _Generated(context, *calls)

        return Dataset("Generator", types, shapes, make)

    return run
