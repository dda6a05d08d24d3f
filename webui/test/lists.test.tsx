// SPDX-License-Identifier: Apache-2.0
/** What a set has is fetched or asked for from its form, and the answer is the router's. */
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

/** One set, and what fetching its list, or asking for its names, answers. */
function set(answer: { fetched: boolean; answer: string; entries: number }, more: object = {}): void {
  const object = {
    id: "drop",
    type: "address",
    source: "url",
    timeout_s: 3600,
    url: "https://lists.example.net/drop.txt",
    refresh_s: 86400,
    max_entries: 65536,
    comment: "",
    disabled: false,
    etag: "r7",
    warnings: [],
    names: [],
    ...more,
  };
  router.server.use(
    http.get("*/api/v1/sets", () =>
      HttpResponse.json({ items: [object], states: null, next_cursor: null, total: 1 }),
    ),
    http.post("*/api/v1/sets/drop/refresh", () => HttpResponse.json({ ...answer, took_ms: 5 })),
  );
}

describe("the list of a set", () => {
  it("is fetched now, and what became of it is said", async () => {
    set({ fetched: false, answer: "it answered 404 Not Found", entries: 3 });
    renderAt("/sets?edit=drop");
    await userEvent.setup().click(await screen.findByText("Fetch it now"));
    expect((await screen.findByRole("alert")).textContent).toContain(
      "Not fetched, 3 entries: it answered 404 Not Found",
    );
  });

  it("of names is asked for in other words", async () => {
    set(
      { fetched: false, answer: "a.example: no such name", entries: 3 },
      { source: "dns", url: null, names: ["a.example"] },
    );
    renderAt("/sets?edit=drop");
    await userEvent.setup().click(await screen.findByText("Ask now"));
    expect((await screen.findByRole("alert")).textContent).toContain(
      "Not all answered, 3 entries: a.example: no such name",
    );
  });
});
