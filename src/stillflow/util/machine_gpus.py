"""GPUs of this machine, as far as its files tell."""

from __future__ import annotations

import os
import sys

# Of the drivers of NVIDIA, also on boards and in WSL, and of AMD.
_FILES = ("nvidiactl", "nvidia0", "nvhost-gpu", "nvgpu", "nvmap", "dxg", "kfd")


def may_have_gpus() -> bool:
    """Return False where no driver of a GPU is loaded; only Linux tells."""
    return sys.platform != "linux" or any(os.path.exists(f"/dev/{name}") for name in _FILES)
