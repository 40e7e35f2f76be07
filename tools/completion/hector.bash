# Bash completion for hector. Commands, options, their values ({a,b}) and file endings ((.hec)) are read from
# `hector --help`, so that there is no list here that could go stale.

# Prints one entry of the help text on standard input: the line of an option or positional and those that continue it.
_hector_entry() {
  awk -v name="$1" '
    /^[^ ]/ || /^$/ { keep = 0 }
    /^  [^ ]/ { keep = 0; count = split($1, names, ","); for (i = 1; i <= count; ++i) keep = keep || names[i] == name }
    keep { print }'
}

# Prints all options of the help text on standard input, aliases apart; some help texts group them under headings.
_hector_options() {
  awk '/^  -/ { count = split($1, names, ","); for (i = 1; i <= count; ++i) { sub(/{.*/, "", names[i]); print names[i] } }'
}

# Prints the first words of the help entries below a heading: "Subcommands:".
_hector_names() {
  awk -v heading="$1" '
    /^[^ ]/ { keep = $0 == heading }
    keep && /^  [^ ]/ { count = split($1, names, ","); for (i = 1; i <= count; ++i) print names[i] }'
}

# Offers files that end as the entry says, and folders on the way to them.
_hector_files() {
  local endings ending IFS=$'\n'
  endings=$(grep -oE '\(\.[a-z0-9.]+\)' <<< "$1" | tr -d '()')
  compopt -o filenames 2> /dev/null
  if [[ -z $endings ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -d -- "$current"))
  for ending in $endings; do
    COMPREPLY+=($(compgen -f -X "!*$ending" -- "$current"))
  done
}

_hector() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  # Readline splits --dtype=f64 at the sign.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi

  # A command may have several words: each must be a subcommand of those before it.
  local command= word help isGroup=1
  help=$("$program" --help 2> /dev/null) || return
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    [[ $word != -* ]] || continue
    _hector_names Subcommands: <<< "$help" | grep -qxF -- "$word" || return
    command="$command $word"
    help=$("$program" $command --help 2> /dev/null) || return
    if [[ -z $(_hector_names Subcommands: <<< "$help") ]]; then
      isGroup=
      break
    fi
  done

  if [[ $previous == -* ]]; then
    local entry=$(_hector_entry "$previous" <<< "$help")
    if [[ $entry =~ :\{([^}]*)\} ]]; then
      COMPREPLY=($(compgen -W "${BASH_REMATCH[1]//,/ }" -- "$current"))
      return
    elif [[ $entry =~ ^[[:space:]]+[^[:space:]]+\ LIST ]]; then
      COMPREPLY=($(compgen -W "none default" -- "$current"))
      return
    elif [[ $entry =~ ^[[:space:]]+[^[:space:]]+\ (FILE|FOLDER) ]]; then
      _hector_files "$entry"
      return
    elif [[ $entry =~ ^[[:space:]]+[^[:space:]]+\ [^[:space:]\[] ]]; then
      return # a name or a number: nothing to offer, unless it may be left out: [NAMES]
    fi
  fi

  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(_hector_options <<< "$help")" -- "$current"))
  elif [[ -n $isGroup ]]; then
    COMPREPLY=($(compgen -W "$(_hector_names Subcommands: <<< "$help")" -- "$current"))
  else
    local positionals=$(awk '/^[^ ]/ { keep = $0 == "Positionals:" } keep' <<< "$help")
    if [[ -n $positionals ]]; then
      _hector_files "$positionals"
    fi
  fi
}

complete -F _hector hector
