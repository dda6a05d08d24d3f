// SPDX-License-Identifier: Apache-2.0
import "@fontsource/ibm-plex-sans/400.css";
import "@fontsource/ibm-plex-sans/500.css";
import "@fontsource/ibm-plex-sans/600.css";
import "@fontsource/ibm-plex-mono/400.css";
import "@mantine/core/styles.css";
import "./ui/tokens.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/queries";
import { loadAhead } from "./app/ahead";
import { makeRouter } from "./app/router";
import { colorSchemeManager, theme } from "./app/theme";
import { Toasts } from "./ui/toast";

const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

const router = makeRouter();
loadAhead(router);

// After an update the pieces of the old page are gone from the router. What was typed is kept by the tab. Nobody waits
// for what is only loaded ahead.
window.addEventListener("vite:preloadError", () => {
  if (!router.state.isLoading) return;
  const last = Number(sessionStorage.getItem("weir.reloaded"));
  if (Date.now() - last < 30_000) return;
  sessionStorage.setItem("weir.reloaded", String(Date.now()));
  window.location.reload();
});

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemeManager}
      withCssVariables={false}
      withGlobalClasses={false}
      deduplicateInlineStyles={false}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
