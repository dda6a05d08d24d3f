// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { delay, http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { queryClient } from "@/api/queries";
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

  it("says what could be done to who may not do it, and offers no button for it", async () => {
    router.server.use(
      http.get("*/api/v1/auth/me", () =>
        HttpResponse.json({
          username: "eve",
          scope: "read",
          via: "session",
          must_change_password: false,
          csrf_token: "csrf",
        }),
      ),
    );
    const queue = aQueue();
    const subject = { kind: "queue" as const, id: queue.id };
    const fixes = [
      { id: "raise", text: "Raise its limit for one hour.", subject, command: "weir queue raise q" },
      { id: "edit", text: "Change its limit.", subject, command: null },
    ];
    const full = { ...WELL.line[2]!, state: "culprit" as const, code: "queue-full", fixes };
    answers({ culprit: 2, line: WELL.line.map((item, index) => (index === 2 ? full : item)) });
    renderAt(`/queues/${queue.id}`);
    const done = within(await screen.findByRole("list", { name: "What can be done" }));
    expect(done.getByText("Raise its limit for one hour.")).toBeTruthy();
    expect(done.queryByRole("button")).toBeNull();
    expect(done.getByRole("link", { name: "Change its limit." }).getAttribute("href")).not.toContain("edit");
    expect(done.getByText(/^Your account may look at everything here/)).toBeTruthy();
  });

  it("leads to the uplink whose checks have failed", async () => {
    const fixes = [
      {
        id: "uplink",
        text: "Look at fiber.",
        subject: { kind: "uplink" as const, id: "fiber" },
        command: "weir uplink state fiber",
      },
    ];
    const down = { ...WELL.line[4]!, state: "culprit" as const, code: "checks-failed", fixes };
    answers({ culprit: 4, line: WELL.line.map((item, index) => (index === 4 ? down : item)) });
    renderAt(`/queues/${aQueue().id}`);
    const link = await screen.findByRole("link", { name: "Look at fiber." });
    expect(link.getAttribute("href")).toBe("/uplinks?edit=fiber");
  });

  it("says that nothing is known while the agent does not answer, also while it is asked again", async () => {
    let asked = 0;
    router.server.use(
      http.get("*/api/v1/diagnosis/why", async () => {
        asked += 1;
        if (asked > 1) await delay("infinite");
        return HttpResponse.json(
          {
            status: 503,
            code: "agent-down",
            title: "Unavailable",
            detail: "The agent does not answer.",
            findings: [],
          },
          { status: 503 },
        );
      }),
    );
    renderAt(`/queues/${aQueue().id}`);
    expect(await screen.findByText(/^Not known: the agent does not answer\./)).toBeTruthy();
    void queryClient.refetchQueries({ queryKey: ["why"] });
    await waitFor(() => expect(asked).toBe(2));
    expect(screen.getByText(/^Not known: the agent does not answer\./)).toBeTruthy();
  });
});

describe("why an address is slow, also in no queue", () => {
  const asked: string[] = [];
  const answersOf = (change: Partial<Why>) => {
    asked.length = 0;
    router.server.use(
      http.get("*/api/v1/diagnosis/why", ({ request }) => {
        asked.push(new URL(request.url).searchParams.get("address") ?? "");
        return HttpResponse.json({ ...WELL, ...change });
      }),
    );
  };

  it("is asked on the page of diagnostics, whose address says who is meant", async () => {
    answersOf({
      address: "10.99.1.1",
      queue: null,
      sentence: "It is not this router. No queue limits 10.99.1.1.",
      towards: null,
      uplink: { id: "fiber", status: "up", answers: null },
    });
    const { history } = renderAt("/diagnostics");
    const field = await screen.findByRole("textbox", { name: "Address of the customer" });
    expect(asked).toEqual([]);
    await userEvent.type(field, " 10.99.1.1{Enter}");
    expect(await screen.findByText("It is not this router. No queue limits 10.99.1.1.")).toBeTruthy();
    expect(asked).toEqual(["10.99.1.1"]);
    expect(history.location.href).toBe("/diagnostics?address=10.99.1.1");
    expect(screen.getByText(/by uplink fiber/)).toBeTruthy();
    expect(screen.getByRole("list", { name: "From the device to the internet" })).toBeTruthy();
  });

  it("leads to the queue of an address that has one, and raises its limit", async () => {
    const queue = aQueue();
    const subject = { kind: "queue" as const, id: queue.id };
    const raise = { id: "raise", text: "Raise its limit.", subject, command: null };
    const full = { ...WELL.line[2]!, state: "culprit" as const, code: "queue-full", fixes: [raise] };
    answersOf({
      queue: { id: queue.id, name: queue.name },
      culprit: 2,
      line: WELL.line.map((item, index) => (index === 2 ? full : item)),
    });
    renderAt("/diagnostics?address=10.64.0.2");
    const link = await screen.findByRole("link", { name: queue.name });
    expect(link.getAttribute("href")).toBe(`/queues/${queue.id}`);
    expect(await screen.findByRole("button", { name: "Raise for 1 h" })).toBeTruthy();
  });

  it("says what is wrong with an address, and asks no second time", async () => {
    const detail = "'10.64.0' is not an address";
    router.server.use(
      http.get("*/api/v1/diagnosis/why", () =>
        HttpResponse.json({ status: 422, code: "bad-address", title: "Invalid", detail }, { status: 422 }),
      ),
    );
    renderAt("/diagnostics?address=10.64.0");
    expect((await screen.findByText(`${detail}.`)).closest("[role=alert]")).toBeTruthy();
    expect(screen.queryByText(/^Not known/)).toBeNull();
  });

  const opened = async () => {
    answersOf({});
    const { history } = renderAt("/queue-types");
    await screen.findByRole("heading", { name: "Queue types" });
    await userEvent.keyboard("{Control>}k{/Control}");
    return { history, field: await screen.findByRole("combobox", { name: "Search everything" }) };
  };

  it.each(["10.99.1.1", "2001:db8::1"])("is among what Ctrl-K finds for %s", async (words) => {
    const { history, field } = await opened();
    await userEvent.type(field, words);
    await userEvent.click(await screen.findByRole("option", { name: `Diagnostics Why is ${words} slow?` }));
    await waitFor(() => expect(history.location.pathname).toBe("/diagnostics"));
    await waitFor(() => expect(asked).toEqual([words]));
  });

  it.each(["10.99.1.0/24", "02:00:00:00:00:01"])("is not for %s", async (words) => {
    const { field } = await opened();
    await userEvent.type(field, "fe80::1");
    await screen.findByRole("option", { name: /slow\?$/ });
    await userEvent.clear(field);
    await userEvent.paste(words);
    await waitFor(() => expect(screen.queryByRole("option", { name: /slow\?$/ })).toBeNull());
  });
});
