"""Turns a trace into tables with declared schemas.

Traces are text of many kinds (`kinds` lists them) with many defects: blank lines, comments,
headers, mixed white space, self-loops, duplicates, truncated lines. Every line gets a note or none.
A line without a note is used. A note of `notes.SKIPPED` or `notes.DROPPED` says why a line was left
out on purpose, and is counted. Any other note is a reason to reject the line, and both go into the
table `rejected`. So the lines used, skipped, dropped and rejected always add up to the lines read.

`peek` looks at the head of a file (header? separator?), `lines` reads and marks lines, one module
for each family of kinds (`subscriptions`, `churn`, `latency`, `coordinates`, `topology`) makes the
tables from the marked lines, `run` counts and writes, `table_facts` describes the result. Nothing
collects a trace to the driver.
"""
