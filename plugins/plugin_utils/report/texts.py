# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The report's own words, in English and Simplified Chinese. What judging says comes ready-made in report.json."""

from __future__ import annotations


# key -> (English, Simplified Chinese), or ((English for one, English for more), Simplified Chinese) where `n` counts
_TEXTS = {
    "title": ("GPU audit", "GPU 服务器审计"),
    "named": ("{name}: {said}", "{name}：{said}"),
    "listed": ("{name} ({note})", "{name}（{note}）"),
    "colon": (": ", "："),
    "sentences": ("{first}. {second}", "{first}。{second}"),
    "skip": ("Skip to the fleet matrix", "跳到主机矩阵"),
    "theme": ("Colours: {mode}", "配色：{mode}"),
    "theme_auto": ("as the system", "跟随系统"),
    "theme_light": ("light", "浅色"),
    "theme_dark": ("dark", "深色"),
    "run_finished": ("Audited", "审计时间"),
    "run_id": ("Run", "运行编号"),
    "policy": ("Policy", "策略"),
    "partial": (
        "This report is partial: the run was interrupted. Hosts that were not reached are listed as not tried.",
        "报告不完整：本次运行被中断，未轮到的主机标记为\u201c未尝试\u201d。",
    ),
    "verdict_bar": ("Hosts by verdict", "各结论的主机数"),
    "show_only": ("Show only these hosts in the matrix", "在矩阵中只显示这些主机"),
    "next_title": ("What to do next", "下一步做什么"),
    "next_intro": (
        "Ordered by how many hosts each step frees by itself; warnings hold no host back and come last.",
        "按每一步单独能放行的主机数排序；警告不影响放行，排在最后。",
    ),
    "next_none": ("Nothing: no check failed or warned.", "没有：所有检查都没有失败或警告。"),
    "more_causes": (("{n} more", "{n} more"), "还有 {n} 项"),
    "hosts": (("{n} host", "{n} hosts"), "{n} 台主机"),
    "gpus": (("{n} GPU", "{n} GPUs"), "{n} 块 GPU"),
    "frees": ("frees {n}", "可放行 {n} 台"),
    "frees_none": ("frees none by itself", "单独处理不能放行主机"),
    "copy": ("Copy", "复制"),
    "copied": ("Copied", "已复制"),
    "copy_failed": ("Select and copy by hand", "请手动选中复制"),
    "copy_label": ("Copy the command: {command}", "复制命令：{command}"),
    "which_hosts": ("Which hosts", "涉及的主机"),
    "show_in_matrix": ("Show in the matrix", "在矩阵中显示"),
    "more_hosts": (
        ("and {n} more: use \u201c{button}\u201d", "and {n} more: use \u201c{button}\u201d"),
        "另有 {n} 台，请用\u201c{button}\u201d",
    ),
    "matrix_title": ("The fleet", "全部主机"),
    "matrix_caption": ("A row a host, a column a checklist item", "每行一台主机，每列一个检查项"),
    "search": ("Search", "搜索"),
    "search_hint": ("host, GPU, group, finding", "主机、GPU、分组、发现"),
    "filter_verdict": ("Verdict", "结论"),
    "all": ("all", "全部"),
    "group_by": ("Group by", "分组方式"),
    "group_none": ("nothing", "不分组"),
    "group_model": ("GPU model", "GPU 型号"),
    "group_verdict": ("verdict", "结论"),
    "group_groups": ("inventory group", "清单分组"),
    "group_prefix": ("groups {prefix}…", "{prefix}… 分组"),
    "group_other": ("(none)", "（无）"),
    "shown": ("{n} of {total} shown", "显示 {n} / {total}"),
    "show_all": ("Show all {n} rows", "显示全部 {n} 行"),
    "reset": ("Reset", "重置"),
    "cause_filter": ("Only: {cause}", "仅显示：{cause}"),
    "no_match": ("No host matches. Reset the filters to see all.", "没有符合条件的主机，请重置筛选条件。"),
    "host": ("Host", "主机"),
    "verdict": ("Verdict", "结论"),
    "gpu_column": ("GPUs", "GPU"),
    "sort_by": ("Sort by {column}", "按{column}排序"),
    "legend": ("Marks", "图例"),
    "unanswered_title": ("What couldn't be answered", "尚不能回答的问题"),
    "unanswered_intro": ("Unknown is not a pass: these need a test or a figure.", "\u201c未知\u201d不等于通过，还需要测试或补充数据。"),
    "unanswered_none": ("Every checklist item has an answer on every judged host.", "所有已评判主机的检查项都有答案。"),
    "charts_title": ("What the fleet is made of", "机群构成"),
    "chart_gpus": ("GPU hardware (hosts)", "GPU 硬件（主机数）"),
    "chart_ram": ("RAM to VRAM (hosts)", "内存与显存之比（主机数）"),
    "chart_cores": ("Usable cores per GPU (hosts)", "每块 GPU 可用核心数（主机数）"),
    "chart_links": ("Fastest network link (hosts)", "最快网络链路（主机数）"),
    "chart_driver": ("NVIDIA driver (hosts)", "NVIDIA 驱动版本（主机数）"),
    "chart_distribution": ("Distribution (hosts)", "操作系统发行版（主机数）"),
    "chart_other": ("others ({n} kinds)", "其他（{n} 种）"),
    "chart_unknown": ("unknown", "未知"),
    "chart_value": ("Value", "取值"),
    "hosts_title": ("Each host", "逐台主机"),
    "hosts_intro": (
        "Findings worst first. Open a host for its form, its checks and every fact.",
        "发现按严重程度排序。展开主机可查看用途表、检查结果和全部事实。",
    ),
    "no_gpu": ("no GPU", "无 GPU"),
    "checklist": ("Checklist", "检查清单"),
    "form": ("Workload form", "用途表"),
    "form_none": ("No workload form was given for this host.", "这台主机没有填写用途表。"),
    "form_missing": ("Not given: {fields}", "未填写：{fields}"),
    "policy_line": ("Judged under policy {policy}", "按策略 {policy} 评判"),
    "groups_line": ("Inventory groups: {groups}", "清单分组：{groups}"),
    "collected": ("Facts collected", "事实采集时间"),
    "errors": ("What went wrong", "出错信息"),
    "findings": ("Findings", "发现"),
    "findings_none": ("No check was applied to this host.", "没有对这台主机执行任何检查。"),
    "check": ("Check", "检查"),
    "actual": ("Actual", "实际值"),
    "required": ("Required", "要求"),
    "source": ("Source", "来源"),
    "status": ("Status", "状态"),
    "item": ("Item", "检查项"),
    "advice": ("Advice", "建议"),
    "message": ("Message", "说明"),
    "waiver": ("Waived: {reason}", "已豁免：{reason}"),
    "waiver_until": ("Waived until {expires}: {reason}", "豁免至 {expires}：{reason}"),
    "passed_checks": (("{n} check passed or not applicable", "{n} checks passed or not applicable"), "{n} 项检查通过或不适用"),
    "metrics_title": ("Metrics", "指标"),
    "metric": ("Metric", "指标"),
    "value": ("Value", "数值"),
    "exact": ("Exactly", "精确值"),
    "absent_title": ("Metrics that couldn't be known", "无法得出的指标"),
    "reason": ("Reason", "原因"),
    "facts_title": ("All facts", "全部事实"),
    "facts_none": ("No facts: the host gave no valid document.", "没有事实数据：该主机未给出有效文档。"),
    "facts_big": (
        "The facts of this host were left out of this page for its size; they are in the run directory under hosts/.",
        "为控制页面大小，此主机的事实未嵌入本页，请查看运行目录下的 hosts/。",
    ),
    "facts_old_browser": (
        "This browser can't unpack the embedded data; the facts are in the run directory under hosts/.",
        "此浏览器无法解压内嵌数据，事实数据请查看运行目录下的 hosts/。",
    ),
    "detail_old_browser": (
        "This browser can't unpack the embedded data; see report.md or report.csv beside this page.",
        "此浏览器无法解压内嵌数据，请查看同目录的 report.md 或 report.csv。",
    ),
    "loading": ("Unpacking…", "正在解压……"),
    "noscript": (
        "Without JavaScript the matrix can't be filtered or sorted and hosts don't open in large fleets; report.md and report.csv beside "
        "this page hold every finding.",
        "未启用 JavaScript：矩阵不能筛选和排序，主机较多时无法展开详情。同目录的 report.md 和 report.csv 包含全部发现。",
    ),
    "print_left_out": (
        "Host details are printed when 40 or fewer hosts are shown; filter the matrix to print them.",
        "筛选后不超过 40 台主机时才打印主机详情。",
    ),
    "made_by": (
        "Made by trainops.gpu_audit {version} with ansible-core {ansible}. This page is complete in itself and fetches nothing.",
        "由 trainops.gpu_audit {version}（ansible-core {ansible}）生成。本页自成一体，不加载任何外部内容。",
    ),
    "ago": ("{ago}", "{ago}"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "none": ("none", "无"),
    "md_counts": ("Verdicts", "结论"),
    "md_findings": ("Findings that aren't a pass", "未通过的发现"),
    "md_left_out": (
        ("{n} more host has findings: see report.html or report.csv.", "{n} more hosts have findings: see report.html or report.csv."),
        "另有 {n} 台主机存在发现，请查看 report.html 或 report.csv。",
    ),
    "md_unknown_left_out": (
        "Only failures and warnings are listed here; unknown answers are summed up above.",
        "此处只列出失败和警告；未知项见上文汇总。",
    ),
    "run_it": ("Run", "运行"),
    "closing_title": ("Closing record", "验收记录"),
    "closing_peak": ("VRAM peak", "显存峰值"),
    "closing_peak_of": ("{used} of {total}, GPU {gpu}", "{used} / {total}，GPU {gpu}"),
    "closing_utilization": ("GPU utilisation", "GPU 利用率"),
    "closing_epoch": ("One epoch", "一个 epoch 耗时"),
    "closing_read": ("Data read speed", "数据读取速度"),
    "closing_storage": ("storage test: {rate}", "存储测试：{rate}"),
    "closing_cost": ("Cost of the task", "任务成本"),
    "closing_no_price": ("not reckoned: no prices given", "未计算：未提供价格"),
    "closing_no_probe": (
        "not measured: no workload probe",
        "未测量：没有负载探测",
    ),
    "closing_how": (
        "Probe the workload for the rest: playbook trainops.gpu_audit.measure, or role probe_workload.",
        "其余各项需探测工作负载：运行 playbook trainops.gpu_audit.measure，或使用 role probe_workload。",
    ),
    "closing_because": ("not known: {reason}", "未知：{reason}"),
    "closing_not_measured": ("not measured: the probe gave no VRAM figures", "未测量：探测没有给出显存数据"),
    "closing_missing_gpu_utilization_mean_fraction": (
        "not measured: MIG instances and some drivers tell no utilisation",
        "未测量：MIG 实例和部分驱动不提供利用率",
    ),
    "closing_no_gpu": ("there is no NVIDIA GPU in this host", "该主机没有 NVIDIA GPU"),
    "closing_unsampled": ("not measured: {why}", "未测量：{why}"),
    "closing_unused": (
        ("the command used no GPU, of {n} given to it", "the command used none of the {n} GPUs given to it"),
        "命令未使用分配给它的 {n} 个 GPU",
    ),
    "closing_mean_of": (("mean of {n} GPU in use", "mean of {n} GPUs in use"), "所用 {n} 个 GPU 的平均值"),
    "closing_mean_some": ("mean of {n} in use of {total} GPUs", "{total} 个 GPU 中所用 {n} 个的平均值"),
    "window_iterations": ("from the first iteration on", "自首次迭代起"),
    "window_run": ("over the whole run", "整个运行过程"),
    "closing_cached_all": ("all from the page cache ({size} read)", "全部来自页缓存（共读取 {size}）"),
    "closing_cached_since": (
        "all from the page cache since the first iteration ({size} read in all)",
        "自首次迭代起全部来自页缓存（共读取 {size}）",
    ),
    "closing_not_started": ("the command was not started: {error}", "命令未启动：{error}"),
    "closing_others": ("also probed, not in these figures: {what}", "另外还探测了（不含在上述数据中）：{what}"),
    "closing_other_epoch": ("one epoch {time}", "一个 epoch {time}"),
    "closing_other_read": ("read {rate}", "读取 {rate}"),
    "closing_missing_epoch_seconds": (
        "not measured: give the probe epoch_pattern, or iteration_pattern with iterations_per_epoch",
        "未测量：请为探测设置 epoch_pattern，或 iteration_pattern 加 iterations_per_epoch",
    ),
    "closing_missing_read_bytes_per_second": (
        "not measured: the job's I/O couldn't be read (probe as its user or as root)",
        "未测量：无法读取作业的 I/O 计数（请以作业用户或 root 身份探测）",
    ),
    "label_cached": ("cached: out of RAM, no disk speed", "cached：来自内存缓存，不代表磁盘"),
    "label_memory": ("in memory, no disk speed", "内存文件系统，不代表磁盘"),
    "label_buffered": ("through the page cache", "经页缓存"),
    "chart_vram_time": ("VRAM in use over time", "显存占用随时间变化"),
    "chart_busy_time": ("GPU utilisation over time", "GPU 利用率随时间变化"),
    "chart_said": ("{figures}; over {seconds}", "{figures}；历时 {seconds}"),
    "chart_need": ("Read speed: needed against measured", "读取速度：需求与实测"),
    "chart_efficiency": ("Scaling efficiency", "扩展效率"),
    "key_peak": ("GPU {gpu}, the fullest: peak {peak}", "GPU {gpu}（最高）：峰值 {peak}"),
    "key_peak_one": ("GPU {gpu}: peak {peak}", "GPU {gpu}：峰值 {peak}"),
    "key_reserved": ("GPU {gpu}: {peak} reserved by the framework on purpose", "GPU {gpu}：框架有意预留 {peak}"),
    "key_span": ("from the lowest to the highest of {n} GPUs", "{n} 个 GPU 的最低至最高"),
    "key_zone": ("target: {low} to {high}", "目标区间：{low} 至 {high}"),
    "key_warn_from": ("warns from {limit}", "{limit} 起警告"),
    "key_fail_from": ("fails from {limit}", "{limit} 起不通过"),
    "key_warn_below": ("warns below {limit}", "低于 {limit} 警告"),
    "key_fail_below": ("fails below {limit}", "低于 {limit} 不通过"),
    "key_noted_below": ("gain is marginal below {limit}", "低于 {limit} 收益有限"),
    "key_mean": ("mean of {n} GPUs in use: {mean} ({window})", "所用 {n} 个 GPU 平均：{mean}（{window}）"),
    "key_mean_one": ("mean: {mean} ({window})", "平均：{mean}（{window}）"),
    "key_unused": ("not used by the command and not drawn: GPU {gpus}", "命令未使用、未绘出：GPU {gpus}"),
    "key_no_mean": ("utilisation of GPU {gpus}", "GPU {gpus} 的利用率"),
    "key_need": ("the GPUs take {needed}", "GPU 需要 {needed}"),
    "key_wanted": ("wanted: {limit} the need", "要求：{limit}（相对需求）"),
    "key_cached": ("{job} was cached: out of RAM, no disk speed", "{job} 为 cached：来自内存缓存，不代表磁盘"),
    "key_memory": ("{job} ran in memory: no disk speed", "{job} 位于内存文件系统，不代表磁盘"),
    "key_buffered": ("through the page cache (buffered): {jobs}", "经页缓存（buffered）：{jobs}"),
    "key_measured": ("measured {moment}", "测于 {moment}"),
    "key_speedup": ("{n} GPUs: {speedup} as fast as {base}", "{n} 个 GPU：相对 {base} 个加速 {speedup}"),
    "key_serial": ("serial fraction: {share}", "串行比例：{share}"),
    "scaling_superlinear": (
        "Super-linear: suspect caches or a cold first run, and measure the fewest GPUs again.",
        "超线性：疑似缓存影响或首次运行未预热，请重测最少 GPU 的基准。",
    ),
    "scaling_communication": (
        "The serial fraction grows with the GPUs: traffic between them, not a serial part.",
        "串行比例随 GPU 数增长：瓶颈在 GPU 间通信，而非串行部分。",
    ),
    "scaling_slower": ("More GPUs were slower than fewer.", "增加 GPU 后反而更慢。"),
    "bar_sequential": ("storage, in sequence", "存储顺序读"),
    "bar_small": ("storage, small files", "存储小文件"),
    "bar_job": ("read by the job", "作业实际读取"),
    "md_record": ("Closing records", "验收记录"),
    "axis_gpus": ("GPUs", "GPU 数"),
}


def text(language, key, **params):
    """The text of a key in a language ("en" or "zh"; any other reads as English), its placeholders filled; `n` chooses the plural."""
    english, chinese = _TEXTS[key]
    if language == "zh":
        return chinese.format(**params) if params else chinese
    if isinstance(english, tuple):
        english = english[0] if str(params.get("n")) == "1" else english[1]
    return english.format(**params) if params else english


# Units of the workload form that aren't written the same everywhere.
_UNITS = {"hours": "小时", "minutes": "分钟", "samples": "个样本", "samples/s": "样本/秒", "currency": ""}


def unit(language, name):
    """A unit's name in Chinese; None where it is written as it is."""
    return _UNITS.get(name) if language == "zh" else None


def keys():
    """Every key with its texts, for the test that holds both languages complete."""
    return dict(_TEXTS)
