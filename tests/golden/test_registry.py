"""Families of golden programs stand where one looks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.record import _asked_for
from tests.golden.registry import families, split_name

SOURCES = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.parametrize("family", families())
def test_a_family_is_in_the_folder_of_a_package_or_has_its_name(family: str) -> None:
    folder = family.rpartition("/")[0] or family
    places = [root / folder for root in (SOURCES / "stillflow", SOURCES)]
    there = any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)
    assert there or family.startswith("end_to_end/")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], True), (["image"], True), (["image/resizing"], True), (["image/resizing/"], True),
        (["image/resizing/floats"], True), (["ops", "image"], True), (["image/res"], False),
        (["image/resizing/float"], False), (["resizing"], False),
    ],
)  # fmt: skip
def test_programs_are_asked_for_by_folder_family_or_name(given: list[str], expected: bool) -> None:
    assert _asked_for("image/resizing/floats", given) is expected


def test_names_have_a_family_and_a_function() -> None:
    assert split_name("image/resizing/floats") == ("image/resizing", "floats")
    assert split_name("losses/absolute") == ("losses", "absolute")
