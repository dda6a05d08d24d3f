// SPDX-License-Identifier: Apache-2.0
import { Menu } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMay } from "@/api/may";
import { queueInput, sayStaged, useStage, useUnstage } from "@/api/writes";
import type { QueuesSearch } from "@/app/search";
import { menuKey, PointMenu } from "@/table/PointMenu";
import { copyNow } from "./copy";
import type { QueueRow } from "./rows";

/** Where a row's menu was asked for, in pixels of the window. */
export interface MenuPlace {
  row: QueueRow;
  index: number;
  x: number;
  y: number;
}

interface RowMenuProps {
  place: MenuPlace;
  may: boolean;
  selected: boolean;
  onSelect: () => void;
  onLimit: () => void;
  onSearch: (change: Partial<QueuesSearch>) => void;
  onClose: () => void;
}

/** What a row can do, with the keys that do the same. */
export function RowMenu({
  place: { row, x, y },
  may,
  selected,
  onSelect,
  onLimit,
  onSearch,
  onClose,
}: RowMenuProps) {
  const navigate = useNavigate();
  const { queue, staged } = row;
  const isStored = staged !== "add";
  return (
    <PointMenu name={queue.name} x={x} y={y} onClose={onClose}>
      {isStored ? (
        <Menu.Item
          rightSection={menuKey("o")}
          onClick={() => void navigate({ to: "/queues/$id", params: { id: queue.id } })}
        >
          Open
        </Menu.Item>
      ) : null}
      <Menu.Item rightSection={menuKey("x")} onClick={onSelect}>
        {selected ? "Unselect" : "Select"}
      </Menu.Item>
      <Menu.Item rightSection={menuKey("Ctrl C")} onClick={() => setTimeout(copyNow)}>
        Copy
      </Menu.Item>
      {queue.child_count > 0 ? (
        <Menu.Item onClick={() => onSearch({ parent: queue.id, view: undefined })}>
          Show only what is in it
        </Menu.Item>
      ) : null}
      {may ? <Edits row={row} onLimit={onLimit} onSearch={onSearch} /> : null}
    </PointMenu>
  );
}

function Edits({ row, onLimit, onSearch }: { row: QueueRow } & Pick<RowMenuProps, "onLimit" | "onSearch">) {
  const stage = useStage();
  const unstage = useUnstage();
  const mayAdd = useMay("write");
  const { queue, staged, base } = row;
  // The menu is gone when the answer comes; an error is said for every staging that shows none itself.
  const send = (next: object | null, words: string) =>
    void stage
      .mutateAsync([{ kind: "queue", id: queue.id, new: next && { ...next }, base: base ?? null }])
      .then(
        (whose) => {
          if (whose === "mine") sayStaged(`${queue.name}: ${words} Pending until it is committed.`);
        },
        () => undefined,
      );
  const isGoing = staged === "remove";
  return (
    <>
      <Menu.Divider />
      {isGoing ? null : (
        <>
          <Menu.Item rightSection={menuKey("e")} onClick={() => onSearch({ edit: queue.id })}>
            Edit
          </Menu.Item>
          <Menu.Item rightSection={menuKey("Enter")} onClick={onLimit}>
            Edit the limit
          </Menu.Item>
          {mayAdd ? (
            <Menu.Item onClick={() => onSearch({ parent: queue.id, view: undefined, edit: "new" })}>
              New queue in it
            </Menu.Item>
          ) : null}
          <Menu.Item
            onClick={() =>
              send(
                { ...queueInput(queue), disabled: !queue.disabled },
                queue.disabled ? "enabled." : "disabled.",
              )
            }
          >
            {queue.disabled ? "Enable" : "Disable"}
          </Menu.Item>
        </>
      )}
      {staged ? (
        <Menu.Item onClick={() => unstage.mutate({ kind: "queue", id: queue.id })}>
          Undo its pending change
        </Menu.Item>
      ) : null}
      {isGoing || staged === "add" || !mayAdd ? null : (
        <Menu.Item className="bad" onClick={() => send(null, "its removal.")}>
          Delete
        </Menu.Item>
      )}
    </>
  );
}
