"""Jobs per second of the simulator: with strategies of the core, and with policies in Python.

    python examples/speed.py
"""

import time

from own_policies import last_fit, smallest_first

import meshalloc


def jobs_per_second(jobs, *policies, **settings):
    scenario = meshalloc.Scenario(mesh=(32, 32), load=0.3, jobs=jobs, replications=1, **settings)
    begin = time.perf_counter()
    results = scenario.run(*policies)
    return results.strategies[0]["decisions"] / (time.perf_counter() - begin)


if __name__ == "__main__":
    for name, rate in [
        ("first-fit", jobs_per_second(100_000, strategy="first-fit")),
        ("first-fit, scheduler in Python", jobs_per_second(20_000, None, smallest_first)),
        ("last fit in Python", jobs_per_second(20_000, last_fit)),
        ("last fit and scheduler in Python", jobs_per_second(20_000, last_fit, smallest_first)),
    ]:
        print(f"{name:34} {rate:9,.0f} jobs/s")
