"""Programs written for Python 2, and their modules.

A source that Python 3 rejects is translated by 2to3, and ``/`` keeps its Python 2 meaning in it. So
are the modules that such a program loads afterwards, and all of them after ``python -m stillflow
--python2``: Python 3 may accept them, but ``map()`` and ``d.keys()`` gave lists and ``next`` was a
method.  A source of Python 3 with names that only Python 2 had (``xrange``, ``d.iteritems()``,
``import urllib2``) finds these.  Only a program's own folders are examined: neither the standard
library nor installed packages.  Sources stay unchanged; the code of a repaired module is kept next
to Python's own compiled files (`code_cache`).
"""

from __future__ import annotations

import ast
import builtins
import copy
import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from stillflow.facade import revive
from stillflow.facade.revive import (
    code_cache,
    indexing,
    old_protos,
    py2builtins,
    runtime,
    scalar_sources,
)
from stillflow.facade.revive.code_cache import Repaired
from stillflow.facade.revive.program_files import installed_folders
from stillflow.facade.revive.program_files import own as own
from stillflow.facade.say import say

_HERE = "stillflow.facade.revive."
_RUNTIME = _HERE + "runtime"
_BUILTINS = _HERE + "py2builtins"
# Python 2's modules, and their successors; some of these in sources that 2to3 has translated.
MODULES = {
    "cPickle": _HERE + "py2pickle",
    "Queue": "queue",
    "StringIO": _HERE + "py2stringio",
    "cStringIO": _HERE + "py2stringio",
    "ConfigParser": "configparser",
    "urllib2": _HERE + "py2urllib2",
    "urlparse": "urllib.parse",
    "httplib": "http.client",
    "HTMLParser": "html.parser",
    "SocketServer": "socketserver",
    "BaseHTTPServer": "http.server",
    "SimpleHTTPServer": "http.server",
    "Tkinter": "tkinter",
    "tkMessageBox": "tkinter.messagebox",
    "tkFileDialog": "tkinter.filedialog",
    "commands": "subprocess",
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "thread": "_thread",
    "cookielib": "http.cookiejar",
    "xmlrpclib": "xmlrpc.client",
    "dummy_thread": "_thread",
    "exceptions": "builtins",
    "future_builtins": "builtins",
}
# Code that names one of these may come to numbers of NumPy's.
_NUMBERS = {"numpy", "run", "eval", "evaluate", "train_on_batch", "test_on_batch"}
_TRANSLATED = {"pickle": _HERE + "py2pickle", "io": _HERE + "py2stringio"}

_METHOD_CALL = re.compile(rf"\.\s*(?:{'|'.join(runtime.METHODS)})\s*\(".encode())
_OLD_IMPORT = re.compile(rf"(?:import|from)\s[^\n]*\b(?:{'|'.join(MODULES)})\b".encode())
# Python 3 takes `print >>file, text` for a comparison of a kind.
_PRINT_TO = re.compile(rb"^[ \t]*print[ \t]*>>", re.MULTILINE)


# Set while the program is known to be one of Python 2's; processes that it starts inherit it.
PYTHON2 = "STILLFLOW_PYTHON2"


def activate() -> None:
    """Have a program's own modules loaded by our loader."""
    if _Finder not in sys.meta_path:
        installed_folders()  # sysconfig imports modules to find out, which must not come to us yet
        at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(at, _Finder)


def compiled(source: bytes, path: str, packaged: bool = False) -> CodeType:
    """Compile the source of a program or of one of its modules, of a package if `packaged`.

    SyntaxError if it is neither Python 3 nor, if the old world was brought back, Python 2.
    """
    return _used(repair(source, path, packaged), path)


def repair(source: bytes, path: str, packaged: bool) -> Repaired:
    """Return the code of a program or of one of its modules, and the actions at its load.

    Args and errors are those of `compiled`.
    """
    try:
        code: CodeType = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        if not revive.active():
            raise
        try:
            made = _translated(source, path, packaged)
        except SyntaxError:
            raise error from None
        return made._replace(python2=True)
    if not revive.active():
        return Repaired(code)
    if _PRINT_TO.search(source):
        return _translated(source, path, packaged)._replace(python2=True)
    if _of_python2():
        translated = _translated_too(source, path, packaged)
        if translated is not None:
            return translated
    return _completed(code, source, path)


