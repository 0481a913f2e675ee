// Cut what is too long for one slide, then start reveal.js.
//
// A section of the lesson holds cells. They are laid on a page until the next one would
// not fit; it goes on a page of its own, after a try with slightly smaller letters. A cell
// that is too long alone is cut into its parts, a part that is too long is made smaller.
// A page without a heading of its own repeats that of its section, or else the last one
// before it, in small letters. A slide of the class should stay whole, and its letters
// may become smaller for it.

const SMALLER = 0.86; // to keep a cell with what stands before it
const WHOLE = 0.68; // to keep an exercise, or a slide of the class, on one page
const FRESH = 0.9; // to keep a cell whole on a page of its own
const SMALLEST = 0.6; // for a part that can't be cut

const host = document.querySelector(".reveal .slides");

function fits(page) {
  const frame = page.getBoundingClientRect();
  const parts = [...page.querySelectorAll("*")].filter((one) => !one.matches("aside *"));
  const boxes = parts.map((one) => one.getBoundingClientRect());
  const lowest = Math.max(...boxes.map((box) => box.bottom)) - frame.top;
  const widest = Math.max(...boxes.map((box) => box.right)) - frame.left;
  return lowest <= 720 - 36 && widest <= 1280 - 20;
}

function shrunk(page, least) {
  for (let size = 1; size >= least; size -= 0.02) {
    page.style.fontSize = `${size}em`;
    if (fits(page)) return true;
  }
  page.style.fontSize = "";
  return false;
}

class Stack {
  constructor(section) {
    const heading = section.querySelector(":scope > .cell :is(h1, h2, h3)");
    this.title = heading?.textContent || section.dataset.above;
    this.titled = Boolean(heading);
    this.section = section;
    this.notes = section.querySelector(":scope > aside.notes");
    this.label = section.querySelector(":scope > .lab");
    this.pages = [];
  }

  turn() {
    const page = document.createElement("section");
    page.className = `page measured ${this.section.className}`;
    if (this.label) page.append(this.label.cloneNode(true));
    if (this.title && (this.pages.length || !this.titled)) {
      const again = document.createElement("p");
      again.className = "again";
      again.textContent = this.title;
      page.append(again);
    }
    host.append(page);
    this.pages.push(page);
    this.empty = true;
  }

  lay(part, least = SMALLER) {
    if (this.put(part, this.empty ? FRESH : least)) return;
    const parts = part.matches(".cell") ? [...part.children] : [];
    if (!this.empty) {
      this.turn();
      if (this.put(part, FRESH)) return;
      if (parts.length > 1) {
        this.pages.pop().remove();
        this.empty = false;
      }
    }
    if (parts.length > 1) for (const one of parts) this.lay(one, least);
    else if (!this.put(part, SMALLEST)) {
      this.pages.at(-1).append(part);
      this.pages.at(-1).classList.add("overflows");
    }
  }

  put(part, least) {
    const page = this.pages.at(-1);
    const size = page.style.fontSize;
    page.append(part);
    const done = fits(page) || shrunk(page, least);
    if (done) this.empty = false;
    else {
      part.remove();
      page.style.fontSize = size;
    }
    return done;
  }

  close() {
    for (const page of this.pages) {
      page.classList.remove("measured");
      page.querySelector(".cell")?.classList.remove("fragment"); // nothing before it
      if (this.notes) page.append(this.notes.cloneNode(true));
      const { anchor, timing, visibility } = this.section.dataset;
      if (anchor && page === this.pages[0]) page.id = anchor;
      if (timing) page.dataset.timing = page === this.pages[0] ? timing : 1;
      if (visibility) page.dataset.visibility = visibility;
    }
  }
}

function enlarge(image) {
  const width = Number(image.getAttribute("width")) || image.naturalWidth;
  image.style.width = `${Math.round(width * 1.5)}px`; // CSS limits it
}

function paginate() {
  for (const column of [...host.children]) {
    const pages = [];
    for (const section of [...column.children]) {
      const stack = new Stack(section);
      stack.turn();
      const least = section.matches(".exercise, .whole") ? WHOLE : SMALLER;
      const cells = [...section.querySelectorAll(":scope > .cell")];
      for (const cell of cells) stack.lay(cell, least);
      stack.close();
      pages.push(...stack.pages);
    }
    column.replaceChildren(...pages);
  }
  document.querySelector(".page").classList.add("first");
}

async function start() {
  const faces = ["", "bold ", "italic "].map((style) => `${style}20px "Slides"`);
  faces.push('20px "Slides Mono"', 'bold 20px "Slides Mono"');
  await Promise.all(faces.map((face) => document.fonts.load(face)));
  await Promise.all([...document.images].map((image) => image.decode()));
  for (const image of document.images) enlarge(image);
  paginate();
  await Reveal.initialize({
    width: 1280, height: 720, margin: 0, minScale: 0.1, maxScale: 3,
    center: false, hash: true, slideNumber: "c/t", controlsTutorial: false, transition: "none",
    totalTime: 45 * 60, plugins: [RevealNotes],
  });
  document.documentElement.dataset.deck = "ready";
}

start();
