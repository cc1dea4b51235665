# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arithmetic of a VRAM estimate: pure functions of numbers, bytes out. docs/vram.md has each formula with its source.

`shape` is a map with hidden_size, layers, heads, kv_heads, head_dim, ffn_size, mlp_matrices (2 or 3) and, where they count, vocab_size,
tied_embeddings, sequence_length.
"""

from __future__ import annotations

GIB = 2**30
# torch 2.1.1 with lazy loading of kernels on an A100; eager loading took 0.92 GiB.
CONTEXT_BYTES = int(0.47 * GIB)
# torch.distributed and NCCL brought 1 to 2 GiB more; the middle.
COMMUNICATION_BYTES = int(1.5 * GIB)
# DeepSpeed's defaults: elements of one all-gather bucket, parameters alive at once under ZeRO-3.
BUCKET_ELEMENTS = 5 * 10**8
MAX_LIVE_PARAMETERS = 10**9
# Total memory of inference is planned at 1.2 x weights at least; a KV cache that is larger comes on top.
INFERENCE_WORKSPACE = 0.2
# Tokens of one prefill step; longer prompts go in pieces.
PREFILL_TOKENS = 8192


def embedding_parameters(shape):
    """Token embeddings, twice where input and output have their own."""
    return shape["vocab_size"] * shape["hidden_size"] * (1 if shape.get("tied_embeddings") else 2)


def layer_parameters(shape):
    """One transformer layer: attention, MLP, norms and biases (8 h)."""
    hidden = shape["hidden_size"]
    attention = 2 * hidden * shape["head_dim"] * (shape["heads"] + shape["kv_heads"])
    return attention + shape["mlp_matrices"] * hidden * shape["ffn_size"] + 8 * hidden


def parameters(shape):
    """Parameters of a transformer. Learned positions are counted for the GPT kind (2 matrices an MLP) where a sequence length is given."""
    positions = shape["hidden_size"] * (shape.get("sequence_length") or 0) if shape["mlp_matrices"] == 2 else 0
    return embedding_parameters(shape) + positions + shape["layers"] * layer_parameters(shape) + 2 * shape["hidden_size"]


def largest_layer(shape):
    """Parameters of the largest single layer: a block or an embedding."""
    return max(layer_parameters(shape), shape["vocab_size"] * shape["hidden_size"])


def adapter_parameters(shape, rank):
    """LoRA on every linear matrix of the layers: rank x (in + out) each."""
    hidden, queries = shape["hidden_size"], shape["heads"] * shape["head_dim"]
    keys = shape["kv_heads"] * shape["head_dim"]
    attention = 2 * (hidden + queries) + 2 * (hidden + keys)
    return shape["layers"] * rank * (attention + shape["mlp_matrices"] * (hidden + shape["ffn_size"]))


def layer_activation_units(shape, width, copies=None):
    """Bytes a layer keeps for the backward pass without the attention matrix, in units of sequence x batch x hidden.

    GPT kind: 16 B + 2 with B = `width` bytes an element: 34 at 16 bit. Gated kind: copies of one such tensor, by a line through four
    measured models: 12.25 + 4.5 x ffn / hidden (28 for Llama-3.1-8B).
    """
    if copies is not None:
        return copies * width
    if shape["mlp_matrices"] == 3:
        return (12.25 + 4.5 * shape["ffn_size"] / shape["hidden_size"]) * width
    return 16 * width + 2


def activations(shape, sequence, batch, recompute="none", flash=False, width=2, copies=None, tensor=1, sequence_parallel=False):
    """(bytes of all layers, bytes of the one layer that is recomputed at a time).

    recompute none: units + (2 B + 1) a s / h; selective, or flash attention: the attention matrix drops out; full: one input tensor
    a layer, and one whole layer while it is recomputed. Of 34 units tensor parallelism shares out 24, with sequence parallelism all.
    """
    tensor_bytes = sequence * batch * shape["hidden_size"]
    units = layer_activation_units(shape, width, copies)
    kept_whole = units * 10 / 34 if not sequence_parallel else 0
    score = 0 if flash else (2 * width + 1) * shape["heads"] * sequence / shape["hidden_size"]
    shared = units - kept_whole
    if recompute == "full":
        layer = tensor_bytes * (kept_whole + (shared + score) / tensor)
        inputs = width * (tensor_bytes / tensor if sequence_parallel else tensor_bytes)
        # Never more than keeping every layer: with one layer there is nothing to save.
        return min(inputs * shape["layers"], layer * (shape["layers"] - 1)), layer
    if recompute == "selective":
        score = 0
    return tensor_bytes * (kept_whole + (shared + score) / tensor) * shape["layers"], 0


def kv_cache(layers, kv_heads, head_dim, width, tokens, sequences):
    """Keys and values of every layer: 2 x layers x kv heads x head size x bytes, a token."""
    return 2 * layers * kv_heads * head_dim * width * tokens * sequences


def host_bytes(stage, offload, params, largest, gpus_per_host, hosts):
    """Host memory of DeepSpeed, of one host, buffers (x 1.5) included; `stage` 2 or 3. Parameters are created in shards (zero_init)."""
    gpus = gpus_per_host * hosts
    if stage == 2:
        return params * max(4 * gpus, 16) * 1.5 if offload != "none" else params * 4 * gpus_per_host * 1.5
    if offload == "all":
        return params * 18 / hosts * 1.5
    if offload == "optimizer":
        return params * 16 / hosts * 1.5
    return largest * 4 * gpus_per_host * 1.5
