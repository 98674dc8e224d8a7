"""Scripts that find visible faults of a page in the browser: overlapping texts, cut texts, figures without data."""

from __future__ import annotations

OVERLAPS = """(() => {
  const boxes = Array.from(document.querySelectorAll(
    "article:not([hidden]) :is(h1, h2, p, dt, dd, td > bdi, td > a, th button, figcaption, .head strong, .tool, " +
    "input, select, summary, " +
    ".chart svg text)"
  )).filter((node) => node.textContent.trim() || node.type === 'search')
    .filter((node) => node.getAttribute('opacity') !== '0' && node.getClientRects().length)
    .filter((node) => !node.closest('.unseen') && !node.closest('details:not([open])'))
    .map((node) => [node, node.getBoundingClientRect()]).filter(([, box]) => box.width > 1 && box.height > 1);
  const found = [];
  for (const [node, box] of boxes) for (const [other, its] of boxes) {
    if (node === other || node.contains(other) || other.contains(node)) continue;
    if (node.textContent.trim() === other.textContent.trim() && node.tagName === 'text') continue;  // a rim and its ink
    if (node.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_PRECEDING) continue;
    const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left);
    const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top);
    const both = [node, other].map((text) => text.textContent.trim().slice(0, 50)).join(' / ');
    if (wide > 2 && high > 3) found.push(both);
  }
  return found.slice(0, 5);
})()"""
"""Visible texts with overlapping boxes."""
CUT = """(() => {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  const outside = Array.from(document.querySelectorAll('article:not([hidden]) .chart svg text')).filter((text) => {
    const box = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
    return text.textContent && (box.right > frame.right + 3 || box.left < frame.left - 3);
  }).map((text) => text.textContent);
  const tables = Array.from(document.querySelectorAll('article:not([hidden]) .scroll'))
    .filter((table) => table.scrollWidth > table.clientWidth + 1).map((table) => table.ariaLabel);
  return wide > 1 ? ['the page is ' + wide + ' wider than the window'] : [...outside, ...tables].slice(0, 5);
})()"""
"""Elements wider than the window, labels outside their chart, and tables outside the page."""
BARE = """Array.from(document.querySelectorAll('article:not([hidden]) figure .chart')).filter((box) => {
  const marks = box.querySelectorAll('svg .role-mark :is(path, rect, line, text, image)');
  return !box.closest('details:not([open])') && !(box.dataset.chart === 'drawn' && marks.length);
}).map((box) => box.id)"""
"""Empty figures."""
LOST = """(() => {
  const known = new Set(Array.from(document.querySelectorAll('[data-page-id]'), (page) => page.dataset.pageId));
  return Array.from(document.querySelectorAll('a[href^="#"]'), (link) => decodeURIComponent(link.hash.slice(1)))
    .filter((at) => !known.has(at) && !known.has(at.split('/').slice(0, 2).join('/')) && !document.getElementById(at));
})()"""
"""Addresses that lead nowhere."""
SORTED = """(() => {
  const wrong = [];
  for (const holder of document.querySelectorAll('article:not([hidden]) [data-table-of]')) {
    if (holder.closest('details:not([open])') || holder.closest('[hidden]')) continue;
    holder.querySelectorAll('th button').forEach((button, place) => {
      const numeric = button.parentElement.classList.contains('number');
      button.click();
      const cells = Array.from(holder.querySelectorAll('tbody tr:not(.total) td:nth-child(' + (place + 1) + ')'));
      const keys = cells.map((cell) => (numeric ? window.faultline.numberIn(cell.firstChild.textContent) : 0));
      const known = keys.filter((key) => key !== null);
      const isDown = button.parentElement.ariaSort === 'descending';
      const ok = known.every((key, at) => at === 0 || (isDown ? known[at - 1] >= key : known[at - 1] <= key));
      if (!ok || !button.parentElement.ariaSort) wrong.push(holder.dataset.tableOf + ': ' + button.textContent);
    });
  }
  return wrong;
})()"""
"""Columns that a click does not sort."""
SWAPPED = """(() => {
  const all = (selector) => Array.from(document.querySelectorAll('article:not([hidden]) ' + selector));
  const swaps = all('figure .tools > [aria-pressed]'), drawn = all('.chart[data-chart=drawn]').length;
  swaps.forEach((button) => button.click());
  const cells = all('figure > .table:not([hidden]) tbody td').length;
  swaps.forEach((button) => button.click());
  return [swaps.length - drawn, Math.min(cells - drawn, 0)];
})()"""
"""Figures without a button that turns them into a table, or without the table after it."""
