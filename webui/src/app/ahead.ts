// SPDX-License-Identifier: Apache-2.0
import type { makeRouter } from "./router";

const AFTER_MS = 1_000;
/** A browser without idle callbacks (Safari) waits so long between two. */
const PAUSE_MS = 200;

const whenIdle = (action: () => void): void => {
  if ("requestIdleCallback" in window) window.requestIdleCallback(action);
  else setTimeout(action, PAUSE_MS);
};

/**
 * Loads the code of the other pages, one after the other while the browser has nothing to do, so that a click waits for
 * data only. It ends when one cannot be had: the router is away, or has been updated.
 */
export function loadAhead(router: ReturnType<typeof makeRouter>): void {
  const routes = Object.values(router.routesById);
  let isOver = false;
  window.addEventListener("vite:preloadError", () => (isOver = true), { once: true });
  const next = (): void => {
    const route = routes.pop();
    if (isOver || route === undefined) return;
    void Promise.resolve(router.loadRouteChunk(route)).then(() => whenIdle(next));
  };
  const unsubscribe = router.subscribe("onRendered", () => {
    unsubscribe();
    setTimeout(() => whenIdle(next), AFTER_MS);
  });
}
