# Runs every model of a folder on a graph, forward and backward: run_models.sh FOLDER GRAPH. Sizes come from the errors
# that ask for them. There is one head, because in `gat.hec` the result has `d_out` numbers, and these are `heads * d`.
count=0
for model in "$1"/*.hec; do
  sizes=
  for round in 1 2; do
    sizes="$sizes $(hector run "$model" --graph "$2" --init 0 $sizes --out model.safetensors 2>&1 |
      sed -n 's/.*add `\(--size [a-z_]*\)=.*/\1=6/p' | sed 's/heads=6/heads=1/')"
  done
  hector run "$model" --graph "$2" --init 0 $sizes --grad --out model.safetensors > /dev/null && count=$((count + 1))
done
echo "ran $count of $(ls "$1"/*.hec | wc -l) models"
