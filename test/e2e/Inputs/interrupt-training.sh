#!/usr/bin/env bash
# Ends a training run that has begun as Ctrl-C does: interrupt-training.sh NAME OPTION... keeps it in NAME.safetensors.
# SIGTERM, since shells have background processes ignore SIGINT.
name=$1
shift
hector train "$@" --epochs 1000000 --checkpoint 5 --out "$name.safetensors" --metrics "$name.jsonl" --svg "$name.svg" \
  --quiet &
process=$!
until [ -s "$name.safetensors" ] || ! kill -0 $process 2>/dev/null; do sleep 0.02; done
kill -TERM $process
wait $process
echo "exit $?"
