// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const aQueue = () => [...router.state.queues.values()].at(-1)!;

describe("a queue that is not in force", () => {
  it("says why, and who takes its packets meanwhile", async () => {
    router.server.use(
      http.get("*/api/v1/queues/:id/explain", ({ params }) =>
        HttpResponse.json({
          queue_id: params["id"],
          agrees: true,
          asked: {},
          compiled: { inactive_because: "it is disabled", meanwhile: "its packets are in tower 1" },
          kernel: {},
          lines: [],
        }),
      ),
    );
    renderAt(`/queues/${aQueue().id}`);
    const note = await screen.findByText(/^This queue takes no packets now:/);
    expect(note.textContent).toMatch(/It is disabled\..*Meanwhile, its packets are in tower 1\./);
  });
});

describe("a list that shows what is staged", () => {
  it("does not have its effect worked out", async () => {
    const queue = aQueue();
    router.state.staged.set(`queue/${queue.id}`, { kind: "queue", id: queue.id, new: null });
    const asked: string[] = [];
    router.server.events.on("request:start", ({ request }) => {
      if (request.url.includes("/candidate/diff")) asked.push(new URL(request.url).search);
    });
    renderAt("/queues");
    await waitFor(() => expect(asked.length).toBeGreaterThan(0));
    expect(asked.every((search) => search.includes("effect=false"))).toBe(true);
  });
});
