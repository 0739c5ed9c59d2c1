// The live page: sends the text, plays the audio as it comes, draws waveform, phones and pitch.
"use strict";

const $ = (id) => document.getElementById(id);
const PIXELS_PER_SECOND = 160;
const state = { samples: [], rate: 24000, words: [], phones: [], seconds: 0, drawn: 0, request: null, abort: null };

function options() {
  const ssml = $("ssml").checked;
  return {
    model: "deepvoice", input: $("text").value, voice: $("voice").value || "default", ssml,
    speed: Number($("speed").value), pitch: Number($("pitch").value), volume: Number($("volume").value),
  };
}

function headers() {
  const key = $("key").value;
  return { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
}

function say(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

function setState(name) {
  document.body.dataset.state = name;
  $("speak").disabled = name === "speaking";
  $("stop").disabled = name !== "speaking" && name !== "playing";
  for (const id of ["download", "srt"]) $(id).disabled = !state.request || name === "speaking";
}

async function post(path, body, signal) {
  const answer = await fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal });
  if (!answer.ok) {
    let message = `the server answered ${answer.status}`;
    try { message = (await answer.json()).error.message; } catch { /* not an error object */ }
    throw new Error(message);
  }
  return answer;
}

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const line = block.split("\n").find((text) => text.startsWith("data: "));
      if (line) yield JSON.parse(line.slice(6));
    }
  }
}

// Plays pieces one after the other while later ones are still being made.
class Sound {
  constructor(rate) {
    this.context = new AudioContext();
    this.rate = rate;
    this.begin = this.end = this.context.currentTime + 0.1;
  }
  add(samples) {
    const buffer = this.context.createBuffer(1, samples.length, this.rate);
    buffer.copyToChannel(samples, 0);
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    if (this.end < this.context.currentTime) {
      this.begin += this.context.currentTime - this.end;
      this.end = this.context.currentTime;
    }
    source.start(this.end);
    this.end += samples.length / this.rate;
  }
  get time() { return Math.min(this.context.currentTime, this.end) - this.begin; }
  get over() { return this.context.currentTime >= this.end; }
  close() { if (this.context.state !== "closed") this.context.close(); }
}

function pcm(base64, rest) {
  const text = atob(base64);
  const bytes = new Uint8Array(rest.length + text.length);
  bytes.set(rest);
  for (let i = 0; i < text.length; i++) bytes[rest.length + i] = text.charCodeAt(i);
  const even = bytes.length & ~1;
  const view = new DataView(bytes.buffer, 0, even);
  const samples = new Float32Array(even / 2);
  for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true) / 32767;
  return [samples, bytes.slice(even)];
}

async function speak() {
  stop();
  const request = options();
  if (!request.input.trim()) { say("Write something first.", true); $("text").focus(); return; }
  Object.assign(state, { samples: [], words: [], phones: [], seconds: 0, request: null, abort: new AbortController() });
  setState("speaking");
  say("Speaking…");
  const started = performance.now();
  try {
    const body = { ...request, response_format: "pcm", sample_rate: state.rate, stream_format: "sse", timestamps: true };
    const answer = await post("/v1/audio/speech", body, state.abort.signal);
    let rest = new Uint8Array(0), piece, first = 0;
    state.sound = new Sound(state.rate);
    for await (const event of events(answer)) {
      if (event.type === "speech.audio.delta") {
        first ||= performance.now() - started;
        [piece, rest] = pcm(event.audio, rest);
        if (!piece.length) continue;
        state.samples.push(piece);
        state.seconds += piece.length / state.rate;
        state.sound.add(piece);
        if (performance.now() - state.drawn > 300) draw();
      } else if (event.type === "speech.audio.timestamps") {
        state.words.push(...event.words);
        state.phones.push(...event.phones);
        listWords(event.words);
      }
    }
    state.request = request;
    finish(first, performance.now() - started);
  } catch (error) {
    if (error.name === "AbortError") { say("Stopped."); setState("idle"); return; }
    say(error.message, true);
    setState("error");
  }
}

