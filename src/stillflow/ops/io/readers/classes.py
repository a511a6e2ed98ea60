"""tf.ReaderBase, WholeFileReader, TextLineReader, TFRecordReader and the other readers."""

from __future__ import annotations

from typing import Any

from stillflow.files.records import TFRecordOptions
from stillflow.graph import dtypes
from stillflow.graph.card import Card
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.io.readers import cards
from stillflow.ops.queues.creation import fake_queue_op
from stillflow.util.notices import noticed


@export("ReaderBase")
class ReaderBase:
    """Reader of files whose names come from a queue; records are pairs of key and value.

    Args:
      reader_ref: the tensor that stands for the reader.
      supports_serialize: whether its state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that stands for the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """True if the state of these readers can be saved."""
        return self._supports_serialize

    def _card(self, name: str) -> Card:
        is_resource = self._reader_ref.dtype == dtypes.resource
        return cards.using[name + "V2" if is_resource else name]

    def _queue(self, queue: Any) -> Tensor:
        """Return the queue's tensor, as a reader of this version takes it."""
        reference = queue if isinstance(queue, Tensor) else queue.queue_ref
        if self._reader_ref.dtype == dtypes.resource or reference.dtype != dtypes.resource:
            return reference
        return fake_queue_op(reference)

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next record, as key and value: two string scalars.

        Args:
          queue: a queue of names of files, or its tensor.
          name: of the operation.
        """
        return self._card("ReaderRead")(self._reader_ref, self._queue(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return the next `num_records` records or fewer: keys and values, two string vectors."""
        return self._card("ReaderReadUpTo")(
            self._reader_ref, self._queue(queue), num_records, name=name
        )

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records read, an int64 scalar."""
        return self._card("ReaderNumRecordsProduced")(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files read to their end, an int64 scalar."""
        return self._card("ReaderNumWorkUnitsCompleted")(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the reader's state, a string scalar."""
        return self._card("ReaderSerializeState")(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Restore a state that `serialize_state` returned."""
        operation: Operation = self._card("ReaderRestoreState")(self._reader_ref, state, name=name)
        return operation

    def reset(self, name: str | None = None) -> Operation:
        """Set the reader to the state it began in."""
        operation: Operation = self._card("ReaderReset")(self._reader_ref, name=name)
        return operation


@export("WholeFileReader")
class WholeFileReader(ReaderBase):
    """Reader of whole files: the name is the key, the content the value.

    Args:
      name: of the operation.
    """

    @noticed("WholeFileReader")
    def __init__(self, name: str | None = None) -> None:
        reference = cards.making["WholeFileReaderV2"](name=name)
        super().__init__(reference, supports_serialize=True)


@export("TextLineReader")
class TextLineReader(ReaderBase):
    """Reader of text files' lines, without line ends.

    Args:
      skip_header_lines: how many lines of each file to leave out at its start.
      name: of the operation.
    """

    @noticed("TextLineReader")
    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            cards.making["TextLineReaderV2"](skip_header_lines=skip_header_lines, name=name)
        )


@export("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Reader of pieces of files, all of one size.

    Args:
      record_bytes: the size of a piece.
      header_bytes: how many bytes of a file to leave out at its start.
      footer_bytes: how many to leave out at its end.
      hop_bytes: how far apart the pieces begin; None or 0 for their size.
      name: of the operation.
      encoding: the compression, None or "ZLIB" or "GZIP".
    """

    @noticed("FixedLengthRecordReader")
    def __init__(
        self, record_bytes: int, header_bytes: int | None = None,
        footer_bytes: int | None = None, hop_bytes: int | None = None,
        name: str | None = None, encoding: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            cards.making["FixedLengthRecordReaderV2"](
                record_bytes=record_bytes, header_bytes=header_bytes, footer_bytes=footer_bytes,
                hop_bytes=hop_bytes, encoding=encoding, name=name,
            )
        )  # fmt: skip


@export("TFRecordReader")
class TFRecordReader(ReaderBase):
    """Reader of TFRecord files.

    Args:
      name: of the operation.
      options: a `tf.io.TFRecordOptions`, or None.

    Example:
      >>> with tf.python_io.TFRecordWriter("data.tfrecord") as writer: writer.write(b"record")
      >>> value = tf.TFRecordReader().read(tf.train.string_input_producer(["data.tfrecord"])).value
      >>> with tf.train.MonitoredSession() as sess: print(sess.run(value))
      b'record'
    """

    @noticed("TFRecordReader")
    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(cards.making["TFRecordReaderV2"](name=name, compression_type=kind))


@export("LMDBReader")
class LMDBReader(ReaderBase):
    """Reader of LMDB databases' entries, by key.

    Args:
      name: of the operation.
      options: not used.
    """

    @noticed("LMDBReader")
    def __init__(self, name: str | None = None, options: Any = None) -> None:
        del options
        super().__init__(cards.making["LMDBReader"](name=name))


@export("IdentityReader")
class IdentityReader(ReaderBase):
    """Reader of the queue itself: each name is both key and value.

    Args:
      name: of the operation.
    """

    @noticed("IdentityReader")
    def __init__(self, name: str | None = None) -> None:
        reference = cards.making["IdentityReaderV2"](name=name)
        super().__init__(reference, supports_serialize=True)
