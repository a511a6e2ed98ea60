"""What sets Google's storage up is named, checked, and refused when it is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("credentials", [KEY, json.dumps(KEY)])
def test_credentials_are_refused_when_they_are_used(credentials: Any) -> None:
    hook = tf.contrib.cloud.ConfigureGcsHook(credentials)
    with pytest.raises(tf.errors.UnimplementedError, match=r"ConfigureGcsHook.*gs://"):
        hook.begin()
    with pytest.raises(tf.errors.UnimplementedError, match="configure_gcs is not supported"):
        tf.contrib.cloud.configure_gcs(None, credentials)


@pytest.mark.parametrize(
    ("credentials", "message"),
    [("{", "well formed"), ({"a": 1}, "neither"), ("{}", "neither"), (3, "unknown type")],
)
def test_what_are_no_credentials_is_refused(credentials: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.contrib.cloud.ConfigureGcsHook(credentials)


def test_what_are_no_params_are_refused() -> None:
    with pytest.raises(ValueError, match="BlockCacheParams"):
        tf.contrib.cloud.ConfigureGcsHook(block_cache=3)


def test_sessions_of_notebooks_look_for_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "adc.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(FileNotFoundError):
        tf.contrib.cloud.configure_colab_session(None)
    file.write_text(json.dumps(KEY))
    with pytest.raises(tf.errors.UnimplementedError, match="gs://"):
        tf.contrib.cloud.configure_colab_session(None)
