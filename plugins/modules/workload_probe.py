# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a command of the owner's and measures what it needs; the work is done in module_utils/measure/probe.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_probe
short_description: Run a workload and measure what it needs
version_added: 0.2.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - Runs a command, usually 20 to 50 iterations of a training, and watches VRAM, GPUs, processors, memory, swap and what it reads, with one
    sampling process that starts no programs and takes less than 1 % of one core.
  - Tells apart a command that completed, one that failed, ran out of GPU memory, was ended by the kernel for lack of memory, hung, or took
    too long.
  - The command is ended with everything it forked, whatever way the probe ends. A lost connection, or a killed module, ends it as well.
  - As a task it is announced (seconds, no bytes) before it begins, runs as a job on the host that outlives a lost connection, and its measurement is
    kept on the controller. With C(--check) it is only announced.
options:
  argv:
    description:
      - The command as a list of words, the program first. No shell is involved.
    type: list
    elements: str
    required: true
  chdir:
    description:
      - The folder to run it in, an absolute path.
    type: path
    default: /
  environment:
    description:
      - Variables added to the command's environment. Beside them C(PYTHONUNBUFFERED=1) and C(GPU_AUDIT_PROBE_FILE) are set.
      - Only the GPUs that C(CUDA_VISIBLE_DEVICES) leaves to the command are in the result.
      - A value is text or a number; V(true) and V(false) are spelled so.
    type: dict
    default: {}
  run_as:
    description:
      - The user to run it as. Needs root.
    type: str
  interval_seconds:
    description:
      - Seconds between two samples. Where a sample takes long they come less often, and the result says so.
    type: float
    default: 0.5
  timeout_seconds:
    description:
      - A command that takes longer is ended, and its outcome is C(timeout).
    type: float
    default: 600
  run_seconds:
    description:
      - Watch the command for this long, then end it. Its outcome is C(stopped), which is no failure.
    type: float
  iterations:
    description:
      - End the command after this many iterations. Its outcome is C(stopped), which is no failure.
      - Iterations are counted by O(iteration_pattern), O(progress_file) or the helper C(gpu_audit_probe.py). What is announced warns where
        none of them is there.
    type: int
  hang_seconds:
    description:
      - Without a new iteration for this long, the outcome is C(hang). Before the first one, or where iterations aren't told, any output,
        processor time, reading or use of a GPU counts as progress. V(0) never calls it that.
    type: float
    default: 300
  grace_seconds:
    description:
      - Seconds between C(SIGTERM) and C(SIGKILL) when the command is ended.
    type: float
    default: 5
  iteration_pattern:
    description:
      - A regular expression (Python) that matches once an iteration in a line of the output. Its groups may be named C(seconds),
        C(milliseconds), C(data_seconds), C(iteration), C(epoch). Without C(seconds) the time between two matches counts.
      - A line tells one iteration at most, and a match without a character none; an expression that matches an empty text is refused.
    type: str
  epoch_pattern:
    description:
      - The same for epochs, with a group C(seconds) where the line tells them.
    type: str
  memory_pattern:
    description:
      - A regular expression for the peak VRAM that the framework itself prints; one group, named C(bytes), C(kib), C(mib), C(gib), C(mb)
        or C(gb).
    type: str
  progress_file:
    description:
      - A file of JSON lines that the command appends to, relative to O(chdir). See docs/probe.md for its keys.
    type: str
  iterations_per_epoch:
    description:
      - How many iterations an epoch has, for its time where no whole epoch is run.
    type: int
  reserves:
    description:
      - The framework that takes VRAM ahead of need, such that what the driver counts isn't what the work needs. V(auto) looks for vLLM,
        SGLang, Triton, TGI, TensorRT-LLM, JAX, TensorFlow and RMM; V(none) says that there is none; any other word is the name.
      - RV(measurement.reservation) names it. VRAM then has a peak only where the framework tells its own figure.
    type: str
    default: auto
  output_tail_bytes:
    description:
      - How much of the end of the output is kept. V(0) keeps none.
    type: int
    default: 4000
  keep_command:
    description:
      - Keep arguments and environment in the measurement.
    type: bool
    default: false
  gpu_counts:
    description:
      - Run the command once for each of these numbers of GPUs (C(CUDA_VISIBLE_DEVICES); C(GPU_AUDIT_GPU_COUNT) has the number) and keep
        the times. The rest of the result is that of the largest number.
      - Numbers above the GPUs that are there are left out; where all of them are above, it is refused before anything is started.
      - The command must use every GPU that it is given (C(torchrun --nproc_per_node=gpu) does); where it doesn't, nothing follows from the times.
    type: list
    elements: int
  scaling_basis:
    description:
      - What is compared. V(step) is the mean iteration, where each GPU has a batch of its own, so that a step is more samples the more GPUs
        there are; V(epoch) the same whole work. A fixed batch that is split over the GPUs asks for V(epoch).
    type: str
    choices: [step, epoch]
    default: step
