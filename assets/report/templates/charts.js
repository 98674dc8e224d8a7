// Draws every chart of the page; a chart that cannot be drawn says so and points to its table.
(function () {
  const specs = Array.from(document.querySelectorAll("script[data-chart]"));
  // The interpreter (ast) replaces generated code, so that the page's policy can forbid eval.
  const options = { mode: "vega-lite", actions: false, renderer: "svg", ast: true };
  const drawn = specs.map((spec) => {
    const target = document.getElementById(spec.dataset.chart);
    return vegaEmbed(target, JSON.parse(spec.textContent), options).catch((error) => {
      target.textContent = "This chart could not be drawn (" + error.message + "). Its numbers stand in the table.";
      Promise.reject(error);
    });
  });
  Promise.all(drawn).then(() => {
    document.documentElement.dataset.charts = String(document.querySelectorAll(".chart svg").length);
  });
})();
