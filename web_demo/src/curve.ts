import { byId, percent } from "./dom";

/** What was measured at one typo rate: mean, least and largest probability over the seeds. */
export interface Sample {
  readonly rate: number;
  readonly mean: number;
  readonly least: number;
  readonly most: number;
}

/** Steps of the typo rate, and the seeds measured at each. */
export const RATES = Array.from({ length: 11 }, (_, step) => step / 10);
export const SEEDS_PER_RATE = 6;

/** The small curve above the slider: its x axis is the slider itself. */
export class Curve {
  private readonly plot = byId("plot");
  private readonly dot = byId("dot");

  constructor() {
    byId("curve-seeds").textContent = String(SEEDS_PER_RATE);
  }

  /** Draw what was measured; nothing takes the curve away. */
  show(label: string, samples: readonly Sample[]): void {
    byId("curve-label").textContent = label;
    const line = samples.map(({ rate, mean }) => point(rate, mean)).join("L");
    const above = samples.map(({ rate, most }) => point(rate, most)).join("L");
    const below = samples
      .toReversed()
      .map(({ rate, least }) => point(rate, least))
      .join("L");
    byId("mean").setAttribute("d", line && `M${line}`);
    byId("band").setAttribute("d", line && `M${above}L${below}Z`);
    const told = samples.map(({ rate, mean }) => `${Math.round(rate * 100)} %: ${percent(mean)}`).join(", ");
    this.plot.setAttribute(
      "aria-label",
      told ? `Mean probability of ${label} by typo rate. ${told}.` : "The curve is not measured yet.",
    );
  }

  /** Where the present text stands; undefined takes the dot away. */
  mark(rate: number, probability: number | undefined): void {
    this.dot.hidden = probability === undefined;
    this.dot.style.left = `${rate * 100}%`;
    this.dot.style.top = `${(1 - (probability ?? 0)) * 100}%`;
  }
}

function point(rate: number, probability: number): string {
  return `${(rate * 100).toFixed(1)} ${((1 - probability) * 100).toFixed(2)}`;
}
