// The list of cases: filters, pages, progress.
import { get } from "/api.js";
import { byId, counted, el, number, percent, points, said, spoken, title, visible } from "/dom.js";
import { LABEL } from "/case.js";

const CHOICES = [
  ["scenario", "Scenario", "scenarios"],
  ["recognizer", "Recognizer", "recognizers"],
  ["group", "Group", "groups"],
  ["error", "Errors", "errors"],
  ["kind", "Kind of fault", "kinds"],
];
const ERRORS = { any: "any error", empty: "nothing heard", failed: "recognizer failed", reference: "reference in doubt" };
const STATUS = { "": "all cases", unlabeled: "not labeled by me", labeled: "labeled by me", disputed: "labels differ" };
const SORTS = {
  wer: "highest WER first",
  excess: "most above clean first",
  disagreement: "most disagreement first",
  order: "order of the run",
};

export class List {
  constructor(state, choose) {
    this.state = state;
    this.choose = choose;
    this.cases = [];
    this.total = 0;
    this.first = 0;
    this.asking = null;
    byId("page-back").addEventListener("click", () => this.show(Math.max(0, this.first - state.about.page)));
    byId("page-on").addEventListener("click", () => this.show(this.first + state.about.page));
    const form = byId("filters");
    form.addEventListener("submit", (event) => event.preventDefault());
    let waiting = 0;
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { this.read(); this.show(0); }, 250);
    });
  }

  /** Build the filters of a source. */
  build() {
    const { about, source, filters } = this.state;
    const own = about.sources[source];
    const row = (name, label, options) => {
      const select = el("select", { name, id: `filter-${name}` });
      for (const [value, text] of options) select.append(el("option", { value }, text));
      select.value = filters[name] ?? options[0][0];
      if (select.selectedIndex < 0) select.selectedIndex = 0;
      return el("div", {}, el("label", { htmlFor: select.id }, label), select);
    };
    const rows = [];
    for (const [name, label, key] of CHOICES) {
      if (own[key].length < (name === "recognizer" ? 2 : 1)) continue;
      const shown = (value) => (name === "error" ? ERRORS[value] : null) ?? (name === "kind" ? spoken(value) : said(value, 70).textContent);
      rows.push(row(name, label, [["", "all"], ...own[key].map((value) => [value, shown(value)])]));
    }
    rows.push(row("status", "Labels", Object.entries(STATUS)));
    if (own.sorts.length) rows.push(row("sort", "Order", own.sorts.map((value) => [value, SORTS[value]])));
    const search = el("input", { name: "text", id: "filter-text", type: "search", maxLength: 200, value: filters.text ?? "" });
    rows.push(el("div", {}, el("label", { htmlFor: search.id }, "Words said or heard"), search));
    byId("filters").replaceChildren(...rows);
    this.read();
  }

  read() {
    const given = Object.fromEntries(new FormData(byId("filters")));
    this.state.filters = given;
    const on = Object.entries(given).filter(([name, value]) => value && name !== "sort").length;
    byId("filters-on").textContent = on ? ` (${on} on)` : "";
  }

  fields() {
    const { source, reviewer, filters } = this.state;
    return { source, reviewer, ...filters };
  }

  async show(first) {
    this.asking?.abort();
    this.asking = new AbortController();
    let page;
    try {
      page = await get("/api/cases", { ...this.fields(), first, size: this.state.about.page }, this.asking.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.state.fail(error);
      return;
    }
    this.first = first;
    this.total = page.total;
    this.cases = page.cases;
    this.draw();
    this.progress();
  }

  draw() {
    const size = this.state.about.page;
    byId("total").textContent = counted(this.total, "case", "cases");
    byId("cases").replaceChildren(...this.cases.map((one) => this.row(one)));
    byId("page-back").disabled = this.first === 0;
    byId("page-on").disabled = this.first + size >= this.total;
    const last = Math.min(this.first + size, this.total);
    byId("page-text").textContent = this.total ? `${this.first + 1}–${last}` : "";
    this.mark();
  }

  row(one) {
    const score = one.similarity !== undefined
      ? `similarity ${number(one.similarity)}`
      : one.failed ? "failed"
        : one.wer === null && one.disagreement !== null ? `differs ${percent(one.disagreement)}`
          : `WER ${percent(one.wer)}${one.excess ? ` (${points(one.excess)} points)` : ""}`;
    const label = LABEL[one.label];
    return el("li", {},
      el("button", { type: "button", class: "row", onclick: () => this.choose(one.id, true) },
        el("span", { class: "row-top" },
          el("span", { class: `dot ${one.label || "none"}`, "aria-hidden": "true" }, label ? label.mark : "○"),
          el("span", { class: "vh" }, label ? `labeled ${label.name}: ` : "not labeled: "),
          el("span", { class: "row-what" }, said(title(this.state.source, one.scenario), 60)),
          el("span", { class: "row-number" }, score)),
        el("span", { class: "row-heard" }, one.heard ? said(one.heard, 90) : one.failed ? "(no answer)" : "(nothing heard)"),
        el("span", { class: "row-who muted" }, said(one.recognizer, 30), " · ", el("span", { title: visible(one.utterance).slice(0, 500) }, said(one.utterance.split("/").pop() || one.utterance, 40)))));
  }

  /** Mark the case that is open. */
  mark() {
    const at = this.place();
    Array.from(byId("cases").children).forEach((item, number) => {
      const button = item.firstElementChild;
      if (number === at) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
  }

  place() { return this.cases.findIndex((one) => one.id === this.state.id); }

  labeled(id, label) {
    const one = this.cases.find((other) => other.id === id);
    if (one) { one.label = label; this.draw(); }
    this.progress();
  }

  /** Open the case `by` places on, on the next page where need be. */
  async step(by) {
    const size = this.state.about.page;
    let to = this.place() < 0 ? 0 : this.place() + by;
    if (to >= this.cases.length && this.first + size < this.total) {
      await this.show(this.first + size);
      to = 0;
    } else if (to < 0 && this.first > 0) {
      await this.show(Math.max(0, this.first - size));
      to = this.cases.length - 1;
    }
    if (this.cases[to] && this.cases[to].id !== this.state.id) await this.choose(this.cases[to].id, false);
    byId("cases").children[to]?.scrollIntoView({ block: "nearest" });
  }

  /** Return the id of a case of this filter that the reviewer has not labeled, other than the open one. */
  async unlabeled() {
    const fields = { ...this.fields(), status: "unlabeled", first: 0, size: 2 };
    const page = await get("/api/cases", fields);
    return page.cases.find((one) => one.id !== this.state.id)?.id ?? null;
  }

  async progress() {
    const { source, reviewer } = this.state;
    try {
      const { total, mine } = await get("/api/progress", { source, reviewer });
      byId("progress").max = Math.max(total, 1);
      byId("progress").value = mine;
      byId("progress-text").textContent = `${mine.toLocaleString("en-GB")} of ${total.toLocaleString("en-GB")} labeled by you`;
    } catch (error) { this.state.fail(error); }
  }
}
