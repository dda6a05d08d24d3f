// SPDX-License-Identifier: Apache-2.0
import { EVERY_PAGE, expect, firstQueue, settled, signIn, test } from "./router";

const WIDTHS = [320, 390, 720];
const HEIGHT = 800;

test("no page scrolls sideways at 320, 390 and 720 px", async ({ page }) => {
  test.setTimeout(240_000);
  await signIn(page);
  const wide: string[] = [];
  for (const path of [...EVERY_PAGE, await firstQueue(page)]) {
    await page.setViewportSize({ width: WIDTHS[0]!, height: HEIGHT });
    await page.goto(path);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: HEIGHT });
      await settled(page);
      const over = await page.evaluate(() =>
        Math.max(
          document.documentElement.scrollWidth - window.innerWidth,
          ...Array.from(
            document.querySelectorAll("main, main > div"),
            (element) => element.scrollWidth - element.clientWidth,
          ),
        ),
      );
      if (over > 0) wide.push(`${path} at ${width} px: ${over} px`);
    }
  }
  expect(wide).toEqual([]);
});
