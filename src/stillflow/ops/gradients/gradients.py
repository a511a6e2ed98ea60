"""`tf.gradients`: builds the graph of partial derivatives.

Reverse-mode differentiation on the graph, by the gradient functions of the op cards; every node it
adds has the name and place that TF 1.15 gives it, so that programs may fetch and differentiate it.
"""

from __future__ import annotations

import collections
import contextlib
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.gradient_registry import gradient_function
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.indexed_slices import (
    IndexedSlices,
    convert_n_to_tensor_or_indexed_slices,
)
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import fill, zeros, zeros_like
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.frames import is_loop_exit, is_loop_switch, is_switch
from stillflow.ops.control_flow.gradients import zeros_dtype, zeros_like_outside_loop
from stillflow.ops.control_flow.identity_and_group import identity, tuple_
from stillflow.ops.gradients.aggregation import aggregate

if TYPE_CHECKING:
    from stillflow.ops.control_flow.while_gradients import LoopState


_TRAINABLE = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128,
    dtypes.resource, dtypes.variant,
)  # fmt: skip
_GROWS = frozenset({"While", "StatelessWhile"})


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """Result of `tf.gradients` for an x that y does not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


def is_trainable(tensor_or_dtype: Any) -> bool:
    """Return True if gradients flow through tensors of this type."""
    dtype = getattr(tensor_or_dtype, "dtype", tensor_or_dtype)
    return dtypes.as_dtype(dtype).base_dtype in _TRAINABLE


@export("gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Return the derivative of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: tensor or list of tensors to differentiate.
      xs: tensor, variable or list of these.
      grad_ys: gradients received by `ys`, ones by default.
      name: of the scope the nodes are made in.
      colocate_gradients_with_ops: place gradients with the operations they belong to.
      gate_gradients: wait for all of an operation's gradients before any is used.
      aggregation_method: one of `tf.AggregationMethod`.
      stop_gradients: tensors not to differentiate through.
      unconnected_gradients: the result where `ys` do not depend on an x.

    Returns:
      One Tensor or IndexedSlices for each of `xs`, or None where there is no dependency.

    Raises:
      LookupError: if an operation on the way has no gradient.
      RuntimeError: where operations run when they are called.
      ValueError: if arguments do not fit together.

    Example:
      >>> x = tf.constant([1.0, 2.0])
      >>> print(tf.Session().run(tf.gradients(tf.reduce_sum(x * x), x)[0]))
      [2. 4.]
    """
    return differentiate(
        ys, xs, grad_ys, name, colocate_gradients_with_ops, gate_gradients, aggregation_method,
        stop_gradients, unconnected_gradients,
    )  # fmt: skip


def differentiate(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate: bool = False,
    gate: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
    source: Graph | None = None,
) -> list[Any]:
    """Compute `gradients`; `source` is the graph of the `ys`, by default the default graph."""
    if executing_eagerly():
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape "
            "instead."
        )
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}"
        ) from None
    ys, xs = _as_list(ys), _as_list(xs)
    stops = [] if stop_gradients is None else _as_list(stop_gradients)
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    with name_scope(name, "gradients", [*ys, *xs, *stops, *given]):
        get_default_graph().unique_name("uid")
        ys = convert_n_to_tensor_or_indexed_slices(ys, name="y")
        xs = [getattr(x, "handle", x) if _is_resource_variable(x) else x for x in xs]
        xs = convert_n_to_tensor_or_indexed_slices(xs, name="x", as_ref=True)
        starts = _initial_gradients(given, ys, colocate)
        source = get_default_graph() if source is None else source
        paths = Paths(source, xs)
        stops = [paths.stand_in(tensor) for tensor in stops]
        backprop = Backprop(paths, ys, stops, colocate, gate, aggregation_method)
        backprop.run(ys, starts)
    backprop.finish()
    return [backprop.result(x, unconnected) for x in paths.xs]


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_resource_variable(value: Any) -> bool:
    return getattr(value, "_is_resource_variable", False)


def _initial_gradients(given: list[Any], ys: list[Any], colocate: bool) -> list[Any]:
    if len(given) != len(ys):
        raise ValueError(f"Passed {len(given)} grad_ys for {len(ys)} ys")
    given = convert_n_to_tensor_or_indexed_slices(given, name="grad_y")
    result = []
    for i, (y, grad_y) in enumerate(zip(ys, given, strict=True)):
        with colocated(y.op, colocate):
            if grad_y is None:
                if y.dtype.is_complex:
                    raise TypeError(
                        f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})"
                    )
                one = (shape(y), constant(1, dtype=y.dtype.base_dtype, name=f"grad_ys_{i}"))
                result.append(fill(*one))
                continue
            _check_initial(y, grad_y)
            result.append(_named_gradient(grad_y, i))
    return result


