"""Functions for TensorRT: they exist, so that programs load, and raise an error when called."""

from __future__ import annotations

from typing import Any, NoReturn

from stillflow import errors
from stillflow.graph.export import export


@export("contrib.tensorrt.create_inference_graph")
def create_inference_graph(
    input_graph_def: Any,
    outputs: Any,
    max_batch_size: int = 1,
    max_workspace_size_bytes: int = 1 << 30,
    precision_mode: str = "FP32",
    minimum_segment_size: int = 3,
    is_dynamic_op: bool = False,
    maximum_cached_engines: int = 1,
    input_saved_model_dir: str | None = None,
    input_saved_model_tags: Any = None,
    output_saved_model_dir: str | None = None,
    session_config: Any = None,
) -> NoReturn:
    """Would replace parts of a graph by engines of TensorRT.

    Raises:
      tf.errors.UnimplementedError: always; the graph itself runs.
    """
    raise errors.unimplemented(
        "tf.contrib.tensorrt.create_inference_graph is not supported by Stillflow: there are no "
        "engines of TensorRT; graphs run without"
    )
