"""Write ``src/stillflow/facade/internal_names.txt`` under a real TensorFlow 1.15.

    python tools/record_internal_names.py SYMBOLS.json PACKAGE_FOLDER

SYMBOLS.json lists the names of internal modules that are public objects, ``{"modules": {module:
is_package}, "symbols": {module: {name: public name}}}``; PACKAGE_FOLDER is TensorFlow's own, which
adds the modules missing in the record.  Most internal modules draw their public names from one or
two namespaces, under the same last name: those become hints, and only the rest is written out.  The
syntax of the file is described in ``facade/names.py``.
"""

import collections
import importlib
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "src", "stillflow")
TOPS = ("compiler", "contrib", "core", "examples", "lite", "python", "tools")
# Names by which one module happens to see another; no program means them.
ACCIDENTS = (
    "pywrap_tensorflow.",
    "flags.tf_decorator",
    "app.flags.tf_decorator",
    "contrib.specs.",
    "contrib.quantization.",
    "contrib.labeled_tensor.nn.",
)
SKIPPED = ("__init__.py", "_benchmark.py", "_test.py", "setup.py")
SMALLEST_HINT = 3
DEEPEST = 4  # dots in a public name; below that lie modules seen through modules


def known_names():
    """Return the public names that Stillflow's own list has, in TF's order of preference."""
    names = set()
    with open(os.path.join(PACKAGE, "known_names.txt")) as lines:
        for line in lines:
            spaces, _, members = line.partition(":")
            for space in spaces.split() or [""]:
                names.update((space + "." if space else "") + name for name in members.split())
    return names


def real(path, cache={}):  # noqa: B006 - the default is the cache
    """Return the object a public name stands for, or the name itself where there is none."""
    if path not in cache:
        value = importlib.import_module("tensorflow")
        try:
            for part in path.split("."):
                value = getattr(value, part)
        except Exception:  # lazy loaders raise all sorts
            value = path
        cache[path] = value
    return cache[path]


def walk(folder):
    """Return {module: is_package} for the Python files below TensorFlow's folder."""
    modules = {}
    for top in TOPS:
        for path, folders, files in os.walk(os.path.join(folder, top)):
            folders[:] = [name for name in folders if not name.startswith("_")]
            base = "tensorflow." + os.path.relpath(path, folder).replace(os.sep, ".")
            if "__init__.py" in files:
                modules[base] = 1
            for name in files:
                if name.endswith(".py") and not name.endswith(SKIPPED):
                    modules.setdefault(base + "." + name[:-3], 0)
    return modules


def internals(module, public):
    """Return {name: public name} of a module, less accidents and names that need no table."""
    short = module.rpartition(".")[2]
    if short.startswith("gen_") or short.endswith("_pb2"):
        return {}
    return {
        name: path
        for name, path in public.items()
        if not path.startswith(ACCIDENTS)
        and not path.startswith("raw_ops.")
        and not name.startswith("__")
        and path.count(".") <= DEEPEST
    }


def hints(module, names, known):
    """Choose the namespaces that explain most names; return them and the rest."""
    own = ".".join(module.split(".")[1:3])  # "contrib.layers": these keep to themselves
    chosen, left = [], dict(names)
    while True:
        gains = collections.Counter()
        for name, path in left.items():
            for space in spaces_of(name, path, known):
                gains[space] += 1
        gains = {space: gain for space, gain in gains.items() if gain >= SMALLEST_HINT}
        if not gains:
            break
        best = max(
            gains,
            key=lambda space: (
                space == own,
                not space.startswith("contrib."),
                gains[space],
                -len(space),
                space,
            ),
        )
        chosen.append(best)
        left = {
            name: path for name, path in left.items() if best not in spaces_of(name, path, known)
        }
    # A name that an earlier hint would answer with another object has to be written out.
    wrong = {}
    for name, path in names.items():
        for space in chosen:
            found = (space + "." if space else "") + name
            if found in known:
                if real(found) is not real(path):
                    wrong[name] = path
                break
    left.update(wrong)
    return chosen, left


def spaces_of(name, path, known, cache={}):  # noqa: B006 - the default is the cache
    """Return the namespaces that have this very object under this very name."""
    if not cache:
        for item in known:
            space, _, last = item.rpartition(".")
            cache.setdefault(last, []).append((space, item))
    return [space for space, item in cache.get(name, ()) if real(item) is real(path)]


def entry(module, names, known):
    """Return the words of a module's line after its own name."""
    chosen, left = hints(module, names, known)
    words = ["~" + (space or "tf") for space in chosen]
    groups = collections.defaultdict(list)
    for name, path in sorted(left.items()):
        space, _, last = path.rpartition(".")
        groups[space].append(name if name == last else name + "=" + last)
    words += [(space or "tf") + ":" + ",".join(items) for space, items in sorted(groups.items())]
    return words


def main(argv):
    """Read the record, look at the objects, write the table."""
    with open(argv[1]) as file:
        record = json.load(file)
    known = known_names()
    aliases = {
        module: path
        for module, path in record["symbols"].pop("").items()
        if not path.startswith(ACCIDENTS)
    }
    modules = dict(walk(argv[2]), **record["modules"])
    for module in list(modules):
        while "." in module:
            module = module.rpartition(".")[0]
            modules[module] = 1
    del modules["tensorflow"]
    lines = [
        "# Internal modules of TensorFlow 1.15 and the public names of what they hold;",
        "# written by tools/record_internal_names.py, syntax in names.py.",
    ]
    for module in sorted(modules, key=lambda name: name.split(".")):
        names = internals(module, record["symbols"].get(module, {}))
        words = ["@" + aliases[module]] if module in aliases else entry(module, names, known)
        depth = module.count(".") - 1
        lines.append(" " * depth + " ".join([module.rpartition(".")[2]] + words))
    with open(os.path.join(PACKAGE, "facade", "internal_names.txt"), "w") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv)
