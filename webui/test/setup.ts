// SPDX-License-Identifier: Apache-2.0
import { cleanup } from "@testing-library/react";
import { afterEach, vi } from "vitest";

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
vi.stubGlobal("ResizeObserver", NoObserver);
vi.stubGlobal("IntersectionObserver", NoObserver);
window.matchMedia = (query: string) => Object.assign(new EventTarget(), { matches: false, media: query, onchange: null }) as unknown as MediaQueryList;
Element.prototype.scrollIntoView = () => {};
