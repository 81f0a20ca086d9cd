// Two pictures that answer at once. Data: play-data.js, see make_play.py.
"use strict";
const { plane, words, found, langs, rounds } = window.DEMALIB;

// ---- densities in the plane: lesson 01 in JavaScript

const X = plane.src.at, Y = plane.tgt.at, N = X.length, TAU = 2, REACH = 1.7;
const turn = ([a, b], t) => [a * Math.cos(t) - b * Math.sin(t), a * Math.sin(t) + b * Math.cos(t)];
const zipf = X.map((_, i) => 1 / (i + 1)), sum = (list) => list.reduce((a, b) => a + b, 0);
const total = sum(zipf), weight = zipf.map((w) => w / total);
const rankPrior = X.map((_, i) => { // log of the softmax over j of -|log i - log j| / tau
  const logits = Y.map((_, j) => -Math.abs(Math.log(i + 1) - Math.log(j + 1)) / TAU);
  const norm = Math.log(sum(logits.map(Math.exp)));
  return logits.map((l) => l - norm);
});

function posterior([a, b], logPrior, sigma2) { // log-density and shares of one point (Eqs. 5, 9)
  const logits = Y.map(([c, d], j) => logPrior[j] - ((a - c) ** 2 + (b - d) ** 2) / (2 * sigma2));
  const top = Math.max(...logits), parts = logits.map((l) => Math.exp(l - top)), all = sum(parts);
  return { logProb: top + Math.log(all) - Math.log(2 * Math.PI * sigma2), share: parts.map((p) => p / all) };
}

const naive = weight.map(Math.log);
const loss = (t, sigma2) => -sum(X.map((x, i) => weight[i] * posterior(turn(x, t), rankPrior[i], sigma2).logProb));

function emRound(t, sigma2) { // E-step: where each word should be; M-step: the best rotation
  let cos = 0, sin = 0;
  X.forEach((x, i) => {
    const { share } = posterior(turn(x, t), rankPrior[i], sigma2);
    const m = [0, 1].map((k) => sum(Y.map((y, j) => share[j] * y[k])));
    cos += weight[i] * (x[0] * m[0] + x[1] * m[1]);
    sin += weight[i] * (x[0] * m[1] - x[1] * m[0]);
  });
  return Math.atan2(sin, cos);
}

const box = document.getElementById("plane"), [picture, curve] = box.querySelectorAll("canvas");
const angle = document.getElementById("angle"), sigma = document.getElementById("sigma");
const said = document.getElementById("said"), rad = (degrees) => degrees * Math.PI / 180;
let hills = { sigma2: 0 }, valley = { sigma2: 0 };

function drawHills(sigma2) { // the density is drawn once for a variance
  if (hills.sigma2 === sigma2) return hills.image;
  const size = 160, small = document.createElement("canvas");
  small.width = small.height = size;
  const image = small.getContext("2d").createImageData(size, size), values = [];
  for (let r = 0; r < size; r++) for (let c = 0; c < size; c++)
    values.push(posterior([REACH * (2 * c / size - 1), REACH * (1 - 2 * r / size)], naive, sigma2).logProb);
  const top = Math.max(...values);
  values.forEach((v, k) => {
    const shade = Math.max(0, 1 + Math.floor(v - top) / 9); // one nat from shade to shade
    image.data.set([255 - 150 * shade, 255 - 75 * shade, 255 - 15 * shade, 255], 4 * k);
  });
  small.getContext("2d").putImageData(image, 0, 0);
  hills = { sigma2, image: small };
  return small;
}

function drawCurve(t, sigma2) {
  if (valley.sigma2 !== sigma2) {
    const at = Array.from({ length: 181 }, (_, k) => loss(rad(2 * k), sigma2));
    valley = { sigma2, at, low: Math.min(...at), high: Math.max(...at) };
  }
  const pen = curve.getContext("2d"), { width, height } = curve, { at, low, high } = valley;
  const place = (k, v) => [k / 180 * width, 15 + (height - 40) * (high - v) / (high - low)];
  pen.fillStyle = "#fff"; pen.fillRect(0, 0, width, height);
  pen.strokeStyle = "#0173b2"; pen.lineWidth = 2; pen.beginPath();
  at.forEach((v, k) => pen.lineTo(...place(k, v)));
  pen.stroke();
  const now = loss(t, sigma2), degrees = ((t * 180 / Math.PI) % 360 + 360) % 360;
  pen.fillStyle = "#de8f05"; pen.beginPath();
  pen.arc(...place(degrees / 2, now), 7, 0, 7); pen.fill();
  pen.fillStyle = "#333"; pen.font = "16px sans-serif";
  pen.fillText(`loss ${now.toFixed(2)} nats, lowest ${low.toFixed(2)}`, 10, height - 6);
}

