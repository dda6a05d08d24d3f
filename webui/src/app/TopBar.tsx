// SPDX-License-Identifier: Apache-2.0
import { ActionIcon, Menu, useMantineColorScheme } from "@mantine/core";
import {
  IconDeviceDesktop,
  IconKeyboard,
  IconLogout,
  IconMenu2,
  IconMoon,
  IconSearch,
  IconSun,
  IconUser,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { api, need } from "@/api/client";
import { meQuery, ofSystem } from "@/api/queries";
import { setSession } from "@/api/session";
import { Tag } from "@/ui/blocks";
import { forgetAccount } from "./forget";
import { hostOf } from "@/ui/title";
import classes from "./Frame.module.css";
import { Lamp } from "./Lamp";

interface TopBarProps {
  onSearch: () => void;
  onMenu: () => void;
  onHelp: () => void;
  menuOpen: boolean;
}

export function TopBar({ onSearch, onMenu, onHelp, menuOpen }: TopBarProps) {
  const host = useQuery(ofSystem(hostOf)).data;
  return (
    <header className={classes.top}>
      <ActionIcon
        className={classes.burger}
        variant="subtle"
        color="gray"
        aria-label="Menu"
        aria-expanded={menuOpen}
        onClick={onMenu}
      >
        <IconMenu2 size={18} />
      </ActionIcon>
      <Link to="/" className={classes.brand} aria-label={`Weir on ${host ?? "this router"}, overview`}>
        <img src="/weir.svg" alt="" />
        <span className={classes.host}>{host ?? "Weir"}</span>
      </Link>
      <button type="button" className={classes.search} onClick={onSearch} aria-keyshortcuts="Control+K">
        <IconSearch size={15} aria-hidden="true" />
        <span>Search</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Lamp />
      <UserMenu onHelp={onHelp} />
    </header>
  );
}

function UserMenu({ onHelp }: { onHelp: () => void }) {
  const me = useQuery(meQuery).data;
  const navigate = useNavigate();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = async () => {
    await need(api.POST("/api/v1/auth/sign-out")).catch(() => undefined);
    setSession("out", null);
    forgetAccount();
    await navigate({ to: "/sign-in" });
  };
  return (
    <>
      {me?.scope === "read" ? (
        <Tag title="Your account may look at everything and change nothing">read only</Tag>
      ) : null}
      {me?.scope === "support" ? (
        <Tag title="Your account may look at everything and change the limits of customers">support</Tag>
      ) : null}
      <Menu position="bottom-end" width={210}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Account: ${me?.username ?? ""}`}>
            <IconUser size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {me?.username} ({me?.scope})
          </Menu.Label>
          <Menu.Item leftSection={<IconUser size={15} />} onClick={() => void navigate({ to: "/account" })}>
            Account and password
          </Menu.Item>
          <Menu.Item leftSection={<IconKeyboard size={15} />} onClick={onHelp}>
            Keyboard
          </Menu.Item>
          <Menu.Divider />
          <Menu.Label>Colours</Menu.Label>
          {(
            [
              ["light", "Light", IconSun],
              ["dark", "Dark", IconMoon],
              ["auto", "As the system", IconDeviceDesktop],
            ] as const
          ).map(([value, label, Icon]) => (
            <Menu.Item
              key={value}
              leftSection={<Icon size={15} />}
              rightSection={colorScheme === value ? "✓" : null}
              onClick={() => setColorScheme(value)}
            >
              {label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<IconLogout size={15} />} onClick={() => void signOut()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
