"""The README's picture: actual output of a command, drawn as an SVG terminal.

`python -m tools.picture` draws it; a test fails while it is out of date.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.console_blocks import environment, printed
from tools.markdown import DOCS

COMMAND = "robolin linearize-forward two-link --q 0.3,-0.7 --qd 0.5,-1.2 --tau 20,5 --format table"
PICTURE = DOCS / "pictures" / "linearize-forward.svg"

LINE, GLYPH, MARGIN = 18, 8.4, 20


def drawn() -> str:
    """The command and its output, one text element per line."""
    with TemporaryDirectory() as folder:
        output = printed(COMMAND, Path(folder), environment(Path(folder)))
    lines = [f"$ {COMMAND}", "", *output]
    width = round(GLYPH * max(map(len, lines)) + 2 * MARGIN)
    height = LINE * len(lines) + 2 * MARGIN
    rows = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * (i + 1) - 5}">{escape(line)}</text>'
        for i, line in enumerate(lines)
        if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n'
        "<style>text { font: 14px monospace; fill: #d8dee9; white-space: pre; }</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#20242c"/>\n'
        f"{rows}\n</svg>\n"
    )


def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
