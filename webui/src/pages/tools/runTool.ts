// SPDX-License-Identifier: Apache-2.0
/** Runs of tools: the answer to the request is what the run says, and giving it up ends the run. */
import { problemOf, unreachable } from "@/api/problem";
import { csrf, sessionRefused } from "@/api/session";

export interface ToolEvent {
  event: string;
  data: Readonly<Record<string, unknown>>;
}

/** Fails as every other request does, with an `ApiProblem`. */
export async function startTool(name: string, body: unknown, signal: AbortSignal): Promise<Response> {
  let answer: Response;
  try {
    answer = await globalThis.fetch(new URL(`/api/v1/tools/${name}`, window.location.origin), {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf() ?? "" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw unreachable();
  }
  if (answer.status === 401) sessionRefused();
  if (!answer.ok) throw problemOf(await answer.json().catch(() => null), answer);
  return answer;
}

/** The events of a stream, one by one (HTML Living Standard, 9.2.6). */
export async function* eventsOf(answer: Response, signal: AbortSignal): AsyncGenerator<ToolEvent> {
  const reader = answer.body?.getReader();
  signal.addEventListener("abort", () => void reader?.cancel().catch(() => undefined));
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const found = await reader?.read();
    if (!found || found.done) return;
    const blocks = (rest + decoder.decode(found.value, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = eventOf(block);
      if (event) yield event;
    }
  }
}

function eventOf(block: string): ToolEvent | null {
  const said = new Map(block.split("\n").map((line) => [line.split(": ", 1)[0], line]));
  const [event, data] = [said.get("event"), said.get("data")];
  if (event === undefined || data === undefined) return null;
  return { event: event.slice(7), data: JSON.parse(data.slice(6)) as ToolEvent["data"] };
}

/** Give the browser a file that was put together here. */
export function saveAs(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
