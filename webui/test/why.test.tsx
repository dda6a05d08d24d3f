// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { Why } from "@/api/types";
import { WELL } from "./mock/machine";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const aQueue = () => [...router.state.queues.values()].at(-1)!;

const answers = (change: Partial<Why>) =>
  router.server.use(http.get("*/api/v1/diagnosis/why", () => HttpResponse.json({ ...WELL, ...change })));

const share = {
  name: "download_used_share",
  value: 0.98,
  threshold: 0.9,
  unit: "share",
  shown: "98 %",
  threshold_shown: "90 %",
};

describe("why a customer is slow", () => {
  it("shows the line from the device to the internet, and what is not known", async () => {
    renderAt(`/queues/${aQueue().id}`);
    const line = await screen.findByRole("list", { name: "From the device to the internet" });
    const places = within(line).getAllByRole("listitem");
    expect(places.map((item) => item.textContent.match(/^[A-Z][a-z]+/)?.[0])).toEqual([
      "Device",
      "Port",
      "Queue",
      "Router",
      "Uplink",
      "Internet",
    ]);
    expect(within(places[5]!).getByText("Not known")).toBeTruthy();
    expect(within(places[4]!).getByText("Ruled out")).toBeTruthy();
    expect(screen.getByText(/^It is not this router\./)).toBeTruthy();
  });

  it("names one culprit with its numbers and what can be done", async () => {
    const queue = aQueue();
    const fixes = [
      {
        id: "raise",
        text: "Raise its limit.",
        subject: { kind: "queue" as const, id: queue.id },
        command: null,
      },
      {
        id: "edit",
        text: "Change its limit.",
        subject: { kind: "queue" as const, id: queue.id },
        command: "weir queue set q",
      },
      {
        id: "interface",
        text: "Look at lan0.",
        subject: { kind: "interface" as const, id: "lan0" },
        command: null,
      },
    ];
    const full = { ...WELL.line[2]!, state: "culprit" as const, code: "queue-full", numbers: [share], fixes };
    const losses = [
      {
        way: "download" as const,
        where: "here" as const,
        known: true,
        sentence: "Its queues drop 30 packets/s.",
        numbers: [],
      },
      {
        way: "download" as const,
        where: "after" as const,
        known: false,
        sentence: "Not known: not measured.",
        numbers: [],
      },
    ];
    answers({
      sentence: "acme is at its limit.",
      culprit: 2,
      line: WELL.line.map((item, index) => (index === 2 ? full : item)),
      losses,
    });
    renderAt(`/queues/${queue.id}`);
    expect(await screen.findByText("acme is at its limit.")).toBeTruthy();
    const done = within(screen.getByRole("list", { name: "What can be done" }));
    expect(done.getByRole("link", { name: "Change its limit." }).getAttribute("href")).toContain("edit=true");
    expect(done.getByRole("link", { name: "Look at lan0." }).getAttribute("href")).toContain("/interfaces");
    await userEvent.click(done.getByRole("button", { name: "Raise for 1 h" }));
    const dialog = await screen.findByRole("dialog", { name: `Raise the limit of ${queue.name}` });
    await userEvent.click(within(dialog).getByRole("button", { name: "Cancel" }));
    expect(done.getByText("weir queue set q")).toBeTruthy();
    await userEvent.click(screen.getByText("Every number, and where packets are lost"));
    const table = screen.getByRole("table", { name: "Numbers of each place" });
    expect(within(table).getByText("98 %")).toBeTruthy();
    expect(screen.getByText("after this router")).toBeTruthy();
    expect(screen.getByText("Not known: not measured.")).toBeTruthy();
  });

  it("says that nothing is known while the agent does not answer", async () => {
    router.server.use(
      http.get("*/api/v1/diagnosis/why", () =>
        HttpResponse.json(
          {
            status: 503,
            code: "agent-down",
            title: "Unavailable",
            detail: "The agent does not answer.",
            findings: [],
          },
          { status: 503 },
        ),
      ),
    );
    renderAt(`/queues/${aQueue().id}`);
    expect(
      await screen.findByText(/^Not known: The agent does not answer\./, undefined, { timeout: 20_000 }),
    ).toBeTruthy();
  });
});
