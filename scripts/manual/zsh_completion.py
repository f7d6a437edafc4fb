# SPDX-License-Identifier: MIT OR Apache-2.0
"""completions/_hakmem: a function for each command, which says to _arguments what it takes."""

from __future__ import annotations

from commands import Argument, Command, Option, walk

HEAD = """#compdef hakmem
# SPDX-License-Identifier: MIT OR Apache-2.0
# _hakmem: completion of hakmem(1) for zsh. Made by scripts/manual: not to be edited.
"""
ACTIONS = {"file": "_files", "folder": "_files -/", "none": " "}


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def brief(text: str) -> str:
    """The first sentence, as _arguments takes it between brackets."""
    sentence = text.split(". ")[0].removesuffix(".")
    for char in "\\[]:":
        sentence = sentence.replace(char, f"\\{char}")
    return sentence.replace("`", "")


def option_specs(option: Option) -> list[str]:
    value = f":{brief(option.metavar)}:{ACTIONS[option.kind]}" if option.metavar else ""
    others = f"({' '.join(option.names)})" if len(option.names) > 1 and not option.many else ""
    return [quoted(f"{'*' if option.many else others}{name}[{brief(option.help)}]{value}") for name in option.names]


def argument_spec(position: int, one: Argument) -> list[str]:
    if one.kind == "program":
        return [quoted("(-)1:program: _command_names -e"), quoted("*::arguments: _normal")]
    place = "*" if one.many else str(position)
    return [quoted(f"{place}:{brief(one.metavar)}:{ACTIONS[one.kind]}")]


def function_name(command: Command) -> str:
    return "_" + "_".join(("hakmem", *command.path))


def chooser(command: Command) -> str:
    """What a command does that has commands below it: names them, or goes on with the one that was named."""
    names = " ".join(quoted(f"{inner.path[-1]}:{brief(inner.summary)}") for inner in command.below)
    cases = "".join(f"        {inner.path[-1]}) {function_name(inner)} ;;\n" for inner in command.below)
    return (f"  local -a below=({names})\n  case $state in\n    command) _describe command below ;;\n    rest)\n"
            f"      case $words[1] in\n{cases}      esac\n      ;;\n  esac\n")


def function(command: Command) -> str:
    specs = [spec for option in command.options for spec in option_specs(option)]
    for position, one in enumerate(command.arguments, 1):
        specs += argument_spec(position, one)
    if command.below:
        specs += [quoted("1:command:->command"), quoted("*::argument:->rest")]
    joined = " \\\n    ".join(specs)
    runs_program = any(one.kind == "program" for one in command.arguments)
    flags = "-S -A '-*'" if runs_program else "-C" if command.below else ""
    state = "  local state line\n" if command.below else ""
    return (f"\n{function_name(command)}() {{\n{state}  _arguments -s {flags} \\\n    {joined}\n"
            f"{chooser(command) if command.below else ''}}}\n")


def script(tree: Command) -> str:
    functions = [function(command) for command in walk(tree)]
    return HEAD + "".join(functions[1:]) + functions[0] + '\n_hakmem "$@"\n'
