"""Configuration of the documentation site. `cargo xtask docs` writes the sources and runs Sphinx."""

import json
import re
import tomllib

from sphinx.util import logging

LOGGER = logging.getLogger(__name__)

project = "toolwire"
html_title = "toolwire"
html_theme = "furo"
extensions = ["myst_parser"]
# Links use the anchors of code hosts.
myst_heading_anchors = 6
# A page on the site has no copy of its source.
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_static_path = []
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-dark"
# Highlighting is for readers; the tests check the code.
suppress_warnings = ["misc.highlighting_failure"]

BLOCK = re.compile(r"^```(json|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def parse_json(text):
    """Parses one value, or one value per line."""
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


PARSERS = {"json": parse_json, "toml": tomllib.loads}


def parse_blocks(_app, page, source):
    """Warns of blocks that are not valid JSON or TOML. A warning fails the build."""
    for language, text in BLOCK.findall(source[0]):
        try:
            PARSERS[language](text)
        except ValueError as error:
            LOGGER.warning("%s: a block is not valid %s: %s", page, language, error)


def setup(app):
    app.connect("source-read", parse_blocks)
