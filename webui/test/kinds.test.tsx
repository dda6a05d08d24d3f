// SPDX-License-Identifier: Apache-2.0
import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { queryClient } from "@/api/queries";
import { draftOfObject, readDraft, type SecretDraft } from "@/kinds/form/draft";
import { addressOf } from "@/kinds/links";
import { shownRows } from "@/kinds/list/useShown";
import { rowsOf, type Stored } from "@/kinds/objects";
import { useStateColumns } from "@/kinds/states";
import { holds } from "@/kinds/values";
import { mockRouter, renderAt } from "./render";
import { field, shower, toy, TOY, TOYS } from "./toys";

const router = mockRouter();

const show = shower(router);

describe("the list of any kind", () => {
  it("shows the declared columns", async () => {
    show(TOYS);
    await screen.findByRole("grid", { name: "toys" });
    const heads = screen.getAllByRole("columnheader").map((head) => head.textContent);
    expect(heads).toEqual(["", "Title", "Colour", "Size", "Port"]);
    expect([
      addressOf("interface", "lan0"),
      addressOf("static-route", "r/1"),
      addressOf("toy", "t1"),
    ]).toEqual(["/interfaces?edit=lan0", "/routes?edit=r%2F1", null]);
  });

  it("leaves out what no row has a value of, until one has, or until somebody chooses columns", async () => {
    const heads = () => screen.getAllByRole("columnheader").map((head) => head.textContent);
    const { unmount } = show([toy("t1", { title: "Bob", port: "lan0", tags: [80] })]);
    await screen.findByRole("grid", { name: "toys" });
    expect(heads()).toEqual(["", "Title", "Colour", "Size", "Port", "Open ports"]);
    unmount();
    queryClient.clear();
    const quiet = { ...TOY, columns: ["colour", "noisy", "tags"] };
    const second = show([toy("t1", { title: "Bob" }), toy("t2", { title: "Anna" })], {}, quiet);
    await screen.findByRole("grid", { name: "toys" });
    expect(heads()).toEqual(["", "Title", "Colour"]);
    await userEvent.click(screen.getByRole("button", { name: "Columns" }));
    await screen.findByText("Hidden until a row has a value: noisy, open ports.");
    second.unmount();
    queryClient.clear();
    show([toy("t1", { title: "Bob" })], { cols: "tags.noisy" }, quiet);
    await screen.findByRole("grid", { name: "toys" });
    expect(heads()).toEqual(["", "Title", "Open ports", "Noisy"]);
  });

  it("shows what the router learns beside the fields, and nothing where it knows nothing", async () => {
    const state = [field("turns", "Turns", { type: "whole" })];
    const learnt = { ...TOY, columns: ["colour", "turns"], state };
    const states = [{ id: "t1", stale_reason: null, fields: { turns: 1234 } }];
    show(TOYS, {}, learnt, states);
    await screen.findByRole("grid", { name: "toys" });
    const heads = screen.getAllByRole("columnheader").map((head) => head.textContent);
    expect(heads).toEqual(["", "Title", "Colour", "Turns"]);
    const Asked = () => {
      const [turns] = useStateColumns("toy", learnt, ["turns"]);
      return rowsOf(TOY, TOYS, new Map()).map((row) => (
        <p key={row.object.id}>{turns?.text(row) || "none"}</p>
      ));
    };
    render(
      <QueryClientProvider client={queryClient}>
        <Asked />
      </QueryClientProvider>,
    );
    expect(await screen.findByText("1234")).toBeTruthy();
    expect(screen.getAllByText("none")).toHaveLength(2);
  });

  it("sorts numbers as numbers, in both directions, and goes back to its order", async () => {
    const user = userEvent.setup();
    show(TOYS);
    const head = await screen.findByRole("columnheader", { name: "Size" });
    const sorts = [];
    for (const _click of [1, 2, 3]) {
      await user.click(within(head).getByRole("button"));
      sorts.push(head.getAttribute("aria-sort"));
    }
    expect(sorts).toEqual(["ascending", "descending", null]);
    const titles = (sort?: string) =>
      shownRows(TOY, rowsOf(TOY, TOYS, new Map()), undefined, sort).map((row) => row.object["title"]);
    expect([titles("size"), titles("-size"), titles()]).toEqual([
      ["Zed", "Bob", "Anna"],
      ["Anna", "Bob", "Zed"],
      ["Bob", "Anna", "Zed"],
    ]);
  });

  it("searches in every field and says when nothing matches", async () => {
    const user = userEvent.setup();
    show(TOYS);
    await user.type(await screen.findByRole("searchbox", { name: "Search toys" }), "blue");
    expect(await screen.findByText("1 of 3")).toBeTruthy();
    await user.type(screen.getByRole("searchbox", { name: "Search toys" }), "x");
    expect(await screen.findByRole("heading", { name: 'No toy matches "bluex"' })).toBeTruthy();
  });

  it("is gone through and selected by the keyboard", async () => {
    const user = userEvent.setup();
    show(TOYS);
    const grid = await screen.findByRole("grid", { name: "toys" });
    grid.focus();
    await user.keyboard("{ArrowDown} {Shift>}{ArrowDown}{/Shift}");
    expect((await screen.findByText("2 toys selected")).textContent).toBe("2 toys selected");
    await user.keyboard("{Control>}a{/Control}");
    expect(await screen.findByText("3 toys selected")).toBeTruthy();
    await user.keyboard("{Enter}");
    expect(await screen.findByRole("dialog", { name: "Toy Anna" })).toBeTruthy();
  });

  it("remembers which columns were chosen", async () => {
    const user = userEvent.setup();
    const { unmount } = show(TOYS);
    await user.click(await screen.findByRole("button", { name: "Columns" }));
    await user.click(await screen.findByRole("checkbox", { name: "Noisy" }));
    await waitFor(() => expect(screen.getByRole("columnheader", { name: "Noisy" })).toBeTruthy());
    unmount();
    show(TOYS);
    expect(await screen.findByRole("columnheader", { name: "Noisy" })).toBeTruthy();
  });

  it("says what belongs here when it is empty", async () => {
    show([]);
    expect(await screen.findByRole("heading", { name: "No toys" })).toBeTruthy();
    expect(screen.getByText("Toys are for children.")).toBeTruthy();
    expect(screen.getAllByRole("button", { name: "New toy" }).length).toBe(2);
  });

  it("holds 10,000 rows with a screenful of elements, and searches them at once", async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => toy(`t${n}`, { title: `toy ${n}`, size: n % 9 }));
    show(many);
    expect(await screen.findByText("10,000")).toBeTruthy();
    expect(screen.getAllByRole("row").length).toBeLessThan(100);
    const rows = rowsOf(TOY, many, new Map());
    const start = performance.now();
    expect(shownRows(TOY, rows, '"toy 99', "-size").length).toBe(0);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it("shows what is staged: old and new values, removals, new objects", () => {
    const change = (id: string, action: "add" | "change" | "remove", next: object | null) =>
      [id, { kind: "toy", id, name: id, action, fields: [], new: next, etag: "v2" }] as never;
    const rows = rowsOf(
      TOY,
      TOYS,
      new Map([
        change("t1", "change", { ...TOYS[0], size: 5 }),
        change("t2", "remove", null),
        change("t9", "add", { title: "New" }),
      ]),
    );
    expect(
      rows.map((row) => [row.object["title"], row.staged, row.object["size"], row.before?.["size"]]),
    ).toEqual([
      ["New", "add", 1, undefined],
      ["Bob", "change", 5, 3],
      ["Anna", "remove", 20, 20],
      ["Zed", null, 1, undefined],
    ]);
  });
});

