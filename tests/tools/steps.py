# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What `make test` runs, cheap steps first. Standard library only; each step makes the environment that it needs."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import environment
from environment import CACHE, REQUIREMENTS, ROOT, ToolError, say
from runner import Outcome, Step, add, checked, command, find_program, log_of, pytest, skipped

INTEGRATION = ROOT / "tests" / "integration"

# Program or file that a test needs -> the Debian package that has it.
DEBIAN_PACKAGES = (
    ("git", "git"), ("ssh", "openssh-client"), ("sshd", "openssh-server"), ("ip", "iproute2"), ("nft", "nftables"), ("fio", "fio"),
    ("iperf3", "iperf3"), ("mkfs.xfs", "xfsprogs"), ("debootstrap", "debootstrap"), ("chromium", "chromium"), ("pgrep", "procps"),
    ("nginx", "nginx"), ("openssl", "openssl"), ("wrk", "wrk"), ("ethtool", "ethtool"), ("lspci", "pciutils"),
    ("gcc", "gcc"), ("make", "make"), ("node", "nodejs"), ("npm", "npm"), ("shellcheck", "shellcheck"),
    ("/usr/include/stdlib.h", "libc6-dev"), ("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", "fonts-noto-cjk"),
)

# ansible-core lines to try the playbooks on: title, controller's Python, requirements.
MATRIX = (
    ("ansible-core-2.16", "3.10", "oldest-py310.txt"),
    ("ansible-core-2.19", "3.11", "controller-py311.txt"),
    ("ansible-core-2.21", "3.13", "controller-py312.txt"),
)
LAB_BASES = ("bookworm", "trixie", "bullseye")
# Files of tests/integration in which no figure of time counts: other steps may run beside them. The rest measures this machine, or makes hosts.
PLAYS = ("test_playbooks*.py", "test_playbook_plan.py", "test_playbook_measure.py", "test_measure_killed.py", "test_make_audit.py", "test_build_install.py")
# Tests that wait for real seconds: on the oldest and the newest Python only.
REAL_TIME = ("test_transfer_failures.py", "test_transfer_uploads.py", "test_request_load.py")
# Of the host side's tests those that only the step unit runs: they start every Python themselves, or need Ansible.
UNIT_ONLY = "test_every_host_python or test_the_module or test_documented_return_values"
HOST_PYTHONS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


def venv(name, requirements, chosen=None):
    """The folder of a test environment, made where needed."""
    python, version = chosen or environment.choose_python()
    return environment.ensure_venv(CACHE / "venvs" / name, [REQUIREMENTS / item if isinstance(item, str) else item for item in requirements], python, version,
                                   quiet=True)


def main_venv():
    """The environment of most steps: the controller's pinned requirements and the tests'."""
    python, version = environment.choose_python()
    return venv("test", [environment.controller_requirements(version), "test.txt"], (python, version))


def test_environment(folder):
    """The variables of a test: this checkout on the collections path, the environment's programs first, no ansible.cfg of the user."""
    empty = CACHE / "ansible.cfg"
    empty.write_text("")
    environ = environment.ansible_environment(dict(os.environ, ANSIBLE_CONFIG=str(empty)), ROOT)
    for name, _value, _keys in environment.SETTINGS:
        environ.pop(name, None)
    environ["ANSIBLE_COLLECTIONS_PATH"] = str(environment.collections_path())
    environ["PATH"] = os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    return environ


def run_pytest(step, title, folder, arguments, retake=False):
    """pytest in an environment, counted."""
    return pytest(title, folder / "bin" / "python", arguments, log_of(step), retake, environ=test_environment(folder))


# --- the steps


