"""The files that others run: workflows, hooks before a commit, forms, the citation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stillflow

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
# Code of others runs in ours only as the commit that was looked at; the comment is for readers.
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def workflow(request: pytest.FixtureRequest) -> str:
    return request.param.read_text(encoding="utf-8")


def test_there_are_workflows_for_changes_weeks_and_releases() -> None:
    assert [path.stem for path in WORKFLOWS] == ["release", "tests", "weekly"]


def test_actions_are_pinned(workflow: str) -> None:
    used = re.findall(r"uses: (.*)", workflow)
    assert used and [text for text in used if not PINNED.fullmatch(text)] == []


def test_one_action_has_one_version() -> None:
    texts = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
    used = {text for workflow in texts for text in re.findall(r"uses: (.*)", workflow)}
    assert len(used) == len({text.partition("@")[0] for text in used})


def test_rights_are_given_job_by_job(workflow: str) -> None:
    assert re.search(r"(?m)^permissions: \{\}$", workflow)
    jobs = workflow.partition("\njobs:\n")[2]
    assert len(re.findall(r"(?m)^  [\w-]+:$", jobs)) == len(
        re.findall(r"(?m)^    permissions:$", jobs)
    )
    assert jobs.count("actions/checkout@") == jobs.count("persist-credentials: false")


def test_make_knows_the_targets(workflow: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    assert set(re.findall(r"\bmake ([a-z-]+)", workflow)) <= targets


def test_only_a_tag_publishes() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    publish = text.partition("\n  publish:\n")[2]
    assert "startsWith(github.ref, 'refs/tags/v')" in publish
    assert "needs: [wheel, check]" in publish and "environment: pypi" in publish
    assert text.count("id-token: write") == publish.count("id-token: write") == 1
    assert "secrets." not in text


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_ask_for_what_doctor_says(form: Path) -> None:
    asked = "python -m stillflow doctor --json" in form.read_text(encoding="utf-8")
    assert asked == (form.stem != "config")


def test_hooks_have_the_versions_of_the_constraints() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    pins = set(re.findall(r'"([\w-]+==[\d.]+)"', hooks))
    assert len(pins) == 3
    assert pins <= set((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())


def test_the_citation_has_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {stillflow.__stillflow_version__}\n" in citation
