# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makes fleets of believable host documents for tests and benchmarks: `make_documents(n, seed)` and `make_report(n, seed)`.

Nothing here is a recording; the same n and seed always give the same fleet.
"""

from __future__ import annotations

import random
import uuid

GIB = 2**30
MIB = 2**20
NOW = "2026-11-30T12:00:00Z"

# name, PCI device id, memory MiB, watts, default power, CUDA capability, link width, GPUs a host, usable cores, RAM GiB, has fabric
MODELS = {
    "h100": ("NVIDIA H100 80GB HBM3", "0x233010DE", 81559, 700, "9.0", 16, 5, 8, 96, 2015, True),
    "a100": ("NVIDIA A100-SXM4-80GB", "0x20B210DE", 81920, 400, "8.0", 16, 4, 8, 64, 2015, False),
    "l40s": ("NVIDIA L40S", "0x26B910DE", 46068, 350, "8.9", 16, 4, 4, 32, 503, False),
    "t4": ("Tesla T4", "0x1EB810DE", 15360, 70, "7.5", 16, 3, 2, 16, 125, False),
    "rtx4090": ("NVIDIA GeForce RTX 4090", "0x268410DE", 24564, 450, "8.9", 16, 4, 2, 16, 125, False),
}

TROUBLES = (
    "none",
    "none",
    "none",
    "none",
    "none",
    "none",
    "none",
    "none",
    "unreachable",
    "no_python",
    "driver_broken",
    "driver_hang",
    "tool_missing",
    "no_hardware",
    "one_lost",
    "ecc",
    "remap_pending",
    "hot",
    "power_brake",
    "few_cores",
    "little_ram",
    "disk_full",
    "narrow_link",
    "old_driver",
    "no_persistence",
    "form_empty",
    "not_collected",
    "crashed_subject",
)


def make_gpu(model, index, rng):
    """One healthy, idle GPU of MODELS[model] as the gpu document lists it."""
    name, device_id, memory_mib, watts, capability, width, generation, _count, _cores, _ram, fabric = MODELS[model]
    data_centre = not name.startswith("NVIDIA GeForce")
    t_limit = model == "h100"
    total = memory_mib * MIB
    reserved = 600 * MIB
    used = rng.choice((0, 4, 17)) * MIB
    absent = {"bar1_used_bytes": "not_supported"} if model == "t4" else {}
    if not data_centre:
        for field in (
            "ecc_mode",
            "ecc_uncorrectable_volatile",
            "remapped_rows_pending",
            "remapped_rows_failure",
            "ecc_uncorrectable_aggregate",
        ):
            absent[field] = "not_supported"
    if not fabric:
        absent["fabric_state"] = "not_supported"
    return {
        "index": index,
        "uuid": "GPU-" + str(uuid.UUID(int=rng.getrandbits(128))),
        "serial": str(rng.randrange(10**12, 10**13)),
        "name": name,
        "bus_id": "00000000:%02X:00.0" % (0x18 + 0x11 * index % 0xE0),
        "device_id": device_id,
        "vbios_version": "96.00.74.00.01",
        "compute_capability": capability,
        "memory_kind": "framebuffer",
        "memory_total_bytes": total,
        "memory_reserved_bytes": reserved,
        "memory_used_bytes": used,
        "memory_free_bytes": total - reserved - used,
        "bar1_total_bytes": 128 * GIB,
        "bar1_used_bytes": MIB,
        "utilization_gpu_fraction": 0.0,
        "utilization_memory_bandwidth_fraction": 0.0,
        "utilization_encoder_fraction": 0.0,
        "utilization_decoder_fraction": 0.0,
        "temperature_celsius": 31 + rng.randrange(12),
        "temperature_memory_celsius": 40 + rng.randrange(8),
        "temperature_slowdown_celsius": None if t_limit else 89,
        "temperature_shutdown_celsius": None if t_limit else 92,
        "temperature_max_operating_celsius": None if t_limit else 85,
        "temperature_headroom_celsius": 44 + rng.randrange(10),
        "temperature_slowdown_tlimit_celsius": -2 if t_limit else None,
        "temperature_shutdown_tlimit_celsius": -8 if t_limit else None,
        "power_draw_watts": round(watts * 0.1 + rng.random() * 10, 2),
        "power_limit_watts": float(watts),
        "power_limit_default_watts": float(watts),
        "power_limit_min_watts": watts * 0.3,
        "power_limit_max_watts": float(watts),
        "module_power_draw_watts": None,
        "clock_graphics_mhz": 345,
        "clock_sm_mhz": 345,
        "clock_memory_mhz": 1593,
        "clock_graphics_max_mhz": 1980,
        "clock_sm_max_mhz": 1980,
        "clock_memory_max_mhz": 2619,
        "performance_state": "P0" if data_centre else "P8",
        "clock_event_reasons": ["gpu_idle"],
        "clock_event_reasons_mask": 1,
        "clock_event_reasons_masks": [1, 1],
        "clock_event_counters_seconds": {
            "sw_power_cap": 12.5,
            "sw_thermal_slowdown": 0.0,
            "hw_thermal_slowdown": 0.0,
            "hw_power_brake_slowdown": 0.0,
        },
        "clock_event_counters_growth_seconds": {
            "sw_power_cap": 0.0,
            "sw_thermal_slowdown": 0.0,
            "hw_thermal_slowdown": 0.0,
            "hw_power_brake_slowdown": 0.0,
        },
        "ecc_mode": "enabled" if data_centre else None,
        "ecc_mode_pending": "enabled" if data_centre else None,
        "ecc_corrected_volatile": 0 if data_centre else None,
        "ecc_uncorrectable_volatile": 0 if data_centre else None,
        "ecc_corrected_aggregate": rng.randrange(3) if data_centre else None,
        "ecc_uncorrectable_aggregate": 0 if data_centre else None,
        "ecc_sram_uncorrectable_volatile": 0 if data_centre else None,
        "ecc_sram_uncorrectable_aggregate": 0 if data_centre else None,
        "ecc_dram_uncorrectable_volatile": 0 if data_centre else None,
        "ecc_dram_uncorrectable_aggregate": 0 if data_centre else None,
        "ecc_sram_threshold_exceeded": False if model in ("h100", "l40s") else None,
        "retired_pages_single_bit": 0 if model == "t4" else None,
        "retired_pages_double_bit": 0 if model == "t4" else None,
        "retired_pages_pending": False if model == "t4" else None,
        "remapped_rows_correctable": 0 if data_centre and model != "t4" else None,
        "remapped_rows_uncorrectable": 0 if data_centre and model != "t4" else None,
        "remapped_rows_pending": False if data_centre and model != "t4" else None,
        "remapped_rows_failure": False if data_centre and model != "t4" else None,
        "remapped_rows_banks": {"max": 2560, "high": 0, "partial": 0, "low": 0, "none": 0} if model in ("h100", "a100") else None,
        "pcie_generation_current": generation if data_centre else 1,
        "pcie_generation_max": generation,
        "pcie_generation_device_max": generation,
        "pcie_generation_host_max": generation,
        "pcie_width_current": width,
        "pcie_width_max": width,
        "pcie_replay_count": 0,
        "nvlinks": [{"link": link, "active": True, "crc_errors": 0} for link in range({"h100": 18, "a100": 12}.get(model, 0))],
        "nvlinks_active_count": {"h100": 18, "a100": 12}.get(model, 0),
        "mig_mode": "disabled" if model in ("h100", "a100") else None,
        "mig_mode_pending": "disabled" if model in ("h100", "a100") else None,
        "mig_devices": [],
        "persistence_mode": "enabled",
        "compute_mode": "default",
        "virtualization_mode": "none",
        "fabric_state": "completed" if fabric else None,
        "fabric_status": "success" if fabric else None,
        "fabric_cluster_uuid": "00000000-0000-0000-0000-000000000000" if fabric else None,
        "fabric_clique_id": 0 if fabric else None,
        "recovery_action": "none" if model in ("h100", "l40s") else None,
        "display_active": "disabled",
        "processes": [],
        "status": "ok",
        "error": None,
        "absent": absent,
    }


def make_facts(model, rng, driver="580.95.05"):
    """The facts of one healthy host with the usual number of GPUs of MODELS[model]."""
    _name, _id, _memory, _watts, _cap, _width, _gen, count, cores, ram_gib, _fabric = MODELS[model]
    gpus = [make_gpu(model, index, rng) for index in range(count)]
    ram = int(ram_gib * GIB)
    nvme = 28 * 2**40 if model in ("h100", "a100") else 7 * 2**40
    data = {
        "mount_point": "/data",
        "device": "/dev/md0",
        "type": "xfs",
        "kind": "nvme",
        "total_bytes": nvme,
        "free_bytes": int(nvme * 0.9),
        "inodes_total": 10**9,
        "inodes_free": 10**9 - 5000,
    }
    return {
        "schema": "trainops.gpu_audit/facts/1",
        "gpu": {
            "source": rng.choice(("nvml", "nvidia-smi")),
            "source_version": "12.580.95",
            "driver_version": driver,
            "cuda_version": "13.0",
            "pci_device_count": count,
            "state": "ok",
            "error": None,
            "error_kind": None,
            "hint": None,
            "warnings": [],
            "reported_count": count,
            "pci": [
                {
                    "bus_id": gpu["bus_id"],
                    "vendor_id": "0x10de",
                    "device_id": "0x" + gpu["device_id"][2:6].lower(),
                    "class_code": "0x030200",
                    "driver": "nvidia",
                }
                for gpu in gpus
            ],
            "pci_passthrough": [],
            "clock_event_samples": 2,
            "gpus": gpus,
            "sources": {"gpus": "nvml", "pci": "/sys/bus/pci/devices"},
            "absent": {},
        },
        "cpu": {
            "model": "AMD EPYC 9454 48-Core Processor",
            "vendor": "AuthenticAMD",
            "architecture": "x86_64",
            "sockets": 2,
            "cores_physical": cores,
            "threads_logical": cores * 2,
            "threads_per_core": 2,
            "numa_nodes": [{"node": 0, "cpus": "0-%d" % (cores - 1), "memory_total_bytes": ram}],
            "affinity_threads": cores * 2,
            "quota_cores": None,
            "usable_threads": cores * 2,
            "usable_cores": cores,
            "governor": "performance",
            "load_1m": round(rng.random() * 4, 2),
            "load_5m": 1.2,
            "load_15m": 1.0,
            "virtual": False,
            "sources": {"usable_cores": "affinity"},
            "absent": {},
        },
        "memory": {
            "total_bytes": ram,
            "available_bytes": int(ram * 0.97),
            "limit_bytes": None,
            "usable_bytes": ram,
            "swap_total_bytes": 8 * GIB,
            "swap_used_bytes": 0,
            "swap_in_bytes": 0,
            "swap_out_bytes": 0,
            "huge_pages_total": 0,
            "huge_page_bytes": 2 * MIB,
            "sources": {"total_bytes": "/proc/meminfo"},
            "absent": {},
        },
        "storage": {
            "filesystems": [
                {
                    "mount_point": "/",
                    "device": "/dev/nvme0n1p2",
                    "type": "ext4",
                    "kind": "nvme",
                    "total_bytes": 900 * GIB,
                    "free_bytes": 700 * GIB,
                    "inodes_total": 58000000,
                    "inodes_free": 56000000,
                    "read_only": False,
                    "network": False,
                    "error": None,
                },
                {
                    **data,
                    "read_only": False,
                    "network": False,
                    "error": None,
                },
            ],
            "paths": [
                {
                    "path": "/data/" + purpose,
                    "purpose": purpose,
                    "exists": True,
                    **data,
                    "writable": True,
                    "error": None,
                }
                for purpose in ("dataset", "weights", "checkpoints", "logs")
            ],
            "disks": [{"name": "nvme0n1", "kind": "nvme", "size_bytes": 960 * 10**9, "model": "SAMSUNG MZ1L2960", "rotational": False}],
            "sources": {"filesystems": "/proc/self/mounts"},
            "absent": {},
        },
        "network": {
            "interfaces": [
                {
                    "name": "eth0",
                    "kind": "ethernet",
                    "state": "up",
                    "speed_bits_per_second": 25 * 10**9,
                    "duplex": "full",
                    "mtu": 9000,
                    "driver": "mlx5_core",
                    "mac": "02:00:00:%02x:%02x:%02x" % (rng.randrange(256), rng.randrange(256), rng.randrange(256)),
                    "rx_errors": 0,
                    "tx_errors": 0,
                    "rx_dropped": 0,
                    "tx_dropped": 0,
                    "carrier_changes": 1,
                }
            ],
            "rdma_ports": [
                {
                    "device": "mlx5_%d" % port,
                    "port": 1,
                    "link_layer": "InfiniBand",
                    "state": "active",
                    "physical_state": "link_up",
                    "rate_bits_per_second": 400 * 10**9,
                    "board_id": "MT_0000000838",
                    "counters": {},
                }
                for port in range(8 if model == "h100" else 0)
            ],
            "sources": {"interfaces": "/sys/class/net"},
            "absent": {},
        },
        "software": {
            "kernel": "6.8.0-45-generic",
            "distribution_id": "ubuntu",
            "distribution_version": "24.04",
            "distribution_name": "Ubuntu 24.04.1 LTS",
            "driver_version": driver,
            "driver_module_version": driver,
            "driver_module_open": True,
            "nouveau_loaded": False,
            "cuda_toolkits": [{"path": "/usr/local/cuda-12.4", "version": "12.4.1"}],
            "container_toolkit_version": "1.17.0",
            "fabric_manager_installed": model == "h100",
            "python_environments": [
                {"path": "/opt/train", "python_version": "3.12.3", "packages": {"torch": "2.6.0+cu124", "numpy": "2.1.0"}, "error": None}
            ],
            "sources": {"driver_version": "/proc/driver/nvidia/version"},
            "absent": {},
        },
        "platform": {
            "hostname": "node",
            "vendor": "Supermicro",
            "product": "SYS-821GE-TNHR",
            "virtualization": "none",
            "container": None,
            "wsl": False,
            "tegra": False,
            "uptime_seconds": 86400 * rng.randrange(1, 90),
            "boot_id": str(uuid.UUID(int=rng.getrandbits(128))),
            "time_synchronized": True,
            "time_error_seconds": 0.0004,
            "machine_id": "%032x" % rng.getrandbits(128),
            "user_is_root": False,
            "boot_time": "2026-11-01T00:00:00Z",
            "sources": {"vendor": "/sys/class/dmi/id"},
            "absent": {},
        },
    }


def make_workload(kind="training"):
    """A complete form for a host whose data lies under /data."""
    return {
        "kind": kind,
        "model": "example-7b",
        "input_sample_bytes": 150000,
        "batch_size": 256,
        "hours_per_day": 20,
        "dataset_bytes": 4 * 2**40,
        "weights_bytes": 15 * GIB,
        "checkpoint_bytes": 105 * 10**9,
        "checkpoints_kept": 5,
        "checkpoint_interval_minutes": 60,
        "log_bytes": 20 * GIB,
        "run_hours": 240,
        "samples_per_second_per_gpu": 1500,
        "precision": "bf16",
        "upload_hours_allowed": 24,
        "download_minutes_allowed": 60,
        "dataset_path": "/data/dataset",
        "weights_path": "/data/weights",
        "checkpoints_path": "/data/checkpoints",
        "logs_path": "/data/logs",
    }


def make_measurements(facts, name, peak=0.7, idle=0.1):
    """The measurements that answer every question of a training host: probe, storage, transfers and requests."""
    gpus = [gpu for gpu in facts["gpu"]["gpus"] if gpu["status"] == "ok"]
    common = {
        "schema": "trainops.gpu_audit/measurement/1",
        "name": name,
        "machine_id": facts["platform"]["machine_id"],
        "gpu_uuids": sorted(gpu["uuid"] for gpu in gpus),
        "options": {},
        "started": "2026-11-29T12:00:00Z",
        "finished": "2026-11-29T12:10:00Z",
    }
    return [
        dict(
            common,
            module="workload_probe",
            target="train.py",
            result={
                "gpus": [
                    {
                        "uuid": gpu["uuid"],
                        "index": gpu["index"],
                        "memory_total_bytes": gpu["memory_total_bytes"],
                        "memory_reserved_bytes": gpu["memory_reserved_bytes"],
                        "memory_used_peak_bytes": int(peak * (gpu["memory_total_bytes"] - gpu["memory_reserved_bytes"])),
                        "idle_fraction": idle,
                    }
                    for gpu in gpus
                ]
            },
        ),
        dict(
            common,
            module="storage_benchmark",
            target="/data/dataset",
            result={"read_bytes_per_second": 9 * 10**9, "write_bytes_per_second": 5 * 10**9},
        ),
        dict(common, module="transfer_benchmark", target="upload", result={"direction": "upload", "bytes_per_second": 1.1 * 10**9}),
        dict(common, module="transfer_benchmark", target="download", result={"direction": "download", "bytes_per_second": 1.1 * 10**9}),
        dict(common, module="request_benchmark", target="http://model.example/v1", result={"concurrency": 64, "latency_p95_seconds": 0.4}),
    ]


def _apply_trouble(trouble, facts, workload, rng):
    """Changes facts and form in place into what a host with that trouble shows."""
    gpu_document = facts["gpu"]
    gpus = gpu_document["gpus"]
    victim = rng.choice(gpus)
    if trouble in ("driver_broken", "driver_hang"):
        gpu_document.update(state="driver_broken", gpus=[], reported_count=None, source=None, driver_version=None, cuda_version=None)
        if trouble == "driver_hang":
            gpu_document.update(error="nvidia-smi gave no answer within 20 s", error_kind="timeout", hint="reboot")
        else:
            gpu_document.update(
                error="Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95",
                error_kind="version_mismatch",
                hint="reload_driver",
            )
    elif trouble == "tool_missing":
        gpu_document.update(
            state="tool_missing", gpus=[], reported_count=None, source=None, error="nvidia-smi: not found", error_kind="tool_missing"
        )
    elif trouble == "no_hardware":
        gpu_document.update(state="no_hardware", gpus=[], pci=[], pci_device_count=0, reported_count=0, source=None, driver_version=None)
    elif trouble == "one_lost":
        lost = gpus[-1]
        keep = ("index", "bus_id", "device_id")
        gpus[-1] = {key: (lost[key] if key in keep else None) for key in lost}
        gpus[-1].update(status="lost", error="GPU is lost. Reboot the system to recover this GPU", processes=[], absent={})
        gpu_document.update(
            state="partial", reported_count=len(gpus) - 1, error="Unable to determine the device handle: GPU is lost", error_kind="other"
        )
    elif trouble == "ecc":
        victim.update(ecc_uncorrectable_volatile=2, ecc_dram_uncorrectable_volatile=2, ecc_uncorrectable_aggregate=5)
    elif trouble == "remap_pending":
        victim.update(remapped_rows_pending=True, remapped_rows_uncorrectable=1, recovery_action="reset")
    elif trouble == "hot":
        victim.update(
            temperature_headroom_celsius=-2,
            clock_event_reasons=["hw_slowdown", "hw_thermal_slowdown"],
            clock_event_reasons_mask=0x48,
            clock_event_reasons_masks=[0x48, 0x48],
        )
    elif trouble == "power_brake":
        victim.update(clock_event_reasons=["hw_power_brake_slowdown"], clock_event_reasons_mask=0x80, clock_event_reasons_masks=[0, 0x80])
    elif trouble == "few_cores":
        facts["cpu"].update(quota_cores=2.0, usable_cores=2, usable_threads=4)
    elif trouble == "little_ram":
        facts["memory"].update(total_bytes=8 * GIB, usable_bytes=8 * GIB)
    elif trouble == "disk_full":
        facts["storage"]["filesystems"][0].update(free_bytes=4 * GIB)
    elif trouble == "narrow_link":
        victim.update(pcie_width_current=4)
    elif trouble == "old_driver":
        gpu_document["driver_version"] = "470.223.02"
        facts["software"].update(driver_version="470.223.02", driver_module_version="470.223.02")
    elif trouble == "no_persistence":
        for gpu in gpus:
            gpu["persistence_mode"] = "disabled"
    elif trouble == "form_empty":
        workload.clear()
    elif trouble == "crashed_subject":
        facts["storage"] = {"error": "OSError: [Errno 5] Input/output error"}


def make_host(name, model, trouble="none", seed=0, measured=True, policy="training"):
    """(inputs, document or None) of one host; document is None where nothing was collected."""
    rng = random.Random("%s %s" % (seed, name))
    workload = make_workload()
    facts = make_facts(model, rng)
    facts["platform"]["hostname"] = name
    measurements = make_measurements(facts, name, peak=rng.choice((0.55, 0.7, 0.78, 0.82, 0.9))) if measured else []
    _apply_trouble(trouble, facts, workload, rng)
    inputs = {
        "schema": "trainops.gpu_audit/inputs/1",
        "name": name,
        "groups": sorted({model, "rack_%s" % name[-2:-1]}),
        "policy": policy,
        "thresholds": [],
        "workload": workload,
        "expected": {"gpu_count": MODELS[model][7]},
        "waivers": {},
        "errors": [],
    }
    if trouble == "not_collected":
        return inputs, None
    document = {
        "schema": "trainops.gpu_audit/host/1",
        "name": name,
        "collected_at": "2026-11-30T11:58:00Z",
        "machine_id": facts["platform"]["machine_id"],
        "facts": facts,
        "measurements": measurements,
        "stale_measurements": [],
        "errors": [],
    }
    if trouble == "unreachable":
        document.update(
            facts=None,
            measurements=[],
            machine_id=None,
            errors=[
                {"kind": "unreachable", "message": "Failed to connect to the host via ssh: connect to host port 22: Connection refused"}
            ],
        )
    elif trouble == "no_python":
        document.update(
            facts=None,
            measurements=[],
            machine_id=None,
            errors=[{"kind": "no_python", "message": "The module interpreter '/usr/bin/python3' was not found."}],
        )
    return inputs, document


def make_documents(n, seed=0, model=None, trouble=None):
    """n pairs (inputs, document or None), named node-0001 ..., of mixed models and troubles unless one is asked for."""
    rng = random.Random(seed)
    for number in range(1, n + 1):
        chosen = model or rng.choice(sorted(MODELS))
        what = trouble or rng.choice(TROUBLES)
        yield make_host("node-%04d" % number, chosen, what, seed, measured=rng.random() < 0.6)


def make_run(names, policies, language="en"):
    """The run.json of a finished run over these host names."""
    return {
        "schema": "trainops.gpu_audit/run/1",
        "id": "20261130T115700Z-abc123",
        "started": "2026-11-30T11:57:00Z",
        "finished": NOW,
        "expected": list(names),
        "policies": policies,
        "language": language,
        "collection_version": "0.1.0",
        "ansible_version": "2.19.14",
        "partial": False,
    }


def make_report(n, seed=0, language="en", policy_name="training", **kinds):
    """A whole report dict of `make_documents(n, seed)`, judged by a shipped policy."""
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge, policy as policy_module

    pairs = list(make_documents(n, seed, **kinds))
    policy = policy_module.resolve(policy_name)
    policies = {policy_name: policy}
    run = make_run([inputs["name"] for inputs, _document in pairs], policies, language)
    hosts = [judge.judge_host(document, inputs, policy, NOW, language) for inputs, document in pairs]
    return judge.judge_run(hosts, policies, run, language)
