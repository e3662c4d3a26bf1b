"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const ABOUT = {
    comprehensibility: "First listen to the original, then to the same recording after something was done to it. Rate how well the second can be understood, compared with the first.",
    realism: "One recording of each pair is of a person; the other was made by a computer. Say which one you take for real, and how sure you are.",
  };
  const CAPTIONS = {
    comprehensibility: ["First: the original", "Second: to be rated"],
    realism: ["Recording A", "Recording B"],
  };
  let state = null;
  let plays = 0;
  let ended = new Set();

  const show = (id) => {
    for (const name of ["welcome", "ask", "thanks"]) at(name).hidden = name !== id;
  };
  const fail = (text) => { at("problem").textContent = text; };

  async function call(path, body) {
    const options = body === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Voxaudit": "1" },
      body: JSON.stringify(body),
    };
    const answer = await fetch(path, options);
    if (!answer.ok) throw new Error((await answer.text()).trim() || "the server does not answer");
    return answer.json();
  }

  function group(name, legend, labels, values, className, ends) {
    const fieldset = document.createElement("fieldset");
    const title = document.createElement("legend");
    title.textContent = legend;
    fieldset.append(title);
    const grid = document.createElement("div");
    grid.className = className;
    labels.forEach((text, place) => {
      const label = document.createElement("label");
      label.className = "option";
      const input = document.createElement("input");
      input.type = "radio";
      input.name = name;
      input.value = String(values[place]);
      input.required = true;
      if (ends && place === 0) input.setAttribute("aria-label", `${text}, ${ends[0]}`);
      if (ends && place === labels.length - 1) input.setAttribute("aria-label", `${text}, ${ends[1]}`);
      const face = document.createElement("span");
      face.textContent = text;
      label.append(input, face);
      grid.append(label);
    });
    fieldset.append(grid);
    if (ends) {
      const line = document.createElement("p");
      line.className = "ends";
      line.setAttribute("aria-hidden", "true");
      for (const text of ends) {
        const end = document.createElement("span");
        end.textContent = text;
        line.append(end);
      }
      fieldset.append(line);
    }
    return fieldset;
  }

  function draw() {
    at("progress").textContent = `${state.done} of ${state.total} answered`;
    if (state.item === null) {
      show("thanks");
      at("thanks-title").focus();
      return;
    }
    show("ask");
    plays = 0;
    ended = new Set();
    at("question").textContent = state.question;
    CAPTIONS[state.kind].forEach((text, place) => { at(`caption-${"ab"[place]}`).textContent = text; });
    for (const side of ["a", "b"]) at(side).src = `/audio/${state.item}/${side}`;
    const fields = at("fields");
    fields.replaceChildren();
    if (state.kind === "comprehensibility") {
      const numbers = [];
      for (let n = state.lowest; n <= state.highest; n += 1) numbers.push(n);
      fields.append(group("rating", "Your rating", numbers.map(String), numbers, "scale",
        ["not comprehensible at all", "just as comprehensible as the original"]));
    } else {
      fields.append(group("choice", "Which one is real?", ["Recording A", "Recording B"], [0, 1], "choices"));
      fields.append(group("confidence", "How sure are you?", state.confidences, state.confidences.map((_, n) => n), "choices"));
    }
    at("hint").textContent = "Listen to both recordings to the end, then answer.";
    at("question").focus();
  }

  async function submit(event) {
    event.preventDefault();
    fail("");
    if (ended.size < 2) {
      at("hint").textContent = "Please listen to both recordings to the end first.";
      return;
    }
    const answers = Object.fromEntries([...new FormData(at("form"))].map(([name, value]) => [name, Number(value)]));
    at("next").disabled = true;
    try {
      state = await call("/api/answer", { item: state.item, plays, ...answers });
      draw();
    } catch (error) {
      fail(`Your answer could not be stored (${error.message}). Please try again.`);
    } finally {
      at("next").disabled = false;
    }
  }

  for (const side of ["a", "b"]) {
    at(side).addEventListener("play", () => {
      plays += 1;
      at(side === "a" ? "b" : "a").pause();
    });
    at(side).addEventListener("ended", () => {
      ended.add(side);
      if (ended.size === 2) at("hint").textContent = "";
    });
    at(side).addEventListener("error", () => fail("A recording cannot be played in this browser."));
  }
  at("form").addEventListener("submit", submit);
  at("start").addEventListener("click", draw);

  call("/api/state").then((found) => {
    state = found;
    if (state.done > 0 || state.item === null) {
      draw();
      return;
    }
    at("count").textContent = String(state.total);
    at("about").textContent = ABOUT[state.kind];
    show("welcome");
  }).catch((error) => fail(error.message));
})();
