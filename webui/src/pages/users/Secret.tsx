// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { Note } from "@/ui/blocks";
import { CopyButton } from "@/ui/CopyButton";

/** Something that is shown this once. */
export function Secret({ what, value, onDone }: { what: string; value: string; onDone: () => void }) {
  return (
    <Note severity="ok" live>
      <p>{what}. It is shown only now.</p>
      <p className="mono" data-testid="secret" style={{ overflowWrap: "anywhere" }}>
        {value}
      </p>
      <div className="row">
        <CopyButton text={value} />
        <Button onClick={onDone}>I have kept it</Button>
      </div>
    </Note>
  );
}
