/** The panel *Teach it*: texts get their right label, old or new; what was taught moves from model to model, and into a file. */
import type { Classifier } from "retvec-lite/core";
import { byId, make, showError } from "./dom";
import { errorMessage } from "./errors";

export class Teaching {
  private readonly label = byId<HTMLInputElement>("right-label");
  private readonly save = byId<HTMLButtonElement>("save-memory");
  /** What was taught, whichever model is open. */
  private bytes: Uint8Array | undefined;

  /**
   * @param text returns the text to teach.
   * @param change runs a job with the open model alone, and shows the answer anew.
   */
  constructor(
    text: () => string,
    private readonly change: (job: (model: Classifier) => Promise<void>) => Promise<void>,
  ) {
    byId("lesson").addEventListener("submit", (event) => {
      event.preventDefault();
      const [taught, label] = [text(), this.label.value.trim()];
      void this.learn((model) => model.teach(taught, label));
    });
    this.save.addEventListener("click", () => this.download());
    const input = byId<HTMLInputElement>("memory-file");
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      input.value = ""; // lets the user load the same file again
      if (file) void this.learn(async (model) => model.memory.load(new Uint8Array(await file.arrayBuffer())));
    });
  }

  /** Take what was taught to a model that is opened now. */
  attach(model: Classifier): void {
    const canLearn = model.embeds && !model.artifact.decision?.thresholds;
    byId("teach").hidden = !canLearn;
    if (!canLearn) return;
    if (this.bytes) model.memory.load(this.bytes);
    this.show(model);
  }

  /** Say by which taught text an answer was given. */
  tell(taught: string | undefined): void {
    const told = byId("speaker");
    told.hidden = taught === undefined;
    told.textContent =
      taught === undefined ? "" : `As you taught it: like “${taught}”. The bars are what the model alone says.`;
  }

  private async learn(job: (model: Classifier) => Promise<void> | void): Promise<void> {
    const problem = byId("teach-error");
    showError(problem, undefined);
    await this.change(async (model) => {
      try {
        await job(model);
        this.bytes = model.memory.save();
        this.show(model);
      } catch (error) {
        showError(problem, errorMessage(error));
      }
    });
  }

  private show({ labels, memory }: Classifier): void {
    const { texts } = memory;
    byId("taught-title").textContent = texts.length ? `Taught: ${texts.length}` : "Nothing was taught yet";
    byId("taught").replaceChildren(...texts.map(([text, label]) => this.row(text, label)));
    byId("known-labels").replaceChildren(...[...labels, ...memory.labels].map((value) => make("option", { value })));
    this.save.disabled = texts.length === 0;
  }

  private row(text: string, label: string): HTMLLIElement {
    const forget = make("button", { type: "button", className: "quiet", ariaLabel: `Forget “${text}”` }, "Forget");
    forget.addEventListener("click", () => void this.learn((model) => model.forget(text)));
    const shown = make("span", { title: text, dir: "auto" }, text);
    return make("li", {}, make("strong", { title: label, dir: "auto" }, label), shown, forget);
  }

  private download(): void {
    const address = URL.createObjectURL(new Blob([this.bytes as Uint8Array<ArrayBuffer>]));
    make("a", { href: address, download: "classifier.memory" }).click();
    setTimeout(() => URL.revokeObjectURL(address));
  }
}