def packages(step):
    """Install the Debian packages that tests need and this machine lacks."""
    absent = [(what, package) for what, package in DEBIAN_PACKAGES if not (os.path.exists(what) if what.startswith("/") else find_program(what))]
    if not absent:
        return Outcome(0, 0, 0, [])
    names = sorted({package for _what, package in absent})
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return skipped(step, "not installed, and not root on Debian: %s. As root: apt-get install -y --no-install-recommends %s"
                       % (" ".join(what for what, _package in absent), " ".join(names)))
    say("  installing  %s" % " ".join(names))
    try:
        environment.apt_install(names, log_of(step))
    except ToolError:
        # One unknown name (chromium on Ubuntu, say) must not keep out the rest.
        for name in names:
            try:
                environment.apt_install([name], log_of(step))
            except ToolError as error:
                say("  could not install %s: %s" % (name, str(error).splitlines()[-1]))
    still = [what for what, _package in absent if not (os.path.exists(what) if what.startswith("/") else find_program(what))]
    if still:
        return Outcome(0, 0, 1, ["skipped: packages: could not be installed here: %s, see %s" % (" ".join(still), log_of(step).relative_to(ROOT))])
    return Outcome(0, 0, 0, [])


def unit(step):
    """The pure layers on the controller's Python."""
    return run_pytest(step, "unit", main_venv(), ["tests/unit"])


def with_helpers(path, known=None):
    """The text of a test file and of the files beside it that it imports, and they in turn."""
    known = {"conftest"} if known is None else known
    known.add(path.stem)
    text = path.read_text()
    helpers = [name for name in re.findall(r"^(?:import|from) (\w+)", text, re.M) if name not in known and path.with_name(name + ".py").is_file()]
    return text + "".join(with_helpers(path.with_name(name + ".py"), known) for name in helpers)


def host_side_tests():
    """Unit tests that touch only what runs on a host: nothing of the controller's layers and no package that old Pythons lack."""
    controller = re.compile(r"plugin_utils|plugins\.(action|callback|filter|modules import)|tests/tools"
                            r"|^\s*(import|from) (ansible|yaml|jinja2|hypothesis|jsonschema)\b", re.M)
    texts = ((path, with_helpers(path)) for path in sorted((ROOT / "tests" / "unit").rglob("test_*.py")))
    return [str(path.relative_to(ROOT)) for path, text in texts if "module_utils" in text and not controller.search(text)]


def pythons(step):
    """The host side on every Python that a host may have and this machine has."""
    tests = host_side_tests()
    if not tests:
        return skipped(step, "no tests of the host side")
    outcomes = []
    for version in HOST_PYTHONS:
        found = environment.find_python(version)
        if found is None:
            outcomes.append(Outcome(0, 0, 1, ["skipped: pythons: no Python %s on this machine" % version]))
            continue
        folder = venv("host-" + version, ["host-test.txt"], found)
        ends = version in (HOST_PYTHONS[0], HOST_PYTHONS[-1])
        chosen = [test for test in tests if ends or not test.endswith(REAL_TIME)]
        outcomes.append(run_pytest(step, "Python " + version, folder, ["-k", "not (%s)" % UNIT_ONLY] + chosen))
        compile_all = [folder / "bin" / "python", "-m", "compileall", "-q", "-f", "plugins/module_utils", "plugins/modules"]
        outcomes.append(checked("compile on Python " + version, compile_all, log_of(step),
                                environ=dict(os.environ, PYTHONPYCACHEPREFIX=str(CACHE / "pyc"))))
    return add(outcomes)


def lint(step):
    """Linters; each is one test."""
    python, version = environment.choose_python()
    extra = "lint-py310.txt" if version[:2] == (3, 10) else "lint.txt"
    folder = venv("lint", [environment.controller_requirements(version), extra], (python, version))
    environ = test_environment(folder)
    log = log_of(step)
    program = folder / "bin"
    results = [
        checked("ruff", [program / "ruff", "check", "."], log, environ=environ),
        checked("yamllint", [program / "yamllint", "--strict", "."], log, environ=environ),
        checked("antsibull-changelog lint", [program / "antsibull-changelog", "lint"], log, environ=environ),
        checked("antsibull-docs lint-collection-docs", [program / "antsibull-docs", "lint-collection-docs", "--plugin-docs", "."], log, environ=environ),
        checked("ansible-lint, profile production", [program / "ansible-lint", "--offline", "--profile", "production"], log, environ=environ),
    ]
    scripts = [ROOT / ".ci" / "run"] + sorted((ROOT / "tests" / "tools").glob("*.sh"))
    if find_program("shellcheck"):
        results.append(checked("shellcheck", ["shellcheck"] + scripts, log, environ=environ))
    return add(results)


