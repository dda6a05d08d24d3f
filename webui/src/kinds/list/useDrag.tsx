// SPDX-License-Identifier: Apache-2.0
import { useState, type DragEvent, type ReactNode } from "react";
import type { Declared } from "../kinds";
import type { Row } from "../objects";
import classes from "./List.module.css";
import { placeAt, type Moves } from "./moving";

/** Row numbers as the grid tells them: its head is the first. */
const indexOf = (element: Element): number => Number(element.getAttribute("aria-rowindex")) - 2;

const rowOf = (event: DragEvent): Element | null =>
  event.target instanceof Element ? event.target.closest("[role=row]") : null;

/** Rows that are dragged by their grips: what the table listens to, and the line where the row would go. */
export function useDrag(declared: Declared, rows: readonly Row[], moves: Moves | null, rowPx: number) {
  const [dragged, setDragged] = useState<Row | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const end = () => {
    setDragged(null);
    setAt(null);
  };
  if (!moves) return { handlers: {}, line: null };
  const onDragStart = (event: DragEvent) => {
    const row = rowOf(event);
    if (!row || !(event.target instanceof Element) || !event.target.hasAttribute("data-grip")) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", rows[indexOf(row)]?.object.id ?? "");
    event.dataTransfer.setDragImage(row, 0, 0);
    setDragged(rows[indexOf(row)] ?? null);
  };
  const onDragOver = (event: DragEvent) => {
    const row = rowOf(event);
    if (!dragged || !row || indexOf(row) < 0) return;
    const { top, height } = row.getBoundingClientRect();
    const wanted = indexOf(row) + (event.clientY > top + height / 2 ? 1 : 0);
    const fits = placeAt(declared, rows, dragged, wanted) !== null;
    setAt(fits ? wanted : null);
    if (fits) event.preventDefault();
  };
  const onDrop = (event: DragEvent) => {
    if (!dragged || at === null) return;
    event.preventDefault();
    moves.to(dragged, at);
    end();
  };
  const line: ReactNode =
    at === null ? null : <div className={classes.dropLine} style={{ top: at * rowPx - 1 }} />;
  return { handlers: { onDragStart, onDragOver, onDrop, onDragEnd: end }, line };
}
