# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Gathers the facts that a GPU audit judges, in one round trip; the work is done in module_utils/host_facts.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_facts
short_description: Gather what a GPU audit needs to know about a host
version_added: 0.1.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - Gathers facts about the GPUs, processors, memory, storage, network, software and platform of a Linux host. Nothing is changed and
    nothing has to be installed on it; C(nvidia-ml-py) is used where it is present.
  - Every subject says under C(sources) where a value came from, and under C(absent) why a value is null.
  - Whatever can block for ever (a driver, a dead network mount) is asked in a child with a deadline. Automounts are never triggered.
options:
  gather_subset:
    description:
      - The subjects wanted. With V(!) in front a subject is left out; nothing but exclusions means all but these.
    type: list
    elements: str
    default: [all]
  gpu_source:
    description:
      - Where the GPU facts come from. V(auto) takes NVML, and C(nvidia-smi) where that doesn't answer.
    type: str
    choices: [auto, nvml, nvidia_smi]
    default: auto
  nvidia_smi:
    description:
      - Path of the C(nvidia-smi) program. Looked for in the usual places when not given.
    type: path
  nvidia_smi_output:
    description:
      - The text that C(nvidia-smi -q -x) printed on some machine. It is parsed instead of asking this host's driver; the other subjects
        still describe this host, so that O(gather_subset=gpu) judges a saved machine.
    type: str
  timeout:
    description:
      - Seconds that one program or library call may take, and that the file systems may take all together. Above 0 and up to 600.
    type: float
    default: 30
  paths:
    description:
      - Paths whose file system, free space and inodes are wanted. One that doesn't exist yet is described by its nearest existing parent.
    type: list
    elements: dict
    suboptions:
      path:
        description:
          - An absolute path on the host.
        type: path
        required: true
      purpose:
        description:
          - What it is for.
        type: str
        choices: [dataset, weights, checkpoints, logs, other]
        default: other
  python_environments:
    description:
      - Prefixes of Python environments (virtual or conda environments), or their C(site-packages) folders, whose frameworks are wanted.
        They are read, never run. With none named, the system's own Python is described.
    type: list
    elements: path
  packed:
    description:
      - Return the facts as one text in RV(packed_facts) instead of C(ansible_facts). Ansible's work on the controller grows with every
        nested value, so a large fleet is gathered faster this way.
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in check mode without changing anything.
    support: full
  diff_mode:
    description: Shows what changed in diff mode.
    support: none
    details: Nothing ever changes.
  facts:
    description: Returns C(ansible_facts) that are kept for the host.
    support: full
    details: Not with O(packed=true).
  platform:
    description: Operating systems that this works on.
    support: full
    platforms: linux
notes:
  - Works as an ordinary user. What such a user can't see is marked C(not_permitted) or is missing, namely GPU processes of others, the
    container engine of a container whose first process belongs to somebody else, and the versions of Python environments in closed folders.
    Free bytes and inodes are those of an ordinary user, also as root.
  - Processor quota, memory limit and CPU set are those of the control group that the connection's session lies in.
  - Inside a container PCI shows the host's devices, and interfaces are those of the container's own network namespace.
  - A host's texts are cut to 4096 characters and the document to 1 MB.
"""

EXAMPLES = r"""
- name: Gather everything
  trainops.gpu_audit.host_facts:

- name: Gather all but network facts, and look at the workload's folders
  trainops.gpu_audit.host_facts:
    gather_subset: ["!network"]
    paths:
      - path: /data/imagenet
        purpose: dataset
      - path: /scratch/checkpoints
        purpose: checkpoints
    python_environments: [/opt/train]

- name: Say how much memory the GPUs have
  ansible.builtin.debug:
    msg: "{{ ansible_facts.gpu_audit.gpu.gpus | sum(attribute='memory_total_bytes') | human_readable }}"

- name: Describe a saved machine
  trainops.gpu_audit.host_facts:
    gather_subset: [gpu]
    nvidia_smi_output: "{{ lookup('ansible.builtin.file', 'gpu-01.xml') }}"
  delegate_to: localhost
