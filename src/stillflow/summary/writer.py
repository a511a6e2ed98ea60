"""tf.summary.FileWriter: summaries, graphs and logs of sessions, as events in a file."""

from __future__ import annotations

import os
import threading
import time
import warnings
from types import TracebackType
from typing import Any

from stillflow._export import export
from stillflow.files import gfile
from stillflow.files.events import read_events
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.ops.summary.encoding import SUMMARY, event_header
from stillflow.platform import tf_logging as logging
from stillflow.protos import Event, GraphDef, MetaGraphDef, TaggedRunMetadata
from stillflow.summary.event_file_writer import EventFileWriter
from stillflow.summary.plugin_asset import get_all_plugin_assets
from stillflow.summary.tags import PlainTags

PLUGINS = "plugins"


class SummaryToEventTransformer:
    """Converter of summaries, graphs and run metadata to events for a writer.

    Args:
      event_writer: an `EventFileWriter`, or anything with its methods.
      graph: a `Graph` to write at once.
      graph_def: an old form of `graph`.
    """

    def __init__(self, event_writer: Any, graph: Any = None, graph_def: Any = None) -> None:
        self.event_writer = event_writer
        self._session_run_tags: set[str] = set()
        self._seen_summary_tags: set[str] = set()
        if graph is None and graph_def is None:
            return
        from stillflow.train.meta_graph_export import create_meta_graph_def

        self.add_graph(graph, graph_def=graph_def)
        message = graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        self.add_meta_graph(create_meta_graph_def(graph_def=graph_def or message))

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Add a summary.

        Args:
          summary: a `Summary`, or one serialized, as running a summary operation gives it. The
            metadata of a tag are written the first time only.
          global_step: the training step.
        """
        event = Event()
        event.summary.MergeFromString(  # other objects may be messages of another library
            summary if isinstance(summary, bytes) else summary.SerializeToString()
        )
        for value in event.summary.value:
            if value.tag in self._seen_summary_tags:
                value.ClearField("metadata")
            else:
                self._seen_summary_tags.add(value.tag)
        self._add_event(event, global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Add a `SessionLog`: that training began, ended or wrote a checkpoint."""
        self._add_event(Event(session_log=session_log), global_step)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Add a graph.

        Args:
          graph: a `Graph`.
          global_step: the training step.
          graph_def: an old form of `graph`, which may also be a `GraphDef`.

        Raises:
          ValueError: If both are given.
          TypeError: If the argument is neither.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph if graph is not None else graph_def
        if isinstance(given, Graph):
            if given is graph_def:
                logging.warning(
                    "When passing a `Graph` object, please use the `graph` named argument instead "
                    "of `graph_def`."
                )
            self._write_plugin_assets(given)
            given = given.as_graph_def(add_shapes=True)
        elif isinstance(given, GraphDef):
            logging.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object "
                "instead, such as `sess.graph`."
            )
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`"
            )
        self._add_event(Event(graph_def=given.SerializeToString()), global_step)

    def _write_plugin_assets(self, graph: Graph) -> None:
        for asset in get_all_plugin_assets(graph):
            folder = os.path.join(self.event_writer.get_logdir(), PLUGINS, asset.plugin_name)
            gfile.recursive_create_dir(folder)
            for name, content in asset.assets().items():
                gfile.write_string_to_file(os.path.join(folder, name), content)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Add a `MetaGraphDef`.

        Raises:
          TypeError: If it is something else.
        """
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(
                f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}"
            )
        event = Event(meta_graph_def=meta_graph_def.SerializeToString())
        self._add_event(event, global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Add the `RunMetadata` of one session run.

        Args:
          run_metadata: the message.
          tag: its name, not used before.
          global_step: the training step.

        Raises:
          ValueError: If the tag was used before.
        """
        if tag in self._session_run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._session_run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add_event(Event(tagged_run_metadata=tagged), global_step)

    def _add_event(self, event: Any, step: Any) -> None:
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)


@export("summary.FileWriter")
class FileWriter(SummaryToEventTransformer):
    """Writer of events into a file; usable in a `with` block.

    Args:
      logdir: the directory of the file; TensorBoard is pointed at it.
      graph: a `Graph` to write at once.
      max_queue: number of events that may wait, of any size.
      flush_secs: how long events may wait to be seen by others, in seconds.
      graph_def: an old form of `graph`.
      filename_suffix: the suffix of the file name; ".v2" by default where a session writes.
      session: a session whose operations write, into the file that `tf.contrib.summary` may
        write to as well; by default a thread writes.

    Example:
      >>> with tf.summary.FileWriter("logs", graph=tf.get_default_graph()) as writer:
      ...     writer.add_summary(tf.Summary(), global_step=1)
      >>> [name.split(".")[2] for name in tf.gfile.ListDirectory("logs")]
      ['tfevents']
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        if executing_eagerly():
            raise RuntimeError(
                "tf.summary.FileWriter is not compatible with eager execution. Use "
                "tf.contrib.summary instead."
            )
        self._closed = False
        writer: Any
        if session is None:
            writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        else:
            from stillflow.summary.session_event_writer import EventFileWriterV2

            writer = EventFileWriterV2(session, logdir, max_queue, flush_secs, filename_suffix)
        super().__init__(writer, graph, graph_def)
        self._plain_tags = PlainTags(self._seen_summary_tags)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Return the directory."""
        return str(self.event_writer.get_logdir())

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Add a summary, as `SummaryToEventTransformer.add_summary` says."""
        writer = self.event_writer
        takes_bytes = isinstance(writer, EventFileWriter) and type(summary) is bytes
        if not (takes_bytes and self._plain_tags.note(summary)):
            super().add_summary(summary, global_step)
            return
        self._warn_if_closed()
        step = 0 if global_step is None else int(global_step)
        header = event_header(time.time(), step, SUMMARY, len(summary))
        writer.add_serialized(header, summary)

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the "
                "FileWriter is explicitly reopened.",
                stacklevel=3,
            )

    def _add_event(self, event: Any, step: Any) -> None:
        self._warn_if_closed()
        super()._add_event(event, step)

    def add_event(self, event: Any) -> None:
        """Add an `Event` as it is."""
        self._warn_if_closed()
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Wait until all events can be seen by others."""
        self._warn_if_closed()
        self.event_writer.flush()

    def close(self) -> None:
        """Write waiting events and close the file."""
        self.event_writer.close()
        self._closed = True

    def reopen(self) -> None:
        """Reopen after `close`, with a new file; do nothing if not closed."""
        self.event_writer.reopen()
        self._closed = False


@export("summary.FileWriterCache")
class FileWriterCache:
    """One `FileWriter` for each directory."""

    _cache: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Close and forget all writers."""
        with FileWriterCache._lock:
            for item in FileWriterCache._cache.values():
                item.close()
            FileWriterCache._cache = {}

    @staticmethod
    def get(logdir: Any) -> FileWriter:
        """Return the writer of a directory; make it, with the default graph, if there is none."""
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
            return FileWriterCache._cache[logdir]


@export("train.summary_iterator")
def summary_iterator(path: Any) -> Any:
    """Yield the `Event` messages of an event file.

    Raises:
      DataLossError: If a checksum is wrong, or a record is no event.
    """
    yield from read_events(path)
