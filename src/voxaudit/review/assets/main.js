// The page: state, views, keys.
import { get } from "/api.js";
import { showAgreement } from "/agreement.js";
import { CaseView } from "/case.js";
import { byId, el, tell, visible } from "/dom.js";
import { List } from "/list.js";

const VIEWS = { trials: "Trials", stutter: "Stutter queue", agreement: "Agreement and export" };
const FILTERS = ["scenario", "recognizer", "group", "error", "kind", "status", "sort", "text"];

function remembered(store, key) {
  try { return store.getItem(key) ?? ""; } catch { return ""; }
}
function remember(store, key, value) {
  try { store.setItem(key, value); } catch { /* a page without storage forgets */ }
}

const state = {
  about: null, view: "", source: "", id: "", reviewer: "", filters: {},
  get auto() { return remembered(localStorage, "voxaudit-auto") === "yes"; },
  set auto(on) { remember(localStorage, "voxaudit-auto", on ? "yes" : "no"); },
  fail(error) { tell(error.message, true); },
  nextUnlabeled,
};
const view = new CaseView(state, (id, label) => list.labeled(id, label));
let list;

async function choose(id, focus) {
  state.id = id;
  list.mark();
  keep();
  await view.open(id, focus);
}

async function nextUnlabeled() {
  try {
    const id = await list.unlabeled();
    if (id === null) { tell("No case of this list is left that you have not labeled."); return; }
    await choose(id, matchMedia("(max-width: 900px)").matches);
    if (list.place() < 0) await list.show(list.first);
  } catch (error) { state.fail(error); }
}

/** Keep what is open in the address, so that a reload or a second tab shows the same. */
function keep() {
  const fields = { view: state.view, id: state.id, ...Object.fromEntries(FILTERS.map((name) => [name, state.filters[name] ?? ""])) };
  const kept = Object.entries(fields).filter(([, value]) => value);
  history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
}

async function show(name, id = "") {
  state.view = name;
  view.clear();
  const agreement = name === "agreement";
  for (const button of byId("views").querySelectorAll("button")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  byId("review").hidden = agreement;
  byId("agreement").hidden = !agreement;
  if (agreement) {
    keep();
    await showAgreement(state);
    return;
  }
  state.source = name;
  state.id = id;
  list.build();
  await list.show(0);
  const first = id || list.cases[0]?.id;
  if (first) await choose(first, false);
  else keep();
}

function setReviewer(name) {
  state.reviewer = name;
  byId("reviewer").value = name;
  byId("who").classList.toggle("unnamed", !name);
  remember(sessionStorage, "voxaudit-reviewer", name);
}

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  const dark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  byId("theme").setAttribute("aria-pressed", String(dark));
  for (const player of view.players) player.draw();
}

const KEYS = {
  " ": () => view.toggle(),
  x: () => view.swap(),
  ArrowLeft: () => view.jump(-0.5),
  ArrowRight: () => view.jump(0.5),
  0: () => view.give(""),
  1: () => view.give(state.about.labels[0]),
  2: () => view.give(state.about.labels[1]),
  3: () => view.give(state.about.labels[2]),
  j: () => list.step(1),
  k: () => list.step(-1),
  n: () => nextUnlabeled(),
  "?": () => byId("help").showModal(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const inside = event.target instanceof Element ? event.target : document.body;
  if (inside.closest("input, textarea, select, [contenteditable]")) return;
  if (event.key === " " && inside.closest("button, a, summary")) return;
  if (byId("review").hidden && event.key !== "?") return;
  const act = KEYS[event.key];
  if (!act || event.repeat && !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  act();
}

async function start() {
  theme(remembered(localStorage, "voxaudit-theme"));
  state.about = await get("/api/about");
  const { about } = state;
  document.title = `${visible(about.name)} · voxaudit review`;
  byId("name").textContent = visible(about.name);
  byId("reviewers").replaceChildren(...about.reviewers.map((name) => el("option", { value: name })));
  setReviewer(remembered(sessionStorage, "voxaudit-reviewer") || about.reviewer);
  const names = [...Object.keys(about.sources), "agreement"];
  byId("views").replaceChildren(...names.map((name) => el("li", {}, el("button", {
    type: "button", "data-view": name, onclick: () => { state.filters = {}; show(name); },
  }, VIEWS[name], about.sources[name] ? el("span", { class: "count" }, ` ${about.sources[name].total.toLocaleString("en-GB")}`) : null))));
  byId("who").addEventListener("submit", async (event) => {
    event.preventDefault();
    setReviewer(byId("reviewer").value.replace(/\s+/g, " ").trim());
    tell(state.reviewer ? `Labels are now kept under ${visible(state.reviewer)}.` : "");
    if (state.view !== "agreement") {
      await list.show(list.first);
      if (state.id) await view.open(state.id, Boolean(state.reviewer)); // out of the field: keys label from here on
    }
  });
  byId("theme").addEventListener("click", () => {
    const name = byId("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark";
    remember(localStorage, "voxaudit-theme", name);
    theme(name);
  });
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  document.addEventListener("keydown", pressed);
  list = new List(state, choose);
  byId("filters-box").open = matchMedia("(min-width: 901px)").matches;
  const kept = new URLSearchParams(location.hash.slice(1));
  state.filters = Object.fromEntries(FILTERS.filter((name) => kept.has(name)).map((name) => [name, kept.get(name)]));
  const wanted = kept.get("view");
  // The queue of suspicious cases is what waits for people; a run alone shows its trials.
  const usual = about.sources.stutter ? "stutter" : names[0];
  await show(names.includes(wanted) ? wanted : usual, names.includes(wanted) ? kept.get("id") ?? "" : "");
}

start().catch((error) => tell(error.message, true));
