"""Datasets of the results of a program's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data.dataset import UnaryDataset, UnaryUnchangedStructureDataset
from stillflow.data.structured_function import StructuredFunctionWrapper
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data import interleaving, mapping

Function = Callable[..., Any]


class _Mapped(UnaryDataset):
    """Dataset of a function's results."""

    _name = "Dataset.map()"

    def __init__(self, input_dataset: Any, map_func: Function, legacy: bool = False) -> None:
        self._input_dataset = input_dataset
        self._map_func = StructuredFunctionWrapper(
            map_func, self._transformation_name(), dataset=input_dataset,
            use_legacy_function=legacy,
        )  # fmt: skip

    def _finish(self, card: Any, *more: Any, **attrs: Any) -> None:
        """Add the node: the dataset, captured tensors, then `more`."""
        function = self._map_func.function
        variant = card(
            self._input_dataset._variant_tensor, function.captured_inputs, *more, f=function,
            **attrs, **self._flat_structure,
        )  # fmt: skip
        UnaryDataset.__init__(self, self._input_dataset, variant)

    def _functions(self) -> list[Any]:
        return [self._map_func]

    @property
    def element_spec(self) -> Any:
        return self._map_func.output_structure

    def _transformation_name(self) -> str:
        return self._name


class MapDataset(_Mapped):
    """Results of a function for each element."""

    def __init__(
        self, input_dataset: Any, map_func: Function, use_inter_op_parallelism: bool = True,
        preserve_cardinality: bool = False, use_legacy_function: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(input_dataset, map_func, use_legacy_function)
        self._finish(
            mapping.map_dataset_op, use_inter_op_parallelism=use_inter_op_parallelism,
            preserve_cardinality=preserve_cardinality,
        )  # fmt: skip


class ParallelMapDataset(_Mapped):
    """Results of a function for each element, several at a time."""

    def __init__(
        self, input_dataset: Any, map_func: Function, num_parallel_calls: Any,
        use_inter_op_parallelism: bool = True, preserve_cardinality: bool = False,
        use_legacy_function: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(input_dataset, map_func, use_legacy_function)
        self._num_parallel_calls = convert_to_tensor(
            num_parallel_calls, dtype=dtypes.int32, name="num_parallel_calls"
        )
        self._finish(
            mapping.parallel_map_dataset_op, self._num_parallel_calls,
            use_inter_op_parallelism=use_inter_op_parallelism,
            preserve_cardinality=preserve_cardinality,
        )  # fmt: skip


class FlatMapDataset(_Mapped):
    """The elements of the datasets that a function gives."""

    _name = "Dataset.flat_map()"
    _card = interleaving.flat_map_dataset_op

    def __init__(self, input_dataset: Any, map_func: Function) -> None:
        super().__init__(input_dataset, map_func)
        self._check_dataset()
        self._finish(self._card)

    def _check_dataset(self) -> None:
        from stillflow.data.specs import DatasetSpec

        found = self._map_func.output_structure
        if not isinstance(found, DatasetSpec):
            raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(found)}")
        self._structure = found._element_spec

    @property
    def element_spec(self) -> Any:
        return self._structure


class InterleaveDataset(FlatMapDataset):
    """The elements of the datasets that a function gives, of several in turn."""

    _name = "Dataset.interleave()"

    def __init__(
        self, input_dataset: Any, map_func: Function, cycle_length: Any, block_length: Any
    ) -> None:
        _Mapped.__init__(self, input_dataset, map_func)
        self._check_dataset()
        self._finish(interleaving.interleave_dataset_op, *self._cycle(cycle_length, block_length))

    def _cycle(self, cycle_length: Any, block_length: Any) -> tuple[Any, Any]:
        self._cycle_length = convert_to_tensor(
            cycle_length, dtype=dtypes.int64, name="cycle_length"
        )
        self._block_length = convert_to_tensor(
            block_length, dtype=dtypes.int64, name="block_length"
        )
        return self._cycle_length, self._block_length


class ParallelInterleaveDataset(InterleaveDataset):
    """The elements of the datasets that a function gives, read ahead in threads."""

    def __init__(
        self, input_dataset: Any, map_func: Function, cycle_length: Any, block_length: Any,
        num_parallel_calls: Any,
    ) -> None:  # fmt: skip
        _Mapped.__init__(self, input_dataset, map_func)
        self._check_dataset()
        lengths = self._cycle(cycle_length, block_length)
        self._num_parallel_calls = convert_to_tensor(
            num_parallel_calls, dtype=dtypes.int64, name="num_parallel_calls"
        )
        self._finish(
            interleaving.parallel_interleave_dataset_v2_op, *lengths, self._num_parallel_calls
        )


class FilterDataset(UnaryUnchangedStructureDataset):
    """The elements for which a function gives True."""

    def __init__(
        self, input_dataset: Any, predicate: Function, use_legacy_function: bool = False
    ) -> None:
        self._input_dataset = input_dataset
        wrapped = StructuredFunctionWrapper(
            predicate, self._transformation_name(), dataset=input_dataset,
            use_legacy_function=use_legacy_function,
        )  # fmt: skip
        check_predicate(wrapped)
        self._predicate = wrapped
        super().__init__(
            input_dataset,
            mapping.filter_dataset_op(
                input_dataset._variant_tensor, wrapped.function.captured_inputs,
                predicate=wrapped.function, **self._flat_structure,
            ),
        )  # fmt: skip

    def _functions(self) -> list[Any]:
        return [self._predicate]

    def _transformation_name(self) -> str:
        return "Dataset.filter()"


def check_predicate(wrapped: StructuredFunctionWrapper) -> None:
    """Raise ValueError for a function that does not return a boolean."""
    found = wrapped.output_structure
    if not isinstance(found, TensorSpec) or not found.is_compatible_with(
        TensorSpec([], dtypes.bool)
    ):
        raise ValueError(
            f"`predicate` return type must be convertible to a scalar boolean tensor. Was {found}."
        )
