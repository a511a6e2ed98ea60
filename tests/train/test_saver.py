"""tf.train.Saver, checkpoint management and MetaGraphs, beyond what the goldens compare."""

from __future__ import annotations

import copy
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.train import checkpoint_management


def initialized(*variables: Any) -> Any:
    session = tf.Session()
    session.run(tf.variables_initializer(list(variables) or tf.global_variables()))
    return session


KINDS = [
    tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64,
    tf.bfloat16, tf.uint16, tf.complex128, tf.float16,
]  # fmt: skip


@pytest.mark.parametrize("resource", [False, True])
def test_variables_of_every_type_come_back(tmp_path: Path, resource: bool) -> None:
    numbers = np.arange(6).reshape(2, 3)
    variables = [
        tf.Variable(tf.cast(numbers, kind), name=kind.name, use_resource=resource) for kind in KINDS
    ]
    variables.append(tf.Variable(["a", b"\xff", ""], name="text", use_resource=resource))
    variables.append(tf.Variable([True, False], name="flag", use_resource=resource))
    saver = tf.train.Saver()
    with initialized() as session:
        before = session.run(variables)
        path = saver.save(session, tmp_path / "model")
    with tf.Session() as session:
        saver.restore(session, path)
        for variable, first, second in zip(variables, before, session.run(variables)):
            assert np.array_equal(first, second), variable


def test_large_variables_are_their_own_after_restoring(tmp_path: Path) -> None:
    value = np.random.RandomState(0).rand(700, 700).astype(np.float32)
    variables = [tf.Variable(value + i, name=f"v{i}") for i in range(3)]
    saver = tf.train.Saver()
    with initialized() as session:
        path = saver.save(session, tmp_path / "model")
        session.run([variable.assign(tf.zeros([700, 700])) for variable in variables])
        saver.restore(session, path)
        data = tmp_path / "model.data-00000-of-00001"
        data.write_bytes(b"\0" * data.stat().st_size)  # as a program that overwrites in place
        session.run(variables[1].assign_add(tf.ones([700, 700])))
        found = session.run(variables)
    assert all(np.array_equal(found[i], value + i) for i in (0, 2))
    assert np.array_equal(found[1], value + 1 + 1)


def test_a_damaged_checkpoint_is_refused_by_restore(tmp_path: Path) -> None:
    variable = tf.Variable(np.ones(4, np.float32), name="v")
    saver = tf.train.Saver()
    with initialized() as session:
        path = saver.save(session, tmp_path / "model")
        (tmp_path / "model.data-00000-of-00001").write_bytes(b"\1" * 16)
        with pytest.raises(tf.errors.DataLossError, match="Checksum does not match") as caught:
            saver.restore(session, path)
        assert "model.data-00000-of-00001" in caught.value.message
        assert session.run(variable).tolist() == [1.0] * 4


def test_one_saver_reads_both_formats(tmp_path: Path) -> None:
    variable = tf.Variable([1.0, 2.0], name="v")
    old = tf.train.Saver(write_version=tf.train.SaverDef.V1)
    new = tf.train.Saver()
    with initialized() as session:
        paths = [old.save(session, tmp_path / "old"), new.save(session, tmp_path / "new")]
        for saver in (old, new):
            for path in paths:
                session.run(variable.assign([0.0, 0.0]))
                saver.restore(session, path)
                assert session.run(variable).tolist() == [1.0, 2.0]


def test_parts_are_read_into_other_parts_and_into_the_whole(tmp_path: Path) -> None:
    whole = np.arange(20, dtype=np.float32).reshape(10, 2)
    with tf.Graph().as_default():
        tf.get_variable(
            "v", initializer=tf.constant(whole), partitioner=tf.fixed_size_partitioner(3)
        )
        with initialized() as session:
            path = tf.train.Saver().save(session, tmp_path / "model")
    for parts in (None, 1, 2, 4):
        partitioner = tf.fixed_size_partitioner(parts) if parts else None
        with tf.Graph().as_default(), tf.Session() as session:
            variable = tf.get_variable("v", [10, 2], partitioner=partitioner)
            tf.train.Saver().restore(session, path)
            assert np.array_equal(session.run(tf.convert_to_tensor(variable)), whole)


def test_only_the_last_checkpoints_are_kept_but_for_one_in_some_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    tf.Variable(1.0, name="v")
    saver = tf.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)
    with initialized() as session:
        for step in range(7):
            now[0] += 1500.0
            saver.save(session, tmp_path / "m", global_step=step, write_meta_graph=False)
    kept = sorted(path.name for path in tmp_path.glob("*.index"))
    assert kept == ["m-2.index", "m-4.index", "m-5.index", "m-6.index"]


