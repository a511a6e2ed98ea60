"""Graph: operations by name, and the scopes of new operations."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from stillflow import errors
from stillflow.graph import attrs as attr_values
from stillflow.graph import operation, removed_ops
from stillflow.graph.card import Card, get
from stillflow.graph.collections import Collections
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.infer import infer_shapes
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.scopes import Scopes

_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")

# TF 1.15.5's versions: the producer of every GraphDef, the least consumer of one with functions.
PRODUCER, FUNCTION_CONSUMER = 134, 12


@export("Graph")
class Graph(Scopes, Collections):
    """A TF1 program as data, which `Session` runs and `as_graph_def` writes.

    Example:
      >>> graph = tf.Graph()
      >>> with graph.as_default(): total = tf.add(1, 2, name="total")
      >>> [operation.name for operation in graph.get_operations()]
      ['total/x', 'total/y', 'total']
    """

    # Whether operations run when they are called, rather than being added.
    runs_at_once = False
    # How the last loss was reduced, and whether an optimizer divided it among replicas.
    _last_loss_reduction: str | None = None
    _is_loss_scaled_by_optimizer = False
    # The policy of a graph from outside; None for a program's own graph. See `graph/trust.py`.
    _trust: Any = None

    def __init__(self) -> None:
        Scopes.__init__(self)
        Collections.__init__(self)
        self._lock = threading.RLock()
        self._by_name: dict[str, Operation] = {}
        self._operations: list[Operation] = []
        self._names_in_use: dict[str, int] = {}
        self._unfetchable: set[Operation] = set()
        self._unfeedable: set[Tensor | Operation] = set()
        self._rewired: set[Operation] = set()  # with edges changed since they were last checked
        self._functions: dict[str, Any] = {}
        self._finalized = False
        self._seed: int | None = None
        self._version = 0
        self._edition = 0  # counts every change, also of existing nodes: plans depend on it
        self._min_consumer = 0
        self._producer = PRODUCER
        self._building_function = False
        self._outer_graph: Graph | None = None
        # Once there are loops: rejects an operation that takes a value out of one.
        self._loop_check: Callable[[Operation], None] | None = None
        self._c_ops: list[Callable[[], Operation]] = []  # of `ops._create_c_op`: each adds its own

    # ---- contents

    @property
    def version(self) -> int:
        """Grows with every operation added."""
        return self._version

    @property
    def _last_id(self) -> int:
        return self._version

    @property
    def of_sessions(self) -> Graph:
        """The graph of sessions that are given no graph while this is the default one."""
        return self

    def next_op_seed(self) -> int:
        """Return the seed of an operation that has none of its own, where the graph has one."""
        return self._version

    @property
    def graph_def_versions(self) -> Any:
        """The versions that `as_graph_def` writes, a `VersionDef`."""
        from stillflow.protos import VersionDef

        return VersionDef(producer=self._producer, min_consumer=self._min_consumer)

    @property
    def seed(self) -> int | None:
        """The graph-level random seed."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        return self._finalized

    @property
    def building_function(self) -> bool:
        return self._building_function

    def finalize(self) -> None:
        """Make the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _changed(self) -> None:
        self._edition += 1

    def get_operations(self) -> list[Operation]:
        """All operations, in the order in which they were added."""
        return list(self._operations)

    def _get_operation_by_name_unsafe(self, name: str) -> Operation:
        return self.get_operation_by_name(name)

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation called `name`."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor called `operation:index`."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=True, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Return the element of this graph for a name, tensor, operation or convertible object.

        Raises:
          TypeError: if it is of a kind not asked for.
          KeyError: if a name does not exist here.
          ValueError: if it belongs to another graph or a name is malformed.
        """
        from stillflow.graph.lookup import graph_element

        return graph_element(self, obj, allow_tensor, allow_operation)

    _as_graph_element_locked = as_graph_element

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def prevent_feeding(self, tensor: Tensor | Operation) -> None:
        self._unfeedable.add(tensor)

    def prevent_fetching(self, op: Operation) -> None:
        self._unfetchable.add(op)

    # ---- adding to it

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` under the current scope, with `_1`, `_2`, ... where it is taken.

        Names that differ in case only count as the same, as TF has it.
        """
        if self._name_stack:
            name = f"{self._name_stack}/{name}"
        with self._lock:  # two threads may build one graph
            return self._next_name(name, mark_as_used)

    def _next_name(self, name: str, mark_as_used: bool) -> str:
        key = name.lower()
        count = self._names_in_use.get(key, 0)
        if mark_as_used:
            self._names_in_use[key] = count + 1
        if count:
            base = key
            while key in self._names_in_use:
                key = f"{base}_{count}"
                count += 1
            if mark_as_used:
                self._names_in_use[base] = count
                self._names_in_use[key] = 1
            name = f"{name}_{count - 1}"
        return name

    def add_op(
        self,
        card: Card,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: list[DType],
        name: str,
        device: bool = True,
    ) -> Operation:
        """Add an operation whose attributes are already checked. `name` is final."""
        if self._finalized:
            self._check_not_finalized()
        if not _VALID_OP_NAME.match(name):
            raise ValueError(f"'{name}' is not a valid node name")
        if name in self._by_name:
            raise ValueError(f"Duplicate node name in graph: '{name}'")
        stacks = self._stacks
        with self._lock:
            controls = self._control_dependencies_for(inputs) if stacks.control else []
            if self._attr_scope_map or self._gradient_overrides or self._kernel_labels:
                attrs.update(self._scope_attrs(card.name, name, attrs))
            op = Operation._of_card(card, self, name, inputs, attrs, output_types, controls)
            try:
                infer_shapes(op)
            except Exception:
                # the removed number is not reused: seeds are made of such numbers
                self._version += 1
                self._forget(op)
                raise
            op._original_op = self._default_original_op
            self._register(op)
            context = self._control_flow_context
            if context is not None:
                op._control_flow_context = context
            if self._loop_check is not None:
                self._loop_check(op)
            if context is not None:
                context.AddOp(op)
            if device and stacks.devices:
                self._apply_devices(op)
            if stacks.colocation:
                self._apply_colocation(op)
            if self._container and card.signature.is_stateful and not attrs.get("container", b"x"):
                attrs["container"] = self._container.encode()
            if stacks.control:
                self._record_in_control_scopes(op)
        return op

    def _register(self, op: Operation) -> None:
        self._version += 1
        self._edition += 1
        op._id = self._version
        self._by_name[op.name] = op
        self._operations.append(op)

    def _remove(self, ops: list[Operation]) -> None:
        """Remove operations that nothing else uses."""
        gone = set(ops)
        self._operations = [op for op in self._operations if op not in gone]
        self._edition += 1
        for op in ops:
            del self._by_name[op.name]
            self._forget(op)

    def _forget(self, op: Operation) -> None:
        for tensor in op._inputs:
            tensor._consumers = [other for other in tensor._consumers if other is not op]
        for control in op._control_inputs:
            control._control_outputs.remove(op)

    def create_op(
        self,
        op_type: str,
        inputs: list[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation from its type name and `AttrValue` messages, as TF's `create_op` does.

        Raises:
          ValueError: if Stillflow has no op of that type.
          TypeError: if an input is not a tensor.
        """
        del input_types, op_def, compute_shapes
        from stillflow.graph.build import complete_attrs, output_types

        self._check_not_finalized()
        for index, tensor in enumerate(inputs):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input #{index} is not a tensor: {tensor}")
        card = get(op_type)
        declared = card.signature.attrs
        values = {
            key: attr_values.from_proto(value, declared[key].kind if key in declared else None)
            for key, value in (attrs or {}).items()
        }
        complete_attrs(card, values, inputs)
        removed_ops.check(op_type, self._producer)
        types = output_types(card, values)
        if dtypes is not None and [d.base_dtype for d in dtypes] != [d.base_dtype for d in types]:
            raise TypeError(f"op {op_type} gives {types}, not {list(dtypes)}")
        name = op_type if name is None else name
        name = name[:-1] if name.endswith("/") else self.unique_name(name)
        return self.add_op(card, list(inputs), values, types, name, device=compute_device)

    def _create_op_from_tf_operation(self, c_op: Any, compute_device: bool = True) -> Operation:
        self._c_ops.remove(c_op)
        op: Operation = c_op()
        self._names_in_use.setdefault(op.name.lower(), 1)
        return op

    def _add_new_tf_operations(self, compute_devices: bool = True) -> list[Operation]:
        return [*map(self._create_op_from_tf_operation, [*self._c_ops])]

    # ---- being the default

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Make this the graph that ops are added to, in this thread."""
        stack = _default.stack
        stack.append(self)
        try:
            yield self
        finally:
            if stack:  # unless it was reset inside
                if stack[-1] not in (self, _default.stand_in):
                    raise AssertionError(
                        f"Nesting violated for default stack of {type(stack[-1])} objects"
                    )
                stack.pop()

    @property
    def era(self) -> Graph:
        """Context in which explicit names continue the numbering of earlier ones."""
        return self

    def begin_anew(self) -> None:
        """Clear collections and names, if this is the context of eager execution and no graph."""

    def _session_for(self, session: Any, purpose: str) -> Any:
        from stillflow.graph.default_session import session_for

        return session_for(self, session, purpose)

    @property
    def _c_graph(self) -> Graph:
        """The handle of this graph for functions of `pywrap_tensorflow`: the graph itself."""
        return self

    # ---- protos

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return the whole graph as a `GraphDef`; `from_version` has no effect, as in TF 1.15.

        Args:
          from_version: has no effect.
          add_shapes: whether each node gets its static shapes, as `_output_shapes`.
        """
        from stillflow.graph.graphdef import graph_def

        del from_version
        return graph_def(self, add_shapes)

    def _get_function(self, name: str | bytes) -> Any:
        return self._functions.get(name.decode() if isinstance(name, bytes) else name)

    def _is_function(self, name: str) -> bool:
        return name in self._functions

    def _add_function(self, function: Any) -> None:
        if function.grad_func_name and function.python_grad_func is not None:
            raise ValueError(f"Gradient defined twice for function {function.name}")
        known = self._functions.get(function.name)
        if known not in (None, function) and known.definition != function.definition:
            raise errors.invalid_argument(
                f"Cannot add function '{function.name}' because a different function with "
                "the same name already exists."
            )
        self._functions[function.name] = function
        self._min_consumer = max(self._min_consumer, FUNCTION_CONSUMER)


class _DefaultGraphs(threading.local):
    """The graphs of this thread: those of `as_default`, and the one outside of all of them.

    So threads that build graphs without a word on which one do not meet in it.
    """

    def __init__(self) -> None:
        self.stack: list[Graph] = []
        self.outermost: Graph | None = None
        self.stand_in: Graph | None = None  # of graphs that were forgotten and not yet left

    def reset(self) -> None:
        """Forget the graphs of `as_default`; keep the choice of eager execution.

        A program that runs operations at once goes on building a graph until it leaves those
        that are forgotten here: an empty one stands in for each of them.
        """
        if self.stack and self.stack[-1].runs_at_once:
            self.stack[:] = self.stack[-1:]
        elif make_global_graph is not Graph:
            self.stand_in = Graph()
            self.stack[:] = [self.stand_in] * len(self.stack)
        else:
            self.stack.clear()


_default = _DefaultGraphs()
make_global_graph: Callable[[], Graph] = Graph  # creates the default graph


@export("get_default_graph")
def get_default_graph() -> Graph:
    """Return the graph that ops are added to now, in this thread.

    Example:
      >>> x = tf.constant(1.0, name="x")
      >>> tf.get_default_graph() is x.graph, tf.get_default_graph().get_tensor_by_name("x:0") is x
      (True, True)
    """
    stack = _default.stack
    return stack[-1] if stack else _default.outermost or _global_default_graph()


def innermost_graph() -> Graph:
    """Return the innermost default graph, or the eager context if there is none."""
    stack = _default.stack
    return next((graph for graph in reversed(stack) if not graph.runs_at_once), get_default_graph())


def _global_default_graph() -> Graph:
    if _default.outermost is None:
        _default.outermost = make_global_graph()
    return _default.outermost


def runs_at_once() -> bool:
    """Return True if operations called now run at once, without creating a graph."""
    stack = _default.stack
    graph = stack[-1] if stack else _default.outermost
    return make_global_graph is not Graph if graph is None else graph.runs_at_once


def has_global_graph() -> bool:
    """Return True if this thread has used the graph outside of `as_default`."""
    return _default.outermost is not None


def forget_global_graph() -> None:
    """Let the next use of the graph outside of `as_default` make a new one."""
    _default.outermost = None


def initial_graph() -> Graph:
    """Return the graph in which variables are made: the innermost default one outside functions."""
    for graph in reversed(_default.stack):
        if not graph.building_function:
            return graph
    return _global_default_graph()


def innermost_devices() -> list[Any]:
    """Return the innermost device scopes among the default graphs up to the initial one."""
    for graph in reversed(_default.stack):
        if graph._device_stack or not graph.building_function:
            return graph._device_stack
    return _global_default_graph()._device_stack


def has_default_graph() -> bool:
    """Return True if `as_default` made a graph the default one in this thread."""
    return any(graph is not _default.stand_in for graph in _default.stack)


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Replace this thread's global default graph by an empty one.

    Raises:
      AssertionError: inside `with graph.as_default()`.

    Example:
      >>> x = tf.constant(1.0, name="x")
      >>> tf.reset_default_graph()
      >>> tf.get_default_graph() is x.graph, tf.constant(1.0, name="x").name
      (False, 'x:0')
    """
    stack = _default.stack
    if any(not graph.runs_at_once and graph is not _default.stand_in for graph in stack):
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear "
            "nested graphs. If you need a cleared graph, "
            "exit the nesting and create a new graph."
        )
    current = stack[-1] if stack else _default.outermost
    if current is not None and current.runs_at_once:
        current.begin_anew()
    if current is not None and current is _default.stand_in:
        _default.reset()
    forget_global_graph()


def _is_compared_by_value(tensor: Tensor) -> bool:
    """Return True where operations run at once or the tensor's function is being built."""
    graph = get_default_graph()
    if tensor.holds_value:
        return graph.runs_at_once or graph.building_function
    return tensor.graph is graph and graph.building_function and initial_graph().runs_at_once


operation.compared_by_value.provide(_is_compared_by_value)
attr_values.default_graph.provide(get_default_graph)
