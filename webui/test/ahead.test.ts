// SPDX-License-Identifier: Apache-2.0
import { createMemoryHistory } from "@tanstack/react-router";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loadAhead } from "@/app/ahead";
import { makeRouter } from "@/app/router";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A router whose pages are not loaded, but written down; a page was just shown. */
function shown(load: (id: string) => void) {
  const router = makeRouter(createMemoryHistory({ initialEntries: ["/sign-in"] }));
  router.loadRouteChunk = (route) => {
    load((route as { id: string }).id);
    return Promise.resolve();
  };
  loadAhead(router);
  router.emit({
    type: "onRendered",
    toLocation: router.latestLocation,
    pathChanged: true,
    hrefChanged: true,
    hashChanged: false,
  });
  return router;
}

test("the code of every page is loaded after the first one was shown", async () => {
  const loaded: string[] = [];
  const router = shown((id) => loaded.push(id));
  expect(loaded).toEqual([]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(new Set(loaded)).toEqual(new Set(Object.keys(router.routesById)));
});

test("nothing more is loaded ahead when one page cannot be had", async () => {
  const loaded: string[] = [];
  shown((id) => {
    loaded.push(id);
    if (loaded.length === 3) window.dispatchEvent(new Event("vite:preloadError"));
  });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(loaded).toHaveLength(3);
});
