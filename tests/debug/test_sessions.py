"""Sessions and hooks of the debugger, and the conversation in the terminal."""

from __future__ import annotations

import glob
import subprocess
import sys

import numpy as np
import pytest

import stillflow as tf
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.debug.dumping import DumpingDebugHook, DumpingDebugWrapperSession
from stillflow.debug.local_cli import LocalCLIDebugHook, LocalCLIDebugWrapperSession
from stillflow.debug.remote import GrpcDebugHook, TensorBoardDebugWrapperSession
from stillflow.debug.watching import WatchOptions

FEED = {"x:0": [[1, 2, 3], [0, 0, 0]]}


@pytest.fixture
def sess():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, None], name="x")
        w = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer())
        tf.reduce_sum(tf.log(tf.matmul(x, w, name="y")), name="loss")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            yield sess


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path_factory):
    """Return a home folder of the test's own, in which the debugger keeps its settings."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def says(monkeypatch, capsys):
    """Types lines; gives a function for what was printed since it was last called."""

    def start(*lines):
        typed = iter(lines)

        def read(prompt):
            try:
                return next(typed)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", read)
        return lambda: capsys.readouterr().out

    return start


# ---- dumping


def test_each_run_gets_a_folder(sess, tmp_path) -> None:
    root = tmp_path / "root"
    wrapped = DumpingDebugWrapperSession(sess, str(root))
    assert wrapped.run("loss:0", FEED) == -np.inf
    assert wrapped.run(["loss:0", "y:0"], FEED)[1].shape == (2, 2)
    folders = sorted(glob.glob(str(root / "run_*")))
    assert len(folders) == 2
    dump = DebugDumpDir(folders[0])
    assert dump.size == 7
    assert dump.run_fetches_info == "'loss:0'"
    assert "x:0" in dump.run_feed_keys_info


def test_a_function_chooses_what_is_watched(sess, tmp_path) -> None:
    def choose(fetches, feeds):
        assert (fetches, feeds) == ("loss:0", FEED)
        return WatchOptions(["DebugNanCount"], node_name_regex_whitelist="Log")

    DumpingDebugWrapperSession(sess, str(tmp_path), choose).run("loss:0", FEED)
    (folder,) = glob.glob(str(tmp_path / "run_*"))
    assert [d.watch_key for d in DebugDumpDir(folder).dumped_tensor_data] == ["Log:0:DebugNanCount"]


def test_runs_of_other_threads_are_left_alone(sess, tmp_path) -> None:
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path), thread_name_filter="Worker")
    wrapped.run("loss:0", FEED)
    assert not list(tmp_path.iterdir())


def test_errors_are_given_back_or_raised(sess, tmp_path) -> None:
    bad = {"x:0": [[1, 2]]}
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path / "a"))
    assert isinstance(wrapped.run("loss:0", bad), tf.errors.InvalidArgumentError)
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path / "b"), pass_through_operrors=True)
    with pytest.raises(tf.errors.InvalidArgumentError):
        wrapped.run("loss:0", bad)


def test_callables_and_defaults_go_through(sess, tmp_path) -> None:
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path))
    call = wrapped.make_callable("y:0", ["x:0"])
    assert call(FEED["x:0"]).tolist() == [[6, 6], [0, 0]]
    assert len(list(tmp_path.iterdir())) == 1
    assert wrapped.graph is sess.graph
    assert len(wrapped.list_devices()) == len(sess.list_devices())


@pytest.mark.parametrize("kind", [DumpingDebugWrapperSession, LocalCLIDebugWrapperSession])
def test_folders_in_use_are_refused(sess, tmp_path, kind) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="non-empty directory"):
        kind(sess, str(tmp_path))
    with pytest.raises(ValueError, match="points to a file"):
        kind(sess, str(tmp_path / "file"))


def test_what_is_no_session_is_refused(tmp_path) -> None:
    with pytest.raises(TypeError, match="Expected a session"):
        DumpingDebugWrapperSession(1, str(tmp_path))


def test_a_hook_dumps_the_runs_of_a_monitored_session(tmp_path) -> None:
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        add = tf.assign_add(step, 1, name="add")
        hook = DumpingDebugHook(str(tmp_path), lambda *_: WatchOptions(None, "add$"))
        with tf.train.MonitoredSession(hooks=[hook]) as monitored:
            monitored.run(add)
            monitored.run(add)
    folders = sorted(glob.glob(str(tmp_path / "run_*")))
    found = [DebugDumpDir(folder).get_tensors("add", 0, "DebugIdentity") for folder in folders]
    assert found == [[1], [2]]


# ---- the conversation


def test_a_person_looks_at_a_run(sess, says) -> None:
    said = says("run", "lt -t MatMul", "pt y:0[0, :]", "run -n")
    wrapped = LocalCLIDebugWrapperSession(sess, ui_type="readline")
    assert wrapped.run("loss:0", FEED) == -np.inf
    text = said()
    assert "run-start: run #1: 1 fetch (loss:0); 1 feed (x:0)" in text
    assert "run-end: run #1" in text
    assert "7 dumped tensor(s):" in text
    assert '1 dumped tensor(s):\nOp type regex filter: "MatMul"' in text
    assert "array([6., 6.], dtype=float32)" in text
    wrapped.run("loss:0", FEED)
    assert said() == ""


def test_it_asks_again_after_a_run_it_did_not_look_at(sess, says) -> None:
    said = says("run -n", "run", "run -n", "run -n")
    wrapped = LocalCLIDebugWrapperSession(sess, ui_type="readline")
    for _ in range(4):
        wrapped.run("loss:0", FEED)
    stops = [line.split(":")[0:2] for line in said().splitlines() if line.startswith("run-")]
    assert stops == [
        ["run-start", " run #1"], ["run-start", " run #2"], ["run-end", " run #2"],
        ["run-start", " run #4"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "answer"),
    [("pt -s y:0", "| 0 + | total |\n| 2 2 |     4 |\n|  min  max mean  std |\n|  0.0  6.0"),
     ("pf -s x", "| 0 + | total |\n| 3 3 |     6 |"),
     ("pt -r [1,inf] y", "Highlighted([1,inf]): 2 of 4 element(s) (50.00%)"),
     ("pt y:0[0, 1]", 'Tensor "y:0:DebugIdentity[0,1]":\n\n6.0\n'),
     ("pt y:0[7]", "ERROR: IndexError"),
     ("pt nope", 'ERROR: Node "nope" does not exist'),
     ("pt y[0", 'ERROR: "y[0" is no name of a tensor'),
     ("pt -n 3 y", "ERROR: Invalid number (3)"),
     ("eval np.sum(`y:0`) + 1", "\n\n13.0\n"),
     ('eval "np.sum(`y:0` > 3)"', "\n\n2\n"),
     ("eval `nope:0`", "ERROR: Node"),
     ("eval 1 / 0", "ERROR: ZeroDivisionError"),
     ("lt -f has_inf_or_nan", '2 dumped tensor(s) passing filter "has_inf_or_nan"'),
     ("lt -f nope", 'ERROR: There is no tensor filter named "nope"'),
     ("lt -z", 'For help, do "help list_tensors"'),
     ("lt -s tensor_name -r", "Tensor name"),
     ("ni -a -d -t y", "transpose_a"),
     ("ni nope", 'ERROR: There is no node named "nope"'),
     ("li -r loss", "|- (1) Log\n|  |- (2) y\n|     |- (3) x"),
     ("li -r -d 1 loss", "|- (1) Log\n|  |- ..."),
     ("lo -r w", "   |- (2) y\n      |- (3) Log\n         |- (4) loss"),
     ("fn", "The first infinity came from operation 'Log' (Log)"),
     ("ls", "test_sessions.py"),
     ("ps nope.py", "ERROR: there is no file nope.py"),
     ("pf x", "array([[1, 2, 3],"),
     ("pf nope", 'ERROR: the feeds have no "nope"'),
     ("run -f nope", 'ERROR: tensor filter "nope" does not exist'),
     ("help pt", "print_tensor, pt"),
     ("help", "list_inputs"),
     ("what", 'ERROR: Invalid command prefix "what"'),
     ("lt >", "ERROR: Redirect file path is empty"),
     ("lt > /no/such/folder/file", "ERROR: FileNotFoundError"),
     ("li loss", "|- (1) Log\n|  |- ..."),
     ("li -t loss", "[Log] Log\n|  |- ...\n|- (1) [Const] Const\n\nLegend:\n"),
     ("li -c -t loss", "  (Ctrl): Control input.\n  [Op]: Input node has op type Op."),
     ("version", "TensorFlow version: 1.15.5"),
     ("config", "Command-line configuration:\n\n  graph_recursion_depth: 20\n  mouse_mode: True"),
     ("config set bogus 1", "ERROR: bogus is not a valid property name."),
     ("config set graph_recursion_depth x", "ERROR: graph_recursion_depth is a number, not x"),
     ("config set mouse_mode maybe", "ERROR: Invalid string value for bool type: maybe"),
     ("pt 'y", "ERROR: ValueError")],
)  # fmt: skip
def test_commands_answer(sess, says, command, answer) -> None:
    said = says("run", command, "run")
    LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)
    assert answer in said()


def test_source_lines_show_what_they_made(sess, says) -> None:
    said = says("run", f"ps {__file__}", "run")
    LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)
    lines = said().splitlines()
    line = next(number for number, text in enumerate(lines) if 'name="loss")' in text)
    assert {text.strip() for text in lines[line + 1 : line + 5]} == {"y", "Log", "Const", "loss"}


def test_answers_go_into_files(sess, says, tmp_path) -> None:
    said = says("run", f"lt > {tmp_path}/out.txt", f"pt y -w {tmp_path}/y.npy", "run")
    LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)
    assert f"Wrote output to {tmp_path}/out.txt" in said()
    assert (tmp_path / "out.txt").read_text().startswith("7 dumped")
    assert np.load(tmp_path / "y.npy").tolist() == [[6, 6], [0, 0]]


def test_it_stops_at_a_later_run(sess, says) -> None:
    said = says("run -t 3", "run")
    wrapped = LocalCLIDebugWrapperSession(sess, ui_type="readline")
    for _ in range(3):
        wrapped.run("loss:0", FEED)
    text = said()
    assert "run-end: run #3" in text
    assert "run-end: run #2" not in text


def test_it_stops_at_the_first_run_that_passes_a_filter(sess, says) -> None:
    said = says("run -f negative", "run")
    wrapped = LocalCLIDebugWrapperSession(sess, ui_type="readline")
    wrapped.add_tensor_filter("negative", lambda datum, value: datum.node_name == "y"
                              and (value < 0).any())  # fmt: skip
    for value in (1, 2, -1):
        wrapped.run("y:0", {"x:0": [[value] * 3]})
    text = said()
    assert "run-end: run #3" in text
    assert "run-end: run #2" not in text
    assert '1 dumped tensor(s) passing filter "negative"' in text


def test_a_run_that_fails_is_shown_and_gives_its_error(sess, says) -> None:
    said = says("run", "run")
    wrapped = LocalCLIDebugWrapperSession(sess, ui_type="readline")
    error = wrapped.run("loss:0", {"x:0": [[1, 2]]})
    assert isinstance(error, tf.errors.InvalidArgumentError)
    text = said()
    assert "An error occurred during the run" in text
    assert "ni -a -d -t y" in text


@pytest.mark.parametrize("typed", [["exit"], []])
def test_leaving_ends_the_program(sess, says, typed) -> None:
    says(*typed)
    with pytest.raises(SystemExit):
        LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)


def test_leaving_after_a_run_ends_the_program_at_the_next(sess, says) -> None:
    says("run", "exit")
    wrapped = LocalCLIDebugWrapperSession(sess, ui_type="readline")
    assert wrapped.run("loss:0", FEED) == -np.inf
    with pytest.raises(SystemExit):
        wrapped.run("loss:0", FEED)


def test_dumps_are_removed_when_they_were_looked_at(sess, says, tmp_path) -> None:
    says("run", "run")
    LocalCLIDebugWrapperSession(sess, str(tmp_path / "dumps"), ui_type="readline").run("y:0", FEED)
    assert not list((tmp_path / "dumps").iterdir())


def test_a_hook_converses_about_monitored_sessions(says) -> None:
    said = says("run", "run")
    with tf.Graph().as_default():
        add = tf.assign_add(tf.train.get_or_create_global_step(), 1, name="add")
        hook = LocalCLIDebugHook("readline")
        hook.add_tensor_filter("any", lambda datum, value: True)
        with tf.train.MonitoredSession(hooks=[hook]) as monitored:
            assert monitored.run(add) == 1
    text = said()
    assert "run-end: run #1: 1 fetch (add:0)" in text
    assert "Tensor filters: has_inf_or_nan, any" in text


def test_unknown_interfaces_are_refused(sess) -> None:
    with pytest.raises(ValueError, match="Invalid ui_type: 'web'"):
        LocalCLIDebugWrapperSession(sess, ui_type="web")


@pytest.mark.parametrize("make", [lambda: TensorBoardDebugWrapperSession(None, "localhost:6064"),
                                  lambda: GrpcDebugHook("localhost:6064")])  # fmt: skip
def test_remote_debuggers_are_refused_by_name(make) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="DebugWrapperSession"):
        make()


# ---- programs


def test_programs_import_the_debugger(tmp_path) -> None:
    program = (
        "import tensorflow as tf\n"
        "from tensorflow.python import debug as tf_debug\n"
        "from tensorflow.python.debug.lib.debug_data import DebugDumpDir, has_inf_or_nan\n"
        "from tensorflow.python.debug.wrappers.hooks import LocalCLIDebugHook\n"
        "assert tf_debug.DebugDumpDir is DebugDumpDir\n"
        "assert tf_debug.LocalCLIDebugHook is LocalCLIDebugHook\n"
        "assert tf.python.debug.has_inf_or_nan is has_inf_or_nan\n"
    )
    subprocess.run([sys.executable, "-m", "stillflow", "-c", program], check=True, cwd=tmp_path)


def test_settings_last_from_program_to_program(sess, says, home) -> None:
    """Keep them like TensorFlow 1.15.5, which reads the same file."""
    said = says("run", "config set graph_recursion_depth 1", "li -r loss", "run")
    LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)
    text = '{"graph_recursion_depth": 1, "mouse_mode": true}'
    assert (home / ".tfdbg_config").read_text() == text
    assert 'Inputs to node "loss" (Depth limit = 1):\n|- (1) Log\n|  |- ...' in said()
    said = says("run", "config show", "run")
    LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)
    assert "graph_recursion_depth: 1" in said()
    for text in ("[1", "[]", '{"graph_recursion_depth": "x"}'):
        (home / ".tfdbg_config").write_text(text)
        said = says("run", "config", "run")
        LocalCLIDebugWrapperSession(sess, ui_type="readline").run("loss:0", FEED)
        assert "graph_recursion_depth: 20" in said()


@pytest.mark.parametrize("command", [
    ["-m", "tensorflow.python.debug.cli.offline_analyzer", "--ui_type=readline"],
    ["offline_analyzer"],
])  # fmt: skip
def test_dumps_are_looked_at_later(sess, tmp_path, command) -> None:
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path / "root"))
    wrapped.run("loss:0", FEED)

    def analyze(folder):
        return subprocess.run(
            [sys.executable, "-m", "stillflow", *command, f"--dump_dir={folder}"],
            input="pt y\nlt -f has_inf_or_nan\nli -r loss\nexit\n",
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    done = analyze(tmp_path / "root")
    assert done.returncode == 0, done.stderr
    for text in (
        "tfdbg offline: FLAGS.dump_dir = ", "7 dumped tensor(s):", "array([[6., 6.],",
        '2 dumped tensor(s) passing filter "has_inf_or_nan"', "|- (1) Log\n|  |- (2) y\n",
    ):  # fmt: skip
        assert text in done.stdout
    wrapped.run("loss:0", FEED)
    several = analyze(tmp_path / "root")
    assert several.returncode == 1
    runs = sorted(glob.glob(str(tmp_path / "root" / "run_*")))
    assert several.stderr.splitlines()[1:] == [f"  --dump_dir {run}" for run in runs]
    assert analyze(runs[1]).returncode == 0
    assert "does not exist" in analyze(tmp_path / "nothing").stderr
    assert "dump_dir flag is empty" in analyze("").stderr
