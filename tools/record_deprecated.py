"""Generator of src/stillflow/deprecated.txt: what TensorFlow 1.15 says of names that it deprecated.

Run by a Python that has TensorFlow 1.15 (it runs on Python 3.7), from the top of the repository:

    python -W ignore tools/record_deprecated.py src/stillflow/deprecated.txt

A line per notice, its fields separated by tabs: public names ("nn.softmax", or "data.Iterator" for
a member of the class), the arguments that it is about as JSON (null for all calls, a list of names
or of pairs of a name and a fine value, an object of values), TensorFlow's name and module, the date
or "", and the instructions. Notices of one name stand in the order in which they are decorators.
"""

from __future__ import annotations

import importlib.machinery
import inspect
import json
import runpy
import sys
import types

KINDS = {"deprecated", "deprecated_args", "deprecated_arg_values"}
DEPRECATION = ("tensorflow_core.python.util.deprecation", "tensorflow.python.util.deprecation")
NOTICES: dict = {}  # id of a decorated function: the function, and its notice


class Finder:
    """Finder of TensorFlow's module of decorators, which has them remember what they decorate."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        """Answer for that module alone."""
        if name not in DEPRECATION:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            for kind in KINDS:
                setattr(module, kind, recording(getattr(module, kind)))

        spec.loader.exec_module = exec_module
        return spec


def recording(decorator: object) -> object:
    """Return a decorator whose functions are known in NOTICES."""

    def outer(*args: object, **kwargs: object) -> object:
        decorate = decorator(*args, **kwargs)
        given = inspect.signature(decorator).bind(*args, **kwargs).arguments
        about = given.get("deprecated_arg_names_or_tuples") or given.get("deprecated_kwargs")

        def inner(function: object) -> object:
            from tensorflow.python.util.decorator_utils import get_qualified_name

            made = decorate(function)
            names = (get_qualified_name(function), function.__module__)
            text = given["instructions"].replace("\n", "\\n")
            row = (json.dumps(about), *names, given["date"] or "", text)
            NOTICES[id(made)] = (made, row)
            return made

        return inner

    return outer


def notices(value: object) -> list:
    """Return the notices of a function's decorators, the outermost first."""
    found = []
    while value is not None:
        if id(value) in NOTICES:
            found.append(NOTICES[id(value)][1])
        inside = vars(value) if hasattr(value, "__dict__") else {}
        decorator = inside.get("_tf_decorator")
        value = decorator.decorated_target if decorator else inside.get("__wrapped__")
    return found


def members(kind: type, public: set) -> list:
    """Return the notices of a class's methods and properties, less those of its public bases."""
    found = []
    own: dict = {}
    for base in kind.__mro__:
        if base is not kind and base in public:
            break
        own.update((name, value) for name, value in vars(base).items() if name not in own)
    for value in own.values():
        for part in (value, getattr(value, "fget", None), getattr(value, "__func__", None)):
            rows = [] if part is None else notices(part)
            found += [row for row in rows if "." in row[1]]
    return found


def main() -> None:
    sys.meta_path.insert(0, Finder)
    import tensorflow as tf

    tables = ("src/stillflow/_api.py", "src/stillflow_contrib/_api.py")
    public: dict = {}
    for table in tables:
        public.update(runpy.run_path(table)["TABLE"])
    values: dict = {}
    for name in sorted(public):
        value: object = tf
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except AttributeError:
            continue
        values[name] = value
    from tensorflow.python.ops import variables

    values["RefVariable"] = variables.RefVariable  # the class of most variables has no public name
    classes = {value for value in values.values() if isinstance(value, type)}
    names: dict = {}
    for name, value in values.items():
        of_class = isinstance(value, type)
        for row in members(value, classes) if of_class else notices(value):
            names.setdefault(row, []).append(name)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for row, known in names.items():
            file.write("\t".join([" ".join(known), *row]) + "\n")


if __name__ == "__main__":
    main()
