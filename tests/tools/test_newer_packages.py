"""Installation next to newer torch and NumPy, which stay unchanged."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

try:
    import tomllib
except ImportError:  # Python 3.10: pytest brings it
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def newer_packages() -> ModuleType:
    path = ROOT / "tools" / "newer_packages.py"
    spec = importlib.util.spec_from_file_location("newer_packages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, requirements: list[str]) -> Path:
    """Return a wheel with nothing in it but what it requires."""
    path = folder / "stillflow-0.0.1-py3-none-any.whl"
    info = "stillflow-0.0.1.dist-info/"
    asked = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            f"{info}METADATA", f"Metadata-Version: 2.1\nName: stillflow\nVersion: 0.0.1\n{asked}"
        )
        archive.writestr(
            f"{info}WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}RECORD", "")
    return path


def test_the_package_changes_nothing(newer_packages: ModuleType, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = wheel(tmp_path, project["dependencies"])
    assert newer_packages.changes(made, newer_packages.packages()) == {}


def test_an_upper_bound_shows(newer_packages: ModuleType, tmp_path: Path) -> None:
    made = wheel(tmp_path, ["torch<2.14"])
    assert "torch<2.14" in newer_packages.changes(made, {"torch": "2.15.0"})["error"]
