"""A traced function: its body, and its calls as PartitionedCall."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.errors import invalid_argument
from stillflow.functional.executors import wanted_executor
from stillflow.functional.placeholders import passed, placeholders, signature_of
from stillflow.graph import tapes
from stillflow.graph.dims import merge
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.functions import LibraryFunction, define, uid
from stillflow.graph.gradient_registry import _register
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.functional import cards
from stillflow.ops.functional.cards import symbolic
from stillflow.ops.functional.nodes import copy_handle_data
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import trace_body
from stillflow.variables.accesses import variable_accessed

if TYPE_CHECKING:
    from stillflow.functional.backward import SymbolicGradients


# All functions that were traced and are still in use, by name.
traced_functions: weakref.WeakValueDictionary[str, LibraryFunction] = weakref.WeakValueDictionary()

_CONTROL_FLOW = frozenset({"Switch", "Merge", "Enter", "Exit"})


def call_config() -> bytes:
    """Return the serialized `ConfigProto` that calls carry."""
    from stillflow.protos import ConfigProto

    config = ConfigProto(allow_soft_placement=True)
    config.device_count["CPU"] = 1
    config.device_count["GPU"] = 0
    config.gpu_options.experimental.SetInParent()
    serialized: bytes = config.SerializeToString(deterministic=True)
    return serialized


def trace_function(
    python_function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    arg_names: Sequence[str] = (),
    ordered: bool = True,
    reads_by_value: bool | None = None,
) -> TracedGraph:
    """Build the body of a function; placeholders stand for tensors and `TensorSpec`s.

    If `ordered`, operations with effects run in the order in which they are added. TypeError if a
    result cannot become a tensor, ValueError if the function changes the lists or dictionaries that
    are its arguments. With `reads_by_value`, variables are read once, now; None for what the body
    around does.
    """
    graph = TracedGraph(name, reads_by_value=reads_by_value)
    names = [*arg_names, *("arg" for _ in range(len(args)))]
    of_names = dict(sorted(kwargs.items()))
    with graph.as_default():
        given = [placeholders(graph, *each) for each in zip(args, names, strict=False)]
        named = {key: placeholders(graph, value, key) for key, value in of_names.items()}
    graph.structured_input_signature = (
        tuple(signature_of(*each) for each in zip(args, names, strict=False)),
        {key: signature_of(value, key) for key, value in of_names.items()},
    )
    before = nest.map_structure(lambda leaf: leaf, (given, named))
    trace_body(graph, python_function, given, named, ordered=ordered)
    _check_untouched(before, (given, named))
    return graph


def _check_untouched(before: Any, after: Any) -> None:
    try:
        nest.assert_same_structure(before, after)
        same = all(
            one is other
            for one, other in zip(nest.flatten(before), nest.flatten(after), strict=True)
        )
    except ValueError:
        same = False
    if not same:
        raise ValueError(
            "Function to be traced should not modify structure of input arguments. Check if your "
            "function has list and dictionary operations that alter input arguments, such as "
            "`list.pop`, `list.append`"
        )


def argument_name(placeholder: Tensor) -> str:
    """Return the name of an argument in the program, that of its placeholder if it has none."""
    name = placeholder.op.attrs.get("_user_specified_name")
    return placeholder.op.name if name is None else str(name.decode())


class ConcreteFunction:
    """A function for arguments of given types and shapes, whose call is one operation.

    Attributes:
      graph: its body.
      name: its name, in bytes.
    """

    def __init__(self, graph: TracedGraph, attrs: dict[str, Any] | None = None) -> None:
        self.graph = graph
        self._attrs = attrs or {}
        self.library_function = define(graph, f"__inference_{graph.name}_{uid()}")
        self.library_function.python_grad_func = self._gradient
        traced_functions[self.library_function.name] = self.library_function
        for key, value in self._attrs.items():
            self.library_function.definition.attr[key].CopyFrom(value)
        self._gradient_name = f"PartitionedCall-{uid()}"
        _register(self._gradient_name, self._gradient)
        self._immediate: Any = None  # the executor for eager calls
        self._recorded: Any = None  # the caller in graphs with several tapes
        self._symbolic: Any = None  # the builder of its calls' gradients

    @property
    def name(self) -> bytes:
        return self.library_function.name.encode()

    @property
    def function_def(self) -> Any:
        """The `FunctionDef`."""
        return self.library_function.definition

    definition = function_def
    grad_func_name = None
    python_grad_func = property(lambda self: self._gradient)

    @property
    def inputs(self) -> list[Tensor]:
        """Placeholders of the arguments and of the captures."""
        return self.graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self.graph.outputs

    @property
    def structured_outputs(self) -> Any:
        return self.graph.structured_outputs

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, TensorSpec]]:
        return self.graph.structured_input_signature

    @property
    def captured_inputs(self) -> list[Tensor]:
        """Tensors outside that each call passes after the arguments."""
        return self.graph.captured_inputs

    @property
    def variables(self) -> list[Any]:
        """The variables of the graph outside that the body uses."""
        if self.graph.outer_graph.runs_at_once:
            return list(self.graph.watched_variables)
        handles = set(self.graph.external_captures)  # no others are handles of variables
        every = [
            item
            for key in self.graph.outer_graph.collections
            for item in self.graph.outer_graph.get_collection(key)
        ]
        found = [item for item in every if getattr(item, "handle", None) in handles]
        return list({id(item): item for item in found}.values())

    @property
    def trainable_variables(self) -> list[Any]:
        return [variable for variable in self.variables if variable.trainable]

    @property
    def output_dtypes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.dtype, self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.shape, self.structured_outputs)

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        return [(op.name, op.type) for op in self.graph._operations if op._is_stateful]

    def add_to_graph(self, g: Any = None, register_gradient_functions: bool = False) -> None:
        """Add it to the library of a graph, by default the default one."""
        self.library_function.add_to_graph(get_default_graph() if g is None else g)
        if register_gradient_functions:
            self.add_gradient_functions_to_graph(g)

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Add the two functions of its gradient to the library of a graph.

        The first also returns the values inside that the second one takes. A body with branches
        or loops has none: its gradient computes them again.
        """
        if not self._has_branches:
            for function in self._symbolic_gradients().functions():
                function.add_to_graph(get_default_graph() if g is None else g)

    @property
    def _has_branches(self) -> bool:
        return any(op.type in _CONTROL_FLOW for op in self.graph._operations)

    @property
    def _arg_keywords(self) -> list[str]:
        """The names by which arguments can be given, each another one."""
        found: list[str] = []
        for tensor in self.graph.arguments:
            name = wanted = argument_name(tensor)
            more = itertools.count(1)
            while name in found:
                name = f"{wanted}_{next(more)}"
            found.append(name)
        return found

    @property
    def _num_positional_args(self) -> int:
        return len(self.graph.arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call, by position or name; give results in the structure of the function's."""
        names = self._arg_keywords
        if len(args) > len(names):
            raise TypeError(
                f"Expected at most {len(names)} positional arguments (and the rest keywords, of "
                f"{names}), got {args}. When calling a concrete function, positional arguments "
                "may not be bound to Tensors within nested structures."
            )
        flat = list(args)
        found = [*names[: len(flat)], *kwargs]
        for name in names[len(flat) :]:
            if name not in kwargs:
                raise TypeError(
                    f"Expected argument names {names} but got values for {found}. Missing: "
                    f"{sorted(set(names) - set(found))}."
                )
            flat.append(kwargs.pop(name))
        for name in kwargs:
            if name in names:
                raise TypeError(f"Got two values for keyword '{name}'.")
            raise TypeError(f"Keyword arguments {sorted(kwargs)} unknown. Expected {names}.")
        self._check_given(flat)
        return self.call_flat(flat)

    def _check_given(self, values: Sequence[Any]) -> None:
        """Raise an error for values that are no tensors, and types that differ from the trace.

        It is a ValueError or an InvalidArgumentError.
        """
        name = self.library_function.name
        for index, (value, inner) in enumerate(zip(values, self.graph.arguments, strict=True)):
            handle = getattr(value, "handle", value)
            if not isinstance(handle, Tensor):
                raise ValueError(
                    "All inputs to `ConcreteFunction`s must be Tensors; on invocation of "
                    f"{self.graph.name}, the {index}-th input ({value}) was not a Tensor."
                )
            if not get_default_graph().runs_at_once:
                self._check_shape(index, value, handle.shape, inner.shape)
            elif handle.holds_value:
                wanted, found = cpp_name(inner.dtype), cpp_name(handle.dtype)
                if wanted != found:
                    raise invalid_argument(
                        f"cannot compute {name} as input #{index}(zero-based) was expected to be a "
                        f"{wanted} tensor but is a {found} tensor [Op:{name}]"
                    )

    def _check_shape(self, index: int, value: Any, found: Any, wanted: Any) -> None:
        if not wanted.is_compatible_with(found):
            raise ValueError(
                f"The argument '{self._arg_keywords[index]}' (value {value}) is not compatible "
                f"with the shape this function was traced with. Expected shape {wanted}, but got "
                f"shape {found}.\n\nIf you called get_concrete_function, you may need to pass a "
                "tf.TensorSpec(..., shape=...) with a less specific shape, having None on axes "
                "which can vary."
            )

    def call_flat(self, values: Sequence[Any]) -> Any:
        """Add a call with the flat list of the arguments that are tensors."""
        inputs = [
            passed(value, inner.dtype)
            for value, inner in zip(values, self.graph.arguments, strict=True)
        ]
        inputs += self.captured_inputs
        graph = get_default_graph()
        if graph.runs_at_once:
            return self._structured(self._run(inputs), None)
        for variable in self.graph.watched_variables:  # it is read in the body only
            variable_accessed(variable)
        return self._structured(*self._added(graph, inputs))

    def outputs_for(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the results of a call that is given all that the body takes."""
        graph = get_default_graph()
        if graph.runs_at_once:
            return self._run(inputs)
        return self._added(graph, inputs)[0]

    def _added(
        self, graph: Graph, inputs: Sequence[Tensor]
    ) -> tuple[list[Tensor], Operation | None]:
        """Return the results of a call in a graph, and the operation.

        What one tape differentiates once adds to its results then; what is differentiated again
        has to give all of them from the start, for the tapes around to know them.
        """
        recording = [tape for tape in tapes.active.tapes if tape.should_record(inputs)]
        if len(recording) < 2 and not any(tape.persistent for tape in recording):
            op = self.add_call(graph, inputs)
            return op._outputs, op
        if self._recorded is None:
            from stillflow.functional.backward import AddedBody
            from stillflow.functional.recorded_calls import RecordedCalls

            with tapes.stopped():
                self._recorded = RecordedCalls(self.graph, True, AddedBody)
        results: list[Tensor] = self._recorded(self.library_function.name, inputs)
        return results, None

    def _run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Run it where operations run when they are called."""
        if self._immediate is None:
            from stillflow.functional.immediate_calls import ImmediateCalls

            self._immediate = ImmediateCalls(self.library_function.name, self.graph)
        return self._immediate(inputs)

    def add_call(
        self, graph: Graph, inputs: Sequence[Tensor], config: bytes | None = None
    ) -> Operation:
        """Add the operation, which takes all that the body takes; `config` is a `ConfigProto`."""
        with graph.control_dependencies(self.graph.control_captures):
            op = partitioned_call(self.library_function, self.outputs, graph, inputs, config)
        op.attrs["_gradient_op_type"] = self._gradient_name.encode()
        return op

    def _structured(self, results: Sequence[Tensor], op: Operation | None) -> Any:
        if self.structured_outputs is None:
            return op
        outputs = iter(results)
        flat = nest.flatten(self.structured_outputs, expand_composites=True)
        values = [None if item is None else next(outputs) for item in flat]
        return nest.pack_sequence_as(self.structured_outputs, values, expand_composites=True)

    # ---- gradients

    def _gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Return the gradient of a call: a call of a function that takes what the body computed."""
        if self._has_branches:
            # Values inside of branches and loops cannot be returned: they are computed again.
            del op.attrs["_gradient_op_type"]
            return symbolic(op, self.library_function.name, grads)
        made: list[Any] = self._symbolic_gradients()(op, *grads)
        return made

    def _symbolic_gradients(self) -> SymbolicGradients:
        if self._symbolic is None:
            from stillflow.functional.backward import SymbolicGradients

            self._symbolic = SymbolicGradients(self.graph, self.graph.outputs)
        return self._symbolic


def partitioned_call(
    function: LibraryFunction,
    outputs: Sequence[Tensor],
    graph: Graph,
    inputs: Sequence[Tensor],
    config: bytes | None = None,
) -> Operation:
    """Add the call of a function to a graph.

    `outputs` are what its body gives: results have their types, and their shapes at least. `inputs`
    are all that it takes; `config` is a serialized `ConfigProto`, by default that of all calls.
    """
    function.add_to_graph(graph)
    stateful = function.definition.signature.is_stateful
    card = cards.stateful_partitioned_call_op if stateful else cards.partitioned_call_op
    made = card(
        list(inputs),
        Tout=[tensor.dtype for tensor in outputs],
        f=function.attribute(),
        config_proto=call_config() if config is None else config,
        executor_type=wanted_executor(),
        name=None if outputs else "PartitionedFunctionCall",
    )
    op: Operation = made if isinstance(made, Operation) else made[0].op
    for inner, outer in zip(outputs, op._outputs, strict=True):
        outer._dims = merge(outer._dims, inner._dims)
        copy_handle_data(inner, outer)
    return op
