"use strict";
(() => {
  const dots = [...document.querySelectorAll(".dot")];
  const pairs = [...document.querySelectorAll(".pair")];
  const findings = [...document.querySelectorAll(".finding")];
  const buttons = [...document.querySelectorAll(".legend button")];
  const about = document.getElementById("about");
  const search = document.getElementById("search");
  const code = document.getElementById("code");
  const count = document.getElementById("count");
  let chosen = "";

  function show() {
    const words = search.value.trim().toLowerCase();
    const pressed = new Set(
      buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.category)
    );
    const fits = (name) => !words || name.toLowerCase().includes(words);
    const kept = new Set();
    for (const dot of dots) {
      const { name, category } = dot.dataset;
      const keep = fits(name) && (!pressed.size || pressed.has(category));
      if (keep) kept.add(name);
      dot.classList.toggle("dim", !keep);
      dot.classList.toggle("hit", name === chosen);
    }
    for (const pair of pairs) {
      const { a, b } = pair.dataset;
      pair.classList.toggle("dim", !kept.has(a) && !kept.has(b));
      pair.classList.toggle("hit", Boolean(chosen) && (a === chosen || b === chosen));
    }
    let shown = 0;
    for (const finding of findings) {
      const { skill, other } = finding.dataset;
      const about_it = chosen ? skill === chosen || other === chosen : kept.has(skill);
      finding.hidden = !(about_it && (!code.value || finding.dataset.code === code.value));
      shown += finding.hidden ? 0 : 1;
    }
    count.textContent = String(shown);
  }

  function tell(dot) {
    const { name, category, description, findings: found } = dot.dataset;
    const near = pairs
      .filter((p) => p.dataset.a === name || p.dataset.b === name)
      .map((p) => (p.dataset.a === name ? p.dataset.b : p.dataset.a));
    const joined = near.length ? ` Easily confused with ${near.join(", ")}.` : "";
    about.textContent = `${name} (${category}, ${found} findings): ${description}${joined}`;
  }

  for (const dot of dots) {
    dot.addEventListener("mouseenter", () => tell(dot));
    dot.addEventListener("click", () => {
      chosen = chosen === dot.dataset.name ? "" : dot.dataset.name;
      tell(dot);
      show();
    });
  }
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!on));
      show();
    });
  }
  search.addEventListener("input", show);
  code.addEventListener("change", show);
})();
