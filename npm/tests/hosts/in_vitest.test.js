import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { load, RetvecError } from "retvec-lite";
import { expect, test } from "vitest";

test("answers, learns and refuses", async () => {
  const classifier = await load(readFileSync("classifier-int8.retvec"));
  expect(classifier.predict("my pakcage never arived").label).toBe("delivery");
  classifier.teach("my parcel is wét", "dämage");
  expect(classifier.memory.texts).toEqual([["my parcel is wét", "dämage"]]);
  expect(() => classifier.predict(5)).toThrow(RetvecError);
  await expect(load("http://127.0.0.1:9/none.retvec")).rejects.toThrow(RetvecError);
  const { signal } = new AbortController();
  await load(pathToFileURL("classifier-int8.retvec"), { signal });
});
