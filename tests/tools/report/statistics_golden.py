# The values of statistics_test.cpp and science_test.py, by SciPy: python3 -m pip install scipy, then this prints them.
import numpy as np
from scipy import stats

print("t:", [(n, round(float(stats.t.ppf(0.975, n)), 9)) for n in (1, 2, 3, 4, 5, 9, 10, 29, 30, 100, 1001)])

a = {1: 14.6, 2: 12.25, 3: 17.5, 5: 11.0}
b = {1: 0.4, 2: 1.5, 3: 0.9, 4: 7.0}


def interval(values):
    values = np.array(values)
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    return [round(float(x), 9) for x in (values.mean(), (high - low) / 2)]


print("mean of a:", interval(list(a.values())))
print("a - b:", interval([a[s] - b[s] for s in (1, 2, 3)]))
paper = [18.18, 0.44, 30.24, 0.8, 53.65, 0.44]
ours = [14.0, 0.0, 20.0, 0.0, 3.0, 1.0]
print("tau-b:", round(float(stats.kendalltau(paper, ours).statistic), 9))

d = [0.31, 0.12, 0.25, -0.04, 0.2]
n = len(d)
mean, se = np.mean(d), stats.sem(d)
print("two-sided p:", round(float(stats.ttest_1samp(d, 0).pvalue), 9))
print("equality p, margin 0.3:", round(float(max(stats.t.sf((mean + 0.3) / se, n - 1), stats.t.cdf((mean - 0.3) / se, n - 1))), 9))