def test_a_checkpoint_that_is_gone_is_not_the_latest(tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    with initialized() as session:
        path = tf.train.Saver().save(session, tmp_path / "m")
    assert tf.train.latest_checkpoint(tmp_path) == path
    checkpoint_management.delete_checkpoint(path)
    assert tf.train.latest_checkpoint(tmp_path) is None
    (tmp_path / "checkpoint").write_text("no message at all {")
    assert tf.train.get_checkpoint_state(tmp_path) is None
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.get_checkpoint_state(tmp_path)


def test_training_goes_on_from_a_meta_graph(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    weight = tf.get_variable("w", initializer=[[1.0], [2.0]])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weight)), name="loss")
    tf.add_to_collection("train", tf.train.AdamOptimizer(0.1).minimize(loss))
    saver = tf.train.Saver()
    feed = {"x:0": [[1.0, 2.0], [3.0, 4.0]]}
    with initialized() as session:
        session.run("Adam", feed)
        path = saver.save(session, tmp_path / "m")
        session.run("Adam", feed)
        expected = session.run("loss:0", feed)
    with tf.Graph().as_default(), tf.Session() as session:
        again = tf.train.import_meta_graph(str(tmp_path / "m.meta"))
        again.restore(session, path)
        session.run(tf.get_collection("train"), feed)
        assert session.run("loss:0", feed) == expected


@pytest.mark.parametrize(
    "content, what",
    [(b"", "empty"), (b"version https://git-lfs", "git-LFS"), (b"\xff\xfe\xfd", "Cannot parse")],
)
def test_files_that_are_no_meta_graphs_are_refused(
    tmp_path: Path, content: bytes, what: str
) -> None:
    path = tmp_path / "m.meta"
    path.write_bytes(content)
    with pytest.raises(OSError, match=what):
        tf.train.import_meta_graph(str(path))
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "other.meta"))


def test_a_meta_graph_is_read_as_text_too(tmp_path: Path) -> None:
    tf.Variable(1.0, name="v")
    path = str(tmp_path / "m.meta")
    tf.train.Saver().export_meta_graph(path, as_text=True)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(path)
        assert [variable.name for variable in tf.global_variables()] == ["v:0"]


def test_variables_start_from_a_checkpoint(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        with tf.variable_scope("old"):
            tf.get_variable("a", initializer=[1.0, 2.0])
            tf.get_variable("b", initializer=np.arange(6.0, dtype=np.float32))
        with initialized() as session:
            path = tf.train.Saver().save(session, tmp_path / "m")
    with tf.variable_scope("new"):
        a = tf.get_variable("a", [2])
        b = tf.get_variable("b", [6], partitioner=tf.fixed_size_partitioner(2))
    c = tf.get_variable("c", [2], use_resource=True)
    tf.train.init_from_checkpoint(path, {"old/": "new/"})
    tf.train.init_from_checkpoint(str(tmp_path), {"old/a": c})
    with initialized() as session:
        assert session.run(a).tolist() == session.run(c).tolist() == [1.0, 2.0]
        assert session.run(tf.convert_to_tensor(b)).tolist() == list(range(6))
    for mapping, words in (
        ({"old/x": c}, "Tensor old/x is not found in"),
        ({"old/b": c}, "doesn't match with shape of tensor old/b"),
        ({"old": "new/"}, "Assignment map with scope only name new should map to scope only old"),
        ({"other/": "new/"}, "is not found in"),
    ):
        with pytest.raises(ValueError, match=words):
            tf.train.init_from_checkpoint(path, mapping)


# ---- Checkpoints of objects


def model() -> tuple[Any, Any]:
    variable = tf.Variable([1.0, 2.0], use_resource=True)
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(tf.square(variable)))
    root = tf.train.Checkpoint(inner=tf.train.Checkpoint(v=variable), optimizer=optimizer)
    root.train = train
    return root, variable


