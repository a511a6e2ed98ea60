"""Warm-up: requests in a SavedModel that run before it serves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stillflow import errors
from stillflow.files import gfile
from stillflow.files.records import read_records
from stillflow.serve.inference import Inference
from stillflow.serve.log import logger
from stillflow.serve.messages import PredictionLog
from stillflow.serve.metrics import Metrics
from stillflow.serve.servable import Servable
from stillflow.serve.source import join

FILE = ("assets.extra", "tf_serving_warmup_requests")
MOST_RECORDS = 1000


class _Only:
    """Stands for the models of a server while one that is being loaded warms up."""

    def __init__(self, servable: Servable) -> None:
        self._servable = servable

    @contextmanager
    def use(self, spec: Any) -> Iterator[Servable]:
        """Give the servable; the name and version in the record are those of the recording."""
        yield self._servable

    def has(self, name: str) -> bool:
        """Return True: there is one model."""
        return True


def warm_up(servable: Servable, iterations: int) -> int:
    """Run the warm-up requests of a model, if it has any.

    Args:
      servable: the model.
      iterations: times that each request runs.

    Returns:
      The number of records.

    Raises:
      OpError: if the file is damaged, a record is not a `PredictionLog`, or a run fails.
    """
    path = join(servable.path, *FILE)
    if not gfile.file_exists(path):
        return 0
    started = time.monotonic()
    inference = Inference(_Only(servable), None, Metrics())  # type: ignore[arg-type]
    count = 0
    for record in read_records(path):
        count += 1
        if count > MOST_RECORDS:
            raise errors.invalid_argument(
                f"Number of warmup records exceeds the maximum ({MOST_RECORDS}) at {path}"
            )
        log = _parsed(record, path)
        for _ in range(max(1, iterations)):
            _replay(inference, log)
    tags = {"model": servable.name, "version": servable.version, "records": count}
    logger.info("warmed up", extra={**tags, "seconds": time.monotonic() - started})
    return count


def _parsed(record: bytes, path: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return PredictionLog.FromString(record)
    except DecodeError as error:
        raise errors.invalid_argument(
            f"Failed to parse warmup record from {path}: {error}"
        ) from None


def _replay(inference: Inference, log: Any) -> None:
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        inference.predict(log.predict_log.request)
    elif kind == "classify_log":
        inference.classify(log.classify_log.request)
    elif kind == "regress_log":
        inference.regress(log.regress_log.request)
    elif kind == "multi_inference_log":
        inference.multi_inference(log.multi_inference_log.request)
    else:
        raise errors.unimplemented(f"Unsupported log_type for warmup: {kind}")
