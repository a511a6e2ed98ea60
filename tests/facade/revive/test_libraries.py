"""Names that NumPy, SciPy, Pillow and Python have removed are there again."""

from __future__ import annotations

import importlib
import sys

import pytest

from stillflow.facade.revive import old_imp, tables
from stillflow.facade.revive.attributes import resolve
from stillflow.facade.revive.old_distutils import dir_util, spawn, util, version

np = pytest.importorskip("numpy")

GONE_BY_VERSION = {"cElementTree"}


@pytest.mark.parametrize(
    "module, name", [(module, name) for module, table in tables.TABLES.items() for name in table]
)
def test_every_entry_of_the_tables_stands_for_something(module, name):
    entry = tables.TABLES[module][name]
    if isinstance(entry, str):
        library = entry.partition(":")[0].partition(".")[0]
        if library == "stillflow":  # which may build on the package itself
            library = module.partition(".")[0]
        if library not in sys.stdlib_module_names:
            pytest.importorskip(library)
    resolve(entry)


def test_numpy_names(launcher):
    out, said = launcher.program("""
        import numpy as np
        print(np.int, np.bool(1), np.zeros(1, np.float).dtype, np.object, np.Inf, np.NINF)
        print(np.asscalar(np.array([3])), np.product([2, 3]), np.mat([[1]]).shape, np.rank([1]))
        print(np.asfarray([1]).dtype, np.in1d([1, 2], [2]), np.float_ is np.float64)
        print(np.cast[np.uint8](3.5), np.sctypes["float"][0].__name__, np.math.pi > 3)
        try:
            np.never_was
        except AttributeError as error:
            print(error)
        """)
    assert out.splitlines() == [
        "<class 'int'> True float64 <class 'object'> inf -inf",
        "3 6 (1, 1) 1",
        "float64 [False  True] True",
        "3 float16 True",
        "module 'numpy' has no attribute 'never_was'",
    ]
    assert said.count("numpy.asscalar was removed; it is Stillflow's here") == 1


def test_standard_library(launcher):
    out, said = launcher.program("""
        import collections, fractions, inspect, itertools, string, sys, time, types, cgi, imp
        from collections import Mapping
        from fractions import gcd
        from distutils.version import LooseVersion
        import xml.etree.cElementTree as ET
        import urllib
        print(issubclass(dict, Mapping), gcd(6, 4), cgi.escape("<"), ET.Element("a").tag)
        print(inspect.getargspec(lambda a, b=1: 0), time.clock() >= 0, sys.maxint == sys.maxsize)
        print(list(itertools.izip([1], [2])), string.letters[0], types.StringType, imp.PY_SOURCE)
        print(LooseVersion("1.10") > LooseVersion("1.9"), urllib.quote(" "))
        """)
    assert out.splitlines() == [
        "True 2 &lt; a",
        "ArgSpec(args=['a', 'b'], varargs=None, keywords=None, defaults=(1,)) True True",
        "[(1, 2)] a <class 'str'> 1",
        "True %20",
    ]
    assert "collections.Mapping was removed; it is collections.abc.Mapping here" in said


def test_packages_that_have_become_files_still_hold_their_old_modules(launcher):
    out, said = launcher.program("""
        from scipy.sparse.linalg.eigen.arpack import eigsh
        print(eigsh.__name__)
        """)
    assert out == "eigsh\n"
    assert "the module scipy.sparse.linalg.eigen.arpack was removed" in said


def test_nothing_comes_back_without_leave(launcher):
    launcher.write("program.py", "import numpy as np; np.int")
    assert "AttributeError" in launcher.run("--no-revive", "program.py").stderr
    launcher.write("program.py", "import collections; collections.Mapping")
    assert "AttributeError" in launcher.run("--no-revive", "program.py").stderr


