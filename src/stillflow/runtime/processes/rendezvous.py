"""The rendezvous of a program's processes: torch.distributed's store, and missing ranks."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import threading
from datetime import timedelta
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import torch

from stillflow import errors
from stillflow.runtime.processes.world import World

_FOREVER = timedelta(days=365)  # the coordinator watches over operations that do not end
_stores: dict[World, Any] = {}
_groups = itertools.count()


def meet(world: World, seconds: float) -> Any:
    """Return a store that all processes of a world have come to.

    Raises:
      DeadlineExceededError: if some did not come; it names their ranks.
      UnavailableError: if rank 0 cannot be reached.
    """
    import torch.distributed as dist

    if world not in _stores:
        host, port = world.address
        is_server = world.rank == 0 and not world.hosted
        try:
            _stores[world] = dist.TCPStore(
                host, port, None, is_server, timedelta(seconds=seconds), wait_for_workers=False
            )
        except (dist.DistError, RuntimeError, ValueError) as error:
            verb = "serve" if is_server else "reach"
            raise errors.unavailable(
                f"Rank {world.rank} cannot {verb} {host}:{port}, where {world.size} processes "
                f"meet (MASTER_ADDR, MASTER_PORT): {error}"
            ) from error
    # After a restart of all ranks, torchrun's store still holds what the earlier ones have set.
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore(f"stillflow/{restart}/{next(_groups)}", _stores[world])
    store.set(f"rank/{world.rank}", b"here")
    keys = [f"rank/{rank}" for rank in range(world.size)]
    try:
        store.wait(keys, timedelta(seconds=seconds))
    except (dist.DistError, RuntimeError) as error:
        missing = [rank for rank, key in enumerate(keys) if not store.check([key])]
        raise errors.deadline_exceeded(
            f"Of {world.size} processes rank {', '.join(map(str, missing))} did not come to "
            f"{world.address[0]}:{world.address[1]} within {seconds:g} seconds"
        ) from error
    return store


def join_group(world: World, store: Any) -> tuple[Any, bool]:
    """Return the group of torch.distributed, and whether it moves CUDA's tensors."""
    import torch.distributed as dist

    on_cuda = (
        torch.cuda.is_available()
        and dist.is_nccl_available()
        and torch.cuda.device_count() >= world.local_size
    )
    if on_cuda:
        torch.cuda.set_device(world.local_rank)
    if not dist.is_initialized():
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if on_cuda else "gloo",
            store=store, rank=world.rank, world_size=world.size, timeout=_FOREVER,
        )  # fmt: skip
        return dist.group.WORLD, on_cuda
    return dist.new_group(backend=None, timeout=_FOREVER), on_cuda


def connect(world: World, store: Any, seconds: float) -> tuple[Connection, dict[int, Connection]]:
    """Return this rank's connection to the coordinator; for rank 0 those of all ranks, too."""
    if world.rank:
        store.wait(["coordinator"], timedelta(seconds=seconds))
        host, port, key = store.get("coordinator").decode().split()
        return _call((host, int(port)), key, world.rank), {}
    key = secrets.token_hex(16)
    host = world.address[0] if world.local_size < world.size else "127.0.0.1"
    listener = Listener((_own_address(host), 0), family="AF_INET", authkey=key.encode())
    host, port = listener.address
    store.set("coordinator", f"{host} {port} {key}".encode())
    return _accept(listener, (host, port), key, world.size)


def _accept(
    listener: Listener, address: tuple[str, int], key: str, size: int
) -> tuple[Connection, dict[int, Connection]]:
    own: list[Connection] = []
    caller = threading.Thread(target=lambda: own.append(_call(address, key, 0)))
    caller.start()
    members: dict[int, Connection] = {}
    while len(members) < size:
        try:
            connection = _without_delay(listener.accept())
            members[int(connection.recv_bytes())] = connection
        except (AuthenticationError, EOFError, OSError, ValueError):
            continue  # somebody else, who does not know the key
    caller.join()
    listener.close()
    return own[0], members


def _call(address: tuple[str, int], key: str, rank: int) -> Connection:
    connection = _without_delay(Client(address, family="AF_INET", authkey=key.encode()))
    connection.send_bytes(str(rank).encode())
    return connection


def _without_delay(connection: Any) -> Connection:
    """Have short messages sent at once, and not with the next one."""
    with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _own_address(host: str) -> str:
    """Return the address of this machine by which others know it; never all interfaces."""
    try:
        return socket.gethostbyname(host)
    except OSError as error:
        raise errors.unavailable(f"The address of rank 0, {host}, is unknown: {error}") from error
