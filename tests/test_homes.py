"""The rule for where names are at home, which docs/architecture.md shows, finds them."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

import stillflow
from stillflow import protos
from stillflow._namespace import public_names
from stillflow.cli import where
from tools import homes

TABLE = public_names()

SOURCES = Path(stillflow.__file__).parents[1]
RULE = homes.Rule(TABLE)
SAMPLE = homes.sample(TABLE)


def is_message(name: str) -> bool:
    return hasattr(getattr(protos, name.rpartition(".")[2], None), "DESCRIPTOR")


def is_found(name: str, target: str) -> bool:
    return homes.is_found(target, RULE.guess(name, is_message(name)))


def test_the_first_guess_finds_190_of_200_names() -> None:
    missed = [name for name, target in SAMPLE.items() if not is_found(name, target)]
    assert len(SAMPLE) == 200
    assert len(missed) <= 10, missed


def test_the_rule_finds_97_of_100_public_objects() -> None:
    named = homes.objects(TABLE)
    missed = [name for name, target in named.items() if not is_found(name, target)]
    assert len(missed) <= 0.03 * len(named), missed


def test_a_guess_is_two_folders_at_most_all_of_which_exist() -> None:
    guesses = {name: RULE.guess(name, is_message(name)) for name in homes.objects(TABLE)}
    assert all(1 <= len(folders) <= 2 for folders in guesses.values())
    rows = [*homes.SPACES, *homes.TOP, *homes.CONTRIB]
    folders = {folder for row in rows for folder in row.folders.split()}
    assert [folder for folder in folders if not (SOURCES / "stillflow" / folder).exists()] == []


def test_every_row_of_the_table_finds_a_name() -> None:
    found = {RULE.guess(name) for name in TABLE}
    parts = {folder for folders in found for folder in folders}
    rows = [*homes.SPACES, *homes.TOP, *homes.CONTRIB]
    assert [row for row in rows if not set(row.folders.split()) <= parts] == []


def test_the_page_shows_the_rule() -> None:
    text = homes.PAGE.read_text(encoding="utf-8")
    assert text == homes.with_table(text), "python tools/homes.py --write"


@pytest.fixture(scope="module")
def told() -> dict[str, dict]:
    """Return the answers of `python -m stillflow where`, by name."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert where.main(["--json", *(f"tf.{name}" for name in SAMPLE)]) == 0
    return {one["name"].removeprefix("tf."): one for one in json.loads(text.getvalue())}


def line(file: str, number: int) -> str:
    return (SOURCES / file).read_text(encoding="utf-8").splitlines()[number - 1]


@pytest.mark.parametrize("name", SAMPLE)
def test_where_says_file_line_operations_and_cards(name: str, told: dict[str, dict]) -> None:
    one = told[name]
    assert one["line"] >= 1 and line(one["file"], one["line"]).strip()
    for operation, place in one["operations"].items():
        file, _, number = place.rpartition(":")
        assert file.startswith(("stillflow/ops/", "stillflow_contrib/ops/")), operation
        assert line(file, int(number)).strip()
