"""Versions of Python and of packages that Stillflow is tested with.

The tests hold this table against pyproject.toml and against the files of constraints that the suite
is run with.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PYTHONS = ((3, 10), (3, 15))


class Range(NamedTuple):
    """Versions of a package.

    Attributes:
      oldest: the first that works; earlier ones are too old.
      newest: the last that the suite is run with; later ones work as far as is known.
      extra: the extra of Stillflow that asks for it; empty for what every program needs.
      since: the first Python that needs it.
    """

    oldest: str
    newest: str
    extra: str = ""
    since: tuple[int, int] = PYTHONS[0]


RANGES: dict[str, Range] = {
    "torch": Range("2.11", "2.15.0"),
    "numpy": Range("2.0", "2.5.5"),
    "protobuf": Range("6.33.5", "7.36.2"),
    "absl-py": Range("2.1", "2.5.1"),
    "google-crc32c": Range("1.6", "1.9.0"),
    "ml_dtypes": Range("0.5", "0.6.0"),
    "fsspec": Range("2023.10", "2026.9.0"),
    "keras-preprocessing": Range("1.1.2", "1.1.2"),
    "fissix": Range("24.4", "24.4.24", since=(3, 12)),
    "Pillow": Range("10", "13.0.0", extra="image"),
    "simplejpeg": Range("1.8", "1.9.0", extra="image"),
    "keras-applications": Range("1.0.8", "1.0.8", extra="keras"),
    "h5py": Range("3.11", "3.16.0", extra="keras"),
    "rich": Range("13", "15.0.0", extra="cli"),
    "tensorboard": Range("2.21", "2.21.0", extra="demo"),
}


def is_older(version: str, than: str) -> bool:
    """Return True if a release comes before another one."""
    return numbers(version) < numbers(than)


def is_newer(version: str, tested: str) -> bool:
    """Return True if a release is later than those tested; fixes of a tested release are not."""
    return numbers(version)[:2] > numbers(tested)[:2]


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version that order it: (2, 13, 0) of "2.13.0+cpu"."""
    return tuple(int(word) for word in re.findall(r"\d+", version.partition("+")[0]))
