"""Statistics of nodes from the `RunMetadata` of many runs."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.protos import StepStats
from stillflow.runtime import native_log
from stillflow_contrib.stat_summarizer.statistics import Statistics

_NO_OPERATION = "<>"


@export("contrib.stat_summarizer.StatSummarizer")
class StatSummarizer:
    """Sum of nodes' statistics in several runs."""

    def __init__(self) -> None:
        self._statistics = Statistics()
        self._outputs: dict[str, list[tuple[int, tuple[int, tuple[int, ...]]]]] = {}

    def ProcessStepStatsStr(self, step_stats_str: bytes) -> None:
        """Add a run.

        Args:
          step_stats_str: a StepStats message, as `RunMetadata` has it, serialized.

        Raises:
          TypeError: for something else than bytes.
        """
        self.ProcessStepStats(StepStats.FromString(_bytes(step_stats_str)))

    def ProcessStepStats(self, step_stats: Any) -> None:
        """Add a run by its StepStats message."""
        # Where all was known before the run there are no nodes.
        nodes = [node for device in step_stats.dev_stats for node in device.node_stats]
        began = nodes[0].all_start_micros if nodes else 0
        total = memory = order = 0
        for device in step_stats.dev_stats:
            # The costs on GPUs are reported once for all streams and again for each.
            is_part = "/stream" in device.device and "/stream:all" not in device.device
            if is_part or "/host:CPU" in device.device:
                continue
            for node in device.node_stats:
                order += 1
                name, kind = _name_and_type(device.device, node)
                used = sum(each.total_bytes for each in node.memory)
                time = node.all_end_rel_micros
                start = node.all_start_micros - began
                self._statistics.add(name, kind, order, start, time, used)
                self._compare(name, node)
                total += time
                memory += used
        self._statistics.total.update(total)
        self._statistics.memory.update(memory)

    def _compare(self, name: str, node: Any) -> None:
        """Says when a node's outputs are others than before."""
        found = [
            (each.slot, (each.tensor_description.dtype, _sizes(each.tensor_description)))
            for each in node.output
        ]
        before = self._outputs.setdefault(name, found)
        if len(before) != len(found):
            native_log.info(
                f"Number of outputs changed between runs for '{node.node_name}' - was "
                f"{len(before)}, now {len(found)}"
            )
        elif dict(before) != dict(found):
            native_log.info(f"Output tensor changed between runs for '{node.node_name}")

    def GetOutputString(self) -> str:
        """Return the tables: nodes in the order of runs, by time, by memory.

        Types of operations.
        """
        return self._statistics.report()

    def PrintStepStats(self) -> None:
        """Print the tables on stderr."""
        for line in self.GetOutputString().splitlines():
            native_log.info(line)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes, {type(value).__name__} found")
    return value


def _sizes(description: Any) -> tuple[int, ...]:
    return tuple(dim.size for dim in description.shape.dim)


def _name_and_type(device: str, node: Any) -> tuple[str, str]:
    """Return a node's name in the list, and its operation."""
    if "/stream" in device or "/memcpy" in device:
        parts = node.node_name.split(":")
        if "/stream" in device and len(parts) == 2:
            return f"{parts[0]} [Kernel]", f"gpu:{parts[1]}"
        if "/stream" not in device and len(parts) in (2, 3):
            return f"{parts[0]} [MemCpy]", f"gpu:{parts[-1]}"
        return node.node_name, _NO_OPERATION
    _, is_told, operation = node.timeline_label.partition(" = ")
    if not is_told or "(" not in operation:
        return node.node_name, _NO_OPERATION
    return node.node_name, operation.partition("(")[0]


@export("contrib.stat_summarizer.NewStatSummarizer")
def NewStatSummarizer(unused: bytes) -> StatSummarizer:
    """Return a `StatSummarizer`.

    Args:
      unused: bytes, once those of a GraphDef.

    Raises:
      TypeError: for something else.
    """
    _bytes(unused)
    return StatSummarizer()


@export("contrib.stat_summarizer.DeleteStatSummarizer")
def DeleteStatSummarizer(ss: StatSummarizer | None) -> None:
    """Forget a summarizer's data; Python's memory needs no help."""
    if ss is not None:
        StatSummarizer.__init__(ss)
