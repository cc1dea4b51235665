# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The part of the table of `complaints.py` that link tests say: addresses, iperf3, what goes wrong between two hosts, notes."""

from __future__ import annotations

_SET = "请将其设为要测试链路的地址或网口名（management 表示 Ansible 所用的地址）"

# As in complaint_texts.py.
TABLE = (
    # --- around other sentences
    ("with {peer}: {rest*}", "与 {peer}：{rest}"),
    ("send: {rest*}", "发送方向：{rest}"),
    ("receive: {rest*}", "接收方向：{rest}"),
    ("UDP: {rest*}", "UDP：{rest}"),
    ("no server on {host}: {rest*}", "{host} 上没有可用的服务端：{rest}"),
    ("no pair of {count} gave a figure; the first: {rest*}", "{count} 个配对均无数据；第一个：{rest}"),
    ("no pair of {count} gave a figure; the first: {rest}", "{count} 个配对均无数据；第一个：{rest}"),
    # --- addresses
    (
        "gpu_audit_link_address isn't set for this host. Set it to the address or the interface whose link is to be tested (management: "
        "the address that Ansible uses). It has: {there}",
        "该主机未设置 gpu_audit_link_address。" + _SET + "。本机有：{there}",
    ),
    ("gpu_audit_link_address: {address} is the host's own loop, which no other host reaches. It has: {there}",
     "gpu_audit_link_address：{address} 是本机回环地址，其他主机无法访问。本机有：{there}"),
    # Of gpu_audit_link_address, and of a peer's address.
    ("{address} is no address of this host. It has: {there}", "{address} 不是该主机的地址。本机有：{there}"),
    ("the interface {name} has no address that other hosts reach. This host has: {there}", "网口 {name} 没有其他主机可访问的地址。本机有：{there}"),
    ("{name} is neither an address nor an interface of this host. It has: {there}", "{name} 既不是该主机的地址，也不是其网口。本机有：{there}"),
    (
        "gpu_audit_link_address: management: what Ansible reaches this host by ({name}) isn't one of its own addresses (NAT, a proxy, the "
        "host itself). Name one: {there}",
        "gpu_audit_link_address：management：Ansible 访问该主机所用的 {name} 不是其自身地址（NAT、代理或本机连接）。请指定其一：{there}",
    ),
    ("this host's addresses can't be read: {error}", "无法读取该主机的地址：{error}"),
    ("{one} and {other} have the same link address, {address}: set gpu_audit_link_address of each to its own",
     "{one} 与 {other} 的链路地址相同（{address}）：请分别将 gpu_audit_link_address 设为各自的地址"),
    # --- what is announced and told
    (
        "links of {hosts} hosts: {pairs} pairs in {rounds} rounds ({mode}), about {time}; each test fills its link",
        "{hosts} 台主机的链路：{rounds} 轮共 {pairs} 个配对（{mode}），约 {time}；每次测试都会占满链路",
    ),
    ("moves up to {size}: line rate x {seconds} s for each pair", "最多传输 {size}：每个配对为线速 × {seconds} 秒"),
    (
        "of {count} pairs the line rate isn't known: each moves as much as its link carries in up to {seconds} s",
        "有 {count} 个配对线速未知：每个最多传输其链路在 {seconds} 秒内所能承载的数据量",
    ),
    ("moves up to {size} over it: its line rate for {seconds} s", "最多传输 {size}：其线速 × {seconds} 秒"),
    (
        "moves as much as the link carries in up to {seconds} s: its line rate isn't known",
        "最多传输链路在 {seconds} 秒内所能承载的数据量：线速未知",
    ),
    ("the worst of {count} hosts first; {more} more are kept likewise", "先列出 {count} 台主机中最差的；其余 {more} 台同样已保存"),
    # --- settings
    ("a link test needs two hosts or more that can be tested; there is only {host}", "链路测试至少需要两台可测的主机；目前只有 {host}"),
    ("a link test needs two hosts or more that can be tested; there are none", "链路测试至少需要两台可测的主机；目前一台也没有"),
    ("{mode} is no way to pair hosts; there are {names}", "{mode} 不是主机配对方式；可用 {names}"),
    ("port range: {text} is no range of ports; give two from 1024 to 65535, such as 5201-5300",
     "port range：{text} 不是有效的端口范围；请给出 1024 到 65535 之间的两个端口，例如 5201-5300"),
    ("{address} is no IP address", "{address} 不是 IP 地址"),
    # --- iperf3
    (
        "Install it with: the package iperf3 of your distribution (or the role prepare with gpu_audit_prepare_iperf3: true)",
        "安装方法：发行版的 iperf3 软件包（或使用角色 prepare 并设 gpu_audit_prepare_iperf3: true）",
    ),
    (
        "Install it with: {line} (or the role prepare with gpu_audit_prepare_iperf3: true)",
        "安装命令：{line}（或使用角色 prepare 并设 gpu_audit_prepare_iperf3: true）",
    ),
    ("iperf3 isn't installed here. {how*}", "此处未安装 iperf3。{how}"),
    ("the iperf3 named, {path}, isn't installed here. {how*}", "指定的 iperf3（{path}）不存在或不可执行。{how}"),
    ("{path} is iperf {version}; iperf3 3.1 or newer is needed. {how*}", "{path} 是 iperf {version}；需要 iperf3 3.1 或更新版本。{how}"),
    (
        "{path} is not iperf3 (it says {said}); iperf3 3.1 or newer is needed. {how*}",
        "{path} 不是 iperf3（其输出为 {said}）；需要 iperf3 3.1 或更新版本。{how}",
    ),
    ("{path} --version gave no answer within {seconds} s and was ended", "{path} --version 在 {seconds} 秒内没有应答，已被终止"),
    ("{path} --version can't be started: {error}", "无法启动 {path} --version：{error}"),
    ("the program timeout (coreutils) isn't here; without it a server might be left running",
     "此处没有 timeout 程序（coreutils）；缺少它服务端可能无法自行结束"),
    ("iperf3 -s on {address} port {port} didn't begin to listen within {seconds} s: {said}",
     "{address} 端口 {port} 上的 iperf3 -s 在 {seconds} 秒内未开始监听：{said}"),
    ("iperf3 -s can't listen on {address} port {port}: {said}", "iperf3 -s 无法在 {address} 端口 {port} 监听：{said}"),
    ("all ports from {first} to {last} are taken on {address}; give a wider range", "{address} 上 {first} 到 {last} 的端口全部被占用；请给出更大的范围"),
    # --- what goes wrong between two hosts
    (
        "{where} took the connection and gave no answer, or stopped answering, within {seconds} s: no iperf3 server listens there, its "
        "machine hangs, or large packets get lost on the way (packets of {size} bytes get lost on this path: set one MTU on both hosts and "
        "every switch between them)",
        "{where} 已接受连接，但在 {seconds} 秒内没有应答或中途停止应答：那里不是 iperf3 服务端、对方主机挂起，或大包在途中丢失"
        "（此路径会丢失 {size} 字节的包：请将两端主机及其间所有交换机的 MTU 设为一致）",
    ),
    (
        "{where} took the connection and gave no answer, or stopped answering, within {seconds} s: no iperf3 server listens there, its "
        "machine hangs, or large packets get lost on the way",
        "{where} 已接受连接，但在 {seconds} 秒内没有应答或中途停止应答：那里不是 iperf3 服务端、对方主机挂起，或大包在途中丢失",
    ),
    ("no answer from {where} within {seconds} s: a firewall drops it, or what listens there is no iperf3 server",
     "{where} 在 {seconds} 秒内没有应答：被防火墙丢弃，或那里监听的不是 iperf3 服务端"),
    ("the iperf3 server on {where} is busy with somebody else's test, also after waiting: {said}",
     "{where} 上的 iperf3 服务端正被他人的测试占用，等待后仍然如此：{said}"),
    ("{where} refused the connection: no server listens there, or a firewall rejects it ({said})", "{where} 拒绝连接：没有服务端在监听，或被防火墙拒绝（{said}）"),
    (
        "{where} can't be reached: no answer to the connection, a firewall drops it ({said}). Open the ports of measure_network_link_ports "
        "between the hosts",
        "无法连接 {where}：连接没有应答，被防火墙丢弃（{said}）。请在主机之间放行 measure_network_link_ports 中的端口",
    ),
    ("the name of {where} can't be looked up: {said}", "无法解析 {where} 的名称：{said}"),
    ("no way to {where}: {said}", "没有到 {where} 的路由：{said}"),
    ("the iperf3 server on {where} ended during the test: {said}", "{where} 上的 iperf3 服务端在测试中途结束：{said}"),
    ("iperf3 can't work here: {said}", "iperf3 在此处无法工作：{said}"),
    ("iperf3 and the server on {where} didn't come to a result: {said}", "iperf3 与 {where} 上的服务端未得出结果：{said}"),
    ("iperf3 was ended by signal {number}", "iperf3 被信号 {number} 终止"),
    (
        "iperf3 printed more than {size} MiB and was ended: it is broken, or what was given is another program",
        "iperf3 输出超过 {size} MiB，已被终止：该程序有故障，或指定的是其他程序",
    ),
    ("iperf3 says {rate} bits a second, which no link carries", "iperf3 给出每秒 {rate} 比特，没有链路能达到"),
    ("iperf3's figures contradict each other: {bytes} bytes in {seconds} s aren't {rate} bits a second",
     "iperf3 的数据自相矛盾：{seconds} 秒内 {bytes} 字节不等于每秒 {rate} 比特"),
    ("iperf3 says an error without a word", "iperf3 报告了错误，但没有说明"),
    (
        "{bytes} bytes a second are more than the link of {host} carries ({line} bits a second): no figure",
        "每秒 {bytes} 字节超过了 {host} 链路的线速（每秒 {line} 比特）：不计为数据",
    ),
    (
        "no answer to UDP packets from {host} port {port}, which answers TCP: a firewall drops UDP. Open the ports of "
        "measure_network_link_ports for UDP too",
        "{host} 端口 {port} 对 TCP 有应答，对 UDP 包没有应答：UDP 被防火墙丢弃。请在 measure_network_link_ports 的端口上同时放行 UDP",
    ),
    ("iperf3 measured for {seconds} s instead of {asked} s: no figure of the link", "iperf3 测量了 {seconds} 秒，而不是 {asked} 秒：不能作为链路的数据"),
    ("the receiver's count is missing; what was sent is no measure of what arrived", "缺少接收端的计数；发送量不能代表实际到达的量"),
    ("{address} is an address of this host itself: packets to it leave by no link", "{address} 是本机自身的地址：发往它的包不经过任何链路"),
    (
        "packets from {address} to {peer} leave by {routed}, not by {interface}: the link that was named isn't tested. Set a route by "
        "{same}, or name the other one with gpu_audit_link_address",
        "从 {address} 到 {peer} 的包经 {routed} 发出，而不是 {interface}：被测的不是所指定的链路。请设置经 {same} 的路由，或用 "
        "gpu_audit_link_address 指定另一个网口",
    ),
    (
        "{one} and {other} are one machine: {address} is an address of both, and packets to it leave by no link. Leave one of them out",
        "{one} 与 {other} 是同一台机器：{address} 同为两者的地址，发往它的包不经过任何链路。请去掉其中一个",
    ),
    ("iperf3 measured the other direction than it was asked for", "iperf3 测量的方向与要求的相反"),
    ("no server was started on {host}", "{host} 上没有启动服务端"),
    ("{host} can't be reached: {error}", "无法连接 {host}：{error}"),
    ("the play ended before this pair's turn", "轮到该配对之前 play 已结束"),
    ("no pair was tested", "没有测试任何配对"),
    ("{host}: processes that don't end: {pids}", "{host}：无法结束的进程：{pids}"),
    # --- notes
    ("{failed} of {count} pairs failed", "{count} 个配对中有 {failed} 个失败"),
    ("tested with {peer} only: if the link between them is slow, nobody can tell which of the two it is",
     "仅与 {peer} 测试过：若两者之间的链路慢，无法判断是哪一台的问题"),
    ("tested with slow hosts only ({peer}): how fast this host's own link is isn't known", "仅与偏慢的主机（{peer}）测试过：本机链路自身的速率未知"),
    ("tested with hosts only that lose packets ({peer}): what this host's own link loses isn't known",
     "仅与丢包的主机（{peer}）测试过：本机链路自身是否丢包未知"),
    ("with {peer} only: {share} of the speed that both reach with other hosts", "仅与 {peer} 之间：速率为两者与其他主机之间的 {share}"),
    ("with {peer} only: {share} of UDP packets get lost", "仅与 {peer} 之间：UDP 包丢失 {share}"),
    ("with {peer} only: {share} of TCP segments are sent again", "仅与 {peer} 之间：TCP 段重传 {share}"),
    ("sending is much slower than the other direction", "发送方向远慢于接收方向"),
    ("receiving is much slower than the other direction", "接收方向远慢于发送方向"),
    (
        "MTU black hole: packets of {size} bytes to {peer} get lost and nobody says so, small ones arrive; the MTU of the other host or of "
        "a switch between is smaller",
        "MTU 黑洞：发往 {peer} 的 {size} 字节的包丢失且无人告知，小包可以到达；对方主机或其间交换机的 MTU 更小",
    ),
    ("the path to {peer} carries packets of {size} bytes, this interface {own}", "到 {peer} 的路径可承载 {size} 字节的包，本机网口为 {own} 字节"),
    ("path MTU to {peer}: {error}", "到 {peer} 的路径 MTU：{error}"),
    ("path MTU not found: nobody answered the packets that look for it", "未能测得路径 MTU：探测包没有应答"),
    ("path MTU not found: this host was the server of all its pairs, and no large packet of {peer} arrived",
     "未能测得路径 MTU：该主机在所有配对中都是服务端，而 {peer} 发来的大包均未到达"),
    ("path MTU not found: {error*}", "未能测得路径 MTU：{error}"),
    ("path MTU not found: {error}", "未能测得路径 MTU：{error}"),
    ("packets from {address} to {peer} leave by {interface}, not by {other}", "从 {address} 到 {peer} 的包经 {interface} 发出，而不是 {other}"),
    ("no route from {address} to {peer}: {error}", "从 {address} 到 {peer} 没有路由：{error}"),
    ("{name} spreads connections over {count} links ({mode}): one stream fills one of them at most",
     "{name} 将连接分散到 {count} 条链路（{mode}）：单个流最多只能占满其中一条"),
    ("{way}: iperf3 {version} runs all streams in one thread, which may be what is full; 3.16 and newer have one for each",
     "{way}：iperf3 {version} 的所有流共用一个线程，瓶颈可能在此；3.16 及更新版本每个流各有一个线程"),
    ("{way}: with {count} streams: {rest*}", "{way}：使用 {count} 个流时：{rest}"),
    ("fills the link between {address} and {peer} for about {seconds} s", "约 {seconds} 秒内占满 {address} 与 {peer} 之间的链路"),
    ("a transfer of a given size that took {seconds} s only: 3.16 and newer count waiting in, so that this is no rate of the link",
     "按字节数的传输仅用 {seconds} 秒：3.16 及更新版本会把等待计入，不能代表链路速率"),
    ("lasted {seconds} s only: no rate of the link", "仅持续 {seconds} 秒：不能代表链路速率"),
    ("how many packets arrived isn't told; what was sent is no measure of it", "未给出实际到达的包数；发送量不能代表它"),
    ("the kernel names no interface for it", "内核没有给出对应的网口"),
    ("{session} is no session of link tests", "{session} 不是链路测试的会话"),
    (
        "another test of links ({names}) runs on this host: wait until it has ended, or end it with: {command}",
        "该主机上正在运行另一次链路测试（{names}）：请等其结束，或用以下命令终止：{command}",
    ),
    (
        "another test of links runs on this host: wait until it has ended, or end its processes ({variable} in their environment)",
        "该主机上正在运行另一次链路测试：请等其结束，或终止其进程（环境变量中带有 {variable}）",
    ),
    # Likewise of a peer that is being started.
    ("a process of it doesn't end", "仍有进程无法终止"),
    ("interrupted: what the link test ran here was ended", "已中断：链路测试在该主机上的进程已终止"),
    (
        "interrupted: what the link test runs here wasn't ended ({why*}) and ends by itself, until {until} at the latest, or at once with: "
        "{command}",
        "已中断：链路测试在该主机上的进程未能终止（{why}），最迟到 {until} 自行结束；要立即终止，请执行：{command}",
    ),
    (
        "interrupted: what the link test runs here wasn't ended ({why}) and ends by itself, until {until} at the latest, or at once with: "
        "{command}",
        "已中断：链路测试在该主机上的进程未能终止（{why}），最迟到 {until} 自行结束；要立即终止，请执行：{command}",
    ),
    ("there is no session {session} of link tests", "没有链路测试会话 {session}"),
    ("the session {session} has no round {number}", "会话 {session} 中没有第 {number} 轮"),
    ("the result of this pair can't be read: {why*}", "无法读取该配对的结果：{why}"),
    ("the result of this pair can't be read: {why}", "无法读取该配对的结果：{why}"),
    ("the session {session} can't be read: {why*}", "无法读取会话 {session}：{why}"),
    ("the session {session} can't be read: {why}", "无法读取会话 {session}：{why}"),
    ("{field} is no object", "{field} 不是对象"),
    ("{field} is no text", "{field} 不是文本"),
    ("{field} is no list", "{field} 不是列表"),
    ("{field} is no number", "{field} 不是数值"),
    ("{field} is neither true nor false", "{field} 不是 true 或 false"),
    ("{field} is no host of it", "{field} 不是其中的主机"),
)
