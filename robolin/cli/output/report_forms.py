"""The forms that reports can have, verb by verb, and the extensions that pick them."""

from __future__ import annotations

FORMS = ("table", "json")
EXTENSIONS = {".json": "json", ".txt": "table"}

CHECK_FORMS = ("table", "json", "github", "junit")
CHECK_EXTENSIONS = {".txt": "table", ".json": "json", ".xml": "junit"}

VALIDATE_FORMS = (*CHECK_FORMS, "sarif")
VALIDATE_EXTENSIONS = {**CHECK_EXTENSIONS, ".sarif": "sarif"}

DIFF_FORMS = ("table", "markdown", "csv", "json")
DIFF_EXTENSIONS = {".txt": "table", ".md": "markdown", ".csv": "csv", ".json": "json"}
