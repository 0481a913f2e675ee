// Written answers, one after another. What is given stays in this browser until it is
// saved to a file, which `make grade` reads.
"use strict";
const answers = [...document.querySelectorAll("article")];
const shelf = "points " + document.body.dataset.run;
const given = JSON.parse(localStorage.getItem(shelf) || "{}");
let at = 0;

const key = (one) => JSON.stringify([one.dataset.student, one.dataset.lesson,
  one.dataset.cell, one.dataset.digest]);
const field = (one, name) => one.querySelector(`[name=${name}]`);

function keep(one) {
  const points = field(one, "points").value;
  const comment = field(one, "comment").value;
  if (points === "" && comment === "") delete given[key(one)];
  else given[key(one)] = { points, comment };
  localStorage.setItem(shelf, JSON.stringify(given));
  count();
}

function count() {
  const done = answers.filter((one) => field(one, "points").value !== "").length;
  document.querySelector("#count").textContent =
    `${at + 1} of ${answers.length}, ${done} read`;
}

function show(number) {
  at = Math.min(Math.max(number, 0), answers.length - 1);
  answers.forEach((one, place) => { one.hidden = place !== at; });
  document.activeElement?.blur();
  window.scrollTo(0, 0);
  count();
}

function give(points) {
  const one = answers[at];
  const input = field(one, "points");
  if (points > Number(input.max)) return;
  input.value = points;
  keep(one);
}

function half() {
  const value = Number(field(answers[at], "points").value) + 0.5;
  give(value);
}

function names() {
  document.body.classList.toggle("named");
}

function save() {
  const rows = answers.filter((one) => field(one, "points").value !== "").map((one) => ({
    student: one.dataset.student, lesson: one.dataset.lesson, cell: one.dataset.cell,
    digest: one.dataset.digest, points: Number(field(one, "points").value),
    comment: field(one, "comment").value,
  }));
  const link = document.createElement("a");
  const text = JSON.stringify(rows, null, 1);
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "points.json";
  link.click();
  URL.revokeObjectURL(link.href);
}

for (const one of answers) {
  const kept = given[key(one)];
  if (kept) {
    field(one, "points").value = kept.points;
    field(one, "comment").value = kept.comment;
  }
  one.addEventListener("input", () => keep(one));
}

const keys = {
  ArrowRight: () => show(at + 1), j: () => show(at + 1),
  ArrowLeft: () => show(at - 1), k: () => show(at - 1),
  c: () => field(answers[at], "comment").focus(),
  h: half, n: names, s: save,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (/^[0-9]$/.test(event.key)) give(Number(event.key));
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});

document.querySelector("#next").addEventListener("click", () => show(at + 1));
document.querySelector("#back").addEventListener("click", () => show(at - 1));
document.querySelector("#names").addEventListener("click", names);
document.querySelector("#save").addEventListener("click", save);
show(0);
