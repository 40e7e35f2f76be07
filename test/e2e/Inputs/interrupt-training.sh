#!/usr/bin/env bash
# Ends a training run that has begun as Ctrl-C does. SIGTERM, since shells have background processes ignore SIGINT.
hector train --graph g.safetensors --layer rgcn:8,relu --layer rgcn --epochs 1000000 --checkpoint 5 \
  --out stopped.safetensors --quiet &
process=$!
until [ -s stopped.safetensors ] || ! kill -0 $process 2>/dev/null; do sleep 0.02; done
kill -TERM $process
wait $process
echo "exit $?"
