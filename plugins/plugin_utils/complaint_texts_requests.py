# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A part of the table of `complaints.py`: what load tests and the peer server refuse, and the notes of a load test."""

from __future__ import annotations

# As in complaint_texts.py.
TABLE = (
    # --- what a load test refuses
    ("{requests} requests in all are asked for, at most {most} are sent", "总共要求发送 {requests} 个请求，最多只发送 {most} 个"),
    (
        "the test could take {seconds} s ({steps} steps of up to {each} s, each with up to 2 x {timeout} s for connecting and for its last "
        "request), at most {most} are allowed: fewer steps, or less duration_seconds or timeout_seconds",
        "测试可能需要 {seconds} 秒（{steps} 级，每级最多 {each} 秒，建立连接和等待最后一个请求另需最多 2 × {timeout} 秒），上限为 {most} 秒："
        "请减少级数，或调小 duration_seconds 或 timeout_seconds",
    ),
    ("each of them must be from 1 to {most}, not {value}", "每个值必须在 1 与 {most} 之间，而不是 {value}"),
    ("{steps} steps are too many, at most {most}", "{steps} 级过多，最多 {most} 级"),
    (
        "concurrency {value} needs more open files than the limit of this user ({limit})",
        "并发 {value} 所需的打开文件数超过该用户的限制（{limit}）",
    ),
    ("method must be one of {names}", "method 必须是以下之一：{names}"),
    ("openai is asked with POST, not {method}", "openai 方式必须使用 POST，而不是 {method}"),
    ("give payload or payload_bytes, not both", "payload 与 payload_bytes 只能给出一个"),
    ("the payload has {bytes} bytes, at most {most} are sent", "payload 有 {bytes} 字节，最多发送 {most} 字节"),
    ("it is nested too deeply", "嵌套层次过深"),
    ("it holds a number that JSON can't say", "含有 JSON 无法表示的数值"),
    ("it holds half of a surrogate pair, which is no letter", "含有不成对的代理码位，不是有效字符"),
    ("payload must be a JSON object where streaming is openai", "streaming 为 openai 时，payload 必须是 JSON 对象"),
    ("one payload alone has {size}, more than the {most} that may be moved", "单个 payload 就有 {size} 字节，超过允许传输的 {most} 字节"),
    ("{value} is no size; give bytes, or text such as \"1 MiB\"", "{value} 不是有效的大小；请给出字节数，或\u201c1 MiB\u201d这样的文本"),
    ("ended by {signal}", "被 {signal} 结束"),
    # --- what it announces
    (
        "{method} {url}: up to {requests} requests of {bytes} each, {steps} at once, {rate} arriving a second",
        "{method} {url}：最多 {requests} 个请求，每个 {bytes}，并发依次为 {steps}，每秒到达 {rate} 个",
    ),
    (
        "{method} {url}: up to {requests} requests of {bytes} each, {steps} at once",
        "{method} {url}：最多 {requests} 个请求，每个 {bytes}，并发依次为 {steps}",
    ),
    (
        "{method} {url}: up to {requests} requests, {steps} at once, {rate} arriving a second",
        "{method} {url}：最多 {requests} 个请求，并发依次为 {steps}，每秒到达 {rate} 个",
    ),
    ("{method} {url}: up to {requests} requests, {steps} at once", "{method} {url}：最多 {requests} 个请求，并发依次为 {steps}"),
    ("ends when sent and received bytes are {limit}", "收发总量达到 {limit} 时结束"),
    (
        "sends up to {bytes}, ends when sent and received bytes are {limit}",
        "最多发送 {bytes}；收发总量达到 {limit} 时结束",
    ),
    # --- notes of its steps
    ("not tried: the bytes that the test may move are used up", "未尝试：测试允许传输的字节数已用完"),
    (
        "no answer was whole before the bytes that the test may move were used up",
        "在测试允许传输的字节数用完之前，没有收到一个完整的应答",
    ),
    ("not measured: {error*}", "未测量：{error}"),
    ("not measured: {error}", "未测量：{error}"),
    ("not tried after that: {steps} at once", "此后未再尝试的并发：{steps}"),
    (
        "{steps} at once met the latency although a lower concurrency didn't: not counted",
        "并发 {steps} 满足延迟要求，但更低的并发并不满足：不予采信",
    ),
    (
        "{missed} at once missed the latency by so few of its {count} requests that it may be chance, and {steps} at once met it: which "
        "concurrency keeps it isn't known, measure again with more requests in each step",
        "并发 {missed} 的 {count} 个请求中仅有极少数超限，可能只是偶然，而并发 {steps} 满足延迟要求：无法判断多大并发能满足，请增加每级的请求数后重新测量",
    ),
    (
        "{missed} at once, the lowest step that counts, missed the latency: what fewer keep isn't known",
        "计入的最低一级（并发 {missed}）未满足延迟要求：更低的并发是否满足未知",
    ),
    ("{concurrency} at once: {note*}", "并发 {concurrency}：{note}"),
    ("stopped after {seconds} s with {requests} of {asked} requests sent", "运行 {seconds} 秒后停止，已发送 {asked} 个请求中的 {requests} 个"),
    ("stopped: more than half of its {requests} requests failed", "已停止：{requests} 个请求中有一半以上失败"),
    (
        "stopped: requests waited longer than {timeout} s for a free connection, the queue grew without end ({rate} arrive a second, {done} are "
        "answered)",
        "已停止：请求等待空闲连接超过 {timeout} 秒，队列不断增长（每秒到达 {rate} 个，只应答 {done} 个）",
    ),
    ("stopped: the bytes that the test may move are used up", "已停止：测试允许传输的字节数已用完"),
    (
        "requests arrive faster ({rate} a second) than they are answered ({done}): the queue grew to the end, and the latencies depend on how "
        "long the test ran",
        "请求到达（每秒 {rate} 个）快于应答（每秒 {done} 个）：队列一直增长到测试结束，延迟取决于测试运行了多久",
    ),
    (
        "requests: {requests}, fewer than its clients or than the {least} that a percentile takes: not counted",
        "只有 {requests} 个请求，少于客户端数，或少于计算分位数所需的 {least} 个：不予采信",
    ),
    ("{count} x {kind}: {words*}", "{kind} {count} 次：{words}"),
    ("{count} x {kind}: {words}", "{kind} {count} 次：{words}"),
    (
        "connections that had ended before a request was sent on them: {count}, connecting anew is part of those latencies",
        "{count} 个连接在发送请求之前已断开，相应的延迟包含重新建立连接的时间",
    ),
    (
        "requests sent again: {count}, the server had closed their connections before they arrived",
        "重发请求 {count} 次：请求到达之前，服务器已关闭其连接",
    ),
    (
        "the client used {percent} % of a core, about all that one Python process can: the service may answer more requests, and faster",
        "客户端已占用单核的 {percent} %，接近一个 Python 进程的极限：服务实际可能更快，能应答更多请求",
    ),
    (
        "the server doesn't say how many tokens its answers have: pieces of text are counted, which may hold several tokens each",
        "服务器未说明应答包含多少 token：改为统计文本片段数，每个片段可能含多个 token",
    ),
    (
        "the server doesn't say how many tokens some of its answers have: pieces of text are counted, which may hold several tokens each",
        "服务器未说明部分应答包含多少 token：对这些应答改为统计文本片段数，每个片段可能含多个 token",
    ),
    (
        "the server's count of tokens can't be right in {count} of its answers (none of a text, or more than were asked for): pieces of text "
        "are counted, which may hold several tokens each",
        "服务器对其中 {count} 个应答给出的 token 数不可信（有文本却为 0，或超过请求的上限）：对这些应答改为统计文本片段数，每个片段可能含多个 token",
    ),
    # --- what goes wrong with a request
    ("it was due for longer than a request may take, with no connection free", "等待空闲连接的时间超过了单个请求的时限"),
    ("the answer ended {bytes} bytes before its end", "应答提前结束，缺少 {bytes} 字节"),
    ("the answer is longer than {bytes} bytes", "应答超过 {bytes} 字节"),
    ("the answer is no event stream: does the server stream, at this URL?", "应答不是事件流：该 URL 上的服务器是否支持流式输出？"),
    ("HTTP {status}: redirections aren't followed, give the URL that answers", "HTTP {status}：不跟随重定向，请给出最终应答的 URL"),
    ("HTTP {status} isn't an answer to this request", "HTTP {status} 不是对该请求的应答"),
    ("more than {count} interim answers", "临时应答（1xx）超过 {count} 个"),
    ("bytes came that belong to no request", "收到了不属于任何请求的数据"),
    ("the answer can't be read ({error})", "无法读取应答（{error}）"),
    ("the server says that one answer has more than {count} tokens", "服务器声称单个应答超过 {count} 个 token"),
    # --- what this host lacks
    ("a client of the test broke off ({error})", "测试的一个客户端意外中止（{error}）"),
    (
        "this host lets the test have {had} threads, not the {needed} that it needs: fewer at once, or a higher limit of processes "
        "and memory",
        "本主机只允许测试使用 {had} 个线程，而测试需要 {needed} 个：请降低并发，或提高进程数与内存的限制",
    ),
    ("this host has no threads or memory left for the test", "本主机已没有可供测试使用的线程或内存"),
    (
        "the proxy: connecting to {host} port {port}: {error}: no local port of this host is free (keep connections, or widen "
        "net.ipv4.ip_local_port_range), or it has no address of that kind",
        "代理：连接 {host} 端口 {port}：{error}：本主机没有空闲的本地端口（请保持连接，或扩大 net.ipv4.ip_local_port_range），"
        "或没有该类型的地址",
    ),
    (
        "connecting to {host} port {port}: {error}: no local port of this host is free (keep connections, or widen "
        "net.ipv4.ip_local_port_range), or it has no address of that kind",
        "连接 {host} 端口 {port}：{error}：本主机没有空闲的本地端口（请保持连接，或扩大 net.ipv4.ip_local_port_range），或没有该类型的地址",
    ),
    (
        "{error}: no local port of this host is free (keep connections, or widen net.ipv4.ip_local_port_range), or it has no address of that "
        "kind",
        "{error}：本主机没有空闲的本地端口（请保持连接，或扩大 net.ipv4.ip_local_port_range），或没有该类型的地址",
    ),
    ("an event of the stream is longer than {bytes} bytes", "流中的一个事件超过 {bytes} 字节"),
    ("an event of the stream is no JSON object", "流中的一个事件不是 JSON 对象"),
    ("the stream ended without [DONE] or a finish_reason", "流结束时既没有 [DONE] 也没有 finish_reason"),
    ("the stream has no text", "流中没有文本"),
    ("the stream ended with an error event, code {code}", "流以错误事件结束，代码 {code}"),
    ("the stream ended with an error event", "流以错误事件结束"),
    # --- the peer server
    ("a server on another host is ended by its token only: give token", "关闭其他主机上的服务需要其令牌：请给出 token"),
    ("token must be 16 to 200 letters, digits, - and _", "token 必须是 16 至 200 个字母、数字、- 或 _"),
    (
        "port range {value}: give one port, or two such as 47800-47899, from 1 to 65535",
        "端口范围 {value}：请给出一个端口，或 47800-47899 这样的两个端口，范围 1 至 65535",
    ),
    (
        "address {address}: give the address that the other hosts reach; the server listens on no other",
        "地址 {address}：请给出其他主机可以访问的地址；服务器不监听其他地址",
    ),
    ("address {address}, no port from {first} to {last} can be used: {error}", "地址 {address}：端口 {first} 至 {last} 均不可用：{error}"),
    ("address {address}, port {port}: {error}", "地址 {address} 端口 {port}：{error}"),
    ("the server didn't start: {error*}", "服务器未能启动：{error}"),
    ("the server didn't start: {error}", "服务器未能启动：{error}"),
    ("no word from it within {seconds} s", "{seconds} 秒内没有回应"),
    ("it ended at once", "启动后立即退出"),
    ("process {pid} of the server on port {port} doesn't end", "端口 {port} 上的服务器进程 {pid} 无法结束"),
    ("{path} can't be made: {error}", "无法创建 {path}：{error}"),
    ("{path} can't be read: {error}", "无法读取 {path}：{error}"),
    (
        "servers note themselves in a folder for temporary files, and there is none to write to ({error}): make one, or name it in TMPDIR",
        "服务器需要在临时文件目录中登记自己，但没有可写的临时目录（{error}）：请创建一个，或用 TMPDIR 指定",
    ),
    ("{path} belongs to somebody else or others may write there: remove it", "{path} 属于他人，或他人可以写入：请将其删除"),
)
