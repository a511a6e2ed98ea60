#!/usr/bin/env bash
# Runs public TF1 programs, unmodified, against Stillflow and judges what they print and write.
#
#   PROGRAMS=DIR SOURCES=DIR tools/programs.sh [name ...]
#
#   PROGRAMS  the kit: programs.tsv, runs/, data/, tools/runall.py
#   SOURCES   bare git folders of the repositories that programs.tsv names: OWNER+NAME or
#             OWNER+NAME/repo, each with the commit that stands there
#   OUT       where copies, logs and results go (out/programs)
#   PYTHON    the interpreter to test with
#
# Without names, those run that need neither files that they wrote nor queues nor loops. Nothing of
# the programs is kept in this repository.
set -euo pipefail

: "${PROGRAMS:?names the folder with programs.tsv}"
: "${SOURCES:?names the folder of the git repositories}"
OUT=$(realpath -m "${OUT:-out/programs}") PYTHON=$(realpath -s "${PYTHON:-.venv/bin/python}")
HERE=$(cd "$(dirname "$0")/.." && pwd)
PLAIN=(
  aym_linear_regression aym_nearest_neighbor aym_convnet_raw golbin_mnist_dropout hunkim_diabetes
  morvan_batch_norm
)

kit=$OUT/kit
mkdir -p "$kit/src"
for part in runs tools data programs.tsv; do
  [ -e "$kit/$part" ] || cp -r "$PROGRAMS/$part" "$kit/"
done

names=("$@")
[ $# -gt 0 ] || names=("${PLAIN[@]}")

# lay_out NAME: the files of its repository at its commit, but for what the git folder lacks
lay_out() {
  local repository commit folder git
  IFS=$'\t' read -r _ repository commit _ < <(grep -P "^$1\t" "$kit/programs.tsv")
  folder=$kit/src/${repository/\//+}
  [ ! -d "$folder" ] || return 0
  git=$SOURCES/${repository/\//+}
  [ ! -d "$git/repo" ] || git=$git/repo
  mkdir -p "$folder.part"
  # A file that the git folder lacks has no size there.
  git --git-dir "$git" ls-tree -rzl "$commit" 2>/dev/null | grep -zvP '^[^\t]* BAD\t' | cut -zf 2- |
    xargs -0 git --git-dir "$git" archive "$commit" | tar -x -C "$folder.part"
  mv "$folder.part" "$folder"
}
for name in "${names[@]}"; do lay_out "$name"; done

cat >"$OUT/python" <<END
#!/bin/sh
PYTHONPATH="$HERE/src\${PYTHONPATH:+:\$PYTHONPATH}" exec "$PYTHON" -m stillflow "\$@"
END
chmod +x "$OUT/python"
mapfile -t needs < <(
  for name in "${names[@]}"; do grep -P "^$name\t" "$kit/programs.tsv" | cut -f 6; done |
    tr ' ' '\n' | sed 's/^opencv$/opencv-python-headless/' | sort -u  # as PyPI calls it
)
"$PYTHON" -m pip --disable-pip-version-check install --quiet scipy "${needs[@]}"

CORPUS_WORK=$OUT/work "$PYTHON" "$kit/tools/runall.py" "$OUT/python" "${names[@]}" |
  tee "$OUT/report.txt"
tail -n 1 "$OUT/report.txt" | grep -q "^${#names[@]} of ${#names[@]} pass"
