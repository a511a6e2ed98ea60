"""Build of the native loops (`src/stillflow/native`) as a shared library.

The compiler is `$CC`, else the first of cc, gcc and clang that is found; without one there is no
library, and the package does without. `CC="python -m ziglang cc"` is one that installs as a
package on every system.

    python tools/build_native.py FOLDER
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent.parent / "src" / "stillflow" / "native"
# The order and the rounding of every operation are the source's: results are compared bit by bit.
FLAGS = [
    "-std=gnu11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-shared",
    "-Wall",
    "-Wextra",
]


def compiler() -> list[str] | None:
    """Return the command of a C compiler, None if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    found = filter(None, map(shutil.which, ("cc", "gcc", "clang")))
    return [path] if (path := next(found, None)) else None


def native_module() -> ModuleType:
    """Load `stillflow.native`, which names the library, without the package around it."""
    spec = importlib.util.spec_from_file_location("native", FOLDER / "__init__.py")
    assert spec and spec.loader
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    return native


def build(folder: Path) -> Path | None:
    """Write the library into a folder; return its path, None without a compiler.

    Raises:
      subprocess.CalledProcessError: if the compilation fails.
    """
    command = compiler()
    if command is None:
        return None
    native = native_module()
    target = folder / native.FILE
    unfinished = target.with_suffix(f".{os.getpid()}")
    # GCC keeps a part of its own in a library that other Windows machines have not.
    position, libraries = (
        (["-static-libgcc"], []) if sys.platform == "win32" else (["-fPIC"], ["-lm"])
    )
    sources = sorted(map(str, FOLDER.glob("*.c")))
    subprocess.run(
        [
            *command,
            *FLAGS,
            *position,
            f"-DFINGERPRINT={native.fingerprint()}u",
            "-o",
            str(unfinished),
            *sources,
            *libraries,
        ],
        check=True,
    )
    unfinished.replace(target)
    return target


if __name__ == "__main__":
    written = build(Path(sys.argv[1]))
    print(written or "no C compiler: nothing built")