function finish(first, total) {
  fillTable();
  draw();
  $("player").src = URL.createObjectURL(wav());
  const seconds = state.seconds.toFixed(1);
  say(`${seconds} seconds of speech; first sound after ${Math.round(first)} ms, all of it after ${Math.round(total)} ms.`);
  $("picture").setAttribute("aria-label",
    `Waveform of ${seconds} seconds with ${state.phones.length} phones and the pitch curve; the tables below say the same`);
  setState("playing");
  follow();
}

function stop() {
  if (state.abort) state.abort.abort();
  if (state.sound) { state.sound.close(); state.sound = null; }
  $("player").pause();
}

function wav() {
  const count = state.samples.reduce((sum, piece) => sum + piece.length, 0);
  const view = new DataView(new ArrayBuffer(44 + 2 * count));
  const text = (at, letters) => [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF"); view.setUint32(4, 36 + 2 * count, true); text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true);
  view.setUint32(24, state.rate, true); view.setUint32(28, 2 * state.rate, true);
  view.setUint16(32, 2, true); view.setUint16(34, 16, true); text(36, "data"); view.setUint32(40, 2 * count, true);
  let at = 44;
  for (const piece of state.samples) for (const sample of piece) { view.setInt16(at, Math.round(sample * 32767), true); at += 2; }
  return new Blob([view], { type: "audio/wav" });
}

function listWords(words) {
  $("result").hidden = false;
  if (words[0] === state.words[0]) $("words").replaceChildren();
  for (const word of words) {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = word.text;
    button.title = `${word.start.toFixed(2)} s`;
    button.addEventListener("click", () => {
      if (!$("player").src || document.body.dataset.state === "speaking") return;
      if (state.sound) { state.sound.close(); state.sound = null; }
      $("player").currentTime = word.start;
      $("player").play();
    });
    item.append(button);
    $("words").append(item);
  }
}

function fillTable() {
  const rows = state.phones.map((phone) => {
    const row = document.createElement("tr");
    for (const value of [phone.symbol, phone.start.toFixed(3), phone.end.toFixed(3), phone.f0 ? phone.f0.toFixed(0) : "–"]) {
      const cell = document.createElement("td");
      cell.textContent = value;
      row.append(cell);
    }
    return row;
  });
  $("phones").replaceChildren(...rows);
}

function color(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function perSecond() {
  const room = $("picture").parentElement.clientWidth || 800;
  const width = Math.max(room, Math.min(16000, Math.ceil(state.seconds * PIXELS_PER_SECOND)));
  return [width, width / Math.max(state.seconds, 0.01)];
}

function draw() {
  const canvas = $("picture"), height = 240, scale = window.devicePixelRatio || 1, [width, each] = perSecond();
  canvas.width = Math.round(width * scale);
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  drawWave(pen, each, 60, 54);
  drawPhones(pen, each, 124);
  drawPitch(pen, each, 160, 70);
  state.drawn = performance.now();
}

function drawWave(pen, perSecond, middle, room) {
  const columns = Math.ceil(state.seconds * perSecond), low = new Float32Array(columns), high = new Float32Array(columns);
  let at = 0, peak = 0.05;
  for (const piece of state.samples) {
    for (let i = 0; i < piece.length; i++) {
      const x = Math.min(columns - 1, Math.floor(((at + i) / state.rate) * perSecond));
      if (piece[i] < low[x]) low[x] = piece[i];
      if (piece[i] > high[x]) high[x] = piece[i];
      peak = Math.max(peak, Math.abs(piece[i]));
    }
    at += piece.length;
  }
  pen.fillStyle = color("--wave");
  for (let x = 0; x < columns; x++) pen.fillRect(x, middle - (high[x] / peak) * room, 1, Math.max(1, ((high[x] - low[x]) / peak) * room));
}

function drawPhones(pen, perSecond, top) {
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center";
  for (const phone of state.phones) {
    if (phone.start > state.seconds) break;
    const x = phone.start * perSecond, width = (phone.end - phone.start) * perSecond;
    pen.strokeStyle = color("--line");
    pen.strokeRect(x, top, width, 22);
    pen.fillStyle = color("--ink");
    const name = phone.symbol.replace(/\d$/, "").toLowerCase();
    if (name !== "sil" && /^[a-z]+$/.test(name) && pen.measureText(name).width < width) pen.fillText(name, x + width / 2, top + 15);
  }
}

function drawPitch(pen, perSecond, top, room) {
  const voiced = state.phones.filter((phone) => phone.f0 > 0);
  if (!voiced.length) return;
  const low = Math.log(60), high = Math.log(Math.max(400, ...voiced.map((phone) => phone.f0)));
  pen.strokeStyle = color("--pitch");
  pen.lineWidth = 2.5;
  pen.beginPath();
  let last = -1;
  for (const phone of voiced) {
    if (phone.start > state.seconds) break;
    const y = top + room - ((Math.log(phone.f0) - low) / (high - low)) * room;
    const middle = ((phone.start + phone.end) / 2) * perSecond;
    if (phone.start - last > 0.12) pen.moveTo(phone.start * perSecond, y);
    pen.lineTo(middle, y);
    last = phone.end;
  }
  pen.stroke();
  pen.lineWidth = 1;
}

function mark(now) {
  $("head").hidden = now < 0;
  $("head").style.left = `${now * perSecond()[1]}px`;
  $("words").childNodes.forEach((item, i) => {
    const word = state.words[i], current = now >= word.start && now < word.end;
    item.firstChild.setAttribute("aria-current", current ? "true" : "false");
  });
}

function follow() {
  if (!state.sound) return;
  if (state.sound.over) {
    state.sound.close();
    state.sound = null;
    mark(-1);
    if (document.body.dataset.state === "playing") setState("done");
    return;
  }
  mark(state.sound.time);
  requestAnimationFrame(follow);
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function download(path, extra, name) {
  try {
    const answer = await post(path, { ...state.request, ...extra });
    save(await answer.blob(), name);
    say(`${name} has been downloaded.`);
  } catch (error) {
    say(error.message, true);
  }
}

async function listVoices() {
  try {
    const answer = await fetch("/v1/audio/voices", { headers: headers() });
    if (!answer.ok) throw new Error(answer.status === 401 ? "This server wants an API key; enter it above." : "no voices");
    const { data } = await answer.json();
    const chosen = $("voice").value;
    $("voice").replaceChildren(...data.filter((voice) => !voice.alias_of).map((voice) => new Option(voice.name, voice.id)));
    if (chosen) $("voice").value = chosen;
  } catch (error) {
    say(error.message, true);
  }
}

$("form").addEventListener("submit", (event) => { event.preventDefault(); speak(); });
$("stop").addEventListener("click", () => { stop(); say("Stopped."); setState("idle"); });
$("download").addEventListener("click", () => {
  const format = $("format").value;
  download("/v1/audio/speech", { response_format: format, stream: false }, `speech.${format}`);
});
$("srt").addEventListener("click", () => download("/v1/audio/timings", { response_format: "srt" }, "speech.srt"));
$("key").addEventListener("change", listVoices);
for (const [id, digits] of [["speed", 2], ["pitch", 1], ["volume", 2]]) {
  $(id).addEventListener("input", () => { $(`${id}-value`).textContent = Number($(id).value).toFixed(digits); });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); speak(); }
  if (event.key === "Escape" && !$("stop").disabled) $("stop").click();
});
$("player").addEventListener("timeupdate", () => { if (!state.sound) mark($("player").currentTime); });
window.addEventListener("resize", () => draw());
setState("idle");
listVoices();
