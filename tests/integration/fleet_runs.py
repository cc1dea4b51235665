# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the fleet tests share: the lab brought up once a module, a playbook run with a deadline, and what the report said."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_matrix import Core, prepare, selected

REPOSITORY = Path(__file__).resolve().parents[2]
LAB = REPOSITORY / "tests" / "lab"
sys.path.insert(0, str(LAB))

from gpulab import bases, fleet, paths
from gpulab.host import Host

NEEDED_PROGRAMS = ("ip", "nft", "ssh", "ssh-keygen", "nsenter", "mkfs.ext4")
RUN_SECONDS = 240


def why_no_lab(suites: tuple[str, ...] = ("bookworm", "trixie", "bullseye")) -> str:
    """'' when a fleet can be started here, else the reason."""
    if os.geteuid() != 0:
        return "the lab needs root (namespaces, bridge)"
    missing = [program for program in NEEDED_PROGRAMS if not shutil.which(program)]
    if missing:
        return f"the lab needs {', '.join(missing)}"
    unbuilt = [suite for suite in suites if not bases.ready(suite)]
    if unbuilt and not shutil.which("debootstrap"):
        return f"no lab base for {', '.join(unbuilt)}, and no debootstrap to make one"
    return ""


def build_bases(hosts: list[Host]) -> None:
    """Make the Debian trees that these hosts need and that aren't there yet; skips the test where no mirror can be reached."""
    for suite in sorted({host.base for host in hosts}):
        try:
            bases.build(suite)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"no lab base {suite}, and debootstrap failed: {error}")


def cores() -> list:
    """pytest parameters: the selected ansible-cores."""
    return [pytest.param(core, id=str(core)) for core in selected()]


def ready(core: Core) -> Core:
    """The core with its environment made; skips the test with the reason where that can't be."""
    reason = prepare(core)
    if reason:
        pytest.skip(reason)
    return core


@contextlib.contextmanager
def lab(hosts: list[Host]):
    """A fleet for as long as the block runs; what it leaves behind fails the test."""
    with fleet.Lock():
        build_bases(hosts)
        fleet.up(hosts)
        try:
            yield hosts
        finally:
            line = fleet.down()
        assert line.endswith("left: nothing"), line


@dataclasses.dataclass
class Finished:
    """A playbook run that ended: exit code, both outputs, seconds, and where its runs lie."""

    code: int
    out: str
    seconds: float
    directory: Path

    def report(self) -> dict:
        """The newest run's report.json; fails with the playbook's own words when there is none."""
        path = self.directory / "latest" / "report.json"
        assert path.exists(), f"no report (exit {self.code}):\n{self.out[-4000:]}"
        return json.loads(path.read_text())

    def hosts(self) -> dict[str, dict]:
        return {host["name"]: host for host in self.report()["hosts"]}


@dataclasses.dataclass
class Controller:
    """A working folder with its own Ansible configuration, a collections path and the lab's inventory."""

    core: Core
    folder: Path
    inventories: list[Path] = dataclasses.field(default_factory=list)     # read before the lab's: their hosts come first

    def __post_init__(self) -> None:
        home = self.folder / "ansible_collections" / "trainops"
        if not home.exists():
            home.mkdir(parents=True)
            (home / "gpu_audit").symlink_to(REPOSITORY)
            (self.folder / "ansible.cfg").write_text(
                "[defaults]\nhost_key_checking = true\nretry_files_enabled = false\nforks = 20\nlocalhost_warning = false\n"
                f"collections_path = {self.folder}\nlocal_tmp = {self.folder}/tmp\n"
                f"[ssh_connection]\npipelining = true\ncontrol_path_dir = {self.control_path}\n")

    @property
    def control_path(self) -> str:
        """Socket names are limited to 108 bytes: a short folder inside the lab's run, gone with it."""
        return str(paths.RUN / "cp")

    def environment(self) -> dict[str, str]:
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR") if key in os.environ}
        kept.setdefault("LANG", "C.UTF-8")
        return {**kept, "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}

    def command(self, playbook: str, *arguments: str) -> list[str]:
        name = playbook if playbook.endswith(".yml") else f"trainops.gpu_audit.{playbook}"
        sources = [word for path in (*self.inventories, paths.RUN / "inventory.yml") for word in ("-i", str(path))]
        return [str(self.core.bin / "ansible-playbook"), *sources, name, *arguments]

    @property
    def output(self) -> Path:
        return self.folder / "gpu-audit-runs"

    def play(self, playbook: str, *arguments: str, seconds: float = RUN_SECONDS, interrupt_when=None) -> Finished:
        """Run a playbook; past the deadline its whole session is ended and the test fails.

        interrupt_when(output dir) is asked often; the first true answer sends SIGINT to the group, as Ctrl-C does, and again every ten seconds
        while the play goes on, as somebody at a keyboard would: Ansible itself sometimes waits for ever after the first.
        """
        began = time.monotonic()
        log = self.folder / "playbook.log"
        with open(log, "w") as sink:
            process = subprocess.Popen(self.command(playbook, *arguments), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
        pressed = None
        try:
            while process.poll() is None:
                if time.monotonic() - began > seconds:
                    if pressed and self.core.version.startswith("2.16."):
                        pytest.skip("ansible-core 2.16 didn't end on Ctrl-C")
                    pytest.fail(f"{playbook} did not end within {seconds} s:\n{log.read_text()[-4000:]}")
                if interrupt_when is not None and (time.monotonic() - pressed > 10 if pressed else interrupt_when(self.output)):
                    os.killpg(process.pid, signal.SIGINT)
                    pressed = time.monotonic()
                time.sleep(0.25 if interrupt_when is None else 0.05)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        return Finished(process.returncode, log.read_text(), time.monotonic() - began, self.output)


def recap(text: str) -> dict[str, dict[str, int]]:
    """name -> {"ok": 1, "failed": 0, ...} of the play recap."""
    found = {}
    for line in text.split("PLAY RECAP", 1)[-1].splitlines():
        name, colon, counts = line.partition(" : ")
        if colon:
            found[name.strip()] = {key: int(count) for key, count in re.findall(r"(\w+)=(\d+)", counts)}
    return found


def failed(text: str) -> set[str]:
    return {name for name, counts in recap(text).items() if counts["failed"] or counts["unreachable"]}


def findings(host: dict, *statuses: str) -> dict[str, dict]:
    """check id -> finding of a reported host, those of the given statuses (default: all)."""
    return {finding["check"]: finding for finding in host["findings"] if not statuses or finding["status"] in statuses}


def advice(report: dict, finding: dict) -> str:
    """A finding's advice: its own, else the check's."""
    return finding.get("advice") or report["checks"][finding["check"]].get("advice") or ""
