# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is wrong with variables, forms, policies and documents, in Chinese.

Such a sentence is written in English where the mistake is found, and stored so: the run may be judged again in another language. It is said
in Chinese here, when somebody reads it. A test holds that each one has its line in the table; the words of hosts and tools stay as they are.
"""

from __future__ import annotations

import functools
import re

# English -> Chinese. {name}: anything, kept as it is; {name*}: a sentence of this table; {near}: "(did you mean ...?)", where there is one.
# The first line that fits the whole sentence counts.
TABLE = (
    # --- around other sentences
    ("{rest*}. Nothing was judged, the report stays as it was", "{rest}。未进行评判，原报告保持不变"),
    ("no host could be judged: {rest}", "没有一台主机可以评判：{rest}"),
    # --- policies
    ("can't read the policy: {error}", "无法读取策略：{error}"),
    ("a policy of more than 1 MiB is refused", "策略文件超过 1 MiB，拒绝读取"),
    ("the policy is not UTF-8 text (byte {byte}): save it as UTF-8", "策略不是 UTF-8 文本（第 {byte} 字节）：请以 UTF-8 保存"),
    ("not valid YAML: {error}", "不是有效的 YAML：{error}"),
    ("the policy is empty: it needs at least name and checks", "策略为空：至少需要 name 和 checks"),
    ("a policy is a map with name, extends and checks", "策略应为含 name、extends 和 checks 的映射"),
    ("nested too deep or too many entries", "嵌套过深或条目过多"),
    ("a key must be plain text", "键必须是纯文本"),
    ("key \"{key}\" is given twice: remove one", "键\u201c{key}\u201d重复：请删去其一"),
    ("a value can't be read: \"{value}\": write a plain number, word or text", "无法读取值\u201c{value}\u201d：请写普通的数字、单词或文本"),
    ("must be text or {{en: ..., zh: ...}}", "必须是文本或 {{en: ..., zh: ...}}"),
    ("{comparison} needs a number, not {value}", "{comparison} 需要数字，而不是 {value}"),
    ("{comparison} needs a list of words or numbers", "{comparison} 需要单词或数字的列表"),
    ("{comparison} needs a word, a number or true/false", "{comparison} 需要单词、数字或 true/false"),
    ("must hold exactly one comparison: {names}", "必须恰好有一个比较方式：{names}"),
    ("is no comparison{near}: use {names}", "不是比较方式{near}：可用 {names}"),
    ("a bare value needs a comparison to keep: write for example {example}", "单独一个值需要已有的比较方式：例如写成 {example}"),
    ("{value} is no item{near}: use {names}", "{value} 不是检查项{near}：可用 {names}"),
    ("{value} is no leaning{near}: use {names}", "{value} 不是有效的倾向{near}：可用 {names}"),
    ("must be true, false or a list of {names}", "必须是 true、false 或由下列值组成的列表：{names}"),
    ("must be a number that is not negative", "必须是非负数"),
    ("must be pass, warn or fail", "必须是 pass、warn 或 fail"),
    ("must be an expression in text", "必须是文本形式的表达式"),
    ("an expression may have {count} characters", "表达式最多 {count} 个字符"),
    ("the expression is empty", "表达式为空"),
    ("is no valid expression: {error}", "不是有效的表达式：{error}"),
    ("the expression is nested too deep", "表达式嵌套过深"),
    ("\"{name}\" is no metric{near}: docs/metrics.md lists them", "\u201c{name}\u201d不是指标{near}：指标列表见 docs/metrics.md"),
    (
        "\"{name}\" is no metric{near}: give metric or value, docs/metrics.md lists the metrics",
        "\u201c{name}\u201d不是指标{near}：请给出 metric 或 value，指标列表见 docs/metrics.md",
    ),
    ("must be {{metric: <name>, <comparison>: <value>}}", "必须是 {{metric: <名称>, <比较方式>: <值>}}"),
    ("must be a map of check ids", "必须是以检查 ID 为键的映射"),
    ("must be a map of check id to {{warn, fail, enabled}}", "必须是从检查 ID 到 {{warn, fail, enabled}} 的映射"),
    ("must be a map of {names}", "必须是含下列键的映射：{names}"),
    ("is no key of a check{near}: use {names}", "不是检查的键{near}：可用 {names}"),
    ("is no key of a policy{near}: use {names}", "不是策略的键{near}：可用 {names}"),
    ("a new check needs an item: {names}", "新检查需要 item：{names}"),
    (
        "policy \"{name}\" is neither a file nor a shipped policy{near}: give a path or one of {names}",
        "策略\u201c{name}\u201d既不是文件也不是内置策略{near}：请给出路径，或从中选择 {names}",
    ),
    ("policies extend each other in a circle: {names}", "策略互相继承成环：{names}"),
    ("more than 20 policies extend each other", "策略继承超过 20 层"),
    ("a policy needs a name: write for example name: mine", "策略需要名称：例如写 name: mine"),
    (
        "a policy needs checks of its own or extends: write for example extends: training",
        "策略需要自己的 checks 或 extends：例如写 extends: training",
    ),
    ("a policy says which form it is written in: add schema: {schema}", "策略需注明其格式：请添加 schema: {schema}"),
    (
        "is no check of the policy it extends{near}; a new check needs an item: {names}",
        "不是所继承策略中的检查{near}；新检查需要 item：{names}",
    ),
    ("the policy stored with this run is damaged: judge again with gpu_audit_policy set", "该运行中存储的策略已损坏：请设置 gpu_audit_policy 后重新评判"),
    ("thresholds must be a list of {{variable, values}}", "阈值必须是 {{variable, values}} 的列表"),
    ("is no check of policy {policy}{near}: docs/checks.md lists them", "不是策略 {policy} 中的检查{near}：检查列表见 docs/checks.md"),
    # --- waivers and expectations
    ("{name} is no check of the policy{near}: docs/checks.md lists them", "{name} 不是该策略中的检查{near}：检查列表见 docs/checks.md"),
    ("needs a reason: {{reason: text, expires: YYYY-MM-DD}}", "需要理由：{{reason: 文本, expires: YYYY-MM-DD}}"),
    ("expires must be a date YYYY-MM-DD, not {value}", "expires 必须是日期 YYYY-MM-DD，而不是 {value}"),
    ("no field {name}{near}; there are: {names}", "没有字段 {name}{near}；可用字段：{names}"),
    # --- the form
    ("gpu_audit_workload must be a map of fields, not {value}", "gpu_audit_workload 必须是字段的映射，而不是 {value}"),
    ("{field} is no field of the form{near}", "{field} 不是表单的字段{near}"),
    # --- single variables
    ("must be the name of a policy or a file, not {value}", "必须是策略名称或文件，而不是 {value}"),
    ("must be the path of a file on the controller, not {value}", "必须是控制端上文件的路径，而不是 {value}"),
    ("no such file on the controller: {path} (looked for {places})", "控制端上没有该文件：{path}（已查找 {places}）"),
    ("give this or {variable}, not both", "该变量与 {variable} 只能给出一个"),
    ("cannot read {path}: {error}", "无法读取 {path}：{error}"),
    ("{path} is empty; it takes what nvidia-smi -q -x printed", "{path} 为空；应为 nvidia-smi -q -x 的输出"),
    ("{path} is larger than {limit} bytes; it takes what nvidia-smi -q -x printed", "{path} 超过 {limit} 字节；应为 nvidia-smi -q -x 的输出"),
    ("{value} is none of all, {names} (or one of these with '!' in front)", "{value} 不在 all、{names} 之中（或在其前加 '!'）"),
    ("{names} leaves nothing to gather", "{names} 没有留下任何可采集的内容"),
    ("{value} is no absolute path (one that begins with '/')", "{value} 不是绝对路径（以 '/' 开头）"),
    ("{value} is no gate; use one of {names}", "{value} 不是准入级别；可用 {names}"),
    ("{value} is none of {names}", "{value} 不在 {names} 之中"),
    ("no format {value}; there are: {names}", "没有格式 {value}；可用格式：{names}"),
    ("{name} is no variable of this audit and changes nothing{near}", "{name} 不是本审计的变量，不起任何作用{near}"),
    ("must be {wanted*}, not {value}", "必须是{wanted}，而不是 {value}"),
    ("{field} must be {wanted*}, not {value}", "{field} 必须是{wanted}，而不是 {value}"),
    ("must be {wanted*}", "必须是{wanted}"),
    # --- what is wanted
    ("a size in bytes or with a unit such as \"1.5 TiB\"", "以字节表示或带单位的大小（如\u201c1.5 TiB\u201d）"),
    ("at most 24 hours", "不超过 24 小时的值"),
    ("a whole number that is not negative", "非负整数"),
    ("a number that is not negative", "非负数"),
    ("a number of seconds from 0 to 1e9", "0 至 1e9 之间的秒数"),
    ("a number of seconds above 0 and up to {limit}", "大于 0 且不超过 {limit} 的秒数"),
    ("true or false", " true 或 false"),
    ("one of {names}", "下列之一：{names}"),
    ("seconds by number of GPUs, for example {example}", "以 GPU 数量为键的秒数，例如 {example}"),
    ("a list of texts", "文本列表"),
    ("a list of {names}", "由下列值组成的列表：{names}"),
    ("an absolute path", "绝对路径"),
    ("a mapping", "映射"),
    ("a map", "映射"),
    ("text", "文本"),
    ("trainops.gpu_audit/policy/1", " trainops.gpu_audit/policy/1"),
    # --- hosts that gave no document
    ("no answer within gpu_audit_host_timeout ({seconds} s)", "在 gpu_audit_host_timeout（{seconds} 秒）内没有应答"),
    ("no answer within the task's timeout ({seconds} s)", "在任务超时时间（{seconds} 秒）内没有应答"),
    (
        "Ansible lost this host in an earlier task of the play, before the audit came to it: unreachable or failed, see Ansible's output."
        " Audit first, and with gather_facts: false",
        "Ansible 在 play 中更早的任务里就丢失了该主机（无法连接或失败，见 Ansible 输出），尚未轮到审计。请先运行审计，并设 gather_facts: false",
    ),
    (
        "the Python that Ansible uses on this host is a shim of a version manager, which starts none here: {error}."
        " Set ansible_python_interpreter for this host to the path of a Python itself, say /usr/bin/python3",
        "Ansible 在该主机上使用的 Python 是版本管理器的垫片（shim），无法启动：{error}。"
        "请将该主机的 ansible_python_interpreter 设为 Python 本身的路径，例如 /usr/bin/python3",
    ),
    (
        "is missing, so nobody knows by which rules this host is to be judged: put it back, or give gpu_audit_policy with -e",
        "缺失，无法得知该主机应按哪些规则评判：请恢复该文件，或用 -e 给出 gpu_audit_policy",
    ),
    ("the file is empty", "文件为空"),
    ("the file is a symbolic link, which is not followed", "文件是符号链接，不予跟随"),
    ("not a regular file", "不是普通文件"),
    ("not JSON: {error}", "不是 JSON：{error}"),
    ("cannot be read: {error}", "无法读取：{error}"),
    ("too large: {detail}", "过大：{detail}"),
    ("not a document: {error}", "不是有效文档：{error}"),
)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)(\*?)\}")
_NEAR = re.compile(r' \(did you mean "(.*)"\?\)')
# A place before a sentence: "file, line 3: ", "gpu_audit_expected: ", "compute.cores_per_gpu: ".
_LINE = re.compile(r"(?P<where>.{1,500}?), line (?P<line>\d+): (?P<rest>.+)", re.DOTALL)
_KEY = re.compile(r"(?P<where>top level|\S{1,500}?): (?P<rest>.+)", re.DOTALL)


@functools.lru_cache(maxsize=1)
def _rules():
    return [(_pattern(english), {name for name, nested in _names(english) if nested}, chinese) for english, chinese in TABLE]


def _names(english):
    return [(name, bool(nested)) for name, nested in _PLACEHOLDER.findall(english) if name]


def _pattern(english):
    """The pattern of a sentence; a placeholder takes as little as it can."""
    parts, end = [], 0
    for found in _PLACEHOLDER.finditer(english):
        parts.append(re.escape(english[end:found.start()]))
        end = found.end()
        if found.group(1) == "near":
            parts.append(r'(?P<near>(?: \(did you mean "[^"]*"\?\))?)')
        else:
            parts.append("(?P<%s>.+?)" % found.group(1) if found.group(1) else re.escape(found.group(0)[0]))
    return re.compile("".join(parts) + re.escape(english[end:]), re.DOTALL)


def say(sentence, language):
    """An English complaint in a language; what is no complaint of ours (a tool's words, other text) stays as it is."""
    return (_chinese(str(sentence)) or str(sentence)) if language == "zh" else str(sentence)


@functools.lru_cache(maxsize=4096)
def _chinese(sentence):
    """The Chinese sentence, None for one that isn't in the table."""
    if len(sentence) > 4000:
        return None
    # Whole sentences last: what stands for anything in one would take in a place before it or another one behind it.
    return _several(sentence) or _placed(sentence) or _whole(sentence)


def _whole(sentence):
    for pattern, nested, chinese in _rules():
        found = pattern.fullmatch(sentence)
        if not found:
            continue
        words = found.groupdict()
        inner = {name: _chinese(words[name]) for name in nested}
        if None in inner.values():
            continue
        near = _NEAR.fullmatch(words.get("near") or "")
        return chinese.format(**{**words, **inner, "near": "（是否想写\u201c%s\u201d？）" % near.group(1) if near else ""})
    return None


def _placed(sentence):
    for pattern, chinese in ((_LINE, "{where} 第 {line} 行：{rest}"), (_KEY, "{where}：{rest}")):
        found = pattern.fullmatch(sentence)
        rest = _chinese(found.group("rest")) if found else None
        if rest:
            where = "顶层" if found.group("where") == "top level" else found.group("where")
            return chinese.format(**{**found.groupdict(), "where": where, "rest": rest})
    return None


def _several(sentence):
    """Complaints joined with semicolons; None unless each is one."""
    parts = sentence.split("; ")
    said = [_placed(part) or _whole(part) for part in parts] if 1 < len(parts) <= 50 else [None]
    return None if None in said else "；".join(said)
