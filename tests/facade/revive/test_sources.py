"""Which files are a program's own."""

from __future__ import annotations

import pytest

from stillflow.facade.revive import sources


@pytest.mark.parametrize("marker", ["pkg-1.0.dist-info", None])
def test_what_was_installed_into_a_folder_is_no_program(tmp_path, monkeypatch, marker):
    if marker is not None:
        (tmp_path / marker).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert sources.own(str(tmp_path / "pkg" / "module.py")) is (marker is None)
