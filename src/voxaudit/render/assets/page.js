"use strict";
(() => {
  const make = (name, props = {}, ...children) => {
    const node = Object.assign(document.createElement(name), props);
    node.append(...children);
    return node;
  };
  const root = document.documentElement;
  const THEMES = ["system", "light", "dark"];
  const remember = (theme) => { try { localStorage.setItem("voxaudit-theme", theme); } catch { /* not allowed here */ } };
  const remembered = () => { try { return localStorage.getItem("voxaudit-theme"); } catch { return null; } };
  const wear = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme; else delete root.dataset.theme;
  };
  let theme = THEMES.includes(remembered()) ? remembered() : "system";
  wear(theme);

  function themeButton() {
    const button = make("button", { type: "button", className: "theme" });
    const name = () => { button.textContent = `Theme: ${theme}`; };
    name();
    button.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      wear(theme);
      remember(theme);
      name();
    });
    document.querySelector(".inside").append(button);
  }

  function contents() {
    const details = document.querySelector(".toc details");
    const phone = matchMedia("(max-width: 900px)");
    const fold = () => { details.open = !phone.matches; };
    fold();
    phone.addEventListener("change", fold);
    const links = new Map([...details.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
    details.addEventListener("click", (event) => { if (phone.matches && event.target.closest("a")) details.open = false; });
    if (!("IntersectionObserver" in window)) return;
    const seen = new Set();
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
      const current = [...links.keys()].find((id) => seen.has(id));
      if (current === undefined) return;
      for (const [id, link] of links) id === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    }, { rootMargin: "-10% 0px -60% 0px" });
    for (const id of links.keys()) watcher.observe(document.getElementById(id));
  }

  // What a spreadsheet would take for a formula starts with a quotation mark; numbers stay numbers.
  const csvCell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value !== "string") return String(value);
    const safe = /^\s*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = ({ names, rows }) => {
    const flat = (value) => (Array.isArray(value) ? value.join(" ") : value);
    return [names, ...rows].map((line) => line.map((value) => csvCell(flat(value))).join(",")).join("\r\n") + "\r\n";
  };
  const download = (name, content) => {
    const address = URL.createObjectURL(new Blob(["\ufeff", content], { type: "text/csv;charset=utf-8" }));
    const link = make("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };

  const INFINITE = { inf: Infinity, "-inf": -Infinity };
  const order = (value) => (value === null ? null : INFINITE[value] ?? value);
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  const PAGE = 100;

  function enhance(box) {
    const data = JSON.parse(box.querySelector("script[type='application/json']").textContent);
    const table = box.querySelector("table");
    const body = table.tBodies[0];
    const paged = data.shown !== undefined;
    const still = paged || !data.rows.length ? [] : [...body.rows];
    const texts = paged ? data.shown.map((row) => row.join(" ").toLowerCase()) : still.map((row) => row.textContent.toLowerCase());
    let sequence = data.rows.map((_, place) => place);
    let wanted = "";
    let first = 0;
    box.querySelector("[data-without-script]")?.remove();

    const rowOf = (place) => {
      if (!paged) return still[place];
      const row = make("tr");
      data.shown[place].forEach((value, at) => {
        const number = data.columns[at][1];
        const cell = make(at === 0 && !number ? "th" : "td", { className: number ? "n" : value.length <= 24 ? "s" : "" });
        if (cell.tagName === "TH") cell.scope = "row";
        const short = value.length > 360;
        const bdi = make("bdi", { textContent: short ? `${value.slice(0, 359)}…` : value });
        if (short) bdi.title = value;
        cell.append(bdi);
        row.append(cell);
      });
      return row;
    };

    const count = make("span", { className: "count" });
    count.setAttribute("role", "status");
    const back = make("button", { type: "button", textContent: "Previous rows" });
    const next = make("button", { type: "button", textContent: "Next rows" });
    const show = () => {
      const found = sequence.filter((place) => texts[place].includes(wanted));
      first = Math.min(first, Math.max(0, found.length - 1));
      first -= first % PAGE;
      const page = paged ? found.slice(first, first + PAGE) : found;
      body.replaceChildren(...page.map(rowOf));
      const total = data.rows.length.toLocaleString("en");
      if (paged) {
        const range = found.length ? `${(first + 1).toLocaleString("en")} to ${(first + page.length).toLocaleString("en")} of ` : "";
        count.textContent = `${range}${found.length.toLocaleString("en")} rows` + (wanted ? ` (${total} in all)` : "");
        back.disabled = first === 0;
        next.disabled = first + PAGE >= found.length;
      } else if (wanted) count.textContent = `${found.length.toLocaleString("en")} of ${total} rows`;
      else count.textContent = data.rows.length === 1 ? "1 row" : `${total} rows`;
    };
    back.addEventListener("click", () => { first = Math.max(0, first - PAGE); show(); });
    next.addEventListener("click", () => { first += PAGE; show(); });

    const heads = [...table.tHead.rows[0].cells];
    if (data.rows.length > 1 && !table.classList.contains("stack")) heads.forEach((head, at) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keys = data.rows.map((row) => order(row[data.columns[at][0]]));
        // What is missing stays last, whichever way.
        sequence.sort((a, b) => (keys[a] === null || keys[b] === null
          ? (keys[a] === null) - (keys[b] === null)
          : (down ? -1 : 1) * compare(keys[a], keys[b])) || a - b);
        first = 0;
        show();
      });
    });

    const tools = make("div", { className: "tools" });
    if (data.rows.length > 10) {
      const input = make("input", { type: "search", autocomplete: "off", spellcheck: false });
      input.addEventListener("input", () => { wanted = input.value.trim().toLowerCase(); first = 0; show(); });
      tools.append(make("label", {}, "Filter", input));
    }
    tools.append(count);
    if (paged) tools.append(back, next);
    const save = make("button", { type: "button", textContent: "Download CSV" });
    const name = String(data.file).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "").slice(0, 80) || "table";
    save.addEventListener("click", () => download(`${name}.csv`, csv(data)));
    tools.append(save);
    box.prepend(tools);
    if (data.rows.length) show();
  }

  // A table is made ready when it comes near the window, or its fold opens: a large report opens at once.
  function tables() {
    const boxes = document.querySelectorAll("[data-table]");
    if (!("IntersectionObserver" in window)) return boxes.forEach(enhance);
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        enhance(entry.target);
      }
    }, { rootMargin: "600px" });
    boxes.forEach((box) => watcher.observe(box));
  }

  // Heat maps beside each other show the same measure.
  function switches() {
    document.addEventListener("change", (event) => {
      const pair = event.target.closest(".switch") && event.target.closest(".pair");
      if (!pair) return;
      for (const other of pair.querySelectorAll(`input.${event.target.className}`)) other.checked = true;
    });
  }

  function sounds() {
    document.addEventListener("play", (event) => {
      for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
    }, true);
  }

  // Paper has what the page says; long lists of numbers only where the reader has opened them.
  function printing() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details:not([open], .numbers)")];
      for (const details of opened) details.open = true;
    });
    addEventListener("afterprint", () => { for (const details of opened) details.open = false; });
  }

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    contents();
    tables();
    switches();
    sounds();
    printing();
  });
})();
