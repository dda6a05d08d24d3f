# SPDX-License-Identifier: Apache-2.0
"""Findings and trials as JSON, with their words."""

from __future__ import annotations

from typing import Any

from weir.diagnosis.findings import Findings, Held
from weir.diagnosis.sample import Sample
from weir.diagnosis.symptom import Number
from weir.diagnosis.texts import AILMENTS, LOOKS, Remedy, remedies, sentence, shown
from weir.diagnosis.trial import Trial

Json = dict[str, Any]
BOUNDS = "bounded-source"
"""What a remedy sets that bounds the subject of its finding."""


def findings_json(findings: Findings, sample: Sample | None) -> Json:
    """`looked_at` and `not_looked_at` are of the last sample; before the first, nothing was looked at."""
    seen: list[Json] = []
    unseen: list[Json] = []
    for name, words in LOOKS.items():
        value = None if sample is None else getattr(sample, name)
        if value is not None:
            seen.append({"id": name, "what": words, "figure": _figure(name, value)})
        else:
            why = "" if sample is None else sample.unseen.get(name, "")
            unseen.append({"id": name, "what": words, "reason": why or "it was not looked at yet"})
    return {
        "at_ms": None if sample is None else sample.at_ms,
        "findings": [_finding_json(held) for held in findings.raised()],
        "looked_at": seen,
        "not_looked_at": unseen,
        "trials": [trial_json(trial) for trial in reversed(findings.trials)],
    }


def _figure(name: str, value: Any) -> str | None:
    """What was measured, of looks that are worth a figure also where nothing is wrong."""
    if name != "route_lookups":
        return None
    count = "" if value.routes is None else f", {value.routes:,} routes"
    return f"{value.fixed_ns} ns for one destination, {value.random_ns} ns for random ones{count}"


def trial_json(trial: Trial) -> Json:
    return {
        "code": trial.symptom.code,
        "subject": trial.symptom.subject,
        "remedy": trial.remedy,
        "revision": trial.revision,
        "at_ms": trial.at_ms,
        "outcome": trial.outcome,
        "sentence": trial.sentence,
    }


def _finding_json(held: Held) -> Json:
    symptom, ailment = held.symptom, AILMENTS[held.symptom.code]
    return {
        "code": symptom.code,
        "severity": ailment.severity,
        "subject": symptom.subject,
        "title": ailment.title,
        "sentence": sentence(symptom),
        "since_ms": held.first_ms,
        "seen_ms": held.last_ms,
        "doubt": held.doubt or None,
        "evidence": ailment.evidence,
        "numbers": [number_json(number) for number in symptom.numbers],
        "remedies": [_remedy_json(remedy) for remedy in remedies(symptom)],
    }


def number_json(number: Number) -> Json:
    """A number beside its threshold, both with their units for people."""
    limit = None if number.threshold is None else Number(number.name, number.threshold, number.unit)
    return {
        "name": number.name,
        "value": number.value,
        "threshold": number.threshold,
        "unit": number.unit,
        "shown": shown(number),
        "threshold_shown": None if limit is None else shown(limit),
    }


def _remedy_json(remedy: Remedy) -> Json:
    return {
        "id": remedy.id,
        "text": remedy.text,
        "cost": remedy.cost or None,
        "setting": BOUNDS if remedy.bound_pps else remedy.setting or None,
        "value": f"{remedy.bound_pps} packets/s" if remedy.bound_pps else remedy.value or None,
    }
