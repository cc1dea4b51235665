# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ends a peer server that runs on another host, by a request as its clients send them: whoever has its token may."""

from __future__ import annotations

import http.client

from .http_connection import connect
from .http_errors import Failure, as_failure

SECONDS = 5


def end(url, token):
    """Ends the peer at `url`. -> whether one listened there; Failure where it can't be reached or answers something else."""
    try:
        opened = connect(url.rstrip("/") + "/end", SECONDS, proxy="none")
    except Failure as failure:
        if failure.kind == "refused":
            return False
        raise
    try:
        opened.connection.request("POST", opened.path, headers={"X-Peer-Token": token, "Connection": "close"})
        status = opened.connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise as_failure(error)
    finally:
        opened.socket.abort()
        opened.connection.close()
    if status != 200:
        raise Failure("protocol", "HTTP %d is no answer to a POST" % status, status)
    return True
