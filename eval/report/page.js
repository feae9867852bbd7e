"use strict";
(() => {
  const field = (id) => document.getElementById(id);
  const [who, what, kind, text] = ["who", "what", "kind", "text"].map(field);
  const articles = [...document.querySelectorAll(".mistake")];
  const words = articles.map((article) => article.textContent.toLowerCase());
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    articles.forEach((article, at) => {
      const made = article.dataset.mistakes.split(" ").map((each) => each.split(":"));
      const visible =
        made.some(([w, v]) => (!who.value || w === who.value) && (!what.value || v === what.value)) &&
        (!kind.value || article.dataset.kind === kind.value) &&
        words[at].includes(wanted);
      article.hidden = !visible;
      shown += visible ? 1 : 0;
    });
    field("shown").value = `${shown} of ${articles.length}`;
  };
  [who, what, kind].forEach((each) => each.addEventListener("change", apply));
  text.addEventListener("input", apply);
  field("filters").addEventListener("submit", (event) => event.preventDefault());
  apply(); // a browser may have kept the fields of an earlier visit
})();
