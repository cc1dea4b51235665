# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a measuring module refuses is said of the variable that the user of its role has set."""

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, option_names

TASKS = pathlib.Path(__file__).resolve().parents[2] / "roles"
# An option whose task names other variables too, in the order in which they are tried: the first is meant.
ROLES = [
    ("measure_network", "transfers", "transfer_benchmark", "upload"), ("measure_network", "transfers", "transfer_benchmark", "download"),
    ("measure_network", "requests", "request_benchmark", None), ("measure_network", "fabric", "fabric_benchmark", None),
    ("measure_storage", "main", "storage_benchmark", None), ("probe_workload", "main", "workload_probe", None),
]
# What the role decides itself.
OWN = {"direction", "token", "hosts_at_once", "start_at", "alone_bytes_per_second", "stand_in"}


def handed_on(role, page, module, direction):
    """{option: the names of variables in what its task gives it}, anchors followed."""
    text = (TASKS / role / "tasks" / (page + ".yml")).read_text(encoding="utf-8")
    anchors = dict(re.findall(r": &(\w+) (.+)", text))
    parts = re.split(r"trainops\.gpu_audit\.%s:" % module, text)[1:]
    part = next(part for part in parts if not direction or "direction: " + direction in part)
    lines = re.split(r"\n  \w", part)[0]
    found = {}
    for option, value in re.findall(r"\n    (\w+): ((?:.|\n      )+)", lines):
        value = anchors.get(value.strip()[1:], value) if value.startswith("*") else value
        found[option] = re.findall(r"%s_\w+" % role, value)
    return found


@pytest.mark.parametrize("role, page, module, direction", ROLES)
def test_the_names_are_those_that_the_role_hands_on(role, page, module, direction):
    names = option_names.variables(role, module, direction)
    given = handed_on(role, page, module, direction)
    assert len(given) > 5
    for option, variables in given.items():
        if option not in OWN:
            assert names[option] in variables, option


@pytest.mark.parametrize("role", [None, "audit", "somebody_elses"])
def test_outside_of_the_roles_an_option_keeps_its_name(role):
    names = option_names.variables(role, "transfer_benchmark", "upload")
    assert not names and option_names.said("bytes: '10Mbit' is no size", names) == "bytes: '10Mbit' is no size"


@pytest.mark.parametrize("module, direction, sentence, english, chinese", [
    ("transfer_benchmark", "upload", "bytes: '10Mbit' is no size; give bytes, or text such as \"1.5 GiB\"", "measure_network_upload_bytes: ",
     "measure_network_upload_bytes："),
    ("transfer_benchmark", "download", "access_key and secret_key belong together: one of them is missing",
     "measure_network_access_key and measure_network_secret_key belong", "measure_network_access_key 与 measure_network_secret_key 必须"),
    ("transfer_benchmark", "download", "s3_endpoint is no http or https URL", "measure_network_s3_endpoint is no", "measure_network_s3_endpoint 不是"),
    ("transfer_benchmark", "upload", "the server doesn't say whether something lies at http://h/x (HTTP 403). Give a URL that ends in / (the test's own "
     "name is added), or overwrite=true where nothing that is needed lies there", "or measure_network_upload_overwrite=true where",
     "也可设置 measure_network_upload_overwrite=true"),
    ("transfer_benchmark", "download", "url: nas/x is no http or https URL", "measure_network_download_url: nas/x is no http",
     "measure_network_download_url：nas/x 不是 http"),
    ("request_benchmark", None, "url: http://x: letters outside ASCII and spaces must be percent-encoded",
     "measure_network_request_url: http://x: letters", "measure_network_request_url：http://x：非 ASCII"),
    ("request_benchmark", None, "concurrency: each of them must be from 1 to 1000, not 5000", "measure_network_request_concurrency: each",
     "measure_network_request_concurrency：每个"),
    ("request_benchmark", None, "give payload or payload_bytes, not both",
     "give measure_network_request_payload or measure_network_request_payload_bytes, not", "measure_network_request_payload_bytes"),
    ("link_benchmark", None, "port range: '80-70' is no range of ports; give two from 1024 to 65535, such as 5201-5300",
     "measure_network_link_ports: '80-70' is no range of ports", "measure_network_link_ports：'80-70' 不是"),
    ("fabric_benchmark", None, "timeout_seconds must be between 1 and 86400, not 0", "measure_network_fabric_timeout_seconds must",
     "measure_network_fabric_timeout_seconds 必须"),
])
def test_an_option_of_a_network_test_is_named_as_its_variable(module, direction, sentence, english, chinese):
    names = option_names.variables("measure_network", module, direction)
    assert english in option_names.said(sentence, names)
    in_chinese = complaints.say(sentence, "zh")
    assert in_chinese != sentence and chinese in option_names.said(in_chinese, names)


@pytest.mark.parametrize("sentence, said", [
    ("/srv/path (/): 1 GiB are free; Lower size_bytes or numjobs, take quick, or make room",
     "/srv/path (/): 1 GiB are free; Lower measure_storage_size_bytes or measure_storage_numjobs, take measure_storage_quick, or make room"),
    ("path must be absolute, not data", "measure_storage_path must be absolute, not data"),
    ("value of jobs must be one of: a, got: b", "value of measure_storage_jobs must be one of: a, got: b"),
    # Words, names of the host, and what is a variable already.
    ("the path /data/size_bytes/quick holds no jobs", "the path /data/size_bytes/quick holds no jobs"),
    ("measure_storage_size_bytes: -e ends a value", "measure_storage_size_bytes: -e ends a value"),
])
def test_words_and_paths_stay(sentence, said):
    assert option_names.said(sentence, option_names.variables("measure_storage", "storage_benchmark")) == said
