"""Threads of the program are told from those that work for us."""

from __future__ import annotations

import threading

from stillflow.util.threads import is_alone, our_thread


def test_only_threads_of_the_program_count():
    done = threading.Event()
    before = is_alone()
    ours = our_thread(threading.Thread(target=done.wait))
    ours.start()
    assert is_alone() == before
    other = threading.Thread(target=done.wait)
    other.start()
    assert not is_alone()
    done.set()
    ours.join()
    other.join()
    assert is_alone() == before
