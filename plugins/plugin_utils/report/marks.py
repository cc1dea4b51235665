# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The marks of the page: a shape for each status and verdict, so that nothing is told by colour alone.

On a screen a shape is a mask over the colour of the theme; on paper it is a picture in its own colour (printers leave
backgrounds out and masks come out ragged).
"""

from __future__ import annotations

_LINE = "fill='none' stroke='{c}' stroke-linecap='round' stroke-linejoin='round' stroke-width="

# classes: (colour variable, colour on paper, path)
_SHAPES = {
    ("pass", "ready"): ("pass", "#2c7a51", "<path " + _LINE + "'2.2' d='M2.5 8.5l3.7 3.7 7.3-8.2'/>"),
    ("warn", "ready_with_warnings"): (
        "warn",
        "#8a5a00",
        "<path fill='{c}' fill-rule='evenodd' d='M8 1.2L15.4 14.4H.6zM7.1 6v4h1.8V6zm0 5.2v1.7h1.8v-1.7z'/>",
    ),
    ("fail", "not_ready"): (
        "fail",
        "#b03a2e",
        "<path fill='{c}' fill-rule='evenodd' d='M5 1h6l4 4v6l-4 4H5l-4-4V5zm-.3 4.9L6.8 8l-2.1 2.1 1.2 1.2L8 9.2l2.1 2.1 "
        "1.2-1.2L9.2 8l2.1-2.1-1.2-1.2L8 6.8 5.9 4.7z'/>",
    ),
    ("unknown", "unproven"): (
        "unknown",
        "#5a5f96",
        "<path " + _LINE + "'2.1' d='M5 5.6A3 3 0 1 1 9.4 8.2C8.5 8.8 8 9.3 8 10.5M8 13.2v.3'/>",
    ),
    ("waived",): ("waived", "#2a7580", "<path " + _LINE + "'1.9' d='M8 2.2L13.8 8 8 13.8 2.2 8z'/>"),
    ("not_applicable",): ("none", "#6b7278", "<path " + _LINE + "'1.6' d='M4.5 8h7'/>"),
    ("unreachable",): ("none", "#6b7278", "<path " + _LINE + "'2' d='M1.5 8h4M10.5 8h4M6 4.5v7M10 4.5v7'/>"),
    ("error",): ("ink", "#23282d", "<path " + _LINE + "'2.6' d='M8 2v7M8 13v.4'/>"),
    ("not_tried",): ("none", "#6b7278", "<circle cx='8' cy='8' r='5.6' " + _LINE + "'1.9' stroke-dasharray='3 2.4'/>"),
}


def style():
    """The rules that give every status and verdict its shape and colour."""
    rules, paper = [], []
    for names, (colour, ink, path) in _SHAPES.items():
        selector = ", ".join("." + name for name in names)
        rules.append(f"{selector} {{ --mark: var(--{colour}); --shape: {_picture(path, '#000')}; }}")
        paper.append(f"  {selector} {{ --picture: {_picture(path, ink)}; }}")
    return "\n".join(rules) + "\n@media print {\n" + "\n".join(paper) + "\n}\n"


def _picture(path, colour):
    svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>" + path.replace("{c}", colour) + "</svg>"
    return 'url("data:image/svg+xml,' + svg.replace("#", "%23").replace("<", "%3C").replace(">", "%3E") + '")'