def _used(repaired: Repaired, path: str) -> CodeType:
    """Report the repairs before the code runs; return the code."""
    global _offered
    if repaired.python2:
        os.environ[PYTHON2] = "1"
    if repaired.offer and not _offered:
        _offered = True
        say(repaired.offer)
    for note in repaired.notes:
        say(note)
    return repaired.code


def _of_python2() -> bool:
    return bool(os.environ.get(PYTHON2))


def _translated_too(source: bytes, path: str, packaged: bool) -> Repaired | None:
    """Translate code that Python 3 accepts as well, unless it is certainly written in Python 3."""
    import ast

    from stillflow.facade.revive import python2

    if python2.is_newer(ast.parse(source, path)):
        return None
    try:
        return _translated(source, path, packaged)
    except SyntaxError:  # a `print()` with options, say
        return None


def _translated(source: bytes, path: str, packaged: bool) -> Repaired:
    import ast

    from stillflow.facade.revive import python2, rewrite

    text = python2.decode(source)
    translation = python2.translate(text, path, packaged)
    tree = ast.parse(translation, path)
    rewrite.move_lines(tree, text, python2.original_lines(text, translation))
    tree = rewrite.Modules({**MODULES, **_TRANSLATED}).visit(rewrite.Methods().visit(tree))
    if not python2.has_future(text, "division"):
        tree = rewrite.Division().visit(tree)
    tree, notes = _indexed(tree, path)
    notes = [*notes, f"{path} is written in Python 2; it is translated as it is loaded"]
    return _with_names(tree, path, notes)


def _completed(code: CodeType, source: bytes, path: str) -> Repaired:
    """Give code that Python 3 accepts the methods, modules and names it misses."""
    if not _suspicious(code):
        return Repaired(code)
    return _completed_tree(ast.parse(source, path), code, source, path)


def completed(tree: ast.Module, source: bytes, path: str) -> CodeType:
    """Compile a tree that was made of a source, repaired as the source would be."""
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return _completed_tree(tree, code, source, path).code if _suspicious(code) else code


def _completed_tree(tree: ast.Module, code: CodeType, source: bytes, path: str) -> Repaired:
    from stillflow.facade.revive import rewrite

    offer = _python2_offer(code, tree, path)
    if not _of_old_days(code):
        return Repaired(_with_numbers(tree, path) or code, offer=offer)
    if _METHOD_CALL.search(source):
        tree = rewrite.Methods().visit(tree)
    if _OLD_IMPORT.search(source):
        tree = rewrite.Modules(MODULES).visit(tree)
    tree, notes = _indexed(tree, path)
    return _with_names(tree, path, notes)._replace(offer=offer)


def _python2_offer(code: CodeType, tree: ast.Module, path: str) -> str:
    """Return the advice for a program that seems to be one of Python 2's; usually none."""
    from stillflow.facade.revive import python2_habits

    if all(python2_habits.SUSPECTS.isdisjoint(part.co_names) for part in _parts(code)):
        return ""
    found = python2_habits.habits(tree)
    if not found:
        return ""
    return (
        f"{path}:{found[0].line}: {found[0].reason} in Python 2; if it was written for that:"
        " python -m stillflow --python2"
    )


def _indexed(tree: ast.Module, path: str) -> tuple[ast.Module, list[str]]:
    """Repair uses of arrays that NumPy does not allow any more; return the notes on it, too."""
    repaired = indexing.rewritten(tree)
    if repaired is None:
        return tree, []
    from stillflow.facade.revive import rewrite

    rewrite.import_first(repaired, {_HERE + "indexing": indexing.HELPERS})
    return repaired, [f"{path} is written for an older NumPy; it is repaired as it is loaded"]


