"""Numbers of threads for a pipeline's parallel work, as set by a program."""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    invalid,
    scalar,
    unary,
)

thread_pool_handle_op = op("""
    ThreadPoolHandle() -> handle: resource
    num_threads: int
    max_intra_op_parallelism: int = 1
    display_name: string
    container: string = ""
    shared_name: string = ""
    flags: stateful
""")
thread_pool_dataset_op = unary(
    "ThreadPoolDataset", "thread_pool: resource", f"{TYPED}\nflags: stateful"
)
private_thread_pool_dataset_op = unary("PrivateThreadPoolDataset", "num_threads: int64", TYPED)


class ThreadPool:
    """So many threads, for the pipelines that name it."""

    shape = ()

    def __init__(self, threads: int) -> None:
        self.threads = threads


thread_pool_handle_op.shape(lambda node: ())


@thread_pool_handle_op.kernel
def thread_pool_handle_kernel(node: Any) -> Kernel:
    threads = node.num_threads
    if threads <= 0:
        raise invalid("`num_threads` must be greater than zero.")
    return node.handle(node.resource(lambda: ThreadPool(threads), kind="thread pool", private=True))


def _limited(source: Dataset, name: str, threads: int) -> Dataset:
    def make(context: Context, prefix: str) -> Elements:
        return source.iterate(context.limited(threads), prefix)

    return source.like(name, make, source.size)


@thread_pool_dataset_op.kernel
def thread_pool_dataset_kernel(node: Node) -> Kernel:
    return lambda value, pool: _limited(as_dataset(value), "ThreadPool", pool.threads)


@private_thread_pool_dataset_op.kernel
def private_thread_pool_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, number: Any) -> Dataset:
        threads = int(scalar(number))
        if threads < 1:
            raise invalid("`num_threads` must be >= 1")
        return _limited(as_dataset(value), "", threads)

    return run
