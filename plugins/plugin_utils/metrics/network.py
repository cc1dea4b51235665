# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Network: bringing data in, taking results out, serving many at once. All three come from measurements and the form."""

from __future__ import annotations

from .measurements import find_measurement
from .registry import amount, define, mapping, maps, text

define(
    "network.upload_ratio",
    "ratio",
    "upload_hours_allowed x 3600 / (dataset_bytes / measured upload bytes per second)",
    ("transfer_benchmark.result.bytes_per_second (direction upload)", "workload.dataset_bytes", "workload.upload_hours_allowed"),
    "允许的上传小时数 × 3600 /（数据集字节数 / 实测上传速率）",
)
define(
    "network.download_ratio",
    "ratio",
    "download_minutes_allowed x 60 / (result bytes / measured download bytes per second); result: checkpoint_bytes, else weights_bytes",
    ("transfer_benchmark.result.bytes_per_second (direction download)", "workload.checkpoint_bytes", "workload.download_minutes_allowed"),
    "允许的下载分钟数 × 60 /（结果字节数 / 实测下载速率）；结果取检查点，否则取权重",
)
define(
    "network.concurrency_ratio",
    "ratio",
    "most requests at once that kept within latency_seconds (95th percentile) / concurrency of the form; 0 where "
    "not even one kept within it",
    ("request_benchmark.result.concurrency", "…latency_p95_seconds", "workload.concurrency", "workload.latency_seconds"),
    "在可接受延迟（95 分位）内实测的最大并发 / 表单要求的并发；一个也达不到时为 0",
)
define(
    "network.interface_errors",
    "count",
    "receive and transmit errors of links that are up, since boot",
    ("network.interfaces[].rx_errors", "…tx_errors"),
    "处于 up 状态的网口自启动以来的收发错误数",
)
define(
    "network.rdma_ports_down",
    "count",
    "InfiniBand or RoCE ports that are not active while others of the host are",
    ("network.rdma_ports[].state",),
    "同机其他端口正常时未处于 active 的 InfiniBand/RoCE 端口数",
)


def derive(state):
    """Every network.* metric."""
    _derive_transfer(state, "network.upload_ratio", "upload", "upload_hours_allowed", 3600.0, ("dataset_bytes",))
    _derive_transfer(state, "network.download_ratio", "download", "download_minutes_allowed", 60.0, ("checkpoint_bytes", "weights_bytes"))
    _derive_concurrency(state)
    _derive_links(state)


def _derive_transfer(state, name, direction, allowed_field, seconds, size_fields):
    form = state.form
    size = next((form[field] for field in size_fields if form.get(field)), None)
    fields = [] if size else [size_fields[0]]
    if not form.get(allowed_field):
        fields.append(allowed_field)
    measurement = find_measurement(
        state,
        name,
        "transfer_benchmark",
        lambda entry: (
            mapping(entry, "result").get("direction", direction) == direction
            and (not isinstance(entry.get("options"), dict) or entry["options"].get("direction", direction) == direction)
        ),
    )
    if measurement is None:
        return
    speed = amount(mapping(measurement, "result"), "bytes_per_second")
    if fields:
        state.unknown(name, "absent.form", fields=", ".join(fields))
    elif speed is None:
        state.unknown(name, "absent.measurement_incomplete", module="transfer_benchmark", field="bytes_per_second")
    else:
        state.value(
            name,
            form[allowed_field] * seconds * speed / size,
            [
                {"what": "bytes_per_second", "value": speed, "source": "transfer_benchmark %s" % (text(measurement, "finished") or "?")},
                {"what": allowed_field, "value": form[allowed_field], "source": "workload form"},
                {"what": "bytes", "value": size, "source": "workload form"},
            ],
        )


def _derive_concurrency(state):
    name = "network.concurrency_ratio"
    measurement = find_measurement(state, name, "request_benchmark")
    if measurement is None:
        return
    fields = [field for field in ("concurrency", "latency_seconds") if not state.form.get(field)]
    if fields:
        state.unknown(name, "absent.form", fields=", ".join(fields))
        return
    result = measurement["result"]
    steps = maps(result, "steps") or [result]
    known = [(amount(step, "concurrency"), amount(step, "latency_p95_seconds")) for step in steps]
    if any(count is None or latency is None for count, latency in known):
        state.unknown(name, "absent.measurement_incomplete", module="request_benchmark", field="latency_p95_seconds")
        return
    best = max([count for count, latency in known if latency <= state.form["latency_seconds"]] or [0])
    state.value(
        name,
        best / state.form["concurrency"],
        [
            {
                "what": "concurrency within latency_seconds",
                "value": best,
                "source": "request_benchmark %s" % (text(measurement, "finished") or "?"),
            }
        ],
    )


def _derive_links(state):
    network, problem = state.subject("network")
    if problem:
        for name in ("network.interface_errors", "network.rdma_ports_down"):
            state.unknown(name, problem[0], **problem[1])
        return
    wired = [
        entry for entry in maps(network, "interfaces") if text(entry, "kind") in ("ethernet", "infiniband") and text(entry, "state") == "up"
    ]
    counts = [
        ((amount(entry, "rx_errors") or 0) + (amount(entry, "tx_errors") or 0), text(entry, "name") or "?")
        for entry in wired
        if amount(entry, "rx_errors") is not None
    ]
    if counts:
        state.value(
            "network.interface_errors",
            sum(count for count, _name in counts),
            [{"what": name, "value": count, "source": "/sys/class/net"} for count, name in counts if count][:8],
        )
    else:
        state.not_applicable("network.interface_errors", "absent.no_links")
    ports = maps(network, "rdma_ports")
    active = [port for port in ports if (text(port, "state") or "").lower() == "active"]
    if not ports or not active:
        state.not_applicable("network.rdma_ports_down", "absent.no_rdma")
    else:
        down = [port for port in ports if port not in active]
        state.value(
            "network.rdma_ports_down",
            len(down),
            [{"what": text(port, "device") or "?", "value": text(port, "state"), "source": "/sys/class/infiniband"} for port in down],
        )
