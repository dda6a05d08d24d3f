// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { System } from "@/api/types";
import { lostText } from "@/app/StoreLine";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const API = "*/api/v1";
const HEALTHY = {
  refused: [],
  followed: true,
  reason: "",
  running_revision: 7,
  stored: null,
  damaged: [],
};

/** The router says that something is wrong with its database. */
async function storeIs(store: object, lost: object[] = []): Promise<void> {
  const system = (await (await fetch(`${window.location.origin}/api/v1/system`)).json()) as System;
  const check = { id: "store", state: "failed" as const, message: "said in short" };
  router.server.use(
    http.get(`${API}/system`, () => HttpResponse.json({ ...system, checks: [...system.checks, check] })),
    http.get(`${API}/system/store`, () => HttpResponse.json({ ...HEALTHY, ...store })),
    http.get(`${API}/system/store/restore`, () =>
      HttpResponse.json({
        total: lost.length,
        counts: { added: lost.length, changed: 0, removed: 0 },
        changes: lost,
        next_cursor: null,
      }),
    ),
  );
}

const lostQueue = (id: string) => ({
  kind: "queue",
  id,
  name: id,
  action: "add",
  fields: [],
  old: null,
  new: {},
});
const damaged = (id: string) => ({ kind: "queue", id, message: `queue ${id} is damaged (revision 1)` });

describe("a damaged database", () => {
  it("is said on every page, and a list names what it lacks", async () => {
    await storeIs({ damaged: [damaged("q9")] }, [lostQueue("q9")]);
    const { unmount } = renderAt("/queues");
    expect((await screen.findByText(/This list lacks/)).textContent).toContain("This list lacks q9.");
    unmount();
    renderAt("/history");
    expect(await screen.findByText(/Damaged in the database: 1 queue\./)).toBeInstanceOf(HTMLElement);
    expect(screen.queryByText(/This list lacks/)).toBeNull();
  });

  it("is told from damage in old revisions, where there is nothing to restore", async () => {
    await storeIs({ damaged: [damaged("q9")] });
    renderAt("/queues");
    expect(await screen.findByText(/^Old revisions in the database are damaged/)).toBeInstanceOf(HTMLElement);
    await userEvent.click(screen.getByRole("button", { name: "Look at the damage" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(await dialog.findByText(/there is nothing to restore/)).toBeInstanceOf(HTMLElement);
    expect(dialog.queryByRole("button", { name: /^Restore/ })).toBeNull();
  });

  it("counts by kind", () => {
    const route = { kind: "static-route" as const, id: "r" };
    expect(lostText([{ kind: "queue", id: "a" }, { kind: "queue", id: "b" }, route])).toBe(
      "2 queues and 1 static route",
    );
  });
});

describe("a database that is not followed", () => {
  it("is accepted only after the dialog said what is lost, with the digest that was seen", async () => {
    const asked: unknown[] = [];
    await storeIs({
      followed: false,
      reason: "the router ran revision 7, and the database has only 3",
      stored: { revision: 3, digest: "ab".repeat(16) },
    });
    router.server.use(
      http.post(`${API}/system/store/accept`, async ({ request }) => {
        asked.push(await request.json());
        return HttpResponse.json(HEALTHY);
      }),
    );
    renderAt("/queues");
    await userEvent.click(await screen.findByRole("button", { name: "Decide what runs" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(dialog.getByText(/up to revision 7, is lost\. This cannot be undone\./)).toBeInstanceOf(
      HTMLElement,
    );
    expect(asked).toEqual([]);
    await userEvent.click(dialog.getByRole("button", { name: "Run revision 3 of the database" }));
    await waitFor(() => expect(asked).toEqual([{ revision: 3, digest: "ab".repeat(16) }]));
  });
});
