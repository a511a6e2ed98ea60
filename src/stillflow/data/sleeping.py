"""Datasets that wait before each element."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import UnaryUnchangedStructureDataset
from stillflow.data.experimental import Transformation
from stillflow.ops.data.sampling import sleep_dataset_op


class _SleepDataset(UnaryUnchangedStructureDataset):
    """A dataset that waits before each element."""

    def __init__(self, input_dataset: Any, sleep_microseconds: Any) -> None:
        self._input_dataset = input_dataset
        self._sleep_microseconds = sleep_microseconds
        super().__init__(
            input_dataset,
            sleep_dataset_op(
                input_dataset._variant_tensor, sleep_microseconds, **self._flat_structure
            ),
        )


def sleep(sleep_microseconds: Any) -> Transformation:
    """Wait for so many microseconds before each element."""
    return lambda dataset: _SleepDataset(dataset, sleep_microseconds)