function label(pen, word, u, v) { // beside the point, and inside the picture
  pen.fillText(word, Math.min(u + 7, pen.canvas.width - pen.measureText(word).width - 4), v);
}

function draw() {
  const t = rad(Number(angle.value)), sigma2 = Math.exp(Number(sigma.value));
  angle.nextElementSibling.value = `${angle.value}°`;
  sigma.nextElementSibling.value = sigma2.toFixed(3);
  const pen = picture.getContext("2d"), size = picture.width;
  const place = ([a, b]) => [(a / REACH + 1) * size / 2, (1 - b / REACH) * size / 2];
  pen.imageSmoothingEnabled = true;
  pen.drawImage(drawHills(sigma2), 0, 0, size, size);
  pen.font = "20px sans-serif";
  Y.forEach((y, j) => { const [u, v] = place(y); pen.fillStyle = "#8a4b00"; label(pen, plane.tgt.words[j], u, v - 6);
    pen.strokeStyle = "#8a4b00"; pen.beginPath(); pen.arc(u, v, 6, 0, 7); pen.stroke(); });
  let right = 0;
  X.forEach((x, i) => {
    const at = turn(x, t), [u, v] = place(at);
    const near = Y.map((y, j) => [Math.hypot(at[0] - y[0], at[1] - y[1]), j]).sort((a, b) => a[0] - b[0])[0][1];
    right += near === plane.gold[i];
    pen.fillStyle = "#0b3c5d"; pen.beginPath(); pen.arc(u, v, 4, 0, 7); pen.fill();
    label(pen, plane.src.words[i], u, v + 14);
  });
  drawCurve(t, sigma2);
  said.textContent = `${right} of ${N} words are next to their translation`;
}

function run(widths) { // one round of EM in every fourth frame of the screen
  const [first, ...rest] = widths;
  if (first === undefined) return;
  sigma.value = Math.log(first);
  const degrees = emRound(rad(Number(angle.value)), Math.exp(Number(sigma.value))) * 180 / Math.PI;
  angle.value = Math.round((degrees + 360) % 360);
  draw();
  setTimeout(() => run(rest), 60);
}
angle.addEventListener("input", draw);
sigma.addEventListener("input", draw);
document.getElementById("em").addEventListener("click", () => run(Array(25).fill(Math.exp(Number(sigma.value)))));
document.getElementById("anneal").addEventListener("click", () =>
  run([...Array(25).fill(0.5), ...Array.from({ length: 12 }, (_, k) => 0.5 * (0.01 / 0.5) ** (k / 11))]));
draw();

// ---- a walk through two languages

const answer = document.getElementById("answer"), typed = document.getElementById("word");
const rows = words.map((list) => new Map(list.map((word, row) => [word, row])));
const make = (tag, text, parent) => Object.assign(parent.appendChild(document.createElement(tag)), { textContent: text });

function show(word, side) {
  const row = rows[side].get(word), other = 1 - side, { best, cosine, rounds: earlier, near } = found[side];
  answer.replaceChildren();
  typed.value = word;
  make("h3", `${word} · ${langs[side]}, rank ${row + 1}`, answer);
  const list = make("p", `${langs[other]}: `, answer);
  best[row].forEach((at, k) => {
    const button = make("button", words[other][at], list);
    button.title = `cosine 0.${String(cosine[row][k]).padStart(2, "0")}`;
    button.addEventListener("click", () => show(words[other][at], other));
    list.append(" ");
  });
  make("p", "By round: " + rounds.map((n, k) => `${n} ${words[other][earlier[k][row]]}`).join(", ") +
    `, final ${words[other][best[row][0]]}`, answer);
  make("p", `Neighbours in ${langs[side]}: ` + near[row].map((at) => words[side][at]).join(", "), answer);
}

document.querySelector("#walk form").addEventListener("submit", (event) => {
  event.preventDefault();
  const word = typed.value.trim().toLowerCase(), side = rows[0].has(word) ? 0 : rows[1].has(word) ? 1 : -1;
  if (side >= 0) show(word, side);
  else answer.textContent = `"${word}" is not among the ${words[0].length} words of either language`;
});
show("winter", 0);
