"""Record the calls of a TensorFlow 1.15.5 client to a TensorFlow 1.15.5 server, byte for byte.

Run under the TensorFlow 1.15 interpreter, with grpcio:

    python tests/runtime/cluster/record_rpc.py tests/runtime/cluster/recorded/master.json

A proxy between both writes down requests and answers, program after program. With --worker, it
is between a master and a parameter server:

    python tests/runtime/cluster/record_rpc.py --worker tests/runtime/cluster/recorded/worker.json
"""

import base64
import concurrent.futures
import json
import sys

import grpc
import numpy as np

SERVICE = "/tensorflow.MasterService/"


class Proxy(grpc.GenericRpcHandler):
    """A server that passes all calls on, and keeps them."""

    def __init__(self, address=None):
        self.calls = []
        self._channel = address and grpc.insecure_channel(address)
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(50), [self])
        self.port = self._server.add_insecure_port("localhost:0")
        self._server.start()

    def service(self, details):
        method = details.method

        def call(request, context):
            record = {"method": method.rpartition("/")[2], "request": text(request)}
            self.calls.append(record)
            try:
                answer = self._channel.unary_unary(method)(request, timeout=60)
            except grpc.RpcError as error:
                record.update(code=error.code().value[0], details=error.details())
                context.abort(error.code(), error.details())
            record["answer"] = text(answer)
            return answer

        return grpc.unary_unary_rpc_method_handler(call)

    def pass_to(self, address):
        self._channel = grpc.insecure_channel(address)

    def ask(self, method, request):
        """Send bytes that no client would; the answer is only recorded."""
        channel = grpc.insecure_channel("localhost:%d" % self.port)
        try:
            channel.unary_unary(SERVICE + method)(request, timeout=60)
        except grpc.RpcError:
            pass
        channel.close()


def text(data):
    return base64.b64encode(data).decode()


def attempt(tf, function, *arguments):
    try:
        function(*arguments)
    except tf.errors.OpError as error:
        print(type(error).__name__, error.message[:120])


def values(tf, session):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    words = tf.placeholder(tf.string, [None], name="words")
    session.run([x * 2.0, tf.reduce_sum(x)], {x: [[1, 2], [3, 4]]})
    session.run(x + 1.0, {x: np.zeros([0, 2])})
    session.run(tf.strings.join([words, "!"]), {words: [b"a", b"\0b\0", b"x" * 200]})
    constants = [
        np.int64(-3), np.array([True, False]), np.array([1 + 2j], np.complex64),
        np.float64(0.1), np.uint8([255]), np.int16([[1], [-2]]), np.float16([0.5, 2]),
    ]  # fmt: skip
    session.run([tf.identity(tf.constant(value)) for value in constants])
    session.run({"fed": x, "none": tf.no_op()}, {x: [[5, 6]]})
    session.run(tf.cast([1.5, -2.0], tf.bfloat16))


def adam(tf, session):
    generator = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w1 = tf.get_variable("w1", initializer=tf.constant(generator.randn(4, 8).astype("float32")))
    b1 = tf.get_variable("b1", initializer=tf.zeros([8]), use_resource=True)
    w2 = tf.get_variable("w2", initializer=tf.constant(generator.randn(8, 1).astype("float32")))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) - y))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    session.run(tf.global_variables_initializer())
    for _ in range(6):
        batch = {x: generator.randn(5, 4), y: generator.randn(5, 1)}
        session.run([loss, train, step], batch)
    session.run(tf.get_variable("late", initializer=2.0).initializer)
    session.run([w1, b1, tf.trainable_variables()[-1]])


def flow(tf, session):
    n = tf.placeholder(tf.int32, [], name="n")
    _, powers = tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2.0), [0, 1.0])
    branch = tf.cond(n > 2, lambda: powers + 1.0, lambda: powers - 1.0)
    session.run([powers, branch], {n: 3})
    session.run(tf.gradients(branch, [powers]) + [branch], {n: 1})
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]], name="queue")
    session.run(queue.enqueue_many([[1.0, 2.0]]))
    session.run([queue.dequeue(), queue.size()])
    session.run(tf.map_fn(lambda v: v * v, tf.constant([1.0, 2.0, 3.0])))


def partial(tf, session):
    a = tf.placeholder(tf.float32, [], name="a")
    b = tf.placeholder(tf.float32, [], name="b")
    r1 = a * 2.0
    r2 = r1 + b
    handle = session.partial_run_setup([r1, r2], [a, b])
    session.partial_run(handle, r1, {a: 3.0})
    session.partial_run(handle, r2, {b: 4.0})
    attempt(tf, session.partial_run, handle, r2, {b: 4.0})


def failures(tf, session):
    x = tf.placeholder(tf.float32, [2], name="x")
    attempt(tf, session.run, x)
    attempt(tf, session.run, tf.check_numerics(x / 0.0, "not finite"), {x: [1, 2]})
    attempt(tf, session.run, tf.cholesky(-tf.eye(2), name="chol"))
    attempt(tf, session.run, tf.get_variable("w", [2]))
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]], name="closed")
    session.run(queue.close())
    attempt(tf, session.run, queue.dequeue(name="take"))
    attempt(tf, session.run, x, {x: [1.0, 2.0]}, tf.RunOptions(timeout_in_ms=5000))
    with tf.device("/job:nobody/task:3"):
        attempt(tf, session.run, tf.constant(1.0, name="far"))


