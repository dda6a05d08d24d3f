// SPDX-License-Identifier: Apache-2.0
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { problem } from "./mock/answers";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const text = (...events: [string, object][]) =>
  events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join("");
const stream = (body: string | ReadableStream) =>
  new HttpResponse(body, { headers: { "Content-Type": "text/event-stream" } });
const END = { reason: "done", message: null };

describe("the tools", () => {
  it("have a form from their declaration, and show what a run says", async () => {
    let sent: unknown = null;
    router.server.use(
      http.post("*/api/v1/tools/ping", async ({ request }) => {
        sent = await request.json();
        const reply = { number: 1, from: "1.1.1.1", round_trip_us: 12_400, ttl: 57, bytes: 56 };
        return stream(text(["reply", reply], ["end", END]));
      }),
    );
    renderAt("/tools?target=1.1.1.1");
    await userEvent.setup().click(await screen.findByRole("button", { name: "Run" }));
    expect((await screen.findByRole("log")).textContent).toContain("from 1.1.1.1, round trip 12 ms");
    expect(await screen.findByText("Done.")).toBeTruthy();
    expect(sent).toMatchObject({ target: "1.1.1.1", count: 10 });
  });

  it("replace the rows that each round measures again", async () => {
    const hop = (sent: number) => ({ hop: 1, from: "192.0.2.1", sent, loss_percent: 0, last_us: null });
    router.server.use(
      http.post("*/api/v1/tools/mtr", () => stream(text(["hop", hop(1)], ["hop", hop(2)], ["end", END]))),
    );
    renderAt("/tools?tool=mtr&target=1.1.1.1");
    await userEvent.setup().click(await screen.findByRole("button", { name: "Run" }));
    expect((await screen.findAllByText("192.0.2.1")).length).toBe(1);
    expect(await screen.findByRole("cell", { name: "2" })).toBeTruthy();
  });

  it("show the flows of a queue that somebody comes from, the highest rate first", async () => {
    let sent: unknown = null;
    const flow = (rank: number, host: string | null, rateBps: number) => ({
      rank,
      way: "download",
      protocol: "udp",
      from: "198.51.100.1",
      from_port: 443,
      to: "10.64.0.7",
      to_port: 5000,
      host,
      queue: "Tower",
      rate_bps: rateBps,
      packets_per_s: 1000,
    });
    const rows: [string, object][] = [2, 1].map((rank) => [
      "flow",
      flow(rank, `pc-${rank}`, 12_345_678 / rank),
    ]);
    router.server.use(
      http.post("*/api/v1/tools/torch", async ({ request }) => {
        sent = await request.json();
        return stream(text(...rows, ["end", END]));
      }),
    );
    renderAt("/tools?tool=torch&queue=q7");
    await userEvent.setup().click(await screen.findByRole("button", { name: "Run" }));
    expect(await screen.findByRole("cell", { name: "12.3M" })).toBeTruthy();
    const told = screen.getAllByRole("row").map((row) => row.textContent);
    expect(told.findIndex((row) => row.includes("pc-1"))).toBeLessThan(
      told.findIndex((row) => row.includes("pc-2")),
    );
    expect(sent).toMatchObject({ queue: "q7", seconds: 30 });
    expect(sent).not.toHaveProperty("interface", "q7");
  });

  it("say at the field what the router refuses, and send nothing that is wrong", async () => {
    renderAt("/tools?tool=ping&target=1.1.1.1");
    const user = userEvent.setup();
    const count = await screen.findByRole("textbox", { name: "Count" });
    await user.clear(count);
    await user.type(count, "10000");
    await user.click(screen.getByRole("button", { name: "Run" }));
    expect((await screen.findAllByText(/A whole number from 1 to 100/)).length).toBeGreaterThan(0);
    expect(screen.queryByText("Running")).toBeNull();
  });

  it("do not save a file that was cut short, and say so", async () => {
    const body = new ReadableStream({
      start: (to) => to.enqueue(new Uint8Array([10, 13, 13, 10])),
      pull: (to) => to.error(new TypeError("network error")),
    });
    router.server.use(
      http.post("*/api/v1/tools/capture", () => {
        return new HttpResponse(body, { headers: { "Content-Type": "application/x-pcapng" } });
      }),
    );
    renderAt("/tools?tool=capture");
    const user = userEvent.setup();
    await user.click(await screen.findByRole("combobox", { name: /^Interface/ }));
    await user.click(await screen.findByRole("option", { name: /^lan0/ }));
    await user.click(screen.getByRole("button", { name: "Run" }));
    expect(await screen.findByText(/cut short before its end, so it was not saved/)).toBeTruthy();
    expect(screen.queryByText(/Saved/)).toBeNull();
  });

  it("are stopped by giving up the answer", async () => {
    let gone = false;
    router.server.use(
      http.post("*/api/v1/tools/ping", ({ request }) => {
        request.signal.addEventListener("abort", () => (gone = true));
        return stream(
          new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode(": r1\n\n")) }),
        );
      }),
    );
    renderAt("/tools?target=192.0.2.1");
    const user = userEvent.setup();
    await user.click(await screen.findByRole("button", { name: "Run" }));
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    expect(await screen.findByText("Stopped.")).toBeTruthy();
    expect(gone).toBe(true);
  });

  it("say so when the output ends without its last word", async () => {
    router.server.use(http.post("*/api/v1/tools/ping", () => stream(text(["lost", { number: 1 }]))));
    renderAt("/tools?target=192.0.2.1");
    await userEvent.setup().click(await screen.findByRole("button", { name: "Run" }));
    expect(await screen.findByText(/ended without saying why/)).toBeTruthy();
  });

  it("are in a list, and take what was given along", async () => {
    renderAt("/tools?target=192.0.2.1");
    await userEvent.setup().click(await screen.findByRole("link", { name: "Mtr" }));
    expect(await screen.findByRole("heading", { name: "Mtr" })).toBeTruthy();
    expect(screen.getByRole("link", { name: "Mtr" }).getAttribute("aria-current")).toBe("page");
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: /^Target/ }).value).toBe("192.0.2.1");
  });

  it("say at its field what was refused, and nothing as output", async () => {
    const findings = [
      {
        severity: "error",
        code: "no-subject",
        message: "either interface or queue must be given",
        kind: "torch",
        id: "",
        field: "interface",
      },
    ];
    router.server.use(
      http.post("*/api/v1/tools/torch", () => problem(422, "invalid", "torch: not so", { findings })),
    );
    renderAt("/tools?tool=torch");
    await userEvent.setup().click(await screen.findByRole("button", { name: "Run" }));
    expect(await screen.findByText("either interface or queue must be given")).toBeTruthy();
    expect(screen.queryByRole("region", { name: "Output" })).toBeNull();
  });

  it("say who is in the way", async () => {
    const detail = "ops has been running ping 192.0.2.1 for 3 s; one at a time.";
    router.server.use(
      http.post("*/api/v1/tools/ping", () =>
        HttpResponse.json(
          { status: 409, code: "tool-busy", detail, path: null, findings: [] },
          { status: 409 },
        ),
      ),
    );
    renderAt("/tools?target=192.0.2.1");
    await userEvent.setup().click(await screen.findByRole("button", { name: "Run" }));
    expect(await screen.findByText(detail)).toBeTruthy();
  });
});
