// SPDX-License-Identifier: Apache-2.0
/** Which hits of the palette were taken last. Pages stay in this browser; all else names objects, and goes with the session. */
const KEPT = "weir.used";
const MOST = 50;

const storageOf = (key: string): Storage => (key.startsWith("page ") ? localStorage : sessionStorage);

/** By key, when it was taken (Unix milliseconds); nothing where what is kept is not readable. */
function read(storage: Storage): Readonly<Record<string, number>> {
  try {
    const kept: unknown = JSON.parse(storage.getItem(KEPT) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Record<string, number>) : {};
  } catch {
    return {};
  }
}

/** The hit of this key was taken now. */
export function noteUse(key: string, now = Date.now()): void {
  const storage = storageOf(key);
  const newest = Object.entries({ ...read(storage), [key]: now })
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST);
  storage.setItem(KEPT, JSON.stringify(Object.fromEntries(newest)));
}

/** What was taken before comes first, the last of it before all; the rest stays in its order. */
export function lastUsedFirst<T extends { key: string }>(hits: readonly T[]): T[] {
  const when = { ...read(localStorage), ...read(sessionStorage) };
  return [...hits].sort((a, b) => (when[b.key] ?? 0) - (when[a.key] ?? 0));
}
