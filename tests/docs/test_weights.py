"""Steps of docs/weights.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow import __main__ as command_line

PAGE = (Path(__file__).parents[2] / "docs" / "weights.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```\w+\n(.*?)^```$", PAGE)
COMMANDS = [
    line
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("python -m stillflow ")
]
PROGRAMS = [block for block in BLOCKS if "import " in block]
NAMES = {"conv1/weights", "conv1/weights/Adam", "fc/kernel", "beta1_power", "global_step"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a checkpoint and a frozen graph, to be in."""
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        for name in sorted(NAMES):
            tf.Variable(np.ones((2, 2), np.float32), name=name)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, "model.ckpt", global_step=1000)
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="w")
    Path("frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return tmp_path


def test_commands(folder: Path) -> None:
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        assert command_line.main(shlex.split(command)[3:]) == 0, command
    with np.load("weights.npz") as found:
        assert set(found) == {"conv1/weights", "fc/kernel"}
    with np.load("first.npz") as found:
        assert set(found) == {"conv1/weights", "conv1/weights/Adam"}
    with np.load("rest.npz") as found:
        assert set(found) == NAMES


def test_programs(folder: Path) -> None:
    command_line.main(["convert", "model.ckpt-1000", "weights.npz"])
    of_npz, of_checkpoint, of_graph = (run(program) for program in PROGRAMS)
    assert of_npz["kernel"].tolist() == np.ones((2, 2)).tolist()
    assert set(of_checkpoint["weights"]) == NAMES
    assert {name: array.tolist() for name, array in of_graph["weights"].items()} == {"w": [1, 2]}


def run(program: str) -> dict:
    found: dict = {}
    exec(compile(program, "weights.md", "exec"), found)
    return found


def test_axes_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(1)
    images = random.normal(size=(1, 6, 6, 4)).astype(np.float32)
    kernel = random.normal(size=(3, 3, 4, 2)).astype(np.float32)
    turned = random.normal(size=(3, 3, 2, 4)).astype(np.float32)
    dense = random.normal(size=(4, 5)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        wanted = session.run(
            [
                tf.nn.conv2d(images, kernel, 1, "VALID"),
                tf.nn.depthwise_conv2d(images, kernel, [1, 1, 1, 1], "VALID"),
                tf.nn.conv2d_transpose(images, turned, [1, 8, 8, 2], 1, "VALID"),
                tf.matmul(images[0, 0], dense),
            ]
        )
    calls = (
        torch.nn.functional.conv2d,
        lambda x, w: torch.nn.functional.conv2d(x, w, groups=4),
        torch.nn.functional.conv_transpose2d,
    )
    x = torch.from_numpy(images).permute(0, 3, 1, 2)
    rows = re.findall(r"\| `(?:torch\.from_numpy\(kernel\))?(\..*)` \|", PAGE)
    for call, row, weight, want in zip(calls, rows, (kernel, kernel, turned), wanted):
        got = call(x, eval(f"w{row}", {"w": torch.from_numpy(weight)})).permute(0, 2, 3, 1)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)
    got = torch.nn.functional.linear(
        torch.from_numpy(images[0, 0]), eval(f"w{rows[3]}", {"w": torch.from_numpy(dense)})
    )
    np.testing.assert_allclose(got.numpy(), wanted[3], rtol=1e-4, atol=1e-4)
