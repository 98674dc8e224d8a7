// Ties the sliders of each cluster to the formulas. Every move writes the results anew; nothing leaves the page.
(function () {
  // Three significant digits, as everywhere in the report.
  function digits(value, count = 3) {
    if (Number.isNaN(value)) return "unknown";
    if (!Number.isFinite(value)) return "unbounded";
    if (value === 0) return "0";
    return value.toLocaleString("en-US", { minimumSignificantDigits: count, maximumSignificantDigits: count });
  }

  // A value that was chosen, or a whole number: as it is.
  function exact(value) {
    return Number.isNaN(value) ? "unknown" : value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
  }

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
    const places = (slider) => slider.dataset.places.split(" ").map(Number);
    const fieldOf = (slider) => slider.parentElement.querySelector("input[type=number]");

    function read() {
      const said = new FormData(form), input = Object.fromEntries(Array.from(said, ([name, value]) => [name, Number(value)]));
      return { ...input, rate: said.get("rate") };
    }

    // The scenario stands in the address behind the page: #<cluster>/<page>/gpus=4096&write=5.
    function fromAddress() {
      const [, said] = location.hash.split("#" + page.dataset.pageId + "/");
      if (page.hidden) return;
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

    // What `faultline plan` is to be asked; nothing where it would count other nodes.
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
        const field = fieldOf(slider), far = (place) => Math.abs(place - Number(field.value));
        slider.value = places(slider).reduce((best, place, at, all) => (far(place) < far(all[best]) ? at : best), 0);
        slider.setAttribute("aria-valuetext", (field.value || "none") + " " + slider.dataset.unit);
      }
      const wrong = form.querySelector("input:invalid");
      if (wrong) {
        for (const place of results) show(place.dataset.result, "unknown", wrong.validationMessage);
        return;
      }
      const input = read(), found = whatIfModel.evaluate(data, input), place = block.querySelector("[data-command]");
      place.textContent = command(place, input, found.nodes);
      const plain = (x) => digits(x), minutes = (x) => duration(x / 60), isKnown = input.rate !== "measured";
      show("ettr", digits(found.ettr), limits(found.ettr_low, found.ettr_high, plain, isKnown));
      show("probability", chance(found.probability),
        "that its ETTR is " + input.target + " or more after " + input.days + " days");
      show("mttf", duration(found.mttf_hours), limits(found.mttf_hours_low, found.mttf_hours_high, duration, isKnown));
      show("interruptions", digits(found.interruptions),
        "in " + input.days + " days; " + percent + span(found.interruptions_low, found.interruptions_high, exact));
      const isFree = input.write === 0;
      show("best", isFree ? "none" : duration(found.best_minutes / 60), isFree ? "a write that takes no time never costs"
        : "ETTR " + digits(found.ettr_best) + " with it; "
          + limits(found.best_minutes_low, found.best_minutes_high, minutes, isKnown));
      show("spares", chance(found.without_spare), input.spares === 0 ? "no spare nodes are held" : "");
      grid(input);
    }

    function grid(input) {
      const rate = whatIfModel.chosenRate(data, input.rate, input.own, input.days);
      for (const cell of block.querySelectorAll("td[data-gpus]")) {
        const perDay = rate.value * whatIfModel.nodesOf(data, Number(cell.dataset.gpus));
        const without = whatIfModel.probabilityWithoutSpare(perDay, input.repair_hours / 24, input.spares);
        const costs = { restart: input.restart, write: input.write, queue: input.queue * without };
        const ettr = whatIfModel.ettrExact(perDay, Number(cell.dataset.minutes), costs);
        cell.textContent = Number.isNaN(ettr) ? "unknown" : ettr.toFixed(3);
        cell.classList.toggle("reached", ettr >= input.target);
        cell.style.setProperty("--ettr", Number.isNaN(ettr) ? "0" : String(ettr));
      }
    }

    for (const choice of ["measured", "low", "high"]) {
      const rate = choice === "measured" ? data.value : data[choice];
      block.querySelector('[data-rate="' + choice + '"]').textContent = rate ? digits(1000 * rate) : "unknown";
    }
    form.elements.own.addEventListener("focus", () => { form.querySelector('input[value="own"]').checked = true; update(); });
    form.addEventListener("input", (event) => {
      const slider = event.target;
      if (slider.type === "range") fieldOf(slider).value = places(slider)[Number(slider.value)] || (fieldOf(slider).required ? 0 : "");
      update();
    });
    form.addEventListener("change", toAddress);
    form.addEventListener("submit", (event) => event.preventDefault());
    window.addEventListener("hashchange", fromAddress);
    fromAddress();
    block.dataset.ready = "yes";
  }

  // A block starts when it is seen, or printed: those of other clusters, on pages not shown, cost nothing.
  function startOnce(block) {
    if (!block.dataset.ready) start(block);
  }
  const blocks = Array.from(document.querySelectorAll("[data-whatif]"));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) startOnce(entry.target);
  }, { rootMargin: "3000px" });
  for (const block of blocks) seen.observe(block);
  window.addEventListener("beforeprint", () => blocks.forEach(startOnce));
})();
