// One case: what was said and heard, two recordings, and the label.
import { get, post } from "/api.js";
import { aloud, byId, el, number, percent, points, said, spoken, tell, title } from "/dom.js";
import { Player } from "/player.js";

export const LABEL = {
  real_fault: { name: "real fault", mark: "✗", about: "the recognizer misheard what a person understands" },
  malformed: { name: "malformed", mark: "≈", about: "nobody could understand it" },
  fine: { name: "fine", mark: "✓", about: "no fault: it says the same" },
};

export class CaseView {
  constructor(state, labeled) {
    this.state = state;
    this.labeled = labeled;
    this.players = [];
    this.active = 0;
    this.shown = null;
    this.asked = 0;
  }

  async open(id, focus) {
    const asked = ++this.asked;
    const { source, reviewer } = this.state;
    // Until the case is there, no key may label the one before it.
    this.shown = null;
    byId("case").setAttribute("aria-busy", "true");
    for (const button of document.querySelectorAll("button.label")) button.disabled = true;
    let found;
    try {
      found = await get("/api/case", { source, id, reviewer });
    } catch (error) {
      if (asked === this.asked) { this.clear(); this.state.fail(error); }
      return;
    }
    if (asked !== this.asked) return;
    byId("case").removeAttribute("aria-busy");
    this.shown = found;
    this.close();
    byId("case-title").replaceChildren(said(title(source, found.scenario), 120));
    this.players = found.sides.map((side) => new Player(source, id, side, (playing) => this.only(playing)));
    this.active = this.players.length - 1;
    byId("case-body").replaceChildren(this.facts(found), this.texts(found), this.listen(found), this.form(found));
    this.drawLabels();
    if (focus) byId("case").focus({ preventScroll: window.innerWidth > 900 });
    await Promise.all(this.players.map((player) => player.load()));
    const longest = Math.max(0, ...this.players.map((player) => player.duration));
    for (const player of this.players) player.scale(longest);
  }

  close() {
    for (const player of this.players) player.remove();
    this.players = [];
  }

  clear() {
    this.asked += 1;
    this.close();
    this.shown = null;
    byId("case").removeAttribute("aria-busy");
    byId("case-title").textContent = "No case chosen";
    byId("case-body").replaceChildren();
  }

  facts(found) {
    const items = [];
    const chip = (name, value, kind = "") => items.push(el("li", { class: kind }, el("span", { class: "muted" }, `${name} `), value));
    if (found.similarity !== undefined && found.similarity !== null) chip("similarity (1: the same)", number(found.similarity), "strong");
    if (found.severity) chip("for the person", found.severity, "strong");
    if (found.wer !== undefined && found.wer !== null) chip("WER", percent(found.wer), "strong");
    if (found.excess) chip("over clean", `${points(found.excess)} points`);
    if (found.disagreement !== undefined && found.disagreement !== null) {
      chip(found.heard_by_others?.length ? "words that others heard differently" : "words heard differently in clean speech", percent(found.disagreement), "strong");
    }
    chip("heard by", said(found.recognizer, 40));
    if (found.speaker) chip("speaker", said(found.speaker, 40));
    for (const [name, value] of Object.entries(found.attributes).slice(0, 12)) chip(said(name, 30).textContent, said(value, 40));
    chip("utterance", said(found.utterance, 60));
    if (this.state.source === "stutter") chip("chain", said(found.scenario, 200));
    return el("ul", { class: "chips" }, ...items);
  }