def _check_initial(y: Any, grad_y: Any) -> None:
    kind, grad_kind = y.dtype, grad_y.dtype
    name, grad_name = kind.base_dtype.name, grad_kind.base_dtype.name
    if kind.is_floating or kind.is_integer:
        if not (grad_kind.is_floating or grad_kind.is_integer):
            raise TypeError(
                f"Gradient type {grad_name} generated for real or integer-valued tensor {y} with "
                f"type {name} must be real or integer"
            )
    elif kind.is_complex:
        if not grad_kind.is_complex:
            raise TypeError(
                f"Gradient type {grad_name} generated for complex-valued tensor {y} with type "
                f"{name} must be real"
            )
    elif kind.base_dtype not in (dtypes.variant, dtypes.resource):
        raise TypeError(f"Tensor {y} with type {name} must be numeric to obtain a default gradient")


def _named_gradient(grad_y: Any, i: int) -> Any:
    if not isinstance(grad_y, IndexedSlices):
        return identity(grad_y, name=f"grad_ys_{i}")
    parts = {"indices": grad_y.indices, "values": grad_y.values, "shape": grad_y.dense_shape}
    named = {
        key: identity(part, name=f"grad_ys_{i}_{key}") if isinstance(part, Tensor) else part
        for key, part in parts.items()
    }
    return IndexedSlices(named["values"], named["indices"], named["shape"])


@contextlib.contextmanager
def colocated(op: Operation, wanted: bool) -> Iterator[None]:
    """Place operations made inside with `op`, if wanted."""
    if not wanted:
        yield
        return
    with get_default_graph()._colocate_with_for_gradient(op, None):
        yield


class Paths:
    """The edges of the graph, also those by which functions take tensors from outside.

    Args:
      source: the graph that is differentiated; a function that is being built has others around.
      xs: tensors with respect to which; what these stand for outside of a function is not followed.
    """

    def __init__(self, source: Graph, xs: Sequence[Tensor]) -> None:
        self._functions: list[FuncGraph] = []
        # Placeholders for eager tensors, which are in no graph.
        self._stand_ins: dict[Tensor, Tensor] = {}
        self._valued: dict[Tensor, Tensor] = {}
        graph: Graph | None = source
        while isinstance(graph, FuncGraph):
            self._functions.append(graph)
            graph = graph._outer_graph
        self.xs = [self.stand_in(x) for x in xs]
        self._ends = set(self.xs)

    def stand_in(self, tensor: Tensor) -> Tensor:
        """Return the placeholder of an eager tensor in the functions.

        Any other tensor unchanged.
        """
        if not tensor.holds_value:
            return tensor
        if tensor not in self._stand_ins:
            known = (f for f in self._functions if f.captured(tensor) is not None)
            inside = next(known, self._functions[0])
            made = self._stand_ins[tensor] = inside.capture(tensor)
            self._valued[made] = tensor
        return self._stand_ins[tensor]

    def inputs(self, op: Operation) -> list[Tensor]:
        """Return the inputs of `op`, as they are outside of the functions that took them."""
        if not isinstance(op.graph, FuncGraph):
            return op._inputs
        return [self._source(tensor) for tensor in op._inputs]

    def _source(self, tensor: Tensor) -> Tensor:
        while tensor not in self._ends and isinstance(tensor.home, FuncGraph):
            outside = tensor.home.source_of(tensor)
            if outside is tensor:
                break
            if outside.holds_value:
                return self.stand_in(outside)
            tensor = outside
        return tensor

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """Return the operations that take a tensor, in this graph or in functions."""
        found = tensor.consumers()
        for function in self._functions:
            inside = function.captured(self._valued.get(tensor, tensor))
            if inside is not None and inside is not tensor:
                found += self.consumers(inside)
        return found


