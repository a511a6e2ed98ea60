"""Scopes of a graph: names, devices, colocation, control dependencies, containers, overrides."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from stillflow.graph.attrs import from_proto
from stillflow.graph.code_location import CodeLocation, entered_here
from stillflow.graph.device import canonical, merge_over
from stillflow.graph.operation import Operation, Tensor

if TYPE_CHECKING:
    from typing import Protocol

    class Placed(Protocol):
        """An operation, or an object that stands for one, that scopes give a device."""

        _device_scopes: Any


_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class ControlScope:
    """One `with graph.control_dependencies(...)` block."""

    def __init__(self, graph: Scopes, control_inputs: list[Operation] | None) -> None:
        self._graph = graph
        self._new_stack = control_inputs is None
        self.control_inputs = control_inputs or []
        self._old_stack: list[ControlScope] = []
        self._old_context: Any = None
        self._seen: set[Operation] = set()

    def __enter__(self) -> None:
        graph = self._graph
        if self._new_stack:
            # None clears everything outside, control-flow contexts included.
            self._old_stack = graph._control_stack
            graph._control_stack = []
            self._old_context = graph._get_control_flow_context()
            graph._set_control_flow_context(None)
        graph._control_stack.append(self)

    def __exit__(self, *unused: object) -> None:
        graph = self._graph
        assert graph._control_stack[-1] is self
        graph._control_stack.pop()
        if self._new_stack:
            graph._control_stack = self._old_stack
            graph._set_control_flow_context(self._old_context)

    def add_op(self, op: Operation) -> None:
        self._seen.add(op)

    def op_in_group(self, op: Operation) -> bool:
        return op in self._seen


class _OfThread(threading.local):
    """The scopes that each thread has for itself."""

    def __init__(self) -> None:
        self.name = ""
        self.control_flow_context: Any = None
        self.strategies: list[Any] = []  # strategies that `tf.distribute` has entered
        self.variable_creators: list[tuple[int, Callable[..., Any]]] = []


class _Stacks:
    """The scopes that all threads share, until `switch_to_thread_local`."""

    def __init__(self, source: _Stacks | None = None) -> None:
        self.devices: list[CodeLocation] = [] if source is None else list(source.devices)
        self.colocation: list[CodeLocation] = [] if source is None else list(source.colocation)
        self.control: list[ControlScope] = [] if source is None else list(source.control)


class _StacksOfThread(threading.local, _Stacks):
    """A copy of the shared stacks for each thread, made when the thread first looks."""


def _held(holder: str, field: str) -> Any:
    """Return a property of the graph that another object keeps, `self.<holder>.<field>`."""

    def write(self: Any, value: Any) -> None:
        setattr(getattr(self, holder), field, value)

    return property(attrgetter(f"{holder}.{field}"), write)


class Scopes:
    """The part of `Graph` that decides names, placement and ordering of new operations."""

    _name_stack = _held("_of_thread", "name")
    _control_flow_context = _held("_of_thread", "control_flow_context")
    _variable_creator_stack = _held("_of_thread", "variable_creators")
    _device_stack = _held("_stacks", "devices")
    _colocation_stack = _held("_stacks", "colocation")
    _control_stack = _held("_stacks", "control")

    def __init__(self) -> None:
        self._of_thread = _OfThread()
        self._stacks: _Stacks | _StacksOfThread = _Stacks()
        self._default_original_op: Operation | None = None
        self._container = ""
        self._attr_scope_map: dict[str, Any] = {}
        self._gradient_overrides: dict[str, str] = {}
        self._kernel_labels: dict[str, str] = {}

    def switch_to_thread_local(self) -> None:
        """Give each thread its own device, colocation and control scopes from now on."""
        if not isinstance(self._stacks, _StacksOfThread):
            self._stacks = _StacksOfThread(self._stacks)

    # ---- names

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Put names made inside under `name/`; yield the scope with its closing slash.

        `None` or `""` leaves all scopes; a name that ends in a slash is entered again as it is.

        Raises:
          ValueError: if `name` is not a valid scope name.
        """
        old = self._name_stack
        self._name_stack, scope = self._enter_name_scope(name)
        try:
            yield scope
        finally:
            self._name_stack = old

    def _enter_name_scope(self, name: str | None) -> tuple[str, str]:
        if not name:
            return "", ""
        if self._name_stack:
            if not _VALID_SCOPE_NAME.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        elif not _VALID_OP_NAME.match(name):
            raise ValueError(f"'{name}' is not a valid scope name")
        stack = name[:-1] if name[-1] == "/" else self.unique_name(name)
        return stack, stack + "/"

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        raise NotImplementedError  # Graph knows which names are taken

    def get_name_scope(self) -> str:
        """Return the current name scope, without a closing slash."""
        return self._name_stack

    # ---- devices

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Places operations made inside: a device string, a function of the op, or None."""
        scope = entered_here(device_name_or_function)
        self._device_stack.append(scope)
        try:
            yield
        finally:
            stack = self._device_stack
            if not stack or stack[-1] is not scope:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            stack.pop()

    def _apply_devices(self, op: Placed) -> None:
        op._device_scopes = tuple(self._device_stack)
        self._apply_device_functions(op)

    def _apply_device_functions(self, op: Any) -> None:
        """Set the device of an operation, or of a stand-in used to find the device out."""
        for scope in reversed(self._device_stack):
            spec = scope.obj
            if spec is None:
                break
            if callable(spec):
                op._set_device_from_string(canonical(spec(op)))
            else:
                op._set_device_from_string(merge_over(spec, op.device))

    @property
    def _device_functions_outer_to_inner(self) -> list[Any]:
        return [scope.obj for scope in self._device_stack]

    def _get_control_flow_context(self) -> Any:
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    # ---- colocation

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Places operations made inside wherever `op` is placed; None leaves all such scopes.

        Raises:
          ValueError: if `op` is None and `ignore_existing` is not set.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        target = _colocation_target(op)
        old_devices, old_colocation = self._device_stack, self._colocation_stack
        self._device_stack = []
        if ignore_existing:
            self._colocation_stack = []
        if target is not None:
            self._colocation_stack.append(entered_here(target))
        try:
            yield
        finally:
            self._device_stack = old_devices
            if target is not None:
                self._colocation_stack.pop()
            if ignore_existing:
                self._colocation_stack = old_colocation

    @contextlib.contextmanager
    def _colocate_with_for_gradient(
        self, op: Any, gradient_uid: Any, ignore_existing: bool = False
    ) -> Iterator[None]:
        del gradient_uid  # only XLA contexts look at it
        with self.colocate_with(op, ignore_existing):
            yield

    def _apply_colocation(self, op: Operation) -> None:
        groups: set[bytes] = set()
        op._colocation_scopes = tuple(self._colocation_stack)
        for scope in reversed(self._colocation_stack):  # the device of the outermost one stays
            other = scope.obj
            groups.update(other.colocation_groups())
            if other.device:
                op._device = other.device
        op.attrs["_class"] = sorted(groups)

    # ---- control dependencies

    def control_dependencies(self, control_inputs: Sequence[Any] | None) -> ControlScope:
        """Make operations made inside run after `control_inputs`; None leaves all such scopes."""
        if control_inputs is None:
            return ControlScope(self, None)
        ops: list[Operation] = []
        # Operations that wait for an outer scope's inputs already need not wait for them twice.
        outer = self._current_control_dependencies()
        for item in control_inputs:
            if getattr(type(item), "holds_value", False):
                continue  # a known value is not waited for
            found = self.as_graph_element(control_element(item))
            op = found.op if isinstance(found, Tensor) else found
            if op not in ops and op not in outer:
                ops.append(op)
        return ControlScope(self, ops)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        raise NotImplementedError  # Graph knows its elements

    @property
    def _control_dependencies_stack(self) -> list[ControlScope]:
        return self._control_stack

    def _current_control_dependencies(self) -> set[Operation]:
        return {op for scope in self._control_stack for op in scope.control_inputs}

    def _control_dependencies_for(self, inputs: list[Tensor]) -> list[Operation]:
        """Control inputs for a new op: a scope is left out if an input came from inside it."""
        input_ops = [tensor.op for tensor in inputs]
        found: list[Operation] = []
        for scope in self._control_stack:
            if any(scope.op_in_group(op) for op in input_ops):
                continue
            for op in scope.control_inputs:
                if op not in input_ops and op not in found:
                    found.append(op)
        return found

    def _record_in_control_scopes(self, op: Operation) -> None:
        for scope in self._control_stack:
            scope.add_op(op)

    _record_op_seen_by_control_dependencies = _record_in_control_scopes

    # ---- containers, attributes, overrides

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Put stateful operations made inside into a resource container."""
        old = self._container
        self._container = container_name
        try:
            yield container_name
        finally:
            self._container = old

    @contextlib.contextmanager
    def _original_op(self, op: Operation) -> Iterator[None]:
        old = self._default_original_op
        self._default_original_op = op
        try:
            yield
        finally:
            self._default_original_op = old

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        """Set attributes of operations made inside.

        The attributes are values, `AttrValue`s, or functions that return one for a `NodeDef` of
        name and type.
        """
        if not isinstance(attr_map, dict):
            raise TypeError(
                "attr_map must be a dictionary mapping strings to "
                "attr_value_pb2.AttrValue protocol buffers"
            )
        old = self._attr_scope_map
        new = {**old, **attr_map}
        self._attr_scope_map = {key: value for key, value in new.items() if value is not None}
        try:
            yield
        finally:
            self._attr_scope_map = old

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Use gradients registered under other names for ops of these types made inside.

        Raises:
          TypeError: if the map is not one of strings to strings.
        """
        with self._override("_gradient_overrides", op_type_map):
            yield

    @contextlib.contextmanager
    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> Iterator[None]:
        with self._override("_kernel_labels", op_to_kernel_label_map):
            yield

    @contextlib.contextmanager
    def _override(self, field: str, mapping: dict[str, str]) -> Iterator[None]:
        if not isinstance(mapping, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for key, value in mapping.items():
            if not (isinstance(key, str) and isinstance(value, str)):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        old = getattr(self, field)
        setattr(self, field, {**old, **mapping})
        try:
            yield
        finally:
            setattr(self, field, old)

    def _scope_attrs(self, op_type: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Attributes that the surrounding scopes add to a new operation."""
        added: dict[str, Any] = {}
        for key, value in self._attr_scope_map.items():
            if key not in given:
                added[key] = _attr_value(_called(value, name, op_type))
        if op_type in self._kernel_labels:
            added["_kernel"] = self._kernel_labels[op_type].encode()
        if op_type in self._gradient_overrides:
            added["_gradient_op_type"] = self._gradient_overrides[op_type].encode()
        return added

    @contextlib.contextmanager
    def _variable_creator_scope(self, creator: Any, priority: int = 100) -> Iterator[None]:
        old = self._variable_creator_stack
        new = sorted([*old, (priority, creator)], key=lambda item: item[0])
        self._variable_creator_stack = new
        try:
            yield
        finally:
            if self._variable_creator_stack is not new:
                raise RuntimeError("Exiting variable_creator_scope without proper nesting.")
            self._variable_creator_stack = old


def control_element(item: Any) -> Any:
    """Return the tensor or operation that a control dependency on `item` means."""
    if type(item).__name__ == "IndexedSlices" or hasattr(item, "_handle"):
        return item.op  # a resource variable is not read for this
    return item._as_graph_element() if hasattr(item, "_as_graph_element") else item


def _called(value: Any, name: str, op_type: str) -> Any:
    """Return the value of an attribute, which may be a function's result."""
    if not callable(value):
        return value
    from stillflow.protos import NodeDef

    return value(NodeDef(name=name, op=op_type))


def _attr_value(value: Any) -> Any:
    """Return an attribute in the internal form of graphs."""
    return from_proto(value, None) if type(value).__name__ == "AttrValue" else value


def _colocation_target(op: Any) -> Operation | None:
    if op is None or isinstance(op, Operation):
        return op
    inner = getattr(op, "_op", None) or getattr(op, "op", None)
    if isinstance(inner, Operation):
        return inner
    from stillflow.graph.conversion import convert_to_tensor

    return convert_to_tensor(op, as_ref=True).op
