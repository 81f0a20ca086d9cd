// Tables of the class "sortable": a click on a heading sorts by it, a second click the other way round.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    table.querySelectorAll("thead th").forEach((head, column) => {
      head.tabIndex = 0;
      const sort = () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const text = (row) => row.cells[column].textContent.trim();
        const compare = (a, b) => {
          if (text(a) === "" || text(b) === "") return (text(a) === "") - (text(b) === ""); // empty last
          const numbers = [Number(text(a)), Number(text(b))];
          const order = numbers.some(Number.isNaN) ? text(a).localeCompare(text(b)) : numbers[0] - numbers[1];
          return down ? -order : order;
        };
        body.append(...[...body.rows].sort(compare));
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
    });
  }
});
