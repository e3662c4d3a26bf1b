// A recording to hear and to see: play, seek, waveform, spectrogram.
import { address, get } from "/api.js";
import { el } from "/dom.js";

const NAMES = { original: "Original", changed: "Disturbed" };

const clock = (seconds) => `${seconds.toFixed(1)} s`;

export class Player {
  constructor(source, id, side, onplay) {
    this.side = side;
    this.name = NAMES[side];
    this.fields = { source, id, side };
    this.wave = null;
    this.audio = el("audio", { preload: "auto", src: address("/api/audio", this.fields) });
    this.button = el("button", { type: "button", class: "play", "aria-label": `Play ${this.name.toLowerCase()}` }, "▶");
    this.slider = el("input", {
      type: "range", min: 0, max: 1, step: 0.01, value: 0, class: "seek", "aria-label": `Position in ${this.name.toLowerCase()}, seconds`,
    });
    this.time = el("span", { class: "time" }, "0.0 s");
    this.canvas = el("canvas", { class: "waveform", role: "img", "aria-label": `Waveform of the ${this.name.toLowerCase()}` });
    this.image = el("img", {
      class: "spectrogram", src: address("/api/spectrogram", this.fields), alt: `Spectrogram of the ${this.name.toLowerCase()}, from 0 to 8 kHz`, draggable: false,
    });
    this.head = el("div", { class: "playhead", "aria-hidden": "true" });
    this.pictures = el("div", { class: "pictures" }, this.canvas, this.image, this.head);
    this.about = el("p", { class: "note" });
    this.node = el("section", { class: "player", "aria-label": this.name },
      el("header", {}, this.button, el("h3", {}, this.name), this.time, this.slider),
      el("div", { class: "stage" }, this.pictures), this.about);
    this.button.addEventListener("click", () => this.toggle());
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    this.pictures.addEventListener("pointerdown", (event) => {
      const box = this.pictures.getBoundingClientRect();
      this.seek(((event.clientX - box.left) / box.width) * this.duration);
    });
    this.audio.addEventListener("play", () => { this.shown(); onplay(this); this.follow(); });
    for (const event of ["pause", "ended", "seeked", "loadedmetadata"]) this.audio.addEventListener(event, () => this.shown());
    this.audio.addEventListener("error", () => { this.button.disabled = true; });
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.pictures);
  }

  get duration() { return this.wave?.duration || this.audio.duration || 0; }
  get playing() { return !this.audio.paused && !this.audio.ended; }

  async load() {
    try {
      this.wave = await get("/api/wave", this.fields);
    } catch (error) {
      this.node.classList.add("silent");
      this.about.textContent = `Cannot be played: ${error.message}`;
      this.button.disabled = this.slider.disabled = true;
      this.image.remove();
      this.canvas.remove();
      return;
    }
    const { duration, rate, peak, top, edits } = this.wave;
    this.slider.max = duration;
    this.canvas.setAttribute("aria-label", `Waveform of the ${this.name.toLowerCase()}: ${clock(duration)}, peak ${Math.round(100 * peak)} % of full scale`);
    this.image.alt = `Spectrogram of the ${this.name.toLowerCase()}, from 0 to ${(top / 1000).toFixed(0)} kHz`;
    const changes = edits.map(([first, last, what]) => `${what.replaceAll("_", " ")} at ${first.toFixed(2)}–${last.toFixed(2)} s`);
    this.about.textContent = [`${clock(duration)}, ${rate} Hz`, peak > 1 ? "louder than full scale: clipped when played here" : "", ...changes].filter(Boolean).join(" · ");
    this.draw();
    this.shown();
  }

  /** Share one scale of time with the other recording: equal lengths look equal. */
  scale(longest) {
    if (this.wave && longest > 0) this.pictures.style.width = `${(100 * this.duration) / longest}%`;
  }

  toggle() { if (this.playing) this.audio.pause(); else this.play(); }
  play() { return this.audio.play().catch(() => undefined); }
  pause() { this.audio.pause(); }

  seek(seconds) {
    this.audio.currentTime = Math.min(Math.max(seconds, 0), Math.max(this.duration - 0.01, 0));
    this.shown();
  }

  shown() {
    const at = this.audio.currentTime;
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", `${this.playing ? "Pause" : "Play"} ${this.name.toLowerCase()}`);
    this.time.textContent = clock(at);
    if (document.activeElement !== this.slider || this.playing) this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", clock(at));
    this.head.style.left = `${this.duration ? (100 * at) / this.duration : 0}%`;
  }

  follow() {
    if (!this.playing || !this.node.isConnected) return;
    this.shown();
    requestAnimationFrame(() => this.follow());
  }

  draw() {
    if (!this.wave || !this.canvas.isConnected) return;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.canvas.width = width;
    this.canvas.height = height;
    const brush = this.canvas.getContext("2d");
    const colors = getComputedStyle(this.canvas);
    const { low, high, edits, duration } = this.wave;
    brush.fillStyle = colors.getPropertyValue("--warn-soft");
    brush.strokeStyle = colors.getPropertyValue("--warn");
    brush.lineWidth = ratio;
    for (const [first, last] of edits) {
      const left = (first / duration) * width, right = (last / duration) * width;
      brush.fillRect(left, 0, right - left, height);
      for (const edge of [left, right]) {
        brush.setLineDash([4 * ratio, 3 * ratio]);
        brush.beginPath(); brush.moveTo(edge, 0); brush.lineTo(edge, height); brush.stroke();
      }
    }
    brush.setLineDash([]);
    const loudest = Math.max(1e-4, ...high.map(Math.abs), ...low.map(Math.abs));
    const middle = height / 2, reach = (0.95 * middle) / loudest;
    brush.fillStyle = colors.getPropertyValue("--s0");
    const step = width / low.length;
    for (let n = 0; n < low.length; n += 1) {
      const top = middle - high[n] * reach;
      const left = Math.floor(n * step);
      brush.fillRect(left, top, Math.max(Math.floor((n + 1) * step) - left, 1), Math.max((high[n] - low[n]) * reach, ratio));
    }
  }

  remove() {
    this.pause();
    this.resized.disconnect();
    this.audio.removeAttribute("src");
    this.audio.load();
  }
}
