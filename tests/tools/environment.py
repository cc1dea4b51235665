# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Virtual environments and Ansible settings for the commands of the Makefile; standard library only, Python 3.7 and newer.

Everything made here lies in `.venv` and `.cache` of the checkout and can be deleted at any time.
"""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import glob
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
REQUIREMENTS = ROOT / "requirements"
STAMP = "gpu-audit.stamp"
OLDEST, NEWEST_TESTED = (3, 10), (3, 13)

# What an audit of a fleet wants and Ansible's defaults don't give: variable, value, and the settings of an ansible.cfg that outrank it.
SETTINGS = (
    ("ANSIBLE_STDOUT_CALLBACK", "trainops.gpu_audit.progress", (("defaults", "stdout_callback"),)),
    ("ANSIBLE_PIPELINING", "True", (("defaults", "pipelining"), ("connection", "pipelining"), ("ssh_connection", "pipelining"))),
    ("ANSIBLE_FORKS", "20", (("defaults", "forks"),)),
    ("ANSIBLE_PYTHON_INTERPRETER", "auto_silent", (("defaults", "interpreter_python"),)),
    ("ANSIBLE_RETRY_FILES_ENABLED", "False", (("defaults", "retry_files_enabled"),)),
    # An inventory that can't be read is an error, not an audit of nothing that ends with exit 0.
    ("ANSIBLE_INVENTORY_UNPARSED_FAILED", "True", (("inventory", "unparsed_is_failed"),)),
    ("ANSIBLE_NOCOWS", "True", (("defaults", "nocows"),)),
)


class ToolError(Exception):
    """Something the user can put right; the text says what, where and what to do."""


def say(text):
    """One line of progress, at once, also when the output is a pipe."""
    print(text, flush=True)


def python_version(python):
    """(major, minor, full version text) of a Python program, None where it doesn't run (a pyenv shim without its version, say)."""
    code = "import sys; print(sys.version_info[0], sys.version_info[1], sys.version.split()[0])"
    try:
        answer = subprocess.run([str(python), "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                universal_newlines=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = answer.stdout.split()
    if answer.returncode != 0 or len(words) != 3:
        return None
    return int(words[0]), int(words[1]), words[2]


def choose_python(environ=None):
    """(program, version) of the controller's Python: the one named by PYTHON, else the running one, else a newer one on the PATH."""
    environ = os.environ if environ is None else environ
    named = environ.get("GPU_AUDIT_MAKE_PYTHON", "")
    candidates = [named] if named and named != "python3" else [sys.executable] + ["python3.%d" % minor for minor in (13, 12, 11, 10)]
    seen = []
    for candidate in candidates:
        program = shutil.which(candidate)
        version = python_version(program) if program else None
        if version is None:
            continue
        if version[:2] >= OLDEST:
            if version[:2] > NEWEST_TESTED:
                say("Python %s is newer than the versions this was tested with (3.10 to 3.13)" % version[2])
            return program, version
        seen.append("%s is %s" % (program, version[2]))
    raise ToolError("no Python 3.10 or newer for the controller (%s). Install one and name it: make audit PYTHON=python3.12. "
                    "The audited hosts need only Python 3.7." % ("; ".join(seen) or "%s does not run" % candidates[0]))


def find_python(version):
    """A Python program of this minor version, None where there is none: on the PATH, or one of pyenv's."""
    for candidate in [shutil.which("python" + version)] + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/%s.*/bin/python" % version)), reverse=True):
        found = python_version(candidate) if candidate else None
        if found is not None and "%d.%d" % found[:2] == version:
            return candidate, found
    return None


def controller_requirements(version):
    """The pinned ansible-core for a controller's Python (the newest line that supports it)."""
    minor = min(max(version[1], 10), 12)
    return REQUIREMENTS / ("controller-py3%d.txt" % minor)


def stamp_text(folder, requirements, version):
    """What a finished environment was made from: any difference means that it has to be made again."""
    digest = hashlib.sha256()
    for path in requirements:
        digest.update(pathlib.Path(path).read_bytes())
    return "%s\n%s\n%s\n" % (digest.hexdigest(), version[2], folder)


@contextlib.contextmanager
def _locked(folder):
    """Two commands started at once make an environment only once; the second waits."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(str(CACHE / ("lock-" + folder.name.lstrip("."))), "w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("  waiting for another command that is making %s" % folder.name)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_ready(folder, stamp):
    """True where the environment was finished from the same requirements and its Python still runs."""
    try:
        written = (folder / STAMP).read_text()
    except OSError:
        return False
    return written == stamp and python_version(folder / "bin" / "python") is not None


def ensure_venv(folder, requirements, python, version, wheelhouse=None, quiet=False):
    """Make or repair a virtual environment; returns its folder. Quick when nothing changed.

    wheelhouse: a folder of wheels to install from instead of an index. quiet: no line for each package.
    """
    folder = pathlib.Path(folder)
    stamp = stamp_text(folder, requirements, version)
    if is_ready(folder, stamp):
        return folder
    with _locked(folder):
        if is_ready(folder, stamp):
            return folder
        _refuse_foreign(folder)
        _create(folder, python, version, wheelhouse)
        started = time.monotonic()
        names = ", ".join(pathlib.Path(path).name for path in requirements)
        say("  installing %s from %s (the first time takes a minute)" % (names, wheelhouse or "the package index"))
        arguments = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        for path in requirements:
            arguments += ["-r", str(path)]
        if wheelhouse:
            arguments += ["--no-index", "--find-links", str(wheelhouse)]
        _pip(arguments, folder, wheelhouse, quiet)
        (folder / STAMP).write_text(stamp)
        say("  %s is ready (%d s)" % (folder.name, time.monotonic() - started))
    return folder


def _refuse_foreign(folder):
    """ToolError unless a folder may be emptied: it holds nothing, or the stamp that only environments made here have, or lies in our cache."""
    if folder.is_symlink():
        raise ToolError("%s is in the way: it is a link to %s, which was not made here. Remove the link and run the command again."
                        % (folder, os.readlink(str(folder))))
    if folder.exists() and not folder.is_dir() or CACHE not in folder.parents and folder.is_dir() and any(folder.iterdir()) \
            and not (folder / STAMP).is_file():
        raise ToolError("%s is in the way: it was not made here. Move it away and run the command again." % folder)


def _empty(folder):
    """Clear the folder but for a stamp that fits nothing: when the making is interrupted, the next command knows the remains for ours."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STAMP).write_text("unfinished\n")
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(str(entry))
        elif entry.name != STAMP:
            entry.unlink()


def _create(folder, python, version, wheelhouse):
    """An empty virtual environment with pip, in place of whatever the folder held."""
    say("  making %s with Python %s" % (folder.name if folder.parent == ROOT else folder.relative_to(ROOT), version[2]))
    pip_wheel = sorted(pathlib.Path(wheelhouse).glob("pip-*.whl")) if wheelhouse else []
    if not _has_ensurepip(python) and not pip_wheel:
        install_venv_package(python, version)
    _empty(folder)
    arguments = [str(python), "-m", "venv"] + (["--without-pip"] if pip_wheel else []) + [str(folder)]
    made = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    if made.returncode != 0:
        raise ToolError("%s failed: %s" % (" ".join(arguments), made.stdout.strip()))
    if pip_wheel:
        _pip([str(folder / "bin" / "python"), str(pip_wheel[-1] / "pip"), "install", "--no-index", "--find-links", str(wheelhouse), "pip"], folder, wheelhouse)


def _has_ensurepip(python):
    code = "import ensurepip, venv"
    return subprocess.run([str(python), "-c", code], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def install_venv_package(python, version):
    """Debian and Ubuntu ship ensurepip in a package of its own: install it as root, else say how."""
    system = python_version("/usr/bin/python3")
    package = "python3-venv" if system is not None and system[:2] == version[:2] else "python%d.%d-venv" % version[:2]
    by_hand = "apt-get update && apt-get install -y %s" % package
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ToolError("%s can't make virtual environments (no ensurepip). Run once:  sudo sh -c '%s'\n"
                        "or name another Python: make audit PYTHON=python3.12" % (python, by_hand))
    say("  installing the Debian package %s" % package)
    apt_install([package])
    if not _has_ensurepip(python):
        raise ToolError("%s still has no ensurepip after installing %s; name another Python: make audit PYTHON=python3.12" % (python, package))


def apt_install(packages, log=None):
    """Install Debian packages as root without a question; raises ToolError with the last lines of apt's output."""
    # No service of a package (nginx, sshd) is to start on this machine: neither by systemd nor by init scripts.
    environ = dict(os.environ, DEBIAN_FRONTEND="noninteractive", SYSTEMD_OFFLINE="1", RUNLEVEL="1")
    options = ["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2"]
    output = ""
    for arguments in (["apt-get", "-q", "update"], ["apt-get", "-q", "install", "-y", "--no-install-recommends"] + list(packages)):
        done = subprocess.run(arguments[:1] + options + arguments[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, errors="replace", env=environ, check=False)
        output += done.stdout
        if log is not None:
            pathlib.Path(log).write_text(output)
    # A failed update alone is no reason to stop: the package may be in a list that is there already.
    if done.returncode != 0:
        raise ToolError("apt-get install %s failed:\n%s" % (" ".join(packages), "\n".join(output.strip().splitlines()[-8:])))


def pip_environment(environ, wheelhouse):
    """The environment of pip: proxies, index and certificates as the user set them; with a wheelhouse nothing but that folder."""
    result = {name: value for name, value in environ.items() if name not in ("PIP_REQUIRE_VIRTUALENV", "PIP_TARGET", "PIP_PREFIX", "PYTHONHOME")}
    result["PIP_USER"] = "0"
    if wheelhouse:
        for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
            result.pop(name, None)
        result["PIP_CONFIG_FILE"] = os.devnull
    return result


def _pip(arguments, folder, wheelhouse, quiet=False):
    """Run pip, its output in a log beside the environments, a short line for each package it fetches."""
    log = CACHE / ("pip-%s.log" % folder.name.lstrip("."))
    with open(str(log), "w") as handle:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                                   errors="replace", env=pip_environment(os.environ, wheelhouse))
        tail = []
        for line in process.stdout:
            handle.write(line)
            if "Retrying" not in line:
                tail = (tail + [line.rstrip()[:240]])[-6:]
            if (line.startswith("Collecting") and not quiet) or "Retrying" in line:
                say("    " + line.strip().split(" (from ")[0][:120])
        code = process.wait()
    if code != 0:
        if wheelhouse:
            advice = "The folder WHEELHOUSE must hold every wheel for this Python; make it on a connected machine with: make wheelhouse"
        else:
            advice = ("Behind a proxy set HTTPS_PROXY, with a certificate authority of your own PIP_CERT, with an index of your own PIP_INDEX_URL, "
                      "without a network WHEELHOUSE=folder (see README)")
        raise ToolError("pip failed (exit %d). %s\n%s\nThe whole output: %s" % (code, advice, "\n".join("    " + line for line in tail), log))


def collections_path(root=ROOT, cache=None):
    """A folder in which Ansible finds this checkout as trainops.gpu_audit: the one it lies in, else a tree with a link to it."""
    root = pathlib.Path(root)
    if root.parts[-3:] == ("ansible_collections", "trainops", "gpu_audit"):
        return root.parents[2]
    base = pathlib.Path(cache or root / ".cache") / "collections"
    link = base / "ansible_collections" / "trainops" / "gpu_audit"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not (link.is_symlink() and link.exists() and os.path.samefile(str(link), str(root))):
        if link.is_symlink():
            link.unlink()
        os.symlink(str(root), str(link))
    return base


def user_configuration(environ, cwd):
    """(path, parser) of the ansible.cfg that Ansible will read, in Ansible's own order; (None, empty parser) without one."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, inline_comment_prefixes=(";",))
    named = environ.get("ANSIBLE_CONFIG")
    if named:
        named = os.path.expanduser(named)
        places = [os.path.join(named, "ansible.cfg") if os.path.isdir(named) else named]
    else:
        places = []
    places += [os.path.join(str(cwd), "ansible.cfg"), os.path.join(os.path.expanduser("~"), ".ansible.cfg"), "/etc/ansible/ansible.cfg"]
    for place in places:
        if os.path.isfile(place) and os.access(place, os.R_OK):
            try:
                parser.read(place)
            except (configparser.Error, UnicodeDecodeError) as error:
                raise ToolError("%s can't be read: %s" % (place, error))
            return place, parser
    return None, parser


def ansible_environment(environ, cwd, root=ROOT):
    """The environment for Ansible: this checkout on the collections path, and each of SETTINGS that neither a variable nor an ansible.cfg sets."""
    result = {name: value for name, value in environ.items()
              if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES") and not name.startswith("GPU_AUDIT_MAKE_")}
    place, parser = user_configuration(environ, cwd)
    for name, value, keys in SETTINGS:
        if name not in result and not any(parser.has_option(section, key) for section, key in keys):
            result[name] = value
    own = str(collections_path(root))
    if os.pathsep in own:
        raise ToolError("the path of this checkout holds a colon, which Ansible can't have in a collections path: %s" % own)
    theirs = result.get("ANSIBLE_COLLECTIONS_PATH") or result.get("ANSIBLE_COLLECTIONS_PATHS")
    if not theirs:
        theirs = parser.get("defaults", "collections_path", fallback=None) or parser.get("defaults", "collections_paths", fallback=None)
        # Ansible takes a relative path in a file from the file's folder, one in a variable from the working directory.
        folders = [os.path.expanduser(folder) for folder in theirs.split(os.pathsep)] if theirs else []
        theirs = os.pathsep.join(os.path.join(os.path.dirname(os.path.abspath(place)), folder) for folder in folders)
        theirs = theirs or "~/.ansible/collections:/usr/share/ansible/collections"
    result.pop("ANSIBLE_COLLECTIONS_PATHS", None)
    result["ANSIBLE_COLLECTIONS_PATH"] = own + os.pathsep + theirs
    if not utf8_locale(result):
        # Ansible refuses any other encoding.
        result["LC_ALL"] = "C.UTF-8"
    return result


def utf8_locale(environ):
    """True where the locale that the environment asks for is a UTF-8 one."""
    name = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    return name.lower().replace("-", "").endswith("utf8")
