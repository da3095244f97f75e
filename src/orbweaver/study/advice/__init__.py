"""Which overlay suits a planner's subscriptions, judged from runs of all of them.

A sample of the data is run with every overlay, then a larger one with those that are left, until
the answer is sure (`steps`). The judgement is made of pure functions of what was measured:

- `measures` turns the results of runs into what a planner asks for, with intervals over seeds;
- `ranking` leaves out overlays that break a promise or a constraint, and orders the others;
- `causes` says which property of the data decides, from runs on data without that property;
- `forecast` extends what was measured at several sizes to other sizes;
- `designs` compares with links planned in one place, and with the least possible;
- `sentences` puts it into words.

`value` is the answer, which a command prints, a page draws and a script reads.
"""
