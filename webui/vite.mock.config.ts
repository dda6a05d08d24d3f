// SPDX-License-Identifier: Apache-2.0
import { getResponse } from "msw";
import { Readable } from "node:stream";
import type { IncomingMessage, ServerResponse } from "node:http";
import { mergeConfig, type Connect, type Plugin } from "vite";
import { handlers } from "./test/mock/handlers";
import { newState } from "./test/mock/state";
import base from "./vite.config";

/** `npm run dev:mock`: the UI on a router that lives in memory. QUEUES=10000 and ROUTES=10000 choose its size. `vite preview` has it too. */
function mockApi(): Plugin {
  const list = handlers(newState(Number(process.env.QUEUES ?? 24), Number(process.env.ROUTES ?? 1)));
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean> => {
    const abort = new AbortController();
    outgoing.on("close", () => abort.abort());
    const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
    const request = new Request(`http://localhost${incoming.url ?? "/"}`, {
      method: incoming.method,
      headers: incoming.headers as Record<string, string>,
      body: hasBody ? (Readable.toWeb(incoming) as ReadableStream) : undefined,
      duplex: "half",
      signal: abort.signal,
    } as RequestInit);
    const response = await getResponse(list, request);
    if (!response) return false;
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body)
      Readable.fromWeb(response.body as never)
        .on("error", () => outgoing.end())
        .pipe(outgoing);
    else outgoing.end();
    return true;
  };
  const middleware: Connect.NextHandleFunction = (incoming, outgoing, next) => {
    if (!incoming.url?.startsWith("/api/")) {
      next();
      return;
    }
    serve(incoming, outgoing).then((served) => !served && next(), next);
  };
  return {
    name: "weir-mock-api",
    configureServer: (server) => void server.middlewares.use(middleware),
    configurePreviewServer: (server) => void server.middlewares.use(middleware),
  };
}

export default mergeConfig(base, { plugins: [mockApi()], server: { proxy: {} } });