def copy_of_tree(target):
    """Copy the tracked and the untracked files that git doesn't ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=str(ROOT), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, check=True).stdout
    for name in listed.decode().split("\0"):
        source = ROOT / name
        if name and source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(source), str(target / name))


def sanity(step):
    """ansible-test sanity. It wants a real folder named as the collection is (no link, and in no git repository of another name)."""
    if not (ROOT / ".git").exists():
        return skipped(step, "not a git checkout")
    folder = main_venv()
    home = CACHE / "ansible-test-home"
    seed_get_pip(folder, home)
    with tempfile.TemporaryDirectory(prefix="gpu-audit-sanity-") as scratch:
        target = pathlib.Path(scratch) / "ansible_collections" / "trainops" / "gpu_audit"
        copy_of_tree(target)
        environ = test_environment(folder)
        environ["PIP_CACHE_DIR"] = os.environ.get("PIP_CACHE_DIR", os.path.expanduser("~/.cache/pip"))
        environ["HOME"] = str(home)
        environ["PATH"] = path_of_pythons(environ["PATH"])
        code = command([folder / "bin" / "ansible-test", "sanity", "--color", "no"], log_of(step), environ=environ, cwd=target)
    text = log_of(step).read_bytes().decode("utf-8", "replace")
    return sanity_outcome(text, code, log_of(step))


def sanity_outcome(text, code, log):
    """Count ansible-test's sanity tests from its output: each test once a Python."""
    ran = len(re.findall(r"^Running sanity test ", text, flags=re.M))
    skips = sorted(set(re.findall(r"^WARNING: (Skipping sanity test .*)$", text, flags=re.M)))
    listed = re.search(r"^FATAL: The (\d+) sanity test\(s\) listed below \(out of \d+\) failed.*\n((?:\S+.*\n)*)", text, flags=re.M)
    failed = int(listed.group(1)) if listed else 1 if code else 0
    notes = ["skipped: ansible-test: " + line for line in skips]
    if failed:
        names = ", ".join(listed.group(2).split("\n")).strip(", ") if listed else "exit %d" % code
        notes.append("failed: ansible-test sanity: %s, see %s" % (names, log.relative_to(ROOT)))
    return Outcome(max(ran - failed, 0), failed, len(skips), notes)


def path_of_pythons(path):
    """A PATH on which every Python of this machine runs: pyenv's shims answer only for the versions chosen in the working folder, so links replace them."""
    links = CACHE / "pythons"
    links.mkdir(parents=True, exist_ok=True)
    for version in HOST_PYTHONS:
        found, link = environment.find_python(version), links / ("python" + version)
        if link.is_symlink():
            link.unlink()
        if found is not None:
            link.symlink_to(os.path.realpath(found[0]))
    return os.pathsep.join([folder for folder in path.split(os.pathsep) if not folder.rstrip("/").endswith("shims")] + [str(links)])


def seed_get_pip(folder, home):
    """ansible-test downloads a script that installs pip; put one that uses ensurepip in its cache, so that no download is needed."""
    text = "".join(path.read_text() for path in folder.glob("lib/python*/site-packages/ansible_test/_internal/python_requirements.py"))
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in set(re.findall(r"pip=['\"]([0-9.]+)['\"]", text)):
        shutil.copy(str(ROOT / "tests" / "tools" / "get_pip.py"), str(cache / ("get_pip_%s.py" % version.replace(".", "_"))))


def integration_tests(*patterns):
    """Files of tests/integration whose names fit one of the patterns."""
    return [str(path.relative_to(ROOT)) for path in sorted({path for pattern in patterns for path in INTEGRATION.glob(pattern)})]


def measuring_tests():
    """Files of tests/integration that are of neither the step plays nor the step fleet."""
    others = integration_tests(*PLAYS, "test_fleet*.py")
    return [test for test in integration_tests("test_*.py") if test not in others]


