// SPDX-License-Identifier: Apache-2.0
import { act, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { live } from "@/api/live";
import type { Declared } from "@/kinds/kinds";
import { FakeEventSource, mockRouter } from "./render";
import { field, shower, TOY, TOYS } from "./toys";

const router = mockRouter();
const show = shower(router);

describe("what the router learns about one object", () => {
  const LEARNT: Declared = {
    ...TOY,
    state: [
      field("seen_at", "Seen", { type: "moment" }),
      field("delay_ns", "Delay", { type: "whole", low: -9e15, high: 9e15, unit: "ns" }),
      field("friends", "Friends", { type: "many", most: 9, item: { type: "host" } }),
      field("parts", "Parts", { type: "rows", most: 9, fields: [field("name", "Name", { type: "host" })] }),
    ],
  };
  const NOTHING = { seen_at: null, delay_ns: null, friends: null, parts: null };
  const answer = (state: object) =>
    router.server.use(http.get("*/api/v1/toys/t1/state", () => HttpResponse.json({ id: "t1", ...state })));
  const section = async () => {
    show(TOYS, { edit: "t1" }, LEARNT);
    const dialog = within(await screen.findByRole("dialog", { name: "Toy Bob" }));
    return within(await dialog.findByRole("region", { name: "State" }));
  };
  const beside = (label: HTMLElement) => label.nextElementSibling?.textContent;

  it("stands above its form with its time, and cannot be typed", async () => {
    const parts = [{ name: "wheel" }, { name: null }];
    const fields = { ...NOTHING, delay_ns: -41_200, friends: [], parts };
    answer({ at: "2026-01-01T10:00:00Z", stale_reason: null, fields });
    const state = await section();
    expect(await state.findByText("-41 µs")).toBeTruthy();
    expect(state.getByText(/^at \d\d:\d\d:\d\d$/)).toBeTruthy();
    expect(screen.queryByRole("textbox", { name: "Delay" })).toBeNull();
    // What nobody looked at, and what was looked at and is empty.
    expect([beside(state.getByText("Seen")), beside(state.getByText("Friends"))]).toEqual([
      "not known",
      "none",
    ]);
    expect(state.getAllByRole("cell").map((cell) => cell.textContent)).toEqual(["wheel", "not known"]);
  });

  it("says since when it is old, and why", async () => {
    answer({ at: "2026-01-01T10:00:00Z", stale_reason: "the agent is away", fields: NOTHING });
    expect(await (await section()).findByText(/^No news since .* The agent is away\.$/)).toBeTruthy();
  });

  it("follows the stream: what changed, the rest seen again, and since when there is no news", async () => {
    const asked: string[] = [];
    router.server.use(
      http.get("*/api/v1/toys/t1/state", ({ request }) => {
        asked.push(request.url);
        const fields = { ...NOTHING, delay_ns: -41_200 };
        return HttpResponse.json({ id: "t1", at: "2026-01-01T10:00:00Z", stale_reason: null, fields });
      }),
    );
    live.start();
    try {
      const state = await section();
      expect(await state.findByText("-41 µs")).toBeTruthy();
      await waitFor(() => expect(FakeEventSource.last?.url).toContain("states=toy%2Ft1"));
      const clock = (at: string) => `at ${new Date(at).toLocaleTimeString("en-GB")}`;
      const send = (at: string | null, ...items: object[]) =>
        act(() => FakeEventSource.last?.send("states", { at, items }));
      const item = { kind: "toy", id: "t1", stale_reason: null };
      const fields = { ...NOTHING, delay_ns: 7_000 };
      send("2026-01-01T10:00:02Z", { ...item, at: "2026-01-01T10:00:02Z", fields });
      expect(await state.findByText("7 µs")).toBeTruthy();
      send("2026-01-01T10:00:04Z", { ...item, kind: "other", at: null, fields: NOTHING });
      expect(await state.findByText("7 µs")).toBeTruthy();
      expect(await state.findByText(clock("2026-01-01T10:00:04Z"))).toBeTruthy();
      send(null, { ...item, at: "2026-01-01T10:00:04Z", stale_reason: "the agent is away", fields });
      expect(await state.findByText(/^No news since .* The agent is away\.$/)).toBeTruthy();
      expect(asked).toHaveLength(1);
    } finally {
      live.stop();
    }
    await waitFor(() => expect(FakeEventSource.last?.readyState).toBe(FakeEventSource.CLOSED));
  });

  it("says that nothing was ever known", async () => {
    answer({ at: null, stale_reason: "the agent is away", fields: NOTHING });
    const state = await section();
    expect(await state.findByText("Nothing is known yet. The agent is away.")).toBeTruthy();
    expect(state.getAllByText("not known")).toHaveLength(4);
  });

  it("is what is learnt of such an object, and no section where that is nothing", async () => {
    const asked: string[] = [];
    router.server.use(
      http.get("*/api/v1/toys/t1/state", ({ request }) => {
        asked.push(request.url);
        return HttpResponse.json({ id: "t1", at: null, stale_reason: null, fields: NOTHING });
      }),
    );
    const ofNoisyOnes = { when: { field: "noisy", is: [true], unless: false } };
    const noisy = LEARNT.state.map((item) => ({ ...item, ...ofNoisyOnes }));
    const [first, ...others] = noisy;
    const { unmount } = show(TOYS, { edit: "t1" }, { ...LEARNT, state: [LEARNT.state[0]!, ...others] });
    const state = within(await screen.findByRole("region", { name: "State" }));
    expect(await state.findByText("Seen")).toBeTruthy();
    expect(state.queryByText("Delay")).toBeNull();
    unmount();
    const before = asked.length;
    show(TOYS, { edit: "t1" }, { ...LEARNT, state: [first!, ...others] });
    await screen.findByRole("dialog", { name: "Toy Bob" });
    expect(screen.queryByRole("region", { name: "State" })).toBeNull();
    expect(asked.length).toBe(before);
  });

  it("is not asked for of an object that is only staged", async () => {
    show([], { edit: "new" }, LEARNT);
    await screen.findByRole("dialog", { name: "New toy" });
    expect(screen.queryByRole("region", { name: "State" })).toBeNull();
  });
});
