"""Papers and their claims: what to run, and what the results show.

A paper is one package of `orbweaver.study`. To add one, write

- `experiments.py`: `SCALES`, from "quick" to "full", each with a `name` that says what it means;
  and `EXPERIMENTS`, name -> function of a scale and the folder of traces that makes scenarios,
  each with `study=StudySpec(series=..., x=...)`. Runs of one series differ in x alone.
- `verdicts.py`: `CLAIMS`, name -> `Claim` with the experiments it needs and a function from their
  series to verdicts; the paper's numbers and the bands around them are constants there.
- `notes.py`: `NOTES`, scale -> claim -> why it does not reproduce. Figures (`paper.Figure`), real
  traces and columns of the table of settings are optional.
- `__init__.py`: the `Paper` of these parts, which `papers.PAPERS` then names.

`judge.reproduce(paper, run)` runs and judges it; `run` is any function from jobs to results, by
default `pool.run_all` on this machine's cores. `orbweaver reproduce` runs jobs with Spark. Names,
scale and paper of each scenario are filled in; tests hold each paper in `PAPERS` to these rules.
"""
