"""The page of YAML arms names every key there is, and its examples are arms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import robolin
from robolin.description.yaml.yaml_schema import Schema, yaml_schema

PAGE = (Path(__file__).parents[2] / "docs" / "yaml.md").read_text(encoding="utf-8")
EXAMPLES = [
    text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "robolin:" in text
]


def keys(schema: Schema) -> set[str]:
    found = set(schema.get("properties", ()))
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        found |= keys(inner)
    return found | (keys(schema["items"]) if isinstance(schema.get("items"), dict) else set())


def test_every_key_is_on_the_page():
    """A key of the format that the page does not mention would have to be guessed."""
    # closures have a page of their own
    missing = [key for key in sorted(keys(yaml_schema())) if not re.search(rf"\b{key}\b", PAGE)]
    assert missing == ["first", "kind", "second"]


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_is_an_arm(text):
    """What the page shows can be copied and loaded."""
    assert robolin.load(text).n >= 1
