# SPDX-License-Identifier: Apache-2.0
"""Every folder of `cases` is a test: current.json becomes desired.json by the steps of plan.json.

The first two are lists of objects with their `kind`; a plan is {"now": local time, "later": local time or
absent, "counts": ..., "steps": [...]}. A new folder is a new test. `WEIR_WRITE_PLANS=1 pytest tests/compiler`
writes the plan that the compiler makes today: read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from weir.compiler import Plan, SlotAllocation, compile_document, recompiled, update
from weir.model.codec import from_json, parse_kind
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())


def read_objects(path: Path) -> list[ConfigObject]:
    items: list[dict[str, Any]] = json.loads(path.read_text())
    return [from_json(parse_kind(item.pop("kind")), item) for item in items]


def changes_between(before: Document, after: Document) -> list[Change]:
    keys = dict.fromkeys((item.kind, item.id) for document in (after, before) for item in document)
    changes = [Change(kind, id_, before.get(kind, id_), after.get(kind, id_)) for kind, id_ in keys]
    return [change for change in changes if change.old != change.new]


def as_json(plan: Plan) -> dict[str, Any]:
    steps = [f"{step.backend}: {step.action} {step.what} {step.text}" for step in plan.steps()]
    return {"counts": plan.counts()._asdict(), "steps": steps}


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_case(case: Path) -> None:
    current, desired = (Document(read_objects(case / f"{name}.json")) for name in ("current", "desired"))
    wanted = json.loads((case / "plan.json").read_text())
    now = datetime.fromisoformat(wanted["now"])
    later = datetime.fromisoformat(wanted.get("later", wanted["now"]))
    compiled = compile_document(current, SlotAllocation(), now)
    incremental = as_json(update(compiled, desired, changes_between(current, desired), later))
    whole = as_json(recompiled(compiled, desired, later))
    if os.environ.get("WEIR_WRITE_PLANS"):
        times = {key: wanted[key] for key in ("now", "later") if key in wanted}
        text = json.dumps({**times, **incremental}, indent=2, ensure_ascii=False)
        (case / "plan.json").write_text(text + "\n")
    else:
        assert incremental == {key: wanted[key] for key in ("counts", "steps")}
    assert incremental["counts"] == whole["counts"]


def test_there_are_cases() -> None:
    assert len(CASES) >= 15
