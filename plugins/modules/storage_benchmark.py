# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures how fast the storage under a directory is, with fio; the work is done in module_utils/measure/storage.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_benchmark
short_description: Measure the storage under a directory with fio
version_added: 0.2.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - Runs named fio jobs in a folder of its own below O(path), removes everything it wrote, and returns a measurement that audits judge.
  - As a task it is announced (bytes and seconds) before it begins, runs as a job on the host that outlives a lost connection, and its
    measurement is kept on the controller. With C(--check) it is only announced.
  - Whatever ends it (success, an error, a time limit, C(SIGTERM), C(SIGKILL), a lost connection), a watcher process in a session of its
    own ends fio and removes the folder.
options:
  path:
    description:
      - The directory to measure. It must exist and be writable; there is no default. A device is refused, and so is a file system
        without room for the test (bytes and inodes). While another storage test runs there on this host, this one fails.
    type: path
    required: true
  jobs:
    description:
      - What to measure, one after another. An empty list or another name is refused.
      - V(dataset_read) reads large files in sequence, buffered. With nothing else given it is exactly C(--rw=read --bs=1M --size=4G
        --numjobs=4 --runtime=60 --group_reporting).
      - V(small_files) opens, reads and closes many files of O(sample_bytes) in random order.
      - V(random_read) reads 4 KiB at random places with 64 requests outstanding, past the page cache where the file system allows that.
      - V(checkpoint_write) writes one large file in sequence and waits until it is on the disk.
      - V(mixed) reads like V(dataset_read) while a checkpoint is written, both past the page cache where the file system allows that.
    type: list
    elements: str
    default: [dataset_read]
  quick:
    description:
      - A first look with little data (256 MiB and 10 s a reader, 2000 small files). The measurement says that it is one.
    type: bool
    default: false
  size_bytes:
    description:
      - Bytes that each reader or writer works on, 1 MiB to 1 PiB. 4 GiB when not given, 256 MiB with O(quick=true).
      - A task may give text such as C(1 GiB) for this and for O(sample_bytes).
    type: int
  runtime_seconds:
    description:
      - Seconds after which a job ends even though not all bytes were read, at most 604800. 60 when not given, 10 with O(quick=true).
    type: int
  numjobs:
    description:
      - How many readers work at the same time, at most 4096. 4 when not given.
    type: int
  sample_bytes:
    description:
      - Size of one small file, best the workload form's C(input_sample_bytes). 128 KiB when not given.
    type: int
  file_count:
    description:
      - How many small files (at most 1000000000), fewer where they would be more bytes than the other jobs use. 20000 when not given,
        2000 with O(quick=true).
    type: int
  timeout_seconds:
    description:
      - Seconds after which the fio of one job counts as hanging and is ended. When not given, what laying out its files takes at 20 MB/s,
        its time, and 30 s to spare.
    type: int
  start_at:
    description:
      - The moment (seconds since 1970) at which the first job begins to read, after its files were laid out. For several hosts on one
        shared file system; their clocks have to agree. At most an hour ahead.
    type: float
  hosts_at_once:
    description:
      - How many hosts measure this file system at the same time, for the record. Above 1 other tests in the directory are expected.
    type: int
    default: 1
  alone_bytes_per_second:
    description:
      - What this host read alone from the shared file system, so that the measurement holds the ratio.
    type: float
  fio:
    description:
      - Path of the fio program (3.0 or newer), or its name on the search path. Looked for when not given.
    type: path
extends_documentation_fragment:
  - trainops.gpu_audit.measuring
attributes:
  check_mode:
    details: Looks at the directory and returns RV(plan).
