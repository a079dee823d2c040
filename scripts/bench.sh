#!/usr/bin/env bash
# Makes an environment for each engine that Windrow is measured against: scripts/bench.sh PYTHON
#
# Engines need packages that exclude each other, and none of them may reach Windrow's own. The
# versions are those that the results in benchmarks/results were measured with.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
python=$1
failed=()

# environment NAME REQUIREMENT...: benchmarks/.envs/NAME, unless it is complete already.
environment() {
  local place=benchmarks/.envs/$1
  local done=$place/.installed
  shift
  if [ -f "$done" ] && [ "$(cat "$done")" = "$*" ]; then return; fi
  say "installing $* into $place"
  rm -rf "$place"
  if "$python" -m venv "$place" &&
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; then
    echo "$*" >"$done"
  else
    rm -rf "$place"
    failed+=("$1")
  fi
}

environment bytewax bytewax==0.21.1 pyarrow==26.0.1
environment pathway pathway==0.33.0
environment flink apache-flink==2.3.0

# Indexes of intervals, Delta, LMDB and RocksDB are called in the same process as Windrow, and need next to nothing.
"$python" -m pip install --quiet --disable-pip-version-check \
  --constraint constraints.txt --editable '.[bench]' ||
  failed+=("deltalake, intervaltree, lmdb, ncls, rocksdict, superintervals")

if [ ${#failed[@]} -gt 0 ]; then
  say "these could not be installed, and the benchmarks leave them out: ${failed[*]}"
fi
