# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one file of plugin_utils that knows Ansible: variables, templating, the process's temporary folder, versions."""

from __future__ import annotations

import json
import os
import re

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.release import __version__ as ansible_version
from ansible.utils.vars import load_extra_vars

from . import run_directory
from .collecting import checked_settings, own_words

_COLLECTION_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def process_tmp():
    """Ansible's temporary folder: one per process, inherited by its workers, removed when it ends."""
    return constants.DEFAULT_LOCAL_TMP


def plain(value):
    """A templated value as plain JSON types: no tagged or lazy containers, no vault objects. AnsibleError for anything else."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        # str() alone may hand a subclass back.
        return "".join(str(value))
    if isinstance(value, dict):
        return {plain_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    # Vaulted strings (2.16 to 2.18), dates from YAML.
    return "".join(str(value))


def plain_key(key):
    """A key of a JSON object: YAML also reads numbers and booleans as keys."""
    return "".join(str(key)) if not isinstance(key, bool) else str(key).lower()


def template_one(templar, raw):
    """`raw` templated, as plain types. ValueError with Ansible's own words when that fails."""
    try:
        return plain(templar.template(raw))
    except (AnsibleError, TypeError, ValueError, KeyError, RecursionError) as error:
        raise ValueError(words(error)) from error


def template_each(templar, task_vars, names):
    """Each of these variables by itself, so that one which doesn't template spoils no other.

    Returns ({name: value}, {name: message}); a variable that isn't defined is in neither.
    """
    values, problems = {}, {}
    for name in names:
        if name not in task_vars:
            continue
        try:
            values[name] = template_one(templar, task_vars[name])
        except ValueError as error:
            problems[name] = str(error)
    return values, problems


def words(error):
    """An error in one line, without Ansible's pointer into the source."""
    text = getattr(error, "message", None) or str(error)
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    kept = []
    for line in lines:
        if line.startswith(("The error appears to be in", "Origin:")):
            break
        kept.append(line)
    # Older versions say the same once for each template that it went through, and the words of the error behind it again.
    sentences = dict.fromkeys(own_words(" ".join(kept or lines)).split(". "))
    return own_words(". ".join(sentences))[:1000] or error.__class__.__name__


def warn(display, text):
    """A warning whose words may be a host's or a file's: Ansible prints warnings as they are, escapes included."""
    display.warning(said(text, "en", 1000))


def said(problem, language, limit):
    """A sentence of ours or a host's as one line for a terminal, in this language. Imports only here: most hosts have nothing to say."""
    from .complaints import say
    from .verdict_table import clean

    return clean(say(problem, language), limit)


def own_role(task):
    """The name of the role of this collection that a task belongs to, such as "measure_network"; None for any other task."""
    role = getattr(task, "_role", None)
    collection, _dot, name = role.get_name().rpartition(".") if role else ("", "", "")
    return name if collection == "trainops.gpu_audit" else None


def extra_vars(loader):
    """The variables given with -e: the ones that hold for every host and that no host can override."""
    return load_extra_vars(loader)


def collects_only():
    """Whether this ansible-playbook was told by tags to leave the judging out."""
    wanted, skipped = set(context.CLIARGS.get("tags") or ("all",)), set(context.CLIARGS.get("skip_tags") or ())
    return "judge" in skipped or not wanted & {"all", "judge", "tagged"}


def threshold_variables(task_vars):
    """The variables whose thresholds are merged, in that order."""
    return sorted(name for name in task_vars if isinstance(name, str) and name.startswith("gpu_audit_thresholds"))


def collection_version():
    """The version in MANIFEST.json (installed) or galaxy.yml (a checkout); None where neither is there."""
    try:
        with open(os.path.join(_COLLECTION_ROOT, "MANIFEST.json"), encoding="utf-8") as stream:
            return json.load(stream)["collection_info"]["version"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        with open(os.path.join(_COLLECTION_ROOT, "galaxy.yml"), encoding="utf-8") as stream:
            found = re.search(r"^version:\s*(\S+)", stream.read(), re.MULTILINE)
    except OSError:
        return None
    return found.group(1) if found else None


def versions():
    """The two versions that run.json records."""
    return {"collection_version": collection_version(), "ansible_version": ansible_version}


def play_hosts(task_vars):
    """Every host that the play was asked for, the lost ones included."""
    return plain(list(task_vars.get("ansible_play_hosts_all") or []))


def registered(task_vars, names, variable):
    """{name: result} of a registered variable, read raw: nothing of those hosts is templated."""
    hostvars = task_vars.get("hostvars")
    found = {}
    for name in names:
        own = hostvars.raw_get(name) if hostvars is not None else {}
        result = own.get(variable) if isinstance(own, dict) else None
        if isinstance(result, dict):
            found[name] = plain(result)
    return found


def registered_groups(task_vars, name):
    """The inventory groups of another host than the task's own."""
    return plain(list(task_vars["hostvars"].raw_get(name).get("group_names") or []))


def run_settings(templar, loader, task_vars, defaults, begun):
    """The switches that hold for a whole run.

    What -e says goes first, then what the first host of the run was given (`begun`), so that no host overrides them. Of a stored run there
    is no such host: then the variables of the host at hand, where they template, and the defaults. ValueError names a wrong one.
    """
    given, problems = template_each(templar, extra_vars(loader), defaults)
    if problems:
        raise ValueError("; ".join("%s: %s" % item for item in sorted(problems.items())))
    own = begun["settings"] if begun else template_each(templar, task_vars, defaults)[0]
    stated = {name: value for values in (own, given) for name, value in values.items() if value not in (None, "")}
    return checked_settings({**defaults, **stated})


def run_language(loader, begun):
    """The language to complain in before the settings of a run are known to be right: what -e says, the begun run's, English."""
    return extra_vars(loader).get("gpu_audit_language") or (begun or {}).get("settings", {}).get("gpu_audit_language") or "en"


def output_dir(templar, loader, task_vars, given=None):
    """Where runs are kept: what the task says, -e gpu_audit_output_dir, the variable of the host at hand if it templates, the default."""
    extra = extra_vars(loader).get("gpu_audit_output_dir")
    if not given and extra:
        given = template_one(templar, extra)
    if not given:
        given = template_each(templar, task_vars, ["gpu_audit_output_dir"])[0].get("gpu_audit_output_dir")
    return os.path.abspath(os.path.expanduser(given or run_directory.DEFAULT_OUTPUT_DIR))


def stored_run(templar, loader, task_vars, args):
    """The folder of the stored run that is meant: the argument `run`, -e gpu_audit_run, the variable of the host at hand, the latest."""
    wanted = args.get("run") or extra_vars(loader).get("gpu_audit_run")
    wanted = template_one(templar, wanted) if wanted else template_each(templar, task_vars, ["gpu_audit_run"])[0].get("gpu_audit_run")
    from .run_reader import find_run

    return find_run(output_dir(templar, loader, task_vars, args.get("output_dir")), wanted or "latest")


def search_folders(loader, task_vars):
    """Where a user's relative path is looked for: the working directory, beside the inventory, beside the playbook."""
    folders = [os.getcwd()]
    for key in ("inventory_dir", "playbook_dir"):
        folder = task_vars.get(key)
        if isinstance(folder, str) and folder and folder not in folders:
            folders.append("".join(folder))
    base = loader.get_basedir()
    if base and os.path.abspath(base) not in folders:
        folders.append(os.path.abspath(base))
    return folders
