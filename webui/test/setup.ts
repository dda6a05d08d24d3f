// SPDX-License-Identifier: Apache-2.0
import { cleanup, configure } from "@testing-library/react";
import { createElement } from "react";
import { afterEach, vi } from "vitest";
import { setSession } from "@/api/session";
import { forgetAccount } from "@/app/forget";

/** Pages are fetched lazily, and the machine may be busy. */
configure({
  asyncUtilTimeout: 15_000,
  getElementError: (message) => new Error((message ?? "not found").slice(0, 300)),
});

/** Files share a page and its modules (vite.config.ts), so each test leaves them as it found them. */
afterEach(() => {
  vi.useRealTimers();
  cleanup();
  forgetAccount();
  setSession("unknown", null);
  localStorage.clear();
  window.history.replaceState(null, "", "/");
  document.title = "";
  document.body.replaceChildren();
  for (const element of [document.documentElement, document.body])
    for (const name of element.getAttributeNames()) element.removeAttribute(name);
});

/** What jsdom lacks and the components ask for. */
class NoObserver {
  observe() {}
  unobserve() {}
  disconnect() {}
  takeRecords() {
    return [];
  }
}
vi.mock("@/ui/Graph", () => ({
  Graph: ({ label }: { label: string }) => createElement("div", { role: "img", "aria-label": label }),
}));
vi.stubGlobal("ResizeObserver", NoObserver);
vi.stubGlobal("IntersectionObserver", NoObserver);
window.matchMedia = (query: string) =>
  Object.assign(new EventTarget(), {
    matches: false,
    media: query,
    onchange: null,
  }) as unknown as MediaQueryList;
HTMLCanvasElement.prototype.getContext = () => null;
Object.defineProperty(document, "fonts", { configurable: true, value: new EventTarget() });
window.scrollTo = () => {};
Element.prototype.scrollIntoView = () => {};
