"""`stillflow check`: which names of TensorFlow a program uses, and which are supported."""

from __future__ import annotations

import ast
import importlib
import json
import os

import pytest

import stillflow
from stillflow.cli.checking import support
from stillflow.cli.checking.refusals import REFUSALS
from stillflow.cli.checking.support import REFUSED, SUPPORTED, UNKNOWN, verdict
from stillflow.cli.checking.uses import uses


@pytest.fixture
def check(launcher):
    """Write a program, check it and return (exit status, {name: entry}, report)."""

    def run(text, name="program.py", *options):
        launcher.write(name, text)
        done = launcher.run("check", name, "--json", *options)
        assert done.stderr == "", done.stderr
        report = json.loads(done.stdout)
        return done.returncode, {entry["name"]: entry for entry in report["names"]}, report

    return run


def statuses(entries):
    return {name: entry["status"] for name, entry in entries.items()}


def test_names_are_followed_through_imports_and_assignments(check):
    status, entries, _ = check(
        """
        import tensorflow as tf
        import tensorflow.contrib.slim as slim
        from tensorflow.contrib import rnn
        from tensorflow.python.framework import ops as o
        layers = tf.contrib.layers

        x = tf.placeholder(tf.float32)
        layers.flatten(x)
        slim.conv2d(x, 3, [1, 1])
        rnn.BasicLSTMCell(3)
        o.get_default_graph()
        """
    )
    assert status == 0
    assert {
        "tf.placeholder", "tf.float32", "tf.contrib.layers.flatten", "tf.contrib.slim.conv2d",
        "tf.contrib.rnn.BasicLSTMCell", "tensorflow.python.framework.ops.get_default_graph",
    } <= set(entries)  # fmt: skip
    assert entries["tf.contrib.layers.flatten"]["places"] == ["program.py:9"]


@pytest.mark.parametrize("name, said, status", [
    ("compat.v2.TensorSpec", "tf.compat.v2.TensorSpec", SUPPORTED),
    ("compat.v2.nn.relu", "tf.compat.v2.nn.relu", SUPPORTED),
    ("compat.v2.keras.layers.Dense", "tf.compat.v2.keras.layers.Dense", SUPPORTED),
    ("compat.v2.placeholder", "tf.compat.v2.placeholder", UNKNOWN),
    ("compat.v2.compat.v1.placeholder", "tf.placeholder", SUPPORTED),
    ("compat.v1.compat.v1.Session", "tf.Session", SUPPORTED),
    ("raw_ops", "tf.raw_ops", SUPPORTED),
    ("raw_ops.AddV2", "tf.raw_ops.AddV2", SUPPORTED),
    ("raw_ops.AddV3", "tf.raw_ops.AddV3", UNKNOWN),
    ("contrib.keras.layers.Dense", "tf.contrib.keras.layers.Dense", SUPPORTED),
])  # fmt: skip
def test_names_of_the_second_generation_and_raw_operations(name, said, status):
    assert verdict(f"tensorflow.{name}") == (said, status)


def test_what_is_missing_is_named_with_its_places(check):
    status, entries, _ = check(
        """
        import tensorflow as tf
        tf.contrib.bigtable.BigtableClient()
        tf.contrib.bigtable.BigtableClient()
        """
    )
    assert status == 1
    entry = entries["tf.contrib.bigtable.BigtableClient"]
    assert entry["status"] == "not supported yet"
    assert entry["places"] == ["program.py:3", "program.py:4"]


def test_packages_of_which_nothing_is_there_are_missing(check):
    status, entries, _ = check(
        """
        from tensorflow.contrib import rpc
        from tensorflow.python.ops import resources, rnn
        import tensorflow.contrib.learn.python.learn
        """
    )
    assert status == 1
    assert statuses(entries) == {
        "tf.contrib.rpc": "not supported yet",
        "tensorflow.python.ops.resources": "supported",
        "tensorflow.python.ops.rnn": "supported",
        "tensorflow.contrib.learn.python.learn": "supported",
    }


@pytest.mark.parametrize("name, text, said", [
    ("p.py", "x = 1\ndef f(:\n", "neither Python 3 nor Python 2 (line 2: invalid syntax)"),
    ("p.py", "\0" * 9, "not text"),
    ("p.ipynb", "{", "not a notebook: Expecting property name"),
    ("p.ipynb", "{}", "not a notebook: KeyError('worksheets')"),
])  # fmt: skip
def test_what_is_no_program_is_told(check, name, text, said):
    status, _, report = check(text, name)
    assert status == 2
    assert report["unreadable"][name].startswith(said)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_are_refused(launcher):
    os.mkfifo(launcher.folder / "pipe")
    for status, said, command in (
        (2, "pipe: neither a file nor a folder", ["check", "pipe"]),
        (1, "a pipe, a socket or a device, and no file", ["inspect", "pipe"]),
        (1, "pipe is a pipe, a socket or a device, and no file", ["convert", "pipe", "out.npz"]),
    ):
        done = launcher.run(*command)
        assert done.returncode == status
        assert said in done.stdout + done.stderr


