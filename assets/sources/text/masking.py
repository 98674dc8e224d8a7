r"""Replace secrets in free text before a line's text is stored: one list of rules for Python and for DuckDB.

Users write passwords and tokens into submit lines, job names and comments; machines repeat them in messages. The rules
know names (`HF_TOKEN=`, `--password`), forms (`Authorization:`, `user:password@`, private keys), the prefixes of
well-known issuers, and long strings that are not words or paths. A secret in plain words ("the code is swordfish") has
none of these and stays.

Every pattern means the same to Python's `re` and to DuckDB's RE2: no lookaround, no back references.
"""

from __future__ import annotations

import re

from assets.sql import literal

MASK = "***"
MAX_MASKED = 8192
"""Characters of a line that are masked and shown; a problem farther on is shown by its detail alone."""
MAX_EXCERPT = 120
EXCERPT_LEAD = 40
"""Characters shown before the value that was not understood: in accounting, about one field."""

_SENSITIVE = r"token|secret|passw(?:or)?d|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|credential"
_NAME_END = r"s?[0-9A-Za-z_.-]*"
_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[^\s|\"',;&]+)"
"""Matches a quoted text, or everything up to a space, a quote or a field separator."""
_SPACED = r"(?:'[^']*'|\"[^\"]*\"|[^\s|\"']+)"

RULES: tuple[tuple[str, str], ...] = (
    # Whole blocks, and the rest of a block that a line or a limit cut off.
    (r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)", MASK),
    (r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?)(?:[a-z]+\s+)?[^\s\"'|]+", rf"\1{MASK}"),
    (r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,}", rf"\1{MASK}"),
    (r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s|\"'<>@]+@", rf"\1{MASK}@"),
    # Values of --export may hold spaces, which Slurm prints without quotes: mask everything up to the next option.
    (r"(--export[= ])(?:[^\s|\"]|\s+[^\s|\"-])+", rf"\1{MASK}"),
    (rf"(?i)(--?[a-z0-9_-]*(?:{_SENSITIVE}|pass)s?(?:[-_][a-z0-9_-]*)?\s+){_SPACED}", rf"\1{MASK}"),
    (rf"(?i)(\bsshpass\s+-p\s*){_SPACED}", rf"\1{MASK}"),
    (r"(?i)(\bcurl\b[^|]*?\s(?:-u|--user)[= ]\s*)[^\s|\"']+", rf"\1{MASK}"),
    (
        rf"(?i)([0-9a-z_.-]*(?:{_SENSITIVE}){_NAME_END}(?:\\?[\"'])?\s*[=:]\s*(?:\\?[\"'])?)(?:{_VALUE})",
        rf"\1{MASK}",
    ),
    (
        rf"(?i)((?:[0-9a-z_.-]*key|\b(?:[0-9a-z_.-]*_)?(?:auth|pass|pwd))[0-9]*[\"']?=\\?[\"']?){_VALUE}",
        rf"\1{MASK}",
    ),
    (r"(?i)(\b(?:password|passwd|passphrase)\s+(?:is|was)\s+)[^\s|\"']+", rf"\1{MASK}"),
    (r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[0-9A-Z]{16}\b", MASK),
    (r"\b(?:gh[opusr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,})", MASK),
    (r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}|pypi-[A-Za-z0-9_-]{16,})", MASK),
    (r"\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{30,})", MASK),
    (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?", MASK),
    # Hexadecimal digests and keys; base64 by its length, its padding, or by changing between cases and digits often.
    (r"\b[0-9a-fA-F]{32,}\b", MASK),
    (r"[A-Za-z0-9+/]{64,}={0,2}", MASK),
    (r"[A-Za-z0-9+]{40,}={0,2}", MASK),
    (r"[A-Za-z0-9+/_-]{22,}={1,2}(\s|[|\"',;]|$)", rf"{MASK}\1"),
    (r"[A-Za-z0-9+/]*(?:[a-z]{1,3}/?[A-Z0-9+][A-Z0-9+/]*){7}[A-Za-z0-9+/]*={0,2}", MASK),
)
"""Patterns in the order in which they are applied, each with its replacement."""

_HINT = (
    rf"(?i)(?:{_SENSITIVE})s?[0-9a-z_.-]*[\"'\\]*\s*[=:]|-[a-z0-9_-]*(?:{_SENSITIVE}|pass)s?(?:[-_][a-z0-9_-]*)?\s|"
    r"(?:password|passwd|passphrase)\s+(?:is|was)\s|(?:key|auth|pass|pwd)[0-9]*[\"']?=|private key|"
    r"authorization[\"']?\s*[:=]|bearer\s|sshpass\s|curl\s|://[^\s]*@|"
    # `--export=all`, `none` and `nil` are not secret, and most submit lines of some sites have one of them.
    r"--export[= ](?:[^an]|a[^l]|al[^l]|all[^\s|\"]|n[^oi]|no[^n]|non[^e]|none[^\s|\"]|ni[^l]|nil[^\s|\"])|"
    r"akia|asia|agpa|aida|aroa|gh[opusr]_|github_pat|glpat-|hf_|sk-|npm_|pypi-|xox|aiza|eyj|"
    r"[0-9a-f]{32}|[0-9a-z+]{40}|[0-9a-z+/]{64}|[0-9a-z+/_-]{22}=(?:=|\s|[|\"',;]|$)|(?-i:(?:[a-z]{1,3}/?[A-Z0-9+][A-Z0-9+/]*){7})"
)
"""Fits every text that a rule changes, and few others, so that most texts need no rule."""

_HINTED = re.compile(_HINT, re.ASCII)
_ENDLESS_WORD = re.compile(r"\S{1024,}")
"""Matches words that are masked whole: in Python's `re`, unlike RE2, the rules take time quadratic in their length."""
_COMPILED = tuple((re.compile(pattern, re.ASCII), replacement) for pattern, replacement in RULES)


def mask(text: str) -> str:
    """Return a text with its secrets, and every word of 1,024 characters or more, replaced.

    >>> mask("sbatch --export=HF_TOKEN=abc train.sh --password hunter2")
    'sbatch --export=*** --password ***'
    >>> mask("curl https://me:pw@host/x -H 'Authorization: Bearer abcdef'")
    "curl https://***@host/x -H 'Authorization: ***'"
    """
    text = _ENDLESS_WORD.sub(MASK, text)
    if _HINTED.search(text) is None:
        return text
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text


def masked(text: str) -> str:
    """Return SQL that masks a text as `mask` does.

    Parameters
    ----------
    text
        SQL of the text, such as a column's name. The result contains it twice.
    """
    changed = text
    for pattern, replacement in RULES:
        changed = f"regexp_replace({changed}, {literal(pattern)}, {literal(replacement)}, 'g')"
    return f"case when regexp_matches({text}, {literal(_HINT)}) then {changed} else {text} end"


def excerpt(line: str, detail: str) -> str:
    """Return SQL that cuts a line to the part that shows its problem, with secrets masked.

    The detail quotes the value that was not understood, or names it after an equals sign: the excerpt begins a little
    before that value. Without a value it is the beginning of the line.

    Parameters
    ----------
    line, detail
        SQL of two texts; NULL counts as empty.
    """
    whole = f"coalesce({line}, '')"
    # Drop a word that the limit cuts: it may be half a secret, which no rule matches.
    bounded = (
        f"case when length({whole}) > {MAX_MASKED} then regexp_replace(left({whole}, {MAX_MASKED}), '\\S+$', '')"
        f" else {whole} end"
    )
    quoted = f"regexp_extract(coalesce({detail}, ''), '[''\"=]([^''\"]+)', 1)"
    return f"""(
        select case
            when length(shown.text) <= {MAX_EXCERPT} then shown.text
            else if(shown.start > 1, '...', '') || substr(shown.text, shown.start, {MAX_EXCERPT})
                || if(shown.start + {MAX_EXCERPT} <= length(shown.text), '...', '')
        end
        from (
            select
                whole.text,
                greatest(1, if(whole.value = '', 1, instr(whole.text, whole.value)) - {EXCERPT_LEAD}) as start
            from (select {masked("bound.text")} as text, bound.value from (
                select {bounded} as text, {quoted} as value
            ) as bound) as whole
        ) as shown
    )"""
