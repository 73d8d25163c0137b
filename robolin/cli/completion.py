"""Shell completion of robots, files, joints, links and frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
)

if TYPE_CHECKING:
    from robolin.core.arm import Arm


# by the metavar of an option
_JOINT_VALUES = ("VALUES", "JOINT=VALUE")
# options that also accept the name of a pose
_POSES = ("q", "goal")
_JOINTS = ("A,B,C", "JOINTS", "JOINTS|least")
_LINKS = {"LINK": "", "LINK:MASS[@X,Y,Z]": ":", "LINK=FX,FY,FZ,TX,TY,TZ": "="}
_FILES = ("FILE", "FOLDER")
# formats read without another program
_READ_HERE = ("urdf", "sdf", "yaml")


def completed(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Completions of the current word; empty if unknown."""
    if param.name in ("arm", "arms", "old", "new"):
        arms = list(_arms(typed))
        return arms or [CompletionItem(typed, type="file")]
    kind = param.metavar or ""
    if kind in _FILES:
        return [CompletionItem(typed, type="dir" if kind == "FOLDER" else "file")]
    arm = _arm(ctx)
    if arm is None:
        return []
    # comma-separated names: complete the last one
    before, comma, begun = typed.rpartition(",")
    if kind in (*_JOINT_VALUES, *_JOINTS):
        names, ending = arm.joint_names, "=" if kind in _JOINT_VALUES else ""
    elif kind in _LINKS:
        names, ending = tuple(arm.frames), _LINKS[kind]
    else:
        return []
    head = before + comma
    words = [f"{head}{name}{ending}" for name in names if name.startswith(begun)]
    if param.name in _POSES and not head:
        words = [name for name, _ in arm.named_poses if name.startswith(begun)] + words
    return [CompletionItem(word) for word in words if _is_one_word(word)]


def _is_one_word(text: str) -> bool:
    """True if a shell can offer the text: a single line that does not look like a flag.

    The shells quote all other characters, as `robolin.cli.completion` shows.
    """
    return text.isprintable() and not text.startswith("-")


def _arms(typed: str) -> Iterator[CompletionItem]:
    """Bundled robots by name, and robot files and folders that match the current word."""
    from robolin.description.robot_source import ROBOT_FORMATS, bundled_names

    for name in bundled_names():
        if name.startswith(typed):
            yield CompletionItem(name)
    folder, name = (Path(typed), "") if typed.endswith("/") else (Path(typed).parent, typed)
    start = "" if name == "" else Path(name).name
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    lead = typed[: len(typed) - len(start)]
    for path in inside:
        if not _is_one_word(lead + path.name):
            continue
        if path.name.startswith(start) and (start or not path.name.startswith(".")):
            if path.is_dir():
                yield CompletionItem(f"{lead}{path.name}/")
            elif path.suffix.lower() in ROBOT_FORMATS:
                yield CompletionItem(f"{lead}{path.name}")


def _arm(ctx: click.Context) -> Arm | None:
    """The robot of the command line, if reading it starts no other program.

    Xacro files are expanded and MJCF files compiled by other programs, `robot_descriptions:` may
    download, and a pipe can be read only once: completion does none of this.
    """
    from robolin.description.load import load
    from robolin.description.robot_source import PREFIX, bundled_path, robot_text
    from robolin.errors import RobolinError

    # an option without its value prevents click from parsing the arguments
    name = ctx.params.get("arm") or next(iter(ctx.args), None)
    if not isinstance(name, str) or name == "-" or name.startswith(PREFIX):
        return None
    try:
        if not (bundled_path(name) or Path(name).is_file()):
            return None
        return load(name) if robot_text(name).kind in _READ_HERE else None
    except (RobolinError, OSError, ValueError):
        return None


# bash splits words at = and :, and replaces only the text after the last of them
_BASH = r"""
%(complete_func)s() {
    local line=${COMP_LINE:0:COMP_POINT} breaks="" kept="" current response completion type value
    local quoted char i
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[${#words[@]}-1]}
    [[ $COMP_WORDBREAKS == *=* ]] && breaks+="="
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=":"
    [[ -n $breaks ]] && kept=${current%%"${current##*[$breaks]}"}
    kept=${kept#--*=}
    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                quoted=""
                for ((i = 0; i < ${#value}; i++)); do
                    char=${value:i:1}
                    [[ $char == [[:alnum:]_./:=,@%%+-] ]] || quoted+=\\
                    quoted+=$char
                done
                COMPREPLY+=("${quoted#"$kept"}")
                [[ $value == *[=:,/] ]] && compopt -o nospace ;;
        esac
    done <<< "$response"
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_FISH = """
function %(complete_func)s
    set -l words (commandline -cp)
    set -l current (commandline -ct)
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS="$words" COMP_CWORD="$current" \\
        %(prog_name)s)
    for completion in $response
        set -l item (string split -m 1 "," -- $completion)
        switch $item[1]
            case dir
                __fish_complete_directories $item[2]
            case file
                __fish_complete_path $item[2]
            case plain
                printf '%%s\\n' $item[2]
        end
    end
end

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class _Bash(BashComplete):
    source_template = _BASH


class _Fish(FishComplete):
    source_template = _FISH


SCRIPTS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": _Fish}
