r"""Windows or macOS as our code and our tests meet them, on the machine that runs the tests.

    make test-platforms

starts each Python with `sitecustomize.py` of this folder. Modules missing on the system cannot be
imported by stillflow and its tests, functions and constants are missing from `os`, `signal`,
`mmap`, `select`, `socket` and `time`, and `sys.platform` and `os.name` have the system's values.
The standard library and other packages still see this machine: they have their own tests. On
"Windows", a file that is open or mapped cannot be replaced or removed, text files get "\r\n" by
default, directories cannot be opened and symbolic links cannot be made. `/proc` is Linux's alone.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import importlib
import os
import sys
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

CHOICES = ("windows", "macos")
_MODULES = {
    "windows": "crypt curses fcntl grp nis posix pty pwd readline resource spwd syslog termios tty",
    "macos": "nis ossaudiodev spwd",
}
_LINUX = {
    "os": "copy_file_range eventfd fdatasync getrandom memfd_create pidfd_open posix_fadvise "
    "posix_fallocate sched_getaffinity sched_setaffinity splice O_DIRECT O_TMPFILE O_LARGEFILE "
    "getxattr setxattr unshare setns",
    "mmap": "MAP_POPULATE MADV_DONTFORK MADV_HUGEPAGE MADV_REMOVE MAP_STACK",
    "select": "epoll EPOLLIN EPOLLOUT",
    "signal": "sigtimedwait sigwaitinfo SIGPWR SIGSTKFLT SIGPOLL SIGRTMIN SIGRTMAX "
    "pidfd_send_signal",
    "socket": "AF_NETLINK AF_PACKET SO_PEERCRED MSG_NOSIGNAL SOCK_CLOEXEC SOCK_NONBLOCK",
    "sys": "",
    "time": "CLOCK_BOOTTIME CLOCK_MONOTONIC_COARSE clock_settime",
}
_POSIX = {
    "os": "WNOHANG chown chroot confstr fchdir fchmod fchown fork forkpty fpathconf fstatvfs "
    "getegid geteuid getgid getgrouplist getgroups getloadavg getpgid getpgrp getpriority "
    "getresuid getsid "
    "getuid initgroups killpg lchown lockf major minor mkfifo mknod nice openpty pathconf pread "
    "preadv pwrite pwritev readv writev posix_spawn register_at_fork sched_yield sendfile setegid "
    "seteuid setgid setpgid setsid setuid statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 "
    "wait4 waitid O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC PRIO_PROCESS",
    "mmap": "MAP_SHARED MAP_PRIVATE MAP_ANON MAP_ANONYMOUS PROT_READ PROT_WRITE PROT_EXEC "
    "MADV_DONTNEED MADV_WILLNEED MADV_SEQUENTIAL PAGESHIFT",
    "select": "poll POLLIN POLLOUT kqueue",
    "signal": "SIGALRM SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 SIGCHLD SIGPIPE SIGSTOP SIGTSTP "
    "SIGCONT alarm getitimer setitimer pause pthread_kill pthread_sigmask sigpending "
    "sigwait siginterrupt "
    "ITIMER_REAL SIG_BLOCK SIG_UNBLOCK SIG_SETMASK",
    "socket": "AF_UNIX socketpair_unix SO_REUSEPORT CMSG_LEN sendmsg recvmsg",
    "sys": "",
    "time": "CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID "
    "clock_gettime clock_getres pthread_getcpuclockid tzset",
}
_SAYS = {
    "windows": {"sys": {"platform": "win32"}, "os": {"name": "nt", "O_BINARY": 0}},
    "macos": {"sys": {"platform": "darwin"}, "os": {}},
}


def is_ours(frame: FrameType | None) -> bool:
    """Return True for code of the package and of its tests, with any caller."""
    return _is_our_name(frame.f_globals.get("__name__")) if frame is not None else False


def _is_our_name(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in ("stillflow", "tests")


def _hidden_names(platform: str, module: str) -> frozenset[str]:
    names = _LINUX[module] + (f" {_POSIX[module]}" if platform == "windows" else "")
    return frozenset(names.split())


def _disguise(module: ModuleType, hidden: frozenset[str], says: dict[str, Any]) -> type:
    """Return a class for a module that shows our code another face."""
    plain = ModuleType.__getattribute__

    class Disguised(ModuleType):
        def __getattribute__(self, name: str) -> Any:
            if name in says and is_ours(sys._getframe(1)):
                return says[name]
            if name in hidden and is_ours(sys._getframe(1)):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return plain(self, name)

    return Disguised


def _open_files() -> set[str]:
    """Return the paths of the files that this process holds open or has mapped."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found.update(line.split(maxsplit=5)[5].strip() for line in maps if line.count("/") > 0)
    return found


