# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Writes what is made from the code: docs/metrics.md, docs/checks.md, docs/vram-fields.md, docs/workload-example.yml and
the JSON Schemas of form and policy.

`python tests/tools/write_docs.py` writes them; `made()` gives {path below the root: text} for the test that they are current.
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICIES = ("base", "training", "finetuning", "inference", "rendering", "transcoding")
_MADE = "<!-- Made by tests/tools/write_docs.py from the code: change the code, then run it. -->\n"


def _modules():
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import findings, metrics, policy, workload

    return findings, metrics, policy, workload


def metrics_page():
    """docs/metrics.md: every metric with unit, formula and what it is made from."""
    _findings, metrics, _policy, _workload = _modules()
    lines = [
        "# Metrics",
        "",
        _MADE,
        "A metric is a named number (or word) with a unit, derived from one host's facts, measurements and workload "
        "form by a pure function. One that "
        "can't be known is *absent*, with the reason: `unknown` where something kept it from being read or measured, "
        "`not_applicable` where the "
        "question doesn't arise. A report holds the metrics that the host's checks use, `vram.total_bytes`, "
        "`storage.free_bytes`, and counts that "
        "only inform where they aren't zero.",
        "",
        "Units: `bytes`, `fraction` (0 to 1), `ratio`, `count`, `cores`, `celsius`, `watts`, `seconds`, `bool`, `word`.",
        "",
        "| metric | unit | formula | made from |",
        "|---|---|---|---|",
    ]
    for name in sorted(metrics.DEFINITIONS):
        entry = metrics.DEFINITIONS[name]
        lines.append(
            "| `%s` | %s | %s | %s |" % (name, entry["unit"], entry["formula"], ", ".join("`%s`" % source for source in entry["inputs"]))
        )
    lines += [
        "",
        "## What measuring modules give",
        "",
        "A measurement counts when it is of this machine and its GPUs and no older than "
        "`gpu_audit_measurement_max_age_seconds`. Metrics read:",
        "",
        "| module | fields of `result` |",
        "|---|---|",
        "| `workload_probe` | `gpus`: list of `{uuid, index, mig_uuid, memory_total_bytes, memory_reserved_bytes, "
        "memory_used_peak_bytes, memory_other_bytes, idle_fraction, utilization_mean_fraction, utilization_p10_fraction, "
        "utilization_p90_fraction, utilization_encoder_peak_fraction, in_use, "
        "clock_event_seconds: {name: s}}`; with MIG one entry an instance, "
        "with `mig_uuid`; `outcome`, `window`, `exit_code`, `signal`, `iterations`, `duration_seconds`, `epoch_seconds`, `iteration_seconds: {mean}`, "
        "`samples_per_second`, `data_wait_fraction`, `read_bytes_per_second`, `read_call_bytes`, `reservation`, `framework_peak_bytes`, `limiter`, "
        "`cpu`: `{busy_fraction, busiest_core_fraction, iowait_fraction, job_cores}`, `memory`: `{swap_in_bytes, swap_out_bytes, peak_rss_bytes}`, "
        "`out_of_memory`: `{at_start, line}`, `series`: `{t, gpu: {index: {memory_used_bytes, utilization_fraction}}}`; `scaling`: `{seconds: {GPUs: s}, "
        "basis: epoch or step, used_gpus: {GPUs: how many of them were used}}` |",
        "| `storage_benchmark` | `read_bytes_per_second`, `small_file_bytes_per_second`, `checkpoint_write_bytes_per_second`, `cached`, "
        "`quick`, `hosts_at_once`, `shared`: `{alone_bytes_per_second, together_bytes_per_second}`, `file_system`: `{kind, mount_point}`, "
        "`jobs`: `{name: {buffered_label, block_size_bytes, file_size_bytes, file_count, engine}}`; its `target` is the path. Only "
        "`read_bytes_per_second` is needed |",
        "| `transfer_benchmark` | `direction` (`upload`, `download`), `bytes_per_second`, `peak_bytes_per_second`, `attempts`: list of "
        "`{connect_seconds, retries: [{kind, message}], error: {kind, message} or null}`, `attempts_failed`, `retries_count`, `checksum`: "
        "`{verified}`, `streams`, `proxy`, `storage`, `hosts_at_once`, `alone_bytes_per_second`, `local_time`. Only `direction` and "
        "`bytes_per_second` are needed |",
        "| `request_benchmark` | `concurrency`, `latency_p95_seconds`, or `steps`: a list of such, with `latency_p50_seconds`, "
        "`latency_p95_at_least_seconds` (what it is at least, chance aside), `latency_p99_seconds`, `time_to_first_token_p95_seconds`, "
        "`requests`, `errors`: `{kind: n}`, `error_fraction`, `stopped`, `queue_grows`; `latency_slo_seconds`, `local_time`, `stand_in` |",
        "| `link_benchmark` | `send_bytes_per_second`, `receive_bytes_per_second`, `judged_by` (`line_rate`, `group` or null), "
        "`line_rate_bits_per_second`, `fraction_of_line_rate`, `group_median_bytes_per_second`, `fraction_of_group_median`, `undecided_with`, "
        "`hidden_by`, `loss_hidden_by`, `pairs`: list of `{peer, send_bytes_per_second, retransmits, error, udp_error}`, `rtt_seconds`, "
        "`jitter_seconds`, `lost_fraction`, "
        "`retransmit_fraction`, "
        "`path_mtu_bytes`, `interface`, `interface_mtu_bytes`, `black_hole`, `counters_growth`: `{name: n}`, `parallel`; `options.seconds` |",
        "| `fabric_benchmark` | `tool` (`nccl`, `perftest`), `operation`, `busbw_bytes_per_second`, `message_bytes`, `nodes`, `ranks`, `device`, "
        "`wrong_values`, `tool_version`, `library_version`. Only `busbw_bytes_per_second` is needed |",
        "",
    ]
    return "\n".join(lines)


