// SPDX-License-Identifier: Apache-2.0
/** As many rows as no test but those of long lists has. */
const SHOWN = 100;

/** In place of `@tanstack/react-virtual`: jsdom lays nothing out, so the first rows are on the screen. */
export const useVirtualizer = ({ count }: { count: number }) => ({
  getVirtualItems: () =>
    Array.from({ length: Math.min(count, SHOWN) }, (_, index) => ({ index, start: index * 26, size: 26 })),
  getTotalSize: () => count * 26,
  scrollRect: { height: 600 },
  measure: () => undefined,
  scrollToIndex: () => undefined,
});
