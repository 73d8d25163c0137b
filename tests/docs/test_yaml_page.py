"""The page about YAML arms names every key, and its examples are valid arms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import robolin
from robolin.description.yaml.yaml_schema import Schema, yaml_schema

PAGE = (Path(__file__).parents[2] / "docs" / "reference/yaml.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [text for text in BLOCKS if "robolin: 1" in text]


def keys(schema: Schema) -> set[str]:
    names = set(schema.get("properties", ()))
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        names |= keys(inner)
    return names | (keys(schema["items"]) if isinstance(schema.get("items"), dict) else set())


def test_every_key_is_on_the_page():
    """A key of the format that the page does not mention would have to be guessed."""
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    spans = re.findall(r"`([^`]+)`", prose)
    written = {word for span in spans for word in re.findall(r"\w+", span)}
    # closures have a page of their own
    assert keys(yaml_schema()) - written == {"first", "kind", "second"}


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_is_an_arm(text):
    """Every example can be copied and loaded."""
    assert robolin.load(text).n >= 1
