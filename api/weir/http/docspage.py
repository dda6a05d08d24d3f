# SPDX-License-Identifier: Apache-2.0
"""The API's documentation as one HTML page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2563a8; }
@media (prefers-color-scheme: dark) { :root { --accent: #7ab4f0; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; }
main, header { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
details { border: 1px solid var(--line); border-radius: 4px; margin: .4rem 0; }
summary { cursor: pointer; padding: .4rem .6rem; overflow-wrap: anywhere; }
details > :not(summary) { margin: .6rem; }
code, pre, .method { font-family: ui-monospace, monospace; font-size: .9em; }
.method { font-weight: 600; display: inline-block; min-width: 4.5em; color: var(--accent); }
pre { background: var(--soft); padding: .6rem; overflow: auto; white-space: pre-wrap; }
table { border-collapse: collapse; }
td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; }
.soft { opacity: .75; }
a { color: var(--accent); }
"""


def render(document: Mapping[str, Any]) -> str:
    """The page for an OpenAPI 3 document."""
    body = "\n".join(_body(document))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Weir API</title>'
        f'<link rel="stylesheet" href="/api/v1/docs/style.css"></head><body>{body}</body></html>'
    )


def _body(document: Mapping[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield f"<header><h1>{escape(info['title'])} API {escape(info['version'])}</h1>"
    yield from (f"<p>{escape(part)}</p>" for part in info.get("description", "").split("\n\n"))
    yield '<p><a href="/api/v1/openapi.json">openapi.json</a></p></header><main>'
    for tag in document.get("tags", ()):
        yield f'<h2 id="{escape(tag["name"])}">{escape(tag["name"])}</h2>'
        yield f"<p>{escape(tag.get('description', ''))}</p>"
        for path, item in document["paths"].items():
            for method in METHODS:
                operation = item.get(method)
                if operation and tag["name"] in operation.get("tags", ()):
                    yield from _operation(path, method, item, operation)
    yield "<h2>Schemas</h2>"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f'<details id="schema-{escape(name)}"><summary><code>{escape(name)}</code></summary>'
        yield f"<p>{escape(schema.get('description', ''))}</p><pre>{_linked(schema)}</pre></details>"
    yield "</main>"


def _operation(
    path: str, method: str, item: Mapping[str, Any], operation: Mapping[str, Any]
) -> Iterator[str]:
    summary = escape(operation.get("summary", ""))
    yield f'<details id="{escape(operation.get("operationId", ""))}"><summary>'
    yield f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code> {summary}</summary>'
    yield f"<p>{escape(operation.get('description', ''))}</p>"
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    if parameters:
        yield "<table><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr>"
        yield from (_parameter(parameter) for parameter in parameters)
        yield "</table>"
    body = operation.get("requestBody", {}).get("content", {})
    for media_type, content in body.items():
        yield f"<p>Body <code>{escape(media_type)}</code></p><pre>{_linked(content.get('schema', {}))}</pre>"
    for status, response in operation.get("responses", {}).items():
        yield f"<p>{escape(str(status))} {escape(response.get('description', ''))}</p>"
        for media_type, content in response.get("content", {}).items():
            yield f"<pre>{escape(media_type)} {_linked(content.get('schema', {}))}</pre>"
    yield "</details>"


def _parameter(parameter: Mapping[str, Any]) -> str:
    schema = parameter.get("schema", {})
    bounds = ", ".join(
        f"{key} {schema[key]}" for key in ("enum", "minimum", "maximum", "default") if key in schema
    )
    meaning = escape(parameter.get("description", ""))
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f'<td>{meaning} <span class="soft">{escape(schema.get("type", ""))} {escape(bounds)}</span></td></tr>'
    )


def _linked(schema: Mapping[str, Any]) -> str:
    """The schema as text, with references as links."""
    text = escape(json.dumps(schema, indent=2, ensure_ascii=False), quote=False)
    mark = "#/components/schemas/"
    parts = text.split(f'"{mark}')
    linked = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition('"')
        linked.append(f'<a href="#schema-{name}">"{name}"</a>{rest}')
    return "".join(linked)
