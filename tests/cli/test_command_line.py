"""Command line of ``python -m stillflow`` itself, valid and invalid."""

from __future__ import annotations

from pathlib import Path

import pytest

from stillflow import cli


@pytest.mark.parametrize("command", sorted(set(cli.COMMANDS) - {"tensorboard"}))
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert not ended.value.code
    shown = capsys.readouterr()
    assert shown.out.startswith("usage: ") and not shown.err


@pytest.mark.parametrize("command", ["enable", "disable", "status"])
def test_commands_without_arguments_take_none(command: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "now"])
    assert ended.value.code == 2
    assert "unrecognized arguments: now" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "meant"), [("inspct", "inspect"), ("doctr", "doctor")])
def test_mistyped_commands(given: str, meant: str, capsys: pytest.CaptureFixture) -> None:
    assert cli.main([given, "file"]) == 2
    text = f"stillflow: there is no program and no command {given}; is it {meant}?\n"
    assert capsys.readouterr().err.endswith(text)


def test_a_program_may_have_nearly_the_name_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inspct").touch()
    monkeypatch.chdir(tmp_path)
    assert cli._mistyped("inspct") is None
    for program in ("inspect.py", "./inspct_", "train", "-"):
        assert cli._mistyped(program) is None, program
