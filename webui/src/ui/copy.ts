// SPDX-License-Identifier: Apache-2.0

/**
 * Copies a text, in the handler of a click or a key; whether that was possible. The browser's own event also works
 * where the page came without encryption and has no clipboard.
 */
export function copyText(text: string): boolean {
  const onCopy = (event: ClipboardEvent) => {
    event.stopImmediatePropagation();
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
  };
  document.addEventListener("copy", onCopy, { capture: true });
  try {
    // The clipboard's own interface exists only where the page came encrypted; this one has no other successor.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", onCopy, { capture: true });
  }
}
