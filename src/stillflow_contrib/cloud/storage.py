"""How Google Cloud Storage is to be used. fsspec reads it here, which is set up by itself.

Programs name these while they are set up, and use them only where they run in Google's cloud.
"""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

from stillflow import errors
from stillflow.graph.export import export
from stillflow.train.session_run_hook import SessionRunHook

_MEBIBYTE = 1024 * 1024


@export("contrib.cloud.BlockCacheParams")
class BlockCacheParams:
    """How blocks of files are kept in memory.

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
        """How large a block is, in bytes."""
        return self._block_size

    @property
    def max_bytes(self) -> int:
        """How large all blocks may be, in bytes."""
        return self._max_bytes

    @property
    def max_staleness(self) -> int:
        """How old a block may be, in seconds."""
        return self._max_staleness


@export("contrib.cloud.ConfigureGcsHook")
class ConfigureGcsHook(SessionRunHook):
    """Sets the storage up when there is a session; refused if there is anything to set up.

    Args:
      credentials: JSON, or the dictionary.
      block_cache: how blocks are kept.

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
        """Refuses to set anything up.

        Raises:
          tf.errors.UnimplementedError: if there is anything.
        """
        if self._credentials or self._block_cache:
            _refuse("ConfigureGcsHook")


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
    """Sets the storage up; refused if there is anything to set up.

    Args:
      session: the session whose files these are.
      credentials: JSON, or the dictionary.
      block_cache: how blocks are kept.
      device: where.

    Raises:
      tf.errors.UnimplementedError: if there is anything.
    """
    if credentials or block_cache:
        _refuse("configure_gcs")


@export("contrib.cloud.configure_colab_session")
def configure_colab_session(session: Any) -> None:
    """Sets the storage up as notebooks of Google do; refused.

    Args:
      session: the session whose files these are.

    Raises:
      FileNotFoundError: if there are no credentials.
      tf.errors.UnimplementedError: if there are.
    """
    name = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "/content/adc.json")
    with open(name, encoding="utf-8") as file:
        configure_gcs(session, credentials=json.load(file))


def _refuse(name: str) -> NoReturn:
    raise errors.unimplemented(
        f"tf.contrib.cloud.{name} is not supported by Stillflow: files of Google Cloud Storage "
        "(gs://) are read by gcsfs (pip install gcsfs), which finds credentials by itself"
    )
