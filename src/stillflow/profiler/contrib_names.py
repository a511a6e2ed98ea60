"""tf.contrib.tfprof.model_analyzer: the profiler's functions under their first names."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export, export_value
from stillflow.profiler.option_builder import ProfileOptionBuilder
from stillflow.profiler.profiler import ALL_ADVICE, advise, profile

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = export_value(
    "contrib.tfprof.model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    ProfileOptionBuilder.trainable_variables_parameter(),
)
FLOAT_OPS_OPTIONS = export_value(
    "contrib.tfprof.model_analyzer.FLOAT_OPS_OPTIONS", ProfileOptionBuilder.float_operation()
)
PRINT_ALL_TIMING_MEMORY = export_value(
    "contrib.tfprof.model_analyzer.PRINT_ALL_TIMING_MEMORY", ProfileOptionBuilder.time_and_memory()
)
export_value("contrib.tfprof.model_analyzer.ALL_ADVICE", ALL_ADVICE)


@export("contrib.tfprof.model_analyzer.print_model_analysis")
def print_model_analysis(
    graph: Any, run_meta: Any = None, op_log: Any = None, tfprof_cmd: str = "scope",
    tfprof_options: Any = 0,
) -> Any:  # fmt: skip
    """As `tf.profiler.profile`."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


@export("contrib.tfprof.model_analyzer.advise")
def advise_on(graph: Any, run_meta: Any = None, tfprof_options: Any = 0) -> Any:
    """As `tf.profiler.advise`."""
    return advise(graph, run_meta, tfprof_options)
