import { type Classifier, load } from "retvec-lite/core";
import { compiledEngine, type Offer } from "./assets";

/** The models that are open: that of the page, and those beside it. */
export class Opened {
  private readonly models = new Map<Offer, Promise<Classifier>>();

  /** Return the model of an offer, which is read when it is not open. One that is refused can be tried again. */
  get(offer: Offer): Promise<Classifier> {
    const open = this.models.get(offer);
    if (open) return open;
    const reading = read(offer);
    this.models.set(offer, reading);
    reading.catch(() => this.models.delete(offer));
    return reading;
  }

  /** Close all models but those of some offers. */
  keep(offers: Iterable<Offer | undefined>): void {
    const kept = new Set(offers);
    for (const [offer, model] of this.models) {
      if (kept.has(offer)) continue;
      this.models.delete(offer);
      model.then(
        (open) => open.close(),
        () => undefined,
      );
    }
  }
}

async function read(offer: Offer): Promise<Classifier> {
  return load(await offer.load(), { name: offer.name, engine: await compiledEngine() });
}