attributes:
  check_mode:
    description: Says how long it takes at most and starts nothing.
    support: full
notes:
  - Every measured value, how it is measured and what it costs is in docs/probe.md.
  - A program, folder or user that isn't there or may not be used is refused before the start, looked at as the command's user and with its
    PATH. What only the start can tell is the outcome C(not_started).
seealso:
  - module: trainops.gpu_audit.storage_benchmark
"""

EXAMPLES = r"""
- name: Run thirty iterations of a training and measure them
  trainops.gpu_audit.workload_probe:
    argv: [python3, train.py, --config, base.yml]
    chdir: /srv/train
    run_as: trainer
    iterations: 30
    timeout_seconds: 1800
    iteration_pattern: 'step \d+ .*time (?P<seconds>[\d.]+)s'

- name: Watch a server that reserves its VRAM for two minutes
  trainops.gpu_audit.workload_probe:
    argv: [/opt/venv/bin/vllm, serve, /models/base]
    run_seconds: 120
    memory_pattern: 'model weights take (?P<gib>[\d.]+)GiB'
"""

RETURN = r"""
measurement:
  description: The result that the measurement keeps; null is what could not be read.
  type: dict
  returned: not in check mode
  contains:
    outcome:
      description: C(completed), C(stopped), C(failed), C(oom_cuda), C(oom_host), C(timeout), C(hang) or C(not_started).
      type: str
      returned: always
      sample: completed
    error: {description: "Why it didn't start.", type: str, returned: always}
    exit_code: {description: "Of the command, null where a signal ended it.", type: int, returned: always, sample: 0}
    signal: {description: The signal that ended it., type: str, returned: always, sample: SIGKILL}
    stopped_for:
      description: "Why the probe ended it, null where it ended by itself: C(iterations), C(run_seconds), C(timeout), C(hang)."
      type: str
      returned: always
    duration_seconds: {description: From start to end., type: float, returned: always, sample: 93.4}
    window: {description: "What means are taken over, C(iterations) (from the first one on) or the whole C(run).",
      type: str, returned: always, sample: iterations}
    window_seconds: {description: How long that was., type: float, returned: always, sample: 71.5}
    out_of_memory:
      description: "For C(oom_cuda) and C(oom_host): C(at_start) (null where that isn't known), C(seconds), C(kills), C(source), C(line);
        else null."
      type: dict
      returned: always
    iterations: {description: "Iterations seen, null where nothing told them.", type: int, returned: always, sample: 30}
    iteration_seconds: {description: "C(mean), C(p50) and C(p95); the first is left out where there are five.",
      type: dict, returned: always,
      sample: {"mean": 1.21, "p50": 1.2, "p95": 1.31}}
    epoch_seconds: {description: One epoch., type: float, returned: always, sample: 3025.0}
    epoch_source: {description: "C(measured), or C(iterations) (their mean times the iterations of an epoch).",
      type: str, returned: always, sample: iterations}
    data_wait_fraction: {description: Share of the iterations that was waiting for data., type: float, returned: always, sample: 0.12}
    samples_per_second: {description: "Where the helper or the JSON lines tell samples.", type: float, returned: always, sample: 843.1}
    read_bytes: {description: Read from storage by the command and all it started., type: int, returned: always, sample: 53687091200}
    host_read_bytes: {description: "Read from block devices by the whole machine meanwhile.",
      type: int, returned: always, sample: 53687091200}
    read_call_bytes: {description: "Read by calls, page cache and pipes included.", type: int, returned: always, sample: 64424509440}
    read_bytes_per_second: {description: From storage., type: float, returned: always, sample: 524288000.0}
    gpus:
      description: The GPUs left to the command; with MIG one entry an instance.
      type: list
      elements: dict
      returned: always
      contains:
        uuid: {description: UUID of the GPU., type: str, returned: success, sample: GPU-5f2c1d0e-0000-4000-8000-000000000000}
        index: {description: Its index., type: int, returned: success, sample: 0}
        mig_uuid: {description: UUID of the instance., type: str, returned: success}
        name: {description: Product name., type: str, returned: success, sample: NVIDIA H100 80GB HBM3}
        memory_total_bytes: {description: All of its memory., type: int, returned: success, sample: 85520809984}
        memory_reserved_bytes: {description: What the driver keeps for itself; not in the peaks.,
          type: int, returned: success, sample: 549453824}
        memory_used_peak_bytes: {description: Most that was in use., type: int, returned: success, sample: 63350767616}
        memory_start_peak_bytes: {description: Most before the first iteration was told., type: int, returned: success, sample: 52613349376}
        memory_other_bytes: {description: In use before the command began., type: int, returned: success, sample: 0}
        memory_job_peak_bytes: {description: "Most that the driver counted for the command's own processes.",
          type: int, returned: success, sample: 62277025792}
        used_by_job: {description: "True where a process of the command held memory on it; null where none was seen.",
          type: bool, returned: success, sample: true}
        in_use: {description: "Whether the command used it: a process of it or a context's memory was seen there, and work or a fiftieth of
            the memory; null where that isn't known.", type: bool, returned: success, sample: true}
        utilization_mean_fraction: {description: Mean share of time with work on it., type: float, returned: success, sample: 0.91}
        utilization_p10_fraction: {description: A tenth of the time it was at or below this., type: float, returned: success, sample: 0.83}
        utilization_p50_fraction: {description: Median., type: float, returned: success, sample: 0.94}
        utilization_p90_fraction: {description: Nine tenths of the time it was at or below this.,
          type: float, returned: success, sample: 0.99}
        idle_fraction: {description: Share of time without work on it., type: float, returned: success, sample: 0.09}
        sm_activity_mean_fraction: {description: "Mean share of SMs at work (GPM, Hopper and newer).",
          type: float, returned: success, sample: 0.63}
        utilization_encoder_peak_fraction: {description: Peak use of the video encoder., type: float, returned: success, sample: 0.0}
        power_mean_watts: {description: Mean draw., type: float, returned: success, sample: 612.5}
        power_peak_watts: {description: Peak draw., type: float, returned: success, sample: 698.0}
        temperature_max_celsius: {description: Hottest., type: int, returned: success, sample: 67}
        clock_event_seconds: {description: Seconds during which each clock-event reason was on., type: dict, returned: success,
          sample: {"sw_power_cap": 12.5}}
    leftovers: {description: "Processes that held VRAM before: C(index), C(pid), C(name), C(used_memory_bytes).",
      type: list, elements: dict, returned: always, sample: []}
    framework: {description: The framework that told its own figures., type: str, returned: always, sample: torch}
    framework_peak_bytes: {description: "Its own peak, of the fullest GPU.", type: int, returned: always, sample: 58982400000}
    framework_reserved_bytes: {description: What its allocator held at most., type: int, returned: always, sample: 61203283968}
    reservation: {description: "The framework that takes VRAM ahead of need, such that the peak isn't what the work needs; null for none.",
      type: str, returned: always}
    cpu: {description: "C(busy_fraction), C(busiest_core_fraction), C(iowait_fraction), C(iowait_cores), C(busy_peak_fraction) of the CPUs
        that the command may use, C(job_cores), C(usable_cores), C(cpus) (how many CPUs those are).", type: dict, returned: always}
    memory: {description: "C(swap_in_bytes), C(swap_out_bytes), C(swap_bytes_per_second), C(major_faults), C(minor_faults),
        C(peak_rss_bytes), C(host_available_min_bytes), C(oom_kills).", type: dict, returned: always}
    pressure: {description: "Share of the time in which something waited for C(cpu), C(io) and C(memory), as the kernel counts it.",
      type: dict, returned: always, sample: {"cpu": 0.02, "io": 0.31, "memory": 0.0}}
    network: {description: "C(interface) that received most, C(received_bytes_per_second), C(link_fraction).", type: dict, returned: always}
    limiter: {description: "What held the GPUs back: C(thermal), C(power), C(swap), C(io_wait), C(host_cpu) (the command's own work), C(other_processes) (others
        keep the CPUs busy), C(network); null where nothing stands out.", type: str, returned: always}
    series: {description: "C(interval_seconds), C(t) (seconds since the start), C(gpu) (by index C(memory_used_bytes) and
        C(utilization_fraction)), C(cpu_busy_fraction), C(iowait_fraction); at most 180 points.", type: dict, returned: always}
    sampler: {description: "C(interval_seconds), C(samples), C(cpu_seconds) and C(watch_cpu_seconds): what the probe itself cost.",
      type: dict, returned: always}
    scaling: {description: "C(basis), and by number of GPUs C(seconds) and C(used_gpus) (how many of them the command used, null where that
        isn't known).", type: dict, returned: with O(gpu_counts),
      sample: {"basis": "step", "seconds": {"1": 1.02, "2": 1.05}, "used_gpus": {"1": 1, "2": 2}}}
    output_tail: {description: The end of the output., type: str, returned: where O(output_tail_bytes) is above 0}
    command: {description: "C(argv), C(chdir), C(environment), C(run_as).", type: dict, returned: with O(keep_command=true)}
    notes: {description: What a reader should know., type: list, elements: str, returned: always, sample: []}
plan: {description: "C(seconds) that it takes at most, and C(notes).",
  type: dict, returned: in check mode, sample: {"seconds": 645.0, "notes": []}}
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids: {description: Every GPU of the machine., type: list, elements: str, returned: not in check mode,
  sample: [GPU-5f2c1d0e-0000-4000-8000-000000000000]}
started: {description: When the command began (UTC)., type: str, returned: not in check mode, sample: "2026-11-29T12:00:00Z"}
finished_at: {description: When it ended (UTC)., type: str, returned: not in check mode, sample: "2026-11-29T12:01:33Z"}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "argv": {"type": "list", "elements": "str", "required": True},
    "chdir": {"type": "path", "default": "/"},
    "environment": {"type": "dict", "default": {}},
    "run_as": {"type": "str"},
    "interval_seconds": {"type": "float", "default": 0.5},
    "timeout_seconds": {"type": "float", "default": 600},
    "run_seconds": {"type": "float"},
    "iterations": {"type": "int"},
    "hang_seconds": {"type": "float", "default": 300},
    "grace_seconds": {"type": "float", "default": 5},
    "iteration_pattern": {"type": "str"},
    "epoch_pattern": {"type": "str"},
    "memory_pattern": {"type": "str"},
    "progress_file": {"type": "str"},
    "iterations_per_epoch": {"type": "int"},
    "reserves": {"type": "str", "default": "auto"},
    "output_tail_bytes": {"type": "int", "default": 4000},
    "keep_command": {"type": "bool", "default": False},
    "gpu_counts": {"type": "list", "elements": "int"},
    "scaling_basis": {"type": "str", "choices": ["step", "epoch"], "default": "step"},
}
# What a command was given may be secret: it is repeated nowhere.
_UNSAID = ("argv", "environment")


class _Module(AnsibleModule):
    """AnsibleModule with a silent entry in the host's log: no_log would hide the command's words everywhere else, the result included."""

    def _log_invocation(self):
        spec = self.argument_spec
        try:
            self.argument_spec = {name: dict(about, no_log=True) if name in _UNSAID else about for name, about in spec.items()}
            super()._log_invocation()
        finally:
            self.argument_spec = spec


def main():
    module = _Module(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.tame import tame
    known = {"machine_id": probe.machine_id(),
             "invocation": {"module_args": {name: value for name, value in module.params.items() if name not in _UNSAID}}}
    try:
        if module.check_mode:
            module.exit_json(changed=False, **tame(dict(known, plan=probe.plan(module.params))))
        answer = probe.measure(module.params)
    except probe.ProbeError as error:
        module.fail_json(**tame(dict(known, msg=str(error))))
    # An answer with a number or a text that no JSON has would be taken for none at all, or could not be stored.
    module.exit_json(changed=False, **tame(dict(known, **answer)))


if __name__ == "__main__":
    main()
