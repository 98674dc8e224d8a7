// Records errors of the page, and what its policy refused, for tests and curious readers.
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