def test_scipy_names(launcher):
    pytest.importorskip("scipy")
    out, _ = launcher.program("""
        import numpy as np, scipy, scipy.misc, scipy.integrate, scipy.signal
        from scipy.misc import logsumexp, comb
        print(logsumexp([0., 0.]) > .69, comb(4, 2), scipy.integrate.simps([1, 1, 1]))
        print(scipy.zeros(2), scipy.signal.hann(3), scipy.misc.imresize(np.eye(4), .5).shape)
        """)
    assert out.splitlines() == ["True 6.0 2.0", "[0. 0.] [0. 1. 0.] (2, 2)"]


def test_pillow_names(launcher):
    pytest.importorskip("PIL")
    out, _ = launcher.program("""
        from PIL import Image, ImageDraw, ImageFont
        print(Image.ANTIALIAS == Image.LANCZOS)
        draw = ImageDraw.Draw(Image.new("L", (9, 9)))
        print(draw.textsize("a")[0] > 0, ImageFont.load_default().getsize("a")[1] > 0)
        """)
    assert out == "True\nTrue True\n"


def test_numpy_load_reads_objects_and_says_so(launcher):
    out, said = launcher.program("""
        import numpy as np
        np.save("objects.npy", np.array([{"a": 1}], object))
        np.savez("objects.npz", x=np.array([None, 2], object), y=np.arange(2))
        print(np.load("objects.npy")[0]["a"])
        archive = np.load("objects.npz")
        print(archive["y"], archive["x"][1])
        try:
            np.load("objects.npy", allow_pickle=False)
        except ValueError:
            print("refused")
        """)
    assert out == "1\n[0 1] 2\nrefused\n"
    assert said.count("np.load unpickles") == 2


@pytest.mark.parametrize(
    "environment, backend",
    [
        ({"DISPLAY": "", "WAYLAND_DISPLAY": ""}, "Agg"),
        ({"DISPLAY": ":0"}, "None"),
        ({"DISPLAY": "", "WAYLAND_DISPLAY": "", "MPLBACKEND": "svg"}, "svg"),
    ],
)
@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a display")
def test_matplotlib_draws_without_a_display(launcher, environment, backend):
    launcher.write("program.py", "import os; print(os.environ.get('MPLBACKEND'))")
    assert launcher.run("program.py", **environment).stdout == f"{backend}\n"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there is always a display")
def test_without_a_display_nobody_is_waited_for(launcher):
    launcher.write("matplotlib/__init__.py", "")
    launcher.write(
        "matplotlib/backend_bases.py",
        """
        class FigureCanvasBase:
            def start_event_loop(self, timeout=0):
                print("waits", timeout)
        """,
    )
    launcher.write(
        "program.py",
        """
        from matplotlib.backend_bases import FigureCanvasBase
        for timeout in (0, -1, 0.5):
            FigureCanvasBase().start_event_loop(timeout)
        """,
    )
    assert launcher.run("program.py", DISPLAY="", WAYLAND_DISPLAY="").stdout == "waits 0.5\n"


def test_distribution_is_that_of_tensorflow(launcher):
    code = """
        import importlib.metadata as metadata
        print(metadata.version("tensorflow"), metadata.version("TensorFlow_GPU"))
        try:
            metadata.version("tensorflow-nothing")
        except metadata.PackageNotFoundError:
            print("none")
        exec('''try:
            print(metadata.version("tensorflow"))
        except metadata.PackageNotFoundError:
            print("none")''', {"__name__": "transformers", "metadata": metadata})
        """
    out, _ = launcher.program(code)
    assert out == "1.15.5 1.15.5\nnone\nnone\n"


def test_imp_loads_sources(tmp_path):
    (tmp_path / "loaded_by_imp.py").write_text("value = 5")
    file, path, details = old_imp.find_module("loaded_by_imp", [str(tmp_path)])
    with file:
        module = old_imp.load_module("loaded_by_imp", file, path, details)
    assert module.value == 5 and sys.modules.pop("loaded_by_imp") is module
    with pytest.raises(ImportError, match="No module named 'nothing'"):
        old_imp.find_module("nothing", [str(tmp_path)])
    assert old_imp.new_module("m").__name__ == "m"


