import "./styles/base.css";
import "./styles/answers.css";
import "./styles/words.css";
import "./styles/layout.css";
import "./styles/teach.css";
import "./styles/beside.css";
import "./styles/forced_colors.css";
import type { Artifact, Classifier, Embedded } from "retvec-lite/core";
import { argmax, ask } from "./answer";
import { compiledEngine, type Offer, offers } from "./assets";
import { type Attack, attack } from "./attacks";
import { Bars } from "./bars";
import { Beside } from "./beside";
import { Curve, RATES, type Sample, SEEDS_PER_RATE } from "./curve";
import { byId, showError } from "./dom";
import { errorMessage } from "./errors";
import { bytes, showFacts } from "./facts";
import { medianLatency } from "./latency";
import { Opened } from "./opened";
import { openingText } from "./opening_text";
import { watchOpening } from "./opening";
import { Points } from "./points";
import { showReading } from "./reading";
import { Teaching } from "./teaching";
import { HIDDEN, mistype } from "./typos";
import { WAYS } from "./ways";
import { WaysTable, type Written } from "./ways_table";
import { showWhy } from "./why";
import { Words } from "./words";

/** The words are explained and the curve is measured after this pause in typing, in steps shorter than a frame (milliseconds). */
const PAUSE = 150;
const STEP = 8;

const text = byId<HTMLTextAreaElement>("text");
/** What the page wrote there itself. */
let given = text.value;
const rate = byId<HTMLInputElement>("rate");
const seed = byId<HTMLInputElement>("seed");
const bars = new Bars();
const curve = new Curve();
const ways = new WaysTable();
const words = new Words(16);
const points = new Points();

/** How long the page takes (milliseconds), and how often it updated; see the end of this file. */
const timing = { firstLabel: Number.NaN, update: Number.NaN, updates: 0, curves: 0 };

const opened = new Opened();
/** What the user has chosen, and what the page shows until that is open. */
let chosen: Offer | undefined;
let current: Offer | undefined;
let classifier: Classifier | undefined;
/** Counts changes of text, controls and model; work for an older version stops. */
let version = 0;
let curveTimer = 0;
/** Counts changes of the words that are drawn, and of the model. */
let drawing = 0;

/** Run jobs one at a time, so that no model is closed while a job uses it. */
let queue: Promise<unknown> = Promise.resolve();
function exclusive<T>(job: () => Promise<T>): Promise<T> {
  const done = queue.then(job);
  queue = done.catch(() => undefined);
  return done;
}

const teaching = new Teaching(
  () => text.value,
  async (job) => {
    await exclusive(async () => classifier && job(classifier));
    await update();
  },
);

function settings(): { typed: string; share: number; first: number; kind: Attack } {
  const number = Math.trunc(seed.valueAsNumber); // NaN if the field is empty
  return {
    typed: text.value,
    share: rate.valueAsNumber / 100,
    first: number >= 0 ? Math.min(number, Number(seed.max)) : 0,
    kind: document.querySelector<HTMLInputElement>("input[name=attack]:checked")?.value as Attack,
  };
}

function alter(typed: string, share: number, number: number, kind: Attack): string {
  return attack(mistype(typed, share, number), kind, number);
}

/** Run the model on the current text and move the bars, before the next frame. `start` is the time of the key press. */
async function update(start = performance.now()): Promise<void> {
  const mine = ++version;
  const { typed, share, first, kind } = settings();
  byId("rate-value").textContent = `${Math.round(share * 100)} % mistyped`;
  rate.setAttribute("aria-valuetext", `${Math.round(share * 100)} % of the words mistyped`);
  await attempt(async () => {
    await exclusive(async () => {
      if (!classifier || mine !== version) return;
      const altered = alter(typed, share, first, kind);
      const after = classifier.probabilities(altered);
      const before = altered === typed ? after : classifier.probabilities(typed);
      const answer = ask(classifier, altered);
      bars.show(answer, after, before);
      teaching.tell(answer.taught);
      timing.update = performance.now() - start;
      timing.updates += 1;
      showReading(typed, altered, classifier.readLimit);
      const label = argmax(before);
      curve.mark(share, after[label]);
      const read = classifier.embeds ? classifier.embed(altered).words : undefined;
      if (read) words.show(read, classifier.artifact.encoder.word_length);
      showLimits(typed, classifier, read !== undefined && overflows(classifier, altered, read));
    });
    showError(byId("labels-error"), undefined);
    await beside.show(
      alter(typed, share, first, kind),
      breather(() => mine !== version),
    );
  });
  clearTimeout(curveTimer);
  curveTimer = window.setTimeout(() => {
    void attempt(async () => {
      await explainWords(mine);
      await tryWays(mine);
      await measureCurve(mine);
    });
  }, PAUSE);
}

