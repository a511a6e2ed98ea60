"""Credentials and block sizes for Google Cloud Storage, whose files fsspec reads."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from typing import Any

from stillflow.graph import api, dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.ops.constants import placeholder
from stillflow.train.session_run_hook import SessionRunHook
from stillflow_contrib.ops.cloud_storage import (
    gcs_configure_block_cache_op,
    gcs_configure_credentials_op,
)

_MEBIBYTE = 1024 * 1024


@export("contrib.cloud.BlockCacheParams")
class BlockCacheParams:
    """Parameters of the cache of files' blocks.

    Args:
      block_size: in bytes; 128 MiB by default.
      max_bytes: of all blocks; two of them by default.
      max_staleness: how old one may be, in seconds; 0 by default.
    """

    def __init__(
        self,
        block_size: int | None = None,
        max_bytes: int | None = None,
        max_staleness: int | None = None,
    ) -> None:
        self._block_size = block_size or 128 * _MEBIBYTE
        self._max_bytes = max_bytes or 2 * self._block_size
        self._max_staleness = max_staleness or 0

    @property
    def block_size(self) -> int:
        """The size of a block in bytes."""
        return self._block_size

    @property
    def max_bytes(self) -> int:
        """The maximum size of all blocks in bytes."""
        return self._max_bytes

    @property
    def max_staleness(self) -> int:
        """The maximum age of a block in seconds."""
        return self._max_staleness


@export("contrib.cloud.ConfigureGcsHook")
class ConfigureGcsHook(SessionRunHook):
    """Hook that configures the storage as soon as there is a session.

    Args:
      credentials: JSON, or the dictionary: of an authorized user or of a service account.
      block_cache: the blocks in which files are read.

    Raises:
      ValueError: if these are something else.
    """

    def __init__(
        self, credentials: Any = None, block_cache: BlockCacheParams | None = None
    ) -> None:
        if credentials is not None:
            credentials = _checked(credentials)
        if block_cache and not isinstance(block_cache, BlockCacheParams):
            raise ValueError("block_cache must be an instance of BlockCacheParams.")
        self._credentials, self._block_cache = credentials, block_cache

    def begin(self) -> None:
        """Add the operations to the graph."""
        if self._credentials:
            self._fed = placeholder(dtypes.string)
            self._credentials_op = gcs_configure_credentials_op(self._fed)
        if self._block_cache:
            self._block_cache_op = _block_cache_op(self._block_cache)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run them."""
        if self._credentials:
            session.run(self._credentials_op, feed_dict={self._fed: self._credentials})
        if self._block_cache:
            session.run(self._block_cache_op)


def _block_cache_op(params: BlockCacheParams) -> Operation:
    return gcs_configure_block_cache_op(params.max_bytes, params.block_size, params.max_staleness)


def _checked(credentials: Any) -> str:
    if isinstance(credentials, str):
        try:
            found = json.loads(credentials)
        except ValueError as error:
            raise ValueError("credentials was not a well formed JSON string.", error) from None
    elif isinstance(credentials, dict):
        found, credentials = credentials, json.dumps(credentials)
    else:
        raise ValueError("credentials is of an unknown type")
    if "refresh_token" not in found and "private_key" not in found:
        raise ValueError('credentials has neither a "refresh_token" nor a "private_key" field.')
    return str(credentials)


@export("contrib.cloud.configure_gcs")
def configure_gcs(
    session: Any,
    credentials: Any = None,
    block_cache: BlockCacheParams | None = None,
    device: Any = None,
) -> None:
    """Configure how this process reads and writes `gs://`.

    Args:
      session: the session that runs the operations.
      credentials: JSON, or the dictionary: of an authorized user or of a service account.
      block_cache: the blocks in which files are read.
      device: the device of the operations.
    """
    with api.device(device) if device else nullcontext():
        if credentials:
            text = json.dumps(credentials) if isinstance(credentials, dict) else credentials
            fed = placeholder(dtypes.string)
            session.run(gcs_configure_credentials_op(fed), feed_dict={fed: text})
        if block_cache:
            session.run(_block_cache_op(block_cache))


@export("contrib.cloud.configure_colab_session")
def configure_colab_session(session: Any) -> None:
    """Configure the storage with the credentials of a notebook of Google's.

    Args:
      session: the session that runs the operations.

    Raises:
      FileNotFoundError: if there are no credentials.
    """
    name = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "/content/adc.json")
    with open(name, encoding="utf-8") as file:
        configure_gcs(session, credentials=json.load(file))
