#!/usr/bin/env bash
# Makes the virtual environment with the pinned packages: scripts/setup.sh DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
venv=$1

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# The versions in constraints.txt are tested on 3.11, so it goes first.
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
    if command -v "$candidate" >/dev/null 2>&1 && new_enough "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  fail "Python 3.11 or newer is needed; found $(python3 --version 2>&1 || echo 'no python3')." \
    "Install it (Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf install python3.11)," \
    "or name it: make setup PYTHON=/path/to/python3.11"
}

if ! { [ -x "$venv/bin/python" ] && new_enough "$venv/bin/python" &&
  "$venv/bin/python" -m pip --version >/dev/null 2>&1; }; then
  python=$(find_python)
  if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # Only Debian and Ubuntu split these modules off.
    install_system "python$version-venv" "python$version" && "$python" -c 'import venv, ensurepip' ||
      fail "$python has no modules venv and ensurepip." \
        "Install them (Debian, Ubuntu: apt install python$version-venv) and try again."
  fi
  say "making $venv with $("$python" --version)"
  "$python" -m venv --clear "$venv"
fi

say "installing the pinned packages into $venv (one to five minutes the first time)"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  --constraint constraints.txt --editable '.[dev]' ||
  fail "pip could not install the packages of constraints.txt; its words are above." \
    "It needs a package index: check the network, or set PIP_INDEX_URL, and try again."

say "compiling kernels"
"$venv/bin/python" -c 'import windrow.engine.runner'
