"""tf.profiler.ProfileOptionBuilder: options of a profile."""

from __future__ import annotations

import copy
from typing import Any

from stillflow.graph.export import export

TRAINABLE_VARIABLES = "_trainable_variables"

_DEFAULTS: dict[str, Any] = {
    "max_depth": 100, "min_bytes": 0, "min_micros": 0, "min_params": 0, "min_float_ops": 0,
    "min_occurrence": 0, "order_by": "name", "account_type_regexes": [".*"],
    "start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"],
    "hide_name_regexes": [], "account_displayed_op_only": False, "select": ["micros"],
    "step": -1, "output": "stdout",
}  # fmt: skip


def _options(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy({**_DEFAULTS, **changes})


@export("profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Builder of the options of `tf.profiler.profile`, a dict; each method returns the builder.

    Args:
      options: where to begin; what is shown is time by name if None.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = _options() if options is None else copy.deepcopy(options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that count the parameters of trainable variables."""
        return _options(
            max_depth=10000, account_type_regexes=[TRAINABLE_VARIABLES],
            account_displayed_op_only=True, select=["params"],
        )  # fmt: skip

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that count floating-point operations, as far as shapes are known."""
        return _options(
            max_depth=10000, min_float_ops=1, order_by="float_ops",
            account_displayed_op_only=True, select=["float_ops"],
        )  # fmt: skip

    @staticmethod
    def time_and_memory(
        min_micros: int = 1, min_bytes: int = 1, min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Options that show time and memory, of operations that need at least so much of each."""
        return _options(
            max_depth=10000, min_bytes=min_bytes, min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes, min_output_bytes=min_output_bytes,
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros, order_by="micros", account_displayed_op_only=True,
            select=["micros", "bytes"],
        )  # fmt: skip

    def build(self) -> dict[str, Any]:
        """Return the options."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options.update(copy.deepcopy(changes))
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Show so many levels."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> ProfileOptionBuilder:  # fmt: skip
        """Show entries with at least so many bytes."""
        return self._with(
            min_bytes=min_bytes, min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes, min_output_bytes=min_output_bytes,
        )  # fmt: skip

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Show entries with at least so many microseconds."""
        return self._with(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )  # fmt: skip

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Show entries with at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Show operations that ran at least so often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Show entries with at least so many floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: list[str]) -> ProfileOptionBuilder:
        """Count operations of which a type, the device or a mark matches."""
        return self._with(account_type_regexes=account_type_regexes)

    def with_node_names(
        self, start_name_regexes: Any = None, show_name_regexes: Any = None,
        hide_name_regexes: Any = None, trim_name_regexes: Any = None,
    ) -> ProfileOptionBuilder:  # fmt: skip
        """Begin at names that match, show or hide names, and leave out entries below some."""
        given = {
            "start_name_regexes": start_name_regexes, "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes, "trim_name_regexes": trim_name_regexes,
        }  # fmt: skip
        return self._with(**{name: value for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Choose totals of the shown entries, or of everything."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Print the report."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Write the report to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Write a trace for Chrome's tracing page."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Write a profile for pprof; not supported."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sorts by a measure, largest first, or by name."""
        return self._with(order_by=attribute)

    def select(self, attributes: list[str]) -> ProfileOptionBuilder:
        """Show these measures."""
        return self._with(select=attributes)

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Set the step to show of a `Profiler`; the average of all if -1."""
        return self._with(step=step)
