"""Python 2 programs run."""

from __future__ import annotations

import pytest

from stillflow.facade.revive import python2, runtime, sources

OLD = """\
# A program of its time.
import cPickle, Queue, urllib2
from StringIO import StringIO
print "hello", 7/2, 7.0/2, -7/2
x, a = 7, [9]
x /= 2
a[0] /= 2
print x, a
for i in xrange(2): print i,
print
d = {'a': 1}
for k, v in d.iteritems(): print k, v
print d.has_key('a'), `d`, 0777, 10L, 1 <> 2
try:
    raise ValueError, "bad"
except ValueError, e:
    print e
def g((p, q)): return p + q
print g((1, 2)), map(len, ["ab"]), sorted([3, 1])
exec "z = 3"
print z, cPickle.loads(cPickle.dumps({'x': u'\\xe9'})) == {'x': u'\\xe9'}
print unicode("x"), StringIO("ab").read(), reduce(lambda a, b: a + b, [1, 2]), cmp(1, 2)
import beside
print beside.half(5)
"""

PRINTED = """\
hello 3 3.5 -4
3 [4]
0 1 
a 1
True {'a': 1} 511 10 True
bad
3 [2] [1, 3]
3 True
x ab 3 -1
2
"""  # noqa: W291 - Python 2's print leaves a blank there


def test_program_and_the_module_beside_it(launcher):
    launcher.write("beside.py", "def half(n):\n    print >>open('log', 'w'), n\n    return n / 2\n")
    out, said = launcher.program(OLD)
    assert out == PRINTED.replace("0 1 \n", "0 1 \n")
    assert said.count("is written in Python 2") == 2
    assert not list(launcher.folder.rglob("*.pyc"))


def test_modules_keep_their_compiled_files_to_python_3(launcher):
    launcher.write("beside.py", "def half(n):\n    return [x for x in xrange(n)]\n")
    launcher.write("program.py", "import beside; print(beside.half(2))")
    for _ in range(2):
        done = launcher.run("program.py", PYTHONDONTWRITEBYTECODE="")
        assert done.stdout == "[0, 1]\n" and "uses xrange" in done.stderr
    plain = launcher.python("program.py")
    assert "NameError: name 'xrange'" in plain.stderr


def test_without_the_old_world_it_is_a_syntax_error(launcher):
    launcher.write("program.py", "print 'hello'\n")
    done = launcher.run("--no-revive", "program.py")
    assert done.returncode == 1 and "SyntaxError" in done.stderr and done.stdout == ""


def test_what_is_neither_is_the_syntax_error_of_python_3(launcher):
    launcher.write("program.py", "def f(:\n    print 'hello'\n")
    plain, ours = launcher.python("program.py"), launcher.run("program.py")
    assert plain.stderr == ours.stderr and ours.returncode == 1


def test_module_run_by_name(launcher):
    launcher.write("package/__init__.py", "")
    launcher.write("package/near.py", "value = 3 / 2\nprint 'near'\n")
    launcher.write("package/tool.py", "import near\nprint near.value, __name__\n")
    done = launcher.run("-m", "package.tool")
    assert done.stdout == "near\n1 __main__\n", done.stderr


def test_a_script_in_a_folder_that_is_a_package_imports_from_it(launcher):
    launcher.write("__init__.py", "")
    launcher.write("beside.py", "import far\nprint 'beside'\n")
    launcher.write("far.py", "print 'far'\n")
    out, _ = launcher.program("print 'begin'\nimport beside\n")
    assert out == "begin\nfar\nbeside\n"


def test_names_that_a_program_provides_itself_stay(launcher):
    out, said = launcher.program("""
        try:
            unicode
        except NameError:
            unicode = "my own"
        try:
            import cPickle as pickle
        except ImportError:
            import pickle
        class Options: pass
        options = Options()
        options.file, options.long = 1, 2
        print(unicode, pickle.__name__, options.file, options.long, next(iter([5])))
        """)
    assert out == "my own pickle 1 2 5\n" and said == ""


def test_names_that_a_program_tries_out_lack(launcher):
    out, said = launcher.program("""
        def native(text):
            try:
                return text.encode("utf-8") if isinstance(text, unicode) else text
            except NameError:  # Python 3
                return text
        try:
            ask = raw_input
        except (AttributeError, NameError):
            ask = None
        print(repr(native("text")), ask, list(xrange(2)))
        """)
    assert out == "'text' None [0, 1]\n" and said.endswith("uses xrange of Python 2\n")


