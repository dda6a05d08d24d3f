// SPDX-License-Identifier: Apache-2.0
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { forgetSteps } from "@/api/undo";
import { HIGH_PX, mockRouter, renderAt } from "./render";

const router = mockRouter(12, HIGH_PX);

async function palette(text: string) {
  const user = userEvent.setup();
  const view = renderAt("/queue-types");
  await screen.findByRole("heading", { name: "Queue types" });
  await user.keyboard("{Control>}k{/Control}");
  await user.click(await screen.findByRole("combobox", { name: "Search everything" }));
  await user.paste(text);
  return { user, ...view, hit: (name: RegExp) => screen.findByRole("option", { name }) };
}

describe("Ctrl-K finds", () => {
  it("an address that the provider gave, and leads to its interface", async () => {
    const { user, hit, history } = await palette("198.51.100.1");
    expect((await hit(/Addresses 198\.51\.100\.1 gateway by DHCP on wan0/)).textContent).toContain("gateway");
    await user.click(await hit(/DHCP server on wan0/));
    await waitFor(() => expect(history.location.href).toBe("/interfaces?edit=wan0"));
  });

  it("the line of the shell that does the same as the chosen hit", async () => {
    const { user, hit } = await palette("wan0");
    await hit(/Interfaces wan0/);
    expect(screen.getByTestId("same-line").textContent).toContain("weir interface show wan0");
    await user.clear(screen.getByRole("combobox", { name: "Search everything" }));
    expect(screen.getAllByRole("option")[0]!.textContent).toBe("ActionsNew queue");
    expect(screen.getByTestId("same-line").textContent).toContain("weir queue add --help");
    expect(screen.getByTestId("same-line").textContent).toContain("POST /api/v1/queues");
  });

  it("first what was taken last", async () => {
    const { user } = await palette("routes");
    const search = () => screen.findByRole("combobox", { name: "Search everything" });
    const take = async (name: string) => {
      await user.clear(await search());
      await user.paste(name);
      await user.click(await screen.findByRole("option", { name: new RegExp(`^(Pages )?${name}`) }));
      await user.keyboard("{Control>}k{/Control}");
      await search();
    };
    await take("History");
    await take("Tuning");
    const [first, second, third] = screen.getAllByRole("option").map((hit) => hit.textContent);
    expect([first, second]).toEqual(["PagesTuningg n", "PagesHistoryg h"]);
    expect(third).toContain("New queue");
  });

  it("a route by its gateway, and leads to it", async () => {
    const { user, hit, history } = await palette("198.51.100.1");
    await user.click(await hit(/Routes 0\.0\.0\.0\/0 198\.51\.100\.1, provider/));
    await waitFor(() => expect(history.location.href).toBe("/routes?edit=r1"));
  });

  it("objects of kinds that it knows by their declaration only, and where all that match are", async () => {
    const { user, hit, history } = await palette("192.0.2.7");
    await hit(/^Set entries 192\.0\.2\.7\/32 blocked/);
    await user.click(await hit(/All 30 set entries that match/));
    await waitFor(() => expect(history.location.href).toBe("/set-entries?q=192.0.2.7"));
  });

  it("a host, which leads to its queue where it has one", async () => {
    const queue = [...router.state.queues.values()][1]!;
    const address = { address: "10.99.1.1", name: null, state: "stale" as const, confirmed_s: 1 };
    const of = (id: string, found: string | null) => ({
      id,
      interface: "lan0",
      mac: null,
      confirmed_s: 1,
      addresses: [{ ...address, queue: found ? { id: found, name: queue.name } : null }],
    });
    router.state.hosts = [of("limited", queue.id), of("other", null)];
    const { user, history } = await palette("10.99.1.1");
    await waitFor(() => expect(screen.getAllByRole("option", { name: /^Hosts/ })).toHaveLength(2));
    await user.click(screen.getByRole("option", { name: new RegExp(`in ${queue.name}`) }));
    await waitFor(() => expect(history.location.pathname).toBe(`/queues/${queue.id}`));
  });

  it("what is typed now, for who presses Enter before it is there", async () => {
    const queue = [...router.state.queues.values()][1]!;
    const { user, history } = await palette(queue.name);
    await user.keyboard("{Enter}");
    await waitFor(() => expect(history.location.pathname).toBe(`/queues/${queue.id}`));
  });

  it("stages a limit that is typed as words", async () => {
    const queue = [...router.state.queues.values()][1]!;
    const { user, hit } = await palette(`limit ${queue.name} 20M/50M`);
    await hit(new RegExp(`Limit ${queue.name} to 20M/50M`));
    expect(screen.getByTestId("same-line").textContent).toContain(
      `weir queue set ${queue.id} --max-limit 20M/50M --candidate`,
    );
    await user.keyboard("{Enter}");
    await waitFor(() =>
      expect(router.state.staged.get(`queue/${queue.id}`)?.new).toMatchObject({
        max_limit_bps: { upload: 20_000_000, download: 50_000_000 },
      }),
    );
  });

  it.each([
    ["new rule", "/rules?edit=new"],
    ["new set entry", "/set-entries?edit=new"],
    ["new bgp instance", "/bgp?edit=new"],
    ["new vlan", "/interfaces?edit=new"],
    ["new route", "/routes?edit=new"],
    ["new vrf", "/interfaces?edit=new%3Avrf"],
    ["new bond", "/interfaces?edit=new%3Abond"],
    ["new queue", "/queues?edit=new"],
  ])("the action %s", async (text, at) => {
    const { user, history } = await palette(text);
    await screen.findAllByRole("option", { name: new RegExp(text, "i") });
    await user.keyboard("{Enter}");
    await waitFor(() => expect(history.location.href).toBe(at));
  });

  it("what the bar of pending changes can do, only while it is there", async () => {
    const queue = [...router.state.queues.values()][1]!;
    router.state.staged.set(`queue/${queue.id}`, { kind: "queue", id: queue.id, new: null });
    const user = userEvent.setup();
    renderAt("/queue-types");
    await screen.findByRole("region", { name: "Pending changes" });
    await user.keyboard("{Control>}k{/Control}");
    await user.type(await screen.findByRole("combobox"), "discard");
    await user.click(await screen.findByRole("option", { name: /Discard the pending changes/ }));
    await user.click(
      within(await screen.findByRole("dialog", { name: /^Discard 1 pending change/ })).getByRole("button", {
        name: "Discard",
      }),
    );
    await waitFor(() => expect(router.state.staged.size).toBe(0));
    await user.keyboard("{Control>}k{/Control}");
    await user.type(await screen.findByRole("combobox"), "commit");
    expect(screen.queryByRole("option", { name: /Commit the pending/ })).toBeNull();
  });

  it("the restart of the router, which it asks about", async () => {
    const { user, hit } = await palette("restart");
    await user.click(await hit(/Restart the router/));
    expect(await screen.findByRole("dialog", { name: "Restart the router?" })).toBeInstanceOf(HTMLElement);
  });
});

