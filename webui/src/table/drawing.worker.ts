// SPDX-License-Identifier: Apache-2.0
import plain from "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-400-normal.woff2?url";
import medium from "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-500-normal.woff2?url";
import bold from "@fontsource/ibm-plex-sans/files/ibm-plex-sans-latin-600-normal.woff2?url";
import { answered, Drawings } from "./drawing";
import type { Said, Told } from "./orders";

interface WorkerScope {
  fonts: FontFaceSet;
  onmessage: ((event: MessageEvent<Told>) => void) | null;
  postMessage: (said: Said) => void;
}

const scope = globalThis as unknown as WorkerScope;
const drawings = new Drawings();
const LETTERS_WITHIN_MS = 1_000;

function take(told: Told): void {
  const said = answered(drawings, told);
  if (said) scope.postMessage(said);
}

/** A worker has no style sheet to take its letters from. */
async function learnLetters(): Promise<void> {
  const faces = [
    ["400", plain],
    ["500", medium],
    ["600", bold],
  ].map(([weight, url]) => new FontFace("IBM Plex Sans", `url(${url ?? ""})`, { weight }));
  for (const face of faces) scope.fonts.add(face);
  await Promise.all(faces.map((face) => face.load()));
}

/** Nothing is drawn before the letters are here; where they do not come, the system's own are drawn after a while. */
async function begin(): Promise<void> {
  const waiting: Told[] = [];
  scope.onmessage = ({ data }) => void waiting.push(data);
  const learnt = learnLetters().then(
    () => true,
    () => false,
  );
  const inTime = await Promise.race([
    learnt,
    new Promise<boolean>((late) => setTimeout(() => late(false), LETTERS_WITHIN_MS)),
  ]);
  for (const told of waiting) take(told);
  scope.onmessage = ({ data }) => take(data);
  if (!inTime && (await learnt)) scope.postMessage("letters");
}

void begin();
