"""The ruleset of docs/tutorial/ruleset.md, taken from the page: what a reader types is what the tests run."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import engine

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "ruleset.md"
NAME = "brawl"


def blocks(language: str) -> list[str]:
    """The page's code blocks in a language, in order."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert found, f"{PAGE} has no {language}"
    return found


def source() -> str:
    """The module: every Python block, put together as the page says."""
    return "\n\n".join(block.rstrip("\n") if block.startswith(" ") else block.strip("\n") for block in blocks("python")) + "\n"


def project() -> dict[str, Any]:
    """The package's pyproject.toml."""
    return tomllib.loads(blocks("toml")[0])


def entry_point() -> tuple[str, str, str]:
    """Name, module and object of the page's one entry point."""
    ((name, value),) = project()["project"]["entry-points"]["dustup.rulesets"].items()
    module, _, attribute = value.partition(":")
    return name, module, attribute


def load() -> engine.Ruleset:
    """The ruleset in this process, not yet registered."""
    _, module_name, attribute = entry_point()
    if module_name not in sys.modules:
        module = ModuleType(module_name)
        sys.modules[module_name] = module  # its types are looked up by their module's name
        exec(compile(source(), str(PAGE), "exec"), module.__dict__)
    rules: engine.Ruleset = getattr(sys.modules[module_name], attribute)
    return rules


def install(folder: Path) -> Path:
    """Put the package into a folder as an installer would: the module, and beside it what tells Python of its entry point."""
    name, module, attribute = entry_point()
    about = project()["project"]
    (folder / f"{module}.py").write_text(source(), "utf-8")
    told = folder / f"{about['name'].replace('-', '_')}-{about['version']}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n", "utf-8")
    (told / "entry_points.txt").write_text(f"[dustup.rulesets]\n{name} = {module}:{attribute}\n", "utf-8")
    return folder
