"""`tf.CriticalSection`: functions whose operations no other of the section's come between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, control_dependencies, init_scope, name_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.flows import is_tensor_array
from stillflow.ops.control_flow.identity_and_group import group, identity, tuple_
from stillflow.ops.control_flow.mutex import consume_mutex_lock_op, mutex_lock_op, mutex_v2_op

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"


class _ExecutionSignature(NamedTuple):
    """One call of `execute`: its lock, and the resources that the function uses."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


def _identity(value: Any) -> Any:
    if is_tensor_array(value):
        return value.identity()
    if isinstance(value, Operation):
        return group(value)
    return value if value is None else identity(value)


@export("CriticalSection")
class CriticalSection:
    """Section that runs functions' computations one after the other, across sessions too.

    Args:
      name: of the operation that stands for it.
      shared_name: sections of the same shared name are the same; the name by default.
      critical_section_def, import_scope: not implemented, as in TF.

    Raises:
      NotImplementedError: if a definition is given.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        del import_scope
        if critical_section_def and name is not None:
            raise ValueError("critical_section_def and shared_name are mutually exclusive.")
        if critical_section_def:
            raise NotImplementedError("Not yet implemented")
        with name_scope(name, "CriticalSection", []) as scope, init_scope():
            self._handle = mutex_v2_op(
                shared_name=scope if shared_name is None else shared_name,
                container=get_default_graph()._container or "",
                name=scope,
            )
        if not executing_eagerly():
            get_default_graph().add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the operation that stands for it."""
        return self._handle.op.name

    def execute(
        self,
        fn: Callable[[], Any],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:
        """Call `fn` so that its operations run within the section.

        Args:
          fn: gives tensors or operations, one or a structure of them.
          exclusive_resource_access: whether other sections must not use the same resources.
          name: of the scope.

        Returns:
          The result of `fn`; none of it is there before all of it is.

        Raises:
          ValueError: if `fn` uses this section itself, or resources that another section uses and
            one of the two wants for itself.
        """
        with name_scope(name, "critical_section_execute", []):
            lock = mutex_lock_op(self._handle)
            graph = get_default_graph()
            with graph._lock:  # so that operations of other threads are not taken for fn's
                before = len(graph._operations)
                with control_dependencies([lock]):
                    results = fn()
                created = graph._operations[before:]
            if not executing_eagerly():
                _wait_for_arguments(lock.op, created)
                self._register(lock.op, created, exclusive_resource_access)
            flat = [_identity(result) for result in nest.flatten(results)]
            with control_dependencies(flat):
                with colocate_with(self._handle):
                    ended = consume_mutex_lock_op(lock)
                together = tuple_(nest.flatten(results))
            with control_dependencies([ended]):
                return nest.pack_sequence_as(results, [_identity(item) for item in together])

    def _register(self, lock: Operation, created: list[Operation], exclusive: bool) -> None:
        """Record the resources of an execution, and check them against those of others."""
        graph = get_default_graph()
        resources = list(
            dict.fromkeys(t for op in created for t in op._inputs if t.dtype == dtypes.resource)
        )
        if any(self._is_own(handle) for handle in resources):
            raise ValueError(
                "The function fn attempts to directly access the CriticalSection in which it "
                "would be running.  This is illegal and would cause deadlocks."
            )
        for other in graph.get_collection(CRITICAL_SECTION_EXECUTIONS):
            shared = [handle for handle in resources if handle in other.resources]
            wanted = exclusive or other.exclusive_resource_access
            if shared and wanted and not self._is_own(other.handle):
                raise ValueError(
                    f"This execution would access resources: {shared}.  Either this lock "
                    f"(CriticalSection: {self._handle}) or lock '{other}' (CriticalSection: "
                    f"{other.handle}) requested exclusive resource access of this resource.  Did "
                    "you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )
        execution = _ExecutionSignature(lock, self._handle, resources, exclusive)
        graph.add_to_collection(CRITICAL_SECTION_EXECUTIONS, execution)

    def _is_own(self, handle: Tensor) -> bool:
        """Return True if a handle is of this section."""
        if handle.holds_value:
            return handle is self._handle
        other = handle.op
        if other.type != "MutexV2":  # an argument of a function, say
            return False
        mine = self._handle.op
        return (
            bool(other.attrs["shared_name"])
            and other.attrs["shared_name"] == mine.attrs["shared_name"]
            and (other.device == mine.device or _class(other) == _class(mine))
        )


def _class(op: Operation) -> Any:
    return op.attrs.get("_class")


def _wait_for_arguments(lock: Operation, created: Iterable[Operation]) -> None:
    """Locks only after all that `created` takes from outside: it may need the section too."""
    inside = {lock, *created, *lock._control_inputs, *(t.op for t in lock._inputs)}
    used: dict[Operation, None] = {}
    for op in created:
        used.update(dict.fromkeys(tensor.op for tensor in op._inputs))
        used.update(dict.fromkeys(op._control_inputs))
    outside = [op for op in used if op not in inside]
    if outside:
        lock._add_control_input(group(*outside))
