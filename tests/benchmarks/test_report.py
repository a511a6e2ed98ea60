"""The benchmark table: ratios round by round, goals, and programs that do other work."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import report, run


def record(name: str, turn: int, program: str = "resnet20", **numbers: Any) -> dict[str, Any]:
    return {"implementation": name, "round": turn, "program": program, **numbers}


RECORDS = [
    record("tf115", 0, step=1.0, build=2.0, losses=[3.0, 2.0]),
    record("tf115", 1, step=2.0, build=2.0, losses=[3.0, 2.0]),
    record("tf115", 2, step=1.0, build=2.0, losses=[3.0, 2.0]),
    record("stillflow", 0, step=0.5, build=0.5, losses=[3.0001, 2.0]),
    record("stillflow", 1, step=0.4, build=0.5, losses=[3.0001, 2.0]),
    record("stillflow", 2, step=0.3, build=0.5, losses=[3.0001, 2.0]),
    record("torch", 0, step=0.1),
]
STEP = report.Row("step", "resnet20", "step", 0.25)


def test_ratios_are_taken_round_by_round() -> None:
    assert report.ratio(RECORDS, STEP, "stillflow", "tf115") == (0.3, 0.2, 0.5)


def test_a_round_that_one_side_lacks_does_not_count() -> None:
    assert report.ratio(RECORDS, STEP, "torch", "tf115") == (0.1, 0.1, 0.1)
    assert report.ratio(RECORDS, STEP, "jax", "tf115") is None


def test_a_ratio_to_itself_needs_no_reference() -> None:
    row = report.Row("slowdown", "resnet20", "slowdown", 1.5, to_itself=True)
    records = [record("tf115", 0, slowdown=9.0), record("stillflow", 0, slowdown=1.25)]
    assert report.ratio(records, row, "stillflow", "tf115") == (1.25, 1.25, 1.25)


def test_the_import_is_measured_by_every_program() -> None:
    records = [
        record("tf115", 0, "scalar_add", **{"import": 1.0}),
        record("tf115", 0, "resnet20", **{"import": 3.0}),
        record("stillflow", 0, "resnet20", **{"import": 0.5}),
    ]
    row = report.Row("import", None, "import")
    assert report.ratio(records, row, "stillflow", "tf115") == (0.25, 0.25, 0.25)


def test_the_table_shows_median_and_spread() -> None:
    lines = list(report.table(RECORDS, ["tf115", "stillflow", "torch"], "tf115"))
    (step,) = [line for line in lines if line.startswith("step, ResNet-20")]
    assert step.split() == [
        "step,",
        "ResNet-20",
        "0.25",
        "0.30",
        "(0.20-0.50)",
        "0.10",
        "(0.10-0.10)",
    ]
    assert not any("MLP" in line for line in lines)


def test_missed_goals_are_named() -> None:
    lines = list(report.missed_goals(RECORDS, "stillflow", "tf115"))
    assert lines == ["step, ResNet-20: 0.30 (0.20-0.50), goal 0.25"]


def test_a_cost_is_a_multiple_of_the_implementations_own_step() -> None:
    records = [
        record(name, turn, program, step=step)
        for name, steps in {"tf115": (1.0, 5.0), "stillflow": (2.0, 3.0)}.items()
        for turn in range(2)
        for program, step in zip(("mlp_adam", "mlp_adam_summaries"), steps)
    ]
    assert report.cost(records, "mlp_adam_summaries", "tf115") == (5.0, 5.0, 5.0)
    (_, line) = report.cost_table(records, ["tf115", "stillflow"])
    assert line.split()[-5:] == ["1.3", "5.00", "(5.00-5.00)", "1.50", "(1.50-1.50)"]
    *_, missed = report.missed_goals(records, "stillflow", "tf115")
    assert missed == "step with summaries, MLP + Adam: 1.50 (1.50-1.50), goal 1.3"


def test_other_losses_are_reported() -> None:
    assert not list(report.different_losses(RECORDS, "stillflow", "tf115"))
    (line,) = report.different_losses(RECORDS, "stillflow", "tf115", tolerance=1e-6)
    assert line.startswith("resnet20")


def test_a_loss_that_is_not_a_number_is_another_loss() -> None:
    records = [*RECORDS, record("stillflow", 3, losses=[float("nan")])]
    assert list(report.different_losses(records, "stillflow", "tf115"))


def test_another_implementation_begins_every_round() -> None:
    assert [run.rotated(["a", "b", "c"], turn)[0] for turn in range(4)] == ["a", "b", "c", "a"]


def test_unknown_programs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.parse(["--only", "resnet21"])
    assert "unknown: resnet21" in capsys.readouterr().err


def test_every_training_program_has_its_peers() -> None:
    for program in report.STEP_PROGRAMS:
        for name in run.IMPLEMENTATIONS:
            assert run.has_program(program, name), (program, name)
    for program in report.NETWORK_PROGRAMS:
        assert run.has_program(program, "torch") and run.has_program(program, "compile")
    assert run.has_program("scalar_add", "tf2") and not run.has_program("scalar_add", "torch")
