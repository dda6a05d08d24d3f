# SPDX-License-Identifier: Apache-2.0
"""What every Flask application of Weir has: resources, protection, errors and the built user interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import Rule

from weir.http import problems, security, ui
from weir.http.endpoint import Operation, Resource
from weir.http.settings import Settings


class Route(Rule):
    """A rule that finds what serves a path, and makes no path. Werkzeug compiles two functions for that,
    which of 500 rules took half a second of the start."""

    def _compile_builder(self, *_of: object, **_by_name: object) -> Callable[..., tuple[str, str]]:
        return _no_path


def _no_path(*_of: object, **_values: object) -> tuple[str, str]:
    raise NotImplementedError("no path is made of a rule")


def make_app(settings: Settings, resources: Sequence[Resource]) -> Flask:
    """An application that serves these resources, when it has been given accounts (`weir.http.context`)."""
    app = Flask("weir", static_folder=None)
    app.url_rule_class = Route
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.url_map.strict_slashes = True
    app.url_map.redirect_defaults = False
    app.url_map.merge_slashes = False
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]
    operations: dict[str, Operation] = {}
    for resource in resources:
        app.register_blueprint(resource)
        operations.update(resource.operations)
    app.extensions["weir-operations"] = operations
    app.extensions["weir-settings"] = settings
    problems.register(app)
    security.protect(app, operations)
    ui.serve(app, settings.static_dir)
    return app
