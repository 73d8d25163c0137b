"""The schema of YAML arms accepts the same files as the reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from robolin.description.yaml.yaml_schema import yaml_schema
from tests.description.bad_yaml import VALID
from tests.description.test_yaml_arm import FULL

jsonschema = pytest.importorskip("jsonschema", reason="needs the package jsonschema")
MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.yaml"))


def wrong(text: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(yaml_schema())
    # YAML 1.1 takes 2e-3 for a text, which robolin's reader does not
    text = re.sub(r"(?<![\w.-])\d+e-?\d+", lambda match: repr(float(match[0])), text)
    return [error.message for error in validator.iter_errors(yaml.safe_load(text))]


def test_the_schema_is_one():
    """The schema itself is valid."""
    jsonschema.Draft202012Validator.check_schema(yaml_schema())


@pytest.mark.parametrize("text", [FULL, VALID, *(path.read_text() for path in MODELS)])
def test_good_arms_fit(text):
    """Arms that the reader accepts fit the schema, the one with every key among them."""
    assert wrong(text) == []


@pytest.mark.parametrize(("old", "new"), [("revolute", "revolut"), ("name: ", "title: ")])
def test_slips_do_not_fit(old, new):
    """A wrong type of joint and a missing name are marked."""
    assert old in VALID
    assert wrong(VALID.replace(old, new, 1))
