#!/usr/bin/env bash
# Kills training runs that write their file after each epoch, each at another moment, and continues them.
set -u
count=$1
# How many epochs a run has, as the metadata of its file says.
epochs_of() { grep -aom1 '"epoch":"[0-9]*"' "$1" | tr -dc 0-9; }
fine=0
for ((i = 1; i <= count; ++i)); do
  rm -f killed.safetensors
  hector train --graph g.safetensors --layer rgcn:8,relu --layer rgcn --epochs 100000 --checkpoint 1 \
    --out killed.safetensors --quiet >/dev/null 2>&1 &
  process=$!
  # Until it has begun to write, and a moment longer.
  until [ -s killed.safetensors ] || ! kill -0 $process 2>/dev/null; do sleep 0.02; done
  sleep "0.0$((i * 13 % 10))$((i * 7 % 10))"
  kill -9 $process
  wait $process 2>/dev/null
  # One epoch more than it has.
  epochs=$(epochs_of killed.safetensors)
  [ -n "$epochs" ] && hector train --resume killed.safetensors --graph g.safetensors --epochs $((epochs + 1)) \
    --quiet >/dev/null 2>&1 && [ "$(epochs_of killed.safetensors)" -eq $((epochs + 1)) ] && fine=$((fine + 1))
done
echo "$fine of $count runs went on"
