// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { cleanup, render } from "@testing-library/react";
import { setupServer, type SetupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
import { queryClient } from "@/api/queries";
import { makeRouter } from "@/app/router";
import { theme } from "@/app/theme";
import { Toasts } from "@/ui/toast";
import { handlers } from "./mock/handlers";
import { newState, type MockState } from "./mock/state";

/** jsdom has no event stream; the tests speak through this one. */
export class FakeEventSource extends EventTarget {
  static last: FakeEventSource | null = null;
  static readonly CLOSED = 2;
  readyState = 1;
  onerror: (() => void) | null = null;
  constructor(readonly url: string) {
    super();
    FakeEventSource.last = this;
  }
  close() {
    this.readyState = FakeEventSource.CLOSED;
  }
  send(name: string, data: unknown) {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
}

/** As high as a hundred rows: for tests that look at the rows of lists. jsdom lays nothing out, so without it there are none. */
export const HIGH_PX = 2_600;

/** A router in memory for each test of the file, and how high each element of its pages is. */
export function mockRouter(count = 12, heightPx = 0): { state: MockState; server: SetupServer } {
  const server = setupServer();
  const holder = { state: newState(count), server };
  beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
  beforeEach(() => {
    holder.state = newState(count);
    server.use(...handlers(holder.state));
    globalThis.EventSource = FakeEventSource as unknown as typeof EventSource;
    vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(heightPx);
  });
  afterEach(() => {
    cleanup();
    server.resetHandlers();
    FakeEventSource.last = null;
  });
  afterAll(() => server.close());
  return holder;
}

/** The whole UI at an address, and the history of its addresses. */
export function renderAt(path: string) {
  const history = createMemoryHistory({ initialEntries: [path] });
  const router = makeRouter(history);
  const view = render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { ...view, history };
}
