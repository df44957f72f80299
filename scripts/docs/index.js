// Each result begins with its part of the documentation, which scripts/docs.sh writes into the pages.
function namePart(result) {
  // Each page of the Rust reference has the same headings, such as "Fields".
  const { part, title } = result.meta;
  result.sub_results = result.sub_results.filter((heading) => part !== "Rust" && heading.title !== title);
  result.meta = { title: `${part}: ${title}` };
  return result;
}

const search = new PagefindUI({
  element: "#search",
  showImages: false,
  showSubResults: true,
  pageSize: 8,
  autofocus: true,
  processResult: namePart,
});

// index.html?q=WORDS is a link to a search.
const words = new URLSearchParams(location.search).get("q");
if (words) {
  search.triggerSearch(words);
}
