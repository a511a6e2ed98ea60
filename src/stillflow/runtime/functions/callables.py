"""Functions as callables on run-time values.

    run = compile_function(resources, graph, named)      # `named`: a NameAttrList, or a body
    outputs = run(*values)                               # torch tensors, string arrays, handles

A kernel that calls a function, as those of tf.data's maps do, gets one by `node.function(node.f)`.
A function is compiled once for every set of argument shapes, up to a limit, then for any shape.
Results never share memory with arguments or variables; the state of the operations inside (random
streams, variables) is the session's. `run.pure` says whether anything but the results happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from stillflow import errors
from stillflow.graph.constant_value import Dims
from stillflow.graph.dtypes import DType
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import find_function
from stillflow.graph.graph import Graph
from stillflow.ops.queues.elements import Stacked, stacked
from stillflow.runtime.devices.moves import HOST, place_of
from stillflow.runtime.functions.inlining import body_effects
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.ir import facts
from stillflow.runtime.ir.facts import own_states
from stillflow.runtime.loops.rows import RowPlan, row_plan
from stillflow.runtime.plan.cache import PlanCaches
from stillflow.runtime.plan.shape_policy import Shapes
from stillflow.runtime.resources import Resources
from stillflow.util.interpreter_exit import at_work

MAX_SHAPES = 8  # sets of argument shapes before shapes are taken to change all the time
_MAX_FAILURES = 3  # of many elements at once, before they are always taken one by one


class CompiledFunction:
    """A function of run-time values.

    Attributes:
      body: its graph.
      input_types, output_types: of its arguments and results.
    """

    def __init__(self, resources: Resources, body: FuncGraph, pruned: bool = False) -> None:
        self.body = body
        self.input_types: list[DType] = [tensor.dtype for tensor in body.inputs]
        self.output_types: list[DType] = [tensor.dtype for tensor in body.outputs]
        self._effects = body_effects(body, pruned)
        self._resources = resources
        self._plans: PlanCaches[Callable[..., list[Any]]] = PlanCaches(MAX_SHAPES)
        self._row_plans: dict[Any, RowPlan | None] = {}
        self._declared_shapes = resources.declared_shapes
        self._left = self._declared_shapes.left  # when the plans were made
        self._row_failures = 0
        self._lock = threading.RLock()

    @property
    def pure(self) -> bool:
        """True if it has no effects and equal arguments give equal results."""
        return all(op.card.foldable for op in self.body._operations if op._outputs)

    def __call__(self, *values: Any) -> list[Any]:
        """Run it; give the results as run-time values. OpError if an operation fails."""
        if len(values) != len(self.input_types):
            raise errors.invalid_argument(
                f"Expected {len(self.input_types)} arguments to function {self.body.name}, "
                f"but got {len(values)}"
            )
        if self._left != self._declared_shapes.left:
            self._forget_plans()
        shapes = tuple(_dims(value) for value in values)
        places = tuple(map(place_of, values)) if self._resources.several else ()
        plan = self._plans.find(places, shapes)  # places: the devices of arguments
        if plan is None:
            plan = self._plan_for(shapes, places)
        return plan(*values)

    def on_rows(
        self, elements: Sequence[tuple[Any, ...]], captured: Sequence[Any] = ()
    ) -> Sequence[tuple[Any, ...]] | None:
        """Return the results for several elements, each followed by `captured`, computed together.

        Returns:
          As many results, or None where the function has to be called for each element: it cannot
          take several, they differ in shape, or one of them fails.
        """
        if self._row_failures >= _MAX_FAILURES:
            return None
        first = (
            [tuple(value.shape[1:]) for value in elements.components]
            if isinstance(elements, Stacked) else list(map(_dims, elements[0]))
        )  # fmt: skip
        if self._left != self._declared_shapes.left:
            self._forget_plans()
        shapes = (*first, *map(_dims, captured))
        if shapes not in self._row_plans:
            self._make_rows(shapes, len(first))
        plan = self._row_plans.get(shapes)
        if plan is None:
            return None
        try:
            with at_work, torch.inference_mode(), flushed:
                return plan(*stacked(elements), *captured)
        except Exception:  # the call for the element says it better
            self._row_failures += 1
            return None

    def _make_rows(self, shapes: tuple[Dims, ...], count: int) -> None:
        with self._lock:
            if len(self._row_plans) >= MAX_SHAPES:
                self._row_failures = _MAX_FAILURES
            inputs = self.body.inputs
            feeds = dict(zip(inputs, shapes, strict=True))
            plan = None
            if self.pure and not self._effects and None not in shapes:
                plan = row_plan(self._resources, feeds, inputs[count:], self.body.outputs)
            self._row_plans[shapes] = plan

    def _forget_plans(self) -> None:
        """Drop the plans: a variable has left the shape that they rely on."""
        with self._lock:
            self._left = self._declared_shapes.left
            self._plans.clear()
            self._row_plans = {}

    def restart(self) -> None:
        """Restart the random streams of its operations."""
        with self._lock:
            if self._resources.forget("op state", own_states(self.body)):
                self._plans.clear()

    def _plan_for(self, shapes: Shapes, places: tuple[Any, ...]) -> Callable[..., list[Any]]:
        from stillflow.runtime.ir.request import PlanRequest
        from stillflow.runtime.plan.plan import make_plan

        def make(relied: Shapes) -> Callable[..., list[Any]]:
            feeds = dict(zip(self.body.inputs, relied, strict=True))
            request = PlanRequest(
                [], [], feeds, raw=self.body.outputs, own=True,
                effects=self._effects, places=places,
            )  # fmt: skip
            return make_plan(self._resources, request)

        with self._lock:
            return self._plans.get(places, shapes, make)


class HostFunction(CompiledFunction):
    """A function that runs on the host where there are GPUs too, as those of data sets do.

    With values on a GPU, a variable say, it runs like any other.
    """

    def __init__(self, resources: Resources, body: FuncGraph, pruned: bool = False) -> None:
        super().__init__(resources.on_host(), body, pruned)
        self._anywhere = CompiledFunction(resources, body, pruned)

    def __call__(self, *values: Any) -> list[Any]:
        return super().__call__(*values) if _of_host(values) else self._anywhere(*values)

    def on_rows(
        self, elements: Sequence[tuple[Any, ...]], captured: Sequence[Any] = ()
    ) -> Sequence[tuple[Any, ...]] | None:
        first = elements.components if isinstance(elements, Stacked) else elements[0]
        return super().on_rows(elements, captured) if _of_host((*first, *captured)) else None

    def restart(self) -> None:
        super().restart()
        self._anywhere.restart()


def _of_host(values: Iterable[Any]) -> bool:
    return all(place_of(value) in (None, HOST) for value in values)


def _dims(value: Any) -> Dims:
    shape = getattr(value, "shape", None)
    return None if shape is None or not isinstance(shape, tuple) else tuple(shape)


def compile_function(
    resources: Resources, graph: Graph, function: Any, pruned: bool = False, on_host: bool = False
) -> CompiledFunction:
    """Make a callable of a function; the same one for the same function in the same session.

    `function` is a `NameAttrList`, a name in the graph's library or NotFoundError, or a body. If
    `pruned`, only those effects happen that its definition asks for; `on_host` it runs on the host,
    unless it names a GPU.
    """
    if isinstance(function, FuncGraph):
        body = function
    else:
        name = getattr(function, "name", function)
        found = find_function(graph, name)
        if found is None:
            raise errors.not_found(f"Function {name} is not defined.")
        body = found.instantiate(graph, getattr(function, "attr", None))
    names_gpu = any("GPU" in op._device.upper() for op in body._operations)
    stays = on_host and resources.several and not names_gpu
    kind = HostFunction if stays else CompiledFunction
    key = f"{id(body)}{' pruned' if pruned else ''}{' on host' if stays else ''}"
    made: CompiledFunction = resources.get(
        "", "function", key, lambda: kind(resources, body, pruned)
    )
    return made


def restart_functions(resources: Resources, bodies: Iterable[FuncGraph]) -> None:
    """Restart the random streams of functions of a session."""
    for body in bodies:
        for key in (f"{id(body)}", f"{id(body)} on host"):
            found: CompiledFunction | None = resources.find("", "function", key)
            if found is not None:
                found.restart()


facts.compile_function.provide(compile_function)
facts.restart_functions.provide(restart_functions)
