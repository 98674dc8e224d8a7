"""Write every page that is generated from the code into a folder: `python -m tests.docs.writers docs`."""

import sys
from pathlib import Path

from tests.docs.writers.written import BUILT, KEPT, write_pages

write_pages(KEPT | BUILT, Path(sys.argv[1]))
