import { byId, percent } from "./dom";

/** Probabilities at one typo rate: mean, minimum and maximum over the seeds. */
export interface Sample {
  readonly rate: number;
  readonly mean: number;
  readonly least: number;
  readonly most: number;
}

/** The typo rates of the curve, and the number of seeds at each. */
export const RATES = Array.from({ length: 11 }, (_, step) => step / 10);
export const SEEDS_PER_RATE = 6;

/** The small curve above the slider. The slider is its x axis. */
export class Curve {
  private readonly plot = byId("plot");
  private readonly dot = byId("dot");

  constructor() {
    byId("curve-seeds").textContent = String(SEEDS_PER_RATE);
  }

  /** Draw the samples; an empty list clears the curve. */
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
      told ? `Mean probability of ${label} by typo rate. ${told}.` : "The curve has not been measured yet.",
    );
  }

  /** Move the dot to the current text; undefined hides it. */
  mark(rate: number, probability: number | undefined): void {
    this.dot.hidden = probability === undefined;
    this.dot.style.left = `${rate * 100}%`;
    this.dot.style.top = `${(1 - (probability ?? 0)) * 100}%`;
  }
}

function point(rate: number, probability: number): string {
  return `${(rate * 100).toFixed(1)} ${((1 - probability) * 100).toFixed(2)}`;
}
