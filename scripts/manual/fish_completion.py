# SPDX-License-Identifier: MIT OR Apache-2.0
"""completions/hakmem.fish: a line for each option and command; a function says at which command the line is."""

from __future__ import annotations

from commands import Command, Option, walk

HEAD = """# SPDX-License-Identifier: MIT OR Apache-2.0
# hakmem.fish: completion of hakmem(1) for fish. Made by scripts/manual: not to be edited.

# Which command the line is at ("bench compare"), and " program" behind it inside a program that hakmem runs.
function __hakmem_at
    set -l at
    set -l value no
    for word in (commandline -opc)[2..-1]
        if test $value = yes
            set value no
        else if test "$word" = --
            set -a at program
            break
        else if string match -q -- '-*' $word
            contains -- "$at $word" $__hakmem_values; and set value yes
        else if contains -- (string trim -- "$at $word") $__hakmem_commands
            set -a at $word
        else if contains -- "$at" $__hakmem_runners
            set -a at program
            break
        end
    end
    echo "$at"
end

function __hakmem_is
    test (__hakmem_at) = "$argv"
end

# The words of a program are that program's to complete; those before it are hakmem's.
function __hakmem_program
    set -l words (commandline -opc)
    set -l skip 3 # the program's first word, if there is no option
    set -l value no
    for word in $words[3..-1]
        if test $value = yes
            set value no
        else if test "$word" = --
            set skip (math $skip + 1)
            break
        else if string match -q -- '-*' $word
            contains -- "$words[2] $word" $__hakmem_values; and set value yes
        else
            break
        end
        set skip (math $skip + 1)
    end
    set -a words (commandline -ct)
    string match -q -- '-*' $words[$skip]; or complete -C "$words[$skip..-1]"
end

complete -c hakmem -f
"""


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def brief(text: str) -> str:
    return text.split(". ")[0].removesuffix(".").replace("`", "")


def takes(option: Option) -> str:
    if not option.metavar:
        return ""
    return {"file": " -rF", "folder": " -xa '(__fish_complete_directories)'"}.get(option.kind, " -x")


def option_line(command: Command, option: Option) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
    return (f"complete -c hakmem -n {quoted('__hakmem_is ' + ' '.join(command.path))}{names}{takes(option)}"
            f" -d {quoted(brief(option.help))}\n")


def words_of(command: Command) -> list[str]:
    """What may come that is no option."""
    at = quoted("__hakmem_is " + " ".join(command.path))
    lines = [f"complete -c hakmem -n {at} -a {inner.path[-1]} -d {quoted(inner.summary)}\n" for inner in command.below]
    kinds = {one.kind for one in command.arguments}
    if "program" in kinds:
        inside = quoted(f"__hakmem_is {' '.join(command.path)} program")
        lines += [f"complete -c hakmem -n {where} -xa '(__hakmem_program)'\n" for where in (at, inside)]
    elif kinds & {"file", "folder"}:
        lines.append(f"complete -c hakmem -n {at} -F\n")
    return lines


def known(name: str, words: list[str]) -> str:
    return f"set -g __hakmem_{name} {' '.join(map(quoted, words))}\n"


def script(tree: Command) -> str:
    commands = list(walk(tree))
    paths = [" ".join(one.path) for one in commands]
    values = [f"{path} {name}" for path, one in zip(paths, commands, strict=True)
              for option in one.options if option.metavar for name in option.names]
    runners = [" ".join(one.path) for one in commands if any(argument.kind == "program" for argument in one.arguments)]
    lines = [line for one in commands
             for line in (*words_of(one), *(option_line(one, option) for option in one.options))]
    tables = known("commands", paths[1:]) + known("values", values) + known("runners", runners)
    return f"{HEAD}{tables}\n{''.join(lines)}"
