// Sends the question and writes the answer as text. Nothing of an answer is ever read as markup.
(function () {
  const by = (id) => document.getElementById(id);
  const status = by("status"), sql = by("sql");

  function fill(row, values, tag) {
    for (const value of values) {
      const cell = document.createElement(tag);
      cell.textContent = value === null ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value);
      if (typeof value === "number") cell.className = "number";
      if (value === null) cell.className = "null";
      row.append(cell);
    }
    return row;
  }

  function show(answer) {
    by("answer").tHead.replaceChildren(fill(document.createElement("tr"), answer.columns, "th"));
    const rows = answer.rows.map((row) => fill(document.createElement("tr"), row, "td"));
    by("answer").tBodies[0].replaceChildren(...rows);
    const count = rows.length.toLocaleString("en-US") + (rows.length === 1 ? " row" : " rows");
    const more = answer.is_cut ? "the first " + count + "; the CSV has more" : count;
    status.textContent = more + ", " + answer.seconds + " s";
  }

  async function ask() {
    status.textContent = "asking ...";
    status.className = "";
    try {
      const response = await fetch("/answer?sql=" + encodeURIComponent(sql.value));
      const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
      const answer = isJson ? await response.json() : { error: await response.text() };
      if (answer.error) throw new Error(answer.error);
      show(answer);
    } catch (error) {
      status.textContent = error.message;
      status.className = "error";
    }
  }

  function point() {
    by("csv").href = "/answer.csv?sql=" + encodeURIComponent(sql.value);
  }

  by("ready").addEventListener("change", () => { sql.value = by("ready").value; point(); ask(); });
  by("question").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  sql.addEventListener("input", point);
  sql.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); }
  });
  fetch("/tables").then((response) => response.json()).then((tables) => {
    for (const table of tables) {
      const name = document.createElement("dt"), about = document.createElement("dd");
      name.textContent = table.name;
      about.textContent = (table.grain ? "One row per " + table.grain + ". " : "") + table.description;
      by("tables").append(name, about);
    }
  }).catch(() => {});
  sql.value = by("ready").value;
  point();
  ask();
})();
