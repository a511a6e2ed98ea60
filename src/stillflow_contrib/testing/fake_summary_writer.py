"""Summary writer that keeps its input, so that a test can examine it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar

from stillflow.graph.export import export
from stillflow.protos import Summary
from stillflow.summary import writer
from stillflow.testing.test_util import assert_meta_graph_protos_equal


@export("contrib.testing.FakeSummaryWriter")
class FakeSummaryWriter:
    """Replacement of `tf.summary.FileWriter` that writes nothing.

    Args:
      logdir: where a writer would write.
      graph: the graph that it would write.
    """

    _replaced: ClassVar[Any] = None

    @classmethod
    def install(cls) -> None:
        """Make `tf.summary.FileWriterCache` create this class from now on.

        Raises:
          ValueError: it is already.
        """
        if cls._replaced:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced = writer.FileWriter
        vars(writer)["FileWriter"] = FakeSummaryWriter

    @classmethod
    def uninstall(cls) -> None:
        """Undo `install`.

        Raises:
          ValueError: it was not begun.
        """
        if not cls._replaced:
            raise ValueError("FakeSummaryWriter not installed.")
        vars(writer)["FileWriter"] = cls._replaced
        cls._replaced = None

    def __init__(self, logdir: Any, graph: Any = None) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[Any, list[Any]] = defaultdict(list)
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []
        self._added_run_metadata: dict[str, Any] = {}

    @property
    def summaries(self) -> dict[Any, list[Any]]:
        """{step: the summaries that were added}."""
        return self._summaries

    def assert_summaries(
        self, test_case: Any, expected_logdir: Any = None, expected_graph: Any = None,
        expected_summaries: Any = None, expected_added_graphs: Any = None,
        expected_added_meta_graphs: Any = None, expected_session_logs: Any = None,
    ) -> None:  # fmt: skip
        """Compare the added items with the expected ones; None is not compared.

        Args:
          test_case: a `unittest.TestCase`.
          expected_summaries: {step: {tag: number}}, without the rate of steps.
          expected_logdir, expected_graph, expected_added_graphs, expected_added_meta_graphs,
            expected_session_logs: what was handed over.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertTrue(expected_graph is self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertTrue(
                step in self._summaries, msg=f"Missing step {step} from {self._summaries.keys()}."
            )
            values = [value for summary in self._summaries[step] for value in summary.value]
            found = {v.tag: v.simple_value for v in values if v.tag != "global_step/sec"}
            test_case.assertEqual(expected, found)
        if expected_added_graphs is not None:
            test_case.assertEqual(expected_added_graphs, self._added_graphs)
        if expected_added_meta_graphs is not None:
            test_case.assertEqual(len(expected_added_meta_graphs), len(self._added_meta_graphs))
            for expected, found in zip(expected_added_meta_graphs, self._added_meta_graphs):
                assert_meta_graph_protos_equal(test_case, expected, found)
        if expected_session_logs is not None:
            test_case.assertEqual(expected_session_logs, self._added_session_logs)

    def add_summary(self, summ: Any, current_global_step: Any) -> None:
        """Keep a summary, serialized or not."""
        if isinstance(summ, bytes):
            summ = Summary.FromString(summ)
        self._summaries[current_global_step].append(summ)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Keep a graph.

        Raises:
          ValueError: a negative step, or a GraphDef.
        """
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Keep a MetaGraphDef."""
        _check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Keep a SessionLog."""
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Keep the RunMetadata of a step under its tag."""
        _check_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def reopen(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Do nothing: nothing is written."""


def _check_step(step: Any) -> None:
    if step is not None and step < 0:
        raise ValueError(f"Invalid global_step {step}.")
