"""Runs a synthesis, from a recipe to a folder of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pyspark.sql import SparkSession

from orbweaver.pipeline.cancel import cancelled_on_failure
from orbweaver.pipeline.dataset import (
    check_output,
    count_rows,
    whole_dataset,
    write_manifest,
    write_table,
)
from orbweaver.pipeline.progress import job_progress
from orbweaver.pipeline.synthesise import stage
from orbweaver.pipeline.synthesise.traffic import OnOff, Rates, parse_churn
from orbweaver.workload.models.catalog import Model, SynthesisPlan, build

TABLES = ("subscriptions", "rates", "churn")


class Recipe(msgspec.Struct, frozen=True):
    """Everything that decides the tables; it is stored with them, in `dataset.json`."""

    plan: SynthesisPlan
    seed: int = 0
    rates: str = "uniform"
    churn: str | None = None
    duration_s: float = 1000.0
    """Duration of the churn, in seconds."""


class SynthesisJob(NamedTuple):
    recipe: Recipe
    out: Path
    model: Model
    rates: Rates
    churn: OnOff | None


def prepare(recipe: Recipe, out: Path) -> SynthesisJob:
    """Prepare the job. Raises `UsageError` for every mistake before Spark starts."""
    plan, seed = recipe.plan, recipe.seed
    check_output(out, TABLES)
    rates = Rates(recipe.rates, plan.topics, seed)
    churn = None if recipe.churn is None else parse_churn(recipe.churn, recipe.duration_s, seed)
    return SynthesisJob(recipe, out, build(plan, seed), rates, churn)


def run(spark: SparkSession, job: SynthesisJob) -> dict[str, Any]:
    """Write the tables and return their description, as in `dataset.json`."""
    plan = job.recipe.plan
    tables = {
        "subscriptions": stage.subscriptions(spark, plan.nodes, job.model),
        "rates": stage.rates(spark, plan.topics, job.rates),
    }
    if job.churn is not None:
        tables["churn"] = stage.churn(spark, plan.nodes, job.churn)
    with whole_dataset(job.out, TABLES) as folder, cancelled_on_failure(spark):
        for name, table in tables.items():
            with job_progress(spark, name):
                write_table(table, folder, name)
        facts: dict[str, Any] = {"made_by": "synthesise", "topics_are_nodes": False}
        facts |= msgspec.to_builtins(job.recipe)
        facts["tables"] = {name: count_rows(folder, name) for name in tables}
        write_manifest(folder, facts)
    return facts
