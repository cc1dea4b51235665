# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter nvidia_smi_facts: text in, the gpu document out."""

from __future__ import annotations

import json

import pytest

filters = pytest.importorskip("ansible_collections.trainops.gpu_audit.plugins.filter.nvidia_smi_facts", reason="needs ansible-core")

TEXT = ('<nvidia_smi_log><driver_version>570.00</driver_version><attached_gpus>1</attached_gpus>'
        '<gpu id="00000000:10:00.0"><product_name>NVIDIA TEST</product_name></gpu></nvidia_smi_log>')


def test_text_gives_the_document():
    read = filters.FilterModule().filters()["nvidia_smi_facts"]
    for text in (TEXT, TEXT.encode(), type("Tagged", (str,), {})(TEXT)):
        document = read(text)
        assert (document["state"], document["source"], document["driver_version"],
                document["gpus"][0]["name"]) == ("ok", "nvidia-smi", "570.00", "NVIDIA TEST")
        assert document["gpus"][0]["name"].__class__ is str and document["pci_device_count"] is None
        assert json.loads(json.dumps(document)) == document


def test_what_is_no_text_is_refused_in_words():
    for value in (None, 7, {"a": 1}, ["x"]):
        with pytest.raises(Exception, match="expected the text that `nvidia-smi -q -x` printed, got %s" % type(value).__name__):
            filters.nvidia_smi_facts(value)


def test_other_text_is_a_document_that_says_so():
    assert filters.nvidia_smi_facts("hello")["state"] == "tool_missing"


def test_an_absurd_number_costs_its_own_field():
    text = "<nvidia_smi_log><driver_version>580.95.05</driver_version><attached_gpus>1</attached_gpus><gpu id='00000000:1B:00.0'>" \
           "<product_name>NVIDIA H100 80GB HBM3</product_name><fb_memory_usage><total>%s MiB</total><used>5 MiB</used></fb_memory_usage></gpu>" \
           "</nvidia_smi_log>" % ("9" * 400)
    gpu = filters.FilterModule().filters()["nvidia_smi_facts"](text)["gpus"][0]
    assert gpu["memory_total_bytes"] is None and gpu["absent"]["memory_total_bytes"].startswith("failed")
    assert gpu["memory_used_bytes"] == 5 << 20
