"""The check of words: texts that it reads, rules that it applies, numbers that may not grow."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def check_words(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield importlib.import_module("check_words")
    del sys.modules["check_words"]


@pytest.fixture
def rules(check_words, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text(
        "# comment\npattern\tplainer\n^What\ta noun\nlacks?\tis missing\nlong way\tfar\n"
    )
    return check_words.read_rules(path)


def _found(check_words, rules, source):
    return [(hit.line, hit.found) for hit in check_words.hits(source, "a.py", rules)]


@pytest.mark.parametrize(
    "source",
    [
        '"""What a module is."""',
        'class A:\n    """what a class is."""',
        'async def f():\n    r"""\n    What a function does."""',
    ],
)
def test_a_docstring_that_begins_with_a_word_to_avoid_is_found(check_words, rules, source):
    assert [found.lower() for _, found in _found(check_words, rules, source)] == ["what"]


@pytest.mark.parametrize("source", ["# What it is.", '"""Somewhat. What else."""', 'x = "What"'])
def test_the_beginning_counts_in_docstrings_only(check_words, rules, source):
    assert _found(check_words, rules, source) == []


def test_words_are_found_in_docstrings_and_comments_with_their_lines(check_words, rules):
    source = (
        '"""One.\n\nIt lacks two.\n"""\n\nx = 1  # LACK\n# blacks, lacking, x_lacks\ny = "lacks"\n'
    )
    assert _found(check_words, rules, source) == [(3, "lacks"), (6, "LACK")]


def test_code_and_names_of_arguments_do_not_count(check_words, rules):
    source = '"""One.\n\nArgs:\n  lacks: the `lack` of ``it lacks``.\n"""\n# `lacks`\n'
    assert _found(check_words, rules, source) == []


def test_a_phrase_is_found_across_lines(check_words, rules):
    assert _found(check_words, rules, "# a long\n# way\n") == [(1, "long way")]
    assert _found(check_words, rules, '"""A long\nway."""') == [(1, "long way")]


def test_a_hit_prints_its_place_and_the_plainer_words(check_words, rules):
    [hit] = check_words.hits("# it lacks\n", "src/a.py", rules)
    assert str(hit) == "src/a.py:1: 'lacks': is missing"


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("src/stillflow/graph/op.py", "stillflow.graph"),
        ("src/stillflow/version.py", "stillflow"),
        ("src/stillflow_contrib/crf/op.py", "stillflow_contrib"),
        ("tests/ops/test_op.py", "tests"),
    ],
)
def test_hits_are_counted_by_package(check_words, file, package):
    assert check_words.package(file) == package


def test_allowed_numbers_are_read_as_they_were_written(check_words, tmp_path):
    path = tmp_path / "allowed.txt"
    check_words.write_allowed({"b": 2, "a": 1, "c": 0}, path)
    assert check_words.read_allowed(path) == {"a": 1, "b": 2}


def _main(check_words, monkeypatch, tmp_path, allowed):
    (tmp_path / "src" / "stillflow" / "graph").mkdir(parents=True)
    (tmp_path / "src" / "stillflow" / "graph" / "op.py").write_text('"""What it is."""\n')
    path = tmp_path / "allowed.txt"
    path.write_text(allowed)
    monkeypatch.setattr(check_words.all_hits, "__defaults__", (tmp_path,))
    monkeypatch.setattr(check_words.read_allowed, "__defaults__", (path,))
    monkeypatch.setattr(check_words.write_allowed, "__defaults__", (path,))
    return path


def test_a_number_that_grew_fails(check_words, monkeypatch, tmp_path, capsys):
    _main(check_words, monkeypatch, tmp_path, "stillflow.ops: 3\n")
    assert check_words.main([]) == 1
    assert "stillflow.graph: 1 hits, 0 allowed" in capsys.readouterr().out


def test_shrinking_never_raises_a_number(check_words, monkeypatch, tmp_path):
    path = _main(check_words, monkeypatch, tmp_path, "stillflow.graph: 4\nstillflow.ops: 3\n")
    assert check_words.main(["--shrink"]) == 0
    assert check_words.read_allowed(path) == {"stillflow.graph": 1}
