"""Variables of both kinds: values, assignments, changes of rows, and how they are made."""

import pickle

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.variables.ref_variable import RefVariable
from stillflow.variables.resource_variable import ResourceVariable

both_kinds = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


@pytest.fixture
def session():
    with tf.Session() as current:
        yield current


def started(session, *values, **options):
    variables = [tf.Variable(value, **options) for value in values]
    session.run(tf.global_variables_initializer())
    return variables if len(variables) > 1 else variables[0]


@both_kinds
def test_assignments_give_the_value_after_them(session, use_resource):
    v = started(session, 10.0, use_resource=use_resource)
    assert session.run(v.assign(5.0)) == 5.0
    assert session.run(v.assign_add(2.0)) == 7.0
    assert session.run(v.assign_sub(1.0)) == 6.0
    assert session.run(tf.assign_add(v, 1.0)) == 7.0
    assert session.run(v) == 7.0


@both_kinds
def test_an_assignment_can_go_on_in_an_expression(session, use_resource):
    v = started(session, 1.0, use_resource=use_resource)
    assert session.run(v.assign_add(1.0) * 10.0) == 20.0
    assert session.run(v) == 2.0


@both_kinds
def test_without_a_value_to_read_an_assignment_is_an_operation(session, use_resource):
    v = started(session, 1.0, use_resource=use_resource)
    op = v.assign(3.0, read_value=False)
    assert isinstance(op, tf.Operation)
    assert session.run(op) is None
    assert session.run(v) == 3.0


SCATTERS = {
    "scatter_add": [[11.0, 2.0], [3.0, 4.0], [25.0, 26.0]],
    "scatter_sub": [[-9.0, 2.0], [3.0, 4.0], [-15.0, -14.0]],
    "scatter_mul": [[10.0, 2.0], [3.0, 4.0], [100.0, 120.0]],
    "scatter_div": [[0.1, 2.0], [3.0, 4.0], [0.25, 0.3]],
    "scatter_min": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    "scatter_max": [[10.0, 2.0], [3.0, 4.0], [20.0, 20.0]],
    "scatter_update": [[10.0, 2.0], [3.0, 4.0], [20.0, 20.0]],
}


@both_kinds
@pytest.mark.parametrize("method", SCATTERS)
def test_rows_can_be_changed(session, method, use_resource):
    v = started(session, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], use_resource=use_resource)
    identity = {"scatter_mul": 1.0, "scatter_div": 1.0, "scatter_min": 9.0, "scatter_max": 0.0}
    keep = 2.0 if method == "scatter_update" else identity.get(method, 0.0)
    slices = tf.IndexedSlices(
        values=tf.constant([[10.0, keep], [20.0, 20.0]]), indices=tf.constant([0, 2])
    )
    changed = session.run(getattr(v, method)(slices))
    np.testing.assert_allclose(changed, SCATTERS[method], rtol=1e-6)
    np.testing.assert_array_equal(session.run(v), changed)
    with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
        getattr(v, method)(tf.constant([1.0]))


@both_kinds
def test_elements_can_be_changed(session, use_resource):
    v = started(session, [1, 2, 3, 4], use_resource=use_resource)
    assert session.run(v.scatter_nd_add([[1], [3]], [10, 20])).tolist() == [1, 12, 3, 24]
    assert session.run(v.scatter_nd_sub([[1]], [2])).tolist() == [1, 10, 3, 24]
    assert session.run(v.scatter_nd_update([[0]], [7])).tolist() == [7, 10, 3, 24]


@both_kinds
def test_slices_can_be_assigned(session, use_resource):
    v = started(session, [[1, 2, 3], [4, 5, 6]], use_resource=use_resource)
    assert session.run(v[:, 1:].assign([[0, 0], [9, 9]])).tolist() == [[1, 0, 0], [4, 9, 9]]
    assert session.run(v).tolist() == [[1, 0, 0], [4, 9, 9]]


