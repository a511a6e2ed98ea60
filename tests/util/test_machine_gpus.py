"""Files of drivers tell whether there may be a GPU, without torch."""

from __future__ import annotations

import sys

import pytest

from stillflow.util import machine_gpus


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has files of drivers")
@pytest.mark.parametrize("name", ["nvidiactl", "dxg", "kfd"])
def test_a_driver_may_have_a_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there = {f"/dev/{name}"}
    monkeypatch.setattr(machine_gpus.os.path, "exists", lambda path: path in there)
    assert machine_gpus.may_have_gpus()
    there.clear()
    assert not machine_gpus.may_have_gpus()


def test_only_linux_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_gpus.sys, "platform", "darwin")
    monkeypatch.setattr(machine_gpus.os.path, "exists", lambda path: False)
    assert machine_gpus.may_have_gpus()
