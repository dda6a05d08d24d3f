// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useState } from "react";
import { Note } from "@/ui/blocks";

/** Something that is shown this once. */
export function Secret({ what, value, onDone }: { what: string; value: string; onDone: () => void }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(value).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <Note severity="ok" live>
      <p>{what}. It is shown only now.</p>
      <p className="mono" data-testid="secret" style={{ overflowWrap: "anywhere" }}>
        {value}
      </p>
      <div className="row">
        {window.isSecureContext ? <Button onClick={copy}>{copied ? "Copied" : "Copy"}</Button> : null}
        <Button onClick={onDone}>I have kept it</Button>
      </div>
    </Note>
  );
}
