"""Existence of everything that the pages name: files, headings, targets, commands, symbols."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import stillflow
from stillflow.cli import COMMANDS
from stillflow.cli.health.variables import VARIABLES

ROOT = Path(stillflow.__file__).parents[2]
PAGES = sorted(
    path for pattern in ("*.md", "docs/*.md", "benchmarks/*.md", "tests/**/*.md", "src/**/*.md")
    for path in ROOT.glob(pattern) if path.name != "CHANGELOG.md"
)  # fmt: skip
# Where a path may begin, and files of a user's, of TensorFlow's, or that commands write.
FOLDERS = ("", "src", "src/stillflow", "tests", "tests/golden", "benchmarks", "tools", "examples")
OTHERS = re.compile(
    r"/tmp/|(?:train|program|setup|types|(?:test_)?model)\.py|(?:requirements|today)\.txt|\w+_grad\.py"
)
OURS = re.compile(r"(?:src|tests|tools|docs|benchmarks|examples|graph|ops|runtime|files|facade)/")
OLD_SPACES = {"tf.models", "tf.nn.seq2seq"}  # namespaces of 0.x
MAKEFILE = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))


@pytest.fixture(params=PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


# Programs and files of other repositories, and TensorFlow's headers.
NAMES_OF_OTHERS = {"compatibility.md", "custom_operations.md"}


def code(text: str) -> Iterator[str]:
    """Yield the texts between backticks, in blocks, and indented."""
    yield from re.findall(r"`([^`\n]+)`", text)
    for block in re.findall(r"(?s)^```.*?\n(.*?)^```", text, re.MULTILINE):
        yield from block.splitlines()
    yield from re.findall(r"(?m)^    (.*)$", text)


def heads(path: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    found = re.findall(r"(?m)^#+ (.*)$", path.read_text())
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in found}


def test_links(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not target.startswith("http"):
            path, _, anchor = target.partition("#")
            full = page.parent / path if path else page
            assert full.exists(), target
            assert not anchor or anchor in heads(full), target


def test_files(page: Path) -> None:
    if page.name in NAMES_OF_OTHERS:
        return
    lacking = []
    for word in re.findall(r"[\w./*{}<>$-]+", "\n".join(code(page.read_text()))):
        named = re.search(r"\.(?:py|md|sh|txt|toml|c|h)$", word) or OURS.match(word)
        if named and not re.search(r"[*{}<>$]", word) and not OTHERS.match(word):
            places = [page.parent / word, *(ROOT / folder / word for folder in FOLDERS)]
            if not any(place.exists() for place in places):
                lacking.append(word)
    assert not lacking


def test_commands(page: Path) -> None:
    text = "\n".join(code(page.read_text()))
    assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= MAKEFILE
    assert set(re.findall(r"-m stillflow ([a-z][a-z_-]*)(?![\w.])", text)) <= set(COMMANDS)
    for module in re.findall(r"-m ((?:tests|tools|benchmarks)[\w.]*)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_variables_of_the_environment(page: Path) -> None:
    named = set(re.findall(r"STILLFLOW_\w+", page.read_text()))
    if named:
        files = [ROOT / "Makefile", *(ROOT / "tools").glob("*")]
        files += [
            file for top in ("src", "tests", "benchmarks") for file in (ROOT / top).rglob("*.py")
        ]
        sources = "\n".join(file.read_text(errors="replace") for file in files if file.is_file())
        assert not {name for name in named if name not in sources}


def test_every_variable_of_the_environment_has_its_row() -> None:
    page = (ROOT / "docs" / "debugging.md").read_text()
    assert dict(re.findall(r"(?m)^\| `(STILLFLOW_\w+)` \| (.+) \|$", page)) == VARIABLES
    read = {
        name
        for file in (ROOT / "src").rglob("*.py")
        for name in re.findall(r'"(STILLFLOW_[A-Z0-9_]+)"', file.read_text())
    }
    assert read == set(VARIABLES)


def test_symbols(tmp_path: Path) -> None:
    """Check that `stillflow check` knows each; the page may say that it is unsupported."""
    pattern = r"\b(?:tf|tensorflow)(?:\.[A-Za-z]\w*)+"
    pages = [page for page in PAGES if page.name not in NAMES_OF_OTHERS]
    found = {name for page in pages for part in code(page.read_text())
             for name in re.findall(pattern, part)}  # fmt: skip
    program = tmp_path / "program.py"
    program.write_text("import tensorflow, tensorflow as tf\n" + "\n".join(sorted(found)))
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", "check", "--json", str(program)],
        capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    report = json.loads(done.stdout)
    names = [one for one in report["names"] if one["name"] not in OLD_SPACES]
    old = {sign["name"] for sign in report["tf0"]}
    assert len(names) > 50
    unknown = {one["name"] for one in names if one["status"] == "not in TensorFlow 1.15"}
    assert unknown - old == set()
