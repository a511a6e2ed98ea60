"""Metrics of a process: counters, gauges and samplers, one cell for each set of labels.

TensorFlow keeps them in its compiled part and programs reach them by
`tensorflow.python.eager.monitoring`. Names are unique among the metrics that exist.
"""

from __future__ import annotations

import operator
import threading
from bisect import bisect_right
from itertools import pairwise
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from stillflow import errors
from stillflow.platform import tf_logging as logging
from stillflow.protos import HistogramProto

_MOST_LABELS = 2
_LARGEST = 1.7976931348623157e308
_INT64 = 1 << 63

_metrics: WeakValueDictionary[str, Metric[Any]] = WeakValueDictionary()
_metrics_lock = threading.Lock()


class CounterCell:
    """Value of a counter for one set of labels."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def increase_by(self, value: int) -> None:
        """Add a number of at least 0.

        Raises:
          InvalidArgumentError: the number is negative.
          OverflowError: the number, or the sum, has more than 64 bits.
        """
        step = _int64(value)
        if step < 0:
            raise errors.InvalidArgumentError(None, None, f"A counter cannot decrease: {step}")
        with self._state.lock:
            self._state.value = _int64(self._state.value + step)

    def value(self) -> int:
        """Return the sum so far."""
        with self._state.lock:
            return int(self._state.value)


class _GaugeCell:
    """Value of a gauge for one set of labels."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def value(self) -> Any:
        """Return the value set last."""
        with self._state.lock:
            return self._state.value

    def _set(self, value: Any) -> None:
        with self._state.lock:
            self._state.value = value


class IntGaugeCell(_GaugeCell):
    """Value of an IntGauge for one set of labels."""

    def set(self, value: int) -> None:
        """Set the integer."""
        self._set(_int64(value))


class StringGaugeCell(_GaugeCell):
    """Value of a StringGauge for one set of labels."""

    def set(self, value: str) -> None:
        """Set the text."""
        self._set(_text(value, "value"))


class BoolGaugeCell(_GaugeCell):
    """Value of a BoolGauge for one set of labels."""

    def set(self, value: bool) -> None:
        """Set the flag.

        Raises:
          TypeError: the value is no bool.
        """
        if not isinstance(value, bool):
            raise TypeError(f"A BoolGauge takes a bool, got {value!r}")
        self._set(value)


class SamplerCell:
    """Histogram of a sampler for one set of labels."""

    def __init__(self, state: _State) -> None:
        self._state = state

    def add(self, value: float) -> None:
        """Add a sample."""
        sample = float(value)
        with self._state.lock:
            self._state.value.add(sample)

    def value(self) -> Any:
        """Return the samples so far as a HistogramProto."""
        with self._state.lock:
            return self._state.value.message()


class Buckets:
    """Upper limits of a sampler's buckets, in rising order; the last is the largest number."""

    def __init__(self, limits: list[float]) -> None:
        self.limits = limits


class ExponentialBuckets(Buckets):
    """Buckets whose limits grow by a factor: `scale * growth_factor ** i`, then the largest number.

    Raises:
      InvalidArgumentError: there are no buckets, or their limits do not rise.
    """

    def __init__(self, scale: float, growth_factor: float, bucket_count: int) -> None:
        if bucket_count <= 0:
            message = f"bucket_count must be positive, got {bucket_count}"
            raise errors.InvalidArgumentError(None, None, message)
        limits = [float(scale) * float(growth_factor) ** i for i in range(bucket_count)]
        limits.append(_LARGEST)
        if not all(low < high for low, high in pairwise(limits)):
            message = f"bucket limits must rise: scale {scale}, growth_factor {growth_factor}"
            raise errors.InvalidArgumentError(None, None, message)
        super().__init__(limits)


