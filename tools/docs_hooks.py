"""Hook of MkDocs: pages that are generated while the site is built.

    index.md, contributing.md, ...  README.md, CONTRIBUTING.md, SECURITY.md and CHANGELOG.md
    api/NAMESPACE.md                the exports of a namespace, as the imported package has them
    source/MODULE.html              the sources that the API pages link to

Links to files of the repository become links to pages of the site, to the repository
(STILLFLOW_REPOSITORY) or, without one, plain text.
"""

from __future__ import annotations

import html
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).resolve().parent))

import api_pages

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
SOURCE_PAGE = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
pre {{ font: 13px/1.45 ui-monospace, monospace; tab-size: 4 }}
span {{ display: block }} span::before {{ content: attr(data-n); display: inline-block;
width: 3.2em; padding-right: 1em; text-align: right; color: #90a4ae }}
span:target {{ background: #ffe08266 }}
</style><pre>{lines}</pre>
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=in_site(text, source, config)))
    reference = api_pages.Reference()
    for space, page in reference.pages().items():
        inclusion = InclusionLevel.NOT_IN_NAV  # api.md lists them
        path = f"api/{space}.md"
        files.append(File.generated(config, path, content=page, inclusion=inclusion))
    config["extra"]["reference"] = reference
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Point links of a page of docs/ to the site, and list the namespaces on the API page."""
    if page.file.src_uri == "api.md":
        index = config["extra"]["reference"].index()
        return f"{in_site(markdown, 'docs/api.md', config)}\n{index}"
    if page.file.abs_src_path is not None:
        return in_site(markdown, f"docs/{page.file.src_uri}", config)
    return markdown


def in_site(text: str, source: str, config: Any) -> str:
    """Return a page's text with the links of a file of the repository turned into the site's."""

    def target(match: re.Match[str]) -> str:
        mark, label, link = match.groups()
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        path, hash_, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if path in PAGES:
            return f"{mark}[{label}]({PAGES[path]}{hash_}{anchor})"
        if path.startswith("docs/"):
            return f"{mark}[{label}]({path[5:]}{hash_}{anchor})"
        repository = config["repo_url"]
        if repository:
            return f"{mark}[{label}]({repository.rstrip('/')}/blob/main/{path}{hash_}{anchor})"
        return label if label == path else f"{label} (`{path}`)"

    return LINK.sub(target, text)


def on_post_build(config: Any) -> None:
    """Write the sources that the API pages link to."""
    for module, path in config["extra"]["reference"].sources().items():
        lines = path.read_text(encoding="utf-8").splitlines()
        spans = "".join(
            f'<span id="L{number}" data-n="{number}">{html.escape(line, quote=False)}</span>'
            for number, line in enumerate(lines, 1)
        )
        target = Path(config["site_dir"], "source", f"{module}.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(SOURCE_PAGE.format(title=module, lines=spans), encoding="utf-8")
