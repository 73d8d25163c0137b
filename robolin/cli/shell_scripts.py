"""Scripts for the tab key; click's own scripts do not handle '=' and ',' in values.

Names come from robot files of others, so no shell may run what they contain.  bash inserts words as
they are, so the script quotes them.  zsh (`compadd` without -Q) and fish quote words themselves.
"""

from __future__ import annotations

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

# bash takes words apart at = and :, and replaces only what stands behind the last of them
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
        set -l told (string split -m 1 "," -- $completion)
        switch $told[1]
            case dir
                __fish_complete_directories $told[2]
            case file
                __fish_complete_path $told[2]
            case plain
                printf '%%s\\n' $told[2]
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
