"""The overlays that SpiderCast is compared with (its Sec. 3.9).

`similarity(x, y)` and `random(y)` run SpiderCast's own maintenance with another rule for
choosing neighbours; `ring-per-topic` keeps one ring of subscribers for each topic.
"""