def test_names_of_other_versions_are_told_apart(check):
    status, entries, _ = check("import tensorflow as tf\ntf.nn.silu(1)\ntf.batch_svd(1)\n")
    assert status == 1
    assert statuses(entries) == dict.fromkeys(
        ("tf.nn.silu", "tf.batch_svd"), "not in TensorFlow 1.15"
    )


def test_names_that_contrib_had_before_are_told_apart(check):
    status, entries, _ = check(
        """
        import tensorflow as tf
        from tensorflow.contrib.data import Iterator
        tf.contrib.framework.get_or_creat_global_step()
        tf.contrib.nccl.all_sum([])
        """
    )
    assert status == 1
    assert statuses(entries) == dict.fromkeys(
        (
            "tf.contrib.data.Iterator",
            "tf.contrib.framework.get_or_creat_global_step",
            "tf.contrib.nccl",
        ),
        "not in TensorFlow 1.15",
    )


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    f = tf.nn.silu\nexcept AttributeError:\n    f = tf.nn.relu\n",
        "if hasattr(tf.nn, 'silu'):\n    f = tf.nn.silu\n",
        "try:\n    from tensorflow import nothing as n\nexcept ImportError:\n    n = None\n",
    ],
)
def test_what_a_program_can_do_without_does_not_count(check, text):
    status, entries, _ = check(f"import tensorflow as tf\n{text}")
    assert status == 0
    assert [entry["optional"] for entry in entries.values() if entry["status"] != "supported"] == [
        True
    ]


def test_compat_v1_and_methods_of_classes_are_supported(check):
    status, entries, _ = check(
        """
        import tensorflow.compat.v1 as tf
        tf.disable_eager_execution()
        tf.train.Saver.restore
        tf.float32.name
        tf.GraphKeys.SUMMARIES
        tf.__version__
        """
    )
    assert status == 0, entries
    assert {"tf.disable_eager_execution", "tf.train.Saver", "tf.GraphKeys"} <= set(entries)


def test_python_2_is_read_with_its_own_lines(check):
    status, entries, _ = check(
        """
        import tensorflow as tf
        print "begin"
        exec "x = 1"
        tf.nn.silu(1)
        """
    )
    assert status == 1
    assert entries["tf.nn.silu"]["places"] == ["program.py:5"]