def _with_numbers(tree: ast.Module, path: str) -> CodeType | None:
    """Compile a tree with NumPy's numbers and arrays as they were; None if it has none."""
    from stillflow.facade.revive import number_sources, rewrite, scalar_sources

    values = number_sources.Values(tree)
    tree, wanted = scalar_sources.rewritten(tree, values)
    repaired = number_sources.rewritten(tree, values)
    if repaired is not None:
        tree = repaired
        wanted[_HERE + "promotion"] = number_sources.HELPERS
        wanted["operator"] = {**wanted.get("operator", {}), **number_sources.OPERATORS}
    if not wanted:
        return None
    rewrite.import_first(tree, wanted)
    made: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return made


def _with_names(tree: ast.Module, path: str, notes: list[str]) -> Repaired:
    """Compile a tree, after imports of Python 2's built-in names that it uses."""
    from stillflow.autograph.source import remember
    from stillflow.facade.revive import rewrite

    remember(path, tree)
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    old = sorted(_missing_names(code) - rewrite.names_in_care(tree))
    if old:
        notes = [*notes, f"{path} uses {', '.join(old)} of Python 2"]
    rewrite.import_first(tree, {_BUILTINS: {name: name for name in old}})
    if any(name in rewrite.HELPERS for part in _parts(code) for name in part.co_names):
        rewrite.import_first(tree, {_RUNTIME: rewrite.HELPERS})
    made: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return Repaired(_with_numbers(copy.deepcopy(tree), path) or made, tuple(notes), has_tree=True)


def _suspicious(code: CodeType) -> bool:
    """Return whether code may have to be changed; cheap."""
    return _of_old_days(code) or any(
        not _NUMBERS.isdisjoint(part.co_names) or scalar_sources.suspicious(part)
        for part in _parts(code)
    )


def _of_old_days(code: CodeType) -> bool:
    """Return whether code mentions anything that was Python 2's; cheap, and rarely true."""
    suspects = runtime.METHODS.keys() | MODULES.keys() | set(py2builtins.__all__)
    return any(
        not suspects.isdisjoint(part.co_names) or indexing.suspicious(part) for part in _parts(code)
    )


def _prints(code: CodeType) -> bool:
    """Return whether code mentions ``print``."""
    return any("print" in part.co_names for part in _parts(code))


def _missing_names(code: CodeType) -> set[str]:
    """Return Python 2's built-in names that code uses and never assigns."""
    import dis

    used: set[str] = set()
    assigned: set[str] = set()
    names = set(py2builtins.__all__) - vars(builtins).keys()
    for part in _parts(code):
        if names.isdisjoint(part.co_names):
            continue
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
                used.add(step.argval)
            elif step.opname in ("STORE_NAME", "STORE_GLOBAL"):
                assigned.add(step.argval)
    return (used & names) - assigned


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


class _Loader(SourceFileLoader):
    """Loads a program's own module."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of a module, from the usual cache unless it had to be changed."""
        packaged = "." in fullname or self.is_package(fullname)
        state = (packaged, _of_python2())
        kept = code_cache.read(self, state)
        if kept is not None:
            if kept.has_tree:
                from stillflow.autograph.source import remember_later

                remember_later(self.path, lambda: self._repaired(packaged))
            return _used(kept, self.path)
        try:
            code = super().get_code(fullname)
        except (SyntaxError, ValueError):
            code = None
        if (
            code is not None
            and not _suspicious(code)
            and not _of_python2()
            and not (_prints(code) and _PRINT_TO.search(self.get_data(self.path)))
        ):
            return code
        repaired = self._repaired(packaged)
        code_cache.write(self, state, repaired)
        return _used(repaired, self.path)

    def _repaired(self, packaged: bool) -> Repaired:
        return repair(self.get_data(self.path), self.path, packaged)


class _Finder:
    """Finder that finds modules as Python does, and changes the loader of a program's own."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            path_of_file = spec.loader.path
            if path_of_file.endswith(old_protos.SUFFIX):
                spec.loader = old_protos.Loader(name, path_of_file)
            elif own(path_of_file):
                spec.loader = _Loader(name, path_of_file)
        return spec


_offered = False
