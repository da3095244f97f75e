"""This is the contract suite, for our overlays and for yours: `HOSTS` x `CASES`.

@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("host", HOSTS)
def test_contract(host, case):
    run_case(case, MyOverlay, host)
"""

from orbweaver.testing.cases import CASES, run_case
from orbweaver.testing.cluster import HOSTS, Cluster

__all__ = ["CASES", "HOSTS", "Cluster", "run_case"]
