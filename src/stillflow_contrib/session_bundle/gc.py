"""Selection of a model's exports to keep, by their paths."""

from __future__ import annotations

import heapq
import operator
import os
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from stillflow.files import gfile
from stillflow.graph.export import export
from stillflow.util.deprecation import deprecated

_INSTEAD = "No longer supported. Switch to SavedModel immediately."


@export("contrib.session_bundle.gc.Path")
class Path(NamedTuple):
    """An export: where it is, and its number."""

    path: str
    export_version: int | None


Keep: TypeAlias = Callable[[list[Path]], list[Path]]


@export("contrib.session_bundle.gc.largest_export_versions")
@deprecated("2017-06-30", _INSTEAD)
def largest_export_versions(n: int) -> Keep:
    """Keep the `n` exports with the largest numbers."""

    def keep(paths: list[Path]) -> list[Path]:
        numbered = [path for path in paths if path.export_version is not None]
        return sorted(heapq.nlargest(n, numbered, key=lambda path: path.export_version or 0))

    return keep


@export("contrib.session_bundle.gc.one_of_every_n_export_versions")
@deprecated("2017-06-30", _INSTEAD)
def one_of_every_n_export_versions(n: int) -> Keep:
    """Keep the last of numbers 1 to n, of n + 1 to 2n, and so on."""

    def keep(paths: list[Path]) -> list[Path]:
        kept: dict[int, Path] = {}
        for path in paths:
            number = path.export_version
            if number is None:
                continue
            interval = (number - 1) // n if number else 0
            best = kept.get(interval)
            if best is None or (best.export_version or 0) < number:
                kept[interval] = path
        return sorted(kept.values())

    return keep


@export("contrib.session_bundle.gc.mod_export_version")
@deprecated("2017-06-30", _INSTEAD)
def mod_export_version(n: int) -> Keep:
    """Keep the exports whose numbers `n` divides."""
    return lambda paths: sorted(path for path in paths if operator.mod(path.export_version, n) == 0)


@export("contrib.session_bundle.gc.union")
@deprecated("2017-06-30", _INSTEAD)
def union(lf: Keep, rf: Keep) -> Keep:
    """Keep the paths that either of two functions keeps."""
    return lambda paths: sorted({*lf(paths), *rf(paths)})


@export("contrib.session_bundle.gc.negation")
@deprecated("2017-06-30", _INSTEAD)
def negation(f: Keep) -> Keep:
    """Keep the paths that a function does not keep."""
    return lambda paths: sorted(set(paths) - set(f(paths)))


@export("contrib.session_bundle.gc.get_paths")
@deprecated("2017-06-30", _INSTEAD)
def get_paths(base_dir: str, parser: Callable[[Path], Path | None]) -> list[Path]:
    """Return the exports in a directory.

    Args:
      base_dir: The directory.
      parser: Gives a path its number; None if it is no export.
    """
    names = gfile.list_directory_v2(base_dir)
    found = (parser(Path(os.path.join(base_dir, name), None)) for name in names)
    return sorted(path for path in found if path)
