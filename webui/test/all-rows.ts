// SPDX-License-Identifier: Apache-2.0
/** In place of `@tanstack/react-virtual`: jsdom lays nothing out, so all rows are on the screen. */
export const useVirtualizer = ({ count }: { count: number }) => ({
  getVirtualItems: () =>
    Array.from({ length: count }, (_, index) => ({ index, start: index * 26, size: 26 })),
  getTotalSize: () => count * 26,
  scrollRect: { height: 600 },
  measure: () => undefined,
  scrollToIndex: () => undefined,
});
