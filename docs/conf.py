"""The documentation site: Sphinx with MyST and the theme Furo, all of it on this machine (``make docs``).

Pages of docs/ are as they are; what is made from the code and the notebooks goes to docs/made/.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

from docs.making import site  # noqa: E402

import shoal  # noqa: E402

project = "shoal"
author = "The shoal authors"
version = release = shoal.__version__
project_copyright = author

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["making", "tutorials"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_mock_imports = ["sklearn"]
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "shoal"
html_static_path = ["looks"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses to those that are opened as files
html_theme_options = {"top_of_page_buttons": []}


def setup(app):
    """What Sphinx calls: pages are made before it looks for them, and links are mended when it reads one."""
    app.connect("builder-inited", lambda _: site.write_pages())
    app.connect("source-read", lambda _, page, text: text.__setitem__(0, site.mend_links(page, text[0])))
