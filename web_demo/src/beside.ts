/** One text and every model of the list: a card for each with its answer. Pressing a card shows its model on the whole page. */
import type { Classifier } from "retvec-lite/core";
import { ask } from "./answer";
import type { Offer } from "./assets";
import { announcer, byId, make } from "./dom";
import { errorMessage } from "./errors";
import type { Opened } from "./opened";
import { SUFFIX } from "./opening";

export class Beside {
  private readonly toggle = byId<HTMLButtonElement>("ask-all");
  private readonly announce = announcer("beside-told");
  private readonly cards = new Map<Offer, Card>();
  private offers: readonly Offer[] = [];
  private current: Offer | undefined;

  /**
   * @param opened reads the models.
   * @param choose shows a model on the whole page.
   * @param change is called when there are other models to ask.
   */
  constructor(
    private readonly opened: Opened,
    private readonly choose: (offer: Offer) => void,
    private readonly change: () => void,
  ) {
    this.toggle.addEventListener("click", () => this.turn(this.cards.size === 0));
  }

  /** The models that are asked, whether they are open yet or not. */
  get asked(): Iterable<Offer> {
    return this.cards.keys();
  }

  /** Take the models that can be chosen, and the one that the whole page shows. */
  list(offers: readonly Offer[], current: Offer | undefined): void {
    this.offers = [...offers];
    this.current = current;
    byId("beside").hidden = offers.length < 2;
    this.lay(this.cards.size > 0);
  }

  /** Ask all models, or none but that of the whole page. */
  turn(isOn: boolean): void {
    this.lay(isOn);
    this.change();
  }

  private lay(isOn: boolean): void {
    if (!isOn) {
      this.cards.clear();
      byId("cards").replaceChildren();
    }
    for (const offer of isOn ? this.offers : []) {
      if (!this.cards.has(offer)) this.add(offer);
    }
    for (const [offer, card] of this.cards) card.mark(offer === this.current);
    this.toggle.textContent = isOn ? "Ask one model" : `Ask all ${this.offers.length} models`;
    this.toggle.ariaExpanded = String(isOn);
  }

  private add(offer: Offer): void {
    const card = new Card(offer, () => this.choose(offer));
    this.cards.set(offer, card);
    byId("cards").append(card.item);
    void card.open(this.opened.get(offer)).then(this.change);
  }

  /**
   * Show what each model says of a text.
   *
   * @param rest lets the page go on where that took long; returns whether the text is still the one to ask about.
   */
  async show(text: string, rest: () => Promise<boolean>): Promise<void> {
    for (const card of this.cards.values()) {
      if (!(await rest())) return;
      card.show(text);
    }
    if (this.cards.size) this.announce(Array.from(this.cards.values(), ({ told }) => told).join("; "));
  }
}

class Card {
  readonly item: HTMLLIElement;
  private readonly button: HTMLButtonElement;
  private readonly label = make("strong", { dir: "auto" }, "…");
  private readonly value = make("span", { className: "value" });
  private readonly fill = make("span", { className: "fill" });
  private readonly name: string;
  private model: Classifier | undefined;

  constructor(offer: Offer, choose: () => void) {
    this.name = offer.name.replace(SUFFIX, "");
    const track = make("span", { className: "track" }, this.fill);
    const name = make("span", { className: "name", title: offer.name }, this.name);
    this.button = make("button", { type: "button" }, name, this.label, this.value, track);
    this.button.addEventListener("click", choose);
    this.item = make("li", {}, this.button);
  }

  /** What the card says, in words. */
  get told(): string {
    return `${this.name}: ${this.label.textContent} ${this.value.textContent}`;
  }

  async open(model: Promise<Classifier>): Promise<void> {
    try {
      this.model = await model;
    } catch (error) {
      this.say("Cannot be opened", errorMessage(error), 0);
      this.value.className = "note"; // wraps
    }
  }

  mark(isCurrent: boolean): void {
    this.button.ariaPressed = String(isCurrent);
  }

  show(text: string): void {
    if (!this.model) return;
    const { told, value, share, isNone } = ask(this.model, text);
    this.say(told, value, share);
    this.label.classList.toggle("is-none", isNone);
  }

  private say(label: string, value: string, share: number): void {
    this.label.textContent = this.label.title = label;
    this.value.textContent = value;
    this.fill.style.transform = `scaleX(${share})`;
  }
}
