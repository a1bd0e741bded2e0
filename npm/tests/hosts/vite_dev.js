/** `node vite_dev.js`: serve the page as during development, and print its address. */
import { createServer } from "vite";

const server = await createServer({ server: { port: 0 }, logLevel: "error" });
await server.listen();
console.log(`http://127.0.0.1:${server.httpServer.address().port}/`);
