# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of this name; nothing here runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Estimate the VRAM of a job before a machine is rented
version_added: 0.2.0
description:
  - Sizes the memory of one GPU part by part, and shows which boards hold the job at the peak and how many of each are needed.
  - Runs on the controller and contacts no host.
  - Without the three base figures of the workload form it says so and sizes nothing. That is no failure; input that is wrong is one.
options:
  model:
    description: The model and how it is to be run. C(docs/vram-fields.md) of the collection lists the fields.
    type: dict
    required: true
  workload:
    description: The workload form, as C(gpu_audit_workload).
    type: dict
  language:
    description: Language of the table.
    type: str
    choices: [en, zh]
    default: en
  file:
    description:
      - Where the plan is written, C(plan.json) and C(plan.md) beside each other. A folder, or a path whose extension is replaced.
      - Empty means nothing is written.
    type: path
attributes:
  check_mode:
    support: full
    description: The plan is shown and no file is written.
  diff_mode:
    support: none
    description: The table says all there is.
seealso:
  - plugin: trainops.gpu_audit.vram_estimate
    plugin_type: filter
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Plan a fine-tuning job
  trainops.gpu_audit.plan:
    model:
      parameters: 8B
      layers: 32
      hidden_size: 4096
      heads: 32
      kv_heads: 8
      ffn_size: 14336
      mlp_matrices: 3
      vocab_size: 128256
      sequence_length: 8192
      method: qlora
    workload:
      kind: finetuning
      input_sample_bytes: 32 KiB
      batch_size: 2
      hours_per_day: 8
    file: ./plan.json
  delegate_to: localhost
"""

RETURN = r"""
msg:
  description: The answer in a sentence.
  type: str
  returned: always
plan:
  description: The plan, as the filter P(trainops.gpu_audit.vram_estimate#filter) gives it.
  type: dict
  returned: when the input is right
files:
  description: Paths of what was written, or would be in check mode, by format.
  type: dict
  returned: when O(file) is given
  sample: {json: /home/me/plan.json, md: /home/me/plan.md}
"""
