"""Requests and responses logged as `PredictionLog` records, of a sample of the requests.

Files are TFRecord: `PREFIX-MODEL-TIME.tfrecord`. A request never waits for the disk: a thread
writes, and where it does not keep up records are dropped and counted.
"""

from __future__ import annotations

import os
import queue
import random
import threading
import time
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.files.records import TFRecordWriter
from stillflow.serve.log import logger
from stillflow.serve.messages import PredictionLog
from stillflow.serve.metrics import Metrics
from stillflow.serve.servable import Servable

_MOST_WAITING = 1000
_SECONDS_TO_FLUSH = 1.0
_LARGEST_FILE = 1 << 28


class RequestLogs:
    """The request logs of all models.

    Args:
      prefix: of the files of models that say nothing else; "" for none.
      rate: share of the requests of these, 0 to 1.

    Attributes:
      metrics: counts records.

    Raises:
      InvalidArgumentError: if the rate is no share.
    """

    def __init__(self, prefix: str, rate: float) -> None:
        if not 0 <= rate <= 1:
            raise errors.invalid_argument(
                f"--log_requests_sampling_rate is a number from 0 to 1, not {rate}"
            )
        self._default = (prefix, rate if prefix else 0.0)
        self._of_models: dict[str, tuple[str, float]] = {}
        self.metrics = Metrics()
        self._waiting: queue.Queue[tuple[str, bytes] | None] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def configure(self, configs: Any) -> None:
        """Take over the `logging_config` of models.

        Args:
          configs: `ModelConfig` messages.
        """
        found = {}
        for config in configs:
            if config.HasField("logging_config"):
                logging = config.logging_config
                prefix = logging.log_collector_config.filename_prefix
                rate = logging.sampling_config.sampling_rate
                found[config.name] = (prefix, min(1.0, rate) if prefix else 0.0)
        self._of_models = found

    def samples(self, servable: Servable) -> bool:
        """Return True if the request at hand is one to log."""
        rate = self._of_models.get(servable.name, self._default)[1]
        return rate > 0 and random.random() < rate

    def write(self, servable: Servable, kind: str, request: Any, response: Any) -> None:
        """Log a request.

        Args:
          servable: that has answered.
          kind: the field of `PredictionLog`.
          request, response: the messages.
        """
        prefix, rate = self._of_models.get(servable.name, self._default)
        record = PredictionLog()
        log = getattr(record, kind)
        log.request.CopyFrom(request)
        log.response.CopyFrom(response)
        about = record.log_metadata
        about.model_spec.name = servable.name
        about.model_spec.version.value = servable.version
        about.sampling_config.sampling_rate = rate
        about.saved_model_tags.extend(servable.tags)
        try:
            self._waiting.put_nowait((f"{prefix}-{servable.name}", record.SerializeToString()))
        except queue.Full:
            self.metrics.logged.add("DROPPED")
            return
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="stillflow-log")
                self._thread.daemon = True
                self._thread.start()

    def _work(self) -> None:
        files: dict[str, _File] = {}
        flushed = time.monotonic()
        while True:
            try:
                item = self._waiting.get(timeout=_SECONDS_TO_FLUSH)
            except queue.Empty:
                item = ("", b"")
            if item is None:
                break
            prefix, record = item
            if prefix and self._try(files, prefix, _File.write, record):
                self.metrics.logged.add("OK")
            if time.monotonic() - flushed >= _SECONDS_TO_FLUSH:
                flushed = time.monotonic()
                for each in list(files):
                    self._try(files, each, _File.flush)
        for each in list(files):
            self._try(files, each, _File.close)

    def _try(
        self, files: dict[str, _File], prefix: str, act: Callable[..., None], *arguments: Any
    ) -> bool:
        """Do something with a file; one that fails is given up, and begun again when needed."""
        try:
            act(files.setdefault(prefix, _File(prefix)), *arguments)
        except errors.OpError as error:
            self.metrics.logged.add("FAILED")
            logger.error("request log failed: %s", error.message)
            del files[prefix]
            return False
        return True

    def stop(self) -> None:
        """Write the records that wait, and close the files."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None


class _File:
    """The file of a model, another one when it has become large."""

    def __init__(self, prefix: str) -> None:
        self._prefix, self._size, self._count = prefix, 0, 0
        self._writer: TFRecordWriter | None = None

    def write(self, record: bytes) -> None:
        if self._size > _LARGEST_FILE:
            self.close()
        if self._writer is None:
            stamp = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}-{self._count}"
            self._writer = TFRecordWriter(f"{self._prefix}-{stamp}.tfrecord")
            self._count += 1
        self._writer.write(record)
        self._size += len(record)

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._size = None, 0
