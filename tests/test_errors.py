"""The exceptions of tf.errors."""

import pickle
import re

import pytest

import stillflow as tf
from stillflow import errors

CLASSES = [errors.exception_type_from_error_code(code) for code in range(1, 17)]


class Operation:
    """Stand-in for an operation in errors."""

    def __init__(self, name, frames, original=None):
        self.name, self.traceback, self._original_op = name, frames, original


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_code_has_its_class(cls):
    error = cls(None, None, "what happened")
    assert isinstance(error, errors.OpError)
    assert errors.error_code_from_exception_type(cls) == error.error_code
    assert str(error) == error.message == "what happened"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (again.message, again.error_code, again.op) == (error.message, error.error_code, None)


def test_codes():
    assert [cls.__name__ for cls in CLASSES] == [
        "CancelledError",
        "UnknownError",
        "InvalidArgumentError",
        "DeadlineExceededError",
        "NotFoundError",
        "AlreadyExistsError",
        "PermissionDeniedError",
        "ResourceExhaustedError",
        "FailedPreconditionError",
        "AbortedError",
        "OutOfRangeError",
        "UnimplementedError",
        "InternalError",
        "UnavailableError",
        "DataLossError",
        "UnauthenticatedError",
    ]
    assert (errors.OK, errors.OUT_OF_RANGE, errors.UNAUTHENTICATED) == (0, 11, 16)


def test_unknown_codes_and_classes():
    with pytest.raises(KeyError):
        errors.exception_type_from_error_code(77)
    with pytest.warns(UserWarning, match="Unknown error code: 77"):
        error = errors._make_specific_exception(None, None, "m", 77)
    assert (type(error), error.error_code) == (errors.UnknownError, 77)
    with pytest.warns(UserWarning, match="Unknown class exception"):
        assert isinstance(errors.error_code_from_exception_type(int), errors.UnknownError)


def test_errors_show_where_the_program_made_the_operation():
    inside = (errors.__file__, 7, "create", "return op")
    op = Operation("a", [("train.py", 3, "main", "x = tf.foo()"), inside])
    assert str(errors.InvalidArgumentError(None, op, "bad")) == (
        "bad\n\nOriginal stack trace for 'a':\n"
        '  File "train.py", line 3, in main\n    x = tf.foo()\n'
    )


def test_messages_say_where_the_program_made_the_nodes_they_name():
    """Check messages with TensorFlow 1.15's texts, which name a line of TensorFlow's own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        with tf.name_scope("a"):
            op = tf.add(x, x + tf.ones([3]), name="b")
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(op, {x: [1.0, 2.0]})
        first, where = caught.value.message.splitlines()[:2]
        assert first == "Incompatible shapes: [2] vs. [3]"
        assert re.fullmatch(r"\t \[\[node a/add \(defined at .*test_errors\.py:\d+\) \]\]", where)
        again = pickle.loads(pickle.dumps(errors.InternalError(None, None, "{{node a/b}}")))
        assert again.message == "{{node a/b}}"  # which graph is not known
        elsewhere = errors.InternalError(
            None, op.op, "{{function_node f}}{{node gone}} {{ node x}}"
        )
        assert elsewhere.message == "{{node gone}} {{ node x}}"


def test_errors_show_what_an_operation_was_derived_from():
    shared = [("train.py", n, "main", f"step{n}()") for n in range(5)]
    original = Operation("a", [*shared, ("model.py", 1, "build", "a = 1")])
    op = Operation("grad/a", [*shared, ("model.py", 9, "grads", "b = 1")], original)
    text = str(errors.InternalError(None, op, "bad"))
    assert "...which was originally created as op 'a', defined at:" in text
    assert "[elided 3 identical lines from previous traceback]" in text
    assert text.count("step2()") == 1 and text.count("a = 1") == 1


def test_errors_of_operations_without_frames():
    text = str(errors.InternalError(None, Operation("a", []), "bad"))
    assert text == "bad\n\nOriginal stack trace for 'a':\n"


def test_status_context():
    with errors.raise_exception_on_not_ok_status() as status:
        status.set(errors.OK, "")
    with (
        pytest.raises(errors.NotFoundError, match="no such file"),
        errors.raise_exception_on_not_ok_status() as status,
    ):
        status.set(errors.NOT_FOUND, "no such file")


def test_of_a_notebook_the_cell_is_shown():
    shell = "/env/lib/python3.12/site-packages/IPython/core/interactiveshell.py"
    frames = [
        ("/env/ipykernel_launcher.py", 18, "<module>", "app.launch()"),
        (shell, 3700, "run_code", "exec(code_obj, self.user_global_ns)"),
        ("/tmp/ipykernel_7/12.py", 2, "<module>", "x = tf.placeholder(tf.float32)"),
    ]
    text = str(errors.UnknownError(None, Operation("x", frames), "failed"))
    assert text == (
        "failed\n\nOriginal stack trace for 'x':\n"
        '  File "/tmp/ipykernel_7/12.py", line 2, in <module>\n'
        "    x = tf.placeholder(tf.float32)\n"
    )


def test_programs_may_lie_in_folders_called_stillflow():
    import stillflow as tf

    with tf.Graph().as_default():
        lines = "tf.get_variable('w', [2])\n" * 2
        code = compile(lines, "/home/me/stillflow-models/train.py", "exec")
        with pytest.raises(ValueError, match=r"stillflow-models/train\.py") as raised:
            exec(code, {"tf": tf})
    assert 'train.py", line 1' in str(raised.value) and "runpy" not in str(raised.value)
