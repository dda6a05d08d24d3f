// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "eslint/config";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

/** House rules a linter can hold: strict types, small files, and who may import whom. */
export default defineConfig(
  { ignores: ["node_modules", "test-results", "scripts"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["eslint.config.js"] } } },
    plugins: { "react-hooks": reactHooks },
    rules: {
      ...reactHooks.configs.recommended.rules,
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "no-console": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: false }],
      "@typescript-eslint/only-throw-error": "off",
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      "react-hooks/incompatible-library": "off",
      "no-restricted-imports": [
        "error",
        { patterns: [{ group: ["**/test/**"], message: "Mock data never reaches the product." }] },
      ],
    },
  },

  { files: ["src/api/schema.d.ts"], rules: { "max-lines": "off" } },
  {
    files: ["src/ui/**", "src/table/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              group: ["@/pages/*", "@/app/*", "@/forms/*"],
              message: "Building blocks know nothing of pages.",
            },
          ],
        },
      ],
    },
  },
  {
    files: ["test/**", "e2e/**", "*.config.ts", "eslint.config.js"],
    rules: {
      "no-restricted-imports": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
    },
  },
  {
    files: ["test/*.test.{ts,tsx}"],
    rules: {
      "no-restricted-properties": [
        "error",
        ...["mock", "doMock", "resetModules"].map((property) => ({
          object: "vi",
          property,
          message: "These files share their modules; what replaces one goes into test/alone.",
        })),
      ],
    },
  },
);