async function table() {
  const user = userEvent.setup();
  const view = renderAt("/queues");
  const grid = await screen.findByRole("grid", { name: "Queues" });
  await within(grid).findByRole("link", { name: "baker 1" });
  const row = (index: number) => grid.querySelector<HTMLElement>(`#row-${index}`)!;
  const chosen = () =>
    [...grid.querySelectorAll("[role=row][aria-selected=true]")].map((found) => Number(found.id.slice(4)));
  return { user, grid, row, chosen, ...view };
}

describe("in the table of queues", () => {
  it("Ctrl-A selects every row that matches, and leaves a field its own", async () => {
    const { user, grid, chosen } = await table();
    const field = screen.getByRole("searchbox");
    field.focus();
    await user.keyboard("{Control>}a{/Control}");
    expect(chosen()).toEqual([]);
    grid.focus();
    await user.keyboard("{Control>}a{/Control}");
    expect(await screen.findByText("12 queues selected")).toBeInstanceOf(HTMLElement);
  });

  it("Shift and a click select from the row before, in both directions", async () => {
    const { row, chosen } = await table();
    fireEvent.click(row(4));
    fireEvent.click(row(7), { shiftKey: true });
    await waitFor(() => expect(chosen()).toEqual([4, 5, 6, 7]));
    fireEvent.click(row(2), { shiftKey: true });
    await waitFor(() => expect(chosen()).toEqual([2, 3, 4]));
  });

  it("Shift and a click on a check box select from the box before", async () => {
    const { grid, chosen } = await table();
    const box = (index: number) =>
      within(grid.querySelector<HTMLElement>(`#row-${index}`)!).getByRole<HTMLInputElement>("checkbox");
    fireEvent.click(box(2));
    await waitFor(() => expect(chosen()).toEqual([2]));
    fireEvent.click(box(6), { shiftKey: true });
    await waitFor(() => expect(chosen()).toEqual([2, 3, 4, 5, 6]));
    expect(box(6).checked).toBe(true);
  });

  it("Shift and an arrow widen the range and narrow it", async () => {
    const { user, grid, row, chosen } = await table();
    fireEvent.click(row(3));
    grid.focus();
    await user.keyboard("{Shift>}{ArrowDown}{ArrowDown}{ArrowDown}{ArrowUp}{/Shift}");
    await waitFor(() => expect(chosen()).toEqual([3, 4, 5]));
  });

  it("a row's menu stages what it says, and Ctrl-Z undoes what was staged last", async () => {
    forgetSteps();
    const { user, grid, row } = await table();
    const staged = () =>
      [...router.state.staged.values()].map((change) => [
        change.id,
        change.new === null ? "removed" : change.new["disabled"],
      ]);
    fireEvent.contextMenu(row(1), { clientX: 200, clientY: 200 });
    await user.click(await screen.findByRole("menuitem", { name: "Disable" }));
    await waitFor(() => expect(staged()).toEqual([["q1", true]]));
    fireEvent.contextMenu(row(2), { clientX: 200, clientY: 200 });
    await user.click(await screen.findByRole("menuitem", { name: "Delete" }));
    await waitFor(() =>
      expect(staged()).toEqual([
        ["q1", true],
        ["q2", "removed"],
      ]),
    );
    grid.focus();
    await user.keyboard("{Control>}z{/Control}");
    await waitFor(() => expect(staged()).toEqual([["q1", true]]));
    await screen.findByText("Undone: 1 staged change.");
    await user.keyboard("{Control>}z{/Control}");
    await waitFor(() => expect(staged()).toEqual([]));
  });

  it("Ctrl-Z leaves alone what another window changed since", async () => {
    forgetSteps();
    const { user, grid, row } = await table();
    fireEvent.contextMenu(row(1), { clientX: 200, clientY: 200 });
    await user.click(await screen.findByRole("menuitem", { name: "Disable" }));
    await waitFor(() => expect(router.state.staged.size).toBe(1));
    await screen.findByText(/baker 1: disabled/);
    const mine = router.state.staged.get("queue/q1")!;
    router.state.staged.set("queue/q1", { ...mine, etag: "s-other" });
    grid.focus();
    await user.keyboard("{Control>}z{/Control}");
    expect(await screen.findByText(/was changed in another window/)).toBeInstanceOf(HTMLElement);
    expect(router.state.staged.get("queue/q1")?.etag).toBe("s-other");
  });
});
