"""Servers of this process: what sessions of one target share."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.protos import ServerDef


def test_sessions_of_a_server_share_variables_until_they_are_reset():
    server = tf.train.Server.create_local_server()
    assert server.target.startswith("grpc://localhost:")
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        with tf.Session(server.target) as session:
            session.run(v.initializer)
            session.run(v.assign_add(2.0))
        with tf.Session(server.target) as session:
            assert session.run(v) == 3.0
        with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)
        tf.Session.reset(server.target)
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(v)


def test_a_variable_that_is_shared_keeps_its_shape():
    server = tf.train.Server.create_local_server()
    for value in ([1, 2, 3], [4, 5, 6]):
        with tf.Graph().as_default(), tf.Session(server.target) as session:
            session.run(tf.Variable(value, name="w").initializer)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        other = tf.Variable(7, name="w")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"lhs shape= \[3\] rhs shape= \[\]"
        ):
            session.run(other.initializer)


def test_containers_are_reset_one_by_one():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        with tf.container("kept"):
            kept = tf.Variable(1.0)
        with tf.container("gone"):
            gone = tf.Variable(2.0)
        session.run([kept.initializer, gone.initializer])
    tf.Session.reset(server.target, ["gone"])
    with tf.Session(server.target, graph=kept.graph) as session:
        assert session.run(kept) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(gone)


def test_random_streams_belong_to_sessions():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        x = tf.random_uniform([], seed=3)
        with tf.Session(server.target) as one, tf.Session(server.target) as other:
            assert one.run(x) == other.run(x)


@pytest.mark.parametrize("shared_name, second", [("", 1), ("known", 2)])
def test_sessions_of_a_server_share_queues_and_tables_only_by_shared_name(shared_name, second):
    server = tf.train.Server.create_local_server()
    sizes = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session(server.target) as session:
            queue = tf.FIFOQueue(9, tf.int32, shapes=[()], shared_name=shared_name, name="same")
            grads = tf.ConditionalAccumulator(tf.float32, (), shared_name=shared_name, name="too")
            session.run([queue.enqueue(1), grads.apply_grad(1.0)])
            sizes.append(session.run([queue.size(), grads.num_accumulated()]))
    assert sizes == [[1, 1], [second, second]]


def test_iterators_of_other_graphs_are_other_iterators():
    server = tf.train.Server.create_local_server()
    for values in ([1, 2], [b"a", b"b"]):
        with tf.Graph().as_default(), tf.Session(server.target) as session:
            iterator = tf.data.Dataset.from_tensor_slices(values).make_initializable_iterator()
            session.run(iterator.initializer)
            assert session.run(iterator.get_next()) == values[0]


def test_devices_are_named_after_the_task():
    server = tf.train.Server({"worker": {2: "localhost:0"}})
    assert (server.server_def.job_name, server.server_def.task_index) == ("worker", 2)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        with tf.device("/job:worker/task:2/cpu:0"):
            assert session.run(tf.constant(1)) == 1
        names = [device.name for device in session.list_devices()]
        assert names[0] == "/job:worker/replica:0/task:2/device:CPU:0"
        with tf.device("/job:ps"), pytest.raises(tf.errors.InvalidArgumentError, match="job:ps"):
            session.run(tf.constant(1))


def test_the_servers_config_is_that_of_sessions_without_one():
    config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    server = tf.train.Server.create_local_server(config)
    with tf.Graph().as_default():
        tf.constant(1.0)
        graph_def = tf.Session(server.target).graph_def
        assert "_output_shapes" in graph_def.node[0].attr
        own = tf.Session(server.target, config=tf.ConfigProto())
        assert "_output_shapes" not in own.graph_def.node[0].attr


def test_operations_wait_as_long_as_the_servers_config_says():
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    server = tf.train.Server.create_local_server(config=config)
    with tf.Graph().as_default():
        waits = tf.FIFOQueue(1, tf.float32).dequeue()
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(waits)


def test_a_server_serves_once_it_was_started():
    server = tf.train.Server.create_local_server(start=False)
    assert server.target.startswith("grpc://localhost:")
    server.start()
    server.start()  # again: nothing
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(1)) == 1


def test_a_target_is_the_address_of_a_server():
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session("nonsense")
    with pytest.raises(tf.errors.InvalidArgumentError, match='interpret "nowhere" as a host-port'):
        tf.Session("grpc://nowhere")


def test_definitions_are_completed_or_refused():
    cluster = tf.train.ClusterSpec({"a": ["localhost:0"], "b": ["localhost:0"]})
    with pytest.raises(ValueError, match="Must specify an explicit `job_name`"):
        tf.train.Server(cluster)
    with pytest.raises(ValueError, match="Must specify an explicit `task_index`"):
        tf.train.Server({"a": ["localhost:0", "localhost:0"]}, job_name="a")
    with pytest.raises(TypeError, match="Could not convert `server_or_cluster_def`"):
        tf.train.Server(3)
    definition = ServerDef(protocol="grpc", job_name="a", task_index=0)
    definition.cluster.CopyFrom(tf.train.ClusterSpec({"a": ["localhost:0"]}).as_cluster_def())
    assert tf.train.Server(definition).server_def == definition


@pytest.mark.parametrize(
    ("cluster", "job", "task", "error", "match"),
    [
        ({"a": ["localhost"]}, "a", 0, tf.errors.InvalidArgumentError, 'server from "localhost"'),
        ({"a": ["localhost:x"]}, "a", 0, tf.errors.InvalidArgumentError, "Could not parse port"),
        ({"a": ["localhost:0"]}, "b", 0, tf.errors.InternalError, 'Job "b" was not defined'),
        ({"a": ["localhost:0"]}, "a", 3, tf.errors.InvalidArgumentError, 'Task 3 .* in job "a"'),
    ],
)
def test_a_task_has_to_be_in_the_cluster(cluster, job, task, error, match):
    with pytest.raises(error, match=match):
        tf.train.Server(cluster, job_name=job, task_index=task)


def test_device_filters_leave_tasks_out_that_are_not_there():
    server = tf.train.Server({"a": ["localhost:0"], "b": ["far:0"]}, job_name="a", task_index=0)
    config = tf.ConfigProto(device_filters=["/job:a"])
    with tf.Graph().as_default(), tf.Session(server.target, config=config) as session:
        assert session.run(tf.constant(1)) == 1


def _variables_of_tasks():
    with tf.device("/job:ps/task:0"):
        shared = tf.Variable(1.0, name="v")
    with tf.device("/job:worker/task:0"):
        own = tf.get_variable("w", initializer=5.0, use_resource=True)
    return shared, own


def test_tasks_of_a_cluster_keep_the_state_placed_on_them():
    workers, (ps,) = tf.test.create_local_cluster(2, 1)
    with tf.Graph().as_default():
        shared, own = _variables_of_tasks()
        with tf.Session(workers[0].target) as session:
            session.run(tf.global_variables_initializer())
        with tf.Session(workers[1].target) as session:
            assert session.run([shared.assign_add(1.0), own]) == [2.0, 5.0]
    with tf.Graph().as_default(), tf.Session(ps.target) as session:
        assert session.run(tf.Variable(0.0, name="v")) == 2.0  # by its name, on the task itself
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(tf.Variable(0.0, name="w"))


def test_devices_of_a_cluster_begin_with_the_own_task():
    config = tf.ConfigProto(device_count={"CPU": 2})
    workers, _ = tf.test.create_local_cluster(2, 1, worker_config=config)
    with tf.Graph().as_default(), tf.Session(workers[1].target) as session:
        names = [device.name for device in session.list_devices() if "CPU" in device.name]
    tasks = ["worker/replica:0/task:1", "ps/replica:0/task:0", "worker/replica:0/task:0"]
    counts = [2, 1, 2]
    assert names == [
        f"/job:{task}/device:CPU:{i}"
        for task, count in zip(tasks, counts, strict=True)
        for i in range(count)
    ]


def test_a_session_may_bring_its_cluster():
    master, other = (tf.train.Server.create_local_server() for _ in range(2))
    config = tf.ConfigProto()
    job = config.cluster_def.job.add(name="worker")
    job.tasks[0] = master.target[len("grpc://") :]
    job.tasks[1] = other.target[len("grpc://") :]
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            v = tf.Variable(3.0, name="v")
        with tf.Session(master.target, config=config) as session:
            session.run(v.initializer)
            assert session.run(v) == 3.0
        with tf.Session(master.target, config=config) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(v)  # a session's own cluster does not share
        config.cluster_def.job[0].tasks[0] = "localhost:1"
        with tf.Session(master.target, config=config) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Master target"):
                session.run(v)


def test_state_may_be_isolated():
    server = tf.train.Server.create_local_server()
    config = tf.ConfigProto(isolate_session_state=True)
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        with tf.Session(server.target, config=config) as session:
            session.run(v.initializer)
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(v)


def test_a_reset_ends_the_sessions():
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        session = tf.Session(server.target)
        session.run(v.initializer)
        tf.Session.reset(server.target)
        with pytest.raises(tf.errors.AbortedError, match="is not found"):
            session.run(v)
        session.close()


def test_a_port_is_taken_once():
    port = tf.train.Server.create_local_server().target.rpartition(":")[2]
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
        tf.train.Server({"a": [f"localhost:{port}"]})


def test_a_session_creator_has_to_create():
    with pytest.raises(TypeError, match="abstract"):
        tf.train.SessionCreator()