def _limit_text(limit):
    if limit is None:
        return "–"
    ((comparison, bound),) = ((key, value) for key, value in limit.items() if key != "metric")
    return "%s %s" % (comparison.replace("_", " "), ", ".join(map(_bound_text, bound)) if isinstance(bound, list) else _bound_text(bound))


def _bound_text(bound):
    """A bound as it is written in a policy; sizes for people beside it."""
    if isinstance(bound, bool):
        return "true" if bound else "false"
    if isinstance(bound, int) and bound >= 1 << 30:
        return "%.4g TiB (%d bytes)" % (bound / (1 << 40), bound)
    return str(bound)


def _answers_text(answers):
    return "always" if answers is True else "" if not answers else ", ".join(answers)


def checks_page():
    """docs/checks.md: the checks of every shipped policy, and which of them answer."""
    _findings, _metrics, policy, _workload = _modules()
    resolved = {name: policy.resolve(name) for name in POLICIES}
    base = resolved["base"]
    lines = [
        "# Checks",
        "",
        _MADE,
        "A check compares one metric with a *warn* and a *fail* limit. `below` and `above` are strict, `at least` and "
        "`at most` include equality; a "
        "tolerance counts in the host's favour, in the metric's own unit. A check without limits informs. Checks on "
        "cost and utilisation never "
        "rise above warn: they judge spending or code, not the machine. **Ranges such as 4 to 8 cores a GPU or RAM 2 "
        "to 4 times the VRAM are values of a "
        "policy, not laws**: change them by group or host with `gpu_audit_thresholds`, or in a policy file of your own "
        "that extends one of these.",
        "",
        "## Which checks answer",
        "",
        "Before a machine goes live, five questions are answered: vram, compute, memory, storage, network. A check "
        "that *answers* its item makes the item "
        "*unknown* while it has no value. Some answer only for work that leans on certain things (`leans_on` in the "
        "workload form; where the form is "
        "silent, the policy's own).",
        "",
        "| check | item | " + " | ".join(("compute", "vram", "throughput", "latency")) + " |",
        "|---|---|---|---|---|---|",
    ]
    for name, check in base["checks"].items():
        if check["answers"]:
            marks = [
                "yes" if check["answers"] is True or leaning in check["answers"] else ""
                for leaning in ("compute", "vram", "throughput", "latency")
            ]
            lines.append("| `%s` | %s | %s |" % (name, check["item"], " | ".join(marks)))
    lines += ["", "| policy | leans on, where the form doesn't say |", "|---|---|"]
    lines += ["| `%s` | %s |" % (name, ", ".join(resolved[name]["leans_on"])) for name in POLICIES]
    lines += [
        "",
        "Batch inference (`mode: batch`) leans on throughput and vram, and isn't asked for a latency.",
        "",
        "## How room on the disks is counted",
        "",
        "`storage.capacity_headroom_fraction` is, for each file system that the form's paths lie on, `(free - what the "
        "form puts there) / total`; the worst "
        "counts. What it puts there: the data set, the weights, `checkpoints_kept` checkpoints and the logs, each on "
        "the file system of its own path, so "
        "that paths on one file system share its space. What `data_in_place` names lies there already and takes no "
        "further room. Below 0 it doesn't fit "
        "(fail); below 0.10 less than 10 % stays free (warn).",
        "",
        "## The checks of `base`",
        "",
    ]
    for name, check in base["checks"].items():
        lines += _check_lines(name, check)
    for name in POLICIES[1:]:
        lines += _differences(name, resolved[name], base)
    return "\n".join(lines) + "\n"


