"""Sizes and structure of README.md, CHANGELOG.md and the site."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import stillflow

ROOT = Path(stillflow.__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GROUPS = ["What runs", "Files and tools", "Speed", "Platforms", "Fixed"]


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len(README.split()) <= 800


def test_the_changelog_has_one_line_for_each_change_in_groups() -> None:
    lines = [line for line in CHANGELOG.splitlines() if line]
    repeated = {line: count for line, count in Counter(lines).items() if count > 1}
    assert not repeated
    assert re.findall(r"(?m)^### (.*)$", CHANGELOG) == GROUPS
    entries = CHANGELOG.partition("### ")[2].splitlines()[1:]
    assert not [line for line in entries if line and not line.startswith(("- ", "### "))]
    assert len(lines) <= 140


def test_every_page_stands_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = set(re.findall(r": (\w+\.md)$", navigation, flags=re.MULTILINE))
    generated = {"index.md", "contributing.md", "security.md", "changelog.md"}
    assert named == {path.name for path in (ROOT / "docs").glob("*.md")} | generated


def test_pages_name_no_package_registry_and_no_badges() -> None:
    pages = [README, *(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))]
    for text in pages:
        assert not re.search(r"pypi\.org|pythonhosted|shields\.io|badge", text)
