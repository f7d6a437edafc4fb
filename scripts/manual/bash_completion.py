# SPDX-License-Identifier: MIT OR Apache-2.0
"""completions/hakmem.bash: tables of what stands where, and one function that reads them."""

from __future__ import annotations

from commands import Command, walk

# The keys are the command's words with a dash between: "" is hakmem itself.
HEAD = """# SPDX-License-Identifier: MIT OR Apache-2.0
# hakmem.bash: completion of hakmem(1) for bash. Made by scripts/manual: not to be edited.

_hakmem_compgen() {
  case $1 in
    program) mapfile -t COMPREPLY < <(compgen -c -- "$2"; compgen -f -- "$2") ;;
    folder) mapfile -t COMPREPLY < <(compgen -d -- "$2") && compopt -o filenames 2>/dev/null ;;
    file) mapfile -t COMPREPLY < <(compgen -f -- "$2") && compopt -o filenames 2>/dev/null ;;
    words) mapfile -t COMPREPLY < <(compgen -W "$3" -- "$2") ;;
  esac
}

# The words of a program that hakmem runs are that program's to complete, where bash-completion is there to ask it.
_hakmem_of_program() {
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif [ "$1" -eq "$COMP_CWORD" ]; then
    _hakmem_compgen program "${COMP_WORDS[COMP_CWORD]}"
  else
    _hakmem_compgen file "${COMP_WORDS[COMP_CWORD]}"
  fi
}

_hakmem() {
"""
TAIL = """
  local at='' i word value='' current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [ -n "$value" ]; then
      value=''
    elif [ "$word" = -- ]; then
      if [ "${rest[${at:-.}]}" = program ]; then _hakmem_of_program $((i + 1)); else _hakmem_compgen file "$current"; fi
      return
    elif [[ $word == -* ]]; then
      value=${values[${at:-.} $word]}
    elif [[ " ${below[${at:-.}]} " == *" $word "* ]]; then
      at=${at:+$at-}$word
    elif [ "${rest[${at:-.}]}" = program ]; then
      _hakmem_of_program "$i"
      return
    fi
  done
  if [ -n "$value" ]; then
    _hakmem_compgen "$value" "$current"
  elif [[ $current == -* ]]; then
    _hakmem_compgen words "$current" "${options[${at:-.}]}"
  elif [ -n "${below[${at:-.}]}" ]; then
    _hakmem_compgen words "$current" "${below[${at:-.}]}"
  elif [ "${rest[${at:-.}]}" = program ]; then
    _hakmem_of_program "$COMP_CWORD"
  else
    _hakmem_compgen "${rest[${at:-.}]}" "$current"
  fi
}

complete -F _hakmem hakmem
"""


def key(command: Command) -> str:
    return "-".join(command.path) or "."


def table(name: str, rows: dict[str, str]) -> str:
    lines = "".join(f"    [{row!r}]='{words}'\n" for row, words in rows.items())
    return f"  local -A {name}=(\n{lines}  )\n"


def script(tree: Command) -> str:
    commands = list(walk(tree))
    options = {key(one): " ".join(name for option in one.options for name in option.names) for one in commands}
    values = {f"{key(one)} {name}": option.kind
              for one in commands for option in one.options if option.metavar for name in option.names}
    below = {key(one): " ".join(inner.path[-1] for inner in one.below) for one in commands if one.below}
    rest = {key(one): one.arguments[0].kind for one in commands if one.arguments}
    tables = {"options": options, "values": values, "below": below, "rest": rest}
    return HEAD + "".join(table(name, rows) for name, rows in tables.items()) + TAIL
