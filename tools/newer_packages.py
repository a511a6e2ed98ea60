"""Check that installing a wheel of ours keeps newer versions of torch and NumPy.

The environment is made up: of the packages only their names and versions are there, which is all
that pip looks at. It has no index, so that a package that pip wants to replace is an error.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

# The newest versions that users have.
NEWER = {"torch": "2.15.0", "numpy": "2.5.5"}


def packages() -> dict[str, str]:
    """Return this environment's packages with their versions, torch and NumPy newer."""
    here = {
        found.metadata["Name"].lower().replace("_", "-"): found.version
        for found in importlib.metadata.distributions()
        if found.metadata["Name"]
    }
    here.pop("stillflow", None)
    return {**here, **NEWER}


def changes(wheel: Path, installed: Mapping[str, str]) -> dict[str, str]:
    """Return the packages that pip would install with a wheel, or the reason why it cannot.

    Args:
      wheel: the wheel's path.
      installed: {name: version} of the packages that are there already.

    Returns:
      {name: version} of all but the wheel's own package; {"error": ...} if pip finds no way.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        python = Path(folder, "Scripts/python.exe" if os.name == "nt" else "bin/python")
        for name, version in installed.items():
            _pretend(_packages_of(Path(folder)), name, version)
        report = Path(folder, "report.json")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHONP"))}
        asked = subprocess.run(
            [sys.executable, "-m", "pip", "--isolated", "--python", str(python), "install",
             "--dry-run", "--no-index", "--quiet", "--report", str(report), str(wheel)],
            capture_output=True, text=True, env={**environment, "PIP_CONFIG_FILE": os.devnull},
        )  # fmt: skip
        if asked.returncode:
            return {"error": asked.stderr.strip()}
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    named = {entry["metadata"]["name"]: entry["metadata"]["version"] for entry in found}
    return {name: version for name, version in named.items() if name != "stillflow"}


def _packages_of(folder: Path) -> Path:
    return next(path for path in folder.rglob("site-packages") if path.is_dir())


def _pretend(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "INSTALLER").write_text("pip\n")
    (info / "RECORD").write_text("")


def check(wheel: Path) -> None:
    """Make sure that a wheel leaves newer packages as they are.

    Raises:
      SystemExit: if pip would change one of them.
    """
    if changed := changes(wheel, packages()):
        raise SystemExit(f"with {NEWER} pip would change: {changed}")
