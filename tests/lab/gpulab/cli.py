# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The command line: base, up, down, status, inventory, exec."""
from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import bases, fleet, inventory, kernel, paths
from .host import SpecError, from_file, from_row


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="fleet.py", description="A fleet of GPU servers on one machine; see tests/lab/README.md.")
    sub = top.add_subparsers(dest="command", required=True)
    base = sub.add_parser("base", help="build the shared Debian trees (once)")
    base.add_argument("suites", nargs="+", choices=["bookworm", "trixie", "bullseye"])
    up = sub.add_parser("up", help="start hosts and wait for ssh")
    up.add_argument("count", type=int, nargs="?", default=0, help="this many hosts")
    up.add_argument("--spec", help="a JSON list of hosts, or the name of one in specs/")
    up.add_argument("--set", default="{}", help="JSON object of fields for every host")
    show = sub.add_parser("inventory", help="the Ansible inventory")
    show.add_argument("--path", action="store_true", help="only where its file is")
    inside = sub.add_parser("exec", help="run a program inside a host without ssh")
    inside.add_argument("name")
    inside.add_argument("argv", nargs=argparse.REMAINDER)
    sub.add_parser("status", help="what is up")
    sub.add_parser("down", help="end and remove everything")
    return top


def spec_path(text: str) -> Path:
    named = paths.SPECS / f"{text}.json"
    return named if named.exists() else Path(text)


def run_inside(name: str, argv: list[str]) -> None:
    pids = fleet.load()["pids"]
    if name not in pids:
        raise SpecError(f"no host '{name}' is up")
    os.execvp("nsenter", ["nsenter", "-t", str(pids[name][0]), "-m", "-u", "-i", "-n", "-p", "-r", "-w", *(argv or ["sh"])])


def run(arguments: argparse.Namespace) -> int:
    if arguments.command == "base":
        for suite in arguments.suites:
            print(bases.build(suite))
    elif arguments.command == "up":
        every = json.loads(arguments.set)
        if arguments.spec:
            hosts = from_file(spec_path(arguments.spec))
            for host in hosts:
                for key, value in every.items():
                    setattr(host, key, value)
        else:
            hosts = [from_row(dict(every), index) for index in range(arguments.count)]
        with fleet.Lock():
            print(fleet.up(hosts))
    elif arguments.command == "inventory":
        print(paths.RUN / "inventory.yml" if arguments.path else inventory.as_text(fleet.hosts_up()), end="\n" if arguments.path else "")
    elif arguments.command == "exec":
        run_inside(arguments.name, arguments.argv)
    elif arguments.command == "status":
        for name, (pid, born) in fleet.load()["pids"].items():
            print(name, pid, "up" if kernel.start_time(pid) == born else "gone")
        print("\n".join(fleet.leftovers()))
    else:
        with fleet.Lock():
            line = fleet.down()
        print(line)
        return 0 if line.endswith("nothing") else 1
    return 0


def main() -> int:
    try:
        return run(parser().parse_args())
    except (SpecError, ValueError, PermissionError) as error:
        print(f"fleet.py: {error}", file=sys.stderr)
        return 2
