"""The command line as `python -m robolin`, for when the script `robolin` is not on the path."""

from robolin.cli.entry_point import run

if __name__ == "__main__":
    run()
