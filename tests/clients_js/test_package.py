"""The TypeScript client as a package: its own tests pass, what is generated is current, and what is packed is what people need."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.clients_js.node import CLIENT, ROOT, Node

pytestmark = pytest.mark.slow


def read(name: str) -> Any:
    return json.loads((CLIENT / name).read_text("utf-8"))


def test_its_own_tests_pass(node: Node) -> None:
    files = [f"build/test/{path.stem}.js" for path in sorted((CLIENT / "test").glob("*.test.ts"))]
    result = node.run("--test", "--test-reporter=spec", *files)
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr
    passed = re.search(r"^ℹ pass (\d+)$", result.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) > 200, "all of them ran"


def test_types_are_current_code_is_typed_and_laid_out(node: Node) -> None:
    """src/messages.ts is what protocol/schema.json says; tsc --strict and prettier have nothing to say."""
    result = node.npm("run", "--silent", "check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_packed_is_what_people_need(node: Node) -> None:
    result = node.npm("pack", "--dry-run", "--json", "--ignore-scripts")
    assert result.returncode == 0, result.stderr
    [packed] = json.loads(result.stdout)
    files = {each["path"] for each in packed["files"]}
    modules = {path.stem for path in (CLIENT / "src").glob("*.ts")}
    for name in modules:
        assert {f"dist/{name}.js", f"dist/{name}.d.ts", f"src/{name}.ts"} <= files
    allowed = re.compile(r"(package\.json|README\.md|LICENSE|src/\w+\.ts|dist/\w+\.(js|d\.ts)(\.map)?)")
    assert [name for name in sorted(files) if not allowed.fullmatch(name)] == []
    assert packed["size"] < 200_000


def test_it_needs_msgpack_alone_and_pins_what_it_is_built_with() -> None:
    package = read("package.json")
    assert set(package["dependencies"]) == {"@msgpack/msgpack"}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values())
    names = {line for path in (CLIENT / "src").glob("*.ts") for line in re.findall(r'from "([^."][^"]*)"', path.read_text("utf-8"))}
    assert names == {"@msgpack/msgpack"}


def test_the_lock_file_has_a_hash_for_all_and_an_address_for_none() -> None:
    packages = {name: entry for name, entry in read("package-lock.json")["packages"].items() if name}
    assert packages
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not any("resolved" in entry for entry in packages.values())


def test_versions_agree() -> None:
    """package.json, the version that `hello` tells, and the Python client's."""
    version = read("package.json")["version"]
    assert f'"{version}"' in (CLIENT / "src" / "version.ts").read_text("utf-8")
    assert f'"{version}"' in (ROOT / "clients" / "python" / "dustup" / "_version.py").read_text("utf-8")
    assert read("package-lock.json")["version"] == version


def test_no_module_is_too_long_to_read() -> None:
    for path in [*(CLIENT / "src").glob("*.ts"), *(CLIENT / "test").glob("*.ts")]:
        assert len(path.read_text("utf-8").splitlines()) <= 600, path.name
