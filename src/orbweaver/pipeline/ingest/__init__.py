"""Ingest: somebody's trace in, tables with declared schemas out.

Traces come as text of many kinds (`kinds` lists them) and with many defects: blank lines,
comments, headers, mixed white space, self-loops, duplicates, lines that are cut. Every
line gets a note or none. Without a note it is used; a note of `notes.SKIPPED` or
`notes.DROPPED` says why it was left out on purpose and is counted; any other note is a
reason to reject, and the line goes with it into the table `rejected`. So the lines used,
skipped, dropped and rejected always add up to the lines read.

The way through the files: `peek` looks at the head of a file (header? separator?), `lines`
reads and marks, one module for each family of kinds (`subscriptions`, `churn`, `latency`,
`coordinates`, `topology`) makes the tables out of the marked lines, `run` counts and
writes, `facts` says what came out. Nothing collects a trace to the driver.
"""
