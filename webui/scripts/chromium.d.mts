// SPDX-License-Identifier: Apache-2.0
import type { LaunchOptions } from "@playwright/test";

export declare const CHROMIUM: LaunchOptions;