def test_rows_of_a_resource_can_be_read_alone(session):
    v = started(session, [[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    assert session.run(v.sparse_read([1, 1])).tolist() == [[3.0, 4.0], [3.0, 4.0]]
    assert session.run(v.gather_nd([[1, 0]])).tolist() == [3.0]


def test_in_place_operators_are_refused_for_resources_and_plain_for_references():
    v = tf.Variable(1.0, use_resource=True)
    with pytest.raises(RuntimeError, match=r"Variable \+= value not supported"):
        v += 1.0
    with pytest.raises(RuntimeError, match=r"Variable \*\*= value not supported"):
        v **= 2.0
    w = tf.Variable(1.0)
    w += 1.0
    assert isinstance(w, tf.Tensor)


def test_the_kind_is_chosen_by_argument_scope_or_switch():
    assert isinstance(tf.Variable(1.0), RefVariable)
    assert isinstance(tf.Variable(1.0, use_resource=True), ResourceVariable)
    with tf.variable_scope("s", use_resource=True):
        assert isinstance(tf.get_variable("v", []), ResourceVariable)
        assert isinstance(tf.Variable(1.0), ResourceVariable)
    tf.enable_resource_variables()
    try:
        assert tf.resource_variables_enabled()
        assert isinstance(tf.get_variable("w", []), ResourceVariable)
    finally:
        tf.disable_resource_variables()
    assert isinstance(tf.compat.v2.Variable(1.0), ResourceVariable)


def test_initial_values_may_depend_on_other_variables(session):
    a = tf.Variable(tf.random_uniform([]))
    b = tf.Variable(a * 2.0 + a)
    session.run(b.initializer)  # works before `a` has a value
    session.run(tf.global_variables_initializer())
    first, second = session.run([a, b])
    assert second == pytest.approx(3.0 * first)


@both_kinds
def test_values_before_initialization_are_refused(session, use_resource):
    v = tf.Variable(1.0, name="late", use_resource=use_resource)
    assert not session.run(tf.is_variable_initialized(v))
    assert session.run(v.initialized_value()) == 1.0
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        session.run(v)
    assert session.run(tf.report_uninitialized_variables()).tolist() == [b"late"]


@both_kinds
def test_load_sets_a_value_without_new_nodes(session, use_resource):
    v = started(session, [1.0, 2.0], use_resource=use_resource)
    nodes = len(tf.get_default_graph().get_operations())
    v.load([3.0, 4.0], session)
    assert session.run(v).tolist() == [3.0, 4.0]
    assert len(tf.get_default_graph().get_operations()) == nodes


@both_kinds
def test_a_variable_survives_its_message(use_resource):
    v = tf.Variable([1.0], name="v", trainable=False, use_resource=use_resource)
    again = type(v).from_proto(v.to_proto())
    assert (again.name, again.op, again.initializer) == (v.name, v.op, v.initializer)
    assert (again.trainable, again.shape) == (False, v.shape)
    assert v.to_proto(export_scope="elsewhere") is None


@both_kinds
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "initial_value must be specified"),
        ({"initial_value": 1.0, "collections": "variables"}, "must be a list, tuple, or set"),
        ({"initial_value": 1.0, "constraint": 1}, "`constraint` argument must be a callable"),
        ({"initial_value": 1.0, "aggregation": 9}, "Invalid variable aggregation mode: 9"),
        ({"initial_value": 1.0, "synchronization": 9}, "Invalid variable synchronization mode: 9"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, use_resource):
    with pytest.raises(ValueError, match=message):
        tf.Variable(use_resource=use_resource, **arguments)


def test_variables_in_loops_need_functions_for_initial_values():
    with pytest.raises(ValueError, match="from inside a control-flow construct"):
        tf.cond(tf.constant(True), lambda: tf.Variable(tf.zeros([])) + 0.0, lambda: 0.0)


def test_creators_see_and_change_what_is_made():
    seen = []

    def creator(next_creator, **kwargs):
        seen.append(kwargs["name"])
        return next_creator(**{**kwargs, "trainable": False})

    with tf.variable_creator_scope(creator):
        made = [tf.Variable(1.0, name="a"), tf.get_variable("b", [])]
    assert seen == ["a", "b"]
    assert [v.trainable for v in made] == [False, False]


def test_temporary_variables_live_for_one_step(session):
    ref = tf.raw_ops.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    ref = tf.assign_add(tf.assign(ref, [1.0, 2.0]), [3.0, 4.0])
    value = tf.raw_ops.DestroyTemporaryVariable(ref=ref, var_name="t")
    for _ in range(2):
        assert session.run(value).tolist() == [4.0, 6.0]
    wrong = tf.raw_ops.DestroyTemporaryVariable(ref=ref, var_name="other")
    with pytest.raises(tf.errors.NotFoundError):
        session.run(wrong)


def test_variables_of_eager_execution_are_pickled_by_value():
    with ImmediateGraph().as_default():
        v = tf.Variable([1, 2], name="v", trainable=False)
        other = pickle.loads(pickle.dumps(v))
        assert (other.name, other.dtype, other.trainable) == ("v:0", tf.int32, False)
        v.assign_add([1, 1])
        assert other.numpy().tolist() == [1, 2]
    with tf.Graph().as_default():
        kept = tf.Variable(1.0, use_resource=True)
        with pytest.raises(NotImplementedError, match="only available when eager"):
            pickle.dumps(kept)


def test_what_does_not_fit_a_variable_is_refused_in_eager_execution():
    with ImmediateGraph().as_default():
        handle = tf.Variable([1, 2]).handle
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"read .* float got int32"):
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assign .* int32 got float"):
            tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0])
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"indices \(\[2\]\) is not compatible with the shape of updates \(\[3\]\)",
        ):
            tf.raw_ops.ResourceScatterUpdate(resource=handle, indices=[0, 1], updates=[1, 2, 3])


def test_rows_of_a_variable_behind_an_identity_have_a_known_shape():
    with tf.Graph().as_default():
        handle = tf.identity(tf.Variable(tf.zeros([5, 2]), use_resource=True).handle)
        rows = tf.raw_ops.ResourceGather(resource=handle, indices=[1], dtype=tf.float32)
        (grad,) = tf.gradients(rows, handle)
    assert grad.dense_shape.op.type == "Const"


def test_functions_of_eager_execution_make_no_reference_variables():
    with ImmediateGraph().as_default():

        def body():
            made.append(tf.get_variable("v", [2], use_resource=False))
            return made[-1].read_value()

        made: list[object] = []
        assert tf.compat.v1.wrap_function(body, [])().numpy().shape == (2,)
        assert isinstance(made[0], ResourceVariable)
        with pytest.raises(RuntimeError, match="RefVariable not supported when eager"):
            tf.Variable(1.0, use_resource=False)


@both_kinds
def test_arrays_of_variables_hold_objects_in_graphs(use_resource):
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [2], use_resource=use_resource)
        alone, listed = np.array(variable), np.array([variable])
    assert (alone.shape, listed.shape, listed.dtype) == ((), (1,), object)
    assert alone.item() is variable
    assert listed[0] is variable
