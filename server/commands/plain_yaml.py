"""YAML read as what JSON can hold, so that a file means what a person thinks it means.

Plain YAML reads `no` as false, `12:30` as 750 and `2024-01-01` as a date. Here only true, false, null and numbers in the ways JSON
(and hexadecimal) write them are anything but texts; keys are texts and stand once; anchors are refused, because a few lines of
them can stand for more than a machine holds, and so are tags.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

MAX_DEPTH = 60


class PlainYamlError(Exception):
    """A text that is no such YAML. Says what is wrong and in which line."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the types of JSON."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012  # PyYAML's own way to declare them, a class attribute
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it bare
        mark = event.start_mark
        if getattr(event, "tag", None) is not None:
            raise yaml.composer.ComposerError(None, None, f"the tag {event.tag} cannot be used here: write the value alone", mark)
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "anchors and aliases (& and *) cannot be used here", mark)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, f"this is nested more than {MAX_DEPTH} deep", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(None, None, f"a key must be a text, this is {key!r}", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key '{key}' stands twice in one map", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:null|~|)$"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^(?:[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)$"), list("-+0123456789")
)


def read(text: str) -> Any:
    """The value of a YAML (or JSON) text: maps, lists, texts, numbers, true, false, null. Raises PlainYamlError."""
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise PlainYamlError(f"{place}{problem.problem or problem.context or 'this is not YAML'}") from None
    except yaml.YAMLError as problem:
        raise PlainYamlError(" ".join(str(problem).split())) from None
    except RecursionError:
        raise PlainYamlError("this is nested too deeply") from None
    except ValueError as problem:  # numbers with thousands of digits
        raise PlainYamlError(str(problem)) from None