class _Samples:
    """Samples counted by bucket."""

    def __init__(self, limits: list[float]) -> None:
        self._limits = limits
        self._counts = [0] * len(limits)
        self._least, self._most = _LARGEST, -_LARGEST
        self._sum = self._sum_squares = 0.0

    def add(self, sample: float) -> None:
        # A sample on a limit belongs to the bucket above; one that is no number to the last.
        place = len(self._limits) - 1 if sample != sample else bisect_right(self._limits, sample)
        self._counts[min(place, len(self._counts) - 1)] += 1
        # No comparison with NaN holds, so that it changes neither end.
        self._least = sample if sample < self._least else self._least
        self._most = sample if sample > self._most else self._most
        self._sum += sample
        self._sum_squares += sample * sample

    def message(self) -> Any:
        return HistogramProto(
            min=self._least,
            max=self._most,
            num=sum(self._counts),
            sum=self._sum,
            sum_squares=self._sum_squares,
            bucket_limit=self._limits,
            bucket=self._counts,
        )


class _State:
    """Value behind all cells of the same labels."""

    def __init__(self, value: Any) -> None:
        self.lock = threading.Lock()
        self.value = value


Cell = TypeVar("Cell")


class Metric(Generic[Cell]):
    """A metric by name, with a cell for each set of labels.

    Raises:
      AlreadyExistsError: there is a metric of this name, and the new one is a counter.
      ValueError: there are more than two labels.
    """

    _cell: type[Any]

    def __init__(self, name: str, description: str, *labels: str) -> None:
        kind = type(self).__name__
        if len(labels) > _MOST_LABELS:
            raise ValueError(f"Cannot create {kind} metric with label >= {_MOST_LABELS + 1}")
        self._name = name = _text(name, "name")
        self._description = _text(description, "description")
        self._labels = tuple(_text(label, "label") for label in labels)
        self._states: dict[tuple[str, ...], _State] = {}
        self._lock = threading.Lock()
        with _metrics_lock:
            if name in _metrics:
                self._exists_already()
            else:
                _metrics[name] = self

    def get_cell(self, *labels: str) -> Cell:
        """Return the cell of a value for each label.

        Raises:
          ValueError: there are more, or fewer, values than labels.
        """
        if len(labels) != len(self._labels):
            kind = type(self).__name__
            raise ValueError(f"The {kind} expects taking {len(self._labels)} labels")
        key = tuple(_text(label, "label") for label in labels)
        with self._lock:
            if key not in self._states:
                self._states[key] = _State(self._first())
            cell: Cell = self._cell(self._states[key])
        return cell

    def _exists_already(self) -> None:
        # Only counters fail in TensorFlow.
        logging.error("Cannot register 2 metrics with the same name: %s", self._name)

    def _first(self) -> Any:
        raise NotImplementedError


class Counter(Metric[CounterCell]):
    """A number that only rises."""

    _cell = CounterCell

    def _first(self) -> int:
        return 0

    def _exists_already(self) -> None:
        message = "Another metric with the same name already exists."
        raise errors.AlreadyExistsError(None, None, message)


class IntGauge(Metric[IntGaugeCell]):
    """An integer that is set."""

    _cell = IntGaugeCell

    def _first(self) -> int:
        return 0


class StringGauge(Metric[StringGaugeCell]):
    """A text that is set."""

    _cell = StringGaugeCell

    def _first(self) -> str:
        return ""


class BoolGauge(Metric[BoolGaugeCell]):
    """A flag that is set."""

    _cell = BoolGaugeCell

    def _first(self) -> bool:
        return False


class Sampler(Metric[SamplerCell]):
    """A histogram of samples over `buckets`."""

    _cell = SamplerCell

    def __init__(self, name: str, buckets: Buckets, description: str, *labels: str) -> None:
        if not isinstance(buckets, Buckets):
            raise TypeError(f"A Sampler takes Buckets, got {type(buckets).__name__}")
        self._limits = list(buckets.limits)
        super().__init__(name, description, *labels)

    def _first(self) -> _Samples:
        return _Samples(self._limits)


def _int64(value: Any) -> int:
    """Return an integer of 64 bits, or raise TypeError or OverflowError."""
    number = operator.index(value)
    if not -_INT64 <= number < _INT64:
        raise OverflowError(f"{number} has more than 64 bits")
    return number


def _text(value: Any, what: str) -> str:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"{what} must be a string, got {type(value).__name__}")
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        raise TypeError(f"{what} must be UTF-8, got {value!r}") from None
