"""Former name of `tf.lite.TFLiteConverter`, as class and as function."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.lite import settings
from stillflow.lite.converter import TFLiteConverter
from stillflow.util.notices import noticed

# Further arguments of `toco_convert`, in order; most are settings of a converter.
_ARGUMENTS = (
    "inference_type", "inference_input_type", "input_format", "input_shapes", "output_format",
    "quantized_input_stats", "default_ranges_stats", "drop_control_dependency",
    "reorder_across_fake_quant", "allow_custom_ops", "change_concat_input_ranges",
    "post_training_quantize", "quantize_to_float16", "dump_graphviz_dir", "dump_graphviz_video",
    "target_ops", "allow_nonexistent_arrays", "debug_info",
)  # fmt: skip
# Those that say nothing that the graph or the defaults do not say.
_IDLE = frozenset({"input_format", "allow_nonexistent_arrays", "debug_info"})


@export("lite.TocoConverter")
class TocoConverter:
    """Former name of `TFLiteConverter`."""


def _former(name: str) -> Any:
    method = getattr(TFLiteConverter, name)
    made = functools.wraps(method)(lambda *args, **kwargs: method(*args, **kwargs))
    return noticed("lite.TocoConverter")(made)


for _name in ("from_session", "from_frozen_graph", "from_saved_model", "from_keras_model_file"):
    setattr(TocoConverter, _name, staticmethod(_former(_name)))


@export("lite.toco_convert")
def toco_convert(
    input_data: Any, input_tensors: Sequence[Any], output_tensors: Sequence[Any], *args: Any,
    **kwargs: Any,
) -> bytes:  # fmt: skip
    """Return a frozen graph as a model of TensorFlow Lite.

    Args:
      input_data: a `GraphDef` without variables.
      input_tensors: the feeds.
      output_tensors: what is asked for.
      *args, **kwargs: settings of a `TFLiteConverter`, such as `inference_type`; and
        `input_shapes`, a shape for each input.

    Raises:
      TypeError: If there is no such setting.
      ValueError, ConverterError: If the graph cannot be converted.
    """
    given = {**dict(zip(_ARGUMENTS, args)), **kwargs}
    unknown = given.keys() - set(_ARGUMENTS)
    if unknown or len(args) > len(_ARGUMENTS):
        raise TypeError(f"toco_convert() got unexpected arguments {sorted(unknown)}")
    for tensor, shape in zip(input_tensors, given.pop("input_shapes", None) or ()):
        tensor.set_shape(shape)
    converter = TFLiteConverter(input_data, input_tensors, output_tensors)
    if given.pop("quantize_to_float16", False):
        converter.target_spec.supported_types = [settings.FLOAT16]
    if given.pop("post_training_quantize", False):
        converter.optimizations = [settings.Optimize.DEFAULT]
    operators = given.pop("target_ops", None)
    if operators:
        converter.target_spec.supported_ops = set(operators)
    stats = given.pop("quantized_input_stats", None)
    if stats:
        given["quantized_input_stats"] = dict(zip(converter.get_input_arrays(), stats))
    for name in given.keys() - _IDLE:
        setattr(converter, name, given[name])
    return converter.convert()
