// The script of the page: addresses, tables, figures, evidence, theme. Strings of the logs are only inserted as text.
(function () {
  "use strict";
  const PAGE_ROWS = 25, PAGE_LINES = 10, PAPER_ROWS = 200, NARROW = 560, TALL = 120;
  const root = document.documentElement;
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const read = (script) => JSON.parse(script.textContent);

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") node.addEventListener(name, value);
      else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const button = (label, click, more) => make("button", { type: "button", class: "tool", click, ...more }, label);
  const copyButton = (text) => button("Copy", (event) => copy(event.target, text), { class: "tool copy" });

  function attribute(node, name, value) {
    if (value === null) node.removeAttribute(name); else node.setAttribute(name, value);
  }

  // A report may be read long after it was made.
  for (const banner of all("[data-until]")) {
    const hours = (Date.now() - Date.parse(banner.dataset.until)) / 36e5;
    if (!(hours > banner.dataset.hours)) continue;
    banner.hidden = false;
    banner.querySelector(".ago").textContent = Math.floor(hours / 24) + " days ago";
  }

  // Keep dates on one line; browsers break after hyphens.
  function keepDates(within) {
    for (const node of all("p, dd, .why, bdi, small", within)) {
      for (const text of Array.from(node.childNodes).filter((child) => child.nodeType === Node.TEXT_NODE)) {
        const parts = text.data.split(/(\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?)/);
        if (parts.length > 1) text.replaceWith(...parts.map((part, place) => (place % 2 ? make("time", {}, part) : part)));
      }
    }
  }

  // ---- addresses: #<cluster>, #<cluster>/<page>, #<cluster>/<page>/<name>=<value>, or the id of an element ----
  const pages = new Map(all("[data-page-id]").map((page) => [page.dataset.pageId, page]));

  function place() {
    const parts = location.hash.slice(1).split("/");
    const [filter, ...value] = (parts.length > 2 ? parts.slice(2).join("/") : "").split("=");
    return { page: parts.slice(0, 2).join("/"), filter: filter, value: safely(value.join("=")), id: parts.join("/") };
  }

  function safely(text) {
    try { return decodeURIComponent(text); } catch (error) { return text; }
  }

  function show() {
    const at = place();
    const element = at.id ? document.getElementById(at.id) : null;
    let name = pages.has(at.page) ? at.page : element ? (element.closest("[data-page-id]") || {dataset: {}}).dataset.pageId : null;
    const isElsewhere = root.dataset.files && at.page && !name;
    if (isElsewhere && root.dataset.files.split(" ").includes(at.page)) {
      location.replace(at.page.replace("/", "~") + ".html" + location.hash);
      return;
    }
    name = name || root.dataset.first;
    for (const [key, page] of pages) page.hidden = key !== name;
    for (const block of all("[data-cluster-of]")) block.hidden = block.dataset.clusterOf !== name.split("/")[0];
    for (const link of all("nav a")) {
      const target = link.hash.slice(1);
      const isHere = target === name || (link.dataset.covers && link.dataset.covers === name.split("/")[0]);
      attribute(link, "aria-current", isHere ? "page" : null);
    }
    const page = pages.get(name);
    document.title = page.dataset.title + " · " + root.dataset.title;
    const isOther = root.dataset.page !== name;
    root.dataset.page = name;
    // Unfold what an address leads to: a section, the parent of an element, or tables in which it selects rows.
    const folds = element && !pages.has(at.page) ? [...all(":scope > details", element), element.closest("details")] : [];
    for (const fold of [...folds, ...(at.filter ? all("details[data-filters~='" + CSS.escape(at.filter) + "']", page) : [])]) if (fold) fold.open = true;
    fill(page);
    showDetail(page, at);
    for (const table of all("[data-table-of]", page)) if (table.setFilter) table.setFilter(at.filter, at.value);
    if (element && !pages.has(at.page)) element.scrollIntoView();
    else if (at.filter) (page.querySelector(".detail:not([hidden])") || page.querySelector("[data-filtered]") || page).scrollIntoView();
    else if (isOther) window.scrollTo(0, 0);
  }

  function fill(within) {
    for (const script of all("script[data-table]", within)) {
      if (script.closest("details:not([open])")) continue;
      const holder = script.parentElement, data = read(script);
      script.remove();
      buildTable(holder, data);
    }
    for (const box of all(".chart", within)) seen.observe(box);
    keepDates(within);
    for (const code of all(".actions code:only-child", within)) code.after(copyButton(code.textContent));
  }

  // ---- tables ----
  const UNITS = { s: 1 / 3600, min: 1 / 60, h: 1, day: 24, days: 24, years: 8766, "%": 1 };
  const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  function numberIn(text) {
    if (/^no(ne|t|body)?\b/.test(text)) return /^none/.test(text) ? 0 : null;
    const found = text.match(/([-−]?)(\d[\d,]*(?:\.\d+)?)(?: × 10(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(?: ?(%|s|min|h|days?|years))?(?![\w-])/);
    if (!found) return null;
    let value = parseFloat(found[2].replace(/,/g, ""));
    if (found[4]) value *= Math.pow(10, (found[3] ? -1 : 1) * Number(Array.from(found[4], (digit) => SUPERSCRIPT.indexOf(digit)).join("")));
    return (found[1] ? -1 : 1) * value * (UNITS[found[5]] || 1);
  }

  const keyOf = (cell, isNumeric) => cell.v ?? (isNumeric ? numberIn(cell.t) : cell.t);

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }

  function cellOf(data, column) {
    const node = make("td", { "data-head": column.name, class: [column.n ? "number" : "", data.t.length <= 30 ? "short" : "long"].join(" ").trim() });
    if (data.s) {
      const mark = make("span", { class: "swatch" });
      mark.style.background = data.s;
      node.append(mark);
    }
    if (/^(#|\.\.\/)/.test(data.h || "")) node.append(make("a", { href: reached(data.h) }, make("bdi", {}, data.t)));
    else if (data.c) node.append(make("code", {}, data.t), copyButton(data.t));
    else if (data.m) data.m.forEach((part, place) => node.append(...(place % 2 ? [make("code", {}, part), copyButton(part)] : [part])));
    else node.append(make("bdi", {}, data.t));
    if (data.d) node.append(make("small", {}, data.d));
    return node;
  }

  // Addresses of other reports begin at reports/latest; a kept report is one folder deeper.
  function reached(address) {
    const isKept = /\/publications\/[^/]+\/report\/[^/]*$/.test(location.pathname);
    return address.startsWith("../") && isKept ? "../" + address : address;
  }

  function copy(button, text) {
    const area = make("textarea", {}, text);
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    area.remove();
  }

  function buildTable(holder, data) {
    const state = { sort: null, down: false, search: "", page: 0, filter: "", value: "", onPaper: false };
    const cells = data.rows.map((row) => row.map((cell) => (typeof cell === "string" ? { t: cell } : cell)));
    const total = data.last ? cells.pop() : null;
    const heads = data.columns.map((column, place) =>
      make("th", { scope: "col", class: column.n ? "number" : null },
        make("button", { type: "button", click: () => sortBy(place) }, column.name)));
    const body = make("tbody");
    const table = make("table", {},
      make("caption", { class: "unseen" }, data.caption),
      make("thead", {}, make("tr", {}, ...heads)), body);
    const counted = make("span", { class: "counted", role: "status" });
    const chip = make("a", { class: "chip", hidden: true });
    const back = button("Previous", () => update({ page: state.page - 1 }));
    const on = button("Next", () => update({ page: state.page + 1 }));
    const search = make("input", { type: "search", placeholder: "Search", "aria-label": "Search in: " + data.caption,
      input: () => update({ search: search.value.toLowerCase(), page: 0 }) });
    const title = holder.closest(".table-block > details") ? null : make("strong", {}, data.caption);
    const picked = data.columns.findIndex((column) => column.p);
    const values = picked < 0 ? [] : [...new Set(cells.map((row) => row[picked].t))];
    const picker = values.length ? make("select", { "aria-label": data.columns[picked].name + " of: " + data.caption,
      change: () => update({ page: 0 }) }, ...values.map((value) => make("option", { selected: value === data.columns[picked].p }, value))) : null;
    const tools = make("div", { class: "tools" }, chip, picker, cells.length > 8 ? search : null, counted,
      back, on,
      button("CSV", () => save(data.caption + ".csv", csv(), "text/csv"), { "aria-label": "Download as CSV: " + data.caption }));
    const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": data.caption }, table);
    holder.append(make("div", { class: "head" }, title, tools), scroll);

    function update(changes) {
      Object.assign(state, changes);
      draw();
    }

    function sortBy(place) {
      update({ down: state.sort === place ? !state.down : Boolean(data.columns[place].n), sort: place, page: 0 });
    }

    function chosen() {
      const column = state.filter ? data.columns.findIndex((each) => each.f === state.filter) : -1;
      let rows = picker ? cells.filter((row) => row[picked].t === picker.value) : cells;
      if (column >= 0) rows = rows.filter((row) => row[column].t === state.value);
      if (state.search) rows = rows.filter((row) => row.some((cell) => (cell.t + " " + (cell.d || "")).toLowerCase().includes(state.search)));
      if (state.sort === null) return rows;
      const isNumeric = data.columns[state.sort].n, sign = state.down ? -1 : 1;
      // Unknown values come last in both orders.
      return rows.map((row) => [keyOf(row[state.sort], isNumeric), row])
        .sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)))
        .map(([, row]) => row);
    }

    function draw() {
      const rows = chosen(), isLines = holder.classList.contains("lines");
      const pageRows = state.onPaper ? PAPER_ROWS : isLines ? PAGE_LINES : PAGE_ROWS;
      const last = Math.max(0, Math.ceil(rows.length / pageRows) - 1);
      state.page = Math.min(Math.max(0, state.page), last);
      const from = state.page * pageRows;
      const part = rows.slice(from, from + pageRows);
      body.replaceChildren(...part.map((row) => make("tr", {}, ...row.map((cell, place) => cellOf(cell, data.columns[place])))));
      if (total && !state.search && !(state.filter && state.value)) {
        body.append(make("tr", { class: "total" }, ...total.map((cell, place) => cellOf(cell, data.columns[place]))));
      }
      keepDates(body);
      if (!rows.length) body.append(make("tr", {}, make("td", { colspan: data.columns.length }, "No row fits.")));
      const direction = state.down ? "descending" : "ascending", whole = (count) => count.toLocaleString("en-US");
      heads.forEach((head, place) => attribute(head, "aria-sort", place === state.sort ? direction : null));
      counted.textContent = part.length < rows.length
        ? whole(from + 1) + " to " + whole(from + part.length) + " of " + whole(rows.length)
        : whole(rows.length) + (rows.length === 1 ? " row" : " rows");
      back.hidden = on.hidden = part.length === rows.length;
      back.disabled = state.page === 0;
      on.disabled = state.page >= last;
      const isFiltered = Boolean(state.filter && state.value && data.columns.some((each) => each.f === state.filter));
      chip.hidden = !isFiltered;
      if (isFiltered) {
        chip.replaceChildren(state.filter + ": ", make("bdi", {}, state.value), " ✕");
        chip.href = "#" + place().page;
        chip.setAttribute("aria-label", "Show all, not only " + state.filter + " " + state.value);
        holder.dataset.filtered = "yes";
      } else delete holder.dataset.filtered;
      // Rows that are wider than the page, or tall because of long texts, become lines of "heading value".
      if (!isLines && (scroll.scrollWidth > scroll.clientWidth || Array.from(body.rows).some((row) => row.offsetHeight > TALL))) {
        holder.classList.add("lines");
        draw();
      }
    }

    function csv() {
      const hasDetail = data.columns.map((_, place) => cells.some((row) => row[place].d));
      const names = data.columns.flatMap((column, place) => hasDetail[place] ? [column.name, column.name + ", detail"] : [column.name]);
      const lines = [...chosen(), ...(total ? [total] : [])].map((row) => row.flatMap((cell, place) => {
        const plain = data.columns[place].n ? cell.t.replace(/(\d),(?=\d{3})/g, "$1").replace("−", "-") : cell.t;
        const text = typeof cell.v === "number" ? String(cell.v) : plain;
        return hasDetail[place] ? [text, cell.d || ""] : [text];
      }));
      return [names, ...lines].map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
    }

    holder.fit = (onPaper = false) => { holder.classList.remove("lines"); update({ onPaper, page: onPaper ? 0 : state.page }); };
    holder.dataset.tableOf = data.caption;
    holder.setFilter = (filter, value) => update({ filter, value, page: 0 });
    holder.csv = csv;
    draw();
  }

  // A cell that a spreadsheet would run as a formula begins with an apostrophe; a plain number stays a number.
  function quoted(text) {
    const isFormula = /^[\s]*[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text);
    const safe = isFormula ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }

  function save(name, content, type) {
    const address = content.startsWith("data:") ? content : URL.createObjectURL(new Blob([content], { type: type }));
    make("a", { href: address, download: name.replace(/[^\w.,() -]+/g, "_") }).click();
  }

  // ---- figures: drawn when seen ----
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawChart(entry.target);
  }, { rootMargin: "200px" });

  function fit(spec, width) {
    // A narrow screen gets shorter names and legends of one or two columns.
    const isNarrow = width < NARROW;
    // A legend begins where the marks do, next to the names of an axis.
    const isNamed = (spec.layer || []).some((layer) => layer.encoding && layer.encoding.y && (layer.encoding.y.axis || {}).labelLimit);
    const room = (isNarrow && isNamed ? 2 / 3 : 1) * width - 40;
    // Whether names along an axis, or counts next to marks at so many places, would overlap.
    const isCrowded = (channel) => {
      const rows = Object.values(spec.datasets || {}).flat();
      const places = [...new Set(rows.map((row) => row[channel.field]).filter((place) => place !== null && place !== undefined))];
      const longest = Math.max(0, ...places.map((place) => (typeof place === "string" ? place.length : 8)));
      return places.length * (6.6 * longest + 8) > width - 60;
    };
    (function walk(part) {
      if (part === null || typeof part !== "object") return;
      if (part.scale && Array.isArray(part.scale.domain) && typeof part.scale.domain[0] === "string" && part.legend !== null) {
        const longest = Math.max(...part.scale.domain.map((label) => label.length));
        part.legend = { ...part.legend, columns: Math.max(1, Math.min(4, Math.floor(room / (6.2 * longest + 28)))), labelLimit: width - 80 };
      }
      if (width < 900 && part.axis && part.axis.values) part.axis = { ...part.axis, labelOverlap: "greedy" };
      if (isNarrow && part.axis && part.axis.labelLimit) part.axis = { ...part.axis, labelLimit: Math.round(width / 3) };
      if (part.axis && part.axis.labelAngle === 0 && (isNarrow || isCrowded(part))) part.axis = { ...part.axis, labelAngle: -90 };
      if (isNarrow && part.axis && part.axis.tickCount) part.axis = { ...part.axis, tickCount: 4 };
      Object.entries(part).forEach(([name, value]) => { if (name !== "datasets") walk(value); });
    })(spec);
    // A note without room next to its line is shown when the pointer is on the line.
    const isRoomless = (encoding) => encoding && encoding.text && ((width < 900 && encoding.text.field === "shown")
      || ((isNarrow || isCrowded(encoding.x || {})) && ["k", "label"].includes(encoding.text.field)
        && (encoding.y || {}).type === "quantitative"));
    if (spec.layer) spec.layer = spec.layer.filter((layer) => !isRoomless(layer.encoding));
    // Counts are next to the last mark, which a narrow scale brings close to the edge.
    if (width < 900) spec.padding = { left: 5, top: 5, bottom: 5, right: 50 };
    if (isNarrow && spec.config) {
      spec.config.axis = { ...spec.config.axis, titleLimit: width - 70, labelFontSize: 11, titleFontSize: 11 };
      spec.config.legend = { ...spec.config.legend, titleLimit: width - 60 };
    }
    return spec;
  }

  function specOf(box) { return read(document.getElementById(box.dataset.spec)); }

  function drawChart(box) {
    seen.unobserve(box);
    if (box.dataset.drawn || !box.clientWidth) return null;
    box.dataset.drawn = "yes";
    box.dataset.drawing = "yes";
    const spec = fit(specOf(box), box.clientWidth);
    if (box.dataset.height) {
      spec.height = Number(box.dataset.height);
      for (const layer of spec.layer || []) if (layer.encoding && layer.encoding.y) layer.encoding.y = { ...layer.encoding.y, title: null };
    }
    const figure = box.closest("figure");
    // The interpreter (ast) replaces generated code, so that the page's policy can forbid eval.
    const drawn = vegaEmbed(box, spec, { mode: "vega-lite", actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } });
    return drawn.then((result) => {
      box.dataset.chart = "drawn";
      // The box is one picture with a text of its own; the marks inside it have none.
      for (const part of all("svg, svg [role], svg [aria-roledescription]", box)) {
        for (const name of ["role", "aria-roledescription", "aria-label"]) part.removeAttribute(name);
      }
      result.view.addEventListener("click", (event, item) => {
        const link = item && item.datum && item.datum.link;
        if (typeof link === "string" && link.startsWith("#")) location.hash = link;
      });
      if (figure && !figure.querySelector(".tools")) figure.querySelector("figcaption").after(figureTools(figure, box, result.view));
    }).catch((error) => {
      box.textContent = "This chart could not be drawn (" + error.message + "). Its numbers are in the table.";
      Promise.reject(error);
    }).finally(() => delete box.dataset.drawing);
  }

  function figureTools(figure, box, view) {
    const name = figure.querySelector("figcaption").firstChild.textContent.trim();
    const tool = (label, click) => button(label, click, { "aria-label": label + ": " + name });
    const image = (kind) => {
      view.background("white").runAsync()
        .then(() => (kind === "svg" ? view.toSVG() : view.toImageURL("png", 2)))
        .then((content) => save(name + "." + kind, content, "image/svg+xml"))
        .then(() => view.background("transparent").runAsync());
    };
    const shown = make("div", { class: "table", hidden: true });
    const fill = () => { if (!shown.firstChild) buildTable(shown, figureTable(name, box)); };
    // An open table has its own button, which keeps the search and the order.
    const numbers = tool("CSV", () => { fill(); save(name + ".csv", shown.csv(), "text/csv"); });
    const swap = tool("Table", () => {
      fill();
      shown.hidden = !shown.hidden;
      box.hidden = !shown.hidden;
      numbers.hidden = !shown.hidden;
      shown.fit();
      swap.textContent = shown.hidden ? "Table" : "Chart";
      swap.setAttribute("aria-pressed", String(!shown.hidden));
    });
    swap.setAttribute("aria-pressed", "false");
    box.after(shown);
    return make("div", { class: "tools" }, swap, tool("PNG", () => image("png")), tool("SVG", () => image("svg")), numbers);
  }

  // The data of a figure as a table: the named columns, shown with three digits and sorted by all digits.
  function figureTable(name, box) {
    const columns = Object.entries(JSON.parse(box.dataset.columns)), rows = specOf(box).datasets.main;
    const isNumeric = (column) => rows.some((row) => typeof row[column] === "number");
    const digits = (value) => value.toLocaleString("en-US", Number.isInteger(value) ? {} : { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
    const cell = (value) => (value === null || value === undefined ? "" : typeof value === "number" ? { t: digits(value), v: value } : String(value).replace("T00:00:00", ""));
    return {
      caption: name + ": the numbers drawn", last: false,
      columns: columns.map(([column, heading]) => ({ name: heading, n: isNumeric(column) ? 1 : 0 })),
      rows: rows.map((row) => columns.map(([column]) => cell(row[column]))),
    };
  }

  // ---- one failure with its evidence and its job, or one node with its history ----
  const unzipped = new Map();
  let asked = null;
  function unzip(script) {
    if (!unzipped.has(script)) {
      const bytes = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      unzipped.set(script, new Response(stream).json());
    }
    return unzipped.get(script);
  }

  async function showDetail(page, at) {
    const detail = page.querySelector(".detail");
    asked = at;
    if (!detail) return;
    const kind = { failure: "failures", node: "nodes" }[at.filter];
    detail.hidden = !kind;
    if (detail.hidden) return;
    detail.replaceChildren(make("a", { class: "chip", href: "#" + at.page }, "All failures ✕"));
    detail.dataset.drawing = "yes";
    const data = await unzip(document.getElementById(detail.dataset.source)), found = data[kind][at.value];
    delete detail.dataset.drawing;
    // The reader may have chosen another failure while this one was unpacked.
    if (asked !== at) return;
    // A node without failures has no history here: its row has everything.
    detail.hidden = !found && kind === "nodes";
    if (!found) {
      detail.append(make("p", { class: "note" }, "This report has no " + at.filter + " of that name."));
      return;
    }
    const facts = make("dl", { class: "facts" });
    for (const [heading, text] of found.facts) facts.append(make("dt", {}, heading), make("dd", {}, make("bdi", {}, text)));
    detail.append(make("h3", {}, found.title), facts);
    const tables = found.timeline ? [["The latest of its history", data.timeline, found.timeline, "no log has an entry."]] : [["Evidence", data.evidence, found.evidence, data.without], ["Attempts of the job", data.attempts, data.runs[found.run] || [], "The other attempts of this job are not known."]];
    for (const [caption, columns, rows, without] of tables) {
      if (!rows.length) { detail.append(make("p", { class: "note" }, caption + ": " + without)); continue; }
      const holder = make("div", { class: "table" });
      detail.append(holder);
      buildTable(holder, { caption: caption, columns: columns, rows: rows.map((row) => row.map((cell) => typeof cell === "number" ? data.texts[cell] : cell)) });
    }
    keepDates(detail);
  }

  // ---- theme, printing, start ----
  const toggle = document.getElementById("theme");
  function theme(name) {
    if (name) root.dataset.theme = name;
    const isDark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    toggle.textContent = isDark ? "Light" : "Dark";
    toggle.onclick = () => {
      theme(isDark ? "light" : "dark");
      try { localStorage.setItem("faultline-theme", isDark ? "light" : "dark"); } catch (error) { /* a file may have no storage */ }
    };
  }
  let kept = null;
  try { kept = localStorage.getItem("faultline-theme"); } catch (error) { /* a file may have no storage */ }
  theme(kept === "dark" || kept === "light" ? kept : "");

  function drawAll() {
    return Promise.all(all(".chart", pages.get(root.dataset.page)).map(drawChart));
  }

  document.addEventListener("toggle", (event) => { if (event.target.open) fill(event.target); }, true);
  const fitTables = (onPaper) => all("[data-table-of]", pages.get(root.dataset.page)).forEach((table) => table.fit(onPaper));
  function showForPrint(isBefore) {
    root.classList.toggle("printing", isBefore);
    const page = pages.get(root.dataset.page);
    for (const details of all("details", page)) {
      if (isBefore) details.dataset.was = details.open ? "yes" : "";
      details.open = isBefore || details.dataset.was === "yes";
    }
    if (isBefore) fill(page);
    fitTables(isBefore);
    if (isBefore) drawAll();
  }
  window.addEventListener("beforeprint", () => showForPrint(true));
  window.addEventListener("afterprint", () => showForPrint(false));
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    fitTables(root.classList.contains("printing"));
    if ((width < NARROW) === (window.innerWidth < NARROW)) return;
    width = window.innerWidth;
    for (const box of all(".chart[data-drawn]")) { delete box.dataset.drawn; seen.observe(box); }
  });
  window.addEventListener("hashchange", show);
  window.faultline = { drawAll: drawAll, numberIn: numberIn, quoted: quoted };
  show();
})();
