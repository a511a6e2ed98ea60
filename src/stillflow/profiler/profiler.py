"""tf.profiler.profile, advise and Profiler: what operations need, counted and shown."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.files.gfile import write_string_to_file
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.profiler import report
from stillflow.profiler.groups import by_line, by_type, multi_message
from stillflow.profiler.measures import Measured, measure
from stillflow.profiler.option_builder import ProfileOptionBuilder
from stillflow.profiler.tree import account, by_graph, by_scope, display, message
from stillflow.protos import (
    AdviceProto,
    GraphNodeProto,
    MultiGraphNodeProto,
    ProfileNode,
    ProfileProto,
)
from stillflow.runtime.timeline import Timeline

_DEFAULT: Any = 0
_OUTPUTS = ("timeline", "stdout", "file", "none")
_EXPENSIVE = "ExpensiveOperationChecker"
ALL_ADVICE: dict[str, dict[str, Any]] = {
    _EXPENSIVE: {}, "AcceleratorUtilizationChecker": {}, "JobChecker": {}, "OperationChecker": {},
}  # fmt: skip


@export("profiler.profile")
def profile(
    graph: Graph | None = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope",
    options: Any = _DEFAULT,
) -> Any:  # fmt: skip
    """Counts what the operations of a model need, and reports it.

    Args:
      graph: the graph; the default one if None.
      run_meta: a `RunMetadata` of a traced run, for times and memory.
      op_log: an `OpLogProto` with more marks and counts.
      cmd: how operations are arranged: by "scope", "graph", "op" or "code".
      options: as `ProfileOptionBuilder` makes them; parameters of variables by default.

    Returns:
      A `GraphNodeProto` for scopes and graphs, a `MultiGraphNodeProto` for the others.

    Raises:
      tf.errors.InvalidArgumentError: if there is no such arrangement or output.
    """
    if options == _DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    runs = {0: run_meta} if run_meta is not None else {}
    items = measure(graph or get_default_graph(), runs, op_log)
    before = report.settings(_complete(options)) + report.TITLE
    return _show(items, cmd, options, runs, (before, report.END))


@export("profiler.advise")
def advise(graph: Graph | None = None, run_meta: Any = None, options: Any = _DEFAULT) -> Any:
    """Says what a model spends its time on.

    Args:
      graph: the graph; the default one if None.
      run_meta: a `RunMetadata` of a traced run.
      options: {checker: its options}; all checkers by default. Only ExpensiveOperationChecker
        finds something: the others are about devices of TensorFlow's own.

    Returns:
      An `AdviceProto`.
    """
    runs = {0: run_meta} if run_meta is not None else {}
    return _advise(measure(graph or get_default_graph(), runs), options)


def _advise(items: list[Measured], options: Any) -> Any:
    result = AdviceProto()
    for name in ALL_ADVICE if options == _DEFAULT or options is None else options:
        reports = _most_expensive(items) if name == _EXPENSIVE else []
        result.checkers[name].reports.extend(reports)
    return result


def _most_expensive(items: list[Measured]) -> list[str]:
    types = by_type(items, _complete({"order_by": "micros"}))
    if not types.total["exec_micros"]:
        return []
    top = types.shown[0]
    share = 100.0 * top.item.own["exec_micros"] / types.total["exec_micros"]
    times = [
        f"{name}: {report.micros(top.item.own[f'{field}exec_micros'])}"
        for name, field in (("cpu", "cpu_"), ("accelerator", "accelerator_"), ("total", ""))
    ]
    return [f"top 1 operation type: {top.name}, {', '.join(times)} ({share:.2f}%)"]


@export("profiler.Profiler")
class Profiler:
    """Profiles a graph over several traced steps.

    Args:
      graph: the graph; the default one if None.
      op_log: an `OpLogProto` with more marks and counts.
    """

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = graph or get_default_graph()
        self._op_log = op_log
        self._runs: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the `RunMetadata` of a traced step."""
        self._runs[step] = run_meta

    def _items(self, step: int) -> list[Measured]:
        runs = self._runs if step < 0 else {step: self._runs[step]}
        return measure(self._graph, runs, self._op_log)

    def _profile(self, view: str, options: dict[str, Any]) -> Any:
        step = options.get("step", -1)
        if step >= 0 and step not in self._runs:
            raise errors.NotFoundError(None, None, f"Options -step={step} not found")
        return _show(self._items(step), view, options, self._runs, ("", ""))

    def profile_python(self, options: dict[str, Any]) -> Any:
        """By the lines of the program, a `MultiGraphNodeProto`."""
        return self._profile("code", options)

    def profile_operations(self, options: dict[str, Any]) -> Any:
        """By types of operations, a `MultiGraphNodeProto`."""
        return self._profile("op", options)

    def profile_name_scope(self, options: dict[str, Any]) -> Any:
        """By name scopes, a `GraphNodeProto`."""
        return self._profile("scope", options)

    def profile_graph(self, options: dict[str, Any]) -> Any:
        """By what takes whose values, a `GraphNodeProto`."""
        return self._profile("graph", options)

    def advise(self, options: Any) -> Any:
        """What the steps spent their time on, an `AdviceProto`."""
        return _advise(self._items(-1), options)

    def serialize_to_string(self) -> bytes:
        """The operations and their counts as a serialized `ProfileProto`."""
        result = ProfileProto(steps=sorted(self._runs))
        for number, item in enumerate(self._items(-1)):
            result.nodes[number].CopyFrom(
                ProfileNode(
                    id=number, name=item.name, op=item.op_type, op_types=sorted(item.types),
                    canonical_device=item.device, float_ops=item.own["float_ops"],
                    shape=item.shape or (),
                )
            )  # fmt: skip
        data: bytes = result.SerializeToString()
        return data


def _complete(options: dict[str, Any]) -> dict[str, Any]:
    defaults = ProfileOptionBuilder().with_max_depth(10).select([]).build()
    return {**defaults, **options}


def _show(
    items: list[Measured], view: str, options: dict[str, Any], runs: dict[int, Any],
    around: tuple[str, str],
) -> Any:  # fmt: skip
    options = _complete(options)
    if view in ("scope", "graph"):
        root: Any = by_scope(items) if view == "scope" else by_graph(items)
        account(root, options, scopes=view == "scope")
        (root,) = display([root], options)
        lines = report.tree_lines(root, options)
        result = message(root, GraphNodeProto)
    elif view in ("op", "code"):
        root = by_type(items, options) if view == "op" else by_line(items, options)
        lines = (report.row_lines if view == "op" else report.tree_lines)(root, options)
        result = multi_message(root, MultiGraphNodeProto, GraphNodeProto, chained=view == "op")
    else:
        raise errors.InvalidArgumentError(None, None, f"unknown cmd: {view}\n")
    text = report.explanation(view, options) + report.legend(options) + lines
    _put_out(text, options["output"], runs, around)
    return result


def _put_out(text: str, output: str, runs: dict[int, Any], around: tuple[str, str]) -> None:
    kind, _, rest = output.partition(":")
    path = rest.partition("=")[2]
    if kind not in _OUTPUTS:
        raise errors.InvalidArgumentError(
            None, None, f"Unknown output type: {kind}, Valid types: {','.join(_OUTPUTS)}"
        )
    if kind == "stdout":
        print(around[0], text, around[1], sep="", end="")
    elif kind == "file":
        write_string_to_file(path, text)
    elif kind == "timeline":
        for step, run_meta in runs.items():
            trace = Timeline(run_meta.step_stats).generate_chrome_trace_format()
            write_string_to_file(f"{path}_{step}", trace)
