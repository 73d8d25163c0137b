"""The architecture page lists the packages."""

from __future__ import annotations

from tools.package_table import PAGE, architecture_page


def test_the_table_of_packages_is_current() -> None:
    """docs/dev/architecture.md is what `python -m tools.pages` would write."""
    assert PAGE.read_text("utf-8") == architecture_page()
