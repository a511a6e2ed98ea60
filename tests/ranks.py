"""Programs run by several processes, as launchers start them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch.distributed as dist

SOURCE = Path(__file__).parent.parent / "src"


class Ended(NamedTuple):
    """A rank that has ended."""

    code: int
    output: str
    errors: str


class Ranks:
    """Starts programs.

    The store at which the processes meet is this process's own, as it is torchrun's, so that no
    other program can take its port between two looks.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def start(
        self, source: str, size: int = 2, started: int | None = None, **variables: Any
    ) -> list[subprocess.Popen[str]]:
        """Start the first `started` of `size` ranks of a program; by default all of them."""
        self._count += 1
        path = self._folder / f"program{self._count}.py"
        path.write_text(source)
        shared = {
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self._store.port), "WORLD_SIZE": size,
            "TORCHELASTIC_USE_AGENT_STORE": "True", "LOCAL_WORLD_SIZE": size, "GROUP_RANK": 0,
            "OMP_NUM_THREADS": 1, "PYTHONPATH": SOURCE, "TORCHELASTIC_RESTART_COUNT": self._count,
            "STILLFLOW_VERIFY_PLANS": 1, "HOROVOD_START_TIMEOUT": 120, **variables,
        }  # fmt: skip
        return [
            subprocess.Popen(
                [sys.executable, "-m", "stillflow", str(path)], text=True, cwd=self._folder,
                env={**os.environ, **{name: str(value) for name, value in shared.items()},
                     "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for rank in range(size if started is None else started)
        ]  # fmt: skip

    def wait(self, processes: list[subprocess.Popen[str]], seconds: float = 180) -> list[Ended]:
        """Wait until all have ended; those that do not in time are killed, and so they end."""
        end = time.monotonic() + seconds
        found = []
        try:
            for process in processes:
                left = max(0.1, end - time.monotonic())
                output, errors = process.communicate(timeout=left)
                found.append(Ended(process.returncode, output, errors))
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
        return found

    def run(self, source: str, size: int = 2, **variables: Any) -> list[str]:
        """Run a program; return what each rank printed. It has to end well."""
        ended = self.wait(self.start(source, size, **variables))
        assert [each.code for each in ended] == [0] * size, "\n".join(map(str, ended))
        return [each.output for each in ended]
