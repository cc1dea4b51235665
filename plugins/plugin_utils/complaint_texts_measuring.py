# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The other part of the table of `complaints.py`: what measuring says of hosts, storage and commands, and in a measurement's notes."""

from __future__ import annotations

# As in complaint_texts.py.
TABLE = (
    # --- a job on a host
    ("the module does not say how many seconds it takes (plan.seconds)", "模块没有说明需要多少秒（plan.seconds）"),
    ("the module gave no measurement", "模块没有给出测量结果"),
    ("the module failed without a message", "模块失败且没有给出信息"),
    ("the module ended without an answer: it was killed, or broke off ({rest})", "模块没有给出结果就结束了：被终止，或中途出错（{rest}）"),
    ("the job did not end within {seconds} s and its watchdog did not end it", "作业在 {seconds} 秒内没有结束，看门狗也未能将其结束"),
    (
        "the host has been out of reach for {seconds} s ({error}). Measure again: a result that lies on the host by then is taken over",
        "主机已有 {seconds} 秒无法连接（{error}）。请重新测量：届时主机上已有的结果会被取回",
    ),
    ("the host knows nothing of the job any more: {error*}", "主机上已没有该作业的记录：{error}"),
    ("the host knows nothing of the job any more: {error}", "主机上已没有该作业的记录：{error}"),
    ("the job gives no result: {error*}", "该作业不会再有结果：{error}"),
    (
        "its answer found no room in {folder} on the host, where {free} are free now. Make room there, or set ansible_async_dir to a "
        "folder with room",
        "其应答在主机的 {folder} 中没有空间写入（现可用 {free}）。请在该处腾出空间，或将 ansible_async_dir 设为空间充足的目录",
    ),
    (
        "its answer found no room in {folder} on the host. Make room there, or set ansible_async_dir to a folder with room",
        "其应答在主机的 {folder} 中没有空间写入。请在该处腾出空间，或将 ansible_async_dir 设为空间充足的目录",
    ),
    (
        "its process is gone from the host and left no answer: it was killed, or the host was restarted",
        "其进程已不在主机上，也没有留下应答：可能被终止，或主机已重启",
    ),
    ("the job ended, and Ansible can't read its answer: {error}", "作业已结束，但 Ansible 无法读取其应答：{error}"),
    ("the host's answer can't be kept: {error*}", "无法保存主机的应答：{error}"),
    ("the host's answer can't be kept: {error}", "无法保存主机的应答：{error}"),
    ("{host}: the job runs, but no later run can take its result over: {error*}", "{host}：作业正在运行，但之后的运行无法取回其结果：{error}"),
    ("the job runs, but no later run can take its result over: {error*}", "作业正在运行，但之后的运行无法取回其结果：{error}"),
    ("cannot write {path}: it is a folder; remove it", "无法写入 {path}：该处是目录；请将其删除"),
    ("no answer within {seconds} s", "{seconds} 秒内没有应答"),
    # --- where a storage test may write
    ("path must be absolute, not empty", "path 必须是绝对路径，不能为空"),
    ("path must be absolute, not {path}", "path 必须是绝对路径，而不是 {path}"),
    ("{path}: fio reads a name with $ in it as its own variable; give another directory", "{path}：fio 会把含 $ 的名称当作自己的变量；请换一个目录"),
    ("path: {path} holds a NUL, which no name can; give a directory", "path：{path} 含有 NUL 字符，任何名称都不能含有它；请给出目录"),
    ("{path}: nothing is mounted there yet; mount it and measure again", "{path}：此处尚未挂载；请挂载后重新测量"),
    ("{path}: {error}; make the directory first, it is never made for you", "{path}：{error}；请先创建该目录，测试不会代为创建"),
    ("{path}: {error}; give a directory you may use", "{path}：{error}；请给出有权使用的目录"),
    ("{path}: {error}; see whether the file system answers", "{path}：{error}；请检查该文件系统是否有响应"),
    (
        "{path} is a device, and a test on it would destroy what lies there; give a directory on its mounted file system",
        "{path} 是设备，在其上测试会毁掉已有数据；请给出其已挂载文件系统上的目录",
    ),
    ("{path} is a file; give a directory", "{path} 是文件；请给出目录"),
    (
        "{path} lies on the kernel's own tree, which holds no data; give a directory on the storage to be measured",
        "{path} 位于内核自身的目录树中，其中不存放数据；请给出待测存储上的目录",
    ),
    (
        "{path} lies on {kind}, which holds no data; give a directory on the storage to be measured",
        "{path} 位于 {kind} 上，其中不存放数据；请给出待测存储上的目录",
    ),
    (
        "{path} can't be written to by this user (uid {uid}); give a directory of this user or use become",
        "当前用户（uid {uid}）无权写入 {path}；请给出该用户的目录，或使用 become",
    ),
    (
        "{path}: {free} are free; the test needs {need} and leaves {reserve} to others. Lower size_bytes or numjobs, take quick, "
        "or make room",
        "{path}：可用 {free}；测试需要 {need}，并须为其他用途保留 {reserve}。请减小 size_bytes 或 numjobs、改用 quick，或腾出空间",
    ),
    (
        "{path} lies on a file system that is mounted read-only ({kind}); a test has to write its files. Mount it for writing, or see in "
        "the kernel's log why it became so",
        "{path} 所在的文件系统以只读方式挂载（{kind}）；测试必须写入文件。请以可写方式挂载，或查看内核日志了解变为只读的原因",
    ),
    (
        "{path}: {free} inodes are free; the test needs {need} and leaves {reserve} to others. Lower file_count or take another directory",
        "{path}：可用 inode {free} 个；测试需要 {need}，并须保留 {reserve}。请减小 file_count，或换一个目录",
    ),
    (
        "{room*}. Already there: {rest*}",
        "{room}。目录中已有：{rest}",
    ),
    (
        "{path} lives in memory, of which {free} are available; the test needs {need} and may take half. Lower size_bytes",
        "{path} 位于内存中，可用内存 {free}；测试需要 {need}，而最多只能占用一半。请减小 size_bytes",
    ),
    # --- what a storage test can't do
    ("{name} must be between {least} and {most}, not {value}", "{name} 必须在 {least} 与 {most} 之间，而不是 {value}"),
    ("{name} must be at least {least}, not {value}", "{name} 不得小于 {least}，而不是 {value}"),
    ("{name} must be at most {most}, not {value}", "{name} 不得大于 {most}，而不是 {value}"),
    ("unknown job {name}; there are {names}", "没有测试 {name}；可用：{names}"),
    ("{text} is no id of a job", "{text} 不是作业编号"),
    # Ansible's own of a module's choices.
    ("value of {name} must be one of: {choices}, got: {value}", "{name} 必须是下列之一：{choices}，而不是 {value}"),
    ("no jobs named; there are {names}", "没有指定测试；可用：{names}"),
    ("start_at lies {seconds} s ahead, at most {most} are waited for", "start_at 在 {seconds} 秒之后，最多等待 {most} 秒"),
    (
        "Give the path of fio 3.0 or newer, or none to take the one that is installed",
        "请给出 fio 3.0 或更新版本的路径，或不指定以使用已安装的 fio",
    ),
    (
        "{program} can't be started: the interpreter or loader that it names is missing. {how*}",
        "无法启动 {program}：缺少它所指定的解释器或加载器。{how}",
    ),
    ("{program} can't be started: {error}. {how*}", "无法启动 {program}：{error}。{how}"),
    ("{program} is not fio: asked for its version it says {error}. {how*}", "{program} 不是 fio：询问版本时返回 {error}。{how}"),
    ("{program} --version was ended by {signal}: it said nothing. {how*}", "{program} --version 被 {signal} 结束，没有任何输出。{how}"),
    ("{program} --version was ended by {signal}: {error}. {how*}", "{program} --version 被 {signal} 结束：{error}。{how}"),
    ("{program} --version ended with status {status}: it said nothing. {how*}", "{program} --version 以状态 {status} 结束，没有任何输出。{how}"),
    ("{program} --version ended with status {status}: {error}. {how*}", "{program} --version 以状态 {status} 结束：{error}。{how}"),
    ("there is no program {name} on the search path. {how*}", "搜索路径中没有程序 {name}。{how}"),
    ("the fio named, {path}, holds a NUL, which no name can. {how*}", "所指定的 fio（{path}）含有 NUL 字符，任何名称都不能含有它。{how}"),
    ("the fio named, {path}, is a directory. Give the program in it", "所指定的 fio（{path}）是目录。请给出其中的程序"),
    ("the fio named, {path}, can't be executed by this user (uid {uid}). {how*}", "当前用户（uid {uid}）无权执行所指定的 fio（{path}）。{how}"),
    ("the fio named, {path}: {error}. {how*}", "所指定的 fio（{path}）：{error}。{how}"),
    ("fio isn't installed here. {how*}", "此处未安装 fio。{how}"),
    ("fio {version} is too old, {wanted} or newer is needed. {how*}", "fio {version} 过旧，需要 {wanted} 或更新版本。{how}"),
    (
        "Install it with: the package fio of your distribution (or the role prepare with gpu_audit_prepare_fio: true)",
        "安装方法：发行版的 fio 软件包（或使用角色 prepare 并设 gpu_audit_prepare_fio: true）",
    ),
    (
        "Install it with: {line} (or the role prepare with gpu_audit_prepare_fio: true)",
        "安装命令：{line}（或使用角色 prepare 并设 gpu_audit_prepare_fio: true）",
    ),
    ("{program} --version gave no answer within {seconds} s and was ended", "{program} --version 在 {seconds} 秒内没有应答，已被结束"),
    ("fio gave no answer within {seconds} s and was ended", "fio 在 {seconds} 秒内没有应答，已被结束"),
    ("fio printed far too much and was ended", "fio 输出过多，已被结束"),
    ("fio can't be started: {error}", "无法启动 fio：{error}"),
    (
        "fio was ended by {signal}; a file was to become larger than this user's limit (ulimit -f)",
        "fio 被 {signal} 结束；文件将超过该用户的大小限制（ulimit -f）",
    ),
    ("fio was ended by {signal}", "fio 被 {signal} 结束"),
    ("fio ended with status {status}: it said nothing", "fio 以状态 {status} 结束，没有任何输出"),
    ("fio ended with status {status}: {error}", "fio 以状态 {status} 结束：{error}"),
    ("ended by {signal}; what was written is removed", "被 {signal} 结束；已写入的内容已清除"),
    (
        "another storage test runs in {path} now ({name}), and both would measure each other; measure again when it has ended",
        "{path} 中正有另一个存储测试在运行（{name}），两者会互相干扰；请待其结束后重新测量",
    ),
    ("its files couldn't be removed: {path}", "无法删除其文件：{path}"),
    # --- what is said beside a storage test
    ("quick look: {rest*}", "快速初测：{rest}"),
    ("{jobs} on {mount} ({type}, medium unknown)", "{jobs}，位于 {mount}（{type}，介质未知）"),
    ("{jobs} on {mount} ({type}, {kind*})", "{jobs}，位于 {mount}（{type}，{kind}）"),
    ("nvme", "NVMe"),
    ("ssd", "SSD"),
    ("hdd", "HDD"),
    ("network", "网络"),
    ("memory", "内存"),
    ("overlay", "overlay"),
    ("unknown", "介质未知"),
    ("files of up to {bytes} at a time in a folder of its own, removed afterwards", "同时最多占用 {bytes}，位于单独的目录，测完即删除"),
    ("another storage test runs in this directory now ({name})", "此目录中正有另一个存储测试在运行（{name}）"),
    ("a test that was killed left {name} there; it is removed when this one runs", "此前被强制终止的测试在此遗留了 {name}；本次测试运行时会将其清除"),
    (
        "{name} lies there: a test of another machine, container or user runs there now, or left it; remove it when none does",
        "此处有 {name}：另一台机器、容器或用户的测试正在此运行，或遗留了它；确认没有测试在运行后请将其删除",
    ),
    (
        "the directory was moved or unmounted while it was measured, and what the test wrote there is removed all the same",
        "测试期间该目录被移动或卸载，测试写入其中的内容仍已清除",
    ),
    (
        "another storage test ran in this directory at the same time ({name}): the figures are those of both together",
        "同时有另一个存储测试在此目录中运行（{name}）：这些数值是两者合计的结果",
    ),
    (
        "{job}: fio says {figure} {value}, which no storage can have; nothing is taken from it",
        "{job}：fio 报告 {figure} 为 {value}，任何存储都不可能达到；相关数值一概不采用",
    ),
    ("{count} more of these were left out", "另有 {count} 条同类内容未列出"),
    ("couldn't be removed within {seconds} s: {path}; remove it by hand", "{seconds} 秒内未能删除：{path}；请手动删除"),
    ("{job} gave no result: {error*}", "{job} 没有结果：{error}"),
    ("{job} gave no result: {error}", "{job} 没有结果：{error}"),
    (
        "its files were laid out {seconds} s after the moment at which all hosts were to begin: not all of them read at once",
        "其文件在约定的统一开始时刻之后 {seconds} 秒才准备完毕：各主机并非同时读取",
    ),
    ("laying out files beforehand: {error*}", "预先准备文件：{error}"),
    ("laying out files beforehand: {error}", "预先准备文件：{error}"),
    ("this file system lives in memory: no figure of a disk", "该文件系统位于内存中：不代表磁盘速度"),
    (
        "the files ({bytes}) are smaller than memory ({memory}) and an unknown share of what was read came from the device: a figure of "
        "the cache, not of the disk",
        "文件（{bytes}）小于内存（{memory}），读取内容中来自设备的比例未知：这是缓存的速度，不是磁盘的速度",
    ),
    (
        "the files ({bytes}) are smaller than memory ({memory}) and {share} of what was read came from the device: a figure of the cache, "
        "not of the disk",
        "文件（{bytes}）小于内存（{memory}），读取内容中只有 {share} 来自设备：这是缓存的速度，不是磁盘的速度",
    ),
    (
        "a test of another machine, container or user was in this directory at the same time, or left {name} there: where it ran, the "
        "figures are those of both together",
        "另一台机器、容器或用户的测试同时在此目录中运行，或在此遗留了 {name}：若当时在运行，则这些数值是两者合计的结果",
    ),
    ("what a test that was killed had left, {name}, was removed", "已清除此前被强制终止的测试遗留的 {name}"),
    (
        "what a test that was killed had left, {name}, couldn't be removed: do it by hand",
        "无法清除此前被强制终止的测试遗留的 {name}：请手动删除",
    ),
    (
        "a network file system: the server's and the network's speed at this moment, caches of the server included",
        "网络文件系统：这是服务器与网络此刻的速度，包含服务器缓存",
    ),
    ("an overlay file system (a container's own layer): the disk below it may be faster", "overlay 文件系统（容器自身的层）：其下的磁盘可能更快"),
    (
        "quick form: a first look with little data; take the full form before deciding anything",
        "快速初测：只用少量数据初步了解；做决定前请进行完整测试",
    ),
    ("the engine {engine} can't be used here ({error}); {other} was taken", "此处无法使用引擎 {engine}（{error}）；已改用 {other}"),
    (
        "this file system takes no direct I/O ({error}); read and written through the page cache, which is not comparable",
        "该文件系统不支持直接 I/O（{error}）；已改经页缓存读写，结果不可直接比较",
    ),
    ("{count} more lines of text around the result", "结果前后另有 {count} 行文本"),
    (
        "fio {version}: its own units (KiB, microseconds) were converted; fio 3 or newer is what results are compared with",
        "fio {version}：已换算其旧单位（KiB、微秒）；结果以 fio 3 或更新版本为比较基准",
    ),
    ("the option or key {name} is given more than once: all its values are kept", "选项或键 {name} 出现多次：其所有值均已保留"),
    ("{job}: the engine {engine} works at queue depth 1, not {depth}", "{job}：引擎 {engine} 以队列深度 1 工作，而不是 {depth}"),
    ("too short to give a speed", "时间过短，无法得出速度"),
    ("lasted {milliseconds} ms only; a speed from that says little", "仅持续 {milliseconds} 毫秒；由此得出的速度参考价值不大"),
    # --- what a probe can't do
    ("a list of words is needed, the program first, such as [python3, train.py]", "需要单词列表，程序在前，例如 [python3, train.py]"),
    ("a map of names and values is needed", "需要名称与值的映射"),
    ("argv and environment can't hold NUL characters", "argv 和 environment 不能含 NUL 字符"),
    ("{value} is not between {least} and {most}", "{value} 不在 {least} 与 {most} 之间"),
    ("{path} is not an absolute path", "{path} 不是绝对路径"),
    ("different numbers of GPUs are needed, such as [1, 2, 4]", "需要互不相同的 GPU 数量，例如 [1, 2, 4]"),
    ("{pattern} is no regular expression: it is nested too deeply", "{pattern} 不是有效的正则表达式：嵌套过深"),
    ("{pattern} is no regular expression: {error}", "{pattern} 不是有效的正则表达式：{error}"),
    ("unknown group {name}; a group may be named {names}", "没有名为 {name} 的组；可用的组名：{names}"),
    (
        "{pattern} also matches an empty text, so that it would match everywhere: write it such that it has to find something, for example "
        "with + instead of *",
        "{pattern} 也能匹配空文本，因而处处都会匹配：请改写，使其必须匹配到内容，例如用 + 代替 *",
    ),
    ("exactly one group must be named by its unit: {names}", "必须恰好有一个组以其单位命名：{names}"),
    (
        "the process that watched the command ended without an answer (killed?); the command was ended with it",
        "监视命令的进程未给出结果就已结束（被强制终止？）；命令也随之结束",
    ),
    (
        "the process that watched the command ended without an answer (killed?); {left*}",
        "监视命令的进程未给出结果就已结束（被强制终止？）；{left}",
    ),
    (
        "processes of another user that the probe may not end: {names}. End them by hand, or measure with become: true",
        "属于其他用户、探测无权结束的进程：{names}。请手动结束，或设 become: true 后重新测量",
    ),
    ("processes of another user that the probe may not end: {names}. End them by hand", "属于其他用户、探测无权结束的进程：{names}。请手动结束"),
    (
        "the probe itself failed: no folder for temporary files can be made ({error}): free room in /tmp, or set TMPDIR",
        "探测本身失败：无法创建临时目录（{error}）：请在 /tmp 腾出空间，或设置 TMPDIR",
    ),
    ("the probe itself failed: {error}", "探测本身失败：{error}"),
    ("the probe was ended before the command was: {error*}", "探测先于命令结束：{error}"),
    ("nobody reads its answer", "已无人读取其结果"),
    ("by a signal", "被信号结束"),
    ("chdir, run_as and progress_file can't hold NUL characters", "chdir、run_as 和 progress_file 不能含 NUL 字符"),
    ("{names} must be text or a number, not a list or a map", "{names} 必须是文本或数字，而不是列表或映射"),
    (
        "the GPUs of this host can't be counted ({error*}), so that nothing can be run on some of them: see that nvidia-smi works there, or "
        "leave gpu_counts out",
        "无法得知该主机的 GPU 数量（{error}），因而不能只在其中一部分上运行：请确认 nvidia-smi 在该主机上可用，或不设 gpu_counts",
    ),
    (
        "the GPUs of this host can't be counted ({error}), so that nothing can be run on some of them: see that nvidia-smi works there, or "
        "leave gpu_counts out",
        "无法得知该主机的 GPU 数量（{error}），因而不能只在其中一部分上运行：请确认 nvidia-smi 在该主机上可用，或不设 gpu_counts",
    ),
    ("not even {count} GPU can be used: {there*}. Leave gpu_counts out", "连 {count} 个 GPU 都无法使用：{there}。请不要设 gpu_counts"),
    ("not even {count} GPUs can be used: {there*}. Leave gpu_counts out", "连 {count} 个 GPU 都无法使用：{there}。请不要设 gpu_counts"),
    (
        "not even {count} GPUs can be used: {there*}. Give numbers up to {most}",
        "连 {count} 个 GPU 都无法使用：{there}。请给出不超过 {most} 的数量",
    ),
    ("not even {count} can be used: {there*}. Give numbers up to {most}", "连 {count} 都无法使用：{there}。请给出不超过 {most} 的数量"),
    ("not even {count} can be used: {there*}. Leave gpu_counts out", "连 {count} 都无法使用：{there}。请不要设 gpu_counts"),
    ("there are no GPUs that CUDA_VISIBLE_DEVICES leaves", "CUDA_VISIBLE_DEVICES 没有留下任何 GPU"),
    ("there are no GPUs", "没有 GPU"),
    ("there is {count} GPU that CUDA_VISIBLE_DEVICES leaves", "CUDA_VISIBLE_DEVICES 只留下 {count} 个 GPU"),
    ("there are {count} GPUs that CUDA_VISIBLE_DEVICES leaves", "CUDA_VISIBLE_DEVICES 只留下 {count} 个 GPU"),
    ("there is {count} GPU", "只有 {count} 个 GPU"),
    ("there are {count} GPUs", "只有 {count} 个 GPU"),
    (
        "there is no user {name} on this host: name one of its users, or leave run_as out",
        "该主机上没有用户 {name}：请给出该主机上的用户，或不设 run_as",
    ),
    ("the user can't be changed to: {error}; set become: true", "无法切换到该用户：{error}；请设 become: true"),
    ("only root can start a command as {name}; set become: true", "只有 root 能以 {name} 的身份启动命令；请设 become: true"),
    (
        "no program has the name that begins with {name}: give a list of words, the program first, and variables in environment",
        "没有以 {name} 开头的程序：请写成单词列表，程序在前，变量放入 environment",
    ),
    (
        "the command {name} isn't there, or isn't on PATH ({path}): give its whole path, set PATH in environment, or install it",
        "命令 {name} 不存在，或不在 PATH（{path}）中：请给出完整路径、在 environment 中设置 PATH，或安装该程序",
    ),
    ("the command {name} isn't there: give the path that it has on this host", "命令 {name} 不存在：请给出它在该主机上的路径"),
    ("{path} is a folder, not a command: give the program in it", "{path} 是目录，不是命令：请给出其中的程序"),
    (
        "{path} may not be executed by user {user}: make it executable (chmod +x), or put what runs it in front, such as "
        "[python3, train.py]",
        "用户 {user} 无权执行 {path}：请加上执行权限（chmod +x），或在前面写上运行它的程序，例如 [python3, train.py]",
    ),
    (
        "{path} can't be reached by user {user} (permission denied on a folder above it): open the folder, or set run_as",
        "用户 {user} 无法访问 {path}（对其上级目录没有权限）：请开放该目录，或设置 run_as",
    ),
    (
        "{path} is there, but what its first line (#!) or its loader names is not: see `file` and `head -1` of it",
        "{path} 存在，但其首行（#!）或加载器所指的程序不存在：请用 `file` 和 `head -1` 查看",
    ),
    (
        "{path} is no program that this host can run: a script needs a first line such as #!/bin/sh, a binary this processor",
        "{path} 不是该主机能运行的程序：脚本需要 #!/bin/sh 之类的首行，二进制文件需与处理器匹配",
    ),
    (
        "{path} may not be executed by user {user}: it, or what its first line names, isn't executable, or its file system is mounted "
        "noexec",
        "用户 {user} 无权执行 {path}：该文件或其首行所指的程序没有执行权限，或所在文件系统以 noexec 挂载",
    ),
    (
        "{path} can't be started: arguments and environment are longer than the kernel takes (a word at most 128 KiB): hand long lists "
        "over in a file",
        "无法启动 {path}：参数与环境变量超出内核上限（单个不超过 128 KiB）：请用文件传递长列表",
    ),
    ("{path} is being written to at this moment: start again when that has ended", "{path} 正在被写入：请待其结束后重新启动"),
    ("{path} isn't there: make the folder, or give the one that the command runs in", "{path} 不存在：请创建该目录，或给出命令运行所在的目录"),
    ("{path} is no folder: give the one that the command runs in", "{path} 不是目录：请给出命令运行所在的目录"),
    ("{path} may not be entered by user {user}: open the folder, or set run_as", "用户 {user} 无权进入 {path}：请开放该目录，或设置 run_as"),
    (
        "{path} can't be used: arguments or environment hold characters that can not be written as UTF-8",
        "{path} 无法使用：参数或环境变量含有无法以 UTF-8 写出的字符",
    ),
    ("{path} can't be used: {error}", "{path} 无法使用：{error}"),
    ("the command could not be started: {error}", "无法启动命令：{error}"),
    # --- what is said beside a probe
    (
        "warning: scaling_basis is epoch, and nothing will tell epochs: give epoch_pattern, or iteration_pattern and iterations_per_epoch, "
        "or progress_file, or wrap the loop with the helper gpu_audit_probe.py (docs/probe.md)",
        "警告：scaling_basis 为 epoch，但没有任何来源给出轮次：请给出 epoch_pattern，或 iteration_pattern 与 iterations_per_epoch，"
        "或 progress_file，或用辅助文件 gpu_audit_probe.py 包裹循环（docs/probe.md）",
    ),
    (
        "warning: nothing will count iterations, so that the command runs to its end or its time limit: give iteration_pattern or "
        "progress_file, or wrap the loop with the helper gpu_audit_probe.py (docs/probe.md)",
        "警告：没有任何来源统计迭代，命令会一直运行到结束或达到时间上限：请给出 iteration_pattern 或 progress_file，"
        "或用辅助文件 gpu_audit_probe.py 包裹循环（docs/probe.md）",
    ),
    ("runs on {names} GPUs, one after the other", "依次在 {names} 个 GPU 上运行"),
    ("ends after {count} iterations", "{count} 次迭代后结束"),
    ("not run on {count} GPU: {there*}", "未在 {count} 个 GPU 上运行：{there}"),
    ("not run on {count} GPUs: {there*}", "未在 {count} 个 GPU 上运行：{there}"),
    ("no time on {count} GPU: {why*}", "{count} 个 GPU 没有时间：{why}"),
    ("no time on {count} GPUs: {why*}", "{count} 个 GPU 没有时间：{why}"),
    (
        "on {count} GPU the command used only {used}: its times say nothing of what more GPUs bring. Start one process for each GPU, such "
        "as {words} with DistributedDataParallel",
        "在 {count} 个 GPU 上运行时，命令只使用了 {used} 个：其耗时不能说明增加 GPU 的收益。请为每个 GPU 启动一个进程，例如 {words} 并使用 "
        "DistributedDataParallel",
    ),
    (
        "on {count} GPUs the command used only {used}: its times say nothing of what more GPUs bring. Start one process for each GPU, such "
        "as {words} with DistributedDataParallel",
        "在 {count} 个 GPU 上运行时，命令只使用了 {used} 个：其耗时不能说明增加 GPU 的收益。请为每个 GPU 启动一个进程，例如 {words} 并使用 "
        "DistributedDataParallel",
    ),
    (
        "whether the command used all of its GPUs isn't known: they were not sampled",
        "命令是否使用了分配给它的所有 GPU 未知：未采样",
    ),
    ("the command told none", "命令没有给出"),
    ("it ended as {outcome}", "结局为 {outcome}"),
    ("no NVIDIA driver library (libnvidia-ml.so.1) is installed on this host", "该主机未安装 NVIDIA 驱动库（libnvidia-ml.so.1）"),
    ("GPUs not sampled: {error*}", "未对 GPU 采样：{error}"),
    ("GPUs not sampled: {error}", "未对 GPU 采样：{error}"),
    ("GPU {index} is not sampled: {error}", "未对 GPU {index} 采样：{error}"),
    ("the driver's library crashed the process that asked it", "驱动程序库使查询它的进程崩溃"),
    ("the driver didn't answer within {seconds} s", "驱动在 {seconds} 秒内没有应答"),
    ("a process was still running when the command ended, and was ended", "命令结束时仍有一个进程在运行，已将其结束"),
    ("{count} processes were still running when the command ended, and were ended", "命令结束时仍有 {count} 个进程在运行，已将其结束"),
    ("processes that not even SIGKILL ends: {names}", "SIGKILL 也无法结束的进程：{names}"),
    ("no iteration was counted: {why*}; {rest*}", "未计到任何迭代：{why}；{rest}"),
    ("no iteration was counted: {why*}", "未计到任何迭代：{why}"),
    ("no iteration was counted", "未计到任何迭代"),
    ("the command printed nothing", "命令没有任何输出"),
    (
        "iteration_pattern matched none of the {count} lines of output: compare it with output_tail",
        "iteration_pattern 与 {count} 行输出都不匹配：请对照 output_tail 检查",
    ),
    ("progress_file {path}: it isn't there", "progress_file {path}：文件不存在"),
    ("progress_file {path}: it is no regular file", "progress_file {path}：不是普通文件"),
    ("progress_file {path}: nothing was appended to it", "progress_file {path}：没有追加任何内容"),
    (
        "progress_file {path}: none of its {count} lines is a JSON object with the key iteration",
        "progress_file {path}：{count} 行中没有一行是含 iteration 键的 JSON 对象",
    ),
    ("progress_file {path}: {error}", "progress_file {path}：{error}"),
    (
        "give iteration_pattern or progress_file, or wrap the loop with the helper gpu_audit_probe.py",
        "请给出 iteration_pattern 或 progress_file，或用辅助文件 gpu_audit_probe.py 包裹循环",
    ),
    ("{count} lines of the progress files are no JSON objects", "进度文件中有 {count} 行不是 JSON 对象"),
    ("the command went on after an allocation failed: {line}", "一次显存分配失败后命令仍继续运行：{line}"),
    ("CUDA_VISIBLE_DEVICES leaves {count} of {all} GPUs to the command", "CUDA_VISIBLE_DEVICES 只让命令使用 {all} 个 GPU 中的 {count} 个"),
    (
        "sampled every {longest} s instead of {wanted} s to keep the sampler below 1 % of a core",
        "为使采样开销低于单核的 1 %，采样间隔由 {wanted} 秒增至 {longest} 秒",
    ),
    ("this driver counts its own reserved VRAM as used", "该驱动把自身保留的显存计入已用"),
    ("GPU {index}: memory isn't known: {error}", "GPU {index}：显存未知：{error}"),
    ("GPU {index}: utilisation isn't known: {error}", "GPU {index}：利用率未知：{error}"),
    ("GPU {index}: power isn't known: {error}", "GPU {index}：功耗未知：{error}"),
    ("GPU {index}: what holds clocks down isn't known: {error}", "GPU {index}：时钟受限原因未知：{error}"),
    ("GPU {index}: use of the encoder isn't known: {error}", "GPU {index}：编码器利用率未知：{error}"),
    ("GPU {index}: list of processes isn't known: {error}", "GPU {index}：其进程未知：{error}"),
    ("GPU {index}: temperature isn't known: {error}", "GPU {index}：温度未知：{error}"),
    ("GPU {index}: {name} isn't known: {error}", "GPU {index}：{name} 未知：{error}"),
    ("the driver doesn't tell which processes hold VRAM", "驱动没有给出占用显存的进程"),
    ("this kernel doesn't hand orphans over: a daemon that the command forks may stay", "该内核不会移交孤儿进程：命令派生的守护进程可能残留"),
    ("process {pid} hangs in the driver and can't be ended", "进程 {pid} 挂在驱动中，无法结束"),
    ("more progress was written than could be read: iterations are missing", "进度写入过多，未能全部读取：缺少部分迭代"),
    ("sampling ended: {error}", "采样已终止：{error}"),
    (
        "no sample for {seconds} s: the driver doesn't answer, or the sampling process ended",
        "{seconds} 秒没有采样：驱动没有应答，或采样进程已结束",
    ),
    ("the command printed more than {rate} KiB/s: {size} of it were not looked at", "命令输出超过 {rate} KiB/s：其中 {size} 未作分析"),
    (
        "{name} took too much processor time (with the other expressions {seconds} s): no further line was compared with it. Write it simpler, "
        "or let the command print less",
        "{name} 占用的处理器时间过多（与其他表达式合计 {seconds} 秒）：后续行不再与其匹配。请简化表达式，或减少命令的输出",
    ),
    (
        "{name} took more than {seconds} s for one line: no further line was compared with it. Write it without repetitions in repetitions",
        "{name} 处理一行就用了超过 {seconds} 秒：后续行不再与其匹配。请改写，避免嵌套重复",
    ),
    (
        "{name} matched without taking a character, and such a match doesn't count: let it match what the line says",
        "{name} 的匹配不含任何字符，这样的匹配不计入：请让它匹配该行的内容",
    ),
)
