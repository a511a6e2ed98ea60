"""Certificates for tests of TLS, made when they run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def certificates(folder: Path) -> dict[str, bytes]:
    """Make a self-signed certificate of localhost: the files `key` and `cert` of a folder."""
    command = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
        str(folder / "key"), "-out", str(folder / "cert"),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return {name: (folder / name).read_bytes() for name in ("key", "cert")}
