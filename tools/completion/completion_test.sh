#!/bin/bash
# Presses TAB where no one is looking: completion_test.sh HECTOR [zsh] checks what would be offered.
set -u
hector=$1 shell=${2:-bash}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/folder"
touch "$work/layer.hec" "$work/case.safetensors" "$work/case.txt"
cd "$work" || exit 1
failures=0

# Prints what is offered for the last of the given words, a line each, sorted.
offered() {
  if [[ $shell == zsh ]]; then
    zsh -f "$here/offered.zsh" "$here/_hector" "$hector" "$@"
  else
    (
      source "$here/hector.bash"
      COMP_WORDS=("$hector" "$@") COMP_CWORD=$#
      _hector
      printf '%s\n' "${COMPREPLY[@]}"
    )
  fi | sort
}

# expect "what is offered, sorted" words...
expect() {
  local wanted=$1 given
  shift
  given=$(offered "$@" | tr '\n' ' ' | sed 's/^ *//; s/ *$//')
  if [[ $given != "$wanted" ]]; then
    printf 'for "hector %s": expected "%s", offered "%s"\n' "$*" "$wanted" "$given"
    failures=$((failures + 1))
  fi
}


commands=$("$hector" --help | awk '/^[^ ]/ { keep = $0 == "Subcommands:" } keep && /^  [^ ]/ { print $1 }' | sort)
expect "$(tr '\n' ' ' <<< "$commands" | sed 's/ *$//')" ""
for command in $commands; do
  options=$("$hector" $command --help | grep -oE '^  -[^ ]+' | tr ',' '\n' | sed 's/{.*//' | tr -d ' ' | sort)
  expect "$(tr '\n' ' ' <<< "$options" | sed 's/ *$//')" "$command" -
done
for command in $("$hector" data --help | awk '/^[^ ]/ { keep = $0 == "Subcommands:" } keep && /^  [^ ]/ { print $1 }'); do
  options=$("$hector" data "$command" --help | grep -oE '^  -[^ ]+' | tr ',' '\n' | sed 's/{.*//' | tr -d ' ' | sort)
  expect "$(tr '\n' ' ' <<< "$options" | sed 's/ *$//')" data "$command" -
done
expect "case.safetensors folder" data info ""
expect "bf16 f16 f32 f64 tf32" run --dtype ""
expect "cpu cuda interp" run layer.hec --backend ""
expect "default none" run --passes ""
expect "folder layer.hec" run ""
expect "case.safetensors folder" run layer.hec --case ""
expect "case.safetensors folder" run layer.hec --graph ""
expect "case.safetensors folder" run layer.hec --tensors ""
expect "" run layer.hec --bind ""
expect "" run layer.hec --init ""
expect "case.safetensors case.txt folder layer.hec" compile layer.hec -o ""
expect "case.safetensors folder" compile layer.hec --graph ""
expect "cpp cuda flow flow-opt groups kern plan summary" compile --emit ""
expect "default none" compile layer.hec --passes ""
expect "" compile layer.hec --cache ""
expect "cpu h200 here" compile layer.hec --machine ""
expect "" run --set ""
expect "folder layer.hec" run --grad ""
expect "" run --size d
expect "" unheard-of ""
if [[ $shell == bash ]]; then
  expect "run" ru
  expect "--case" run --ca
  expect "tf32" run --dtype tf
  expect "bf16" run --dtype = bf
  expect "bf16 f16 f32 f64 tf32" run --dtype =
  expect "layer.hec" run la
else
  expect "bf16 f16 f32 f64 tf32" run --dtype=
fi
exit $((failures > 0))
