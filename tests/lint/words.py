"""Count words that plain technical English avoids: `python -m tests.lint.words [PATH...]` prints their places.

Without a path, the command counts in all text that git tracks. It fails if a word is more than three times as frequent
as in lifelines 0.30.3 and datasette 0.65.5 with their documentation.
"""

import re
import sys
from bisect import bisect
from collections.abc import Iterable

from orchestration.settings.home import PROJECT
from tests.installation.wheel import tracked_files

RATES = {"tell, tells, told": 0.74, "beside": 0, "gone": 0, "thereof": 0, "anew": 0, "of which": 0.04}
"""Uses per 10,000 words in lifelines and datasette."""
UNUSED = 0.1
"""Allowed for a word that they never use: the upper limit of 95% of none in their 276,000 words of code is 0.11."""
TEXT = (".py", ".md", ".sql", ".yml", ".j2", ".js", ".toml")
SKIPPED = re.compile(r"tests/(fixtures/|lint/(test_)?words\.py)")
BREAK = r"(?:\s|[#\"'*>/-])+"
"""Separates two words: white space, ends of lines, and the marks of comments and strings."""
PUBLISHED = re.compile(rf"\b(?:cannot|too{BREAK}little{BREAK}to){BREAK}tell\b", re.IGNORECASE)
"""Values of published columns, which are not counted."""
PATTERNS = {
    words: re.compile(rf"\b(?:{words.replace(', ', '|').replace(' ', BREAK)})\b", re.IGNORECASE) for words in RATES
}


def places(text: str) -> dict[str, list[int]]:
    """Return the line numbers of each of the words in a text."""
    text = PUBLISHED.sub(lambda value: re.sub(r"[^\n]", " ", value[0]), text)
    ends = [found.start() for found in re.finditer("\n", text)]
    return {
        words: [bisect(ends, found.start()) + 1 for found in pattern.finditer(text)]
        for words, pattern in PATTERNS.items()
    }


def report(texts: Iterable[tuple[str, str]], shown: int | None) -> tuple[list[str], bool]:
    """Return lines on each of the words, with the first places (all for None), and whether any is too frequent."""
    count, found, lines, failed = 0, {words: [] for words in RATES}, [], False
    for name, text in texts:
        count += len(re.findall(r"\w+", text))
        for words, numbers in places(text).items():
            found[words] += [f"    {name}:{number}" for number in numbers]
    for words, rate in RATES.items():
        allowed, used = 3 * rate or UNUSED, len(found[words]) * 10_000 / max(count, 1)
        lines += [f"{words}: {len(found[words])}, {used:.2f} per 10,000 words, allowed {allowed:.2f}"]
        lines += found[words][:shown]
        failed |= used > allowed
    return lines, failed


if __name__ == "__main__":
    files = sorted(name for name in tracked_files(*sys.argv[1:]) if name.endswith(TEXT) and not SKIPPED.match(name))
    lines, failed = report([(name, (PROJECT / name).read_text("utf-8")) for name in files], None if sys.argv[1:] else 5)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(failed and not sys.argv[1:])
