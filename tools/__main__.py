"""Every generated page and picture written anew, but those that need benchmarks to be run."""

from __future__ import annotations

from tools import pages, papers, picture


def main() -> None:
    pages.main()
    papers.main()
    picture.main()


if __name__ == "__main__":
    main()
