"""Settings of a converter: optimizations, operator sets, types, representative data."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export, export_value

FLOAT = export_value("lite.constants.FLOAT", dtypes.float32)
FLOAT16 = export_value("lite.constants.FLOAT16", dtypes.float16)
INT32 = export_value("lite.constants.INT32", dtypes.int32)
INT64 = export_value("lite.constants.INT64", dtypes.int64)
STRING = export_value("lite.constants.STRING", dtypes.string)
QUANTIZED_UINT8 = export_value("lite.constants.QUANTIZED_UINT8", dtypes.uint8)
INT8 = export_value("lite.constants.INT8", dtypes.int8)
# File formats, by their numbers in TocoFlags.
TFLITE = export_value("lite.constants.TFLITE", 2)
GRAPHVIZ_DOT = export_value("lite.constants.GRAPHVIZ_DOT", 3)


class _Named(enum.Enum):
    def __str__(self) -> str:
        return str(self.value)


@export("lite.Optimize")
class Optimize(_Named):
    """Optimization goals; today each stores weights as 8-bit integers."""

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"


@export("lite.OpsSet")
class OpsSet(_Named):
    """The operators that a model may be made of."""

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"

    @staticmethod
    def get_options() -> list[str]:
        """Return the names of all sets."""
        return [str(option) for option in OpsSet]


@export("lite.RepresentativeDataset")
class RepresentativeDataset:
    """Inputs to try a model with.

    Args:
      input_gen: a function that returns an iterable of lists, one array for each input.
    """

    def __init__(self, input_gen: Callable[[], Iterable[Any]]) -> None:
        self.input_gen = input_gen


@export("lite.TargetSpec")
class TargetSpec:
    """Target of a conversion.

    Args:
      supported_ops: a set of `OpsSet`; by default TensorFlow Lite's own operators.
      supported_types: the types that constants may have, such as `tf.lite.constants.FLOAT16`.
    """

    def __init__(self, supported_ops: Any = None, supported_types: Any = None) -> None:
        self.supported_ops = {OpsSet.TFLITE_BUILTINS} if supported_ops is None else supported_ops
        self.supported_types = [] if supported_types is None else supported_types


class ConverterError(Exception):
    """A model cannot be converted."""
