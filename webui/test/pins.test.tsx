// SPDX-License-Identifier: Apache-2.0
import { cleanup, createEvent, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { dropPin, movePin, pins, togglePin } from "@/table/pins";
import { saveView } from "@/table/views";
import { mockRouter, renderAt } from "./render";

mockRouter();
beforeEach(() => localStorage.removeItem("weir.pins"));

const menu = async () => within(await screen.findByRole("navigation", { name: "Main" }));
const pinned = async () =>
  within((await menu()).getByRole("list", { name: "Pinned" }))
    .getAllByRole("link")
    .map((link) => link.getAttribute("aria-label"));
const pin = (...names: string[]) => {
  for (const name of names) togglePin({ name, at: `/${name.toLowerCase()}` });
};

describe("pinned pages", () => {
  it("are pinned by the button of their line, stand above all others, and lead there", async () => {
    const user = userEvent.setup();
    const { history } = renderAt("/hosts");
    expect((await menu()).queryByRole("list", { name: "Pinned" })).toBeNull();
    await user.click((await menu()).getByRole("button", { name: "Pin Interfaces to the top" }));
    expect(await pinned()).toEqual(["Interfaces, pinned"]);
    expect((await menu()).getAllByRole("link")[0]!.getAttribute("aria-label")).toBe("Interfaces, pinned");
    await user.click((await menu()).getByRole("link", { name: "Interfaces, pinned" }));
    await waitFor(() => expect(history.location.pathname).toBe("/interfaces"));
    const line = (await menu()).getByRole("link", { name: "Interfaces, pinned" });
    await waitFor(() => expect(line.getAttribute("aria-current")).toBe("page"));
    cleanup();
    renderAt("/hosts");
    expect(await pinned()).toEqual(["Interfaces, pinned"]);
    await user.click((await menu()).getAllByRole("button", { name: "Unpin Interfaces" })[0]!);
    expect((await menu()).queryByRole("list", { name: "Pinned" })).toBeNull();
  });

  it("are pinned, moved and unpinned by keys alone", async () => {
    pin("Queues");
    const user = userEvent.setup();
    renderAt("/hosts");
    (await menu()).getByRole("link", { name: "Hosts" }).focus();
    await user.keyboard("*");
    expect(await pinned()).toEqual(["Queues, pinned", "Hosts, pinned"]);
    (await menu()).getByRole("link", { name: "Hosts, pinned" }).focus();
    await user.keyboard("{Alt>}{ArrowUp}{/Alt}");
    expect(await pinned()).toEqual(["Hosts, pinned", "Queues, pinned"]);
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Hosts, pinned");
    await user.keyboard("{ArrowDown}*");
    expect(await pinned()).toEqual(["Hosts, pinned"]);
  });

  it("have a menu of their own at the pointer", async () => {
    pin("Queues", "Hosts");
    const user = userEvent.setup();
    renderAt("/hosts");
    await user.pointer({
      keys: "[MouseRight]",
      target: (await menu()).getByRole("link", { name: "Hosts, pinned" }),
    });
    await user.click(await screen.findByRole("menuitem", { name: /^Move up/ }));
    await waitFor(async () => expect(await pinned()).toEqual(["Hosts, pinned", "Queues, pinned"]));
    await user.pointer({
      keys: "[MouseRight]",
      target: (await menu()).getByRole("link", { name: "Overview" }),
    });
    await user.click(await screen.findByRole("menuitem", { name: /^Pin to the top/ }));
    expect(pins().at(-1)).toEqual({ name: "Overview", at: "/" });
  });

  it("are put in order by dragging", async () => {
    pin("Queues", "Hosts", "Log");
    renderAt("/hosts");
    const line = async (name: string) => (await menu()).getByRole("link", { name: `${name}, pinned` });
    const kept = new Map<string, string>();
    const dataTransfer = {
      setData: (type: string, text: string) => kept.set(type, text),
      getData: (type: string) => kept.get(type) ?? "",
      get types() {
        return [...kept.keys()];
      },
    };
    fireEvent.dragStart(await line("Log"), { dataTransfer });
    const over = createEvent.dragOver(await line("Queues"), { dataTransfer });
    fireEvent(await line("Queues"), over);
    expect(over.defaultPrevented).toBe(true);
    fireEvent.drop(await line("Queues"), { dataTransfer });
    expect(await pinned()).toEqual(["Log, pinned", "Queues, pinned", "Hosts, pinned"]);
  });

  it("may be saved views", async () => {
    // The window's own address stays at "/" here.
    saveView({ name: "Towers", at: "/?zoom=1700000000-1700000060" });
    const user = userEvent.setup();
    const { history } = renderAt("/queues");
    await user.click(await screen.findByRole("button", { name: "Views" }));
    const button = await screen.findByRole("button", { name: "Pin the view Towers to the menu" });
    await user.click(button);
    expect(button.getAttribute("aria-pressed")).toBe("true");
    await user.click((await menu()).getByRole("link", { name: "Towers, pinned" }));
    await waitFor(() => expect(history.location.href).toBe("/?zoom=1700000000-1700000060"));
  });

  it("stay within their bounds, and forget what is no address of the router", () => {
    localStorage.setItem("weir.pins", JSON.stringify([{ name: "Away", at: "//elsewhere.example/" }, 7]));
    expect(pins()).toEqual([]);
    pin(...Array.from({ length: 25 }, (_, number) => `P${number}`));
    expect(pins()).toHaveLength(20);
    movePin("/p24", -100);
    expect(pins()[0]!.name).toBe("P24");
    dropPin("/p24", "/gone");
    expect(pins()[0]!.name).toBe("P24");
  });
});
