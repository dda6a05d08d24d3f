// SPDX-License-Identifier: Apache-2.0
import plain from "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-400-normal.woff2?url";
import bold from "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-600-normal.woff2?url";
import { Drawing, type Order } from "./drawing";

/** What the worker says: which canvases show their new rows, or that the letters have come and all is to be drawn again. */
export type Said = { shown: readonly number[] } | "letters";

interface WorkerScope {
  fonts: FontFaceSet;
  onmessage: ((event: MessageEvent<Order>) => void) | null;
  postMessage: (said: Said) => void;
}

const scope = globalThis as unknown as WorkerScope;
const drawing = new Drawing();

scope.onmessage = ({ data }) => {
  drawing.take(data);
  if (data.wiped.length > 0) scope.postMessage({ shown: data.wiped });
};

/** A worker has no style sheet to take its letters from. */
async function learnLetters(): Promise<void> {
  const faces = [["400", plain], ["600", bold]].map(([weight, url]) => new FontFace("IBM Plex Sans", `url(${url ?? ""})`, { weight }));
  for (const face of faces) scope.fonts.add(face);
  await Promise.all(faces.map((face) => face.load()));
  scope.postMessage("letters");
}

// Without the product's letters the system's own are drawn.
learnLetters().catch(() => undefined);
