"""The command of an unpacked environment that Spark starts as its Python.

Spark puts its own archives of PySpark on the path; the environment has PySpark as compiled modules,
which start sooner, so they are taken off again. Nothing of the worker's own Python counts.
"""

from __future__ import annotations

from windrow.spark.environment.interpreter import LIBRARIES, VERSION
from windrow.spark.environment.packages import PACKAGES

NAME = "windrow_env"
"""The directory in which Spark unpacks the archive, below that of the executor."""
PROGRAM = "bin/python"
WORKER_PYTHON = f"./{NAME}/{PROGRAM}"

LAUNCHER = f"""#!/bin/sh
home=$(cd "${{0%/*}}/.." && pwd -P)
path=$home/{PACKAGES}
IFS=:
set -f
for place in $PYTHONPATH; do
  case "$place" in
    */pyspark.zip | */py4j-*-src.zip | *.jar) ;;
    *) path="$path:$place" ;;
  esac
done
unset IFS
export PYTHONPATH="$path" PYTHONHOME="$home" PYTHONNOUSERSITE=1
export LD_LIBRARY_PATH="$home/{LIBRARIES}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
exec "$home/bin/python{VERSION}" "$@"
"""
