"""The repository itself keeps its promises: layout, docstrings, pins, versions, and a README that starts with what to type."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {"pyproject.toml", "README.md", "Makefile", "server", "engine", "protocol", "clients", "tests", "deploy", "docs"}
TOP_LEVEL_TEXTS = {"LICENSE", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"}
PACKAGES = {"engine", "protocol", "server", "clients", "clients/terminal", "clients/python/dustup"}
PROJECTS = ("pyproject.toml", "clients/python/pyproject.toml")


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that belongs to the repository, relative to its root; of a copy without git, every file that is not generated."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        generated = {"node_modules", "__pycache__", "build", "dist"}
        found = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        return tuple(p for p in found if not generated & set(p.parts) and not (p.parts[0].startswith(".") and p.parts[0] != ".ci"))
    return tuple(Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file())


def python_files() -> list[Path]:
    found = [path for path in tracked() if path.suffix == ".py"]
    top = {path.parts[0] for path in found}
    assert top >= {"engine", "protocol", "server", "clients", "tests"}, "an incomplete list would let every check below pass"
    return found


@cache
def project(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text("utf-8"))


def version_of(name: str) -> str:
    """A distribution's version, from where its build takes it."""
    data = project(name)
    if "version" in data["project"]:
        return str(data["project"]["version"])
    source = (ROOT / name).parent / data["tool"]["hatch"]["version"]["path"]
    literal = re.search(r"^__version__.*= \"(.+)\"", source.read_text("utf-8"), flags=re.MULTILINE)
    assert literal, f"{source} names no version"
    return literal[1]


def normal(requirement: str) -> str:
    """The name in a requirement, as package indexes compare names: `Redis[hiredis] >= 8` is `redis`."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, f"not a requirement: {requirement!r}"
    return re.sub(r"[-_.]+", "-", name[0]).lower()


@cache
def pins() -> dict[str, str]:
    lines = (ROOT / ".ci/requirements.txt").read_text("utf-8").splitlines()
    return {normal(line): line for line in lines if line.strip() and not line.startswith("#")}


def test_the_top_level_holds_the_agreed_folders_and_nothing_else():
    top = {path.parts[0] for path in tracked()}
    assert top >= TOP_LEVEL
    strangers = {name for name in top - TOP_LEVEL - TOP_LEVEL_TEXTS if not name.startswith(".")}
    assert not strangers


def test_every_module_says_its_job_in_a_docstring():
    silent = [str(path) for path in python_files() if not ast.get_docstring(ast.parse((ROOT / path).read_text("utf-8")))]
    assert not silent


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_every_package_ships_its_types(package):
    assert (ROOT / package / "__init__.py").is_file()
    # `clients` only groups packages; each of those carries a mark of its own.
    assert package == "clients" or (ROOT / package / "py.typed").is_file()


def test_no_python_file_is_too_long_to_read_in_one_sitting():
    long = {}
    for path in python_files():
        lines = (ROOT / path).read_text("utf-8").splitlines()
        if len(lines) > 600 and not (lines and "generated" in lines[0].lower()):
            long[str(path)] = len(lines)
    assert not long


def test_no_file_names_a_folder_of_someones_own_machine():
    personal = re.compile(rb"/(?:home|Users)/[a-z]|(?<![\w.$}])/root\b/")
    here = str(ROOT).encode()
    found = []
    for path in tracked():
        text = (ROOT / path).read_bytes()
        if personal.search(text) or (len(ROOT.parts) > 3 and here in text):
            found.append(str(path))
    assert not found


def test_the_readme_opens_with_the_two_commands():
    blocks = re.findall(r"^```\w*\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    commands = [line.split("#")[0].strip() for line in blocks[0].splitlines()]
    assert commands == ["make run", "make test"]


def test_every_target_the_makefile_promises_is_there():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    assert targets >= {"help", "run", "test", "check", "bench", "soak", "clean"}


def test_every_pin_is_exact():
    loose = [line for line in pins().values() if not re.fullmatch(r"[\w.-]+==[\w.]+(; .+)?", line)]
    assert not loose


@pytest.mark.parametrize("name", PROJECTS)
def test_everything_a_distribution_needs_is_pinned(name):
    data = project(name)
    extras = data["project"].get("optional-dependencies", {}).values()
    needed = data["project"]["dependencies"] + data["build-system"]["requires"] + [one for extra in extras for one in extra]
    ours = {normal(project(one)["project"]["name"]) for one in PROJECTS}
    missing = {normal(requirement) for requirement in needed} - set(pins()) - ours
    assert not missing


def test_server_and_sdk_have_one_version_and_the_changelog_knows_it():
    versions = {version_of(name) for name in PROJECTS}
    assert len(versions) == 1
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    assert headings[0] == "Unreleased"
    released = headings[1:]
    assert not released or released[0] in versions


def test_versions_written_in_the_code_are_those_of_the_distributions():
    version = version_of("pyproject.toml")
    written = {}
    for path in python_files():
        for line in (ROOT / path).read_text("utf-8").splitlines():
            literal = re.match(r"(?:__version__|VERSION)(?:: \w+)? = \"(\d+\.\d+.*)\"", line)
            if literal:
                written[str(path)] = literal[1]
    assert set(written.values()) <= {version}, written


def test_the_engine_needs_nothing_but_msgspec():
    """A newcomer may read, run and reuse the rules with one dependency."""
    from sys import stdlib_module_names

    foreign = set()
    for path in python_files():
        if path.parts[0] != "engine":
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
            if isinstance(node, ast.Import):
                foreign |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                foreign.add(node.module.split(".")[0])
    assert foreign - set(stdlib_module_names) <= {"engine", "msgspec"}
