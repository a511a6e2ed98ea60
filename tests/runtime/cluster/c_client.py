"""A client in C: TensorFlow 1.15.5's C library, called by way of ctypes, without its Python.

    python c_client.py FOLDER TARGET GRAPH FEED FETCH INIT TRAIN

FOLDER has TensorFlow's shared libraries, GRAPH a `GraphDef`. The program runs INIT, TRAIN three
times, and prints the float of FETCH before and after each, with 2.0 for FEED; then an error.
"""

import ctypes
import json
import os
import struct
import sys

P = ctypes.c_void_p
FLOAT = 1


class Output(ctypes.Structure):
    _fields_ = [("op", P), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", P), ("length", ctypes.c_size_t), ("free", P)]


class Library:
    """The C library; its functions are those without the prefix "TF_"."""

    def __init__(self, folder):
        self._library = ctypes.CDLL(os.path.join(folder, "python/_pywrap_tensorflow_internal.so"))
        self.status = P(self("NewStatus"))

    def __call__(self, name, *arguments):
        function = self._library["TF_" + name]
        function.restype = P
        return function(*arguments)

    def check(self):
        """Raise an error if the last call that has a status failed."""
        code = self("GetCode", self.status)
        if code:
            text = ctypes.string_at(self("Message", self.status)).decode()
            raise RuntimeError("%d %s" % (code, text))


class Client:
    """A session on a server."""

    def __init__(self, folder, target, graph_def):
        self.tf = tf = Library(folder)
        self.graph = P(tf("NewGraph"))
        status = tf.status
        data = ctypes.create_string_buffer(graph_def, len(graph_def))
        buffer = Buffer(ctypes.cast(data, P), len(graph_def), None)
        options = P(tf("NewImportGraphDefOptions"))
        tf("GraphImportGraphDef", self.graph, ctypes.byref(buffer), options, status)
        tf.check()
        options = P(tf("NewSessionOptions"))
        tf("SetTarget", options, target.encode())
        self.session = P(tf("NewSession", self.graph, options, status))
        tf.check()

    def operation(self, name):
        return P(self.tf("GraphOperationByName", self.graph, name.encode()))

    def run(self, feeds, fetches, targets):
        """Return the scalars of `fetches`; feeds are scalars by operation."""
        tf = self.tf
        given = (P * max(1, len(feeds)))()
        for place, number in enumerate(feeds.values()):
            given[place] = tensor = tf("AllocateTensor", FLOAT, None, 0, ctypes.c_size_t(4))
            ctypes.memmove(tf("TensorData", P(tensor)), struct.pack("f", number), 4)
        found = (P * max(1, len(fetches)))()
        ops = (P * max(1, len(targets)))(*[self.operation(name) for name in targets])
        outputs = [
            (Output * max(1, len(names)))(*[Output(self.operation(name), 0) for name in names])
            for names in (feeds, fetches)
        ]
        tf("SessionRun", self.session, None, outputs[0], given, len(feeds), outputs[1], found,
           len(fetches), ops, len(targets), None, tf.status)  # fmt: skip
        tf.check()
        values = [ctypes.string_at(tf("TensorData", P(each)), 4) for each in found[: len(fetches)]]
        return [struct.unpack("f", value)[0] for value in values]

    def close(self):
        self.tf("CloseSession", self.session, self.tf.status)
        self.tf("DeleteSession", self.session, self.tf.status)


def main(folder, target, graph, feed, fetch, init, train):
    with open(graph, "rb") as file:
        client = Client(folder, target, file.read())
    client.run({}, [], [init])
    found = client.run({feed: 2.0}, [fetch], [])
    for _ in range(3):
        found += client.run({feed: 2.0}, [fetch], [train])
    try:
        client.run({}, [fetch], [])
    except RuntimeError as error:
        found.append(str(error))
    client.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
