"""Build hook of the package: stubs of the public API, and the native library.

A wheel gets both. An editable install gets the native library, next to its sources; stubs there
would hide our own modules from our own type checker. Without a C compiler the wheel is one for any
system; with one it is for this system, or for `$STILLFLOW_PLATFORM` (manylinux2014_x86_64).
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

import build_native
import build_stubs


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Build hook that adds generated files to a wheel or to the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        if version == "editable":
            self._build_native(build_native.FOLDER)
            return
        folder = Path(self.folder.name)
        included = build_data["force_include"]
        for path in build_stubs.write(folder):
            included[f"{folder}/{path}"] = f"stillflow/{path}"
        library = self._build_native(folder)
        if library is not None:
            included[str(library)] = f"stillflow/native/{library.name}"
            platform = os.environ.get("STILLFLOW_PLATFORM") or sysconfig.get_platform()
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()

    def _build_native(self, folder: Path) -> Path | None:
        try:
            library = build_native.build(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"the loops in C cannot be built here: {error}")
            return None
        if library is None:
            self.app.display_warning("no C compiler: the loops in C are left out")
        return library
