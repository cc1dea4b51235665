# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A form and a model that plans are made of."""

from __future__ import annotations

FORM = {"kind": "training", "input_sample_bytes": "32 KiB", "batch_size": 1, "hours_per_day": 20}
LLAMA = {
    "parameters": "8.03B",
    "layers": 32,
    "hidden_size": 4096,
    "heads": 32,
    "kv_heads": 8,
    "ffn_size": 14336,
    "mlp_matrices": 3,
    "vocab_size": 128256,
    "sequence_length": 4096,
}
