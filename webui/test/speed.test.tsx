// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { delay, http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { addedMs, gradeOf, rateOf, tripsOf } from "@/pages/tools/speedRun";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const BLOCK = new Uint8Array(50_000);
const EVERY_MS = 20;
const WAY = {
  address: "10.64.0.2",
  interface: "lan0",
  queue: { id: "acme", name: "Acme HQ", limit_bps: 100_000_000 },
  unknown: null,
};

/** A router that sends without end, and says every few milliseconds that 25,000 more bytes have come. */
function speedRouter(way: object = WAY) {
  const seen = { ended: false, uploads: 0, downloads: 0 };
  const text = (event: string, data: object) =>
    new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const events = (signal: AbortSignal) => {
    const began = performance.now();
    let received = 0;
    return new ReadableStream({
      start: (to) => {
        to.enqueue(text("run", { id: "s1", lasts_s: 14, path: way }));
        const timer = setInterval(() => {
          const ms = performance.now() - began;
          received += 25_000;
          to.enqueue(text("counted", { ms, sent_bytes: 0, received_bytes: received }));
        }, EVERY_MS);
        signal.addEventListener("abort", () => {
          seen.ended = true;
          clearInterval(timer);
        });
      },
    });
  };
  const endless = () =>
    new ReadableStream({
      pull: async (to) => {
        await delay(EVERY_MS);
        to.enqueue(BLOCK);
      },
    });
  router.server.use(
    http.post(
      "*/api/v1/tools/speed",
      ({ request }) =>
        new HttpResponse(events(request.signal), { headers: { "Content-Type": "text/event-stream" } }),
    ),
    http.get("*/api/v1/tools/speed/s1/echo", () => new HttpResponse(null, { status: 204 })),
    http.get("*/api/v1/tools/speed/s1/download", () => {
      seen.downloads += 1;
      return new HttpResponse(endless(), { headers: { "Content-Type": "application/octet-stream" } });
    }),
    http.post("*/api/v1/tools/speed/s1/upload", async () => {
      seen.uploads += 1;
      await delay(200);
      return HttpResponse.json({ received_bytes: 1 });
    }),
  );
  return seen;
}

async function begin() {
  const user = userEvent.setup();
  const seconds = await screen.findByRole("textbox", { name: /^Seconds/ });
  await user.clear(seconds);
  await user.type(seconds, "3");
  await user.click(screen.getByRole("button", { name: "Run" }));
  return user;
}

describe("the speed test", () => {
  it("measures both directions and the round trips meanwhile, and says between whom", async () => {
    const seen = speedRouter();
    renderAt("/tools?tool=speed");
    await begin();
    await screen.findByRole("heading", { name: "Result" }, { timeout: 30_000 });
    for (const way of ["download", "upload"])
      expect(within(screen.getByRole("group", { name: way })).getByText(/^[\d.]+ [Mk]bit\/s$/)).toBeTruthy();
    expect(screen.getByText(/by the router’s interface/).textContent).toContain("10.64.0.2");
    expect(screen.getByText(/^Load adds/).textContent).toMatch(/grade A\+? on the scale of DSLReports/);
    expect(screen.getByRole("link", { name: "Acme HQ" }).getAttribute("href")).toBe("/queues/acme");
    expect(screen.getByText(/limits downloads to this address to 100 Mbit\/s/)).toBeTruthy();
    await waitFor(() => expect(seen).toEqual({ ended: true, uploads: seen.uploads, downloads: 3 }));
    expect(seen.uploads).toBeGreaterThanOrEqual(3);
  });

  it("ends with Stop, and shows nothing that was not measured", async () => {
    const seen = speedRouter({
      ...WAY,
      queue: null,
      interface: null,
      unknown: "The way is not known: no route leads to it",
    });
    renderAt("/tools?tool=speed");
    const user = await begin();
    await screen.findByText(/Between this browser at/);
    await user.click(screen.getByRole("button", { name: "Stop" }));
    expect(await screen.findByText("Stopped.")).toBeTruthy();
    await waitFor(() => expect(seen.ended).toBe(true));
    expect(within(screen.getByRole("group", { name: "upload" })).getByText("not measured")).toBeTruthy();
    expect(screen.queryByText(/Load adds/)).toBeNull();
    expect(screen.queryByText(/router’s interface/)).toBeNull();
  });

  it("ends when the page is left", async () => {
    const seen = speedRouter();
    const { unmount } = renderAt("/tools?tool=speed");
    await begin();
    await screen.findByText(/Between this browser at/);
    unmount();
    await waitFor(() => expect(seen.ended).toBe(true));
  });

  it("says who is in the way", async () => {
    const detail = "ops has been running a speed test with 10.64.0.9 for 3 s; one at a time.";
    const body = { status: 409, code: "tool-busy", detail, path: null, findings: [] };
    router.server.use(http.post("*/api/v1/tools/speed", () => HttpResponse.json(body, { status: 409 })));
    renderAt("/tools?tool=speed");
    await begin();
    expect(await screen.findByText(detail)).toBeTruthy();
  });
});

describe("the figures of a speed test", () => {
  it("leave out the first second of a rate, and have none of less", () => {
    const marks = [[0, 0], [500, 9e6], [1000, 9e6], [2000, 10e6], [3000, 11e6]] as const; // prettier-ignore
    expect(rateOf(marks)).toBe(8_000_000);
    expect(rateOf(marks.slice(0, 2))).toBeNull();
    expect(rateOf([])).toBeNull();
  });

  it("are median and 95th percentile as the command has them", () => {
    expect(tripsOf([4, 1, 2, 3, 5])).toEqual({ count: 5, medianMs: 3, p95Ms: 4.8 });
    expect(tripsOf([1])).toEqual({ count: 1, medianMs: null, p95Ms: null });
  });

  it("are graded by what load adds, on a named scale", () => {
    const trips = (medianMs: number | null) => ({ count: 9, medianMs, p95Ms: medianMs, rateBps: 1 });
    expect(addedMs({ idle: trips(2), download: trips(12), upload: trips(42) })).toBe(25);
    expect(addedMs({ idle: trips(2), download: trips(null), upload: trips(42) })).toBeNull();
    expect([4.9, 5, 59.9, 60, 399, 400].map(gradeOf)).toEqual(["A+", "A", "B", "C", "D", "F"]);
  });
});
