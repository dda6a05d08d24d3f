// SPDX-License-Identifier: Apache-2.0
import { Menu } from "@mantine/core";
import { copyText } from "@/ui/copy";
import { say } from "@/ui/toast";
import type { Declared } from "../kinds";
import { nameOf, type Row } from "../objects";
import type { Moves } from "./moving";
import type { useEdits } from "./useEdits";

/** Where a row's menu was asked for, in pixels of the window. */
export interface MenuPlace {
  row: Row;
  x: number;
  y: number;
}

interface KindMenuProps {
  place: MenuPlace;
  declared: Declared;
  isChosen: boolean;
  onOpen: () => void;
  onSelect: () => void;
  /** Null: nothing may be changed. */
  edits: ReturnType<typeof useEdits> | null;
  /** Null: nothing can be moved. */
  moves: Moves | null;
  onClose: () => void;
}

const key = (name: string) => <span className="dim">{name}</span>;

/** The address that opens the row's form in this list, as it is shown now. */
function linkTo(row: Row): string {
  const address = new URL(window.location.href);
  address.searchParams.set("edit", row.object.id);
  return address.href;
}

function copyLink(row: Row, name: string): void {
  const isCopied = copyText(linkTo(row));
  say(isCopied ? "notice" : "error", isCopied ? `Copied the link to ${name}.` : "The browser did not copy.");
}

/** What a row can do, with the keys that do the same. */
export function KindMenu(props: KindMenuProps) {
  const { place, declared, isChosen, onOpen, onSelect, onClose } = props;
  const { row, x, y } = place;
  const name = nameOf(declared, row.object);
  return (
    <Menu
      opened
      onClose={onClose}
      position="bottom-start"
      offset={0}
      width={230}
      transitionProps={{ duration: 0 }}
      returnFocus
    >
      <Menu.Target>
        <span style={{ position: "fixed", left: x, top: y, width: 1, height: 1, overflow: "hidden" }}>
          Actions of {name}
        </span>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item rightSection={key("Enter")} onClick={onOpen}>
          Open
        </Menu.Item>
        <Menu.Item rightSection={key("x")} onClick={onSelect}>
          {isChosen ? "Unselect" : "Select"}
        </Menu.Item>
        <Menu.Item onClick={() => copyLink(row, name)}>Copy the link</Menu.Item>
        <Edits {...props} />
      </Menu.Dropdown>
    </Menu>
  );
}

function Edits({ place: { row }, declared, edits, moves }: KindMenuProps) {
  if (!edits) return null;
  const canDisable = declared.fields.some((field) => field.name === "disabled");
  const isOff = row.object["disabled"] === true;
  const isGoing = row.staged === "remove";
  return (
    <>
      <Menu.Divider />
      {canDisable && !isGoing ? (
        <Menu.Item onClick={() => edits.setDisabled([row], !isOff)}>{isOff ? "Enable" : "Disable"}</Menu.Item>
      ) : null}
      {moves && !isGoing ? (
        <>
          <Menu.Item rightSection={key("Alt ↑")} onClick={() => moves.step(row, -1)}>
            Move up
          </Menu.Item>
          <Menu.Item rightSection={key("Alt ↓")} onClick={() => moves.step(row, 1)}>
            Move down
          </Menu.Item>
        </>
      ) : null}
      {row.staged ? <Menu.Item onClick={() => edits.undo(row)}>Undo its pending change</Menu.Item> : null}
      {isGoing || row.staged === "add" ? null : (
        <Menu.Item className="bad" rightSection={key("Del")} onClick={() => edits.remove([row])}>
          Delete
        </Menu.Item>
      )}
    </>
  );
}
