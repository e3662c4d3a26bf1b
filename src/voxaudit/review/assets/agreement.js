// How far the reviewers agree, and the labels as files.
import { get } from "/api.js";
import { byId, counted, el, number, percent, said } from "/dom.js";

const NAMES = { trials: "Trials", stutter: "Stutter queue" };

function panel(source, found) {
  const box = el("section", { class: "card" }, el("h3", {}, NAMES[source]));
  if (!found.cases) {
    box.append(el("p", { class: "muted" }, "No labels yet."));
    return box;
  }
  const { kappa } = found;
  const limits = kappa.low === null || kappa.low === undefined ? "" : `95 %: ${number(kappa.low)} to ${number(kappa.high)}`;
  box.append(
    el("p", { class: "big" },
      el("span", { class: "num" }, kappa.value === null ? "–" : number(kappa.value)),
      el("span", { class: "what" }, kappa.refusal ? `Fleiss’ kappa: ${kappa.refusal}` : `Fleiss’ kappa over ${kappa.cases} cases of two reviewers or more${limits ? ` (${limits})` : ""}`)),
    el("p", {}, `${counted(found.cases, "case", "cases")} labeled, ${found.open} of them without a decision. `,
      found.false_positives.rate === null ? "" : `Of the ${found.false_positives.labeled} decided, ${percent(found.false_positives.rate)} were no fault of the recognizer (95 %: ${percent(found.false_positives.low)} to ${percent(found.false_positives.high)}).`));
  if (found.pairs.length) {
    const rows = found.pairs.map((pair) => el("tr", {},
      el("th", { scope: "row" }, said(pair.first, 40), " and ", said(pair.second, 40)),
      el("td", { class: "n" }, String(pair.cases)),
      el("td", { class: "n" }, pair.share === null ? "–" : `${percent(pair.share)} (${percent(pair.low)} to ${percent(pair.high)})`),
      el("td", { class: "n" }, number(pair.kappa))));
    const head = ["Reviewers", "Cases of both", "Agree on (95 %)", "Cohen’s kappa"].map((text, at) => el("th", { scope: "col", class: at ? "n" : "" }, text));
    box.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Agreement by pair, ${NAMES[source]}` },
      el("table", {}, el("caption", {}, "Pair by pair"), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))));
  }
  return box;
}

export async function showAgreement(state) {
  const body = byId("agreement-body");
  try {
    const names = Object.keys(state.about.sources);
    const found = await Promise.all(names.map((source) => get("/api/agreement", { source })));
    body.replaceChildren(
      el("div", { class: "cards" }, ...names.map((name, at) => panel(name, found[at]))),
      el("section", { class: "card" }, el("h3", {}, "Labels as a file"),
        el("p", { class: "tools" },
          el("a", { class: "button", href: "/api/export?format=csv", download: "labels.csv" }, "labels.csv"), " ",
          el("a", { class: "button", href: "/api/export?format=jsonl", download: "labels.jsonl" }, "labels.jsonl")),
        state.about.sources.stutter ? el("p", { class: "note" }, "When the review ends, decided labels of the stutter queue are written into its suspicious.jsonl, where the audit and the report find them.") : null));
  } catch (error) { state.fail(error); }
}
