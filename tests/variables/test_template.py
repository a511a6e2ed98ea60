"""Templates: functions that make variables once."""

import pytest

import stillflow as tf


def scale(x, start=2.0):
    return x * tf.get_variable("factor", initializer=start)


def test_all_calls_share_variables():
    template = tf.make_template("scaled", scale)
    first, second = template(1.0), template(10.0)
    assert [v.name for v in template.variables] == ["scaled/factor:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([first, second]) == [2.0, 20.0]


def test_templates_of_one_name_share_nothing():
    one, other = tf.make_template("t", scale), tf.make_template("t", scale, start=3.0)
    one(1.0)
    other(1.0)
    assert [v.name for v in one.trainable_variables] == ["t/factor:0"]
    assert [v.name for v in other.trainable_variables] == ["t_1/factor:0"]
    assert other.variable_scope_name == "t_1/"


def test_a_template_made_with_its_scope_keeps_the_place_where_it_was_made():
    with tf.variable_scope("outer"):
        template = tf.make_template("inner", scale, create_scope_now_=True)
    with tf.variable_scope("elsewhere"):
        template(1.0)
    assert template.variables[0].name == "outer/inner/factor:0"


def test_new_trainable_variables_in_later_calls_are_refused():
    template = tf.make_template("t", lambda: tf.Variable(1.0))
    template()
    with pytest.raises(ValueError, match="created when calling a template after the first time"):
        template()


def test_errors_say_where_the_template_was_made():
    def fails():
        raise ValueError("no such luck")

    template = tf.make_template("t", fails)
    with pytest.raises(ValueError, match=r"no such luck\n\noriginally defined at:\n.*test_errors"):
        template()


def test_local_variables_are_listed_apart():
    def build():
        tf.get_variable("g", [], trainable=False)
        return tf.get_local_variable("l", [])

    template = tf.make_template("t", build)
    assert template.variables == []
    template()
    assert [v.name for v in template.global_variables] == ["t/g:0"]
    assert [v.name for v in template.local_variables] == ["t/l:0"]
    assert [v.name for v in template.non_trainable_variables] == ["t/g:0"]


def test_models_take_templates_which_have_variables_alone() -> None:
    with tf.Graph().as_default():
        first, second = (tf.make_template(name, lambda: tf.get_variable("v", [])) for name in "ab")
        model = tf.keras.Model()
        model.template, model.templates = first, [second]
        made = [first(), second()]
        assert all(a is b for a, b in zip(model.variables, made, strict=True))
        assert len(model.trainable_variables) == 2
        for part in (model, model.templates):
            assert (part.layers, part.updates, part.losses) == ([], [], [])
