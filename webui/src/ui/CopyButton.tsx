// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useState } from "react";

/** Copies a text; nothing where the page came without encryption, as it has no clipboard then. */
export function CopyButton({ text, what = "Copy" }: { text: string; what?: string }) {
  const [copied, setCopied] = useState(false);
  if (!window.isSecureContext) return null;
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return <Button onClick={copy}>{copied ? "Copied" : what}</Button>;
}
