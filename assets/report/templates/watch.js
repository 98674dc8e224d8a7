// Writes down what went wrong on the page, and what its policy refused, where a test or a curious reader finds it.
(function () {
  const problems = [];
  function note(problem) {
    problems.push(String(problem));
    document.documentElement.dataset.problems = problems.join(" | ");
  }
  window.addEventListener("error", (event) => note(event.message));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));
  document.addEventListener("securitypolicyviolation", (event) => note(event.violatedDirective + " " + event.blockedURI));
})();
