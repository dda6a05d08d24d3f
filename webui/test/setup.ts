// SPDX-License-Identifier: Apache-2.0
import { cleanup, configure } from "@testing-library/react";
import { createElement } from "react";
import { afterEach, vi } from "vitest";

/** Pages are fetched lazily, and the machine may be busy. */
configure({
  asyncUtilTimeout: 15_000,
  getElementError: (message) => new Error((message ?? "not found").slice(0, 300)),
});

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  localStorage.clear();
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
Object.defineProperty(document, "fonts", { value: new EventTarget() });
window.scrollTo = () => {};
Element.prototype.scrollIntoView = () => {};
