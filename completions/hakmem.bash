# SPDX-License-Identifier: MIT OR Apache-2.0
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
  local -A options=(
    ['.']='--version --help -h'
    ['doctor']='--json --build --library --help -h'
    ['env']='--shell --mode --price --set --build --library --help -h'
    ['exec']='--mode --price --stats --profile --children --set --build --library --help -h'
    ['path']='--flavour --build --help -h'
    ['run']='--peers --runs --peer --allocators --load --rest --html --stdin --build --library --help -h'
    ['address']='--pid -p --json --help -h'
    ['explain']='--seconds --json --help -h'
    ['profile']='--output -o --leaks --rows --by --help -h'
    ['report']='--output -o --seconds --file --help -h'
    ['stats']='--json --prometheus --help -h'
    ['top']='--interval --help -h'
    ['replay']='--allocator --peers --rounds --touch --process --build --library --help -h'
    ['sites']='--trace --least --rows --by-depth --csv --build --library --help -h'
    ['trace']='--output -o --build --library --help -h'
    ['decisions']='--replay --csv --last --build --help -h'
    ['learn']='--output -o --runs --mode --build --library --help -h'
    ['policy']='--help -h'
  )
  local -A values=(
    ['doctor --build']='folder'
    ['doctor --library']='file'
    ['env --shell']='none'
    ['env --mode']='none'
    ['env --price']='none'
    ['env --set']='none'
    ['env --build']='folder'
    ['env --library']='file'
    ['exec --mode']='none'
    ['exec --price']='none'
    ['exec --set']='none'
    ['exec --build']='folder'
    ['exec --library']='file'
    ['path --flavour']='none'
    ['path --build']='folder'
    ['run --runs']='none'
    ['run --peer']='file'
    ['run --allocators']='none'
    ['run --load']='none'
    ['run --rest']='none'
    ['run --html']='file'
    ['run --stdin']='file'
    ['run --build']='folder'
    ['run --library']='file'
    ['address --pid']='none'
    ['address -p']='none'
    ['explain --seconds']='none'
    ['profile --output']='file'
    ['profile -o']='file'
    ['profile --rows']='none'
    ['profile --by']='none'
    ['report --output']='file'
    ['report -o']='file'
    ['report --seconds']='none'
    ['report --file']='file'
    ['top --interval']='none'
    ['replay --allocator']='file'
    ['replay --rounds']='none'
    ['replay --touch']='none'
    ['replay --process']='none'
    ['replay --build']='folder'
    ['replay --library']='file'
    ['sites --trace']='file'
    ['sites --least']='none'
    ['sites --rows']='none'
    ['sites --csv']='file'
    ['sites --build']='folder'
    ['sites --library']='file'
    ['trace --output']='file'
    ['trace -o']='file'
    ['trace --build']='folder'
    ['trace --library']='file'
    ['decisions --replay']='file'
    ['decisions --last']='none'
    ['decisions --build']='folder'
    ['learn --output']='file'
    ['learn -o']='file'
    ['learn --runs']='none'
    ['learn --mode']='none'
    ['learn --build']='folder'
    ['learn --library']='file'
  )
  local -A below=(
    ['.']='doctor env exec path run address explain profile report stats top replay sites trace decisions learn policy'
  )
  local -A rest=(
    ['doctor']='program'
    ['exec']='program'
    ['run']='program'
    ['address']='none'
    ['explain']='none'
    ['profile']='file'
    ['report']='file'
    ['stats']='file'
    ['top']='none'
    ['replay']='file'
    ['sites']='program'
    ['trace']='program'
    ['decisions']='file'
    ['learn']='program'
    ['policy']='file'
  )

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
