/* Keeps the addresses of the last search's hits in this tab, for the page of a document. */

/** Remember the links of class `open` in the results, in order, once one of them is followed. */
export function keepHits(results) {
  results.addEventListener("click", (event) => {
    if (!event.target.closest("a.open")) return;
    const hits = [...new Set([...results.querySelectorAll("a.open")].map(({ href }) => href))];
    sessionStorage.setItem("hits", JSON.stringify({ results: location.href, hits }));
  });
}

export function readHits() {
  return JSON.parse(sessionStorage.getItem("hits") ?? '{"results": "", "hits": []}');
}