class Backprop:
    """One walk from `ys` back to `xs`, in the order in which TF visits operations."""

    def __init__(
        self,
        paths: Paths,
        ys: Sequence[Tensor],
        stops: Sequence[Tensor | Operation],
        colocate: bool,
        gate: bool,
        aggregation_method: int | None,
    ) -> None:
        self.colocate, self.gate, self.method = colocate, gate, aggregation_method
        self.grads: dict[Operation, list[Any]] = {}
        self.queue: collections.deque[Operation] = collections.deque()
        self._paths = paths
        from_ops = [x.op for x in paths.xs]
        self._from_ops, self._stops = from_ops, stops
        self.pending, self.reachable, self.loops = _pending_counts(
            [y.op for y in ys], from_ops, colocate, paths
        )
        self.stop_ops: set[Operation] = set()

    def run(self, ys: Sequence[Tensor], starts: Sequence[Any]) -> None:
        """Build the gradients of all operations between xs and ys."""
        for y, start in zip(ys, starts, strict=True):
            self.add(y, start)
        queued: set[Operation] = set()
        for y in ys:
            if not self.pending[y.op] and y.op not in queued and y.op in self.reachable:
                queued.add(y.op)
                self.queue.append(y.op)
        if self.loops is not None:
            for result in self.loops.unused_exits(self.pending, queued):
                if is_trainable(result):
                    self.add(result, self.loops.zeros_for_exit(result))
                    self.queue.append(result.op)
        self.stop_ops = {
            op
            for op in self._from_ops
            if not any(self.pending[t.op] > 0 for t in self._paths.inputs(op))
        } | {x if isinstance(x, Operation) else x.op for x in self._stops}
        while self.queue:
            op = self.queue.popleft()
            with colocated(op, self.colocate):
                self.visit(op)
            self.release(op)

    def finish(self) -> None:
        if self.loops is not None:
            self.loops.finish()

    def add(self, tensor: Tensor, grad: Any) -> None:
        """Record one contribution to the gradient of `tensor`."""
        slots = self.grads.setdefault(tensor.op, [[] for _ in tensor.op._outputs])
        slot = slots[tensor.value_index]
        if isinstance(slot, list):
            slot.append(grad)
        else:  # the Switch of a loop variable gets its gradient from the loop itself
            slots[tensor.value_index] = grad

    def visit(self, op: Operation) -> None:
        """Sum the gradients of an operation's outputs and build those of its inputs."""
        loops = self.loops
        with _in_loop(loops, op, before=True):
            out_grads = aggregate(self.grads.get(op), op, self.method)
        function = None
        has_grads = not all(map(_is_absent, out_grads))
        if has_grads and op not in self.stop_ops:
            function = _gradient_function(op)
        with _in_loop(loops, op, before=False):
            self._check_not_initial_value(op)
            in_grads: Sequence[Any] = [None] * len(op._inputs)
            if function is not None:
                out_grads = self._fill_missing(op, out_grads)
                in_grads = self._build(op, function, out_grads)
            for index, (tensor, grad) in enumerate(
                zip(self._paths.inputs(op), in_grads, strict=False)
            ):
                if grad is None:
                    continue
                if isinstance(grad, Tensor) and tensor.dtype != dtypes.resource:
                    _take_shape(op, index, tensor, grad)
                self.add(tensor, grad)

    def _check_not_initial_value(self, op: Operation) -> None:
        """Raise ValueError if the gradient leaves a loop inside whose body it was requested."""
        context = op._control_flow_context
        if not (is_switch(op) and context is not None and context.IsWhileContext()):
            return
        if context is not get_default_graph()._get_control_flow_context():
            return
        queue, visited = collections.deque([op]), set()
        while queue:
            current = queue.popleft()
            if current in self._from_ops:
                raise ValueError(
                    "Cannot compute gradient inside while loop with respect to op "
                    f"'{current.name}'. We do not support taking the gradient wrt or through the "
                    "initial value of a loop variable. Gradients can be computed through loop "
                    "invariants or wrt the input parameters to the loop body."
                )
            if current not in visited:
                visited.add(current)
                queue.extend(tensor.op for tensor in self._paths.inputs(current))

    def _fill_missing(self, op: Operation, out_grads: list[Any]) -> list[Any]:
        """Return an output that the ys do not depend on has gradient zero."""
        for i, grad in enumerate(out_grads):
            if _is_absent(grad) and is_trainable(op._outputs[i]):
                if self.loops is not None:
                    out_grads[i] = self.loops.zeros_like(op, i)
                else:
                    out_grads[i] = zeros_like_outside_loop(op, i)
        return out_grads

    def _build(self, op: Operation, function: Any, out_grads: list[Any]) -> Sequence[Any]:
        graph = get_default_graph()
        with graph.name_scope(op.name + "_grad"), graph._original_op(op):
            with _scope_of(op):
                made = function(op, *out_grads)
            in_grads = list(made) if isinstance(made, (list, tuple)) else [made]
            # A loop gets more inputs, without gradients, while its gradient is built.
            if len(in_grads) != len(op._inputs) and op.type not in _GROWS:
                raise ValueError(
                    f"Num gradients {len(in_grads)} generated for op {op.node_def} do not match "
                    f"num inputs {len(op._inputs)}"
                )
            if self.gate and len([grad for grad in in_grads if grad is not None]) > 1:
                with graph.device(None), graph.colocate_with(None, ignore_existing=True):
                    in_grads = tuple_(in_grads)
        return in_grads

    def release(self, op: Operation) -> None:
        """Decrement the pending counts of the inputs' producers, and queue those that are ready."""
        for tensor in self._paths.inputs(op):
            source = tensor.op
            self.pending[source] -= 1
            ready = self.pending[source] == 0
            if self.loops is not None:
                if not ready:
                    ready = self.pending[source] > 0 and is_loop_switch(source)
                if ready and self.loops.defer_exit(self, tensor):
                    continue
            if ready:
                self.queue.append(source)

    def has_gradient(self, op: Operation) -> bool:
        """Return True if any output of `op` has received a gradient."""
        for slot in self.grads.get(op, ()):
            if isinstance(slot, (Tensor, IndexedSlices)):
                return True
            if slot and any(grad is not None for grad in slot):
                return True
        return False

    def result(self, x: Tensor, unconnected: UnconnectedGradients) -> Any:
        slots = self.grads.get(x.op)
        if slots is None:
            if unconnected is UnconnectedGradients.NONE:
                return None
            if x.dtype == dtypes.resource:
                from stillflow.ops.variables.resource import variable_shape

                return zeros(variable_shape(x), dtype=zeros_dtype(x))
            return zeros_like(x)
        grad = slots[x.value_index]
        assert not isinstance(grad, list), "gradients list should have been aggregated by now."
        return grad


