// SPDX-License-Identifier: Apache-2.0
import { live } from "@/api/live";
import { answered, Drawings } from "./drawing";
import type { Canvas, Order, Said, Told } from "./orders";

/** Who draws: a worker of its own, so that two hundred numbers each second cost the page next to nothing. */
export interface Drawer {
  take: (order: Order) => void;
  /** A measurement of queues as the router sent it; null: none is known any more. */
  read: (text: string | null) => void;
  /** A canvas as the drawer can use it. */
  handOver: (canvas: HTMLCanvasElement) => Canvas;
  /** Called with every answer; the function that is returned ends it. */
  listen: (listener: (said: Said) => void) => () => void;
}

type Listeners = Set<(said: Said) => void>;

function listening(listeners: Listeners): Drawer["listen"] {
  return (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
}

/** Where a browser cannot draw elsewhere, the page does it. */
function inThePage(): Drawer {
  const drawings = new Drawings();
  const listeners: Listeners = new Set();
  const take = (told: Told) => {
    const said = answered(drawings, told);
    if (said) for (const listener of listeners) listener(said);
  };
  return { take, read: take, handOver: (canvas) => canvas, listen: listening(listeners) };
}

function inAWorker(): Drawer {
  const worker = new Worker(new URL("./drawing.worker.ts", import.meta.url), { type: "module" });
  const listeners: Listeners = new Set();
  worker.onmessage = ({ data }: MessageEvent<Said>) => {
    for (const listener of listeners) listener(data);
  };
  return {
    take: (order) =>
      worker.postMessage(
        order,
        order.canvases.map(([, canvas]) => canvas as OffscreenCanvas),
      ),
    read: (text) => worker.postMessage(text),
    handOver: (canvas) => canvas.transferControlToOffscreen(),
    listen: listening(listeners),
  };
}

function made(): Drawer {
  const drawer =
    typeof Worker === "function" &&
    "transferControlToOffscreen" in HTMLCanvasElement.prototype &&
    "OffscreenCanvas" in globalThis
      ? inAWorker()
      : inThePage();
  drawer.listen((said) => {
    if (said !== "letters" && said.head) live.wasRead(said.head);
  });
  live.readElsewhere(drawer.read);
  return drawer;
}

let one: Drawer | null = null;

/** The page has one; it is there from the first list that is shown. */
export const theDrawer = (): Drawer => (one ??= made());