describe("the form of any kind", () => {
  it("shows a field while its condition holds", async () => {
    const user = userEvent.setup();
    show(TOYS, { edit: "new" });
    await screen.findByRole("dialog", { name: "New toy" });
    expect(screen.queryByRole("textbox", { name: "Volume" })).toBeNull();
    await user.click(screen.getByRole("switch", { name: "Noisy" }));
    await user.type(screen.getByRole("textbox", { name: "Volume" }), "1.5g");
    expect(screen.getByText(/= 1\.5 Gbit\/s/)).toBeTruthy();
  });

  it("offers the fields of what the object is, and of nothing else", async () => {
    const user = userEvent.setup();
    show(TOYS, { edit: "t1" });
    expect(await screen.findByRole<HTMLInputElement>("textbox", { name: "Wheels" })).toHaveProperty(
      "value",
      "4",
    );
    await user.selectOptions(screen.getByRole("combobox", { name: "Kind" }), "doll");
    expect(screen.queryByRole("textbox", { name: "Wheels" })).toBeNull();
    expect(screen.getByRole("textbox", { name: "Voice" })).toBeTruthy();
  });

  it("says in the list of a reference why there is nothing to choose", async () => {
    const user = userEvent.setup();
    show(TOYS, { edit: "new" });
    const port = await screen.findByRole("combobox", { name: "Port" });
    await user.type(port, "no such interface");
    const nothing = await screen.findByRole("option", { name: "Nothing matches." });
    expect(nothing.hasAttribute("data-combobox-disabled")).toBe(true);
    await user.click(nothing);
    expect((port as HTMLInputElement).value).toBe("no such interface");
  });

  it("says all errors at once, at their fields and in a summary that leads to them", async () => {
    const user = userEvent.setup();
    show(TOYS, { edit: "new" });
    const form = within(await screen.findByRole("dialog", { name: "New toy" }));
    await user.click(form.getByRole("button", { name: "Add to Open ports" }));
    await user.type(form.getByRole("textbox", { name: "Open ports 1" }), "70000");
    await user.click(form.getByRole("button", { name: "Stage the change" }));
    const summary = await form.findByRole("alert");
    expect(summary.textContent).toContain("2 fields need another value");
    await user.click(within(summary).getByRole("button", { name: "Title" }));
    expect(document.activeElement).toBe(form.getByRole("textbox", { name: /^Title/ }));
  });

  it("makes rows of a pasted list", async () => {
    const user = userEvent.setup();
    show(TOYS, { edit: "new" });
    const form = within(await screen.findByRole("dialog", { name: "New toy" }));
    await user.click(form.getByRole("button", { name: "Add to Open ports" }));
    form.getByRole("textbox", { name: "Open ports 1" }).focus();
    await user.paste("22, 443 8080");
    expect(form.getByRole<HTMLInputElement>("textbox", { name: "Open ports 3" }).value).toBe("8080");
  });

  it("never shows a secret: it is kept, replaced or cleared", async () => {
    const user = userEvent.setup();
    show(TOYS, { edit: "t3" });
    expect(await screen.findByText("Set. It is never shown.")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Clear" }));
    expect(screen.getByText("It will be cleared.")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Keep it" }));
    await user.click(screen.getByRole("button", { name: "Replace" }));
    expect(screen.getByLabelText<HTMLInputElement>("Key").type).toBe("password");
  });

  it("takes a secret of several lines as it is pasted, and never shows the one before", async () => {
    const user = userEvent.setup();
    const fields = TOY.fields.map((item) => (item.type === "secret" ? { ...item, lines: true } : item));
    show(TOYS, { edit: "t3" }, { ...TOY, fields });
    await user.click(await screen.findByRole("button", { name: "Replace" }));
    const input = screen.getByLabelText<HTMLTextAreaElement>("Key");
    expect(input.value).toBe("");
    await user.click(input);
    await user.paste("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    expect(input.value.split("\n")).toHaveLength(4);
  });
});

describe("what a form reads", () => {
  const read = (object: Stored | null, change: object) =>
    readDraft(TOY, { ...draftOfObject(TOY, object), ...change });

  it("is the object that was given where nothing is changed", () => {
    const { input, messages } = read(TOYS[0]!, {});
    expect(messages).toEqual({});
    expect(input).toMatchObject({ title: "Bob", size: 3, port: "lan0", wheels: 4, kind: "car", voice: null });
  });

  it("has nothing of what the object is no longer, or of what is not offered", () => {
    const { input } = read(TOYS[0]!, { kind: "doll", voice: "hi", noisy: false, volume: "5M" });
    expect(input).toMatchObject({ kind: "doll", wheels: null, voice: "hi", volume: null });
  });

  it("keeps, replaces or clears a secret", () => {
    const draft = (wish: SecretDraft["wish"], text = ""): SecretDraft => ({ isSet: true, wish, text });
    const key = (value: SecretDraft) => read(TOYS[2]!, { key: value }).input["key"];
    expect([key(draft("keep")), key(draft("replace", "s3cret")), key(draft("clear"))]).toEqual([
      { set: true },
      "s3cret",
      null,
    ]);
  });

  it("names what is missing and what is out of bounds", () => {
    const { messages } = read(null, { title: " ", size: "12", tags: ["22", "x"] });
    expect(messages).toEqual({
      title: "This is needed, for example Bob.",
      size: "A whole number from 1 to 9.",
      "tags.1": "A whole number from 1 to 65,535.",
    });
  });
});

it("a condition holds for one of its values, for any value, or for none", () => {
  const values = { a: "x", b: "", c: false };
  expect([
    holds({ field: "a", is: ["x", "y"], unless: false }, values),
    holds({ field: "b", is: null, unless: false }, values),
    holds({ field: "b", is: null, unless: true }, values),
    holds({ field: "c", is: [false], unless: false }, values),
  ]).toEqual([true, false, true, true]);
});

describe("routes", () => {
  it("are deleted by the keyboard, and taken back by Ctrl-Z", async () => {
    const user = userEvent.setup();
    renderAt("/routes");
    const grid = await screen.findByRole("grid", { name: "static routes" });
    grid.focus();
    await user.keyboard("{ArrowDown}{Delete}");
    await waitFor(() => expect(router.state.staged.get("static-route/r1")?.new).toBeNull());
    expect(await screen.findByText("1, 1 pending")).toBeTruthy();
    await user.keyboard("{Control>}z{/Control}");
    await waitFor(() => expect(router.state.staged.size).toBe(0));
  });

  it("are disabled together", async () => {
    const user = userEvent.setup();
    renderAt("/routes");
    (await screen.findByRole("grid", { name: "static routes" })).focus();
    await user.keyboard("{Control>}a{/Control}");
    await user.click(await screen.findByRole("button", { name: "Disable" }));
    await waitFor(() =>
      expect(router.state.staged.get("static-route/r1")?.new).toMatchObject({ disabled: true }),
    );
  });

  it("stand in an area of their own", async () => {
    renderAt("/routes");
    const area = within(await screen.findByRole("list", { name: "Routing" }));
    expect(area.getByRole("link", { name: "Routes" })).toBeTruthy();
    expect(area.queryByRole("link", { name: "Firewall" })).toBeNull();
    await userEvent.setup().click(screen.getByRole("button", { name: "Firewall" }));
    expect(
      within(screen.getByRole("list", { name: "Firewall" })).getByRole("link", { name: "Firewall" }),
    ).toBeTruthy();
  });
});

describe("the firewall", () => {
  it("is staged from the form of its declaration", async () => {
    const user = userEvent.setup();
    router.state.explained = {
      ...router.state.explained,
      agrees: false,
      drift: [{ at: null, part: "firewall", what: "change firewall the table inet weir", repaired: true }],
      lines: [
        {
          part: "firewall",
          field: "masquerade",
          asked: "yes",
          compiled: "one rule",
          system: "not there",
          agrees: false,
        },
        { part: "ports", field: "", asked: "", compiled: "", system: "cannot be read: gone", agrees: null },
      ],
    };
    renderAt("/firewall");
    const system = await screen.findByText("it differs from what is configured");
    const fold = within(system.closest("details")!);
    expect(fold.getByText("not there")).toBeTruthy();
    expect(fold.getByText("cannot be read: gone")).toBeTruthy();
    expect(fold.getByText(/Repaired in firewall: change firewall the table/)).toBeTruthy();
    await user.click(await screen.findByRole("switch", { name: /^Answer ping from the WAN/ }));
    await user.click(screen.getByRole("button", { name: "Add to Open TCP ports" }));
    await user.type(screen.getByRole("textbox", { name: /^Open TCP ports 1/ }), "443");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() => expect(router.state.staged.get("firewall/firewall")?.new).toBeTruthy());
  });
});
