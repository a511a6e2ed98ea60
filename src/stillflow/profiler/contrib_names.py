"""tf.contrib.tfprof.model_analyzer: the profiler's functions under their first names."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export, export_value
from stillflow.profiler.advisor import ALL_ADVICE
from stillflow.profiler.option_builder import TRAINABLE_VARIABLES
from stillflow.profiler.profiler import Profiler, advise, profile
from stillflow.util.deprecation import deprecated


def _options(**changes: Any) -> dict[str, Any]:
    return {
        "max_depth": 10000, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0,
        "order_by": "name", "account_type_regexes": [".*"], "start_name_regexes": [".*"],
        "trim_name_regexes": [], "show_name_regexes": [".*"], "hide_name_regexes": [],
        "account_displayed_op_only": True, "output": "stdout", "dump_to_file": "", **changes,
    }  # fmt: skip


TRAINABLE_VARS_PARAMS_STAT_OPTIONS = export_value(
    "contrib.tfprof.model_analyzer.TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"]),
)
FLOAT_OPS_OPTIONS = export_value(
    "contrib.tfprof.model_analyzer.FLOAT_OPS_OPTIONS",
    _options(min_float_ops=1, order_by="float_ops", select=["float_ops"]),
)
PRINT_ALL_TIMING_MEMORY = export_value(
    "contrib.tfprof.model_analyzer.PRINT_ALL_TIMING_MEMORY",
    _options(min_bytes=1, min_micros=1, select=["micros", "bytes"]),
)
export_value("contrib.tfprof.model_analyzer.ALL_ADVICE", ALL_ADVICE)
export_value("contrib.tfprof.model_analyzer.Profiler", Profiler)


@export("contrib.tfprof.model_analyzer.print_model_analysis")
@deprecated(
    "2018-01-01",
    "Use `tf.profiler.profile(graph, run_meta, op_log, cmd, options)`. Build `options` with "
    "`tf.profiler.ProfileOptionBuilder`. See README.md for details",
)
def print_model_analysis(
    graph: Any, run_meta: Any = None, op_log: Any = None, tfprof_cmd: str = "scope",
    tfprof_options: Any = 0,
) -> Any:  # fmt: skip
    """Profile a model; see `tf.profiler.profile`."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


@export("contrib.tfprof.model_analyzer.advise")
@deprecated("2018-01-01", "Use `tf.profiler.advise(graph, run_meta, options)`. See README.md")
def advise_on(graph: Any, run_meta: Any = None, tfprof_options: Any = 0) -> Any:
    """Advise on a model; see `tf.profiler.advise`."""
    return advise(graph, run_meta, tfprof_options)
