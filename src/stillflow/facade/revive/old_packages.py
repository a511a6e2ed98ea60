"""Replacement of the module ``pkg_resources``, which setuptools has dropped."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from stillflow.facade.revive.old_distutils.version import LooseVersion

_NAME = re.compile(r"[A-Za-z0-9._-]+")


class ResolutionError(Exception):
    """Error for a distribution that is not installed."""


class DistributionNotFound(ResolutionError):
    """No such distribution is installed."""


class Distribution:
    """An installed distribution."""

    def __init__(self, project_name: str, version: str) -> None:
        self.project_name, self.version = project_name, version
        self.key = project_name.lower()

    @property
    def parsed_version(self) -> Any:
        """The version as something that compares."""
        return parse_version(self.version)

    def __str__(self) -> str:
        return f"{self.project_name} {self.version}"


def parse_version(version: str) -> Any:
    """Return a version that compares.

    Of releases only, where the library ``packaging`` is not there.
    """
    try:
        from packaging.version import Version
    except ImportError:
        return LooseVersion(version)
    return Version(version)


def get_distribution(dist: Any) -> Distribution:
    """Return the installed distribution of a name; other requirements are not checked."""
    if isinstance(dist, Distribution):
        return dist
    found = _NAME.match(dist)
    name = found[0] if found else dist
    try:
        return Distribution(name, importlib.metadata.version(name))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        raise DistributionNotFound(
            f"The '{dist}' distribution was not found and is required by the application"
        ) from None


def require(*requirements: str) -> list[Distribution]:
    """Return the installed distributions of some names."""
    return [get_distribution(requirement) for requirement in requirements]


def iter_entry_points(group: str, name: str | None = None) -> Iterator[Any]:
    """Yield the entry points of a group that installed distributions declare."""
    for entry in importlib.metadata.entry_points(group=group):
        if name is None or entry.name == name:
            yield entry


def _resource(package_or_requirement: str, resource_name: str) -> Any:
    """Return a file next to a package's modules; any of its modules may name the package."""
    module = importlib.import_module(package_or_requirement)
    found = files(module) if hasattr(module, "__path__") else Path(module.__file__ or "").parent
    return found.joinpath(*resource_name.split("/"))


def resource_filename(package_or_requirement: str, resource_name: str) -> str:
    """Return the path of a file or folder next to the modules of a package."""
    return str(_resource(package_or_requirement, resource_name))


def resource_string(package_or_requirement: str, resource_name: str) -> bytes:
    """Return the content of a file next to the modules of a package."""
    content: bytes = _resource(package_or_requirement, resource_name).read_bytes()
    return content


def resource_stream(package_or_requirement: str, resource_name: str) -> Any:
    """Open a file next to the modules of a package for reading bytes."""
    return _resource(package_or_requirement, resource_name).open("rb")


def resource_exists(package_or_requirement: str, resource_name: str) -> bool:
    """Return True if there is such a file or folder next to the modules of a package."""
    at = _resource(package_or_requirement, resource_name)
    return bool(at.is_file() or at.is_dir())


def resource_isdir(package_or_requirement: str, resource_name: str) -> bool:
    """Return True if it is a folder."""
    return bool(_resource(package_or_requirement, resource_name).is_dir())


def resource_listdir(package_or_requirement: str, resource_name: str) -> list[str]:
    """Return the names in a folder next to the modules of a package."""
    return [item.name for item in _resource(package_or_requirement, resource_name).iterdir()]