def test_distutils_versions():
    loose, strict = version.LooseVersion, version.StrictVersion
    assert loose("1.15.5") >= "1.4" and loose("1.15.0rc1") != "1.15.0"
    assert sorted(map(strict, ["1.2", "1.2a1", "1.10", "1.2b1"]), reverse=True)[0] == "1.10"
    assert str(strict("1.2a1")) == "1.2a1" and strict("1.2a1") < "1.2"
    with pytest.raises(ValueError, match="invalid version number"):
        strict("1.x")


def test_distutils_helpers(tmp_path):
    assert [util.strtobool(word) for word in ("Yes", "off")] == [1, 0]
    with pytest.raises(ValueError, match="invalid truth value"):
        util.strtobool("perhaps")
    assert spawn.find_executable("no-such-program-anywhere") is None
    assert dir_util.mkpath(str(tmp_path / "a" / "b")) == [
        str(tmp_path / "a"),
        str(tmp_path / "a" / "b"),
    ]
    (tmp_path / "a" / "file").write_text("x")
    assert dir_util.copy_tree(str(tmp_path / "a"), str(tmp_path / "c")) == [
        str(tmp_path / "c" / "file")
    ]
    dir_util.remove_tree(str(tmp_path / "c"))
    assert not (tmp_path / "c").exists()


def test_cgi_headers():
    cgi = importlib.import_module("stillflow.facade.revive.old_cgi")
    assert cgi.parse_header("text/html; charset=utf-8") == ("text/html", {"charset": "utf-8"})


def test_reshape_takes_the_shape_by_its_old_name(launcher):
    out, said = launcher.program("""\
        import numpy as np
        print(np.reshape(np.arange(4), newshape=(2, 2)).tolist())
        print(np.reshape(a=[1, 2], newshape=[2, 1], order="F").tolist(), np.reshape([1], -1))
        """)
    assert out == "[[0, 1], [2, 3]]\n[[1], [2]] [1]\n"
    assert not said


def test_distributions_and_resources_where_setuptools_has_dropped_them(launcher):
    out, _ = launcher.program("""
        import pkg_resources  # setuptools' own where it is installed
        print(pkg_resources.get_distribution("tensorflow").version)
        import stillflow.facade.revive.old_packages as pkg_resources
        print(pkg_resources.get_distribution("tensorflow>=1.4").version)
        numpy = pkg_resources.get_distribution("numpy")
        print(numpy.parsed_version > pkg_resources.parse_version("1.9"), numpy.key)
        try:
            pkg_resources.require("no-such-thing")
        except pkg_resources.DistributionNotFound as error:
            print(error)
        print(pkg_resources.resource_exists("json.encoder", "decoder.py"), end=" ")
        print(pkg_resources.resource_exists("json", "decoder.py"),
              pkg_resources.resource_isdir("json", "decoder.py"),
              "decoder.py" in pkg_resources.resource_listdir("json", "."),
              b"class" in pkg_resources.resource_string("json", "decoder.py"),
              pkg_resources.resource_filename("json", "decoder.py").endswith("decoder.py"),
              len(list(pkg_resources.iter_entry_points("no group"))))
        """)
    assert out.splitlines() == [
        "1.15.5", "1.15.5", "True numpy",
        "The 'no-such-thing' distribution was not found and is required by the application",
        "True True False True True True 0",
    ]  # fmt: skip


def test_summaries_of_tensorboard(launcher):
    pytest.importorskip("tensorboard")
    out, _ = launcher.program("""
        import tensorflow as tf
        from tensorboard import summary
        from tensorboard.plugins.custom_scalar import layout_pb2
        loss = summary.scalar("loss", tf.constant(0.5), display_name="the loss")
        with tf.Session() as session:
            value = tf.Summary.FromString(session.run(loss)).value[0]
        print(value.tag, value.metadata.display_name, tf.make_ndarray(value.tensor))
        layout = summary.custom_scalar_pb(layout_pb2.Layout())
        print(layout.value[0].tag, summary.scalar_pb("a", 1.0).value[0].tag)
        """)
    assert out.splitlines() == [
        "loss/scalar_summary the loss 0.5",
        "custom_scalars__config__ a/scalar_summary",
    ]