def _check_lines(name, check):
    lines = [
        "### `%s`" % name,
        "",
        "%s. Item: %s." % (check["title"]["en"], check["item"]),
        "",
        "- warn: %s; fail: %s" % (_limit_text(check["warn"]), _limit_text(check["fail"])),
    ]
    if check["tolerance"]:
        lines.append("- tolerance: %s" % check["tolerance"])
    if check["satisfied_by"]:
        lines.append("- passes all the same when `%s` is %s" % (check["satisfied_by"]["metric"], _limit_text(check["satisfied_by"])))
    if check["answers"]:
        lines.append("- answers its item: %s" % _answers_text(check["answers"]))
    if check["advice"]:
        lines.append("- what to do: %s" % check["advice"]["en"])
    if check["advice_unsized"]:
        lines.append("- what to do while the form lacks base figures: %s" % check["advice_unsized"]["en"])
    if check["command"]:
        lines.append("- command: `%s`" % check["command"])
    if check["source"]:
        lines.append("- source: %s" % check["source"])
    return lines + [""]


def _differences(name, resolved, base):
    lines = ["## What `%s` changes" % name, "", "| check | here | in `base` |", "|---|---|---|"]
    for check_name, check in resolved["checks"].items():
        before = base["checks"].get(check_name)
        if before is None:
            lines.append("| `%s` | new: warn %s; fail %s | – |" % (check_name, _limit_text(check["warn"]), _limit_text(check["fail"])))
            continue
        for key in ("enabled", "warn", "fail", "answers", "max_status", "when"):
            if check[key] != before[key]:
                show = _limit_text if key in ("warn", "fail") else _answers_text if key == "answers" else str
                lines.append("| `%s` | %s: %s | %s |" % (check_name, key, show(check[key]) or "never", show(before[key]) or "never"))
        if check["advice"] != before["advice"] and all(check[key] == before[key] for key in ("enabled", "warn", "fail")):
            lines.append("| `%s` | advice of its own | |" % check_name)
    return lines + [""]


def example_form():
    """docs/workload-example.yml: every field of the form, explained."""
    _findings, _metrics, _policy, workload = _modules()
    lines = [
        "---",
        "# The workload form with every field. Made by tests/tools/write_docs.py from the field table in the code.",
        "# Every field is optional; a missing one leaves answers unknown, never guessed. The three base figures are input_sample_bytes,",
        "# batch_size and hours_per_day: without them nothing is sized and no upgrade is advised.",
        '# Sizes are bytes, or text: "1.5 TiB" (binary), "105 GB" (decimal).',
        "gpu_audit_workload:",
    ]
    for name, row in workload.ARGUMENT_SPEC.items():
        lines.append("  # " + row["description"]["en"] + (" One of: %s." % ", ".join(row["choices"]) if row["choices"] else ""))
        value = row["example"]
        written = "[%s]" % ", ".join(value) if isinstance(value, list) else '"%s"' % value if row["type"] == "size" else str(value)
        comment = "# " if row["kinds"] == ("inference",) else ""
        lines.append("  %s%s: %s" % (comment, name, written))
    return "\n".join(lines) + "\n"


def model_page():
    """docs/vram-fields.md: every field of a model that a VRAM estimate takes."""
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.vram_fields import MODEL_SPEC

    lines = [
        "# Fields of a model",
        "",
        _MADE,
        "What `gpu_audit_model` and the filter `vram_estimate` take; [vram.md](vram.md) explains how each is used. A count is a whole number, also "
        "as text such as `8B`, `40M`, `1e9` or `7,000,000,000`. A whole number is written out: of tokens and sizes of matrices `2k` may be 2000 "
        'or 2048, so it is refused. A size is bytes, or text such as `"1.5 GiB"`. Empty fields count as not given. A field that is unknown, '
        "contradicts another one or would change nothing where it stands is an error; all errors are told at once.",
        "",
        "| field | kind | default | meaning |",
        "|---|---|---|---|",
    ]
    for name, row in MODEL_SPEC.items():
        kind = ", ".join("`%s`" % choice for choice in row["choices"]) if row["choices"] else row["type"]
        default = row["default"]
        shown = "" if default is None else "`%s`" % str(default).lower()
        lines.append("| `%s` | %s | %s | %s |" % (name, kind, shown, row["description"]["en"]))
    return "\n".join(lines) + "\n"


