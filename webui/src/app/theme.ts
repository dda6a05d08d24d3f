// SPDX-License-Identifier: Apache-2.0
import {
  Button,
  createTheme,
  localStorageColorSchemeManager,
  Modal,
  Popover,
  Menu,
  Tooltip,
} from "@mantine/core";

/**
 * Sizes and defaults; the colours are in ui/tokens.css. Nothing here may need a style element:
 * the security policy allows none, so no responsive style props and no scroll lock.
 */
const still = { transitionProps: { duration: 0 } };

export const theme = createTheme({
  primaryColor: "blue",
  respectReducedMotion: true,
  defaultRadius: "var(--radius)",
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  components: {
    Button: Button.extend({ defaultProps: { size: "xs", variant: "default" } }),
    Modal: Modal.extend({
      defaultProps: { ...still, lockScroll: false, size: "lg", closeButtonProps: { "aria-label": "Close" } },
    }),
    Popover: Popover.extend({ defaultProps: still }),
    Menu: Menu.extend({ defaultProps: still }),
    Tooltip: Tooltip.extend({ defaultProps: still }),
    TextInput: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    NativeSelect: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs", transitionDuration: 0 } },
    TagsInput: { defaultProps: { size: "xs" } },
    Autocomplete: { defaultProps: { size: "xs" } },
  },
});

export const colorSchemeManager = localStorageColorSchemeManager({ key: "weir.color-scheme" });
