"""The PyTorch versions of each layer."""

import torch_grouped
import torch_index_add
import torch_sparse

LAYERS = {
    model: {"index_add": torch_index_add.LAYERS[model], "sparse": torch_sparse.LAYERS[model]}
    for model in torch_sparse.LAYERS
}
for model in torch_grouped.LAYERS:
    LAYERS[model] |= torch_grouped.LAYERS[model]
