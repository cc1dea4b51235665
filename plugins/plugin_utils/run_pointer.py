# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How the workers of one ansible-playbook process agree on one run, and load each policy once.

`gpu_audit_output_dir` is templated host by host, so the first worker that needs the run decides where it lies and publishes that
as a pointer file in Ansible's temporary directory of this process; all others read the pointer. Policies are kept beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os

from . import run_directory

# Computed when an action plugin is imported, which happens in the main process before any worker is forked.
RUN_ID = run_directory.new_run_id()


def _folder(process_tmp):
    path = os.path.join(process_tmp, "trainops.gpu_audit")
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


@contextlib.contextmanager
def locked(process_tmp):
    """Hold this process tree's one lock."""
    with open(os.path.join(_folder(process_tmp), "lock"), "w", encoding="ascii") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def current(process_tmp):
    """The run of this process: {"run_directory", "output_dir", "settings"}; None when nobody has begun one."""
    path = os.path.join(process_tmp, "trainops.gpu_audit", "pointer.json")
    if not os.path.exists(path):
        return None
    return run_directory.read_json(path)


def begin(process_tmp, output_dir, manifest, settings):
    """The run of this process, begun here if it isn't yet.

    `manifest`: the rest of run.json (expected, language, versions). `settings`: what judge and render will need and may not read
    from one host's variables later. Returns what `current` returns, and `begun_here` where this call began it.
    """
    found = current(process_tmp)
    if found is None:
        output_dir = os.path.abspath(os.path.expanduser(output_dir))
        path = os.path.join(output_dir, RUN_ID)
        wanted = {"run_directory": path, "output_dir": output_dir, "settings": settings}
        with locked(process_tmp):
            found = current(process_tmp)
            if found is None:
                run_directory.make_run_directory(path)
                whole = {"schema": run_directory.RUN_SCHEMA, "id": RUN_ID, "started": run_directory.now(), "finished": None,
                         "policies": {}, "partial": True}
                run_directory.write_new_json(run_directory.manifest_path(path), dict(whole, **manifest))
                run_directory.write_json(os.path.join(_folder(process_tmp), "pointer.json"), wanted)
                found = dict(wanted, begun_here=True)
    return found


def once(process_tmp, kind, key, load):
    """What `load()` gives (JSON) for a key (JSON) of a kind, asked for once per process: the first worker loads, the others read."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    path = os.path.join(_folder(process_tmp), "%s-%s.json" % (kind, digest))
    with contextlib.suppress(FileNotFoundError, ValueError):
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    with locked(process_tmp):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                return json.load(stream)
        loaded = load()
        # Not sorted: the order of checks in a policy is the order people read them in.
        run_directory.write_bytes(path, json.dumps(loaded).encode("utf-8"))
    return loaded


def policy_once(process_tmp, key, load, run=None):
    """The policy `key` as `load()` gives it, loaded once per process and recorded in the run's run.json.

    Returns {"policy": dict} or {"error": text}; `load` returns the same.
    """
    def loading():
        loaded = load()
        if run is not None and "policy" in loaded:
            add_policy(run, key, loaded["policy"])
        return loaded

    return once(process_tmp, "policy", key, loading)


def add_policy(run, key, policy):
    """Record a resolved policy in run.json; the caller holds the lock."""
    from . import run_reader

    manifest, problems = run_reader.read_manifest(run)
    if problems:
        raise run_directory.RunDirectoryError("%s: %s" % (run, "; ".join(problems)))
    manifest["policies"][key] = policy
    run_directory.write_json(run_directory.manifest_path(run), manifest)


def keep_judged(process_tmp, judged, entries):
    """Leave what this process's render and gate need of a judgement: `judged`, a small object, and an entry a host.

    A file a host, because the gate asks for one host a worker: parsing all of them a thousand times would cost minutes.
    """
    folder = os.path.join(_folder(process_tmp), "entries")
    os.makedirs(folder, exist_ok=True)
    for name, entry in entries.items():
        run_directory.write_bytes(os.path.join(folder, run_directory.safe_name(name) + ".json"), json.dumps(entry).encode("utf-8"))
    run_directory.write_bytes(os.path.join(_folder(process_tmp), "judged.json"), json.dumps(judged).encode("utf-8"))


def kept_judged(process_tmp):
    """The `judged` of `keep_judged`, None when nothing was judged in this process."""
    return _kept(os.path.join(process_tmp, "trainops.gpu_audit", "judged.json"))


def kept_entry(process_tmp, name):
    """The entry of one host, None when it wasn't judged."""
    return _kept(os.path.join(process_tmp, "trainops.gpu_audit", "entries", run_directory.safe_name(name) + ".json"))


def _kept(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except FileNotFoundError:
        return None