def test_notebooks_are_read_without_their_magic(check):
    cells = [
        {"cell_type": "markdown", "source": ["import tensorflow as nothing"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf\n"]},
        {"cell_type": "code", "source": "if True:\n    !ls\ntf.Session()"},
    ]
    status, entries, _ = check(json.dumps({"cells": cells}), "book.ipynb")
    assert status == 0
    assert set(entries) == {"tf.Session"}


def test_lines_of_a_notebook_that_go_on_are_no_magic(check):
    code = [
        "print('%d of %d'\n      % (tf.__version__, 1))\n",
        "text = '''\n!\n'''\n",
        "tf.Session() \\\n% 2\n!ls 'it",
    ]
    cells = [
        {"cell_type": "code", "source": "%%time\nimport tensorflow as tf"},
        {"cell_type": "code", "source": "%%bash\nls -l ("},
        {"cell_type": "code", "source": code},
        {"cell_type": "code", "source": "tf.nn.silu"},
    ]
    status, entries, _ = check(json.dumps({"cells": cells}), "book.ipynb")
    assert status == 1
    assert set(entries) == {"tf.Session", "tf.__version__", "tf.nn.silu"}
    assert entries["tf.nn.silu"]["places"] == ["book.ipynb:13"]


def test_folders_are_searched_and_broken_files_reported(launcher):
    launcher.write("code/a.py", "import tensorflow as tf\ntf.Session\n")
    launcher.write("code/sub/b.py", "this is ( no Python\n")
    launcher.write("code/.hidden/c.py", "import tensorflow as tf\ntf.nn.silu\n")
    launcher.write("code/d.ipynb", "{}")
    done = launcher.run("check", "code")
    assert done.returncode == 0
    assert "3 files, 1 name of TensorFlow, 1 supported" in done.stdout
    assert "not read: code/sub/b.py" in done.stdout
    assert "not read: code/d.ipynb: not a notebook" in done.stdout


def test_the_program_is_not_run(launcher):
    launcher.write("program.py", "open('trace', 'w')\nraise SystemExit(5)\n")
    assert launcher.run("check", "program.py").returncode == 0
    assert not (launcher.folder / "trace").exists()


def test_a_file_that_is_not_there_is_an_error_of_usage(launcher):
    done = launcher.run("check", "nowhere.py")
    assert done.returncode == 2
    assert "nowhere.py: no such file or folder" in done.stderr


def test_text_shows_what_is_missing_and_all_on_request(launcher):
    launcher.write("p.py", "import tensorflow as tf\ntf.nn.relu\n" + "tf.nn.silu\n" * 9)
    done = launcher.run("check", "p.py")
    assert "not in TensorFlow 1.15:\n  tf.nn.silu  p.py:3, p.py:4, p.py:5, p.py:6, … (5 more)" in (
        done.stdout
    )
    assert "tf.nn.relu" not in done.stdout
    assert "supported:\n  tf.nn.relu  p.py:2" in launcher.run("check", "p.py", "--all").stdout


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(tf):\n    tf.a\n", []),
        ("f = lambda tf: tf.a", []),
        ("tf = 3\ntf.a", []),
        ("import numpy as tf\ntf.a", []),
        ("for x in tf.a.b: pass", ["tensorflow.a.b"]),
        ("class A(tf.Base):\n    x = tf.b", ["tensorflow.Base", "tensorflow.b"]),
        ("tf.a(tf.b).c", ["tensorflow.a", "tensorflow.b"]),
        ("nn = tf.nn\ndef f():\n    return nn.relu", ["tensorflow.nn", "tensorflow.nn.relu"]),
        ("@tf.deco\ndef f(x=tf.a): pass", ["tensorflow.a", "tensorflow.deco"]),
        ("a, tf = 1, 2\ntf.b", []),
    ],
)
def test_scopes(text, names):
    found = uses(ast.parse(f"import tensorflow as tf\n{text}"))
    assert sorted(use.name for use in found) == names


def test_what_refuses_whenever_it_is_used_is_told(check, launcher):
    text = """
        import tensorflow as tf
        from tensorflow.python import debug as tf_debug
        from tensorflow.python.debug.wrappers import hooks
        tf.contrib.tensorrt.create_inference_graph(None, [])
        hooks.GrpcDebugHook("localhost:6064")
        tf_debug.LocalCLIDebugWrapperSession(None)
    """
    status, entries, _ = check(text)
    assert status == 1
    refused = [name for name, entry in entries.items() if entry["status"] == REFUSED]
    assert refused == [
        "tensorflow.python.debug.wrappers.hooks.GrpcDebugHook",
        "tf.contrib.tensorrt.create_inference_graph",
    ]
    assert "LocalCLIDebugWrapperSession" in entries[refused[0]]["instead"]
    shown = launcher.run("check", "program.py").stdout
    assert "present, but raises an error when it is used:\n" in shown
    assert "  program.py:5\n    instead: the graph as it is" in shown


@pytest.fixture
def served():
    """Stillflow under the name `tensorflow`."""
    stillflow.install(revive=False)
    yield
    stillflow.uninstall()


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_told_to_refuse_is_there_and_refuses(name):
    assert support._found(name.replace("tf.", "tensorflow.", 1)) == (name, support.SUPPORTED)
    module, _, last = name.replace("tf.", "tensorflow.", 1).rpartition(".")
    function = getattr(importlib.import_module(module), last)
    arguments = {
        "load_op_library": [stillflow.__file__],
        "create_inference_graph": [stillflow.GraphDef(), []],
    }.get(last, ["localhost:1"] if last.endswith("Hook") else [stillflow.Session(), "localhost:1"])
    with pytest.raises(stillflow.errors.OpError):
        function(*arguments)


def test_lines_of_python_2_that_python_3_can_read(check, launcher):
    source = """
        import tensorflow as tf
        numbers = map(int, words)
        print(numbers[0])
        for step in range(len(words) / 2):
            pass
        """
    _, _, report = check(source)
    assert report["python2"] == [
        {"place": "program.py:4", "reason": "map() gave a list"},
        {"place": "program.py:5", "reason": "/ gave a whole number"},
    ]
    done = launcher.run("check", "program.py")
    assert "of Python 2, it seems (python -m stillflow --python2):\n  program.py:4" in done.stdout
    _, _, translated = check(source + "        print 'x'\n", "translated.py")
    assert translated["python2"] == []
