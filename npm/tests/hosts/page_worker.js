import { load } from "retvec-lite/core";

onmessage = ({ data: [address, engine] }) =>
  load(address, { engine }).then(
    (classifier) => postMessage(classifier.predict("my pakcage never arived").label),
    (error) => postMessage(String(error)),
  );