  texts(found) {
    const rows = el("dl", { class: "texts" });
    const row = (name, value) => rows.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    const none = (text) => el("span", { class: "muted" }, `(${text})`);
    row("Said", found.said !== null ? said(found.said) : none("no reference"));
    if (found.surface && found.surface !== found.said) row("As stuttered", said(found.surface));
    if (found.sides.length > 1 || found.clean !== null) {
      row("Heard of the original", found.clean_diff ? diff(found.clean_diff) : found.clean ? said(found.clean) : none("not known"));
    }
    const disturbed = found.failure ? el("span", {}, "no answer: ", said(found.failure, 300))
      : !found.heard ? none("nothing was heard")
      : found.diff ? diff(found.diff) : said(found.heard);
    row(found.sides.length > 1 || found.clean !== null ? "Heard disturbed" : "Heard", disturbed);
    for (const other of found.heard_by_others ?? []) {
      row(`Heard by ${said(other.recognizer, 30).textContent}`, other.heard ? said(other.heard) : none("nothing was heard"));
    }
    const legend = el("p", { class: "note legend" }, "Marks: ",
      el("span", { class: "d-del" }, el("del", {}, "said, not heard")), " ",
      el("span", { class: "d-ins" }, el("ins", {}, "heard, not said")), " ",
      el("span", { class: "d-sub" }, el("del", {}, "said"), el("ins", {}, "heard instead")),
      found.against === "clean" ? ". No reference: compared with what was heard of the original." : "");
    return el("div", {}, rows, legend);
  }

  listen(found) {
    if (!this.players.length) return el("p", { class: "note" }, `No recording: ${found.silent || "none is known for this case"}.`);
    const box = el("div", { class: "players" }, ...this.players.map((player) => player.node));
    if (this.players.length < 2) return box;
    const swap = el("button", { type: "button", id: "swap", onclick: () => this.swap() }, "Swap A/B ", el("kbd", {}, "x"));
    return el("div", {}, el("p", { class: "tools" }, swap), box);
  }

  only(playing) {
    this.active = this.players.indexOf(playing);
    for (const player of this.players) if (player !== playing) player.pause();
  }

  /** Go to the other recording at the same share of its length, and play on. */
  swap() {
    if (this.players.length < 2) return;
    const from = this.players[this.active];
    this.active = 1 - this.active;
    const to = this.players[this.active];
    const share = from.duration && !from.audio.ended ? from.audio.currentTime / from.duration : 0;
    from.pause();
    to.seek(share * to.duration);
    to.play();
  }

  toggle() { this.players[this.active]?.toggle(); }
  jump(seconds) { const one = this.players[this.active]; one?.seek(one.audio.currentTime + seconds); }

  form(found) {
    const { about } = this.state;
    const buttons = about.labels.map((label, number) => el("button", {
      type: "button", class: `label ${label}`, "data-label": label, "aria-pressed": "false",
      onclick: () => this.give(label),
    }, el("kbd", {}, String(number + 1)), ` ${LABEL[label].mark} `, el("b", {}, LABEL[label].name), el("span", { class: "label-about" }, LABEL[label].about)));
    const kind = el("select", { id: "kind" }, el("option", { value: "" }, "not said"),
      ...about.kinds.map((one) => el("option", { value: one }, spoken(one))));
    kind.value = found.mine?.kind ?? found.kind ?? "";
    const comment = el("textarea", { id: "comment", rows: 2, maxLength: about.comment, value: found.mine?.comment ?? "" });
    const final = el("input", { type: "checkbox", id: "final", checked: found.mine?.final ?? false });
    for (const field of [kind, comment, final]) field.addEventListener("change", () => { if (this.shown?.mine) this.give(this.shown.mine.label); });
    return el("form", { class: "judge", autocomplete: "off", onsubmit: (event) => event.preventDefault() },
      el("fieldset", { class: "labels" }, el("legend", {}, "What is it?"),
        el("div", { class: "label-row" }, ...buttons),
        el("p", { class: "note", id: "nobody" }, "Write your name or a pseudonym at the top first.")),
      el("div", { class: "fields" },
        el("div", {}, el("label", { htmlFor: "kind" }, "Kind, if it is a real fault"), kind),
        el("div", { class: "grow" }, el("label", { htmlFor: "comment" }, "Comment"), comment)),
      el("div", { id: "settle", class: "settle", hidden: true },
        el("label", {}, final, " My label settles this case: it counts whatever the others said")),
      el("div", { class: "judge-end" },
        el("button", { type: "button", id: "next-unlabeled", onclick: () => this.state.nextUnlabeled() }, "Next unlabeled ", el("kbd", {}, "n")),
        el("button", { type: "button", id: "take-back", onclick: () => this.give("") }, "Take back ", el("kbd", {}, "0")),
        el("label", { class: "auto" }, el("input", { type: "checkbox", id: "auto", checked: this.state.auto, onchange: (event) => { this.state.auto = event.target.checked; } }), " go on after a label"),
        el("span", { id: "saved", class: "saved", role: "status", "aria-live": "polite" })),
      el("div", { id: "others" }));
  }

