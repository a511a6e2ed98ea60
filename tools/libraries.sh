#!/usr/bin/env bash
# Runs the test suites of libraries written on TensorFlow 1.x against Stillflow.
#
#   SOURCES=DIR ORACLE=PYTHON tools/libraries.sh [name ...] [options of libraries.py]
#
#   SOURCES   bare git folders of the repositories that libraries.tsv names: OWNER+NAME,
#             OWNER+NAME/repo or OWNER+NAME/repo/.git, each with the commit that stands there
#   ORACLE    an interpreter with TensorFlow 1.15.5 (Python 3.7)
#   OUT       where sources, packages, logs and results go (out/libraries)
#   PYTHON    the interpreter to test with
#
# Each test file runs with pytest in a process of its own, on TensorFlow 1.15.5 first; that run is
# kept. Of the methods that pass there at least 98 % have to pass here in each library, and 99.5 %
# over all. Without names all libraries run; --every 3 takes a third of the files, --first 1 another
# third, --most 20 that many methods of each. Nothing of the libraries is kept in this repository.
set -euo pipefail

: "${SOURCES:?names the folder of the git repositories}"
: "${ORACLE:?names an interpreter with TensorFlow 1.15.5}"
OUT=$(realpath -m "${OUT:-out/libraries}") PYTHON=$(realpath -s "${PYTHON:-.venv/bin/python}")
HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$OUT"

# lay_out NAME REPOSITORY COMMIT RELEASE: the library's files, but for what the git folder lacks,
# once for each interpreter, since tests write beside themselves and protoc writes for one protobuf.
# A release, if the table names one, has the modules that a build of the library generates.
lay_out() {
  local git=$SOURCES/${2/\//+} side
  for side in "$git/repo/.git" "$git/repo"; do
    if [ -e "$side/objects" ]; then git=$side && break; fi
  done
  for side in reference ours; do
    [ ! -d "$OUT/sources-$side/$1" ] || continue
    rm -rf "$OUT/part" && mkdir -p "$OUT/part"
    git --git-dir "$git" ls-tree -r "$3" |
      sed -n 's/^[0-9]* blob \([0-9a-f]*\)\t\(.*\)$/\1 \2/p' |
      git --git-dir "$git" cat-file --batch-check='%(objecttype) %(rest)' | sed -n 's/^blob //p' |
      tr '\n' '\0' | xargs -0 git --git-dir "$git" archive "$3" | tar -x -i -C "$OUT/part"
    if [ -n "$4" ]; then
      "$ORACLE" -m pip --disable-pip-version-check install --quiet --no-deps --target "$OUT/release" "$4"
      rm -rf "$OUT"/release/*.dist-info && cp -rn "$OUT/release/." "$OUT/part"
      rm -rf "$OUT/release"
    fi
    compile_messages "$side" "$OUT/part"
    mkdir -p "$OUT/sources-$side" && mv "$OUT/part" "$OUT/sources-$side/$1"
  done
}

interpreter() { if [ "$1" = ours ]; then echo "$PYTHON"; else echo "$ORACLE"; fi; }

# packages SIDE: what the libraries import beside TensorFlow, in a folder of its own
packages() {
  [ ! -d "$OUT/packages-$1" ] || return 0
  rm -rf "$OUT/packages"
  "$(interpreter "$1")" -m pip --disable-pip-version-check install --quiet --no-deps \
    --target "$OUT/packages" --requirement "$HERE/libraries_packages.txt"
  mv "$OUT/packages" "$OUT/packages-$1"
}

compile_messages() {
  local proto
  find "$2" -name '*.proto' | while read -r proto; do
    PYTHONPATH=$OUT/packages-$1 "$(interpreter "$1")" -m grpc_tools.protoc -I "$2" \
      --python_out "$2" "$proto"
  done
}

packages reference
packages ours
# The games lie in the older release of atari-py alone.
games=atari_py/atari_roms
[ -d "$OUT/packages-ours/$games" ] || cp -r "$OUT/packages-reference/$games" "$OUT/packages-ours/$games"
while IFS=$'\t' read -r name repository commit _ release; do
  [ "$name" = name ] || lay_out "$name" "$repository" "$commit" "$release"
done <"$HERE/libraries.tsv"

"$PYTHON" "$HERE/libraries.py" --out "$OUT" --oracle "$ORACLE" --python "$PYTHON" "$@"
