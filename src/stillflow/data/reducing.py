"""Reduction of all elements of a dataset by a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import nest, structure
from stillflow.data.structured_function import StructuredFunctionWrapper, _legacy
from stillflow.graph.api import name_scope
from stillflow.graph.graph import get_default_graph
from stillflow.ops.data.mapping import reduce_dataset_op


def settled(
    trace: Callable[[Any], Any], state: Any, results: Callable[[Any], Any]
) -> tuple[StructuredFunctionWrapper, Any]:
    """Trace a function until the states that it takes and gives are of one type.

    `results` gives the classes, types and shapes of the next state of a wrapped function. Returns
    the function, and the type of the state; TypeError if classes or dtypes differ.
    """
    while True:
        wrapped = trace(state)
        given = results(wrapped)
        wanted = [_legacy(what, state) for what in ("classes", "types", "shapes")]
        _check("classes", wanted[0], given[0], issubclass)
        _check("types", wanted[1], given[1], lambda new, old: new == old)
        pairs = zip(nest.flatten(wanted[2]), nest.flatten(given[2]), strict=False)
        shapes = [old.most_specific_compatible_shape(new) for old, new in pairs]
        if not any(map(_weaker, nest.flatten(wanted[2]), shapes)):
            return wrapped, state
        state = structure.convert_legacy_structure(
            wanted[1], nest.pack_sequence_as(wanted[2], shapes), wanted[0]
        )


def _weaker(original: Any, weakened: Any) -> bool:
    return original.ndims is not None and (
        weakened.ndims is None or original.as_list() != weakened.as_list()
    )


def _check(what: str, wanted: Any, given: Any, fits: Callable[[Any, Any], bool]) -> None:
    for new, old in zip(nest.flatten(given), nest.flatten(wanted), strict=False):
        same = new == old or (isinstance(new, type) and isinstance(old, type) and fits(new, old))
        if not same:
            raise TypeError(
                f"The element {what} for the new state must match the initial state. Expected "
                f"{wanted}; got {given}."
            )


def reduce(dataset: Any, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
    """See `Dataset.reduce`."""
    with name_scope("initial_state"):
        initial_state = structure.normalize_element(initial_state)

    def trace(state: Any) -> StructuredFunctionWrapper:
        return StructuredFunctionWrapper(
            reduce_func, "reduce()", input_structure=(state, dataset.element_spec),
            add_to_graph=False,
        )  # fmt: skip

    wrapped, state = settled(
        trace, structure.type_spec_from_value(initial_state),
        lambda w: (w.output_classes, w.output_types, w.output_shapes),
    )  # fmt: skip
    function = wrapped.function
    function.add_to_graph(get_default_graph())
    return structure.from_compatible_tensor_list(
        state,
        _as_list(
            reduce_dataset_op(
                dataset._variant_tensor, structure.to_tensor_list(state, initial_state),
                function.captured_inputs, f=function,
                output_shapes=structure.get_flat_tensor_shapes(state),
                output_types=structure.get_flat_tensor_types(state),
            )
        ),
    )  # fmt: skip


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
