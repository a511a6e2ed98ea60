"""Build a program with a TF1 module, and write down its graph, static shapes and values."""

from __future__ import annotations

from typing import Any

from tests.golden import encode
from tests.golden.registry import Program, Run, describe_error


class Built:
    """A program, built: its graph and static shapes as plain data; then its values.

    Attributes:
        graph_record: GraphDef, public collections and an expected error of the builder.
        shapes_record: static shapes of the outputs of every op, ``None`` where unknown.
    """

    def __init__(self, tf: Any, program: Program) -> None:
        self.tf = tf
        self.program = program
        self.graph = tf.Graph()
        self.error: dict[str, str] | None = None
        self.runs: list[Run] = []
        with self.graph.as_default():
            try:
                runs = program.build(tf)
                self.runs = [runs] if isinstance(runs, Run) else list(runs)
            except Exception as error:
                if not program.fails:
                    raise
                self.error = describe_error(error)
        if program.fails and self.error is None:
            raise AssertionError(program.name + " was expected to raise while building")
        # Taken before anything runs: a program may add ops while it uses the session.
        self.graph_record = self._record_graph()
        self.shapes_record = self._record_shapes()

    def _record_graph(self) -> dict[str, Any]:
        record = encode.without_numbers(encode.encode_message(self.graph.as_graph_def()))
        record["collections"] = self._record_collections()
        if self.error is not None:
            record["error"] = self.error
        return record

    def _record_collections(self) -> dict[str, list[str]]:
        keys = [k for k in self.graph.get_all_collection_keys() if isinstance(k, str)]
        public = [k for k in sorted(keys) if not k.startswith("__")]
        named = {key: encode.names_of(self.graph.get_collection(key)) for key in public}
        return {key: items for key, items in named.items() if items}

    def _record_shapes(self) -> dict[str, list[list[int | None] | None]]:
        return {
            op.name: [static_shape(output) for output in op.outputs]
            for op in self.graph.get_operations()
            if op.outputs
        }

    def record_values(self) -> list[dict[str, Any]]:
        """Run everything in one session; one record per run."""
        with self.tf.Session(graph=self.graph) as session:
            return self.record_runs(session)

    def record_runs(self, session: Any) -> list[dict[str, Any]]:
        """Run everything in a session; one record per run."""
        return [self._record_run(session, run) for run in self.runs]

    def _record_run(self, session: Any, run: Run) -> dict[str, Any]:
        record: dict[str, Any] = {"facts": encode.encode_values(run.facts), "steps": []}
        try:
            for op in run.setup:
                session.run(op)
            for step in range(run.steps):
                values = self._run_step(session, run, run.feed(step))
                if values:
                    record["steps"].append(encode.encode_values(values))
        except Exception as error:
            if not run.fails:
                raise
            record["error"] = describe_error(error)
        if run.fails and "error" not in record:
            raise AssertionError(self.program.name + ": a run was expected to raise")
        return record

    def _run_step(self, session: Any, run: Run, feed: dict[Any, Any] | None) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if run.train is not None:
            values["train"] = session.run(run.train, feed)
        if run.fetches:
            values.update(session.run(run.fetches, feed))
        if run.call is not None:
            values["call"] = run.call(session)
        return values


def static_shape(tensor: Any) -> list[int | None] | None:
    """Return a tensor's static shape as a list, or ``None`` when its rank is unknown."""
    shape = tensor.get_shape()
    return shape.as_list() if shape.ndims is not None else None