def test_files_in_memory_take_bytes_and_text(launcher):
    out, _ = launcher.program("""
        import StringIO, cStringIO, pickle
        def stored(value):
            io = StringIO.StringIO()
            pickle.dump(value, io)
            io.seek(0)
            return pickle.load(io)
        print stored([1, u'a'])
        mixed = cStringIO.StringIO()
        mixed.write('ab\\n')
        mixed.writelines([b'\\x80', 'c'])
        mixed.seek(0)
        print list(mixed), mixed.tell()
        class Lines(StringIO.StringIO): pass
        with Lines('one\\ntwo\\n') as lines: print next(lines), list(lines), lines.closed
        """)
    assert out == "[1, 'a']\n[b'ab\\n', b'\\x80c'] 5\none\n ['two\\n'] False\n"


def test_pickles_in_files_of_gfile(launcher):
    out, _ = launcher.program("""
        import cPickle, pickle
        import tensorflow as tf
        with tf.gfile.Open('p', 'w') as f: cPickle.dump({'a': '\\xff'}, f)
        with tf.gfile.Open('p', 'r') as f: print pickle.load(f)
        with tf.gfile.Open('t', 'w') as f: f.write('text')
        with tf.gfile.Open('t') as f: print repr(f.read())
        """)
    assert out == "{'a': 'ÿ'}\n'text'\n"


def test_true_division_where_the_program_asks_for_it(launcher):
    future = "from __future__ import (absolute_import,\n  division)\n"
    out, _ = launcher.program(future + "print 1 / 2\n")
    assert out == "0.5\n"


def test_latin_1_and_tabs(launcher):
    out, _ = launcher.program(
        b"def f():\n    if 1:\n\tx = '''a\n\tb'''\n        return x  # caf\xe9\nprint f()\n"
    )
    assert out == "a\n\tb\n"


def test_functions_are_converted_as_they_were_translated(launcher):
    program = (
        "import tensorflow as tf\n"
        "def f(x):\n"
        "    if x > 2:\n"
        "        x = x * (7 / 2)\n"
        "    return x\n"
        "print tf.Session().run(tf.autograph.to_graph(f)(tf.constant(3)))\n"
    )
    assert launcher.program(program)[0] == "9\n"


def test_traceback_shows_the_old_line(launcher):
    launcher.write(
        "program.py",
        "print reduce(max, [1])\n\nprint raw_input\ndef f():\n    return 1 / 0  # here\nf()\n",
    )
    done = launcher.run("program.py")
    assert "line 5, in f\n    return 1 / 0  # here\n" in done.stderr
    assert "ZeroDivisionError" in done.stderr and "runtime.py" not in done.stderr


@pytest.mark.parametrize(
    "source, feature, there",
    [
        ("from __future__ import division", "division", True),
        ("from __future__ import print_function, division # x", "division", True),
        ("from __future__ import print_function\nx = 'division'", "division", False),
        ("# from __future__ import division", "division", False),
    ],
)
def test_future_statements_are_recognised(source, feature, there):
    assert python2.has_future(source, feature) is there


class Tensorlike:
    def __div__(self, other):
        return "div", other

    def __rdiv__(self, other):
        return "rdiv", other

    def __truediv__(self, other):
        return "truediv", other


