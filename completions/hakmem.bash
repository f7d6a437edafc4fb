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
    ['run']='--peers --runs --peer --allocators --load --rest --html --stdin --secure --build --library --help -h'
    ['exec']='--mode --price --secure --stats --profile --children --watch --set --build --library --help -h'
    ['top']='--once --json --prometheus --interval --help -h'
    ['report']='--output -o --seconds --file --help -h'
    ['profile']='--output -o --leaks --peak --temporary --since --for --rows --by --seconds --help -h'
    ['explain']='--seconds --json --help -h'
    ['doctor']='--json --secure --build --library --help -h'
    ['address']='--pid -p --json --help -h'
    ['crash']='--help -h'
    ['decisions']='--replay --csv --last --build --help -h'
    ['env']='--shell --mode --price --secure --set --build --library --help -h'
    ['learn']='--output -o --runs --mode --build --library --help -h'
    ['path']='--flavour --build --help -h'
    ['policy']='--help -h'
    ['replay']='--allocator --peers --rounds --touch --process --build --library --help -h'
    ['sites']='--trace --least --rows --by-depth --csv --build --library --help -h'
    ['stats']='--json --prometheus --help -h'
    ['trace']='--output -o --build --library --help -h'
  )
  local -A values=(
    ['run --runs']='none'
    ['run --peer']='file'
    ['run --allocators']='none'
    ['run --load']='none'
    ['run --rest']='none'
    ['run --html']='file'
    ['run --stdin']='file'
    ['run --build']='folder'
    ['run --library']='file'
    ['exec --mode']='none'
    ['exec --price']='none'
    ['exec --set']='none'
    ['exec --build']='folder'
    ['exec --library']='file'
    ['top --interval']='none'
    ['report --output']='file'
    ['report -o']='file'
    ['report --seconds']='none'
    ['report --file']='file'
    ['profile --output']='file'
    ['profile -o']='file'
    ['profile --since']='none'
    ['profile --for']='none'
    ['profile --rows']='none'
    ['profile --by']='none'
    ['profile --seconds']='none'
    ['explain --seconds']='none'
    ['doctor --build']='folder'
    ['doctor --library']='file'
    ['address --pid']='none'
    ['address -p']='none'
    ['decisions --replay']='file'
    ['decisions --last']='none'
    ['decisions --build']='folder'
    ['env --shell']='none'
    ['env --mode']='none'
    ['env --price']='none'
    ['env --set']='none'
    ['env --build']='folder'
    ['env --library']='file'
    ['learn --output']='file'
    ['learn -o']='file'
    ['learn --runs']='none'
    ['learn --mode']='none'
    ['learn --build']='folder'
    ['learn --library']='file'
    ['path --flavour']='none'
    ['path --build']='folder'
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
  )
  local -A below=(
    ['.']='run exec top report profile explain doctor address crash decisions env learn path policy replay sites stats trace'
  )
  local -A rest=(
    ['run']='program'
    ['exec']='program'
    ['top']='file'
    ['report']='file'
    ['profile']='file'
    ['explain']='none'
    ['doctor']='program'
    ['address']='none'
    ['crash']='file'
    ['decisions']='file'
    ['learn']='program'
    ['policy']='file'
    ['replay']='file'
    ['sites']='program'
    ['stats']='file'
    ['trace']='program'
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
