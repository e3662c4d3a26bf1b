// Small helpers. Text of users only ever becomes text: nothing here takes markup.

/** Make an element: properties, then children (nodes or strings). */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && !key.startsWith("aria")) node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Show characters that hide or reorder what surrounds them by their code point. */
export function visible(text) {
  return String(text)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u2028\u2029]|[\u{e0000}-\u{e007f}]/gu,
      (c) => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`)
    .replace(/[\u007f-\u009f\ufffe\uffff]/g, "\ufffd");
}

/** Text of users, isolated from what stands around it; beyond `limit` characters its middle is left out. */
export function said(text, limit = 0) {
  const whole = visible(text);
  if (!limit || whole.length <= limit) return el("bdi", {}, whole);
  const characters = Array.from(whole);
  const tail = Math.floor(limit / 4);
  const short = `${characters.slice(0, limit - tail - 1).join("")}…${characters.slice(-tail).join("")}`;
  return el("bdi", { title: whole.slice(0, 2000) }, short);
}

export const byId = (id) => document.getElementById(id);

export const aloud = (text) => el("span", { class: "vh" }, text);

export function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
}

export function points(value) {
  if (value === null || value === undefined) return "–";
  const shown = Math.abs(100 * value).toFixed(0);
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${shown}`;
}

/** A number with a real minus sign. */
export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−"));

export const counted = (count, one, many) => `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`;

/** What a case is about, short: a scenario as it is, a chain of stuttering as its kinds. */
export function title(source, scenario) {
  if (source !== "stutter") return scenario;
  const kinds = new Map();
  for (const part of scenario.split(";")) {
    const kind = spoken(part.split(":")[0].trim());
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return Array.from(kinds, ([kind, count]) => (count > 1 ? `${count} × ${kind}` : kind)).join(", ") || scenario;
}

export const spoken = (name) => name.replaceAll("_", " ");

let last = 0;
/** Say a line to everybody, screen readers included. */
export function tell(text, bad = false) {
  const status = byId("status");
  status.textContent = text;
  status.classList.toggle("bad", bad);
  const own = ++last;
  if (!bad) setTimeout(() => { if (own === last) status.textContent = ""; }, 6000);
}