"""

RETURN = r"""
ansible_facts:
  description: The facts.
  type: dict
  returned: when O(packed=false)
  contains:
    gpu_audit:
      description: "The facts document. A value that isn't there is null, and C(absent) of its subject says why."
      type: dict
      returned: success
      contains:
        schema: {description: Version of this document., type: str, returned: success, sample: trainops.gpu_audit/facts/1}
        truncated: {description: Set when texts or lists had to be cut harder than usual to keep the document below 1 MB.,
          type: bool, returned: when cut, sample: true}
        gpu:
          description: GPUs and their driver.
          type: dict
          returned: when asked for
          contains:
            source: {description: "C(nvml), C(nvml-ctypes), C(nvidia-smi) or null.", type: str, returned: success, sample: nvml}
            source_version: {description: Version of that source., type: str, returned: success, sample: "13.580.82"}
            driver_version: {description: Driver., type: str, returned: success, sample: 580.82.07}
            cuda_version: {description: Highest CUDA version the driver supports., type: str, returned: success, sample: "13.0"}
            state: {description: "C(ok), C(no_hardware), C(driver_broken), C(tool_missing), C(not_permitted) or C(partial).",
              type: str, returned: success, sample: ok}
            error: {description: "The tool's own words.", type: str, returned: success}
            error_kind:
              description: >-
                C(timeout), C(stuck), C(version_mismatch), C(driver_not_loaded), C(no_permission), C(tool_missing),
                C(crashed) or C(other).
              type: str
              returned: success
            hint: {description: Key of a remedy., type: str, returned: success}
            warnings: {description: What else the tool said., type: list, elements: str, returned: success, sample: []}
            reported_count: {description: GPUs the driver reported., type: int, returned: success, sample: 8}
            pci_device_count: {description: NVIDIA GPUs that PCI itself shows., type: int, returned: success, sample: 8}
            clock_event_samples: {description: How many times the clock-event reasons were read., type: int, returned: success, sample: 2}
            pci:
              description: NVIDIA GPUs on PCI.
              type: list
              elements: dict
              returned: success
              contains:
                bus_id: {description: PCI address., type: str, returned: success, sample: "0000:1b:00.0"}
                vendor_id: {description: Vendor number., type: str, returned: success, sample: "0x10de"}
                device_id: {description: Device number., type: str, returned: success, sample: "0x2330"}
                class_code: {description: Class., type: str, returned: success, sample: "0x030200"}
                driver: {description: Kernel driver bound to it., type: str, returned: success, sample: nvidia}
            pci_passthrough:
              description: NVIDIA GPUs given to virtual machines.
              type: list
              elements: dict
              returned: success
              contains:
                bus_id: {description: PCI address., type: str, returned: success, sample: "0000:1b:00.0"}
                vendor_id: {description: Vendor number., type: str, returned: success, sample: "0x10de"}
                device_id: {description: Device number., type: str, returned: success, sample: "0x2330"}
                class_code: {description: Class., type: str, returned: success, sample: "0x030200"}
                driver: {description: Kernel driver bound to it., type: str, returned: success, sample: nvidia}
            gpus:
              description: "The GPUs, lost ones included."
              type: list
              elements: dict
              returned: success
              contains:
                index: {description: Number the driver gives it., type: int, returned: success, sample: 0}
                uuid: {description: UUID., type: str, returned: success, sample: GPU-5b6ff8e7-7a36-4d24-a5d4-2a2d4c2c4f0e}
                serial: {description: Serial number of the board., type: str, returned: success, sample: "1650522000123"}
                name: {description: Product name., type: str, returned: success, sample: NVIDIA H100 80GB HBM3}
                bus_id: {description: PCI address., type: str, returned: success, sample: "0000:1b:00.0"}
                device_id: {description: PCI device number., type: str, returned: success, sample: "0x2330"}
                vbios_version: {description: Version of the video BIOS., type: str, returned: success, sample: 96.00.74.00.01}
                compute_capability: {description: CUDA compute capability., type: str, returned: success, sample: "9.0"}
                memory_kind: {description: "C(framebuffer), or C(unified) where GPU and host share their memory.",
                  type: str, returned: success, sample: framebuffer}
                memory_total_bytes: {description: Memory., type: int, returned: success, sample: 85520809984}
                memory_reserved_bytes: {description: Memory the driver keeps., type: int, returned: success, sample: 553648128}
                memory_used_bytes: {description: Memory in use., type: int, returned: success, sample: 4194304}
                memory_free_bytes: {description: Memory free., type: int, returned: success, sample: 84962967552}
                bar1_total_bytes: {description: BAR1 window., type: int, returned: success, sample: 137438953472}
                bar1_used_bytes: {description: BAR1 in use., type: int, returned: success, sample: 1048576}
                utilization_gpu_fraction: {description: "Share of the time in which a kernel ran, however small.",
                  type: float, returned: success, sample: 0.0}
                utilization_memory_bandwidth_fraction: {description: Share of the time in which memory was read or written.,
                  type: float, returned: success, sample: 0.0}
                utilization_encoder_fraction: {description: Use of the video encoder., type: float, returned: success, sample: 0.0}
                utilization_decoder_fraction: {description: Use of the video decoder., type: float, returned: success, sample: 0.0}
                temperature_celsius: {description: GPU temperature., type: float, returned: success, sample: 34}
                temperature_memory_celsius: {description: Memory temperature., type: float, returned: success, sample: 42}
                temperature_slowdown_celsius: {description: Temperature at which the hardware slows down.,
                  type: float, returned: success, sample: 87}
                temperature_shutdown_celsius: {description: Temperature at which it shuts down.,
                  type: float, returned: success, sample: 92}
                temperature_max_operating_celsius: {description: Highest operating temperature.,
                  type: float, returned: success, sample: 85}
                temperature_headroom_celsius: {description: Degrees left up to the slowdown., type: float, returned: success, sample: 52}
                temperature_slowdown_tlimit_celsius: {description: "Slowdown limit, in degrees of headroom.",
                  type: float, returned: success, sample: -2}
                temperature_shutdown_tlimit_celsius: {description: "Shutdown limit, in degrees of headroom.",
                  type: float, returned: success, sample: -8}
                power_draw_watts: {description: Power now., type: float, returned: success, sample: 71.1}
                power_limit_watts: {description: Limit in force., type: float, returned: success, sample: 700.0}
                power_limit_default_watts: {description: Limit the product comes with., type: float, returned: success, sample: 700.0}
                power_limit_min_watts: {description: Lowest limit that can be set., type: float, returned: success, sample: 200.0}
                power_limit_max_watts: {description: Highest limit that can be set., type: float, returned: success, sample: 700.0}
                module_power_draw_watts: {description: "Power of the whole module, where GPU and CPU share one.",
                  type: float, returned: success, sample: 180.0}
                clock_graphics_mhz: {description: Graphics clock., type: int, returned: success, sample: 345}
                clock_sm_mhz: {description: SM clock., type: int, returned: success, sample: 345}
                clock_memory_mhz: {description: Memory clock., type: int, returned: success, sample: 2619}
                clock_graphics_max_mhz: {description: Highest graphics clock., type: int, returned: success, sample: 1980}
                clock_sm_max_mhz: {description: Highest SM clock., type: int, returned: success, sample: 1980}
                clock_memory_max_mhz: {description: Highest memory clock., type: int, returned: success, sample: 2619}
                performance_state: {description: Performance state., type: str, returned: success, sample: P0}
                clock_event_reasons: {description: "Why the clocks are below their best, by name.",
                  type: list, elements: str, returned: success, sample: ["gpu_idle"]}
                clock_event_reasons_mask: {description: "The same as the driver's bit mask.", type: int, returned: success, sample: 1}
                clock_event_reasons_masks: {description: The mask of each sample taken.,
                  type: list, elements: int, returned: success, sample: [1, 1]}
                clock_event_counters_seconds: {description: Time spent under each reason since the driver was loaded.,
                  type: dict, returned: success, sample: {"sw_power_cap": 0.0}}
                clock_event_counters_growth_seconds: {description: How much these grew between two samples.,
                  type: dict, returned: success, sample: {"sw_power_cap": 0.0}}
                ecc_mode: {description: C(enabled) or C(disabled)., type: str, returned: success, sample: enabled}
                ecc_mode_pending: {description: The mode after the next reset., type: str, returned: success, sample: enabled}
                ecc_corrected_volatile: {description: Corrected errors since the driver was loaded.,
                  type: int, returned: success, sample: 0}
                ecc_uncorrectable_volatile: {description: Uncorrectable errors since the driver was loaded.,
                  type: int, returned: success, sample: 0}
                ecc_corrected_aggregate: {description: "Corrected errors of the board's life.", type: int, returned: success, sample: 0}
                ecc_uncorrectable_aggregate: {description: "Uncorrectable errors of the board's life.",
                  type: int, returned: success, sample: 0}
                ecc_sram_uncorrectable_volatile: {description: "Of these, in SRAM.", type: int, returned: success, sample: 0}
                ecc_sram_uncorrectable_aggregate: {description: "Of these, in SRAM.", type: int, returned: success, sample: 0}
                ecc_dram_uncorrectable_volatile: {description: "Of these, in DRAM.", type: int, returned: success, sample: 0}
                ecc_dram_uncorrectable_aggregate: {description: "Of these, in DRAM.", type: int, returned: success, sample: 0}
                ecc_sram_threshold_exceeded: {description: Whether the board counts as worn out by SRAM errors.,
                  type: bool, returned: success, sample: false}
                retired_pages_single_bit: {description: Pages retired for repeated single-bit errors.,
                  type: int, returned: success, sample: 0}
                retired_pages_double_bit: {description: Pages retired for double-bit errors., type: int, returned: success, sample: 0}
                retired_pages_pending: {description: Whether retirements wait for a reset., type: bool, returned: success, sample: false}
                remapped_rows_correctable: {description: Rows remapped for correctable errors., type: int, returned: success, sample: 0}
                remapped_rows_uncorrectable: {description: Rows remapped for uncorrectable errors.,
                  type: int, returned: success, sample: 0}
                remapped_rows_pending: {description: Whether remappings wait for a reset., type: bool, returned: success, sample: false}
                remapped_rows_failure: {description: Whether a remapping failed., type: bool, returned: success, sample: false}
                remapped_rows_banks: {description: How many banks have how many spare rows left.,
                  type: dict, returned: success, sample: {"max": 2560, "none": 0}}
                pcie_generation_current: {description: PCIe generation of the link now; low while idle.,
                  type: int, returned: success, sample: 5}
                pcie_generation_max: {description: Highest that GPU and host allow together., type: int, returned: success, sample: 5}
                pcie_generation_device_max: {description: Highest the GPU can do., type: int, returned: success, sample: 5}
                pcie_generation_host_max: {description: Highest the host can do., type: int, returned: success, sample: 5}
                pcie_width_current: {description: Lanes now., type: int, returned: success, sample: 16}
                pcie_width_max: {description: Most lanes., type: int, returned: success, sample: 16}
                pcie_replay_count: {description: PCIe packets sent again., type: int, returned: success, sample: 0}
                nvlinks:
                  description: NVLinks.
                  type: list
                  elements: dict
                  returned: success
                  contains:
                    link: {description: Number., type: int, returned: success, sample: 0}
                    active: {description: Whether it is up., type: bool, returned: success, sample: true}
                    crc_errors: {description: CRC errors counted., type: int, returned: success, sample: 0}
                nvlinks_active_count: {description: NVLinks that are up., type: int, returned: success, sample: 18}
                mig_mode: {description: C(enabled) or C(disabled)., type: str, returned: success, sample: disabled}
                mig_mode_pending: {description: The mode after the next reset., type: str, returned: success, sample: disabled}
                mig_devices:
                  description: MIG instances.
                  type: list
                  elements: dict
                  returned: success
                  contains:
                    index: {description: Number., type: int, returned: success, sample: 0}
                    uuid: {description: UUID., type: str, returned: success, sample: MIG-4c3e2b1a-0000-5000-8000-000000000000}
                    gpu_instance_id: {description: GPU instance., type: int, returned: success, sample: 1}
                    compute_instance_id: {description: Compute instance., type: int, returned: success, sample: 0}
                    memory_total_bytes: {description: Memory., type: int, returned: success, sample: 10737418240}
                    memory_used_bytes: {description: In use., type: int, returned: success, sample: 0}
                    memory_free_bytes: {description: Free., type: int, returned: success, sample: 10737418240}
                persistence_mode: {description: C(enabled) or C(disabled)., type: str, returned: success, sample: enabled}
                compute_mode: {description: Who may use the GPU., type: str, returned: success, sample: default}
                virtualization_mode: {description: How the GPU is virtualised., type: str, returned: success, sample: none}
                fabric_state: {description: "C(completed), C(in_progress), C(not_started) or C(not_supported).",
                  type: str, returned: success, sample: completed}
                fabric_status: {description: "The fabric's own words.", type: str, returned: success, sample: Success}
                fabric_cluster_uuid: {description: Cluster of the fabric.,
                  type: str, returned: success, sample: 00000000-0000-0000-0000-000000000000}
                fabric_clique_id: {description: Clique of the fabric., type: int, returned: success, sample: 0}
                recovery_action:
                  description: "What the driver asks for, C(none), C(reset), C(reboot), C(drain_p2p), C(drain_and_reset) or other words."
                  type: str
                  returned: success
                  sample: none
                display_active: {description: C(enabled) while a display is driven., type: str, returned: success, sample: disabled}
                processes:
                  description: Processes on the GPU; an ordinary user may not see those of others.
                  type: list
                  elements: dict
                  returned: success
                  contains:
                    pid: {description: Process number., type: int, returned: success, sample: 4242}
                    name: {description: "Program file name, never its arguments.", type: str, returned: success, sample: python3}
                    type: {description: "C(compute), C(graphics) or C(compute+graphics).", type: str, returned: success, sample: compute}
                    used_memory_bytes: {description: GPU memory it uses., type: int, returned: success, sample: 1073741824}
                status: {description: "C(ok), C(lost) or C(error).", type: str, returned: success, sample: ok}
                error: {description: "Why it isn't ok.", type: str, returned: success}
                absent: {description: "For each field without a value, why.",
                  type: dict, returned: success, sample: {"serial": "not_supported"}}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
        cpu:
          description: Processors.
          type: dict
          returned: when asked for
          contains:
            model: {description: Model; on Arm the name of the core.,
              type: str, returned: success, sample: AMD EPYC 9654 96-Core Processor}
            vendor: {description: Vendor., type: str, returned: success, sample: AuthenticAMD}
            architecture: {description: Machine architecture., type: str, returned: success, sample: x86_64}
            sockets: {description: Packages., type: int, returned: success, sample: 2}
            cores_physical: {description: "Cores, threads of one counted once.", type: int, returned: success, sample: 192}
            threads_logical: {description: Logical processors that are on., type: int, returned: success, sample: 384}
            threads_per_core: {description: Most threads of one core., type: int, returned: success, sample: 2}
            numa_nodes:
              description: NUMA nodes.
              type: list
              elements: dict
              returned: success
              contains:
                node: {description: Number., type: int, returned: success, sample: 0}
                cpus: {description: "Its processors as the kernel lists them, empty for memory alone.",
                  type: str, returned: success, sample: "0-95,192-287"}
                memory_total_bytes: {description: Its memory., type: int, returned: success, sample: 811000000000}
            affinity_threads: {description: Logical processors this process may run on (CPU set of its control group included).,
              type: int, returned: success, sample: 384}
            quota_cores: {description: CPU quota of the control group and its parents; null without one.,
              type: float, returned: success, sample: 16.0}
            usable_threads: {description: "Affinity, capped by the quota rounded up.", type: int, returned: success, sample: 16}
            usable_cores: {description: "The same in cores, threads of one core counted once; in a VM a vCPU counts as a core.",
              type: int, returned: success, sample: 16}
            governor: {description: Frequency governor., type: str, returned: success, sample: performance}
            load_1m: {description: Load average over 1 minute., type: float, returned: success, sample: 1.2}
            load_5m: {description: Load average over 5 minutes., type: float, returned: success, sample: 1.1}
            load_15m: {description: Load average over 15 minutes., type: float, returned: success, sample: 0.9}
            virtual: {description: Whether this is a virtual machine., type: bool, returned: success, sample: false}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
            error: {description: "What went wrong, instead of the other keys, when this subject crashed.",
              type: str, returned: when the subject crashed, sample: "KeyError: 'x' (cpu.py, line 12)"}
        memory:
          description: Main memory.
          type: dict
          returned: when asked for
          contains:
            total_bytes: {description: Memory of the NUMA nodes with processors., type: int, returned: success, sample: 1622000000000}
            available_bytes: {description: What can be had without swapping., type: int, returned: success, sample: 1580000000000}
            limit_bytes: {description: Limit of the control group and its parents; null without one.,
              type: int, returned: success, sample: 17179869184}
            usable_bytes: {description: The smaller of both., type: int, returned: success, sample: 17179869184}
            swap_total_bytes: {description: Swap., type: int, returned: success, sample: 0}
            swap_used_bytes: {description: Swap in use., type: int, returned: success, sample: 0}
            swap_in_bytes: {description: Read back from swap since boot., type: int, returned: success, sample: 0}
            swap_out_bytes: {description: Written to swap since boot., type: int, returned: success, sample: 0}
            huge_pages_total: {description: Huge pages set aside., type: int, returned: success, sample: 0}
            huge_page_bytes: {description: Size of one., type: int, returned: success, sample: 2097152}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
            error: {description: "What went wrong, instead of the other keys, when this subject crashed.",
              type: str, returned: when the subject crashed, sample: "KeyError: 'x' (cpu.py, line 12)"}
        storage:
          description: "File systems, paths and disks."
          type: dict
          returned: when asked for
          contains:
            filesystems:
              description: "Mounted file systems that hold data, one entry each however often it is mounted."
              type: list
              elements: dict
              returned: success
              contains:
                mount_point: {description: Where it is mounted., type: str, returned: success, sample: /data}
                device: {description: "Device, credentials left out.", type: str, returned: success, sample: /dev/mapper/vg0-data}
                type: {description: File system type., type: str, returned: success, sample: xfs}
                kind: {description: "C(nvme), C(ssd), C(hdd), C(network), C(memory), C(overlay) or C(unknown).",
                  type: str, returned: success, sample: nvme}
                total_bytes: {description: Size., type: int, returned: success, sample: 1920000000000}
                free_bytes: {description: What an ordinary user can still write., type: int, returned: success, sample: 960000000000}
                inodes_total: {description: Inodes; null where the file system has no fixed number.,
                  type: int, returned: success, sample: 117186560}
                inodes_free: {description: Inodes an ordinary user can still take., type: int, returned: success, sample: 117000000}
                read_only: {description: Whether it is mounted read-only., type: bool, returned: success, sample: false}
                network: {description: Whether a server answers for it., type: bool, returned: success, sample: false}
                error: {description: Why there are no figures., type: str, returned: success}
            paths:
              description: The paths of the option O(paths).
              type: list
              elements: dict
              returned: success
              contains:
                path: {description: As asked for., type: str, returned: success, sample: /data/imagenet}
                purpose: {description: As asked for., type: str, returned: success, sample: dataset}
                exists: {description: "Whether it is there; the figures are its nearest existing parent's if not.",
                  type: bool, returned: success, sample: true}
                mount_point: {description: Where it is mounted., type: str, returned: success, sample: /data}
                device: {description: "Device, credentials left out.", type: str, returned: success, sample: /dev/mapper/vg0-data}
                type: {description: File system type., type: str, returned: success, sample: xfs}
                kind: {description: "C(nvme), C(ssd), C(hdd), C(network), C(memory), C(overlay) or C(unknown).",
                  type: str, returned: success, sample: nvme}
                total_bytes: {description: Size., type: int, returned: success, sample: 1920000000000}
                free_bytes: {description: What an ordinary user can still write., type: int, returned: success, sample: 960000000000}
                inodes_total: {description: Inodes; null where the file system has no fixed number.,
                  type: int, returned: success, sample: 117186560}
                inodes_free: {description: Inodes an ordinary user can still take., type: int, returned: success, sample: 117000000}
                writable: {description: Whether the user of this connection may write there., type: bool, returned: success, sample: true}
                error: {description: Why there are no figures., type: str, returned: success}
            disks:
              description: Disks that hold something.
              type: list
              elements: dict
              returned: success
              contains:
                name: {description: Kernel name., type: str, returned: success, sample: nvme0n1}
                kind: {description: As above., type: str, returned: success, sample: nvme}
                size_bytes: {description: Size., type: int, returned: success, sample: 3840755982336}
                model: {description: Model., type: str, returned: success, sample: SAMSUNG MZQL23T8HCLS-00A07}
                rotational: {description: What the kernel believes., type: bool, returned: success, sample: false}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
            error: {description: "What went wrong, instead of the other keys, when this subject crashed.",
              type: str, returned: when the subject crashed, sample: "KeyError: 'x' (cpu.py, line 12)"}
        network:
          description: Network interfaces and RDMA ports.
          type: dict
          returned: when asked for
          contains:
            interfaces:
              description: "Interfaces of this network namespace, at most 128 with hardware and 32 virtual ones."
              type: list
              elements: dict
              returned: success
              contains:
                name: {description: Name., type: str, returned: success, sample: eno1}
                kind: {description: "C(ethernet), C(infiniband), C(wireless), C(loopback) or C(virtual).",
                  type: str, returned: success, sample: ethernet}
                state: {description: Operational state., type: str, returned: success, sample: up}
                speed_bits_per_second: {description: Link speed., type: int, returned: success, sample: 100000000000}
                duplex: {description: C(full) or C(half)., type: str, returned: success, sample: full}
                mtu: {description: Largest packet., type: int, returned: success, sample: 9000}
                driver: {description: Kernel driver., type: str, returned: success, sample: mlx5_core}
                mac: {description: Hardware address., type: str, returned: success, sample: "02:00:5e:10:00:01"}
                carrier_changes: {description: How often the link came or went., type: int, returned: success, sample: 2}
                rx_errors: {description: Receive errors., type: int, returned: success, sample: 0}
                tx_errors: {description: Transmit errors., type: int, returned: success, sample: 0}
                rx_dropped: {description: Received and dropped., type: int, returned: success, sample: 0}
                tx_dropped: {description: Dropped before transmission., type: int, returned: success, sample: 0}
            interfaces_left_out: {description: Interfaces that were not listed., type: int, returned: success, sample: 0}
            rdma_ports:
              description: InfiniBand and RoCE ports.
              type: list
              elements: dict
              returned: success
              contains:
                device: {description: Device., type: str, returned: success, sample: mlx5_0}
                port: {description: Port., type: int, returned: success, sample: 1}
                link_layer: {description: C(infiniband) or C(ethernet)., type: str, returned: success, sample: infiniband}
                state: {description: Logical state., type: str, returned: success, sample: active}
                physical_state: {description: Physical state., type: str, returned: success, sample: linkup}
                rate_bits_per_second: {description: Rate., type: int, returned: success, sample: 400000000000}
                board_id: {description: Board., type: str, returned: success, sample: MT_0000000838}
                counters: {description: Error counters.,
                  type: dict, returned: success, sample: {"link_downed": 0, "port_rcv_errors": 14, "symbol_error": 0}}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
            error: {description: "What went wrong, instead of the other keys, when this subject crashed.",
              type: str, returned: when the subject crashed, sample: "KeyError: 'x' (cpu.py, line 12)"}
        software:
          description: "Kernel, distribution, driver, CUDA, frameworks."
          type: dict
          returned: when asked for
          contains:
            kernel: {description: Kernel release., type: str, returned: success, sample: 6.8.0-60-generic}
            distribution_id: {description: C(ID) of os-release., type: str, returned: success, sample: ubuntu}
            distribution_version: {description: C(VERSION_ID) of os-release., type: str, returned: success, sample: "24.04"}
            distribution_name: {description: C(PRETTY_NAME) of os-release., type: str, returned: success, sample: Ubuntu 24.04.2 LTS}
            driver_version: {description: NVIDIA driver on disk., type: str, returned: success, sample: 580.82.07}
            driver_module_version: {description: NVIDIA kernel module loaded; not the one on disk when a reboot is due.,
              type: str, returned: success, sample: 580.82.07}
            driver_module_open: {description: Whether that is the open module., type: bool, returned: success, sample: true}
            nouveau_loaded: {description: Whether nouveau is loaded., type: bool, returned: success, sample: false}
            cuda_toolkits:
              description: CUDA toolkits.
              type: list
              elements: dict
              returned: success
              contains:
                path: {description: Folder., type: str, returned: success, sample: /usr/local/cuda-12.8}
                version: {description: Version., type: str, returned: success, sample: 12.8.1}
            container_toolkit_version: {description: NVIDIA container toolkit., type: str, returned: success, sample: 1.17.8}
            fabric_manager_installed: {description: Whether NVIDIA fabric manager is there., type: bool, returned: success, sample: true}
            python_environments:
              description: Python environments with the versions of known frameworks.
              type: list
              elements: dict
              returned: success
              contains:
                path: {description: Prefix or package folder., type: str, returned: success, sample: /opt/train}
                python_version: {description: Python., type: str, returned: success, sample: "3.12"}
                packages: {description: Versions by normalised name.,
                  type: dict, returned: success, sample: {"numpy": "2.1.3", "torch": "2.9.0+cu130"}}
                torch_cuda_version: {description: CUDA version torch was built for., type: str, returned: success, sample: "13.0"}
                error: {description: "Why it couldn't be read.", type: str, returned: success}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
            error: {description: "What went wrong, instead of the other keys, when this subject crashed.",
              type: str, returned: when the subject crashed, sample: "KeyError: 'x' (cpu.py, line 12)"}
        platform:
          description: "What kind of machine this is, and its clock."
          type: dict
          returned: when asked for
          contains:
            hostname: {description: Name the host gives itself., type: str, returned: success, sample: gpu-01}
            vendor: {description: Vendor from DMI., type: str, returned: success, sample: Supermicro}
            product: {description: Product from DMI or the device tree., type: str, returned: success, sample: SYS-821GE-TNHR}
            virtualization:
              description: >-
                C(none), C(kvm), C(vmware), C(hyperv), C(xen), C(amazon), C(google) and so on, or C(unknown) for a VM of
                a kind nobody told.
              type: str
              returned: success
              sample: none
            container: {description: "Kind of container, null for none.", type: str, returned: success}
            wsl: {description: Whether this is the Windows Subsystem for Linux., type: bool, returned: success, sample: false}
            tegra: {description: Whether this is a Jetson., type: bool, returned: success, sample: false}
            uptime_seconds: {description: Since boot., type: float, returned: success, sample: 864000.5}
            boot_id: {description: "The kernel's number of this boot.",
              type: str, returned: success, sample: 5d3d65ae-16b7-4276-b346-2a2a145d4a81}
            boot_time: {description: Boot in seconds since 1970., type: int, returned: success, sample: 1767225600}
            time_synchronized: {description: Whether something keeps the clock right., type: bool, returned: success, sample: true}
            time_error_seconds: {description: "Upper bound of the clock's error; null while it isn't synchronised.",
              type: float, returned: success, sample: 0.05}
            machine_id: {description: "The machine's id.", type: str, returned: success, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
            user_is_root: {description: Whether the facts were gathered as root., type: bool, returned: success, sample: false}
            sources: {description: "For each field or group of fields, where it came from.",
              type: dict, returned: success, sample: {"total_bytes": "/proc/meminfo"}}
            absent:
              description: "For each field without a value, C(not_supported), C(not_permitted) or C(failed) with the tool's own words."
              type: dict
              returned: success
              sample: {"governor": "not_supported"}
            error: {description: "What went wrong, instead of the other keys, when this subject crashed.",
              type: str, returned: when the subject crashed, sample: "KeyError: 'x' (cpu.py, line 12)"}
packed_facts: {description: "The facts document as JSON, compressed with zlib, in base64.",
  type: str, returned: when O(packed=true), sample: eJyrVipOzkjNTVSyUiopSszMyy8o1ksvKI1PLE3JLNFPS0wuKdY3VKoFAB1ZDiw=}
"""

import gc

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "gather_subset": {"type": "list", "elements": "str", "default": ["all"]},
    "gpu_source": {"type": "str", "choices": ["auto", "nvml", "nvidia_smi"], "default": "auto"},
    "nvidia_smi": {"type": "path"},
    "nvidia_smi_output": {"type": "str"},
    "timeout": {"type": "float", "default": 30},
    "paths": {
        "type": "list", "elements": "dict",
        "options": {
            "path": {"type": "path", "required": True},
            "purpose": {"type": "str", "choices": ["dataset", "weights", "checkpoints", "logs", "other"], "default": "other"},
        },
    },
    "python_environments": {"type": "list", "elements": "path"},
    "packed": {"type": "bool", "default": False},
}


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    # This process lives for a moment: looking for garbage would cost more than there is, and copy pages in every forked child.
    gc.disable()
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils import host_facts
    try:
        facts = host_facts.gather(module.params["gather_subset"], module.params)
    except ValueError as error:
        module.fail_json(msg=str(error))
    if module.params["packed"]:
        module.exit_json(changed=False, packed_facts=host_facts.pack(facts))
    module.exit_json(changed=False, ansible_facts={"gpu_audit": facts})


if __name__ == "__main__":
    main()
