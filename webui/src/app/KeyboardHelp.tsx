// SPDX-License-Identifier: Apache-2.0
import { Kbd, Modal } from "@mantine/core";
import { useState } from "react";
import { activeBindings } from "./keyboard";

const EVERYWHERE = new Set(["ctrl+k", "/", "?", "*", "c", "d", "ctrl+z"]);
const rank = (keys: string): number => (keys.startsWith("g ") ? 2 : EVERYWHERE.has(keys) ? 1 : 0);

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  // What the page adds first, then what holds everywhere, then the pages.
  const [bindings] = useState(() => activeBindings().sort((a, b) => rank(a.keys) - rank(b.keys)));
  return (
    <Modal opened onClose={onClose} title="Keys on this page" size="md">
      <dl style={{ display: "grid", gridTemplateColumns: "max-content 1fr", gap: "6px 16px", margin: 0 }}>
        {bindings.map((binding) => (
          <div key={binding.keys} style={{ display: "contents" }}>
            <dt>
              {binding.keys.split(/[ +]/).map((key) => (
                <Kbd key={key} size="xs" mr={4}>
                  {key === "ctrl" ? "Ctrl" : key}
                </Kbd>
              ))}
            </dt>
            <dd style={{ margin: 0 }}>{binding.label}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
