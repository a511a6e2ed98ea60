"""Functions of TensorFlow's `tensorflow.python.data.experimental.ops.optimization`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.data.dataset import DatasetV2, UnaryDataset, UnaryUnchangedStructureDataset
from stillflow.data.experimental import Transformation
from stillflow.data.options import AutotuneAlgorithm
from stillflow.data.specs import DatasetSpec
from stillflow.data.structured_function import StructuredFunctionWrapper
from stillflow.data.wrapping import _ModelDataset, _OptimizeDataset
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data import fastest
from stillflow.ops.data import wrappers as cards


class _AssertNextDataset(UnaryUnchangedStructureDataset):
    """A dataset that checks which datasets its elements come to."""

    def __init__(self, input_dataset: Any, transformations: Any) -> None:
        self._input_dataset = input_dataset
        if transformations is None:
            raise ValueError("At least one transformation should be specified")
        self._transformations = convert_to_tensor(
            transformations, dtype=dtypes.string, name="transformations"
        )
        super().__init__(
            input_dataset,
            cards.assert_next_dataset_op(
                input_dataset._variant_tensor, self._transformations, **self._flat_structure
            ),
        )


class _NonSerializableDataset(UnaryUnchangedStructureDataset):
    """A dataset that is not rewritten."""

    def __init__(self, input_dataset: Any) -> None:
        self._input_dataset = input_dataset
        super().__init__(
            input_dataset,
            cards.non_serializable_dataset_op(
                input_dataset._variant_tensor, **self._flat_structure
            ),
        )


class _ChooseFastestDataset(DatasetV2):
    """The elements of several datasets that have the same ones, from the fastest of them."""

    def __init__(self, datasets: Sequence[Any], num_experiments: int = 10) -> None:
        """Make one of datasets; all of them are asked for so many elements before it chooses."""
        self._datasets = list(datasets)
        self._element_spec = self._datasets[0].element_spec
        super().__init__(
            fastest.choose_fastest_dataset_op(
                [dataset._variant_tensor for dataset in self._datasets],
                num_experiments=num_experiments, **self._flat_structure,
            )
        )  # fmt: skip

    def _inputs(self) -> list[Any]:
        return self._datasets

    @property
    def element_spec(self) -> TensorSpec:
        return self._element_spec


class _ChooseFastestBranchDataset(UnaryDataset):
    """Result of the fastest of several functions of a dataset."""

    def __init__(
        self,
        input_dataset: Any,
        functions: Sequence[Callable[[Any], Any]],
        ratio_numerator: int = 1,
        ratio_denominator: int = 1,
        num_elements_per_branch: int | None = None,
    ) -> None:
        """Make one; `functions` turn a dataset into datasets that give the same elements.

        For `ratio_denominator` elements that they give they take `ratio_numerator`, both positive
        or ValueError; each gives `num_elements_per_branch` before the fastest is chosen.
        """
        wrapped = [
            StructuredFunctionWrapper(
                function, "ChooseFastestV2",
                input_structure=DatasetSpec(input_dataset.element_spec),
            )
            for function in functions
        ]  # fmt: skip
        self._element_spec = wrapped[0].output_structure._element_spec
        captured = [list(one.function.captured_inputs) for one in wrapped]
        if ratio_numerator <= 0 or ratio_denominator <= 0:
            raise ValueError("ratio must be positive.")
        if num_elements_per_branch is None:
            num_elements_per_branch = 10 * ratio_denominator
        super().__init__(
            input_dataset,
            fastest.choose_fastest_branch_dataset_op(
                input_dataset._variant_tensor, ratio_numerator, ratio_denominator,
                [tensor for row in captured for tensor in row],
                num_elements_per_branch=num_elements_per_branch,
                branches=[one.function for one in wrapped],
                other_arguments_lengths=[len(row) for row in captured], **self._flat_structure,
            ),
        )  # fmt: skip

    @property
    def element_spec(self) -> TensorSpec:
        return self._element_spec


def assert_next(transformations: Any) -> Transformation:
    """Check which datasets the elements come to; names them without "Dataset", nearest first."""
    return lambda dataset: _AssertNextDataset(dataset, transformations)


def model() -> Transformation:
    """Tunes the parameters of a dataset."""
    return lambda dataset: _ModelDataset(dataset, AutotuneAlgorithm.HILL_CLIMB, 0)


def non_serializable() -> Transformation:
    """Keep a dataset from being rewritten."""
    return _NonSerializableDataset


def optimize(optimizations: Any = None) -> Transformation:
    """Rewrites a dataset by the optimizations of these names."""
    return lambda dataset: _OptimizeDataset(dataset, optimizations)
