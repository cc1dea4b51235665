# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renders one judged run (`report.json`) as HTML, CSV, Markdown, JUnit XML and Prometheus text."""

from __future__ import annotations

import pathlib

FILES = {"html": "report.html", "csv": "report.csv", "markdown": "report.md", "junit": "junit.xml", "prometheus": "gpu_audit.prom"}
ALL = tuple(FILES)


def render(report, run_directory, language, formats=ALL, documents=None, hide_serials=False, inputs=None):
    """Write the formats asked for into the run directory; gives `{format: path}`.

    `report` is the dictionary of report.json, `documents` and `inputs` are functions: host name -> host document / inputs document
    (or None where there is none). With `hide_serials` no format holds a serial number, UUID or MAC address, and report.json
    is written again without them. Raises ValueError for a format that doesn't exist and OSError where a file can't be written.
    """
    unknown = [name for name in formats if name not in FILES]
    if unknown:
        raise ValueError(f"no report format {', '.join(map(repr, unknown))}; there are: {', '.join(ALL)}")
    # Rendering happens once a run; every process of an audit imports this package for the names of the formats.
    from . import csv_report, html, json_report, junit, markdown, prometheus
    from .files import write_text
    from .view import View, report_without_serials

    folder = pathlib.Path(run_directory)
    if hide_serials:
        report = report_without_serials(report)
        json_report.write_all(folder / "report.json", report)
    view = View(report, language)
    writers = {
        "html": lambda: html.pieces(view, documents, inputs, hide_serials),
        "csv": lambda: csv_report.pieces(view, documents, inputs),
        "markdown": lambda: markdown.pieces(view, documents, inputs),
        "junit": lambda: junit.pieces(view),
        "prometheus": lambda: prometheus.pieces(view),
    }
    written = {}
    for name in formats:
        path = folder / FILES[name]
        write_text(path, writers[name]())
        written[name] = str(path)
    return written