def callables(tf, session):
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.get_variable("v", initializer=1.0)
    session.run(v.initializer)
    from tensorflow.core.protobuf import config_pb2  # TensorFlow's, wherever this runs

    options = config_pb2.CallableOptions(
        feed=[x.name], fetch=[(x * v).name], target=[v.assign_add(1.0).op.name]
    )
    call = session._make_callable_from_options(options)
    call(np.float32([1, 2]))
    call(np.float32([3]))
    del call


def devices(tf, session):
    session.list_devices()
    tf.constant(1.0)
    session.list_devices()


def unusual(tf, session, proxy):
    session.run(tf.constant(1.0, name="one"))
    (created,) = [call for call in proxy.calls if call["method"] == "CreateSession"][-1:]
    handle = field(1, base64.b64decode(created["answer"])[2:18])
    proxy.ask("ExtendSession", handle + b"\x12\x00\x18\x07")
    proxy.ask("ExtendSession", handle + b"\x12\x00")
    unknown = field(1, b"0123456789abcdef")
    proxy.ask("ExtendSession", unknown)
    proxy.ask("RunStep", unknown + field(3, b"one:0"))
    proxy.ask("RunStep", field(3, b"one:0"))
    proxy.ask("RunStep", handle + field(3, b"two:0"))
    proxy.ask("RunStep", handle + field(4, b"two"))
    proxy.ask("RunStep", handle + field(3, b"one:1"))
    proxy.ask("RunStep", handle + field(2, field(1, b"two:0")) + field(3, b"one:0"))
    proxy.ask("RunStep", handle)
    proxy.ask("RunStep", handle + field(3, b"one:0") + field(3, b"one:0"))
    proxy.ask("RunStep", handle + field(6, b"nothing") + field(3, b"one:0"))
    proxy.ask("PartialRunSetup", unknown)
    proxy.ask("PartialRunSetup", handle)
    proxy.ask("RunCallable", handle + b"\x10\x07")
    proxy.ask("ReleaseCallable", handle + b"\x10\x07")
    proxy.ask("MakeCallable", unknown)
    proxy.ask("ListDevices", unknown)
    proxy.ask("ListDevices", b"")
    node = field(1, b"one") + field(2, b"NoOp")
    version = b"\x18\x01"
    proxy.ask("ExtendSession", handle + field(2, field(1, node)) + version)
    node = field(1, b"two") + field(2, b"Unheard")
    proxy.ask("ExtendSession", handle + field(2, field(1, node)) + version)
    node = field(1, b"two") + field(2, b"NoOp") + field(3, b"^missing")
    proxy.ask("ExtendSession", handle + field(2, field(1, node)) + version)
    proxy.ask("CloseSession", unknown)
    proxy.ask("CloseSession", handle)
    proxy.ask("RunStep", handle + field(3, b"one:0"))
    proxy.ask("Reset", b"")


def parts(tf, target):
    """Run steps of which a parameter server does a part that asks for no value of another task."""
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        r = tf.get_variable("r", initializer=3.0, use_resource=True)
        add = v.assign_add([0.5, 0.5])
        x = tf.placeholder(tf.float32, [2], name="x")
        scaled = x * r
        words = tf.strings.join([tf.as_string(r), "!"])
        bad = tf.check_numerics(x / 0.0, "not finite", name="bad")
        branch = tf.cond(r > 5.0, lambda: r + 1.0, lambda: r.assign_add(10.0) + 0.0)
    with tf.device("/job:worker/task:0"):
        y = v * 2.0
        either = branch * 2.0
        text = tf.strings.length(words)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(y)
        session.run([add, scaled], {x: [1.0, 2.0]})
        session.run([text, words])
        session.run([either])
        session.run([either, y])
        attempt(tf, session.run, bad, {x: [1.0, 2.0]})


def record_parts():
    import tensorflow as tf

    proxy = Proxy()
    ports = [free_port(), free_port()]
    there = {"ps": ["localhost:%d" % ports[0]], "worker": ["localhost:%d" % ports[1]]}
    servers = [tf.train.Server(there, "ps", 0)]
    proxy.pass_to(there["ps"][0])
    seen = {"ps": ["localhost:%d" % proxy.port], "worker": there["worker"]}
    servers.append(tf.train.Server(seen, "worker", 0))
    parts(tf, servers[1].target)
    return {"parts": proxy.calls}


def free_port():
    import socket

    bound = socket.socket()
    bound.bind(("localhost", 0))
    port = bound.getsockname()[1]
    bound.close()
    return port


def field(number, data):
    return bytes(bytearray([number << 3 | 2, len(data)])) + data


def record_programs():
    import tensorflow as tf

    server = tf.train.Server.create_local_server()
    found = {}
    for program in (values, adam, flow, partial, failures, callables, devices, unusual):
        proxy = Proxy(server.target[len("grpc://") :])
        tf.reset_default_graph()
        session = tf.Session("grpc://localhost:%d" % proxy.port)
        program(tf, session, *([proxy] if program is unusual else []))
        try:
            session.close()
        except tf.errors.OpError as error:
            print(error.message)
        found[program.__name__] = proxy.calls
    return found


def main(*arguments):
    found = record_parts() if arguments[0] == "--worker" else record_programs()
    path = arguments[-1]
    with open(path, "w") as out:
        json.dump(found, out, indent=0, sort_keys=True)
        out.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
