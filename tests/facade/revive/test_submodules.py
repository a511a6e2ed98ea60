"""Submodules that programs use because TensorFlow had loaded them."""

from __future__ import annotations


def test_they_are_there_after_the_import_of_their_package(launcher):
    launcher.write(
        "program.py",
        "import multiprocessing, xml.dom, tensorflow as tf\n"
        "print(multiprocessing.pool.ThreadPool(1).map(abs, [-1]))\n"
        "print(xml.dom.minidom.parseString('<a/>').documentElement.tagName)\n"
        "print(hasattr(multiprocessing, 'nothing'), xml.sax.handler.__name__)\n",
    )
    done = launcher.run("program.py")
    assert done.stdout == "[1]\na\nFalse xml.sax.handler\n", done.stderr
    assert "has no attribute 'pool'" in launcher.run("--no-revive", "program.py").stderr
