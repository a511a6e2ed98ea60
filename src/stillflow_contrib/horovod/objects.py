"""Broadcast and gathering of Python objects, as pickles.

A rank believes what the other ranks of its program send.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.eager_mode import executing_eagerly
from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.operations import allgather, broadcast


def _pickled(obj: Any) -> np.ndarray:
    return np.frombuffer(pickle.dumps(obj), np.uint8)


def _value(tensor: Any, session: Any) -> np.ndarray:
    if executing_eagerly():
        return tensor.numpy()
    return (session or tf.get_default_session()).run(tensor)


def broadcast_object(
    obj: Any, root_rank: int = 0, session: Any = None, name: str | None = None
) -> Any:
    """Return the object of rank `root_rank`, which pickle can hold.

    Args:
      obj: this rank's.
      root_rank: the rank whose object counts.
      session: runs it in a graph; the default session by default.
      name: of the operations; the class of the object by default.
    """
    name = name or type(obj).__name__
    is_root = basics.rank() == root_rank
    data = _pickled(obj) if is_root else np.zeros(0, np.uint8)
    size = broadcast(tf.constant([data.size], tf.int32), root_rank, name + ".sz")
    (count,) = _value(size, session)
    sent = data if is_root else np.zeros(count, np.uint8)
    received = _value(broadcast(tf.constant(sent), root_rank, name + ".t"), session)
    return obj if is_root else pickle.loads(received.tobytes())


def broadcast_object_fn(
    root_rank: int = 0, session: Any = None, name: str | None = None
) -> Callable[[Any], Any]:
    """Return `broadcast_object` as a function that makes its operations once, in a graph."""
    name = name or "broadcast_object_fn"
    size = tf.placeholder(tf.int32, [1], name="bcast_object_size")
    data = tf.placeholder(tf.uint8, [None], name="bcast_object_data")
    sizes, datas = broadcast(size, root_rank, name + ".sz"), broadcast(data, root_rank, name + ".t")
    session = session or tf.get_default_session()

    def send(obj: Any) -> Any:
        is_root = basics.rank() == root_rank
        own = _pickled(obj) if is_root else np.zeros(0, np.uint8)
        (count,) = session.run(sizes, {size: [own.size]})
        received = session.run(datas, {data: own if is_root else np.zeros(count, np.uint8)})
        return obj if is_root else pickle.loads(received.tobytes())

    return send


def allgather_object(obj: Any, session: Any = None, name: str | None = None) -> list[Any]:
    """Return the objects of all ranks, in their order; see `broadcast_object`."""
    name = name or type(obj).__name__
    data = _pickled(obj)
    sizes = _value(allgather(tf.constant([data.size], tf.int32), name=name + ".sz"), session)
    gathered = _value(allgather(tf.constant(data), name=name + ".t"), session)
    parts = np.split(gathered, np.cumsum(sizes)[:-1])
    return [pickle.loads(part.tobytes()) for part in parts]