notes:
  - fio has to be installed; the role P(trainops.gpu_audit.prepare#role) can do that.
  - Figures of a virtual machine's disk may come from a cache of the machine below it, which nothing inside can see.
seealso:
  - plugin: trainops.gpu_audit.fio_facts
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Measure a dataset's disk as the audit guide does
  trainops.gpu_audit.storage_benchmark:
    path: /data

- name: A first look, small files of the workload's size included
  trainops.gpu_audit.storage_benchmark:
    path: /data
    jobs: [dataset_read, small_files, checkpoint_write]
    quick: true
    sample_bytes: 114660
"""

RETURN = r"""
plan:
  description: What the test does at most.
  returned: in check mode
  type: dict
  contains:
    seconds: {description: "Time of all jobs, should every one of them reach its limit.", type: int, returned: always, sample: 980}
    bytes_written: {description: Bytes written all together., type: int, returned: always, sample: 17179869184}
    bytes_read: {description: Bytes read all together., type: int, returned: always, sample: 17179869184}
    bytes_on_disk: {description: Bytes that lie there at one time., type: int, returned: always, sample: 17179869184}
    files: {description: Files that lie there at one time., type: int, returned: always, sample: 4}
    notes: {description: What else should be known beforehand., type: list, elements: str, returned: always, sample: []}
measurement:
  description: The figures. What wasn't measured is null. Bytes are bytes, rates are per second, fractions are 0 to 1.
  returned: success, not in check mode
  type: dict
  contains:
    path: {description: The directory., type: str, returned: always, sample: /data}
    file_system:
      description: >-
        C(type), C(kind) (C(nvme), C(ssd), C(hdd), C(network), C(memory), C(overlay) or C(unknown)), C(device), C(mount_point), C(network).
      type: dict
      returned: always
      sample: {"type": "xfs", "kind": "nvme", "device": "/dev/nvme0n1p1", "mount_point": "/data", "network": false}
    fio_version: {description: Version of fio., type: str, returned: always, sample: "3.33"}
    quick: {description: Whether this was only a first look., type: bool, returned: always, sample: false}
    jobs:
      description:
        - For each job that worked C(read) and C(write) (C(bytes_per_second), C(iops), C(latency_mean_seconds), C(latency_p50_seconds),
          C(latency_p95_seconds), C(latency_p99_seconds), C(latency_kind), C(bytes), C(runtime_seconds)), and how it was measured with
          C(cpu_user_fraction), C(cpu_system_fraction), C(engine), C(direct), C(block_size_bytes), C(queue_depth), C(numjobs),
          C(size_bytes), C(file_count), C(file_size_bytes), C(runtime_limit_seconds), C(wall_seconds), C(fsync_at_end), C(guide_job),
          C(device_read_fraction), C(options) (fio's), C(notes).
        - C(buffered_label) is null for direct I/O, C(buffered) for I/O through the page cache, C(cached) where the figure is one of the
          page cache and C(memory) for a file system in memory.
      type: dict
      returned: always
    errors: {description: "For each job that gave nothing, why.", type: dict, returned: always, sample: {}}
    memory_bytes: {description: The host's memory., type: int, returned: always, sample: 1081101176832}
    sample_bytes: {description: O(sample_bytes) as given., type: int, returned: always, sample: 114660}
    read_bytes_per_second: {description: Of V(dataset_read)., type: float, returned: always, sample: 3221225472}
    small_file_bytes_per_second: {description: Of V(small_files)., type: float, returned: always, sample: 419430400}
    small_files_per_second: {description: Of V(small_files)., type: float, returned: always, sample: 3200}
    random_read_iops: {description: Of V(random_read)., type: float, returned: always, sample: 412000}
    checkpoint_write_bytes_per_second: {description: Of V(checkpoint_write)., type: float, returned: always, sample: 1610612736}
    mixed_read_bytes_per_second: {description: The reading side of V(mixed)., type: float, returned: always, sample: 2147483648}
    mixed_write_bytes_per_second: {description: The writing side of V(mixed)., type: float, returned: always, sample: 1073741824}
    buffered_label: {description: "That of V(dataset_read), without it the worst of the jobs.", type: str, returned: always,
      sample: buffered}
    cached: {description: "Whether C(buffered_label) is C(cached) or C(memory): a figure of memory and not of a disk.",
      type: bool, returned: always, sample: false}
    hosts_at_once: {description: O(hosts_at_once)., type: int, returned: always, sample: 1}
    shared:
      description: C(alone_bytes_per_second), C(together_bytes_per_second) and their C(ratio), null where not both were measured.
      type: dict
      returned: always
    notes: {description: What a reader should know., type: list, elements: str, returned: always, sample: []}
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids: {description: "Always empty, the test has nothing to do with GPUs.", type: list, elements: str, returned: always, sample: []}
target: {description: O(path)., type: str, returned: always, sample: /data}
started_at: {description: When it began (UTC)., type: str, returned: not in check mode, sample: "2026-11-29T12:00:00Z"}
finished_at: {description: When it ended (UTC)., type: str, returned: not in check mode, sample: "2026-11-29T12:01:00Z"}
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    # Without choices: fio_jobs refuses an unknown one in a sentence of ours, which has its Chinese.
    "jobs": {"type": "list", "elements": "str", "default": ["dataset_read"]},
    "quick": {"type": "bool", "default": False},
    "size_bytes": {"type": "int"},
    "runtime_seconds": {"type": "int"},
    "numjobs": {"type": "int"},
    "sample_bytes": {"type": "int"},
    "file_count": {"type": "int"},
    "timeout_seconds": {"type": "int"},
    "start_at": {"type": "float"},
    "hosts_at_once": {"type": "int", "default": 1},
    "alone_bytes_per_second": {"type": "float"},
    "fio": {"type": "path"},
}


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fio_run, identity, storage, storage_place
    known = {"machine_id": identity.identity(), "gpu_uuids": [], "target": module.params["path"]}
    try:
        planned = storage.plan(module.params)
        if module.check_mode:
            shown = ("seconds", "bytes_written", "bytes_read", "bytes_on_disk", "files", "notes")
            module.exit_json(changed=False, plan=dict((key, planned[key]) for key in shown), **known)
        # Not "started": async_status takes a result with that key for one of a job that still runs.
        known["started_at"] = _now()
        measured = storage.run(module.params, planned)
    except (storage_place.Refused, storage.Failed, storage.Interrupted, fio_run.NoFio, ValueError) as error:
        module.fail_json(msg=str(error), finished_at=_now(), **known)
    module.exit_json(changed=False, measurement=measured, finished_at=_now(), **known)


if __name__ == "__main__":
    main()