def plays(step):
    """Playbooks, commands, build and install on this machine."""
    return run_pytest(step, "plays", main_venv(), integration_tests(*PLAYS), retake=True)


def integration(step):
    """What measures this machine, its disk and servers on it."""
    tests = measuring_tests()
    folder = main_venv()
    server = venv("s3-server", ["s3-server.txt"])
    environ = dict(test_environment(folder), GPU_AUDIT_MOTO_SERVER=str(server / "bin" / "moto_server"))
    return pytest("integration", folder / "bin" / "python", tests, log_of(step), retake=True, environ=environ)


def matrix(step):
    """The playbooks on the oldest, the middle and the newest ansible-core; the one of the step plays is not run twice."""
    tests = integration_tests("test_playbooks*.py")
    _python, main_version = environment.choose_python()
    outcomes = []
    for title, version, requirements in MATRIX:
        if requirements == environment.controller_requirements(main_version).name:
            continue
        found = environment.find_python(version)
        if found is None:
            outcomes.append(Outcome(0, 0, 1, ["skipped: matrix: no Python %s on this machine for %s" % (version, title)]))
            continue
        outcomes.append(run_pytest(step, title, venv(title, [requirements, "test.txt"], found), tests, retake=True))
    return add(outcomes)


def bases(step):
    """The Debian trees that the lab's hosts share, made once a machine and kept."""
    lab = ROOT / "tests" / "lab" / "fleet.py"
    if not lab.is_file():
        return skipped(step, "no tests/lab/fleet.py")
    python, _version = environment.choose_python()
    outcome = checked("lab bases", [python, lab, "base"] + list(LAB_BASES), log_of(step))
    if outcome.failed and os.environ.get("CI") != "true":
        return skipped(step, "could not be made (no network?), so the fleet can't be tested; see %s" % log_of(step).relative_to(ROOT))
    return outcome


def fleet(step):
    """The audit over real ssh, on test hosts in namespaces."""
    return run_pytest(step, "fleet", main_venv(), integration_tests("test_fleet*.py"), retake=True)


def molecule(step):
    """The molecule scenarios."""
    base = ROOT / "extensions"
    if not (base / "molecule").is_dir():
        return skipped(step, "no extensions/molecule")
    python, version = environment.choose_python()
    extra = "lint-py310.txt" if version[:2] == (3, 10) else "lint.txt"
    folder = venv("lint", [environment.controller_requirements(version), extra], (python, version))
    environ = dict(test_environment(folder), ANSIBLE_FORCE_COLOR="0", NO_COLOR="1")
    return checked("molecule test --all", [folder / "bin" / "molecule", "test", "--all"], log_of(step), environ=environ, cwd=base)


def browser(step):
    """The HTML report in headless Chromium; the tests bring their own npm packages."""
    tests = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "browser").glob("test_*.py"))
    return run_pytest(step, "browser", main_venv(), tests, retake=True) if tests else skipped(step, "no tests in tests/browser")


STEPS = (
    # Cheap ones first; several at a time, then one by one those that must be alone.
    Step("unit", "the pure layers", unit, (), False, False),
    Step("lint", "ruff, yamllint, ansible-lint, antsibull, shellcheck", lint, ("git",), False, False),
    Step("plays", "playbooks, commands, build and install", plays, ("git", "make"), False, False),
    Step("matrix", "playbooks on ansible-core 2.16, 2.19, 2.21", matrix, (), False, False),
    Step("pythons", "the host side on Python 3.7 to 3.13", pythons, (), False, False),
    Step("sanity", "ansible-test sanity", sanity, ("git",), False, False),
    Step("bases", "Debian trees for the lab's hosts", bases, ("debootstrap",), True, False),
    Step("integration", "what measures this machine", integration, (), False, True),
    Step("fleet", "a fleet of test hosts over ssh", fleet, ("ip", "sshd", "ssh", "nft", "gcc"), True, True),
    Step("molecule", "the molecule scenarios", molecule, ("ip", "sshd", "ssh", "nft", "gcc"), True, True),
    Step("browser", "the HTML report in Chromium", browser, ("node", "npm"), False, True),
)