def _of_windows() -> dict[tuple[ModuleType, str], Any]:
    """Functions that behave as on Windows when our code calls them."""
    link = os.symlink
    remove, replace, rename, plain_open, os_open = (
        os.remove, os.replace, os.rename, builtins.open, os.open
    )  # fmt: skip

    def require_closed(path: Any) -> None:
        if os.path.realpath(os.fsdecode(path)) in _open_files():
            raise PermissionError(13, "The process cannot access the file", os.fsdecode(path))

    def removed(path: Any, **options: Any) -> None:
        if is_ours(sys._getframe(1)):
            require_closed(path)
        remove(path, **options)

    def replaced(source: Any, target: Any, **options: Any) -> None:
        if is_ours(sys._getframe(1)):
            require_closed(source)
            require_closed(target)
        replace(source, target, **options)

    def renamed(source: Any, target: Any, **options: Any) -> None:
        if is_ours(sys._getframe(1)):
            require_closed(source)
            if os.path.exists(target):
                raise FileExistsError(17, "File exists", os.fsdecode(source))
        rename(source, target, **options)

    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if is_ours(sys._getframe(1)):
            _require_no_proc(file)
            if "b" not in mode and len(rest) < 4 and set(mode) & set("wax"):
                options.setdefault("newline", "\r\n")
        return plain_open(file, mode, *rest, **options)

    def opened_low(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if is_ours(sys._getframe(1)) and os.path.isdir(path):
            raise PermissionError(13, "Permission denied", os.fsdecode(path))
        return os_open(path, flags, *rest, **options)

    def linked(source: Any, target: Any, *rest: Any, **options: Any) -> None:
        if not is_ours(sys._getframe(1)):
            return link(source, target, *rest, **options)
        raise OSError(1314, "A required privilege is not held by the client", os.fsdecode(target))

    return {
        (os, "remove"): removed, (os, "unlink"): removed, (os, "replace"): replaced,
        (os, "rename"): renamed, (os, "open"): opened_low, (builtins, "open"): opened,
        (os, "symlink"): linked,
    }  # fmt: skip


def _of_macos() -> dict[tuple[ModuleType, str], Any]:
    plain_open, listdir = builtins.open, os.listdir

    def opened(file: Any, *rest: Any, **options: Any) -> Any:
        if is_ours(sys._getframe(1)):
            _require_no_proc(file)
        return plain_open(file, *rest, **options)

    def listed(path: Any = ".") -> Any:
        if is_ours(sys._getframe(1)):
            _require_no_proc(path)
        return listdir(path)

    return {(builtins, "open"): opened, (os, "listdir"): listed}


def _require_no_proc(path: Any) -> None:
    if isinstance(path, str) and path.startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", path)


def everywhere(platform: str) -> None:
    """Show our code another system from now on; stillflow must not have been imported before."""
    modules = frozenset(_MODULES[platform].split())
    functions = _of_windows() if platform == "windows" else _of_macos()
    if platform == "windows":  # its kernel is asked for the size of the memory, and does not tell
        kernel = SimpleNamespace(GlobalMemoryStatusEx=lambda status: 0)
        ctypes.windll = SimpleNamespace(kernel32=kernel)  # type: ignore[attr-defined]
    plain_import = builtins.__import__

    def imported(name: str, globals: Any = None, *rest: Any, **options: Any) -> ModuleType:
        if name in modules and _is_our_name((globals or {}).get("__name__")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return plain_import(name, globals, *rest, **options)

    # The import system makes modules of the type that `sys` has, which is about to be another.
    importlib._bootstrap._new_module = ModuleType  # type: ignore[attr-defined]
    for name in _LINUX:
        module = plain_import(name)
        says = _SAYS[platform].get(name, {})
        module.__class__ = _disguise(module, _hidden_names(platform, name), says)
    for (module, name), function in functions.items():
        setattr(module, name, function)
    builtins.__import__ = imported  # type: ignore[assignment]
