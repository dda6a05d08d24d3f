// SPDX-License-Identifier: Apache-2.0
import { useRef, type DragEvent } from "react";

const TYPE = "application/x-weir-column";

/** The ids with one of them before another, or behind it where it comes from the left. */
export function movedTo(ids: readonly string[], moved: string, to: string): readonly string[] {
  const [from, at] = [ids.indexOf(moved), ids.indexOf(to)];
  if (from < 0 || at < 0 || from === at) return ids;
  const left = ids.filter((id) => id !== moved);
  return [...left.slice(0, at), moved, ...left.slice(at)];
}

/** Headings that are dragged into another order; the first column, which names the row, is none of `ids` and stays. */
export function useColumnDrag(ids: readonly string[], onOrder: (ids: readonly string[]) => void) {
  const moved = useRef<string | null>(null);
  return (id: string) => {
    if (!ids.includes(id)) return {};
    return {
      draggable: true,
      onDragStart: (event: DragEvent) => {
        moved.current = id;
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData(TYPE, id);
      },
      onDragOver: (event: DragEvent) => {
        if (moved.current !== null) event.preventDefault();
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        if (moved.current !== null && moved.current !== id) onOrder(movedTo(ids, moved.current, id));
        moved.current = null;
      },
      onDragEnd: () => (moved.current = null),
    };
  };
}
