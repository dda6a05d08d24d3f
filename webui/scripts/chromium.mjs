// SPDX-License-Identifier: Apache-2.0
/** Debian's Chromium, kept from looking for anything outside of the lab. */
export const CHROMIUM = {
  executablePath: process.env.WEIR_CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};
