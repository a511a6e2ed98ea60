"""tf.contrib.tfprof.model_analyzer: the profiler's functions under their first names."""

from __future__ import annotations

import copy
from typing import Any

from stillflow.graph.export import export, export_value
from stillflow.profiler.advisor import ALL_ADVICE
from stillflow.profiler.option_builder import _DEFAULTS, TRAINABLE_VARIABLES
from stillflow.profiler.profiler import Profiler, advise, profile

_NEWER = ("min_occurrence", "select", "step")  # options that these functions did not know


def _options(**changes: Any) -> dict[str, Any]:
    known = {name: value for name, value in _DEFAULTS.items() if name not in _NEWER}
    own = {"max_depth": 10000, "account_displayed_op_only": True, "dump_to_file": ""}
    return copy.deepcopy({**known, **own, **changes})


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
def print_model_analysis(
    graph: Any, run_meta: Any = None, op_log: Any = None, tfprof_cmd: str = "scope",
    tfprof_options: Any = 0,
) -> Any:  # fmt: skip
    """Profile a model; see `tf.profiler.profile`."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


@export("contrib.tfprof.model_analyzer.advise")
def advise_on(graph: Any, run_meta: Any = None, tfprof_options: Any = 0) -> Any:
    """Advise on a model; see `tf.profiler.advise`."""
    return advise(graph, run_meta, tfprof_options)
