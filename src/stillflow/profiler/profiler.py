"""tf.profiler.profile, advise and Profiler: costs of operations, counted and shown."""

from __future__ import annotations

import sys
from typing import Any

from stillflow import errors
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.profiler import pprof, report, view_timeline
from stillflow.profiler.advisor import ALL_ADVICE, advice
from stillflow.profiler.groups import by_line, by_type, multi_message
from stillflow.profiler.model import Model, model_of
from stillflow.profiler.op_log import merged
from stillflow.profiler.option_builder import ProfileOptionBuilder
from stillflow.profiler.outputs import Output, options_proto, output_of, write
from stillflow.profiler.serialized import profile_proto
from stillflow.profiler.tree import by_graph, by_scope, message
from stillflow.protos import GraphNodeProto, MultiGraphNodeProto

_DEFAULT: Any = 0
_VIEWS: dict[str, Any] = {"scope": by_scope, "graph": by_graph, "op": by_type, "code": by_line}


@export("profiler.profile")
def profile(
    graph: Graph | None = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope",
    options: Any = _DEFAULT,
) -> Any:  # fmt: skip
    """Count the costs of a model's operations, and report them.

    Args:
      graph: the graph; the default one if None.
      run_meta: a `RunMetadata` of a traced run, for times and memory; shapes that it found become
        known to the graph.
      op_log: an `OpLogProto` with more marks and counts.
      cmd: how operations are arranged: by "scope", "graph", "op" or "code".
      options: as `ProfileOptionBuilder` makes them; parameters of variables by default.

    Returns:
      A `GraphNodeProto` for scopes and graphs, a `MultiGraphNodeProto` for the others. It is empty
      if the options cannot be met, which a line on stderr says.

    Raises:
      tf.errors.InvalidArgumentError: if there is no such arrangement.
      TypeError: if an option is of a wrong type.
    """
    graph = graph or get_default_graph()
    if options == _DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    if cmd not in _VIEWS:
        raise errors.invalid_argument(f"unknown cmd: {cmd}\n")
    made = options_proto(options)
    model = model_of(graph, run_meta, op_log, add_trace=cmd == "code")
    return _profile(model, cmd, made)


@export("profiler.advise")
def advise(graph: Graph | None = None, run_meta: Any = None, options: Any = _DEFAULT) -> Any:
    """Print and return advice on a model's use of time.

    Args:
      graph: the graph; the default one if None.
      run_meta: a `RunMetadata` of a traced run.
      options: {checker: its options}; all checkers by default.

    Returns:
      An `AdviceProto`.
    """
    model = model_of(graph or get_default_graph(), run_meta, None, add_trace=True)
    return advice(model, ALL_ADVICE if options == _DEFAULT else options)


@export("profiler.Profiler")
class Profiler:
    """Profiles a graph over several traced steps.

    Args:
      graph: the graph; the default one if None.
      op_log: an `OpLogProto` with more marks and counts.
    """

    # The model of a profiler without a graph, for programs that read files.
    _model: Model

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph = graph or get_default_graph()
        self._model = Model(self._graph, merged(self._graph, op_log, None, add_trace=True))

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add the `RunMetadata` of a traced step."""
        log = merged(self._graph, None, run_meta, add_trace=True)
        self._model.add_graph(self._graph)
        self._model.add_run(step, run_meta)
        self._model.add_log(log)

    def profile_python(self, options: dict[str, Any]) -> Any:
        """Profile by the lines of the program: a `MultiGraphNodeProto`."""
        return _profile(self._model, "code", options_proto(options))

    def profile_operations(self, options: dict[str, Any]) -> Any:
        """Profile by types of operations: a `MultiGraphNodeProto`."""
        return _profile(self._model, "op", options_proto(options))

    def profile_name_scope(self, options: dict[str, Any]) -> Any:
        """Profile by name scopes: a `GraphNodeProto`."""
        return _profile(self._model, "scope", options_proto(options))

    def profile_graph(self, options: dict[str, Any]) -> Any:
        """Profile by consumers of values: a `GraphNodeProto`."""
        return _profile(self._model, "graph", options_proto(options))

    def advise(self, options: Any) -> Any:
        """Return advice on the time of the steps, an `AdviceProto`."""
        return advice(self._model, options)

    def serialize_to_string(self) -> bytes:
        """Return the operations and their counts as a serialized `ProfileProto`."""
        data: bytes = profile_proto(self._model).SerializeToString()
        return data

    def _write_profile(self, filename: str) -> None:
        write(filename, self.serialize_to_string())


def _profile(model: Model, view: str, options: Any) -> Any:
    """Profile, and write the report to the output in the options."""
    output = output_of(options)
    if output is None:
        return _empty(view)
    on_terminal = output.kind == "stdout"
    if on_terminal:
        print(report.settings(options, str(output)), report.TITLE, sep="", end="")
    result = _shown(model, view, options, output)
    if on_terminal:
        print(report.END, end="")
    return result


def _empty(view: str) -> Any:
    return MultiGraphNodeProto() if view in report.GROUPED else GraphNodeProto()


def _shown(model: Model, view: str, options: Any, output: Output) -> Any:
    refusal = _refusal(model, view, options, output.kind)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return _empty(view)
    if output.kind == "timeline" and view == "graph" and options.step < 0:
        for step in sorted(model.steps):
            options.step = step
            _shown(model, view, options, output)
        return _empty(view)
    root = _VIEWS[view](model, options)
    _put_out(root, model, view, options, output)
    if view in report.GROUPED:
        return multi_message(root, model, options, (MultiGraphNodeProto, GraphNodeProto))
    return message(root, model, GraphNodeProto)


def _refusal(model: Model, view: str, options: Any, output: str) -> str | None:
    """Return the reason against a report, if there is one."""
    if options.step >= 0 and options.step not in model.steps:
        steps = "".join(f"{step} " for step in sorted(model.steps))
        return f"Options -step={options.step} not found.\nAvailable steps: {steps}"
    if view == "code" and not model.has_trace:
        return "No code trace information"
    if output == "pprof" and view != "code":
        return "Only 'code' view supports pprof output now."
    if output == "timeline" and view == "op":
        return "op view doesn't support timeline yet. Consider graph/scope/code view."
    return None


def _put_out(root: Any, model: Model, view: str, options: Any, output: Output) -> None:
    if output.kind in ("stdout", "file"):
        text = report.explanation(view, options) + report.report(view, root, model, options)
        if output.kind == "file":
            write(output.path, text)
        else:
            print(text, end="")
    elif output.kind == "timeline" and view == "graph":
        print("generating trace file.")
        events = view_timeline.of_graph(root, options.step)
        view_timeline.put_out(events, output.path, options.step)
    elif output.kind == "timeline":
        view_timeline.put_out(view_timeline.of_tree(root), output.path, options.step)
    elif output.kind == "pprof":
        name = pprof.selected(options)
        if name is not None:
            pprof.put_out(root, name, output.path)
