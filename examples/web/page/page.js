// The page around the canvas. Parameters of the address:
//   scene=pile|clusters|city|robots   n=20000   engine=cpu   check (compares the engines, then shows the scene)
import init, { CpuView, check, show } from "./broadsweep_web.js";

const asked = new URLSearchParams(location.search);
const element = (id) => document.getElementById(id);
const canvas = element("canvas");

// The state that scripts/check_web.py reads.
const outcome = { errors: [], lines: [], status: "", frames: 0, firstPairs: null };
window.broadsweep = outcome;
const original = console.error;
console.error = (...what) => {
  outcome.errors.push(what.map(String).join(" "));
  original(...what);
};
addEventListener("error", (event) => outcome.errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => outcome.errors.push(String(event.reason)));

function say(text) {
  outcome.status = text;
  element("status").textContent = text;
}

function notice(text) {
  element("notice").textContent = text;
  element("notice").hidden = false;
}

function otherEngine(name, engine) {
  const other = new URLSearchParams(asked);
  if (engine) other.set("engine", engine);
  else other.delete("engine");
  element("other").textContent = name;
  element("other").href = `?${other}`;
}

// Returns the reason why there is no WebGPU; empty if there is.
async function missing() {
  if (!navigator.gpu) {
    const reason = window.isSecureContext
      ? "This browser has no WebGPU."
      : "WebGPU needs a page over https or from this machine.";
    return `${reason} Chrome and Edge have it since 113 (on Linux since 144), Safari since 26, Firefox since 141 on Windows and 145 on Macs.`;
  }
  if (!(await navigator.gpu.requestAdapter())) {
    return "This browser has WebGPU, but finds no GPU that it supports.";
  }
  return "";
}

// Shows boxes on the CPU engine, drawn on a plain canvas.
function showOnCpu(count) {
  let view = null;
  const output = element("size").querySelector("output");
  const start = (n) => {
    const next = new CpuView(canvas, n);
    view?.free();
    view = next;
    output.textContent = n.toLocaleString("en");
  };
  const fit = () => {
    canvas.width = Math.max(1, canvas.clientWidth);
    canvas.height = Math.max(1, canvas.clientHeight);
  };
  new ResizeObserver(fit).observe(canvas);
  fit();
  start(count);
  element("size").hidden = false;
  element("count").value = count;
  element("count").addEventListener("change", (event) => start(Number(event.target.value)));
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons) view.turn(event.movementX / canvas.clientHeight, event.movementY / canvas.clientHeight);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoom(event.deltaY > 0 ? 1.1 : 0.9);
  });
  let last = performance.now();
  const frame = (time) => {
    view.frame((time - last) / 1000);
    last = time;
    outcome.frames += 1;
    if (outcome.frames % 15 === 1) say(view.status());
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

// Shows frames on the GPU.
function showOnGpu(scene, count) {
  const bar = element("progress");
  show(canvas, scene, count, (text, part) => {
    say(text);
    bar.hidden = !(part <= 1);
    if (part <= 1) bar.value = part;
    // Milliseconds since navigation.
    if (part > 1) outcome.firstPairs ??= performance.now();
    if (part > 1) outcome.frames += 1;
    if (Number.isNaN(part)) notice(`There are no frames: ${text}`);
  });
}

async function compare() {
  const report = element("report");
  report.hidden = false;
  report.textContent = "";
  const line = (text) => {
    outcome.lines.push(text);
    report.textContent += `${text}\n`;
    report.scrollTop = report.scrollHeight;
  };
  element("check").disabled = true;
  try {
    const count = await check(line);
    line(`${count} comparisons, all the same`);
  } catch (error) {
    outcome.errors.push(String(error));
    line(String(error));
  }
  element("check").disabled = false;
}

// Returns the box count of the address, at most `most`.
function boxes(otherwise, most) {
  const n = Math.round(Number(asked.get("n")));
  return n > 0 ? Math.min(n, most) : otherwise;
}

async function main() {
  const [reason] = await Promise.all([missing(), init()]);
  if (reason) notice(`${reason} The CPU engine finds these pairs, on one thread.`);
  if (reason || asked.get("engine") === "cpu") {
    if (!reason) otherEngine("on the GPU", "");
    showOnCpu(boxes(3000, 12000));
    return;
  }
  otherEngine("on the CPU", "cpu");
  element("check").hidden = false;
  element("check").addEventListener("click", compare);
  if (asked.has("check")) {
    say("comparing the engines");
    await compare();
  }
  showOnGpu(asked.get("scene") ?? "pile", boxes(5000, 1_000_000));
}

main().catch((error) => {
  outcome.errors.push(String(error));
  say(String(error));
});
