// SPDX-License-Identifier: Apache-2.0
import { Drawings, type Canvas, type Order } from "./drawing";
import type { Said } from "./drawing.worker";

/** Who draws: a worker of its own, so that two hundred numbers each second cost the page next to nothing. */
export interface Drawer {
  take: (order: Order) => void;
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
  return {
    take: (order) => {
      drawings.take(order);
      if (order.wiped.length > 0) for (const listener of listeners) listener({ shown: order.wiped });
    },
    handOver: (canvas) => canvas,
    listen: listening(listeners),
  };
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
    handOver: (canvas) => canvas.transferControlToOffscreen(),
    listen: listening(listeners),
  };
}

let one: Drawer | null = null;

/** The page has one; it is there from the first list that is shown. */
export function theDrawer(): Drawer {
  one ??=
    typeof Worker === "function" &&
    "transferControlToOffscreen" in HTMLCanvasElement.prototype &&
    "OffscreenCanvas" in globalThis
      ? inAWorker()
      : inThePage();
  return one;
}
