"""``python -m stillflow program.py`` is plain Python in everything a program can see."""

from __future__ import annotations

import os
import signal

import pytest

FACTS = """
import sys, __main__
print(sys.argv, __name__, __main__ is sys.modules["__main__"], __main__.__dict__ is globals())
print(sys.path[0], __doc__, sorted(n for n in globals() if not n.startswith("__")))
print(globals().get("__file__"), __spec__ and __spec__.name, __package__)
"""


THREAD = """
import atexit, threading
atexit.register(print, "bye")
threading.Timer(.05, lambda: print("thread")).start()
1 / 0
"""


def same_as_plain(launcher, *arguments, stdin=None):
    plain = launcher.python(*arguments, stdin=stdin)
    ours = launcher.run(*arguments, stdin=stdin)
    assert (ours.stdout, ours.stderr, ours.returncode) == (
        plain.stdout,
        plain.stderr,
        plain.returncode,
    )
    return ours


def test_script_sees_what_plain_python_shows(launcher):
    launcher.write("folder/program.py", FACTS)
    done = same_as_plain(launcher, "folder/program.py", "-m", "--help", "a b")
    assert "'folder/program.py', '-m', '--help', 'a b'" in done.stdout


def test_code_and_stdin_see_what_plain_python_shows(launcher):
    same_as_plain(launcher, "-c", FACTS, "one", "-two")
    same_as_plain(launcher, "-", "one", stdin=FACTS)


def test_module_sees_what_plain_python_shows(launcher):
    launcher.write("package/__init__.py", "")
    launcher.write("package/tool.py", FACTS)
    same_as_plain(launcher, "-m", "package.tool", "one")
    same_as_plain(launcher, "-m", "package.nothing")


def test_folder_with_main_is_run(launcher):
    launcher.write("folder/__main__.py", "import sys; print(sys.argv, __name__)")
    same_as_plain(launcher, "folder", "one")


def test_folder_without_main_is_reported_as_python_does(launcher):
    launcher.write("folder/other.py", "")
    assert same_as_plain(launcher, "folder").returncode == 1


def test_missing_script_is_reported_as_python_does(launcher):
    assert same_as_plain(launcher, "nothing.py").returncode == 2


@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit(3)",
        "sys.exit('words')",
        "raise SystemExit",
        "os._exit(4)",
        "1 / 0",
        "raise KeyError('x') from ValueError('y')",
        "assert False, 'no'",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    undefined",
        "def broken(:",
        "x = 'no end",
        "sys.excepthook = lambda *a: print('hook', a[0].__name__)\n1 / 0",
        THREAD,
    ],
)
def test_exit_status_and_traceback_are_those_of_plain_python(launcher, ending):
    launcher.write("program.py", f"import os, sys\nprint('begun')\n{ending}\n")
    same_as_plain(launcher, "program.py")


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    "line",
    [
        "len(map(int, '12'))",
        "{1: 2}.keys()[0]",
        "range(3) + [1]",
        "range(4 / 2)",
        "[1, 2][2 / 2]",
        "np.zeros(4 / 2)",
        "sorted([1], cmp=lambda one, other: 0)",
        "None < 1",
    ],
)
def test_an_error_as_of_python_2_is_told_with_the_remedy(launcher, line):
    path = launcher.write("old.py", f"import numpy as np\n{line}\n")
    done = launcher.run("old.py")
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said == (
        f"stillflow: if {path} was written for Python 2: python -m stillflow --python2 old.py"
    )
    assert "stillflow: if" not in launcher.run("--python2", "old.py").stderr


def test_errors_of_other_kinds_and_of_installed_packages_are_told_without_remedy(launcher):
    launcher.write("a.py", "len(3)\n")
    launcher.write("b.py", "import subprocess\nsubprocess.run(range(3)[:], input=map(int, 'a'))\n")
    for name in ("a.py", "b.py"):
        done = launcher.run(name)
        assert done.returncode == 1 and "stillflow:" not in done.stderr


def test_interrupt_ends_the_process_by_its_signal(launcher):
    launcher.write("program.py", "raise KeyboardInterrupt")
    assert same_as_plain(launcher, "program.py").returncode == -signal.SIGINT


def test_traceback_leaves_out_the_import_hook(launcher):
    launcher.write(
        "program.py",
        """
        import tensorflow as tf
        def build():
            return tf.no_such_function(1)
        build()
        """,
    )
    done = launcher.run("program.py")
    assert done.returncode == 1
    assert done.stderr.count("  File ") == 2 and "stillflow" not in done.stderr
    assert "module 'tensorflow' has no attribute 'no_such_function'" in done.stderr


def test_program_gets_tensorflow(launcher):
    out, said = launcher.program("""
        import tensorflow as tf
        from tensorflow.python.framework import errors
        print(tf.__version__, errors.NotFoundError is tf.errors.NotFoundError)
        """)
    assert out == "1.15.5 True\n" and said == ""


def test_functions_outlive_the_program(launcher):
    out, _ = launcher.program("""
        import atexit, tensorflow
        value = "kept"
        atexit.register(lambda: print(value, tensorflow.__version__))
        """)
    assert out == "kept 1.15.5\n"


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_child_processes_get_tensorflow(launcher, method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("no fork here")
    out, _ = launcher.program(f"""
        import multiprocessing
        def work(x):
            import tensorflow as tf
            return tf.__version__
        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                print(pool.map(work, [1]))
        """)
    assert out == "['1.15.5']\n"


def test_help_version_and_mistakes(launcher):
    shown = launcher.run("--help")
    assert shown.returncode == 0 and "--no-revive" in shown.stdout and "enable" in shown.stdout
    assert "TensorFlow 1.15.5" in launcher.run("--version").stdout
    for wrong in ([], ["--nonsense"], ["-m"], ["-c"], ["enable", "x"], ["disable", "x"]):
        done = launcher.run(*wrong)
        assert done.returncode == 2 and "usage" in done.stderr, wrong


def test_installed_command_does_the_same(launcher):
    launcher.write("program.py", "import sys, tensorflow; print(sys.argv, tensorflow.__version__)")
    start = "import sys; from stillflow.__main__ import main; sys.exit(main())"
    done = launcher.python("-c", start, "program.py", "x")
    assert done.stdout == "['program.py', 'x'] 1.15.5\n", done.stderr


def test_installed_command_starts_beside_files_called_as_modules_of_python_are(launcher):
    launcher.write("types.py", "import tensorflow as tf\n")
    launcher.write("program.py", "import tensorflow as tf; print(tf.Session().run(tf.add(1, 2)))")
    launcher.write("bin/stillflow", "from stillflow.__main__ import main; raise SystemExit(main())")
    done = launcher.python("bin/stillflow", "program.py")
    assert done.stdout == "3\n", done.stderr


def test_a_program_folder_called_tensorflow_is_no_tensorflow(launcher):
    launcher.write("tensorflow/train.py", "")
    done = launcher.run("-c", "import tensorflow; print(tensorflow.__version__)")
    assert (done.stdout, done.stderr) == ("1.15.5\n", "")