def test_objects_come_back_with_the_slots_of_their_optimizer(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        root, variable = model()
        session.run(tf.global_variables_initializer())
        session.run(root.train)
        path = root.save(tmp_path / "c", session=session)
        session.run(root.train)
        expected = session.run(variable)
        assert path.endswith("c-1")
    with tf.Graph().as_default(), tf.Session() as session:
        root, variable = model()
        root.restore(path).assert_consumed().run_restore_ops(session)
        session.run(root.train)
        assert np.array_equal(session.run(variable), expected)


def test_checkpoints_of_the_second_kind_use_the_default_session(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(3.0, use_resource=True)
        root = tf.compat.v2.train.Checkpoint(v=variable)
        session.run(tf.global_variables_initializer())
        path = root.save(tmp_path / "c")
        assert path.endswith("c-1") and root.write(tmp_path / "w").endswith("w")
        session.run(variable.assign(5.0))
        root.restore(path).run_restore_ops()
        assert session.run(variable) == 3.0


def test_what_a_checkpoint_lacks_is_told_and_initialized(tmp_path: Path) -> None:
    with tf.Session() as session:
        small = tf.train.Checkpoint(a=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        path = small.save(tmp_path / "c", session=session)
        large = tf.train.Checkpoint(a=tf.Variable(5.0), b=tf.Variable(6.0))
        status = large.restore(path)
        with pytest.raises(AssertionError, match="not bound to checkpointed values"):
            status.assert_existing_objects_matched()
        status.initialize_or_restore(session)
        assert session.run([large.a, large.b]) == [1.0, 6.0]
        empty = tf.train.Checkpoint().restore(path)
        with pytest.raises(AssertionError, match="Unresolved object in checkpoint"):
            empty.assert_consumed()


def test_a_manager_keeps_the_last_checkpoints(tmp_path: Path) -> None:
    with tf.Session() as session, session.as_default():
        root = tf.train.Checkpoint(a=tf.Variable(1.0))
        session.run(tf.global_variables_initializer())
        manager = tf.train.CheckpointManager(root, str(tmp_path), max_to_keep=2)
        paths = [manager.save() for _ in range(4)]
        assert manager.checkpoints == paths[2:]
        assert manager.latest_checkpoint == paths[3]
        assert sorted(p.name for p in tmp_path.glob("*.index")) == ["ckpt-3.index", "ckpt-4.index"]
        again = tf.train.CheckpointManager(root, str(tmp_path), max_to_keep=2)
        assert again.checkpoints == paths[2:]
    assert os.path.basename(tf.train.latest_checkpoint(tmp_path) or "") == "ckpt-4"


def test_checkpoints_may_be_named_in_bytes(tmp_path: Path) -> None:
    tf.Variable([1.0, 2.0], name="v")
    with initialized() as session:
        name = tf.train.Saver().save(session, str(tmp_path / "m")).encode()
    assert tf.train.load_checkpoint(name).get_tensor("v").tolist() == [1.0, 2.0]
    assert tf.train.list_variables(name) == [("v", [2])]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(name + b".meta").restore(session, name)
        assert session.run("v:0").tolist() == [1.0, 2.0]
    with tf.Graph().as_default(), tf.Session() as session:
        begun = tf.get_variable("w", [2])
        tf.train.init_from_checkpoint(name, {"v": "w"})
        session.run(begun.initializer)
        assert session.run(begun).tolist() == [1.0, 2.0]


def test_of_two_threads_the_last_to_begin_is_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tf.Variable(0, name="step")
    saver = tf.train.Saver()
    entered, go_on = threading.Event(), threading.Event()
    write = saver._run_save

    def slow_at_first(*arguments: Any) -> str:
        if not entered.is_set():
            entered.set()
            assert go_on.wait(60)
        return write(*arguments)

    monkeypatch.setattr(saver, "_run_save", slow_at_first)
    with initialized() as session:

        def save() -> None:
            saver.save(session, tmp_path / "model", global_step=step)

        threads = [threading.Thread(target=save) for _ in range(2)]
        threads[0].start()
        assert entered.wait(60)
        session.run(step.assign_add(7))
        threads[1].start()
        threads[1].join(0.2)  # time enough to overtake
        go_on.set()
        for thread in threads:
            thread.join()
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "model-7")
    assert saver.last_checkpoints == [str(tmp_path / f"model-{each}") for each in (0, 7)]


def test_a_saver_that_is_not_built_is_copied() -> None:
    copied = copy.deepcopy(tf.train.Saver(defer_build=True, max_to_keep=3))
    variable = tf.Variable(1.0, name="v")
    copied.build()
    assert copied.saver_def.max_to_keep == 3 and copied._saving is not None
    assert variable.op.name == "v"


def test_paths_of_a_state_may_be_a_tuple(tmp_path: Path) -> None:
    path = str(tmp_path / "model-1")
    state = checkpoint_management.generate_checkpoint_state_proto(str(tmp_path), path, (path,))
    assert list(state.all_model_checkpoint_paths) == [path]
