"""Functions that a program gives to transformations, as functions of the graph's library."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.autograph.hooks import tf_convert
from stillflow.data import nest, structure
from stillflow.graph.autograph_status import ControlStatusCtx, Status, control_status_ctx
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import LibraryFunction, define, uid
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.functional.control_order import order_effects
from stillflow.util.function_utils import get_func_name
from stillflow.variables.variable_scope import get_variable_scope


class _Body(FuncGraph):
    """Body whose placeholders are named after their arguments."""

    _seed_used = False  # whether an operation without a seed of its own used the graph's

    def capture_name(self, tensor: Tensor) -> str | None:
        return None if tensor.holds_value else tensor.op.name


class DataFunction:
    """A function of elements that nodes name.

    Attributes:
      graph: its body.
      captured_inputs: tensors outside that are passed after the element.
    """

    def __init__(self, body: FuncGraph, name: str) -> None:
        self.graph = body
        self.library_function: LibraryFunction = define(body, name)
        self.captured_inputs: list[Tensor] = body.captured_inputs

    @property
    def name(self) -> str:
        return self.library_function.name

    def add_to_graph(self, graph: Graph) -> None:
        """Add it to the library of a graph."""
        self.library_function.add_to_graph(graph)


_SHARED = (
    GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES,
)  # fmt: skip


def _share_collections(body: FuncGraph) -> None:
    """Show a body the collections of the graph outside; those of variables are the same ones."""
    outer = body.outer_graph
    for name in {*outer.get_all_collection_keys(), *_SHARED}:
        if name in _SHARED:
            body._collections[name] = outer.get_collection_ref(name)
        elif isinstance(name, str) and not name.startswith("__variable"):
            body._collections[name] = outer.get_collection(name)


def _should_unpack_args(args: Any) -> bool:
    return type(args) is tuple


class StructuredFunctionWrapper:
    """A Python function from elements to elements, traced.

    Args:
      func: the function.
      transformation_name: who calls it, for messages: "Dataset.map()".
      dataset: whose elements it takes.
      input_classes, input_shapes, input_types: of what it takes, instead of `dataset`.
      input_structure: the type of what it takes, instead of both.
      add_to_graph: whether the function is added to the default graph's library.
      use_legacy_function: whether stateful operations are left in no order.

    Raises:
      TypeError: if what it returns cannot be an element.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        transformation_name: str,
        dataset: Any = None,
        input_classes: Any = None,
        input_shapes: Any = None,
        input_types: Any = None,
        input_structure: Any = None,
        add_to_graph: bool = True,
        use_legacy_function: bool = False,
        defun_kwargs: Any = None,
    ) -> None:
        legacy = (input_classes, input_shapes, input_types)
        self._input_structure = _input_structure(dataset, legacy, input_structure)
        self._func = tf_convert(func, control_status_ctx())
        self._transformation_name = transformation_name
        self._output_structure: Any = None
        readable = transformation_name.replace(".", "_")[:-2]
        name = f"{readable if len(transformation_name) > 2 else ''}_{get_func_name(func)}"
        body = _Body(name)
        body.is_legacy, body.orders_effects = use_legacy_function, not use_legacy_function
        body.seed = body.outer_graph.seed
        _share_collections(body)
        tables = len(body.get_collection_ref(GraphKeys.TABLE_INITIALIZERS))
        # Traced functions are not converted unless they request it; `tf_convert` does.
        status = control_status_ctx() if use_legacy_function else ControlStatusCtx(Status.DISABLED)
        with body.as_default(), status:
            self._trace(body, ordered=not use_legacy_function)
        if len(body.get_collection_ref(GraphKeys.TABLE_INITIALIZERS)) != tables:
            warnings.warn(
                f"Creating resources inside a function passed to {transformation_name} is not "
                "supported. Create each resource outside the function, and capture it inside the "
                "function to use it.",
                stacklevel=4,
            )
        number = uid()
        full = f"{name}_{number}" if use_legacy_function else f"__inference_{name}_{number}"
        self._function = DataFunction(body, full)
        if add_to_graph:
            self._function.add_to_graph(get_default_graph())
        self._warn_of_seed(body, name)

    def _warn_of_seed(self, body: Any, name: str) -> None:
        outer = get_default_graph().seed
        if outer and body.seed == outer and body._seed_used:
            warnings.warn(
                f"Seed {outer} from outer graph might be getting used by function {name}, if the "
                "random op has not been provided any seed. Explicitly set the seed in the "
                "function if this is not the intended behavior.",
                stacklevel=5,
            )

    def _trace(self, body: FuncGraph, ordered: bool) -> None:
        scope = get_variable_scope()
        before = scope.use_resource
        scope.set_use_resource(True)
        try:
            specs = structure.get_flat_tensor_specs(self._input_structure)
            arguments = []
            for index, spec in enumerate(specs):
                name = f"args_{index}" if ordered else f"arg{index}"
                arguments.append(body.add_argument(spec.dtype, spec.shape, name))
                if ordered:
                    arguments[-1].op._set_attr("_user_specified_name", _text(name))
            results = [convert_to_tensor(t) for t in self._call(arguments)]
            body.outputs = (
                [identity(t) for t in results]
                if ordered
                else [t if t.home is body else body.capture(t) for t in results]
            )
        finally:
            scope.set_use_resource(before)
        if ordered:
            body.control_outputs = order_effects(body, body.outputs)

    def _call(self, arguments: Sequence[Any]) -> list[Any]:
        given = structure.from_compatible_tensor_list(self._input_structure, arguments)
        if not _should_unpack_args(given):
            given = (given,)
        result = self._func(*given)
        if isinstance(result, list):
            result = tuple(result)
        try:
            self._output_structure = structure.type_spec_from_value(result)
        except (ValueError, TypeError):
            raise TypeError(
                "Unsupported return value from function passed to "
                f"{self._transformation_name}: {result}."
            ) from None
        return structure.to_tensor_list(self._output_structure, result)

    @property
    def output_structure(self) -> Any:
        return self._output_structure

    @property
    def output_classes(self) -> Any:
        return _legacy("classes", self._output_structure)

    @property
    def output_shapes(self) -> Any:
        return _legacy("shapes", self._output_structure)

    @property
    def output_types(self) -> Any:
        return _legacy("types", self._output_structure)

    @property
    def function(self) -> DataFunction:
        return self._function


def _text(text: str) -> Any:
    from stillflow.protos import AttrValue

    return AttrValue(s=text.encode())


def _legacy(what: str, spec: Any) -> Any:
    return nest.map_structure(lambda one: getattr(one, f"_to_legacy_output_{what}")(), spec)


def _input_structure(dataset: Any, legacy: tuple[Any, Any, Any], input_structure: Any) -> Any:
    given = any(part is not None for part in legacy)
    if input_structure is None and dataset is None:
        if any(part is None for part in legacy):
            raise ValueError(
                "Either `dataset`, `input_structure` or all of `input_classes`, `input_shapes`, "
                "and `input_types` must be specified."
            )
        classes, shapes, types = legacy
        return structure.convert_legacy_structure(types, shapes, classes)
    if given or (dataset is not None and input_structure is not None):
        raise ValueError(
            "Either `dataset`, `input_structure` or all of `input_classes`, `input_shapes`, and "
            "`input_types` must be specified."
        )
    return dataset.element_spec if input_structure is None else input_structure
