# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`make audit`, `gate`, `measure`, `plan`, `rejudge`, `wheelhouse` and `venv`: from a bare checkout to a report.

The variables of the make command come as GPU_AUDIT_MAKE_<NAME> in the environment, so that no shell ever parses a path or a name.
"""

from __future__ import annotations

import difflib
import json
import os
import pathlib
import platform
import shlex
import subprocess
import sys

import environment
from environment import ToolError, say

PLAYBOOKS = ("audit", "gate", "rejudge", "measure", "plan")
LANGUAGES = ("en", "zh")
GATES = ("fail", "unproven", "warn")
PREFIX = "GPU_AUDIT_MAKE_"
POLICIES = environment.ROOT / "roles" / "audit" / "files" / "policies"
NAMES = ("INVENTORY", "LIMIT", "POLICY", "OUT", "RUN", "FORKS", "LANGUAGE", "GATE", "EXTRA", "PYTHON", "WHEELHOUSE", "PYTHONS", "ARCH", "STEPS")
# What a command would pass over in silence, and what to do instead.
WITHOUT_EFFECT = {
    ("audit", "RUN"): "an audit makes a run of its own; make rejudge judges a stored one",
    ("audit", "GATE"): "make gate refuses hosts",
    ("gate", "RUN"): "it gates what it audits; make rejudge judges a stored run",
    ("rejudge", "LIMIT"): "a stored run is judged as a whole",
    ("rejudge", "FORKS"): "no host is contacted",
    ("rejudge", "GATE"): "make gate refuses hosts",
    ("measure", "POLICY"): "an audit judges what was measured",
    ("measure", "RUN"): "a measurement belongs to no run",
    ("measure", "GATE"): "make gate refuses hosts",
    **{("plan", name): "no host is contacted and nothing is judged" for name in ("INVENTORY", "LIMIT", "POLICY", "OUT", "RUN", "FORKS", "GATE")},
}


def read_variables(environ):
    """{name: value} of the make variables that are set and not empty."""
    return {name[len(PREFIX):]: value for name, value in environ.items() if name.startswith(PREFIX) and value}


def check_names(command, variables):
    """ToolError for a variable that this command takes no notice of, and for a name like one of ours with a slip of the finger in it."""
    given = variables.get("GIVEN", "").split()
    for name in given:
        near = [] if name in NAMES else difflib.get_close_matches(name.upper(), NAMES, n=1, cutoff=0.8)
        if near:
            raise ToolError("there is no variable %s; did you mean %s?" % (name, near[0]))
        if (command, name) in WITHOUT_EFFECT:
            raise ToolError("%s has no effect here: %s" % (name, WITHOUT_EFFECT[command, name]))


def _existing(name, value, what):
    path = pathlib.Path(value).expanduser()
    if not path.exists():
        raise ToolError("%s: no such %s: %s (looked for %s)" % (name, what, value, path.absolute()))
    return str(path.absolute())


def _one_of(name, value, allowed):
    if value not in allowed:
        raise ToolError("%s: %r is none of %s" % (name, value, ", ".join(allowed)))
    return value


def inventory_argument(value):
    """What `-i` gets: an existing path made absolute, or a comma-separated list of hosts as it is."""
    if value is None:
        return str(environment.ROOT / "tests" / "tools" / "localhost.yml")
    path = pathlib.Path(value).expanduser()
    if path.exists():
        place = str(path.absolute())
        if "," in place:
            raise ToolError("INVENTORY: Ansible takes a path with a comma for a list of hosts; rename or link it: %s" % place)
        if os.path.expandvars(place) != place:
            raise ToolError("INVENTORY: Ansible puts the value of a variable in place of its name in a path; rename or link it: %s" % place)
        return place
    if "," in value:
        return value
    raise ToolError("INVENTORY: no such file or folder: %s (looked for %s). Name an inventory, or hosts as a list with a comma: INVENTORY='gpu1,gpu2,'"
                    % (value, path.absolute()))


def policy_value(value):
    """A policy's name as it is; a file's path made absolute."""
    if "/" in value or value.endswith((".yml", ".yaml")):
        return _existing("POLICY", value, "policy file")
    shipped = sorted(path.stem for path in POLICIES.glob("*.yml"))
    if value not in shipped:
        near = difflib.get_close_matches(value, shipped, n=1)
        raise ToolError("POLICY: no policy %r%s; there are %s, or give a file (ours.yml)"
                        % (value, " (did you mean %s?)" % near[0] if near else "", ", ".join(shipped)))
    return value


def playbook_arguments(playbook, variables):
    """The arguments of ansible-playbook for the make variables; raises ToolError on a wrong value."""
    extra = {}
    if "POLICY" in variables:
        extra["gpu_audit_policy"] = policy_value(variables["POLICY"])
    if "OUT" in variables:
        extra["gpu_audit_output_dir"] = str(pathlib.Path(variables["OUT"]).expanduser().absolute())
    if "LANGUAGE" in variables:
        extra["gpu_audit_language"] = _one_of("LANGUAGE", variables["LANGUAGE"], LANGUAGES)
    if "GATE" in variables:
        extra["gpu_audit_gate"] = _one_of("GATE", variables["GATE"], GATES)
    if "RUN" in variables:
        extra["gpu_audit_run"] = _existing("RUN", variables["RUN"], "run folder")
    for name in ("POLICY", "OUT", "RUN"):
        if "{{" in variables.get(name, "") or "{%" in variables.get(name, ""):
            raise ToolError("%s: Ansible would take this for a template: %s" % (name, variables[name]))

    # A plan needs no inventory, and Ansible warns where it has none.
    arguments = ["-i", "localhost," if playbook == "plan" else inventory_argument(variables.get("INVENTORY"))]
    if "LIMIT" in variables:
        arguments += ["--limit", variables["LIMIT"]]
    if "FORKS" in variables:
        if not (variables["FORKS"].isdigit() and int(variables["FORKS"]) > 0):
            raise ToolError("FORKS: a whole number above 0, not %r" % variables["FORKS"])
        arguments += ["--forks", variables["FORKS"]]
    if extra:
        arguments += ["--extra-vars", json.dumps(extra, sort_keys=True)]
    try:
        arguments += shlex.split(variables.get("EXTRA", ""))
    except ValueError as error:
        raise ToolError("EXTRA: %s in: %s" % (error, variables["EXTRA"]))
    return arguments + ["trainops.gpu_audit." + playbook]


def wheelhouse_folder(variables):
    """The folder of wheels to install from, None to use the index."""
    if "WHEELHOUSE" not in variables:
        return None
    folder = pathlib.Path(_existing("WHEELHOUSE", variables["WHEELHOUSE"], "folder"))
    if not any(folder.glob("*.whl")):
        raise ToolError("WHEELHOUSE: no wheels in %s; make them on a connected machine with: make wheelhouse" % folder)
    return folder


def controller_environment(variables):
    """The folder of `.venv`, made or repaired where needed."""
    python, version = environment.choose_python()
    return environment.ensure_venv(environment.ROOT / ".venv", [environment.controller_requirements(version)], python, version,
                                   wheelhouse_folder(variables))


def ansible_version(folder):
    """The ansible-core version in an environment, from its metadata's folder name."""
    found = sorted(folder.glob("lib/python*/site-packages/ansible_core-*.dist-info"))
    return found[-1].name[len("ansible_core-"):-len(".dist-info")] if found else "(unknown version)"


