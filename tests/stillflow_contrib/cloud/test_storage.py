"""Credentials and block sizes reach the file system of `gs://`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import fsspec.implementations.memory
import pytest

import stillflow as tf

KEY = {"private_key": "k"}


def test_blocks_have_defaults() -> None:
    params = tf.contrib.cloud.BlockCacheParams()
    assert params.block_size == 128 << 20
    assert params.max_bytes == 256 << 20
    assert params.max_staleness == 0
    assert tf.contrib.cloud.BlockCacheParams(2, max_staleness=3).max_bytes == 4


def test_nothing_to_set_up_is_fine() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.contrib.cloud.configure_gcs(session)
        tf.contrib.cloud.ConfigureGcsHook().begin()


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Yield the arguments with which fsspec makes file systems of Google's storage."""
    made: list[dict[str, Any]] = []

    class Storage(fsspec.implementations.memory.MemoryFileSystem):
        protocol = ("gs", "gcs")
        cachable = False

        def __init__(self, **arguments: Any) -> None:
            super().__init__()
            made.append(arguments)

    monkeypatch.setattr(fsspec.config, "conf", {})
    registry = importlib.import_module("fsspec.registry")._registry
    for protocol in Storage.protocol:
        monkeypatch.setitem(registry, protocol, Storage)
    yield made


@pytest.mark.parametrize("credentials", [KEY, json.dumps(KEY)])
def test_credentials_and_blocks_of_a_session(
    credentials: Any, storage: list[dict[str, Any]]
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.contrib.cloud.configure_gcs(session, credentials)
        assert not tf.gfile.Exists("gs://bucket/file")
        tf.contrib.cloud.configure_gcs(session, None, tf.contrib.cloud.BlockCacheParams(1024))
        assert not tf.gfile.Exists("gs://bucket/file")
    assert storage == [{"token": KEY}, {"token": KEY, "block_size": 1024}]


def test_a_hook_configures_the_session(storage: list[dict[str, Any]]) -> None:
    hook = tf.contrib.cloud.ConfigureGcsHook(KEY, tf.contrib.cloud.BlockCacheParams(64))
    with tf.Graph().as_default(), tf.train.SingularMonitoredSession(hooks=[hook]):
        assert not tf.gfile.Exists("gs://bucket/file")
    assert storage == [{"token": KEY, "block_size": 64}]


@pytest.mark.parametrize(
    ("credentials", "message"),
    [("{", "well formed"), ({"a": 1}, "neither"), ("{}", "neither"), (3, "unknown type")],
)
def test_what_are_no_credentials_is_refused(credentials: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.contrib.cloud.ConfigureGcsHook(credentials)


@pytest.mark.parametrize("text", ["{", "{}", "[]", "3"])
def test_a_session_refuses_what_are_no_credentials(text: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="credentials"):
            tf.contrib.cloud.configure_gcs(session, text)


def test_what_are_no_params_are_refused() -> None:
    with pytest.raises(ValueError, match="BlockCacheParams"):
        tf.contrib.cloud.ConfigureGcsHook(block_cache=3)


def test_sessions_of_notebooks_look_for_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: list[dict[str, Any]]
) -> None:
    file = tmp_path / "adc.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(FileNotFoundError):
        tf.contrib.cloud.configure_colab_session(None)
    file.write_text(json.dumps(KEY))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.contrib.cloud.configure_colab_session(session)
    assert not tf.gfile.Exists("gs://bucket/file")
    assert storage == [{"token": KEY}]
