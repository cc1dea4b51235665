# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whole sentences of a probe, as they are composed, are said in Chinese: what is announced, what kept a command from starting, notes."""

from __future__ import annotations

import errno
import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe_output, probe_plan, probe_result, probe_tree, sampler_gpu
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import nvml_ctypes
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints


def said(sentence):
    """The Chinese of a sentence, names of options and figures taken out."""
    return complaints.say(sentence, "zh")


def english_left(text):
    return re.findall(r"\b(?:the|is|isn't|are|or|give|nothing|not|that|there|GPUs)\b", text)


@pytest.mark.parametrize("stage, code", sorted(probe_tree._WORDS))
def test_why_a_command_could_not_be_started(stage, code):
    sentence = probe_tree._start_words(stage, OSError(code, "x"), ["/w/train"], "/w")
    assert "/w" in said(sentence) and not english_left(said(sentence)), said(sentence)


def test_a_name_that_is_nowhere():
    with pytest.raises(probe_tree.StartError) as caught:
        probe_tree.find_program("no-such-program", {"PATH": "/bin"}, "/")
    assert not english_left(said(str(caught.value))) and "no-such-program" in said(str(caught.value))
    assert not english_left(said(probe_tree._start_words("argv", UnicodeEncodeError("utf-8", "x", 0, 1, "surrogates"), ["/bin/x"], "/")))
    assert errno.ENOENT in {code for dummy, code in probe_tree._WORDS}


@pytest.mark.parametrize("options, file, printed", [
    ({"iterations": 3}, None, []), ({"iteration_pattern": "step"}, None, ["x"]), ({"iteration_pattern": "step"}, None, []),
    ({"iteration_pattern": "step", "progress_file": "p"}, None, ["x"]), ({"progress_file": "p"}, "", []), ({"progress_file": "p"}, "{}\n", [])])
def test_why_nothing_was_counted(tmp_path, options, file, printed):
    options = {"iterations": None, "iteration_pattern": None, "progress_file": None, **options}
    progress = probe_output.Progress(options["iteration_pattern"])
    for line in printed:
        progress.line(line, 1.0)
    follower = probe_output.Follower(str(tmp_path / "p")) if options["progress_file"] else None
    if file is not None:
        (tmp_path / "p").write_text(file)
    for line in follower.read() if follower else ():
        progress.json_line(line, 1.0)
    note, = probe_result.uncounted(options, progress, follower)
    assert not english_left(said(note)), said(note)


@pytest.mark.parametrize("options", [
    {"iterations": 3}, {"gpu_counts": [1, 2]}, {"gpu_counts": [1, 4], "scaling_basis": "epoch"}, {"gpu_counts": [4]}, {"gpu_counts": [1]}])
@pytest.mark.parametrize("count", [0, 2])
def test_what_is_announced_or_refused(tmp_path, options, count):
    gpus = [{"index": number, "uuid": "GPU-%d" % number, "mig_uuid": None, "name": "x"} for number in range(count)]
    try:
        notes = probe_plan.plan({"argv": ["sh"], "chdir": str(tmp_path), **options}, lambda: {"gpus": gpus, "error": None})["notes"]
    except probe_plan.ProbeError as error:
        notes = [str(error)]
    assert notes and not any(english_left(said(note)) for note in notes), [said(note) for note in notes]


@pytest.mark.parametrize("words", [*probe_result._READINGS.values()])
def test_what_a_driver_does_not_tell(words):
    assert not english_left(said("GPU 3: %s isn't known: Insufficient Permissions" % words).replace("list of", ""))


def test_a_host_without_the_driver_s_library():
    words = sampler_gpu.driver_words(nvml_ctypes.NVMLError(nvml_ctypes.LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"))
    assert words.startswith("no NVIDIA driver library") and sampler_gpu.driver_words(nvml_ctypes.NVMLError(9, "Driver Not Loaded")) == "Driver Not Loaded"
    with pytest.raises(probe_plan.ProbeError) as caught:
        probe_plan.plan({"argv": ["sh"], "gpu_counts": [1]}, lambda: {"gpus": [], "error": words})
    for sentence in ("GPUs not sampled: %s" % words, str(caught.value)):
        assert not english_left(said(sentence)), said(sentence)
