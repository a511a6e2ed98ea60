"""Aggregation of the results of an epoch's steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.keras.engine import composites


class MetricsAggregator:
    """The mean loss, and the metrics as they are after the last step.

    Args:
      count: the number of examples or steps; None if it is found out later.
      by_examples: whether steps count by their examples.
    """

    def __init__(self, count: int | None, by_examples: bool) -> None:
        self.count, self._by_examples = count, by_examples
        self.results: list[Any] = []

    def add(self, outputs: list[Any], start: int, end: int) -> None:
        """Add the results of a step, which had the examples from `start` to `end`."""
        if not self.results:
            self.results = [np.float64(0.0)] * len(outputs)
        self.results[0] += np.float64(outputs[0]) * ((end - start) if self._by_examples else 1)
        self.results[1:] = outputs[1:]

    def finalize(self) -> None:
        """Finish the epoch.

        Raises:
          ValueError: if there was no step.
        """
        if not self.results:
            raise ValueError("Empty training data.")
        self.results[0] /= self.count

    def reset(self) -> None:
        """Begins another epoch."""
        self.results = []


class OutputsAggregator:
    """All predictions after each other.

    Args:
      count: the number of examples, if steps say which they had; else None.
    """

    def __init__(self, count: int | None) -> None:
        self.count = count
        self._structure: Any = None
        self._steps: list[list[Any]] = []
        self.results: Any = []

    def add(self, outputs: list[Any], start: int, end: int) -> None:
        """Add the predictions of a step."""
        self._structure = outputs
        flat = composites.flatten(outputs)
        for value in flat:
            if composites.is_composite(value):
                continue
            size = np.shape(value)[0] if np.ndim(value) else None
            if self.count is not None and end - start == self.count and size != self.count:
                shape = (self.count, *np.shape(value)[1:])
                raise ValueError(
                    "Mismatch between expected batch size and model output batch size. Output "
                    f"shape = {np.shape(value)}, expected output shape = shape {shape}"
                )
        self._steps.append(flat)

    def finalize(self) -> None:
        """Join the predictions."""
        columns = [composites.join(list(parts)) for parts in zip(*self._steps, strict=True)]
        self.results = composites.pack_as(self._structure, columns) if self._steps else []

    def reset(self) -> None:
        """Reset."""
        self._steps = []
