// Connects the sliders of each cluster to the formulas. Every move updates the results; nothing leaves the page.
(function () {
  // Three significant digits, as everywhere in the report.
  function digits(value, count = 3) {
    if (Number.isNaN(value)) return "unknown";
    if (!Number.isFinite(value)) return "unbounded";
    if (value === 0) return "0";
    return value.toLocaleString("en-US", { minimumSignificantDigits: count, maximumSignificantDigits: count });
  }

  // Counts are written in full from 10 on; an ETTR below 0.001 is no progress worth a number.
  const whole = (value) => Math.round(value).toLocaleString("en-US");
  const count = (value) => (value >= 10 ? whole(value) : digits(value, 2));
  const ratio = (value) => (value < 0.001 ? "under 0.001" : digits(value));

  function duration(hours) {
    if (!Number.isFinite(hours)) return digits(hours);
    if (hours === 0) return "0 h";
    if (hours < 1 / 60) return digits(hours * 3600) + " s";
    if (hours < 1) return digits(hours * 60) + " min";
    if (hours < 48) return digits(hours) + " h";
    return hours < 24000 ? digits(hours / 24) + " days" : digits(hours / 24 / 365.25) + " years";
  }

  function chance(p) {
    if (Number.isNaN(p)) return "unknown";
    if (p < 0.001) return "under 0.1%";
    return p > 0.999 ? "over 99.9%" : digits(100 * p, p < 0.01 ? 2 : 3) + "%";
  }

  function span(low, high, write) {
    if (Number.isNaN(low) && Number.isNaN(high)) return "";
    if (!Number.isFinite(high)) return "above " + write(low);
    return write(low) + " to " + write(high);
  }

  function start(block) {
    const data = JSON.parse(block.querySelector("[data-whatif-data]").textContent);
    const form = block.querySelector("form"), sliders = Array.from(form.querySelectorAll("input[type=range]"));
    const percent = Math.round(100 * data.confidence_level) + "%: ";
    const page = block.closest("[data-page-id]"), results = block.querySelectorAll("[data-result]");
    const fieldOf = (slider) => slider.parentElement.querySelector("input[type=number]");
    // The place of a number on the slider, from 0 to 1, and the number at a place; if 0 is allowed, it is at the start.
    const along = ({ dataset: { first, last } }, value) => Math.log(value / first) / Math.log(last / first);
    const at = (slider) => (slider.value > 0 || Number(fieldOf(slider).min) > 0
      ? Number((slider.dataset.first * (slider.dataset.last / slider.dataset.first) ** (slider.value / slider.max))
        .toPrecision(fieldOf(slider).step === "1" ? 6 : 2)) : 0);

    function read() {
      const said = Array.from(new FormData(form), ([name, value]) => [name, name === "rate" ? value : Number(value)]);
      return Object.fromEntries(said);
    }

    // The scenario follows the page in the address: #<cluster>/<page>/gpus=4096&write=5.
    function fromAddress() {
      const [, said] = location.hash.split("#" + page.dataset.pageId + "/");
      form.reset();
      for (const [name, value] of new URLSearchParams(said || "")) {
        if (form.elements.namedItem(name)) form.elements.namedItem(name).value = value;
      }
      update();
    }

    function toAddress() {
      const address = "#" + page.dataset.pageId + "/" + new URLSearchParams(new FormData(form));
      if (form.checkValidity() && address !== location.hash) history.pushState(null, "", address);
    }

    // The same question to `faultline plan`; empty if it would count other nodes.
    function command(place, input, nodes) {
      const isKnown = input.rate === "measured", rate = input.rate === "own" ? input.own : 1000 * data[input.rate];
      const asked = isKnown ? place.dataset.command : "faultline plan --rate " + rate + " --gpus-per-node " + data.gpus_per_node;
      const costs = ["checkpoint", "write", "restart", "queue"].map((name) => "--" + name + " " + input[name] + "m");
      return isKnown || nodes === Math.ceil(input.gpus / data.gpus_per_node) ? [asked, "--gpus", input.gpus, ...costs,
        "--spares", input.spares || "none", "--repair", input.repair_hours + "h", "--days", input.days, "--target", input.target].join(" ") : "";
    }

    function show(name, value, detail) {
      const place = block.querySelector('[data-result="' + name + '"]');
      place.querySelector(".value").textContent = value;
      place.querySelector("small").textContent = detail;
    }

    function limits(low, high, write, isKnown) {
      if (isKnown && low === high) return "at a rate taken as known";
      const text = span(low, high, write);
      return text ? percent + text : "";
    }

    function update() {
      for (const slider of sliders) {
        const value = fieldOf(slider).value;
        slider.value = Math.max(0, Math.round(slider.max * along(slider, value))) || 0;
        slider.setAttribute("aria-valuetext", (value || "none") + " " + slider.dataset.unit);
      }
      const wrong = form.querySelector("input:invalid"), place = block.querySelector("[data-command]");
      const input = wrong ? null : read(), found = wrong ? null : whatIfModel.evaluate(data, input);
      // An invalid scenario has no command, no warning and no grid.
      place.textContent = wrong ? "" : command(place, input, found.nodes);
      warn(input);
      grid(input);
      if (wrong) return results.forEach((part) => show(part.dataset.result, "unknown", wrong.validationMessage));
      const minutes = (x) => duration(x / 60), isKnown = input.rate !== "measured";
      show("ettr", ratio(found.ettr), limits(found.ettr_low, found.ettr_high, ratio, isKnown));
      show("probability", chance(found.probability),
        "that its ETTR is " + input.target + " or more after " + input.days + " days");
      show("mttf", duration(found.mttf_hours), limits(found.mttf_hours_low, found.mttf_hours_high, duration, isKnown));
      show("interruptions", count(found.interruptions),
        "in " + input.days + " days; " + percent + span(found.interruptions_low, found.interruptions_high, whole));
      const isFree = input.write === 0;
      show("best", isFree ? "none" : duration(found.best_minutes / 60), isFree ? "a write that takes no time never costs"
        : "ETTR " + ratio(found.ettr_best) + " with it; "
          + limits(found.best_minutes_low, found.best_minutes_high, minutes, isKnown));
      show("spares", input.spares ? chance(found.without_spare) : "always", input.spares ? "" : "no spare nodes are held");
    }

    // Warn as `faultline plan` does; an own rate does not come from the jobs seen.
    function warn(input) {
      const warning = block.querySelector("[data-extrapolation]"), said = [], largest = data.largest_job_gpu_count;
      if (input && input.rate !== "own" && largest !== null && input.gpus > largest) said.push(data.extrapolation);
      if (input && input.gpus > data.gpu_count) said.push("larger than the cluster (" + whole(data.gpu_count) + " GPUs)");
      warning.hidden = !said.length;
      warning.textContent = said.length ? whole(input.gpus) + " GPUs: " + said.join("; ") + "." : "";
    }

    function grid(input) {
      for (const cell of block.querySelectorAll("td[data-gpus]")) {
        const ettr = input ? whatIfModel.ettrOf(data, input, Number(cell.dataset.gpus), Number(cell.dataset.minutes)) : NaN;
        cell.textContent = Number.isNaN(ettr) ? "unknown" : ettr.toFixed(3);
        cell.classList.toggle("reached", ettr >= (input || {}).target);
        cell.style.setProperty("--ettr", Number.isNaN(ettr) ? "0" : String(ettr));
      }
    }

    form.elements.own.addEventListener("focus", () => { form.elements.rate.value = "own"; update(); });
    form.addEventListener("input", (event) => {
      const slider = event.target;
      if (slider.type === "range") fieldOf(slider).value = at(slider) || (fieldOf(slider).required ? 0 : "");
      update();
    });
    form.addEventListener("change", toAddress);
    form.addEventListener("submit", (event) => event.preventDefault());
    return fromAddress;
  }

  // A block starts when its page is opened, so that those of other clusters cost nothing.
  const started = new Map();
  function wake() {
    for (const block of document.querySelectorAll("[data-page-id]:not([hidden]) [data-whatif]")) {
      if (!started.has(block)) started.set(block, start(block));
      started.get(block)();
    }
  }
  window.addEventListener("hashchange", wake);
  wake();
})();
