# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What transfer tests say can be said in Chinese: every sentence of their code, and what real failures lead to."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, measuring, transfer_saying

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "plugins"
FILES = [*sorted(PLUGINS.glob("module_utils/measure/transfer*.py")), PLUGINS / "module_utils/measure/http_connection.py",
         PLUGINS / "module_utils/measure/http_socket.py",
         PLUGINS / "module_utils/measure/http_errors.py", PLUGINS / "plugin_utils/presign.py", PLUGINS / "action/transfer_benchmark.py"]
# The words of a Failure, an error, a note, a return of words(): sentences of three words and more.
_SENTENCE = re.compile(r"[a-zA-Z%][^\n]* [^\n]* [^\n]*")
# Parts of sentences, and what is no sentence.
_OTHER = re.compile(r"bytes=|bytes %d|bytes 0-0|Basic |%s%s|^%s -> %s$|^%s: %s$|trainops\.|HTTP %d %s|[A-Z]+-SHA256|aws4_request|got more than|^\("
                    r"|x-amz|\(%s\)$|^%s \(%s\)$|, (and|[0-9])|limit of %s|^https?://|CONNECT %s|^no proper name$|^no certificates in PEM form$")


def sentences(path):
    """The string constants of a file that look like sentences, docstrings left out; %d, %s and the like as a number."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    skipped |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute)}
    skipped |= {id(word) for node in ast.walk(tree) if isinstance(node, ast.Call) and "namedtuple" in ast.dump(node.func) for word in node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            if _SENTENCE.fullmatch(node.value) and not _OTHER.search(node.value):
                yield node.value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_sentence_has_its_chinese(path):
    lacking = []
    for sentence in sentences(path):
        # What stands for another sentence is one.
        filled = re.sub(r"(?<=\()%s(?=\)(:|$))|(?<=failed: %s: )%s|(?<=the proxy )%s|(?<=the proxy: )%s|(?<=compared: )%s", "no answer in time", sentence)
        filled = filled.replace("(%s) of %s isn't", "(md5) of the upload isn't").replace("(%s)", "(no answer in time)")
        said = complaints.say(re.sub(r"%[a-z.0-9]*[srdfg]", "7", filled).replace("%%", "%"), "zh")
        if not re.search("[\u4e00-\u9fff]", said):
            lacking.append(sentence)
    assert not lacking


@pytest.mark.parametrize("english, chinese", [
    ("attempt 1 failed: refused: connecting to h port 1: Connection refused", "第 1 次失败（refused）：连接 h 的端口 1：Connection refused"),
    ("attempt 2 failed: http_5xx: HTTP 503 Service Unavailable", "第 2 次失败（http_5xx）：HTTP 503 Service Unavailable"),
    ("attempt 1 failed: checksum: the checksum (sha256) of the upload isn't the one expected (reading it back)",
     "第 1 次失败（checksum）：上传内容的校验和（sha256）与预期不符（读回比对）"),
    ("attempt 1 failed: proxy: the proxy: no connection to h port 3 in time", "第 1 次失败（proxy）：代理：未能在时限内连接 h 的端口 3"),
    ("attempts must be between 1 and 100, not 0", "attempts 必须在 1 与 100 之间，而不是 0"),
    ("url: an upload test with keys chooses a name of its own, so that it replaces nothing: end the URL in /",
     "url：使用密钥的上传测试会自行命名对象，以免覆盖已有对象：URL 请以 / 结尾"),
    ("http://h/x couldn't be deleted (HTTP 403 Forbidden): delete it by hand", "无法删除 http://h/x（HTTP 403 Forbidden）：请手动删除")])
def test_what_is_said(english, chinese):
    assert complaints.say(english, "zh") == chinese


def test_the_line_of_a_transfer():
    summary = {"direction": "upload", "bytes_per_second": 3 << 29, "peak_bytes_per_second": 1 << 31, "time_to_first_byte_seconds": 0.0028,
               "attempts_failed": 1, "retries_count": 2, "limited_by": "seconds", "notes": ["redirected to http://h/"]}
    assert measuring.told(summary) == (
        "direction upload, average 1.50 GiB/s, peak 2.00 GiB/s, time to first byte 2.8 ms, attempts failed 1, retries count 2, "
        "limited by seconds, notes redirected to http://h/")
    assert measuring.told(summary, "zh") == (
        "方向 上传，平均 1.50 GiB/s，峰值 2.00 GiB/s，首字节时间 2.8 毫秒，失败次数 1，重试次数 2，受限于 时间上限，备注 被重定向到 http://h/")


def failed(*messages, **more):
    attempts = [{"error": {"kind": "http_4xx", "message": message}} for message in messages]
    notes = ["attempt %d failed: http_4xx: %s" % (number, message) for number, message in enumerate(messages, 1)]
    return dict({"direction": "upload", "attempts": attempts, "attempts_failed": len(messages), "notes": notes}, **more)


@pytest.mark.parametrize("result, english, chinese", [
    (failed("HTTP 404 Not Found", "HTTP 404 Not Found"), "upload failed: HTTP 404 Not Found", "上传失败：HTTP 404 Not Found"),
    (failed("no answer in time", "HTTP 500", direction="download"), "download failed: no answer in time; HTTP 500", "下载失败：时限内没有应答；HTTP 500"),
    (failed("HTTP 403", notes=["redirected to http://h/", "attempt 1 failed: http_4xx: HTTP 403"]), "upload failed: HTTP 403; redirected to http://h/",
     "上传失败：HTTP 403；被重定向到 http://h/"),
    (failed("HTTP 403", attempts_failed=0), None, None), (failed(), None, None)])
def test_a_transfer_of_which_nothing_got_through_is_told_as_failed_with_the_reason(result, english, chinese):
    assert transfer_saying.failure(result) == english and transfer_saying.failure(result, "zh") == chinese
