# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The part of the table of `messages.py` that is about the network: transfers, requests, links, ports."""

from __future__ import annotations

TABLE = {
    # --- why a metric has no value
    "absent.transfer_failed": (
        "No {direction} of the last {module} got through: {error}",
        "最近一次 {module}（{direction}）没有一次传输成功：{error}",
    ),
    "absent.concurrency_not_tried": (
        "The last {module} tried up to {best} requests at once and the form asks for {wanted}: what wasn't tried isn't known.",
        "最近一次 {module} 最多只测到 {best} 并发，而表单要求 {wanted}：未测的无从得知。",
    ),
    "absent.concurrency_between": (
        "The last {module} kept within the latency at {best} requests at once and no longer at {failed}; the {wanted} of the form lie "
        "between and "
        "weren't tried.",
        "最近一次 {module} 在 {best} 并发时延迟达标、{failed} 并发时超限；表单要求的 {wanted} 介于两者之间，未测。",
    ),
    "absent.concurrency_below": (
        "The last {module} didn't keep within the latency at {failed} requests at once, the lowest step that counts: what fewer keep isn't "
        "known.",
        "最近一次 {module} 计入的最低一级（{failed} 并发）延迟未达标：更低的并发是否达标未知。",
    ),
    "absent.concurrency_below_wanted": (
        "The last {module} didn't keep within the latency at {failed} requests at once, the lowest step that counts; the {wanted} of the "
        "form "
        "lie below and weren't tried.",
        "最近一次 {module} 计入的最低一级（{failed} 并发）延迟未达标；表单要求的 {wanted} 更低，未测。",
    ),
    "absent.no_stream": (
        "The last {module} asked for no streamed answers: it says nothing of the first token.",
        "最近一次 {module} 未请求流式应答：没有首 token 时间。",
    ),
    "absent.requests_contradict": (
        "The last {module} didn't keep within the latency at {missed} at once, by so few of {sent} requests that it may be chance, and "
        "kept "
        "within it at {held} at once: the steps contradict each other.",
        "最近一次 {module} 在 {missed} 并发时延迟未达标，但 {sent} 个请求中仅有极少数超限，可能只是偶然；而 {held} 并发时达标：各级相互矛盾。",
    ),
    "absent.requests_too_few": (
        "The last {module} sent {sent} requests at {count} at once: fewer than its clients, or than the 20 that a 95th percentile takes, "
        "so that step doesn't count.",
        "最近一次 {module} 在 {count} 并发时只发送了 {sent} 个请求：少于客户端数，或少于计算 95 分位所需的 20 个，该级不作数。",
    ),
    "absent.transfer_too_short": (
        "No attempt of the last {module} ({direction}) took a second and moved 8 MiB: too little to tell how long the form's data takes. "
        "{seen}",
        "最近一次 {module}（{direction}）没有一次尝试持续 1 秒且传输 8 MiB：不足以推断表单数据所需的时间。{seen}",
    ),
    "absent.own_address": (
        "The last {module} went to {address}, an address of this host itself: it says nothing of the network.",
        "最近一次 {module} 的目标 {address} 是本机地址：不能反映网络。",
    ),
    "absent.port_speed": (
        "No speed is known of {names}: a virtual interface or a port without a link has none, and some drivers don't tell it.",
        "{names} 的速率未知：虚拟网口或无链路的端口没有速率，部分驱动也不提供。",
    ),
    "absent.link_by_group": (
        "This link is virtual, faster than 100 Gbit/s or its rate isn't known: it is judged beside the other hosts' links.",
        "该链路为虚拟链路、超过 100 Gbit/s 或线速未知：与其他主机的链路比较评判。",
    ),
    "absent.link_by_line": ("This link is judged by its line rate.", "该链路按线速评判。"),
    "absent.link_unjudged": (
        "This link is virtual, faster than 100 Gbit/s or its rate isn't known, and fewer than three hosts were measured: there is nothing "
        "to judge it by.",
        "该链路为虚拟链路、超过 100 Gbit/s 或线速未知，且参测主机不足三台：没有可比较的依据。",
    ),
    "absent.link_hidden_by": (
        "The last {module} tested this host only with hosts that are slow themselves ({peer}): how fast its own link is isn't known.",
        "最近一次 {module} 中，该主机仅与自身偏慢的主机（{peer}）互测：其自身链路的速率未知。",
    ),
    "absent.link_loss_hidden_by": (
        "The last {module} tested this host only with hosts that lose packets themselves ({peer}): what its own link loses isn't known.",
        "最近一次 {module} 中，该主机仅与自身丢包的主机（{peer}）互测：其自身链路是否丢包未知。",
    ),
    "absent.link_no_udp": (
        "UDP packets gave no figure in {failed} of {count} pairs of the last {module}, most likely since a firewall drops UDP: what this "
        "link loses isn't known. The notes of the measurement say why.",
        "最近一次 {module} 的 {count} 个配对中有 {failed} 个没有得到 UDP 数据，很可能是防火墙丢弃了 UDP：该链路的丢包情况未知。原因见该次测量的说明。",
    ),
    "answer.link_hidden": (
        "Mend the host that is named, or test this one with another host, and measure again.",
        "修复所指的主机，或让该主机与其他主机互测，然后重新测量。",
    ),
    "answer.link_no_udp": (
        "Open the ports of measure_network_link_ports between the hosts for UDP too, and measure again.",
        "在主机之间为 measure_network_link_ports 的端口同时放行 UDP，然后重新测量。",
    ),
    "absent.no_fabric_limit": (
        "No limit is known for this board, {operation}, its number of nodes and GPUs and its message size: say what to expect with "
        "gpu_audit_expected.fabric_busbw_bytes_per_second.",
        "对于该 GPU、{operation}、节点数、GPU 数和消息大小没有已知限值：请用 gpu_audit_expected.fabric_busbw_bytes_per_second 给出期望值。",
    ),
    "absent.fabric_contradiction": (
        "The test says {operation} on {ranks} GPUs, whose bus bandwidth is {factor} times the algorithm's; its own figures "
        "differ by {found}: they are of another test, or were mixed up.",
        "测试声称为 {ranks} 个 GPU 上的 {operation}，其总线带宽应为算法带宽的 {factor} 倍，而结果为 {found} 倍：数据属于另一测试或已混乱。",
    ),
    "absent.fabric_unchecked": (
        "The test of NCCL didn't look whether the values are right (option -c 0).",
        "NCCL 测试未校验数值是否正确（选项 -c 0）。",
    ),
    # --- what somebody does to get the value
    "answer.concurrency": (
        "Measure again with the form's concurrency among the steps (request_benchmark, concurrency).",
        "将表单要求的并发加入测试级别后重新测量（request_benchmark 的 concurrency）。",
    ),
    "answer.concurrency_below": (
        "Measure again with lower steps, and enough requests in each (request_benchmark, concurrency).",
        "增加更低的并发级别并保证每级请求数足够后重新测量（request_benchmark 的 concurrency）。",
    ),
    "answer.no_stream": (
        "Measure again with measure_network_request_streaming: openai.",
        "请将 measure_network_request_streaming 设为 openai 后重新测量。",
    ),
    "answer.requests_contradict": (
        "Measure again. A slow service answers few requests one after another: a larger measure_network_request_duration_seconds (and "
        "measure_network_request_count) gives that step more.",
        "请重新测量。慢的服务在低并发下应答数很少：调大 measure_network_request_duration_seconds（以及 measure_network_request_count）可使该级有更多请求。",
    ),
    "answer.transfer_failed": (
        "Find out why the transfers fail (the check on failed transfers says it), then measure again.",
        "先查明传输失败的原因（见传输失败检查项），再重新测量。",
    ),
    "answer.transfer_too_short": (
        "Move more in each attempt, so that it takes some seconds: a larger measure_network_upload_bytes or "
        "measure_network_download_bytes, "
        "for a download a larger file.",
        "增大每次尝试的传输量，使其持续数秒：调大 measure_network_upload_bytes 或 measure_network_download_bytes；下载请选用更大的文件。",
    ),
    "answer.requests_too_few": (
        "Send more requests at each step: a larger measure_network_request_count or measure_network_request_duration_seconds, or neither.",
        "增加每级的请求数：调大 measure_network_request_count 或 measure_network_request_duration_seconds，或两者都不设。",
    ),
    "answer.own_address": (
        "Measure against the real endpoint, or a peer on another host (measure_network_peer).",
        "请针对真实端点测量，或使用其他主机上的对端（measure_network_peer）。",
    ),
    # --- findings
    "finding.transfer_too_short": (
        "over too soon to say much",
        "时间过短，仅供参考",
    ),
    "finding.own_address": (
        "measured within this host, without any network",
        "在本机内部测得，未经过网络",
    ),
    "finding.later_failed": (
        "a later test failed (notes of the measurement)",
        "之后的一次测试失败（见测量文件的 notes）",
    ),
    "finding.peer": (
        "measured against the audit's own peer, not the real endpoint",
        "对端为审计自带的服务，并非真实端点",
    ),
    # --- transfers
    "advice.transfer_window": (
        "The endpoint is far away: one TCP stream moves at most one window a round trip, and the speed needed takes a larger window "
        "than the usual "
        "buffers hold (net.ipv4.tcp_rmem and tcp_wmem, on both sides; net.core.rmem_max and wmem_max cap what a program sets). Take "
        "several streams, or raise "
        "the third value of both to twice the bandwidth-delay product and leave autotuning on. Then look at the link itself.",
        "端点较远：单条 TCP 流每个往返最多传一个窗口，而所需速率要求的窗口超过常见缓冲区（两端的 net.ipv4.tcp_rmem 与 tcp_wmem；net.core.rmem_max 与 "
        "wmem_max 限制程序自设的大小）。请使用多流传输，或将两者的第三个值调到带宽时延积的两倍并保持自动调节；之后再检查链路本身。",
    ),
    "advice.no_upgrade": (
        "No upgrade is advised while the form lacks {fields}.",
        "表单缺少 {fields}，因此不给出升级建议。",
    ),
    "advice.failed_refused": (
        "The endpoint refuses the connection: nobody listens on that port, or a firewall rejects it. Check service, port and address; "
        "then measure again.",
        "端点拒绝连接：该端口无服务监听，或被防火墙拒绝。检查服务、端口和地址，然后重新测量。",
    ),
    "advice.failed_silent": (
        "No answer in time, or the stream stood still. A firewall that drops packets, a server that is overloaded, or an MTU that "
        "doesn't fit (small packets pass, "
        "large ones get lost): try ping -M do -s 1472 to the endpoint, and where the data is merely large a longer "
        "measure_network_timeout_seconds (of requests: measure_network_request_timeout_seconds).",
        "超时无应答，或传输中途停滞。可能是防火墙丢包、服务器过载或 MTU 不匹配（小包通、大包丢）：用 ping -M do -s 1472 测试到端点的路径；"
        "若只是数据量大，则调大 measure_network_timeout_seconds（请求测试为 measure_network_request_timeout_seconds）。",
    ),
    "advice.failed_unreachable": (
        "There is no way to the endpoint: check routes, gateway, VLAN, and whether the host needs a proxy.",
        "无法到达端点：检查路由、网关、VLAN，以及该主机是否需要代理。",
    ),
    "advice.failed_dns": (
        "The endpoint's name isn't resolved: check the name, /etc/resolv.conf and whether the name server answers from this host.",
        "无法解析端点域名：检查域名、/etc/resolv.conf，以及从该主机访问域名服务器是否有应答。",
    ),
    "advice.failed_tls": (
        "The TLS handshake fails: check the certificate's names and dates, the host's clock, and give the issuer with "
        "measure_network_ca_path where it "
        "is a private one.",
        "TLS 握手失败：检查证书的域名和有效期、主机时钟；若为私有 CA，请用 measure_network_ca_path 给出。",
    ),
    "advice.failed_proxy": (
        "The proxy doesn't let the transfer through: check its address, credentials and size limits, or exempt the endpoint (no_proxy).",
        "代理未放行该传输：检查代理地址、凭据和大小限制，或将端点加入 no_proxy。",
    ),
    "advice.failed_client": (
        "The server refuses the request: check path, credentials and the age of presigned URLs; 413 is a size limit, 429 asks for fewer "
        "requests.",
        "服务器拒绝请求：检查路径、凭据和预签名 URL 是否过期；413 为大小限制，429 表示请求过于频繁。",
    ),
    "advice.failed_server": (
        "The server or the load balancer before it fails: look at its log, its disk space and its time limits.",
        "服务器或其前端负载均衡出错：查看其日志、磁盘空间和超时设置。",
    ),
    "advice.failed_broken": (
        "Connections break off half-way: look for time limits of load balancers and firewalls, packet loss on the path, and restarts of "
        "the server.",
        "连接中途断开：检查负载均衡和防火墙的超时、路径丢包以及服务器是否重启。",
    ),
    "advice.failed_said": (
        "Look at what was said of each failure, mend that, then measure again.",
        "查看每次失败给出的原因，修复后重新测量。",
    ),
    "advice.failed_mistyped": (
        "Where the target was merely mistyped, measure the right one, or delete the file of this test (named in the finding, below "
        "gpu_audit_output_dir): an earlier test of another target, where there is one, then counts again.",
        "若只是目标写错，请用正确的目标重新测量，或删除该测试的文件（文件名见检查结果，位于 gpu_audit_output_dir 下）：此前其他目标的测试（如有）会重新生效。",
    ),
    "advice.failed_checksum": (
        "What arrived isn't what was sent. Don't use this path for data: look for a proxy or cache that changes bodies, a truncating "
        "server, then faulty memory or a faulty network card "
        "(checksum offload).",
        "收到的内容与发送的不一致。不要用该路径传数据：先排查改写内容的代理或缓存、截断数据的服务器，再排查故障内存或网卡（校验和卸载）。",
    ),
    "advice.requests_fail": (
        "At this concurrency requests fail instead of becoming slow: raise the service's limits of connections, queue and workers (and "
        "open files), look at its log, or admit fewer requests at once.",
        "在该并发下请求不是变慢而是失败：提高服务的连接数、队列和工作进程上限（以及打开文件数），查看其日志，或限制同时接入的请求。",
    ),
    # --- links
    "advice.link_cable": (
        "Errors came while the link was loaded: clean or swap the transceiver, then the cable, then try another switch port, one at a "
        "time; measure after each. Drops without errors "
        "are queues: ring size (ethtool -G), pause frames or PFC.",
        "链路负载期间出现错误：依次清洁或更换光模块、线缆，再换交换机端口，每次只换一样并重新测量。只有丢包而无错误则是队列问题：检查环形缓冲区（ethtool -G）、暂停帧或 PFC。",
    ),
    "advice.link_loss": (
        "Packets get lost, and TCP slows down for each. Look for an overloaded switch port or trunk on the way, shallow switch buffers "
        "where a faster link meets a slower one, a policer, "
        "and ring overflows on the host (ethtool -S, ethtool -G).",
        "存在丢包，TCP 会因此降速。检查途中过载的交换机端口或汇聚链路、快慢链路交汇处的浅缓冲、限速策略，以及主机环形缓冲区溢出（ethtool -S、ethtool -G）。",
    ),
    "advice.link_mtu": (
        "Large packets get lost silently on this path: set one MTU on both hosts, their bonds and VLANs and every switch port between "
        "them.",
        "该路径会无声地丢弃大包：在两端主机及其绑定口、VLAN 和途经的每个交换机端口上设置同一 MTU。",
    ),
    "advice.link_undecided": (
        "Only two hosts were tested with each other, so nobody can tell which of them is slow: measure with a third host.",
        "只有两台主机互测，无法判断是哪一台慢：请加入第三台主机再测。",
    ),
    "advice.link_one_way": (
        "One direction is much slower than the other: one lane or fibre of the transceiver, a duplex mismatch, a policer in one "
        "direction, or on the receiving side one core that takes all interrupts.",
        "一个方向明显慢于另一方向：光模块的某一通道或光纤故障、双工不匹配、单向限速，或接收端全部中断落在一个核上。",
    ),
    "advice.link_window": (
        "The hosts are far apart for such a fast link: each stream moves one window a round trip. Raise the third values of "
        "net.ipv4.tcp_rmem and tcp_wmem on both sides to twice the "
        "bandwidth-delay product, or use more streams.",
        "对如此快的链路而言，两台主机相距较远：每条流每个往返只能传一个窗口。将两端 net.ipv4.tcp_rmem 与 tcp_wmem 的第三个值调到带宽时延积的两倍，或增加流数。",
    ),
    # --- words
    "word.as_the_interface": ("as large as the interface's", "不小于网口的 MTU"),
    "word.smaller_than_interface": ("smaller than the interface's", "小于网口的 MTU"),
    "word.black_hole": ("large packets get lost", "大包丢失"),
}
