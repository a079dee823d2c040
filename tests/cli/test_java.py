"""Which Java is taken. The fakes answer ``-version`` and print their arguments otherwise."""

from __future__ import annotations

import os
import subprocess

import pytest

from windrow.spark.run import java
from windrow.spark.run.java import JavaError, ensure_java, find_java

VECTOR = "--add-modules=jdk.incubator.vector"


def fake(home, version, modules=None):
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(
        "#!/bin/sh\n"
        f"""[ "$1" = -version ] && {{ echo 'openjdk version "{version}"' >&2; exit 0; }}\n"""
        """for a do printf '<%s>' "$a"; done\n"""
    )
    program.chmod(0o755)
    if modules is not None:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "SYSTEM_HOMES", tmp_path / "jvm")
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)


def test_java_home_goes_before_the_path_and_the_path_before_the_system(monkeypatch, tmp_path):
    system = fake(tmp_path / "jvm" / "jdk-21", "21.0.2")
    assert find_java().home == system
    on_path = fake(tmp_path / "path", "25")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert find_java() == java.Java(on_path, 25)
    chosen = fake(tmp_path / "home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    assert find_java() == java.Java(chosen, 17)


def test_a_java_home_that_is_too_old_or_empty_is_passed_over(monkeypatch, tmp_path):
    system = fake(tmp_path / "jvm" / "jdk-17", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "old", "1.8.0_392")))
    assert find_java().home == system
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert find_java().home == system


def test_without_a_java_the_error_names_what_was_found_and_what_to_do(monkeypatch, tmp_path):
    with pytest.raises(JavaError, match=r"expected Java 17 or newer; found none; run `make setup`"):
        ensure_java()
    old = fake(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(JavaError, match=f"found Java 11 in {old}"):
        ensure_java()


def test_a_complete_java_is_used_as_it_is(monkeypatch, tmp_path):
    home = fake(tmp_path / "jvm" / "jdk", "17.0.1", "java.base jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", "")
    ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


def test_a_java_without_the_vector_module_is_started_without_asking_for_it(monkeypatch, tmp_path):
    home = fake(tmp_path / "jvm" / "with space", "25.0.2", "java.base java.sql")
    monkeypatch.setenv("JAVA_HOME", str(home))
    ensure_java()
    launcher = os.environ["JAVA_HOME"] + "/bin/java"
    assert not launcher.startswith(str(home))
    arguments = ["-cp", "a b:c", VECTOR, "--add-opens=x", "", "Main", "$HOME"]
    found = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True)
    assert found.stdout == "<-cp><a b:c><--add-opens=x><><Main><$HOME>"
    ensure_java()
    assert os.environ["JAVA_HOME"] + "/bin/java" == launcher
