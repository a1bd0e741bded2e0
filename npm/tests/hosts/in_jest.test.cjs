const { readFileSync } = require("node:fs");
const { load, RetvecError } = require("retvec-lite");

test("answers, learns and refuses", async () => {
  const classifier = await load(readFileSync("classifier-int8.retvec"));
  expect(classifier.predict("my pakcage never arived").label).toBe("delivery");
  classifier.teach("my parcel is wét", "dämage");
  classifier.memory.load(classifier.memory.save());
  expect(classifier.memory.texts).toEqual([["my parcel is wét", "dämage"]]);
  expect(classifier.probabilities("a text")).toBeInstanceOf(Float32Array);
  expect(() => classifier.predict(5)).toThrow(RetvecError);
  await expect(load("http://127.0.0.1:9/none.retvec")).rejects.toThrow(RetvecError);
  await expect(load(new Uint8Array(9))).rejects.toMatchObject({ code: "RVL_NOT_RETVEC" });
});
