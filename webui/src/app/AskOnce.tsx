// SPDX-License-Identifier: Apache-2.0
import { Button, Modal } from "@mantine/core";
import type { ReactNode } from "react";

interface AskOnceProps {
  title: string;
  action: string;
  busy?: boolean;
  onDo: () => void;
  onClose: () => void;
  children?: ReactNode;
}

/** The one question before something that cannot be taken back. */
export function AskOnce({ title, action, busy, onDo, onClose, children }: AskOnceProps) {
  return (
    <Modal opened onClose={onClose} title={title} size="sm">
      <div className="stack">
        <div>{children}</div>
        <div className="row">
          <Button variant="filled" color="red" loading={busy} onClick={onDo} data-autofocus>
            {action}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </div>
    </Modal>
  );
}
