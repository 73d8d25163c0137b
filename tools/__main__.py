"""Write every generated page and picture, except those that need benchmarks."""

from __future__ import annotations

from tools import pages, papers, picture


def main() -> None:
    pages.main()
    papers.main()
    picture.main()


if __name__ == "__main__":
    main()
