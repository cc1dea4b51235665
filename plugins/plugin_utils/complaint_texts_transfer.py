# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a transfer test and its connections say, in Chinese. A part of the table of complaints.py."""

from __future__ import annotations

TABLE = (
    # Notes.
    ("attempt {number} failed: {kind}: {error*}", "第 {number} 次失败（{kind}）：{error}"),
    ("attempt {number} failed: {kind}: {error}", "第 {number} 次失败（{kind}）：{error}"),
    ("the server gives no ranges of it: {used} of {count} streams", "服务器不支持按范围下载：{count} 个连接只使用了 {used} 个"),
    ("a URL takes one upload at a time: {used} of {count} streams", "一个 URL 同时只能上传一个对象：{count} 个连接只使用了 {used} 个"),
    ("redirected to {url}", "被重定向到 {url}"),
    ("what was uploaded stays at {url}: there is nothing to delete it with", "上传的内容仍留在 {url}：没有可用于删除的 URL"),
    ("a part of what was sent may lie at {url}: there is nothing to delete it with", "{url} 处可能留有部分已发送的内容：没有可用于删除的 URL"),
    (
        "a part of what was sent may lie at {url}, which couldn't be deleted ({error*}): look there, and delete it by hand",
        "{url} 处可能留有部分已发送的内容，且无法删除（{error}）：请查看该处并手动删除",
    ),
    ("nothing was stored at {url}: no upload got that far", "没有任何内容存储到 {url}：所有上传都未能成功"),
    ("nothing of the test is left at {url}", "{url} 处没有留下测试的任何内容"),
    ("the bucket keeps versions: {url} is marked as deleted and still takes its place", "存储桶启用了版本控制：{url} 已标记为删除，但仍占用空间"),
    ("{url} couldn't be deleted ({error*}): delete it by hand", "无法删除 {url}（{error}）：请手动删除"),
    ("what was uploaded to {url} was deleted afterwards", "上传到 {url} 的内容已在测试后删除"),
    ("the checksum's arithmetic held the transfer up for {seconds} s: the network may be faster", "计算校验和使传输停顿了 {seconds} 秒：网络可能更快"),
    (
        "begun {seconds} s after the moment at which all hosts were to begin: not all of them moved data at once",
        "比约定的统一开始时刻晚 {seconds} 秒：各主机并非同时传输",
    ),
    # Options.
    (
        "{bytes} bytes are too few to tell anything, give at least {least}. Text with a space needs JSON on the command line "
        "(-e '{{\"name\": \"1.5 GiB\"}}'), or no space (-e name=1.5GiB)",
        "{bytes} 字节太少，测不出结果，请至少给出 {least}。命令行上含空格的值须用 JSON（-e '{{\"name\": \"1.5 GiB\"}}'），或去掉空格（-e name=1.5GiB）",
    ),
    (
        "-e ends a value at its first space, so that this is {value} and not {wanted}. Leave the space out (-e {bare}), or give JSON "
        "(-e '{json}')",
        "-e 会在第一个空格处截断，实际得到的是 {value}，而不是 {wanted}。请去掉空格（-e {bare}），或用 JSON 给出（-e '{json}'）",
    ),
    (
        "-e ends a value at its first space, so that this is {value} and not {wanted}. Give a number in the unit of its name",
        "-e 会在第一个空格处截断，实际得到的是 {value}，而不是 {wanted}。请只给出数字，单位见变量名",
    ),
    ("{url} is no URL", "{url} 不是 URL"),
    (
        "{url} is no URL that can be read safely: write an @, /, ? or # of a name, a password or a path as %40, %2F, %3F, %23",
        "{url} 无法安全解析：用户名、密码中的 @、/、?、#（以及路径中的 @）须写作 %40、%2F、%3F、%23",
    ),
    ("{url} holds a control character, such as a newline: take it out", "{url} 含有控制字符（例如换行符），请将其去掉"),
    ("{url} is no http or https URL", "{url} 不是 http 或 https URL"),
    ("{url}: letters outside ASCII and spaces must be percent-encoded", "{url}：非 ASCII 字符与空格必须用百分号编码"),
    ("{name} is no name of a header", "{name} 不是有效的请求头名称"),
    ("{name} is the test's own to set", "{name} 由测试自行设置，不能指定"),
    ("the value of {name} holds letters that a header can't hold", "{name} 的值含有请求头不允许的字符"),
    (
        "{value} is none. Give the algorithm ({names}) and its hex digits, as in \"sha256:9f86d0...\"",
        "{value} 不是校验和。请给出算法（{names}）及其十六进制值，例如\u201csha256:9f86d0...\u201d",
    ),
    ("checksum is of a download: what an upload sends is the test's own", "checksum 只用于下载：上传的内容由测试自行生成"),
    ("s3:// needs access_key and secret_key, or give a presigned https:// URL", "s3:// 需要 access_key 与 secret_key，或改用预签名的 https:// URL"),
    ("access_key and secret_key belong together: one of them is missing", "access_key 与 secret_key 必须同时给出：缺少其中一个"),
    ("keys are of an S3-compatible storage, not of {storage}", "密钥只用于兼容 S3 的存储，不能用于 {storage}"),
    (
        "an upload test with keys chooses a name of its own, so that it replaces nothing: end the URL in /",
        "使用密钥的上传测试会自行命名对象，以免覆盖已有对象：URL 请以 / 结尾",
    ),
    ("an s3:// URL names a bucket and a key, as in s3://bucket/key", "s3:// URL 应给出存储桶与对象键，例如 s3://bucket/key"),
    ("{option} is no http or https URL", "{option} 不是 http 或 https URL"),
    (
        "url: a key with ? or # can't be given as s3://; give the http or https URL of the object, with %3F for ? and %23 for #",
        "url：带有 ? 或 # 的对象键不能用 s3:// 形式；请给出该对象的 http 或 https URL，其中 ? 写作 %3F，# 写作 %23",
    ),
    (
        "something lies at {url} already, and a test replaces nothing. Give a URL that ends in / (the test's own name is added), or a name "
        "that isn't taken",
        "{url} 处已有内容，测试不会覆盖它。请给出以 / 结尾的 URL（测试会自行命名），或给出未被占用的名称",
    ),
    (
        "nothing tells whether something lies at {url}: it is signed for one method. Give read_url, signed for reading the same, or "
        "overwrite=true where nothing that is needed lies there",
        "无法得知 {url} 处是否已有内容：该 URL 的签名只对一种方法有效。请给出同一对象的预签名读取 URL（read_url）；若确认该处没有需要保留的内容，也可设置 "
        "overwrite=true",
    ),
    (
        "the server doesn't say whether something lies at {url} ({error*}). Give a URL that ends in / (the test's own name is added), or "
        "overwrite=true where nothing that is needed lies there",
        "服务器没有说明 {url} 处是否已有内容（{error}）。请给出以 / 结尾的 URL（测试会自行命名）；若确认该处没有需要保留的内容，也可设置 overwrite=true",
    ),
    (
        "the upload is redirected to {url}, and isn't sent there ({why*}). Give a URL that isn't redirected, or one that ends in / and is "
        "redirected to the name of what is sent",
        "上传被重定向到 {url}，未发送到该处（{why}）。请给出不会被重定向的 URL，或以 / 结尾、且重定向后保留所传对象名称的 URL",
    ),
    ("something lies there", "该处已有内容"),
    ("it is signed for one method", "其签名只对一种方法有效"),
    (
        "the test could take {seconds} s ({attempts} attempts of up to {limit} s), at most {most} are allowed: fewer attempts, or less "
        "timeout_seconds",
        "测试可能需要 {seconds} 秒（{attempts} 次，每次最多 {limit} 秒），上限为 {most} 秒：请减少次数，或调小 timeout_seconds",
    ),
    # Announced.
    ("sends {bytes} in each attempt, attempts: {count} of at most {seconds} s", "每次上传 {bytes}，共 {count} 次，每次最多 {seconds} 秒"),
    (
        "receives up to {bytes} in each attempt, attempts: {count} of at most {seconds} s",
        "每次最多下载 {bytes}，共 {count} 次，每次最多 {seconds} 秒",
    ),
    (
        "with retries (at most {count} an attempt, within its time) {bytes} at the most",
        "计入重试（每次最多重试 {count} 回，且不超出该次时限）总量最多 {bytes}",
    ),
    ("begins at the same moment on {hosts} hosts", "{hosts} 台主机同时开始"),
    # Connections.
    ("no end of it in time", "未能在时限内结束"),
    ("no answer in time", "时限内没有应答"),
    ("no byte for {seconds} s", "{seconds} 秒内没有传输任何数据"),
    ("the name {name} wasn't looked up in time", "未能在时限内解析主机名 {name}"),
    ("the name {name} isn't known ({error})", "无法解析主机名 {name}（{error}）"),
    ("no connection to {host} port {port} in time", "未能在时限内连接 {host} 的端口 {port}"),
    ("connecting to {host} port {port}: {error}", "连接 {host} 的端口 {port}：{error}"),
    ("the proxy's answer is no HTTP", "代理的应答不是 HTTP"),
    ("the proxy gave no tunnel: HTTP {status}", "代理拒绝建立隧道：HTTP {status}"),
    ("the proxy {url}: only http:// proxies can be used", "代理 {url}：只支持 http:// 代理"),
    ("the proxy: {error*}", "代理：{error}"),
    ("the proxy {error*}", "代理 {error}"),
    ("ca_path {path} can't be used: no certificates in PEM form", "无法使用 ca_path {path}：其中没有 PEM 格式的证书"),
    ("ca_path {path} can't be used: {error}", "无法使用 ca_path {path}：{error}"),
    ("no TLS handshake in time", "未能在时限内完成 TLS 握手"),
    ("in the TLS handshake: {error}", "TLS 握手时：{error}"),
    ("the server's certificate isn't accepted: {error}", "服务器证书未通过验证：{error}"),
    ("TLS: {error}", "TLS：{error}"),
    ("the server closed the connection without an answer", "服务器未应答就关闭了连接"),
    ("the answer ended before all of it had come", "应答未传完就中断"),
    ("a line of the answer's head is too long", "应答头中有一行过长"),
    ("the answer is no HTTP", "应答不是 HTTP"),
    ("the answer is no proper HTTP ({name})", "应答不符合 HTTP 规范（{name}）"),
    ("the server sends more around its answer than belongs to it", "服务器在应答之外发送了过多数据"),
    ("the answer's Content-Length is no number of bytes", "应答的 Content-Length 不是有效的字节数"),
    ("the answer's Transfer-Encoding is none that was asked for", "应答使用了未请求的 Transfer-Encoding"),
    ("no thread can be started: the limit of processes or memory is reached", "无法启动新线程：已达到进程数或内存上限"),
    # Transfers.
    ("a stream ended by {name}", "一个连接因 {name} 中止"),
    ("the checksum that was given wasn't compared: {error*}", "未能比对所指定的校验和：{error}"),
    ("the answer isn't the peer's: it doesn't say how many bytes came, and their sum", "应答并非来自对端服务：没有给出收到的字节数及其校验和"),
    ("HTTP {status} is no answer to a {method}", "HTTP {status} 不是对 {method} 的有效应答"),
    ("HTTP {status} before all had been sent", "尚未发送完毕，服务器就返回 HTTP {status}"),
    ("HTTP {status}", "HTTP {status}"),
    ("{count} bytes of {total} came before the connection was closed", "连接关闭前只收到 {total} 字节中的 {count} 字节"),
    (
        "the connection was closed without the end of TLS: of an answer that says no length some may be missing. The server has to send a "
        "Content-Length or chunks, or to end TLS (close_notify)",
        "TLS 未正常结束，连接就已关闭：应答没有给出长度，可能不完整。服务器应发送 Content-Length 或使用分块传输，或正常结束 TLS（close_notify）",
    ),
    ("the connection was closed within a chunked answer", "分块传输的应答未结束，连接就已关闭"),
    ("the chunks of the answer are no proper HTTP", "应答的分块不符合 HTTP 规范"),
    ("the answer is empty", "应答没有内容"),
    ("redirected to what is no URL", "被重定向到无效的 URL"),
    ("redirected to what is no http or https URL", "被重定向到非 http、https 的 URL"),
    ("redirected from https to http, to {url}: not followed", "被从 https 重定向到 http（{url}）：未跟随"),
    ("more than {count} redirects", "重定向超过 {count} 次"),
    ("not all streams were connected in time", "未能在时限内建立全部连接"),
    ("not enough memory", "内存不足"),
    ("the server gave another range than the one that was asked for", "服务器返回的范围与请求的不符"),
    ("no time left to try again", "已没有时间重试"),
    ("{error*}, and the time was over before another try got further", "{error}；重试尚未超过上次的进度，时限已到"),
    ("{error}, and the time was over before another try got further", "{error}；重试尚未超过上次的进度，时限已到"),
    ("what was read back isn't what was uploaded", "读回的内容与上传的不一致"),
    ("the checksum ({algorithm}) of {what*} isn't the one expected ({source*})", "{what}的校验和（{algorithm}）与预期不符（{source}）"),
    ("the checksum ({algorithm}) of {what*} isn't the one expected ({source})", "{what}的校验和（{algorithm}）与预期不符（{source}）"),
    ("the download", "下载内容"),
    ("the upload", "上传内容"),
    ("the peer", "对端数据"),
    ("the one that was given", "所指定的校验和"),
    ("the peer's answer", "对端的应答"),
    ("the peer's bytes, which are known", "对端的已知内容"),
    ("reading it back", "读回比对"),
    ("{count} bytes of {total} reached the peer", "{total} 字节中只有 {count} 字节到达对端"),
    # What a checksum was not compared with.
    ("not all of it was moved (limit of seconds)", "因时间上限未传完"),
    ("not all of it was moved (limit of bytes)", "因字节上限未传完"),
    ("parallel streams aren't summed; take one stream to have it verified", "并行下载不计算校验和；需要校验时请使用单个连接"),
    ("none was given and the server says none", "未指定校验和，服务器也未提供"),
    ("this host can't compute {algorithm}", "此主机无法计算 {algorithm}"),
    ("the ETag isn't the md5 of what came, which not every server's is", "ETag 不是所收内容的 md5（并非所有服务器的 ETag 都是）"),
    ("the server says no checksum of it", "服务器未提供校验和"),
    (
        "the server says no checksum of it, and {bytes} is more than is read back ({most})",
        "服务器未提供校验和，且 {bytes} 超过读回比对的上限（{most}）",
    ),
    ("the server says no checksum of it, and it couldn't be read back ({error*})", "服务器未提供校验和，也无法读回比对（{error}）"),
    ("no attempt got through", "没有一次传输成功"),
)
