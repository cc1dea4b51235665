# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Measures how fast data moves to or from a server; the work is done in module_utils/measure/transfer.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: transfer_benchmark
short_description: Measure how fast data moves to or from an HTTP server
version_added: 0.2.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - Uploads or downloads over HTTP or HTTPS against the server that O(url) names, several times one after another, and returns a
    measurement that audits judge. Data comes from memory and goes nowhere, so that no disk takes part.
  - As a task it is announced (bytes and seconds) before it begins, runs as a job on the host that outlives a lost connection, and its
    measurement is kept on the controller. With C(--check) it is only announced and no server is asked anything.
  - Secrets (userinfo and query of a URL, O(headers), O(token), keys) are never in the measurement, a message, a log or a process list.
options:
  url:
    description:
      - Where to upload to, or what to download. There is no default.
      - A path that ends in C(/) gets a name of the test's own for an upload, which is deleted afterwards. At any other URL nothing is
        replaced - the server is asked first whether something is there, and anything but C(404) or C(410) refuses the test; see
        O(overwrite).
      - A C(/), C(?) or C(#) of a name or password has to be percent-encoded, an C(@) of the path or the query too; one of a password may
        stand as it is.
      - With keys (O(access_key)) also C(s3://bucket/key), the key as it is (not percent-encoded), and for an upload C(s3://bucket/prefix/).
      - With O(storage=peer) the address of the collection's own peer server, such as C(http://10.0.0.5:8800).
    type: str
    required: true
  direction:
    description: Which way data moves, seen from the host.
    type: str
    required: true
    choices: [upload, download]
  attempts:
    description: How many times, one after another.
    type: int
    default: 3
  bytes:
    description:
      - Bytes of one attempt. An upload sends exactly so many (1 GiB when not given), a download stops there at the latest (4 GiB when
        not given; the peer is asked for 1 GiB).
      - A task may give text such as C(1 GiB), and no less than 64 KiB.
    type: int
  timeout_seconds:
    description:
      - Seconds of one attempt with all its retries. A transfer that moves data when they are over counts as it is, its pauses included
        (RV(measurement.limited_by) is then C(seconds)); one that moved none, or stood still at its end, failed.
    type: int
    default: 300
  stall_seconds:
    description: Seconds without a byte after which a transfer counts as stalled. At most half of O(timeout_seconds) holds.
    type: int
    default: 30
  retries:
    description:
      - How often an attempt is begun again after a failure that may go away by itself (refused, reset, stalled, a body cut short,
        server errors; not wrong certificates, wrong checksums or refusals).
      - C(Retry-After) is honoured up to 60 s; other pauses are 0.5 s, doubled each time.
    type: int
    default: 2
  headers:
    description:
      - Headers of every request, such as C(Authorization). They are not sent to another host that a redirect names.
    type: dict
  token:
    description: The token of the peer server.
    type: str
  checksum:
    description:
      - What a download must be, for example C(sha256:) and 64 hex digits. When not given, what the server states in its headers
        (C(Repr-Digest), C(Digest), C(Content-MD5), C(x-amz-checksum-sha256), C(X-Checksum-Sha256), C(X-Linked-ETag), with O(storage=s3)
        an C(ETag) that is an MD5).
      - One that was given and can't be compared is a failed attempt of kind C(checksum) - as where O(bytes) or O(timeout_seconds) end the
        download before all has come. Not with several O(streams).
      - An upload's is compared with what the server answers, or by reading it back where it is at most 64 MiB.
    type: str
  storage:
    description: What kind of server it is. Not given, V(s3) with keys, else V(http).
    type: str
    choices: [http, s3, peer]
  streams:
    description:
      - Connections at once, their bytes summed. A download is cut into ranges where the server gives them; an upload goes under several
        names where the test chooses them, and else uses one connection.
    type: int
    default: 1
  access_key:
    description:
      - Access key of an S3-compatible storage. URLs are presigned with it on the controller, for as long as the test may take;
        O(secret_key) never reaches the host (a presigned URL names the access key).
    type: str
  secret_key:
    description: Secret key that belongs to O(access_key).
    type: str
  session_token:
    description: Session token of temporary keys. It is part of presigned URLs.
    type: str
  region:
    description: Region of the storage, for the signature.
    type: str
    default: us-east-1
  s3_endpoint:
    description: The S3-compatible server of a C(s3://) URL, for example C(https://s3.example.com). Not given, that of Amazon in O(region).
    type: str
  s3_addressing:
    description:
      - Whether the bucket of a C(s3://) URL goes into the path or the host's name. Not given, V(path) with O(s3_endpoint), else V(virtual).
    type: str
    choices: [path, virtual]
  overwrite:
    description:
      - Whether an upload may go where the server doesn't say that nothing lies. What lies there is then replaced by the test's bytes, and
        they stay there unless O(delete_urls) are given.
      - It holds for the object that was given, not for another one that the server redirects an upload to.
      - A presigned O(url) can be asked nothing. With O(read_url) of the same object that is asked instead. Without it, or where it isn't
        answered with C(404), this has to be true, unless the object's name is of the form C(gpu-audit-transfer-) with 12 hex digits and
        C(.bin).
    type: bool
    default: false
  read_url:
    description: A URL presigned for reading what O(url) uploads, to see that nothing lies there, and to compare it afterwards.
    type: str
  delete_urls:
    description: URLs presigned for deleting what was uploaded.
    type: list
    elements: str
  upload_urls:
    description: URLs presigned for uploading to, one for each of the O(streams), instead of O(url).
    type: list
    elements: str
  ca_path:
    description: A file or folder of CA certificates (on the host) that are trusted instead of the system's.
    type: path
  validate_certs:
    description: Whether the server's certificate has to be valid.
    type: bool
    default: true
  proxy:
    description:
      - V(environment) takes what C(http_proxy), C(https_proxy), C(all_proxy) and C(no_proxy) of the host say, V(none) no proxy, anything
        else is a proxy's C(http://) URL.
    type: str
    default: environment
  start_at:
    description:
      - The moment (seconds since 1970) at which the first attempt begins, for several hosts at one source. At most an hour ahead.
    type: float
  hosts_at_once:
    description: How many hosts use this server at the same time, for the record.
    type: int
    default: 1
  alone_bytes_per_second:
    description: What this host reached alone, for the record.
    type: float
extends_documentation_fragment:
  - trainops.gpu_audit.measuring
attributes:
  check_mode:
    details: Asks no server anything and returns RV(plan).
notes:
  - An upload's bytes don't compress and are counted when the other side's kernel has confirmed them.
  - Redirects are followed, at most five, never from https to http; an upload follows C(307) and C(308) only.
  - A redirect leads an upload to the test's own name, or to where nothing lies; else it is refused. Of a redirect's URL only scheme, host
    and port are told.
"""

EXAMPLES = r"""
- name: Upload a gigabyte to the team's WebDAV server, three times
  trainops.gpu_audit.transfer_benchmark:
    url: https://data.example.com/uploads/
    direction: upload
    headers:
      Authorization: "Bearer {{ data_token }}"

- name: Download model weights, at most 10 GiB of them
  trainops.gpu_audit.transfer_benchmark:
    url: https://models.example.com/llm/model-00001.safetensors
    direction: download
    bytes: 10 GiB
    checksum: sha256:3b1f7c1e1a1c3a2dd1a0a7b3f4f1c0d9f6b2e6ab2b3a5a0f0f1d2c3b4a596877

- name: Upload to object storage with keys that stay on the controller
  trainops.gpu_audit.transfer_benchmark:
    url: s3://training-data/incoming/
    direction: upload
    s3_endpoint: https://s3.example.com
    access_key: "{{ s3_access_key }}"
    secret_key: "{{ s3_secret_key }}"
"""

RETURN = r"""
plan:
  description: What the test does at most.
  returned: in check mode
  type: dict
  contains:
    seconds: {description: "Time of all attempts, should every one of them reach its limit.", type: int, returned: always, sample: 1050}
    bytes_written: {description: "Always 0, no disk is written to.", type: int, returned: always, sample: 0}
    bytes_read: {description: "Always 0, no disk is read from.", type: int, returned: always, sample: 0}
    bytes_sent: {description: Bytes sent by all attempts and retries., type: int, returned: always, sample: 9663676416}
    bytes_received: {description: Bytes received by all attempts and retries., type: int, returned: always, sample: 0}
    notes: {description: What else should be known beforehand., type: list, elements: str, returned: always, sample: []}
measurement:
  description: The figures. What wasn't measured is null. Bytes are bytes, rates are per second.
  returned: success, not in check mode
  type: dict
  contains:
    direction: {description: O(direction)., type: str, returned: always, sample: upload}
    scheme: {description: C(http) or C(https)., type: str, returned: always, sample: https}
    endpoint:
      description: O(url) without userinfo, query and fragment.
      type: str
      returned: always
      sample: https://data.example.com/uploads/
    storage: {description: "C(http), C(s3) or C(peer).", type: str, returned: always, sample: http}
    bytes_per_second:
      description: Bytes by seconds of all attempts that got through. Connecting and TLS are not in the time, waiting for the answer is.
      type: float
      returned: always
      sample: 98765432.1
    peak_bytes_per_second:
      description: The best whole second of all attempts. Null where none lasted a second.
      type: float
      returned: always
      sample: 110000000
    time_to_first_byte_seconds:
      description:
        - The median attempt's, a round trip and what the server takes. Of a download from its request to the first byte of the body, of an
          upload from the moment at which its last byte left this host's kernel (seen to about 1 ms) to the first byte of the answer; null
          where the kernel doesn't tell that moment.
      type: float
      returned: always
      sample: 0.021
    attempts:
      description:
        - For each attempt C(bytes), C(seconds), C(bytes_per_second), C(peak_bytes_per_second), C(time_to_first_byte_seconds),
          C(connect_seconds) (name, connection and a proxy's tunnel), C(tls_seconds), C(status) (HTTP's), C(retries) (each with C(kind) and
          C(message)), C(error) (null or the same), C(limited_by), C(series) (bytes in each whole second).
        - C(kind) is one of C(refused), C(timeout), C(reset), C(dns), C(tls), C(unreachable), C(http_4xx), C(http_5xx), C(short_body),
          C(checksum), C(protocol), C(proxy), C(stalled), C(local).
      type: list
      elements: dict
      returned: always
    attempts_asked: {description: O(attempts)., type: int, returned: always, sample: 3}
    attempts_failed: {description: Attempts that didn't get through for all their retries., type: int, returned: always, sample: 0}
    retries_count: {description: Retries of all attempts., type: int, returned: always, sample: 0}
    bytes: {description: Bytes of all attempts that got through., type: int, returned: always, sample: 3221225472}
    checksum:
      description: >-
        C(algorithm), C(verified) (true, false, or null where there was nothing to compare), C(how): what it was compared with, or why not.
      type: dict
      returned: always
      sample: {"algorithm": "sha256", "verified": true, "how": "reading it back"}
    proxy:
      description: Null or C(endpoint), C(source) (C(environment) or C(option)), C(tunnel).
      type: dict
      returned: always
    tls:
      description: Null or C(version), C(cipher), C(issuer), C(not_after), C(verified); issuer and end are null where it wasn't verified.
      type: dict
      returned: always
    address: {description: Address and port connected to., type: str, returned: always, sample: "192.0.2.7:443"}
    own_address:
      description: Whether that is an address of this host itself, so that no network took part. Null behind a proxy.
      type: bool
      returned: always
      sample: false
    streams: {description: Connections at once., type: int, returned: always, sample: 1}
    hosts_at_once: {description: O(hosts_at_once)., type: int, returned: always, sample: 1}
    alone_bytes_per_second: {description: O(alone_bytes_per_second)., type: float, returned: always}
    local_time: {description: When it began in the host's own zone., type: str, returned: always, sample: "2026-11-30T09:15:02+08:00"}
    limited_by:
      description: C(seconds) or C(bytes) where a limit ended an attempt before all was moved.
      type: str
      returned: always
    notes: {description: What a reader should know., type: list, elements: str, returned: always, sample: []}
refused:
  description: That nothing was tested, such as where something lies already at the URL of an upload. No measurement is kept then.
  type: bool
  returned: when the test was refused
  sample: true
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids: {description: "Always empty, the test has nothing to do with GPUs.", type: list, elements: str, returned: always, sample: []}
started_at: {description: When it began (UTC)., type: str, returned: not in check mode, sample: "2026-11-30T12:00:00Z"}
finished_at: {description: When it ended (UTC)., type: str, returned: not in check mode, sample: "2026-11-30T12:01:00Z"}
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    # As a whole it would be logged; main() tells Ansible which parts of it are secret.
    "url": {"type": "str", "required": True, "no_log": True},
    "direction": {"type": "str", "required": True, "choices": ["upload", "download"]},
    "attempts": {"type": "int", "default": 3},
    "bytes": {"type": "int"},
    "timeout_seconds": {"type": "int", "default": 300},
    "stall_seconds": {"type": "int", "default": 30},
    "retries": {"type": "int", "default": 2},
    "headers": {"type": "dict", "no_log": True},
    "token": {"type": "str", "no_log": True},
    "checksum": {"type": "str"},
    "storage": {"type": "str", "choices": ["http", "s3", "peer"]},
    "streams": {"type": "int", "default": 1},
    "access_key": {"type": "str", "no_log": True},
    "secret_key": {"type": "str", "no_log": True},
    "session_token": {"type": "str", "no_log": True},
    "region": {"type": "str", "default": "us-east-1"},
    "s3_endpoint": {"type": "str"},
    "s3_addressing": {"type": "str", "choices": ["path", "virtual"]},
    "overwrite": {"type": "bool", "default": False},
    "read_url": {"type": "str", "no_log": True},
    "delete_urls": {"type": "list", "elements": "str", "no_log": True},
    "upload_urls": {"type": "list", "elements": "str", "no_log": True},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
    "proxy": {"type": "str", "default": "environment", "no_log": True},
    "start_at": {"type": "float"},
    "hosts_at_once": {"type": "int", "default": 1},
    "alone_bytes_per_second": {"type": "float"},
}


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import identity, transfer
    # Whole URLs count as secret no more: their endpoints are part of what is returned.
    module.no_log_values = set(transfer.secrets(module.params))
    known = {"machine_id": identity.identity(), "gpu_uuids": [], "invocation": {"module_args": {}}}
    try:
        planned = transfer.plan(module.params)
        if module.check_mode:
            module.exit_json(changed=False, plan=planned, **known)
        # Not "started": async_status takes a result with that key for one of a job that still runs.
        known["started_at"] = _now()
        measured = transfer.run(module.params)
    except (transfer.Refused, ValueError) as error:
        module.fail_json(msg=str(error), refused=True, **known)
    except transfer.Interrupted as error:
        module.fail_json(msg=str(error), finished_at=_now(), **known)
    module.exit_json(changed=False, measurement=measured, finished_at=_now(), **known)


if __name__ == "__main__":
    main()
