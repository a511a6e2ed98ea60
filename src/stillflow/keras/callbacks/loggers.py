"""Callbacks that write results to files and servers, and functions as callbacks."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.keras.callbacks.base import Callback
from stillflow.platform import tf_logging as logging


@export("keras.callbacks.CSVLogger")
class CSVLogger(Callback):
    """Callback that writes the results of epochs to a file of comma-separated values.

    Args:
      filename: of the file.
      separator: between values.
      append: whether to add to a file that exists.
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.sep, self.filename, self.append = separator, filename, append
        self.writer: Any = None
        self.keys: list[str] | None = None
        self.append_header = True

    def on_train_begin(self, logs: Any = None) -> None:
        """Open the file."""
        if self.append and os.path.exists(self.filename):
            self.append_header = os.path.getsize(self.filename) == 0
        mode = "a" if self.append else "w"
        self.csv_file = open(self.filename, mode, newline="\n")  # noqa: SIM115 - until the end

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Write a line."""
        logs = logs or {}
        if self.keys is None:
            self.keys = sorted(logs)
        if self.model.stop_training:  # validation may be missing then
            logs = {key: logs.get(key, "NA") for key in self.keys}
        if self.writer is None:
            self.writer = csv.DictWriter(
                self.csv_file, fieldnames=["epoch", *self.keys], delimiter=self.sep
            )
            if self.append_header:
                self.writer.writeheader()
        self.writer.writerow({"epoch": epoch, **{key: _cell(logs[key]) for key in self.keys}})
        self.csv_file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        """Close the file."""
        self.csv_file.close()
        self.writer = None


def _cell(value: Any) -> Any:
    scalar = isinstance(value, str) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if not scalar and isinstance(value, Iterable):
        return f'"[{", ".join(map(str, value))}]"'
    return value


@export("keras.callbacks.RemoteMonitor")
class RemoteMonitor(Callback):
    """Callback that sends the results of epochs to a server.

    Args:
      root, path: the address.
      field: the name of the form's field that has them.
      headers: of the request.
      send_as_json: whether they are the body, as JSON.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Any = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = headers, send_as_json

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Send the results; a warning if the server cannot be reached."""
        from urllib import error, parse, request

        content = json.dumps({"epoch": epoch, **(logs or {})}, default=float)
        kind = "application/json"
        if not self.send_as_json:
            content = parse.urlencode({self.field: content})
            kind = "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **(self.headers or {})}
        message = request.Request(self.root + self.path, content.encode(), headers)
        try:
            with request.urlopen(message):
                pass
        except error.URLError:
            logging.warning(f"Warning: could not reach RemoteMonitor root server at {self.root}")


def _nothing(*args: Any) -> None:
    """Do nothing."""


@export("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """Functions as a callback.

    Args:
      on_epoch_begin, on_epoch_end: `f(epoch, logs)`.
      on_batch_begin, on_batch_end: `f(batch, logs)`.
      on_train_begin, on_train_end: `f(logs)`.
      **kwargs: attributes.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_batch_begin: Callable[..., Any] | None = None,
        on_batch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        hooks = {
            "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin, "on_train_end": on_train_end,
        }  # fmt: skip
        self.__dict__.update(kwargs)
        self.__dict__.update({name: hook or _nothing for name, hook in hooks.items()})
        self._on_batch = on_batch_begin or _nothing, on_batch_end or _nothing

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Call the function for that."""
        self._on_batch[0](batch, logs)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Call the function for that."""
        self._on_batch[1](batch, logs)