def run_playbook(playbook, variables):
    """Run one of the shipped playbooks; returns ansible-playbook's exit code."""
    arguments = playbook_arguments(playbook, variables)
    folder = controller_environment(variables)
    program = folder / "bin" / "ansible-playbook"
    environ = environment.ansible_environment(os.environ, os.getcwd())
    environ["PATH"] = "%s%s%s" % (folder / "bin", os.pathsep, environ.get("PATH", os.defpath))
    say("  %s with ansible-core %s" % (playbook, ansible_version(folder)))
    os.execve(str(program), [str(program)] + arguments, environ)


def make_wheelhouse(variables):
    """Download what an air-gapped controller and its hosts need into a folder: for each Python its pinned wheels, pip and the role prepare's packages."""
    folder = pathlib.Path(variables.get("WHEELHOUSE", "wheelhouse")).expanduser().absolute()
    machine = variables.get("ARCH", platform.machine())
    python, version = environment.choose_python()
    pythons = variables.get("PYTHONS", "%d.%d" % version[:2]).replace(",", " ").split()
    for wanted in pythons:
        if wanted not in ("3.10", "3.11", "3.12", "3.13"):
            raise ToolError("PYTHONS: %r is none of 3.10, 3.11, 3.12, 3.13 (several: PYTHONS='3.11 3.12')" % wanted)
    maker = environment.ensure_venv(environment.CACHE / "venvs" / "pip", [environment.REQUIREMENTS / "pip.txt"], python, version)
    folder.mkdir(parents=True, exist_ok=True)
    host = environment.ROOT / "roles" / "prepare" / "files" / "requirements.txt"
    for wanted in pythons:
        say("  wheels for Python %s on %s" % (wanted, machine))
        pinned = environment.controller_requirements(tuple(int(part) for part in wanted.split(".")))
        # Everything is pinned, so --no-deps: pip would weigh the markers of dependencies for the Python that runs it, not for the one asked for.
        arguments = [str(maker / "bin" / "python"), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                     "--only-binary", ":all:", "--implementation", "cp", "--python-version", wanted, "--dest", str(folder)]
        # The oldest first: pip prefers what runs on the most systems.
        for tag in ("_2_5", "_2_12", "2010", "_2_17", "2014", "_2_24", "_2_26", "_2_28", "_2_31", "_2_34"):
            arguments += ["--platform", "manylinux%s_%s" % (tag, machine)]
        for path in (pinned, environment.REQUIREMENTS / "pip.txt", host):
            arguments += ["-r", str(path)]
        code = subprocess.run(arguments, stdin=subprocess.DEVNULL, env=environment.pip_environment(os.environ, None), check=False).returncode
        if code != 0:
            raise ToolError("pip download failed (exit %d); its words are above" % code)
    count = len(list(folder.glob("*.whl")))
    say("%d wheels in %s. Copy it and this checkout to the machine without a network, then: make audit WHEELHOUSE=%s" % (count, folder, folder.name))


def main(arguments):
    """Exit code of the command named by the first argument."""
    command = arguments[0] if len(arguments) == 1 else ""
    variables = read_variables(os.environ)
    try:
        check_names(command, variables)
        if command in PLAYBOOKS:
            return run_playbook(command, variables)
        if command == "wheelhouse":
            return make_wheelhouse(variables)
        if command == "venv":
            say("%s is ready" % controller_environment(variables))
            return 0
        raise ToolError("usage: audit.py audit|gate|measure|plan|rejudge|wheelhouse|venv")
    except ToolError as error:
        print("make %s: %s" % (command, error), file=sys.stderr)
    except OSError as error:
        print("make %s: %s: %s" % (command, error.filename or "the system says", error.strerror), file=sys.stderr)
    except KeyboardInterrupt:
        print("make %s: interrupted; run it again, it goes on where it was" % command, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
