# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What comes out of Ansible is plain, and one variable that doesn't template spoils no other."""

from __future__ import annotations

import datetime
import importlib
import types

import pytest

pytest.importorskip("ansible")
from ansible.errors import AnsibleConnectionFailure, AnsibleError  # noqa: E402
from ansible.parsing.dataloader import DataLoader  # noqa: E402
from ansible.plugins.action import ActionBase  # noqa: E402
from ansible.template import Templar  # noqa: E402
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (  # noqa: E402
    ansible_edge,
    collecting,
    edge_action,
    run_directory,
    run_pointer,
)


class Text(str):
    """A subclass as Ansible's own tagged strings are."""

    def __str__(self):
        return self


class HostVars:
    """Raw variables of other hosts; templating them would be an error."""

    def __init__(self, variables):
        self.variables = variables

    def raw_get(self, name):
        return self.variables[name]


def trusted(text):
    """A string that came from an inventory or a playbook: 2.19 and later template no other."""
    try:
        from ansible.template import trust_as_template
    except ImportError:
        return text
    return trust_as_template(text)


def test_values_become_plain():
    found = ansible_edge.plain({Text("a"): (Text("b"), 1, 1.5, True, None), 8: datetime.date(2026, 1, 2), True: []})
    assert found == {"a": ["b", 1, 1.5, True, None], "8": "2026-01-02", "true": []}
    assert found["a"][0].__class__ is str and all(key.__class__ is str for key in found)


def test_one_variable_that_does_not_template_spoils_no_other():
    variables = {"good": trusted("a {{ 40 + 2 }}"), "bad": trusted("{{ nowhere }}"), "deep": {"a": [trusted("{{ nowhere }}")]},
                 "broken": trusted("{{ 1 +"), "plain": 7}
    values, problems = ansible_edge.template_each(Templar(DataLoader(), variables=variables), variables, [*variables, "not there"])
    assert values == {"good": "a 42", "plain": 7} and sorted(problems) == ["bad", "broken", "deep"]
    assert "nowhere" in problems["bad"] and "nowhere" in problems["deep"] and "\n" not in problems["broken"]


def test_words_of_an_error_are_one_line_said_once():
    error = AnsibleError("it broke. it broke. why\n\nThe error appears to be in '/etc/x': line 1")
    assert ansible_edge.words(error) == "it broke. why"
    assert ansible_edge.words(ValueError("")) == "ValueError"


@pytest.mark.parametrize("said, kept", [
    ('Data could not be sent to remote host "gpu.01". Make sure this host can be reached over ssh: ssh: connect to host gpu.01 port 22: No route to host',
     "ssh: connect to host gpu.01 port 22: No route to host"),
    ('Task failed: Data could not be sent to remote host "x". Make sure this host can be reached over ssh:\r\nBanner. Banner. Closed',
     "Banner. Closed"),
    ('Data could not be sent to remote host "x". Make sure this host can be reached over ssh: ',
     'Data could not be sent to remote host "x". Make sure this host can be reached over ssh:'),
])
def test_of_a_lost_connection_sshs_own_words_are_kept(said, kept):
    assert ansible_edge.words(AnsibleError(said)) == kept


@pytest.mark.parametrize("tags, skipped, only", [
    (("all",), (), False), ((), (), False), (("collect",), (), True), (("collect", "judge"), (), False), (("all",), ("judge",), True), (("tagged",), (), False),
])
def test_whether_tags_leave_the_judging_out(monkeypatch, tags, skipped, only):
    monkeypatch.setattr(ansible_edge.context, "CLIARGS", {"tags": tags, "skip_tags": skipped})
    assert ansible_edge.collects_only() is only


def test_threshold_variables_in_name_order():
    variables = {"gpu_audit_thresholds_b": {}, "gpu_audit_thresholds": {}, "gpu_audit_thresholds_a": {}, "other": {}, 3: 4}
    assert ansible_edge.threshold_variables(variables) == ["gpu_audit_thresholds", "gpu_audit_thresholds_a", "gpu_audit_thresholds_b"]


def test_results_of_other_hosts_are_read_raw():
    hosts = HostVars({"a": {"r": {"failed": True, "msg": Text("{{ nowhere }}")}, "group_names": ["g"]}, "b": {}})
    assert ansible_edge.registered({"hostvars": hosts}, ["a", "b"], "r") == {"a": {"failed": True, "msg": "{{ nowhere }}"}}
    assert ansible_edge.registered_groups({"hostvars": hosts}, "a") == ["g"]


def test_the_collection_knows_its_version():
    assert ansible_edge.collection_version().count(".") == 2