/** Run a job that nobody awaits, and show its error. */
async function attempt(job: () => Promise<void>): Promise<void> {
  try {
    await job();
  } catch (error) {
    showError(byId("labels-error"), errorMessage(error));
  }
}

/** Whether words found no slot. If so, the last character of the text is in no slot, and removing it changes none. */
function overflows(model: Classifier, altered: string, read: Embedded["words"]): boolean {
  const [points = [], ...more] = model.windows(altered);
  if (more.length || read.length < model.maxWords) return false;
  const last = points.findLastIndex((point) => !HIDDEN.has(point));
  const { words: without } = model.embed(String.fromCodePoint(...points.slice(0, Math.max(0, last))));
  return JSON.stringify(without) === JSON.stringify(read);
}

function showLimits(typed: string, classifier: Classifier, full: boolean): void {
  const { maxChars, maxWords } = classifier;
  const windows = classifier.windows(typed);
  const count = windows.flat().length;
  const isRead = JSON.stringify(classifier.windows(`${typed}\nand on`)) !== JSON.stringify(windows);
  let rest = ` of ${maxChars} characters`;
  if (full) rest += `, ${maxWords} of ${maxWords} words: the rest is ignored`;
  else if (windows.length > 1) rest = ` characters, read in ${windows.length} windows of up to ${maxChars}`;
  if (!isRead && !full) rest += ": the rest is ignored";
  byId("text-note").textContent = `${count.toLocaleString("en")}${rest}`;
}

/** Mark the words of the altered text that speak for its most probable label; of a long text, those of its beginning, which takes no time. */
async function explainWords(mine: number): Promise<void> {
  const { typed, share, first, kind } = settings();
  const read = alter(typed, share, first, kind).normalize("NFC");
  const probabilities = await probabilitiesOf(mine)(read);
  if (!classifier || !probabilities) return;
  const label = classifier.labels[argmax(probabilities)] as string;
  const characters = [...read];
  const beginning = characters.slice(0, classifier.maxChars).join("");
  showWhy(label, characters.slice(0, classifier.readLimit).join(""), classifier.explain(beginning, label));
}

/** Return what long work calls between two steps: it gives way to the page every STEP, and says whether the work is still wanted. */
function breather(isStale: () => boolean): () => Promise<boolean> {
  let resume = performance.now() + STEP;
  return async () => {
    if (performance.now() > resume) {
      await new Promise((next) => setTimeout(next));
      resume = performance.now() + STEP;
    }
    return !isStale();
  };
}

/** Ask the model for long work, which answers undefined when it is stale. */
function unhurried<T>(
  isStale: () => boolean,
  ask: (model: Classifier, input: string) => T,
): (input: string) => Promise<T | undefined> {
  const rest = breather(isStale);
  return async (input) => {
    await rest();
    return exclusive(async () => (classifier && !isStale() ? ask(classifier, input) : undefined));
  };
}

/** Return the probabilities of altered texts until anything changes. */
function probabilitiesOf(mine: number): (altered: string) => Promise<Float32Array | undefined> {
  return unhurried(
    () => mine !== version,
    (model, altered) => model.probabilities(altered),
  );
}

/** Write the text in every way and show the answers. Stops when anything changes. */
async function tryWays(mine: number): Promise<void> {
  const { typed } = settings();
  const answerTo = unhurried(() => mine !== version, ask);
  const written: Written[] = [];
  for (const [, write] of WAYS) {
    const form = write(typed);
    const answer = await answerTo(form);
    if (!answer) return;
    written.push({ text: form, answer });
  }
  ways.show(written);
}

/** Measure the probability of the text's label at every typo rate, over several seeds. Stops when anything changes. */
async function measureCurve(mine: number): Promise<void> {
  const { typed, first, kind } = settings();
  const samples: Sample[] = [];
  const probabilities = probabilitiesOf(mine);
  const clean = await probabilities(typed);
  if (!clean) return;
  const label = argmax(clean);
  for (const share of RATES) {
    const found: number[] = [];
    for (let number = first; number < first + SEEDS_PER_RATE; number++) {
      const values = await probabilities(alter(typed, share, number, kind));
      if (!values) return;
      found.push(values[label] as number);
    }
    const mean = found.reduce((sum, value) => sum + value, 0) / found.length;
    samples.push({ rate: share, mean, least: Math.min(...found), most: Math.max(...found) });
  }
  curve.show(classifier?.artifact.labels[label] as string, samples);
  timing.curves += 1;
}