def _gradient_function(op: Operation) -> Callable[..., Any] | None:
    try:
        return gradient_function(op)
    except LookupError:
        raise LookupError(
            f"No gradient defined for operation '{op.name}' (op type: {op.type})"
        ) from None


def _take_shape(op: Operation, index: int, tensor: Tensor, grad: Tensor) -> None:
    try:
        grad.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(
            "Incompatible shapes between op input and calculated input gradient.  Forward "
            f"operation: {op.name}.  Input index: {index}. Original input shape: {tensor.shape}.  "
            f"Calculated input gradient shape: {grad.shape}"
        ) from None


@contextlib.contextmanager
def _scope_of(op: Operation) -> Iterator[None]:
    """Gradients of operations marked for compilation are marked alike."""
    if not op.attrs.get("_XlaCompile"):
        yield
        return
    attrs = {"_XlaCompile": True, "_XlaScope": op.attrs.get("_XlaScope", b"")}
    with get_default_graph()._attr_scope(attrs):
        yield


@contextlib.contextmanager
def _in_loop(loops: Any, op: Operation, before: bool) -> Iterator[None]:
    if loops is None:
        yield
        return
    loops.enter(op, before)
    try:
        yield
    finally:
        loops.exit(op, before)


def _loop_state(between: list[Operation], seen: set[Operation], colocate: bool) -> LoopState | None:
    """Return the state of the loops on the way, whose other results are added to `between`.

    Or None.
    """
    if not any(is_loop_exit(op) for op in between):
        return None
    from stillflow.ops.control_flow.while_gradients import LoopState

    return LoopState(between, seen, colocate)


def _pending_counts(
    to_ops: Sequence[Operation], from_ops: Sequence[Operation], colocate: bool, paths: Paths
) -> tuple[dict[Operation, int], set[Operation], Any]:
    """Return the number of gradients each operation between `from_ops` and `to_ops` waits for."""
    reached: set[Operation] = set()
    queue = collections.deque(from_ops)
    while queue:
        op = queue.popleft()
        if op in reached:
            continue
        reached.add(op)
        for output in op._outputs:
            if is_trainable(output) or output.dtype.base_dtype == dtypes.bfloat16:
                queue.extend(paths.consumers(output))
    reachable = {op for op in to_ops if op in reached}
    between: list[Operation] = []
    seen: set[Operation] = set()
    queue = collections.deque(to_ops)
    while queue:
        op = queue.popleft()
        if op in reached:
            seen.add(op)
            between.append(op)
            reached.discard(op)
            queue.extend(tensor.op for tensor in paths.inputs(op))
    loops = _loop_state(between, seen, colocate)
    pending: dict[Operation, int] = collections.defaultdict(int)
    for op in between:
        for tensor in paths.inputs(op):
            if tensor.op in seen:
                pending[tensor.op] += 1
    return pending, reachable, loops


def _is_absent(grad: Any) -> bool:
    """Return True if nothing came back to an output."""
    return grad is None or (isinstance(grad, list) and not grad)
