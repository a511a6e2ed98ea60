"""`to_graph`, `to_code`, and what programs say to conversion."""

from __future__ import annotations

import logging

import pytest

import stillflow as tf
from stillflow.autograph.verbosity import log

ag = tf.contrib.autograph


def test_a_method_becomes_a_function_of_its_object():
    class Scale:
        by = 3

        def f(self, x):
            return x * self.by if x else x

    assert tf.autograph.to_graph(Scale().f)(Scale(), 2) == 6


def test_a_class_becomes_a_class():
    class Scale:
        def __init__(self, by):
            self.by = by

        def f(self, x):
            if x > 0:
                x = x * self.by
            return x

    scale = tf.autograph.to_graph(Scale)(3)
    assert isinstance(scale, Scale)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(scale.f(tf.constant(2))) == 6


def test_what_has_no_source_is_refused():
    with pytest.raises(ag.AutoGraphError, match=r"not available|is not that of"):
        tf.autograph.to_graph(eval("lambda x: x"))
    with pytest.raises(NotImplementedError, match="object conversion is not yet supported"):
        tf.autograph.to_graph(3)


def test_functions_that_are_called_stay_if_asked():
    def inner(x):
        return len(x)

    def f(x):
        return inner(x)

    x = tf.placeholder(tf.int32, [2])
    assert tf.autograph.to_graph(f)(x) == 2
    with pytest.raises(TypeError, match="len is not well defined"):
        tf.autograph.to_graph(f, recursive=False)(x)


def test_code_names_the_options():
    code = ag.to_code(lambda x: not x, False, ag.Feature.LISTS)
    assert "recursive=False" in code and "ag__.Feature.LISTS" in code and "ag__.not_(x)" in code


def test_directives_do_nothing_outside_of_lists():
    def f(n):
        found = []
        ag.set_element_type(found, tf.int32)
        for i in range(n):
            tf.autograph.experimental.set_loop_options(parallel_iterations=2)
            found.append(i)
        return found

    assert tf.autograph.to_graph(f)(3) == [0, 1, 2]


def test_stacking():
    with pytest.raises(ValueError, match="must be stackable"):
        ag.stack([1, 2])
    assert ag.stack([1, 2], strict=False) == [1, 2]
    with tf.Graph().as_default():
        x = tf.constant([1, 2])
        assert ag.stack(x) is x


def test_trace_prints_at_once(capsys):
    tf.autograph.trace(1, "two")
    assert capsys.readouterr().out == "1 two\n"


def test_verbosity(monkeypatch, caplog, capsys):
    monkeypatch.setattr("stillflow.autograph.verbosity._level", None)
    monkeypatch.setattr("stillflow.autograph.verbosity.echo_log_to_stdout", False)
    with caplog.at_level(logging.INFO, "tensorflow"):
        log(1, "silent")
        monkeypatch.setenv("AUTOGRAPH_VERBOSITY", "1")
        log(1, "said %s", "once")
        tf.autograph.set_verbosity(0)
        log(1, "silent")
        tf.autograph.set_verbosity(2, alsologtostdout=True)
        log(2, "said %s", "twice")
    assert [record.getMessage() for record in caplog.records] == ["said once", "said twice"]
    assert capsys.readouterr().out == "said twice\n"


def test_options():
    options = ag.ConversionOptions(recursive=True, user_requested=True)
    assert options.uses(ag.Feature.LISTS) and not options.call_options().user_requested
    assert options == ag.ConversionOptions(True, True) != ag.ConversionOptions(True)
    assert ag.Feature.LISTS not in ag.Feature.all_but(ag.Feature.LISTS)


def test_lines_need_no_map():
    with ag.StackTraceMapper(tf.autograph.to_graph(lambda x: x)) as mapper:
        assert mapper.get_effective_source_map() == {}