def test_libraries_that_look_after_themselves_are_not_spoken_of(launcher):
    launcher.write(
        "site-packages/guarded.py",
        "try:\n    from itertools import izip, imap\n    import imp\nexcept ImportError:\n"
        "    izip = zip\n",
    )
    out, said = launcher.program("""
        import sys
        sys.path.append("site-packages")
        import guarded
        print(guarded.izip is zip)
        from itertools import izip
        print(izip is zip)
        """)
    assert out == "True\nTrue\n"
    assert said == "stillflow: itertools.izip was removed; it is zip here\n"


def test_the_standard_library_before_python_3_12(launcher):
    out, _ = launcher.program("""
        import ast, asyncio, base64, collections, configparser, importlib, multiprocessing, pkgutil
        import sys, threading, unittest, urllib, io
        import xml.etree.ElementTree as ET
        import imghdr, sre_constants
        hidden = []
        def work(queue):
            queue.put((len(hidden), "\\d" == "x"))
        if __name__ == "__main__":
            hidden.append(1)
            queue = multiprocessing.Queue()
            if sys.platform == "linux":  # elsewhere, processes have long been started anew
                process = multiprocessing.Process(target=lambda: work(queue))
                process.start()
                print(queue.get())
                process.join()
            else:
                print((1, False))
            tree = ast.parse("3 + 'a'").body[0].value
            print(isinstance(tree.left, ast.Num), isinstance(tree.right, ast.Str),
                  isinstance(tree.left, ast.Str), isinstance(ast.Num(4), ast.Num))
            print(threading.current_thread().isAlive(), base64.encodestring(b"ab"))
            sys.setcheckinterval(10)
            print(pkgutil.find_loader("json") is not None, importlib.find_loader("not_there"))
            print(asyncio.get_event_loop() is asyncio.get_event_loop())
            print(isinstance(b"", collections.ByteString), isinstance("", collections.ByteString))
            element = ET.fromstring("<a><b/><c/></a>")
            print(len(element.getchildren()), len(list(element.getiterator("b"))))
            print(imghdr.what(None, b"\\211PNG\\r\\n\\032\\n"), imghdr.what(None, b"123"))
            print(imghdr.what(io.BytesIO(b"P5 2 2 255 ")), imghdr.what(None, b"BM1234"))
            imghdr.tests.append(lambda head, file: "svg" if b"<svg" in head else None)
            print(imghdr.what(None, b"<svg/>"), imghdr.what(None, b"BM<svg"))
            class Test(unittest.TestCase):
                def test(self):
                    self.assertEquals(1, 1)
                    self.assertRaisesRegexp(ValueError, "invalid", int, "x")
                    self.assertItemsEqual([1, 2], [2, 1])
            runner = unittest.TextTestRunner(stream=io.StringIO())
            print(runner.run(unittest.makeSuite(Test)).wasSuccessful())
            with open("there.txt", "w") as file:
                file.write("text")
            import os
            opener = urllib.URLopener()
            opener.addheader("X-Name", "value")
            seen = []
            path, headers = opener.retrieve("file://" + os.path.abspath("there.txt"), "here.txt",
                                            lambda *numbers: seen.append(numbers[0]))
            print(path, open("here.txt").read(), seen)
            parser = configparser.SafeConfigParser()
            parser.readfp(io.StringIO("[a]\\nb = 1"))
            print(parser.get("a", "b"))
        """)
    assert out.splitlines() == [
        "(1, False)", "True True False True", "True b'YWI=\\n'", "True None", "True", "True False",
        "2 1", "png None", "pgm bmp", "svg bmp", "True", "here.txt text [0, 1]", "1",
    ]  # fmt: skip


@pytest.mark.parametrize("escape", [r"'\d'", "x is 'a'", "x is not 1"])
def test_old_habits_are_not_warned_of(launcher, escape):
    launcher.write("program.py", f"import tensorflow as tf\nx = 'a'\nprint(bool({escape}))\n")
    done = launcher.run("program.py", PYTHONWARNINGS="")
    assert done.stderr == ""
    assert done.stdout in ("True\n", "False\n")
