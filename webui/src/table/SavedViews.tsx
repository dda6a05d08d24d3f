// SPDX-License-Identifier: Apache-2.0
import { ActionIcon, Button, Popover, TextInput } from "@mantine/core";
import { IconBookmark, IconX } from "@tabler/icons-react";
import { useRouter } from "@tanstack/react-router";
import { useState, type SyntheticEvent } from "react";
import { PinIcon } from "./PinIcon";
import { togglePin, usePins } from "./pins";
import { forgetView, saveView, useViews, viewNow } from "./views";
import { say } from "@/ui/toast";
import { ReasonedButton } from "@/ui/ReasonedButton";
import classes from "./SavedViews.module.css";

/** Saves the list as it is shown under a name, and leads to what was saved of this page. */
export function SavedViews() {
  const [name, setName] = useState("");
  const [opened, setOpened] = useState(false);
  const router = useRouter();
  const page = viewNow().split("?")[0] ?? "/";
  const views = useViews().filter((view) => view.at.split("?")[0] === page);
  const pinned = usePins();
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === "") return;
    saveView({ name: wanted, at: viewNow() });
    say("notice", `Saved the view "${wanted}" in this browser. Ctrl-K finds it.`);
    setName("");
    setOpened(false);
  };
  return (
    <Popover position="bottom-end" width={240} opened={opened} onChange={setOpened} trapFocus returnFocus>
      <Popover.Target>
        <Button
          leftSection={<IconBookmark size={15} />}
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
        >
          Views
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved views">
        {views.length > 0 ? (
          <ul className={classes.views}>
            {views.map((view) => (
              <li key={view.name}>
                <button
                  type="button"
                  className={classes.view}
                  onClick={() => {
                    setOpened(false);
                    router.history.push(view.at);
                  }}
                >
                  {view.name}
                </button>
                <ActionIcon
                  variant="subtle"
                  size="sm"
                  aria-label={`Pin the view ${view.name} to the menu`}
                  aria-pressed={pinned.some((pin) => pin.at === view.at)}
                  onClick={() => togglePin(view)}
                >
                  <PinIcon isPinned={pinned.some((pin) => pin.at === view.at)} size={14} />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  size="sm"
                  aria-label={`Forget the view ${view.name}`}
                  onClick={() => forgetView(view.name)}
                >
                  <IconX size={14} />
                </ActionIcon>
              </li>
            ))}
          </ul>
        ) : null}
        <form onSubmit={save}>
          <TextInput
            label="Name of this view"
            description="Search, filters, order and columns as they are now, in this browser."
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <ReasonedButton
            mt="xs"
            size="compact-sm"
            type="submit"
            why={name.trim() === "" ? "give the view a name first" : null}
          >
            Save
          </ReasonedButton>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
