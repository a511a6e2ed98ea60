"""Code blocks of README.md and docs/: every one has a language, and every Python block runs."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import stillflow
from stillflow.cli import COMMANDS

ROOT = Path(stillflow.__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
FENCE = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^ *```$")
LANGUAGES = {"python", "sh", "text", "ipython", "cpp", "yaml"}
# Pages whose Python blocks need files or several processes; the module that runs them.
ELSEWHERE = {
    "weights.md": "test_weights.py",
    "serving.md": "test_serving.py",
    "clusters.md": "test_cluster_page.py",
    "SECURITY.md": "test_security_page.py",
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each fenced block."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(language, re.sub(rf"(?m)^{indent}", "", text)) for indent, language, text in found]


def with_output(page: Path) -> list[tuple[str, str | None]]:
    """Return the Python blocks, each with the text block that follows it."""
    following = [*blocks(page)[1:], ("", "")]
    return [
        (text, after if kind == "text" else None)
        for (language, text), (kind, after) in zip(blocks(page), following)
        if language == "python"
    ]


@pytest.fixture
def tensorflow() -> Iterator[None]:
    """Serve the name `tensorflow`."""
    stillflow.install(revive=False)
    yield
    stillflow.uninstall()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_fenced_and_have_a_language(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("```") % 2 == 0
    assert {language for language, _ in blocks(page)} <= LANGUAGES
    plain = FENCE.sub("", text)
    assert not re.search(r"(?m)\n\n    \S", re.sub(r"(?ms)^[*-] .*?(?=^\S)", "", plain))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_is_well_formed(page: Path) -> None:
    texts = [text for language, text in blocks(page) if language == "yaml"]
    if texts:
        yaml = pytest.importorskip("yaml")
        assert all(all(yaml.safe_load_all(text)) for text in texts)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if with_output(page) and page.name not in ELSEWHERE],
    ids=lambda page: page.name,
)
def test_python_blocks_run_and_print_what_stands_below(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tensorflow: None
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, (program, output) in enumerate(with_output(page)):
        printed = io.StringIO()
        with stillflow.Graph().as_default(), contextlib.redirect_stdout(printed):
            exec(compile(program, f"{page.name}, block {number}", "exec"), {"__name__": "block"})
        if output is not None:
            assert printed.getvalue() == output


def test_pages_that_are_tested_elsewhere_are() -> None:
    for page, module in ELSEWHERE.items():
        text = (Path(__file__).parent / module).read_text(encoding="utf-8")
        assert page in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_blocks_name_commands_and_options_that_exist(page: Path) -> None:
    for language, text in blocks(page):
        for line in text.replace("\\\n", " ").splitlines() if language == "sh" else []:
            words = shlex.split(line, comments=True)
            if words[:3] == ["python", "-m", "stillflow"] and len(words) > 3:
                first = words[3]
                assert first in COMMANDS or first.startswith("-") or first.endswith(".py"), line
            if words[:1] == ["make"]:
                assert len(words) > 1


def test_excerpts_parse() -> None:
    for page in PAGES:
        for language, text in blocks(page):
            if language == "python":
                ast.parse(text)