async function compare(): Promise<void> {
  const [one, other] = [byId<HTMLInputElement>("one").value, byId<HTMLInputElement>("other").value];
  const vectors = await exclusive(async () =>
    classifier?.embeds ? [classifier.embed(one).text, classifier.embed(other).text] : undefined,
  );
  const [first, second] = vectors ?? [];
  const known = first?.some((value) => value !== 0) && second?.some((value) => value !== 0);
  const cosine = known ? first?.reduce((sum, value, at) => sum + value * (second?.[at] as number), 0) : undefined;
  byId("cosine").textContent = cosine === undefined ? "–" : cosine.toFixed(3).replace("-", "−");
  byId("cosine-bar").style.transform = `scaleX(${Math.max(0, cosine ?? 0)})`;
}

/** Draw the words as points after a pause in typing. */
async function drawPoints(): Promise<void> {
  const mine = ++drawing;
  await new Promise((next) => setTimeout(next, PAUSE));
  const isStale = (): boolean => mine !== drawing;
  await points.update(unhurried(isStale, (model, form) => (model.embeds ? model.embed(form).text : undefined)));
}

async function measureLatency(): Promise<void> {
  const measured = classifier;
  const element = byId("latency");
  const time = await medianLatency(() =>
    exclusive(async () => measured === classifier && classifier?.probabilities(text.value)),
  );
  if (measured === classifier)
    element.textContent = `${time < 0.1 ? "less than 0.1" : time.toFixed(1)} ms, median of 50 calls on the text above`;
}

/** Switch to another file. If it is refused, the current model stays. */
async function open(offer: Offer): Promise<boolean> {
  const problem = byId("model-error");
  let fresh: Classifier;
  chosen = offer;
  try {
    fresh = await opened.get(offer);
  } catch (error) {
    showError(problem, errorMessage(error));
    chosen = current;
    return false;
  }
  showError(problem, undefined);
  version += 1;
  drawing += 1;
  await exclusive(async () => {
    classifier = fresh;
    current = offer;
    if (text.value === given) text.value = given = openingText(fresh, given);
    teaching.attach(fresh);
  });
  await closeOthers();
  present(fresh.artifact, fresh.embeds);
  await update();
  if (Number.isNaN(timing.firstLabel)) timing.firstLabel = performance.now();
  void attempt(compare);
  window.setTimeout(() => void attempt(measureLatency).then(() => attempt(drawPoints)), PAUSE);
  return true;
}

/** Close the models that nobody asks any more, while none is at work. */
function closeOthers(): Promise<void> {
  return exclusive(async () => opened.keep([chosen, current, ...beside.asked]));
}

function present(artifact: Artifact, embeds: boolean): void {
  const { size, labels, metadata } = artifact;
  byId("model-note").textContent = `${bytes(size)}, ${String(metadata.recipe)}, ${labels.length} labels`;
  bars.reset(artifact);
  curve.show("the label", []);
  showFacts(artifact);
  for (const section of document.querySelectorAll<HTMLElement>("[data-needs-embedding]")) section.hidden = !embeds;
  byId("no-embedding").hidden = embeds;
  byId<HTMLButtonElement>("measure").disabled = false;
}

const opening = watchOpening(open, (offers, shown) => beside.list(offers, shown));
const beside = new Beside(opened, opening.choose, () => void closeOthers().then(() => update()));

async function start(): Promise<void> {
  for (const control of [text, rate, seed, ...document.querySelectorAll("input[name=attack]")]) {
    control.addEventListener("input", (event) => void update(event.timeStamp));
  }
  text.addEventListener("input", () => showError(byId("model-error"), undefined)); // the user has moved on
  seed.addEventListener("change", () => {
    seed.value = String(settings().first);
  });
  byId("reseed").addEventListener("click", () => {
    seed.value = String((settings().first + 1) % (Number(seed.max) + 1));
    void update();
  });
  for (const id of ["one", "other"]) byId(id).addEventListener("input", () => void attempt(compare));
  for (const control of [byId("cloud"), ...document.querySelectorAll("input[name=typos]")]) {
    control.addEventListener("input", () => void attempt(drawPoints));
  }
  byId("measure").addEventListener("click", () => void attempt(measureLatency));
  try {
    await compiledEngine();
    const { offers: found, all } = await offers();
    if (!(await opening.offer(found))) byId("top-label").textContent = "No model";
    if (all) beside.turn(true);
  } catch (error) {
    byId("top-label").textContent = "No model";
    showError(byId("labels-error"), errorMessage(error));
  }
}

/** For the browser's console and the tests: the model as the page runs it, and the timing. */
const retvecLite = {
  probabilities: (input: string | readonly number[]) =>
    exclusive(async () => Array.from((await classifier?.probabilities(input)) ?? [])),
  label: (input: string) => exclusive(async () => (await classifier?.predict(input))?.label),
  labels: (input: string) => exclusive(async () => (await classifier?.predictAll(input))?.map(({ label }) => label)),
  timing,
};
export type RetvecLite = typeof retvecLite;
Object.assign(globalThis, { retvecLite });

void start();
