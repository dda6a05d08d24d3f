// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";
import type { Declared } from "@/kinds/kinds";
import { placeAt, stepFrom } from "@/kinds/list/moving";
import { rowsOf, type Row } from "@/kinds/objects";
import { mockRouter } from "./render";
import { field, shower, toy, TOY } from "./toys";

const router = mockRouter();
const show = shower(router);

/** Toys of each colour are a list. */
const ORDERED: Declared = {
  ...TOY,
  order: ["colour"],
  fields: [...TOY.fields, field("position", "Position", { type: "position" })],
};
const QUEUED = [
  toy("r3", { title: "Red 3", colour: "red", position: 30 }),
  toy("b1", { title: "Blue 1", colour: "blue", position: 90 }),
  toy("r1", { title: "Red 1", colour: "red", position: 10 }),
  toy("r2", { title: "Red 2", colour: "red", position: 20 }),
];

const change = (id: string, next: object | null) =>
  [id, { kind: "toy", id, action: next ? "change" : "remove", fields: [], new: next, etag: "v2" }] as never;
const rowsWith = (...changes: never[]): Row[] => rowsOf(ORDERED, QUEUED, new Map(changes));
const ids = (rows: readonly Row[]) => rows.map((row) => row.object.id);

describe("a list in its order", () => {
  it("shows one list after the other, with what is staged in its place", () => {
    expect(ids(rowsWith())).toEqual(["b1", "r1", "r2", "r3"]);
    expect(ids(rowsWith(change("r3", { ...QUEUED[0], position: 5 })))).toEqual(["b1", "r3", "r1", "r2"]);
  });

  it("puts a row next to one of its own list that stays", () => {
    const rows = rowsWith(change("r2", null));
    const at = (id: string, place: number) => placeAt(ORDERED, rows, rows[ids(rows).indexOf(id)]!, place);
    expect(at("r1", 4)).toEqual({ before: null, after: "r3" });
    expect(at("r3", 1)).toEqual({ before: "r1", after: null });
    // Above the removed r2 is still before r3, where it stands.
    expect([at("r1", 1), at("r1", 2), at("r3", 2), at("b1", 0), at("b1", 3)]).toEqual(Array(5).fill(null));
    expect(at("r1", 0)).toBeNull();
  });

  it("steps over what is about to be removed, and not into another list", () => {
    const rows = rowsWith(change("r2", null));
    const step = (id: string, by: 1 | -1) => stepFrom(ORDERED, rows, rows[ids(rows).indexOf(id)]!, by);
    expect([step("r1", 1), step("r3", -1), step("r1", -1), step("r3", 1), step("b1", 1)]).toEqual([
      4, 1, -1, -1, -1,
    ]);
  });
});

describe("moving", () => {
  let asked: unknown[] = [];

  beforeEach(() => {
    asked = [];
    router.server.use(
      http.post("*/api/v1/toys/:id/move", async ({ request, params }) => {
        const staged = new URL(request.url).searchParams.get("candidate");
        asked.push([params["id"], staged, await request.json()]);
        return HttpResponse.json({}, { status: 202 });
      }),
    );
  });

  it("is staged by Alt and an arrow key", async () => {
    const user = userEvent.setup();
    show(QUEUED, {}, ORDERED);
    (await screen.findByRole("grid", { name: "toys" })).focus();
    await user.keyboard("{ArrowDown}{ArrowDown}{Alt>}{ArrowDown}{/Alt}");
    await waitFor(() => expect(asked).toEqual([["r1", "true", { before: "r3", after: null }]]));
    await user.keyboard("{Home}{Alt>}{ArrowUp}{/Alt}");
    expect(asked.length).toBe(1);
  });

  it("is a button of the row that is selected, where the list is in its order", async () => {
    const user = userEvent.setup();
    const shown = show(QUEUED, {}, ORDERED);
    (await screen.findByRole("grid", { name: "toys" })).focus();
    await user.keyboard("{End} ");
    await user.click(await screen.findByRole("button", { name: "Move up" }));
    await waitFor(() => expect(asked).toEqual([["r3", "true", { before: "r2", after: null }]]));
    shown.unmount();
    show(QUEUED, { sort: "size" }, ORDERED);
    (await screen.findByRole("grid", { name: "toys" })).focus();
    await user.keyboard("{End} {Alt>}{ArrowUp}{/Alt}");
    expect(await screen.findByText("To move it, clear the search and the sorting.")).toBeTruthy();
    expect(asked.length).toBe(1);
  });
});