def form_schema():
    """The JSON Schema of a workload form as it is written in an inventory."""
    _findings, _metrics, _policy, workload = _modules()
    kinds = {
        "choice": {"type": "string"},
        "list": {"type": ["array", "string"]},
        "text": {"type": ["string", "number"]},
        "path": {"type": "string", "pattern": "^/"},
        "size": {"type": ["integer", "number", "string"], "minimum": 0},
        "int": {"type": ["integer", "string"], "minimum": 0},
        "number": {"type": ["number", "string"], "minimum": 0},
        "bool": {"type": "boolean"},
        "times": {"type": "object", "additionalProperties": {"type": ["number", "string"]}, "propertyNames": {"pattern": "^[1-9][0-9]*$"}},
    }
    properties = {}
    for name, row in workload.ARGUMENT_SPEC.items():
        entry = dict(kinds[row["type"]], description=row["description"]["en"])
        if row["type"] == "choice":
            entry["enum"] = list(row["choices"])
        if row["type"] == "list":
            entry["items"] = {"enum": list(row["choices"])}
        if row["unit"]:
            entry["description"] += " Unit: %s." % row["unit"]
        entry["type"] = ([entry["type"]] if isinstance(entry["type"], str) else entry["type"]) + ["null"]
        if "enum" in entry:
            entry["enum"] = entry["enum"] + [None]
        properties[name] = entry
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "trainops.gpu_audit/workload/1",
        "title": "Workload form",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def policy_schema():
    """The JSON Schema of a policy file."""
    _findings, _metrics, policy, workload = _modules()
    text = {"type": "string"}
    texts = {"oneOf": [text, {"type": "object", "properties": {"en": text, "zh": text}, "additionalProperties": False, "minProperties": 1}]}
    scalar = {"type": ["number", "string", "boolean"]}
    comparisons = {name: {"type": ["number", "string"]} for name in policy.NUMERIC_COMPARISONS}
    comparisons.update(
        {
            "equals": scalar,
            "not_equals": scalar,
            "one_of": {"type": "array", "items": scalar, "minItems": 1},
            "none_of": {"type": "array", "items": scalar, "minItems": 1},
        }
    )
    limit = {
        "oneOf": [
            {"type": "null"},
            scalar,
            {"type": "object", "properties": comparisons, "additionalProperties": False, "minProperties": 1, "maxProperties": 1},
        ]
    }
    check = {
        "item": {"enum": list(policy.ITEMS)},
        "metric": text,
        "answers": {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"enum": list(workload.LEANINGS)}}]},
        "warn": limit,
        "fail": limit,
        "satisfied_by": {
            "oneOf": [
                {"type": "null"},
                {
                    "type": "object",
                    "properties": dict(comparisons, metric=text),
                    "required": ["metric"],
                    "additionalProperties": False,
                    "minProperties": 2,
                    "maxProperties": 2,
                },
            ]
        },
        "tolerance": {"type": "number", "minimum": 0},
        "max_status": {"enum": ["pass", "warn", "fail"]},
        "enabled": {"type": "boolean"},
        "title": texts,
        "advice": texts,
        "advice_unsized": texts,
        "command": text,
        "source": text,
        "when": text,
        "value": text,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": policy.SCHEMA,
        "title": "Policy file",
        "type": "object",
        "properties": {
            "schema": {"const": policy.SCHEMA},
            "name": text,
            "title": texts,
            "extends": text,
            "leans_on": {"type": "array", "items": {"enum": list(workload.LEANINGS)}},
            "checks": {"type": "object", "additionalProperties": {"type": "object", "properties": check, "additionalProperties": False}},
        },
        "required": ["schema", "name"],
        "anyOf": [{"required": ["extends"]}, {"required": ["checks"]}],
        "additionalProperties": False,
    }


def made():
    """{path below the root: text} of everything that is made from the code."""
    schemas = "plugins/plugin_utils/schemas/"
    return {
        "docs/metrics.md": metrics_page(),
        "docs/checks.md": checks_page(),
        "docs/workload-example.yml": example_form(),
        "docs/vram-fields.md": model_page(),
        schemas + "workload.json": json.dumps(form_schema(), indent=2, ensure_ascii=False) + "\n",
        schemas + "policy.json": json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n",
    }


def main():
    sys.path.insert(0, str(ROOT / "tests" / "unit"))
    import conftest  # noqa: F401  puts the checkout on the import path

    for path, text in made().items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
