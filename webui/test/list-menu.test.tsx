// SPDX-License-Identifier: Apache-2.0
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { saveView, savedViews } from "@/table/views";
import { chosenColumns, colsOf } from "@/pages/queues/columns";
import { movedTo } from "@/table/useColumnDrag";
import { HIGH_PX, mockRouter, renderAt } from "./render";
import { shower, toy } from "./toys";

const router = mockRouter(12, HIGH_PX);
const show = shower(router);

const TOYS = [toy("t1", { title: "Alice" }), toy("t2", { title: "Bob" })];
const rowOf = (name: string) => screen.findByRole("row", { name: new RegExp(name) });
const staged = (id: string) => router.state.staged.get(`toy/${id}`)?.new as Record<string, unknown> | null;

async function menuOf(name: string) {
  fireEvent.contextMenu(await rowOf(name), { clientX: 40, clientY: 60 });
  return screen.findByRole("menu", { name: `Actions of ${name}` });
}

describe("a row's menu", () => {
  it("opens, selects, disables and deletes the row, and undoes what is pending of it", async () => {
    const user = userEvent.setup();
    show(TOYS);
    await user.click(within(await menuOf("Bob")).getByRole("menuitem", { name: /^Disable/ }));
    await waitFor(() => expect(staged("t2")).toMatchObject({ title: "Bob", disabled: true }));
    expect((await rowOf("Bob")).textContent).toMatch(/new|pending/);
    await user.click(within(await menuOf("Bob")).getByRole("menuitem", { name: "Undo its pending change" }));
    await waitFor(() => expect(router.state.staged.size).toBe(0));

    await user.click(within(await menuOf("Alice")).getByRole("menuitem", { name: /^Delete/ }));
    await waitFor(() => expect(staged("t1")).toBeNull());
    expect(within(await menuOf("Alice")).queryByRole("menuitem", { name: /^Delete/ })).toBeNull();
    await user.keyboard("{Escape}");

    await user.click(within(await menuOf("Bob")).getByRole("menuitem", { name: /^Select/ }));
    expect(await screen.findByText("1 toy selected")).toBeInstanceOf(HTMLElement);
    await user.click(within(await menuOf("Bob")).getByRole("menuitem", { name: /^Open/ }));
    expect(await screen.findByRole("dialog", { name: /Bob/ })).toBeInstanceOf(HTMLElement);
  });

  it("copies a link that opens the row, also without encryption", async () => {
    const user = userEvent.setup();
    show(TOYS);
    let copied = "";
    // What ui/copy.ts asks where a page came without encryption.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    document.execCommand = vi.fn(() => {
      const event = new Event("copy", { cancelable: true }) as ClipboardEvent;
      Object.assign(event, { clipboardData: { setData: (_type: string, text: string) => (copied = text) } });
      document.dispatchEvent(event);
      return true;
    });
    await user.click(within(await menuOf("Bob")).getByRole("menuitem", { name: "Copy the link" }));
    Reflect.deleteProperty(document, "execCommand");
    expect(copied).toMatch(/\?edit=t2$/);
  });
});

describe("a list with more rows than it reads", () => {
  it("asks the router for those that match a search", async () => {
    const many = Array.from({ length: 10_500 }, (_, number) => toy(`t${number}`, { title: `toy ${number}` }));
    show([...many, toy("last", { title: "needle" })]);
    const said = () =>
      screen
        .getAllByRole("status")
        .map((item) => item.textContent)
        .join(" ");
    await waitFor(() =>
      expect(said()).toMatch(/10.501; the first 10.000 are listed, a search finds the others/),
    );
    expect(screen.queryByRole("row", { name: /needle/ })).toBeNull();
    fireEvent.change(screen.getByRole("searchbox", { name: "Search toys" }), { target: { value: "needle" } });
    expect(await rowOf("needle")).toBeInstanceOf(HTMLElement);
    expect(screen.getAllByRole("row")).toHaveLength(2);
    expect(said()).toMatch(/1 match/);
  });
});

describe("saved views", () => {
  it("are kept by name, listed on their page, and found by Ctrl-K", async () => {
    const user = userEvent.setup();
    const { history } = renderAt("/queues?q=tower&sort=name&edit=new");
    await user.click(await screen.findByRole("button", { name: "Views" }));
    await user.type(await screen.findByRole("textbox", { name: "Name of this view" }), "Towers{Enter}");
    await waitFor(() => expect(savedViews()).toHaveLength(1));
    saveView({ name: "Broken", at: "//elsewhere.example/" });
    expect(savedViews()).toHaveLength(1);
    saveView({ name: "Towers", at: "/queues?q=tower" });
    history.push("/about");
    await screen.findByRole("heading", { name: "About" });
    await user.keyboard("{Control>}k{/Control}");
    await user.click(await screen.findByRole("option", { name: /^Views Towers/ }));
    await waitFor(() => expect(history.location.href).toBe("/queues?q=tower"));
  });
});

describe("columns that are dragged", () => {
  it("come to stand before the one they are dropped on, or behind it from the left", () => {
    expect(movedTo(["a", "b", "c"], "c", "a")).toEqual(["c", "a", "b"]);
    expect(movedTo(["a", "b", "c"], "a", "b")).toEqual(["b", "a", "c"]);
    expect(movedTo(["a", "b", "c"], "a", "c")).toEqual(["b", "c", "a"]);
    expect(movedTo(["a", "b"], "x", "a")).toEqual(["a", "b"]);
  });

  it("stay so in a list of toys", async () => {
    show(TOYS);
    const titles = () => screen.getAllByRole("columnheader").map((head) => head.textContent);
    await rowOf("Bob");
    expect(titles().slice(1, 4)).toEqual(["Title", "Colour", "Size"]);
    const [colour, size] = ["Colour", "Size"].map((name) => screen.getByRole("columnheader", { name })) as [
      HTMLElement,
      HTMLElement,
    ];
    const dataTransfer = { setData: () => undefined, effectAllowed: "" };
    fireEvent.dragStart(size, { dataTransfer });
    fireEvent.dragOver(colour, { dataTransfer });
    fireEvent.drop(colour, { dataTransfer });
    expect(titles().slice(1, 4)).toEqual(["Title", "Size", "Colour"]);
  });

  it("are in the address of the queues, with the name first", () => {
    expect(chosenColumns("delay.limits").map((column) => column.id)).toEqual(["name", "delay", "limits"]);
    expect(colsOf(chosenColumns(undefined).map((column) => column.id))).toBeUndefined();
  });
});
