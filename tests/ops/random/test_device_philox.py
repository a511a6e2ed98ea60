"""Philox as a kernel that PyTorch compiles for a device; here a C++ compiler does for the CPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import pytest
import torch

from stillflow.ops.random import accelerator, device_philox
from stillflow.ops.random.philox import Philox

LOOP = """
extern "C" void blocks(long long n, const long long* number, long long low, long long high,
                       long long key, long long* words) {
  for (long long i = 0; i < n; i++)
    philox<long long>(number[i], low, high, key, words[i], words[n + i], words[2 * n + i],
                      words[3 * n + i]);
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return the kernel, as a function of tensors of the CPU."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("philox")
    (folder / "philox.cc").write_text(device_philox.SOURCE + LOOP)
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", "philox.so", "philox.cc"]
    subprocess.run(command, cwd=folder, check=True)
    blocks = ctypes.CDLL(str(folder / "philox.so")).blocks
    types = [ctypes.c_int64, ctypes.c_void_p, *3 * (ctypes.c_int64,), ctypes.c_void_p]
    blocks.argtypes = types

    def run(number, low, high, key):
        words = torch.empty((4, len(number)), dtype=torch.int64)
        blocks(len(number), number.data_ptr(), int(low), int(high), int(key), words.data_ptr())
        return tuple(words)

    return run


def test_the_kernel_gives_the_words_of_the_generator(compiled):
    assert device_philox.is_right(compiled, torch.device("cpu"))


def test_other_words_are_not_taken_for_right(compiled):
    def others(number, low, high, key):
        return compiled(number, low, high, key + 1)

    assert not device_philox.is_right(others, torch.device("cpu"))


@pytest.mark.parametrize(("first", "step", "count"), [(0, 1, 1), (0, 1, 700), (3, 256, 41)])
def test_blocks_are_the_same_either_way(compiled, monkeypatch, first, step, count):
    at = accelerator.position(Philox(0x0123456789ABCDEF, (1 << 64) - 300, 5))
    plain = accelerator.blocks(at, first, step, count)
    monkeypatch.setattr(accelerator, "kernel", lambda device: compiled)
    assert torch.equal(accelerator.blocks(at, first, step, count), plain)


def test_where_nothing_can_be_compiled_torch_computes(monkeypatch):
    assert device_philox.kernel(torch.device("cpu")) is None
    assert device_philox.kernel.__wrapped__(torch.device("cuda:7")) is None


def test_devices_draw_what_the_host_draws(cuda):
    device = torch.device("cuda:0")
    device_philox.kernel.cache_clear()
    assert (device_philox.kernel(device) is not None) == (cuda == "real")
    at = accelerator.position(Philox(7, 1, 2))
    there = accelerator.uniform(at.to(device), 1000, 23).cpu()
    assert torch.equal(there, accelerator.uniform(at, 1000, 23))
