# Runs the zsh completion with stand-ins for the shell's own functions: offered.zsh COMPLETION PROGRAM WORDS...
# Prints every word that would be offered. Zsh itself then drops those that do not begin as typed.
completion=$1
shift
words=("$@")
CURRENT=$#words
compadd() { shift; print -l -- "$@"; }
compset() { return 0; }
_message() { }
# A plain version of the shell's: names that match, and folders.
_files() {
  setopt local_options null_glob extended_glob
  local pattern='*'
  [[ ${1:-} == -g ]] && pattern=$2
  print -l -- ${=~pattern} *(/) | sort -u
}
source $completion
_hector