  drawLabels() {
    const found = this.shown;
    if (!found || !byId("settle")) return;
    const mine = found.mine;
    for (const button of document.querySelectorAll("button.label")) {
      button.setAttribute("aria-pressed", String(mine?.label === button.dataset.label));
      button.disabled = !this.state.reviewer;
    }
    byId("nobody").hidden = Boolean(this.state.reviewer);
    byId("take-back").disabled = !mine;
    byId("settle").hidden = !(found.disputed || mine?.final);
    const others = byId("others");
    others.replaceChildren();
    if (!mine) return;
    if (found.others.length) {
      others.append(el("h3", {}, "What others said"), el("ul", { class: "others" }, ...found.others.map((one) => el("li", {},
        said(one.reviewer, 60), ": ", el("b", {}, `${LABEL[one.label].mark} ${LABEL[one.label].name}`),
        one.kind ? `, ${spoken(one.kind)}` : "", one.final ? ", settles the case" : "", one.comment ? el("q", {}, said(one.comment)) : null))));
      const { label, by } = found.decision;
      others.append(el("p", { class: "note" }, label ? `Decision: ${LABEL[label].name} (${by}).` : "No decision yet: the labels are tied."));
    }
  }

  async give(label) {
    const { source, reviewer } = this.state;
    const found = this.shown;
    if (!found) return;
    if (!reviewer) { tell("Write your name or a pseudonym first.", true); byId("reviewer").focus(); return; }
    if (!label && !found.mine) return;
    const body = {
      source, id: found.id, reviewer, label,
      kind: label === "real_fault" ? byId("kind").value : "", comment: byId("comment").value, final: !byId("settle").hidden && byId("final").checked,
    };
    let answer;
    try {
      answer = await post("/api/label", body);
    } catch (error) {
      byId("saved").textContent = "";
      tell(`Not saved: ${error.message}`, true);
      return;
    }
    const fresh = !found.mine;
    Object.assign(found, { mine: answer.mine, others: answer.others, disputed: answer.disputed, decision: answer.decision });
    this.labeled(found.id, label);
    if (this.shown !== found) return;
    this.drawLabels();
    byId("saved").textContent = label ? `Saved: ${LABEL[label].name}` : "Label taken back";
    if (label && fresh && this.state.auto) this.state.nextUnlabeled();
  }
}

/** Words with marks that are seen without color (strike, underline, signs) and read aloud. */
function diff(rows) {
  const box = el("p", { class: "diff" });
  for (const [kind, was, now] of rows.slice(0, 600)) {
    if (box.childNodes.length) box.append(" ");
    if (kind === "delete") box.append(el("span", { class: "d-del" }, aloud("missed: "), el("del", {}, said(was, 80))));
    else if (kind === "insert") box.append(el("span", { class: "d-ins" }, aloud("added: "), el("ins", {}, said(now, 80))));
    else if (kind === "substitute") {
      box.append(el("span", { class: "d-sub" }, aloud("said: "), el("del", {}, said(was, 80)), aloud(" heard: "), el("ins", {}, said(now, 80))));
    } else box.append(said(now, 80));
  }
  if (rows.length > 600) box.append(el("span", { class: "muted" }, ` and ${rows.length - 600} more words`));
  return box;
}
