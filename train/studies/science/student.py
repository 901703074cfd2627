"""Statistics of a few seeds: means with 95 % intervals, paired t tests, and Holm's correction."""
import dataclasses
import math
import statistics

ROUNDING = 3e-8  # of a difference of two values with nine digits, relative to the larger


def within(t, degrees):
    """P(|T| < t) for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4, with theta = atan(t / sqrt(nu))."""
    theta = math.atan(t / math.sqrt(degrees))
    odd = degrees % 2 == 1
    term, total = math.cos(theta) if odd else 1.0, 0.0
    for k in range(1 if odd else 0, degrees - 1, 2):
        total += term
        term *= math.cos(theta) ** 2 * (k + 1) / (k + 2)
    return 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total


def t_975(degrees):
    """The 97.5 % quantile of Student's t distribution: 12.71, 4.30, 3.18 ..."""
    low, high = 1.9, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, degrees) < 0.95 else (low, middle)
    return (low + high) / 2


@dataclasses.dataclass
class Estimate:
    """The mean of n values and half of its 95 % interval, t s / sqrt(n). NaN: the mean of none, the interval of fewer than two. half is 0 if
    the values are equal up to the nine digits of the files."""
    n: int
    mean: float
    half: float

    @property
    def low(self):
        return self.mean - self.half

    @property
    def high(self):
        return self.mean + self.half

    @property
    def sign(self):
        """-1, 0 or 1: the interval is below 0, contains it or is above. 0 also without an interval, and for one of no width."""
        return 0 if self.n < 2 or self.half == 0 else (self.low > 0) - (self.high < 0)

    def above(self, null):
        """P(T > t) of the t statistic of mean - null."""
        shift = self.mean - null
        if self.half == 0:
            return 0.5 if shift == 0 else float(shift < 0)
        t = shift / (self.half / t_975(self.n - 1))
        outside = (1 - within(abs(t), self.n - 1)) / 2
        return outside if t > 0 else 1 - outside


def estimate(values, largest=None):
    """Of independent values; `largest`, the largest size of those that they were computed from."""
    n = len(values)
    if n == 0:
        return Estimate(0, math.nan, math.nan)
    mean = statistics.fmean(values)
    if n == 1:
        return Estimate(1, mean, math.nan)
    largest = max(map(abs, values)) if largest is None else largest
    if max(values) - min(values) <= ROUNDING * largest:
        return Estimate(n, mean, 0.0)
    return Estimate(n, mean, t_975(n - 1) * statistics.stdev(values) / math.sqrt(n))


def paired(ours, others):
    """Of ours - others, {seed: value} each, over their common seeds: runs of one seed see the same batches."""
    seeds = [seed for seed in ours if seed in others]
    return estimate([ours[seed] - others[seed] for seed in seeds],
                    max((max(abs(ours[seed]), abs(others[seed])) for seed in seeds), default=0.0))


def p_of_difference(difference):
    """Two-sided paired t test; 1 for an interval of no width, which shows no variation between seeds."""
    if difference.n < 2:
        return math.nan
    if difference.half == 0:
        return 1.0
    above = difference.above(0)
    return min(1.0, 2 * min(above, 1 - above))


def p_of_equality(difference, margin):
    """The larger p of two one-sided t tests of |difference| >= margin (Schuirmann 1987)."""
    if difference.n < 2 or math.isnan(margin):
        return math.nan
    return max(difference.above(-margin), 1 - difference.above(margin))


def holm(p):
    """Holm's correction (1979): p values that may be compared with one level."""
    corrected, worst = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(1.0, (len(p) - rank) * p[i]))
        corrected[i] = worst
    return corrected


def kendall_tau(x, y):
    """Kendall's tau-b: (pairs in the same order - pairs in opposite order) / sqrt((pairs not tied in x)(pairs not tied in y)). NaN where one of
    them is constant, or for fewer than two."""
    signs = [((x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])) for i in range(len(x)) for j in range(i)]
    untied = sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs)
    return sum(a * b for a, b in signs) / math.sqrt(untied) if untied else math.nan