def test_a_warning_can_not_give_the_terminal_orders():
    said = []
    ansible_edge.warn(types.SimpleNamespace(warning=said.append), "of \x1b[31m\x1b]0;title\x07 a\u202e host\nand more " + "x" * 5000)
    assert "\x1b" not in said[0] and "\u202e" not in said[0] and "\n" not in said[0] and len(said[0]) <= 1000


class Said(edge_action.EdgeAction):
    """An action whose answer is handed in: a dictionary, or an error to raise."""

    def __init__(self, outcome, display):
        self.outcome, self._display, self._loader = outcome, display, DataLoader()
        self._templar = Templar(self._loader, variables={})

    def answer(self, task_vars):
        """What was handed in."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.fixture
def process(tmp_path, monkeypatch):
    """An Ansible process of its own, with -e as the test says."""
    extra = {}
    monkeypatch.setattr(edge_action.ansible_edge, "process_tmp", lambda: str(tmp_path))
    monkeypatch.setattr(edge_action.ansible_edge, "extra_vars", lambda loader: extra)
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {"invocation": {"x": 1}})
    return types.SimpleNamespace(tmp=str(tmp_path), extra=extra)


def test_an_action_changes_nothing_and_ends_with_one_line(process):
    assert Said({"msg": "done"}, None).run() == {"changed": False, "msg": "done"}
    for error in (ValueError("gpu_audit_gate: 'x' is no gate;\nuse one of fail"), run_directory.RunDirectoryError("x\ny")):
        result = Said(error, None).run()
        assert result["failed"] and result["changed"] is False and "\n" not in result["msg"]
    with pytest.raises(KeyError):
        Said(KeyError("a mistake in the code is no sentence"), None).run()


def test_the_language_is_what_e_says_then_the_runs_then_the_hosts(process):
    action = Said(ValueError("gpu_audit_gate: 'x' is no gate; use one of fail"), None)
    assert action.language({}) == "en" and action.language({"gpu_audit_language": "zh"}) == "zh"
    run_pointer.keep_judged(process.tmp, {"language": "zh"}, {})
    assert action.language({"gpu_audit_language": "en"}) == "zh" and "不是准入级别" in action.run(None, {})["msg"]
    process.extra["gpu_audit_language"] = "en"
    assert action.language({}) == "en"
    process.extra["gpu_audit_language"] = "de"
    assert action.language({}) == "en"


def test_a_warning_is_said_in_the_runs_language(process):
    said = []
    process.extra["gpu_audit_language"] = "zh"
    Said({}, types.SimpleNamespace(warning=said.append)).warn("/x/latest is not a symbolic link, so it was left alone", {})
    assert said == ["/x/latest 不是符号链接，未作改动"]


@pytest.mark.parametrize("name", ["gate", "judge", "plan", "render", "storage_benchmark", "workload_probe"])
def test_every_action_but_collect_is_one(name):
    module = importlib.import_module("ansible_collections.trainops.gpu_audit.plugins.action." + name)
    assert issubclass(module.ActionModule, edge_action.EdgeAction) and "run" not in vars(module.ActionModule)


def test_a_broken_pipe_is_explained_also_where_it_is_said_twice():
    error = AnsibleError('Data could not be sent to remote host "192.0.2.1". Make sure this host can be reached over ssh: [Errno 32] Broken pipe. '
                         "[Errno 32] Broken pipe")
    assert collecting.is_cut(ansible_edge.words(error))


@pytest.mark.parametrize("cuts, other, sent", [(0, None, 1), (1, None, 2), (2, None, 3), (3, "cut", 3), (0, "Permission denied (publickey)", 1),
                                               (1, "Permission denied (publickey)", 2)])
def test_the_module_is_sent_again_only_where_ssh_ended_meanwhile(monkeypatch, cuts, other, sent):
    collect = importlib.import_module("ansible_collections.trainops.gpu_audit.plugins.action.collect")
    cut, times = "Data could not be sent to remote host \"h\". Make sure this host can be reached over ssh: [Errno 32] Broken pipe", []

    def execute(self, **arguments):
        times.append(arguments["module_name"])
        if len(times) <= cuts or other:
            raise AnsibleConnectionFailure(cut if len(times) <= cuts else other)
        return {"packed_facts": "x"}

    monkeypatch.setattr(collect.ActionModule, "_execute_module", execute)
    monkeypatch.setattr(collect.ActionModule, "_module_args", lambda self, values: {})
    action = object.__new__(collect.ActionModule)
    if other:
        with pytest.raises(AnsibleConnectionFailure):
            action._sent({}, {})
    else:
        assert action._sent({}, {}) == {"packed_facts": "x"}
    assert times == [collect.MODULE] * sent