def test_division_means_what_it_did():
    np = pytest.importorskip("numpy")
    assert [runtime.divide(7, 2), runtime.divide(-7, 2), runtime.divide(7.0, 2)] == [3, -4, 3.5]
    assert runtime.divide(np.arange(4), 2).tolist() == [0, 0, 1, 1]
    assert runtime.divide(np.arange(2.0), 2).tolist() == [0, 0.5]
    assert runtime.divide(1, np.float32(2)) == 0.5
    assert runtime.divide(Tensorlike(), 2) == ("div", 2)
    assert runtime.divide(2, Tensorlike()) == ("rdiv", 2)
    array = np.arange(4)
    assert runtime.divide_into(array, 2) is array and array.tolist() == [0, 0, 1, 1]
    floats = np.arange(2.0)
    assert runtime.divide_into(floats, 2) is floats
    assert runtime.divide_into(7, 2) == 3 and runtime.divide_into(Tensorlike(), 1) == ("div", 1)
    with pytest.raises(ZeroDivisionError):
        runtime.divide(1, 0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # an older NumPy has them still
def test_methods_that_are_gone_fall_back():
    np = pytest.importorskip("numpy")
    assert runtime.call(np.zeros(2, np.uint8), "tostring") == b"\0\0"
    assert runtime.call(np.float32(3), "tostring") == b"\0\0@@"
    array = np.zeros((2, 2))
    runtime.call(array, "itemset", 3, 5.0)
    runtime.call(array, "itemset", (0, 1), 2.0)
    assert array.tolist() == [[0, 2], [0, 5]] and runtime.call(array, "ptp") == 5
    assert list(runtime.call({"a": 1}, "iteritems")) == [("a", 1)]
    assert runtime.call(iter([4]), "next") == 4

    class Owner:
        def next(self, step):
            return step

    assert runtime.call(Owner(), "next", 9) == 9
    with pytest.raises(AttributeError, match="'list' object has no attribute 'has_key'"):
        runtime.call([], "has_key", 1)


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_packages_of_another_environment_are_not_the_programs_own(launcher, folder):
    there = f"other/lib/{folder}"
    launcher.write(f"{there}/packed.py", "def f(): return unicode\n")
    _, said = launcher.program(f"import sys; sys.path.append('{there}'); import packed")
    assert "packed.py" not in said
    assert not sources.own(f"{there}/packed.py") and sources.own("other/lib/packed.py")


def test_text_is_decoded_and_bytes_are_encoded(launcher):
    out, said = launcher.program("""
        class Model:
            def decode(self, *args, **options):
                return "model", args, options

        line = "caf\\xe9"
        print(line.decode("utf-8") == line, b"a".decode("utf8"), b"a".encode("utf-8"),
              "a".encode("ascii"))
        print("616263".decode("hex"), line.decode(encoding="utf-8", errors="ignore") == line)
        print(Model().decode("utf-8"), Model().decode(), Model().decode(x=1))
        try:
            "a".decode()
        except AttributeError:
            print("refused")
        """)
    assert out.splitlines() == [
        "True a b'a' b'a'",
        "b'abc' True",
        "('model', ('utf-8',), {}) ('model', (), {}) ('model', (), {'x': 1})",
        "refused",
    ]
    assert said.count(".decode() was removed; Stillflow replaces it") == 1


ITERATES = """\
class Counter:
    def __init__(self):
        self.n = 0
    def __iter__(self):
        return self
    def next(self):
        self.n += 1
        if self.n > 3:
            raise StopIteration
        return self.n
def parts(d):
    return map(str, Counter()), d.keys()[0], zip("a", "b")[0], 7 / 2, filter(None, [0, 1])
"""
PARTS = "(['1', '2', '3'], 'k', ('a', 'b'), 3, [1])\n"


def test_modules_beside_a_program_of_python_2_are_of_python_2(launcher):
    launcher.write("beside.py", ITERATES)
    out, said = launcher.program("print 'begin'\nimport beside\nprint beside.parts({'k': 0})\n")
    assert out == "begin\n" + PARTS
    assert said.count("is written in Python 2") == 2


def test_sources_that_python_3_reads_too(launcher):
    launcher.write("beside.py", ITERATES)
    launcher.write("program.py", "import beside\nprint(beside.parts({'k': 7 / 2}))\n")
    done = launcher.run("--python2", "program.py")
    assert done.stdout == PARTS, done.stderr
    assert launcher.run("program.py").returncode == 1
    done = launcher.run("--python2", "--no-revive", "program.py")
    assert done.returncode == 2 and "exclude each other" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "print(f'{1 / 2}')",
        "x: float = 1 / 2\nprint(x)",
        "def f(*, x=1): return x / 2\nprint(f())",
        "def f(x) -> float: return x / 2\nprint(f(1))",
        "def f(x: int): return x / 2\nprint(f(1))",
        "import sys\nprint(1 / 2, file=sys.stdout)",
        "from __future__ import division, print_function\nprint(1 / 2)",
    ],
)
def test_sources_of_python_3_stay_what_they_are(launcher, text):
    launcher.write("program.py", text + "\n")
    assert launcher.run("--python2", "program.py").stdout == "0.5\n"
