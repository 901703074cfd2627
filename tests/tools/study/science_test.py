"""train/studies/science: statistics equal SciPy's (statistics_golden.py prints them), each verdict from runs made for it, the figure from values
by hand, the committed tables, and what is refused."""
import csv
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCIENCE, RESULTS = ROOT / "train/studies/science", ROOT / "train/studies/results"
sys.path[:0] = [str(SCIENCE), str(RESULTS)]
import budget_picture
import claims as science
import output
import registered_claims
import runs as files
import student
import verdicts

HEAD = """[choice]
study = "choice"
seeds = [90, 91, 92]
least-ratio = 3
most-variation = 0.15
most-loss-excess = 0.3
[judged]
seeds = [1, 2, 3]
"""
EVEN = sum(1 / i for i in range(1, 65)) / 64
WITH_KEY = sum(1 / (i + 1) for i in range(1, 65)) / 64, (1 + sum(1 / (i + 1) for i in range(1, 65))) / 65


def claim(run, expected, more=""):
    return f'[[claim]]\nsays = "It holds."\nfamily = "f"\nstudy = "s"\nrun = "{run}"\nexpected = "{expected}"\n{more}'


def registered(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "p.toml"
        path.write_text(HEAD + text if "[judged]" not in text else text)
        return science.read_registered(path)


def run_of(group, seed, ratio=1.0, loss=4, star=None, **more):
    """A complete run with alpha_1 = ratio x even attention."""
    first, last = (EVEN, None) if star is None else WITH_KEY
    run = {"run": f"{group}-{seed}", "seed": str(seed), "finished": "true", "step": "10", "steps": "10", "ablation": group, "task": "text",
           "extra": "none" if star is None else "key", "measured_context": "64", "val_loss": str(loss), "alpha_1": repr(ratio * first),
           "alpha_star": "" if star is None else repr(star * last), "data_sha256": "a" * 64, "policies": "p", "window": "0", "prefix": "0", "layers": "2",
           "learning_rate": "0.01"}
    return files.Run(run | {key: str(value) for key, value in more.items()})


def runs_of(group, *ratios):
    """baseline: excess 2.0, 2.1, 1.9 (smallest effect of interest 0.6)."""
    return [run_of("baseline", seed, ratio) for seed, ratio in ((1, 3.0), (2, 3.1), (3, 2.9))] + [
        run_of(group, seed, ratio) for seed, ratio in enumerate(ratios, 1)]


def judged(text, runs):
    return science.judge(registered(text), {"s": runs})[0]


def verdict(expected, *ratios, more=""):
    return judged(claim("x", expected, more), runs_of("x", *ratios)).verdict


class Statistics(unittest.TestCase):
    def test_student_t(self):
        for degrees, t in {1: 12.706204736, 2: 4.30265273, 3: 3.182446305, 4: 2.776445105, 5: 2.570581836, 9: 2.262157163, 10: 2.228138852,
                           29: 2.045229642, 30: 2.042272456, 100: 1.983971519, 1001: 1.962336705}.items():
            self.assertAlmostEqual(student.t_975(degrees) / t, 1, delta=1e-9)

    def test_intervals(self):
        a, b = {1: 14.6, 2: 12.25, 3: 17.5, 5: 11.0}, {1: 0.4, 2: 1.5, 3: 0.9, 4: 7.0}
        mean, difference = student.estimate(list(a.values())), student.paired(a, b)
        self.assertAlmostEqual(mean.mean, 13.8375, delta=1e-9)
        self.assertAlmostEqual(mean.half, 4.553500828, delta=1e-8)
        self.assertEqual(difference.n, 3)
        self.assertAlmostEqual(difference.mean, 13.85, delta=1e-9)
        self.assertAlmostEqual(difference.half, 7.305012329, delta=1e-8)
        self.assertTrue(math.isnan(student.estimate([1]).half) and math.isnan(student.estimate([]).mean))
        # Nine digits of 1e6 differ by rounding alone: no width.
        self.assertEqual(student.paired({1: 1000000.01, 2: 1000000.02}, {1: 1e6, 2: 1e6}).half, 0)

    def test_p_values(self):
        difference = student.estimate([0.31, 0.12, 0.25, -0.04, 0.2])
        other = student.Estimate(5, -difference.mean, difference.half)
        for one in (difference, other):
            self.assertAlmostEqual(student.p_of_difference(one), 0.050245591, delta=1e-8)
            self.assertAlmostEqual(student.p_of_equality(one, 0.3), 0.047492533, delta=1e-8)
        self.assertGreater(student.p_of_equality(difference, 0.1), 0.5)
        self.assertTrue(math.isnan(student.p_of_difference(student.Estimate(1, 0.2, math.nan))))
        self.assertEqual(student.p_of_difference(student.Estimate(5, 50, 0)), 1)
        self.assertEqual([student.p_of_equality(student.Estimate(5, 0.1, 0), margin) for margin in (0.3, 0.05)], [0, 1])

    def test_holm(self):
        # 4 x 0.01, 3 x 0.02, 2 x 0.03 as large as the one before, 0.5.
        for corrected, expected in zip(student.holm([0.03, 0.01, 0.5, 0.02]), [0.06, 0.04, 0.5, 0.06]):
            self.assertAlmostEqual(corrected, expected, delta=1e-12)
        self.assertEqual(student.holm([0.6, 0.7]), [1, 1])


class Even(unittest.TestCase):
    """Even attention by the definition: each row's weight over the keys that it sees."""

    def test_definition(self):
        for T, window, prefix, extra in ((64, 0, 0, "none"), (64, 0, 0, "key"), (64, 0, 0, "token"), (12, 5, 0, "none"), (12, 0, 3, "none"), (12, 5, 3, "key"),
                                         (12, 5, 3, "token"), (4, 9, 9, "none")):
            with self.subTest(T=T, window=window, prefix=prefix, extra=extra):
                tokens, width = int(extra == "token"), T + int(extra == "token")
                fixed = min(prefix, T) + tokens if prefix else 0
                sees = [[j < fixed or j <= i and (not window or j > i - window) for j in range(width)] for i in range(width)]
                weight = [1 / (sum(row) + (extra == "key")) for row in sees]
                column = lambda j: sum(weight[i] for i in range(width) if sees[i][j]) / sum(row[j] for row in sees)
                star = column(0) if tokens else (1 + sum(weight)) / (T + 1)
                first, last = files.even_attention(T, window, prefix, extra, 0.0)
                self.assertAlmostEqual(first, column(tokens), delta=1e-12)
                if extra == "none":
                    self.assertTrue(math.isnan(last))
                else:
                    self.assertAlmostEqual(last, star, delta=1e-12)

    def test_blocks_without_a_window_and_older_programs(self):
        windowed, full = (files.even_attention(12, window, 0, "none", 0.0)[0] for window in (5, 0))
        self.assertAlmostEqual(files.even_attention(12, 5, 0, "none", 0.25)[0], 0.75 * windowed + 0.25 * full, delta=1e-12)
        self.assertAlmostEqual(files.even_attention(12, 5, 0, "none", 0.0, True)[0], windowed * 5 / 12, delta=1e-12)
        run = run_of("x", 1, window=5, measured_context=12, layers=4, global_every=2, first_key_rows=5)
        self.assertAlmostEqual(run.even[0], 0.5 * (windowed + full), delta=1e-12)
        self.assertAlmostEqual(run_of("x", 1, window=5, measured_context=12).even[0], windowed * 5 / 12, delta=1e-12)
        self.assertTrue(math.isnan(run_of("x", 1, document_mask="true").even[0]))

    def test_columns_of_the_committed_files(self):
        rows = list(csv.DictReader((RESULTS / "atlas-runs.csv").read_text().splitlines()))
        for row in rows:
            for name in ("alpha_1", "alpha_star"):
                if row[name]:
                    self.assertAlmostEqual(files.Run(row).over_even(name) / float(row[name + "_over_even"]), 1, delta=1e-8)


class Claims(unittest.TestCase):
    def test_each_verdict(self):
        self.assertEqual(verdict("less", 1.0, 1.15, 0.95), "replicated")
        self.assertEqual(verdict("greater", 1.0, 1.15, 0.95), "contradicted")  # significant, the other sign
        self.assertEqual(verdict("less", 2.9, 3.05, 2.85), "contradicted")  # within the smallest effect
        self.assertEqual(verdict("less", 1.0, 3.4, 2.9), "underpowered")  # too wide
        self.assertEqual(verdict("equal", 3.05, 3.1, 2.96), "replicated")
        self.assertEqual(verdict("equal", 1.0, 1.15, 0.95), "contradicted")
        self.assertEqual(verdict("equal", 5.0, 5.15, 4.95), "contradicted")
        self.assertEqual(verdict("equal", 1.0, 3.4, 2.9), "underpowered")
        self.assertEqual(verdict("less", 1.0, 1.15, 0.95, more='not-testable = "too small"\n'), "not testable")
        self.assertEqual(verdict("less", 1.0, 1.15), "not run")
        self.assertEqual(verdict("less", 1.0, 1.15, math.nan), "not run")
        self.assertEqual(judged(claim("x", "less"), []).verdict, "not run")
        self.assertEqual(verdict("greater", 4.0, 4.15, 3.95, more='against = "even"\n'), "replicated")
        self.assertEqual(verdict("less", 2.3, 2.35, 2.2), "replicated")  # by 0.72
        self.assertEqual(verdict("less", 2.3, 2.35, 2.2, more="smallest = 0.8\n"), "contradicted")
        # Without an excess of the baseline there is no smallest effect.
        runs = [run_of("baseline", seed, 0.9) for seed in (1, 2, 3)] + [run_of("x", seed, ratio) for seed, ratio in ((1, 0.1), (2, 0.11), (3, 0.12))]
        one = judged(claim("x", "less"), runs)
        self.assertTrue(one.verdict == "underpowered" and math.isnan(one.margin))

    def test_stricter_rules(self):
        choice = {"choice": [run_of("recipe", seed, ratio) for seed, ratio in ((90, 5.0), (91, 5.2), (92, 5.1))]}

        def strict(runs, more="", expected="less", choice=choice):
            of, studies = registered(claim("x", expected, more)), {"s": runs} | choice
            claims = science.judge(of, studies)
            science.judge_strictly(of, studies, claims)
            return claims[0]
        even = sum(math.log(i) for i in range(1, 65)) / 64
        self.assertAlmostEqual(run_of("x", 1, entropy=even).entropy_over_even, 1, delta=1e-12)
        some, every = (sum(math.log(min(i, most)) for i in range(1, 65)) / 64 for most in (8, 64))
        self.assertAlmostEqual(run_of("x", 1, entropy=1, window=8).entropy_over_even, 1 / some, delta=1e-12)
        self.assertAlmostEqual(run_of("x", 1, entropy=1, window=8, global_every=2).entropy_over_even, 2 / (some + every), delta=1e-12)
        # Runs without an entropy, or with one that leaves a pattern, are judged as before; the smallest effect is 0.3 (5.1 - 1).
        runs = runs_of("x", 1.0, 1.15, 0.95)
        self.assertEqual(strict(runs).strict_verdict, "replicated")
        for group, share, expected in (("x", 0.93, "replicated"), ("x", 0.94, "not testable"), ("baseline", 0.94, "not testable")):
            for run in runs:
                run["entropy"] = str(even * share) if run.group == group else "1"
            one = strict(runs)
            self.assertEqual((one.verdict, one.strict_verdict), ("replicated", expected), (group, share))
        self.assertEqual(strict(runs, 'measure = "val_loss"\nsmallest = 0.1\n').strict_verdict, "contradicted")  # no sink's measure
        # A difference of 0.72, above the share of the judged baseline (0.6), below that of the choice (1.23).
        close = runs_of("x", 2.3, 2.35, 2.2)
        self.assertEqual((strict(close).verdict, strict(close).strict_verdict), ("replicated", "contradicted"))
        self.assertEqual(strict(close, "smallest = 0.5\n").strict_verdict, "replicated")
        self.assertEqual(strict(close, expected="equal").strict_verdict, "replicated")
        self.assertEqual(strict(close, choice={}).strict_verdict, "undefined")
        others = [run_of("other", seed, 3.0 + seed / 10) for seed in (1, 2, 3)] + runs
        self.assertEqual(strict(others, 'against = "other"\n').strict_verdict, "undefined")
        # The correction over all claims, and how many are judged by the same runs.
        two = registered(claim("x", "less") + claim("x", "greater", 'measure = "total"\n').replace('"f"', '"g"'))
        claims = science.judge(two, {"s": close})
        science.judge_strictly(two, {"s": close}, claims)
        self.assertAlmostEqual(claims[0].p_of_all, 2 * claims[0].p)
        self.assertEqual([one.together for one in claims], [2, 2])

    def test_unfinished_runs_and_other_seeds_do_not_count(self):
        for change in ({"step": "9"}, {"finished": "false"}, {"failure": "diverged"}, {"val_loss": ""}, {"seed": "4", "run": "x-4"}):
            runs = runs_of("x", 1.0, 1.15, 0.95)
            more = [run_of("baseline", 5, 1.0), run_of("x", 5, 9.0)]  # a seed that judges nothing
            self.assertEqual(judged(claim("x", "less"), runs + more).verdict, "replicated")
            runs[-1].update(change)
            self.assertEqual(judged(claim("x", "less"), runs).verdict, "not run", change)

    def test_holm_counts_claims_that_are_not_run(self):
        runs = runs_of("x", 2.1, 2.3, 1.8)
        alone = judged(claim("x", "less"), runs)
        of_three = judged(claim("x", "less") + claim("y", "less") + claim("z", "less"), runs)
        self.assertEqual(alone.p_of_family, alone.p)
        self.assertAlmostEqual(of_three.p_of_family, 3 * alone.p)

    def test_onsets(self):
        # Steps of the sink and of the massive activation; what never comes counts as coming at the last step, 10.
        runs = [run_of("baseline", seed, 3.0, onset_sink_1=sink, onset_massive=massive, massive_ratio=3.5)
                for seed, (sink, massive) in enumerate([(2, 9), (3, 9), (2, -1)], 1)]
        of = lambda expected, measure: judged(claim("baseline", expected, f'against = "even"\nsmallest = 1\nmeasure = "{measure}"\n'), runs)
        self.assertAlmostEqual(of("greater", "sink_lead").difference.mean, 7)
        self.assertEqual(of("greater", "sink_lead").verdict, "replicated")
        self.assertAlmostEqual(of("less", "excess_massive").difference.mean, 2.5)
        for run in runs:  # the same lead of all seeds: steps are too coarse to show how seeds vary
            run.update(onset_sink_1="2", onset_massive="9")
        one = of("greater", "sink_lead")
        self.assertEqual((one.difference.mean, one.p, one.verdict), (7, 1, "underpowered"))
        runs[-1]["onset_massive"] = ""
        self.assertEqual(of("greater", "sink_lead").verdict, "not run")

    def test_interventions(self):
        runs = runs_of("x")
        for seed, run in enumerate(runs, 1):
            change = 0.2 + 0.01 * seed
            run.update(change_removed_1=str(change), change_constant_1=str(change / 2), alpha_fixed_over_even="3")
        of = lambda measure: judged(claim("baseline", "greater", f'against = "even"\nsmallest = 0.02\nmeasure = "{measure}"\n'), runs)
        self.assertAlmostEqual(of("change_removed_1").difference.mean, 0.22)
        self.assertEqual(of("change_removed_1").verdict, "replicated")
        self.assertAlmostEqual(of("constant_share").difference.mean, 0.5)
        self.assertEqual(of("change_w4a4").verdict, "not run")
        self.assertAlmostEqual(of("excess_fixed").difference.mean, 2)

    def test_total_of_an_extra_key_and_the_first_token(self):
        runs = runs_of("x") + [run_of("x", seed, 0.5, star=4 + 0.01 * seed) for seed in (1, 2, 3)]
        star = judged(claim("x", "greater", 'measure = "excess_star"\nagainst = "even"\n'), runs)
        self.assertAlmostEqual(star.difference.mean, 3.02)
        self.assertAlmostEqual(star.margin, 0.6)
        total = (0.5 * WITH_KEY[0] + 4.02 * WITH_KEY[1]) / sum(WITH_KEY) - 1
        self.assertAlmostEqual(judged(claim("x", "equal", 'measure = "total"\n'), runs).difference.mean, total - 2)

    def test_working_heads(self):
        runs = [run_of(group, seed, star=4, sink_star=idle + 0.1 * (seed - 2), layers=layers, heads=8)
                for group, layers, idle in (("x", 2, 50), ("deep", 4, 75), ("wide", 4, 25)) for seed in (1, 2, 3)]
        of = lambda run: judged(claim(run, "equal", 'against = "x"\nsmallest = 2\nmeasure = "working_heads"\n'), runs)
        self.assertAlmostEqual(of("deep").difference.mean, 0)
        self.assertEqual(of("deep").verdict, "replicated")
        self.assertAlmostEqual(of("wide").difference.mean, 16)
        self.assertEqual(of("wide").verdict, "contradicted")

    def test_the_recipe_is_the_largest_that_passes(self):
        runs = [run_of(group, seed, ratio, loss) for group, loss, *ratios in (
            ("low", 4.0, 3.1, 3.2, 3.3), ("middle", 4.2, 4.1, 4.2, 4.3), ("high", 4.31, 5.1, 5.2, 5.3), ("unsteady", 4.1, 3.0, 5.2, 7.3),
            ("small", 4.1, 2.8, 2.9, 2.9), ("longer", 3.0, 2.8, 2.9, 2.9)) for seed, ratio in zip((90, 91, 92), ratios)]
        for run in runs[-3:]:
            run.update(step="20", steps="20")
        found = science.candidates_of(registered(""), {"choice": runs})
        self.assertEqual([one.run for one in found if one.passes], ["low", "middle"])
        self.assertAlmostEqual(found[1].ratio, 4.2)
        self.assertAlmostEqual(found[1].variation, 0.1 / 4.2)
        self.assertEqual(science.chosen(found, 3), "Chosen: middle, 10 steps.")
        for _ in range(2):
            runs.pop()
            self.assertIn("Not chosen yet: the rule needs all 3 seeds", science.chosen(science.candidates_of(registered(""), {"choice": runs}), 3))


TUNED = 'against = "even"\nmeasure = "excess_zero_score"\nsmallest = 0.5\nrules = "stricter"\ntuned = 2\n'
EVEN_ENTROPY = sum(math.log(i) for i in range(1, 65)) / 64


def tuned_runs(design, values, first_seed=1):
    """Runs of {setting: its (excess_zero_score, entropy over even) by seed}."""
    return [run_of(design + setting, seed, alpha_1=repr(0.05 * (1 + excess)), zero_score_alpha_1="0.05", entropy=repr(share * EVEN_ENTROPY))
            for setting, of in values.items() for seed, (excess, share) in enumerate(of, first_seed)]


def judged_strictly(text, runs):
    of = registered(text)
    claims = science.judge(of, {"s": runs})
    science.judge_strictly(of, {"s": runs}, claims)
    return claims


class Tuned(unittest.TestCase):
    def test_the_other_seeds_choose_the_setting(self):
        high, low = "-learning-rate-1e-05-weight-decay-0.3", ""
        values = {high: [(9, 0.9), (1, 0.9), (1.2, 0.9)], low: [(2, 0.9), (2.1, 0.9), (2.2, 0.9)]}
        find = lambda: judged_strictly(claim("x", "greater", TUNED), tuned_runs("x", values) + runs_of("x-batch-4"))[0]
        one = find()
        self.assertEqual(one.settings, {1: "x", 2: "x" + high, 3: "x" + high})  # seed 1 has no say in its own
        self.assertAlmostEqual(one.difference.mean, (2 + 1 + 1.2) / 3)
        self.assertEqual((one.registered_verdict, one.margin), ("replicated" if one.p < 0.05 else "underpowered", 0.5))
        values[high][0] = 9, 0.99  # the mean of seeds 1 and 2, and that of 1 and 3, are above 0.936
        self.assertEqual(set(find().settings.values()), {"x"})
        self.assertAlmostEqual(find().difference.mean, 2.1)
        self.assertEqual(find().strict_verdict, "replicated")
        values[low] = [(2, 0.95)] * 3
        one = find()  # seeds 2 and 3 have no setting that can be tested
        self.assertEqual((one.settings, one.strict_verdict, one.is_judged), ({1: "x" + high, 2: None, 3: None}, "not testable", False))
        values[low].pop()
        self.assertEqual(find().strict_verdict, "not run")
        runs = tuned_runs("x", {high: values[high]})
        self.assertEqual(judged_strictly(claim("x", "greater", TUNED), runs)[0].strict_verdict, "not run")
        self.assertEqual(science.unknown_runs(registered(claim("x", "greater", TUNED)), {"s": runs}), ["s-runs.csv has 1 settings of x, 2 are registered"])

    def test_ten_values_by_other_code(self):
        draw = random.Random(3).uniform
        settings = ("", "-weight-decay-0.1", "-learning-rate-0.005-weight-decay-0.3", "-learning-rate-0.0025")
        runs = [run for design in ("x", "x-batch-4") for run in
                tuned_runs(design, {setting: [(draw(0, 4), draw(0.91, 0.955)) for _ in range(5)] for setting in settings}, 11)]
        for design in ("x", "x-batch-4"):
            chosen = files.tuned_settings(runs, design, "excess_zero_score", range(11, 16))
            ours = [files.values_of(runs, chosen[seed], "excess_zero_score", [seed])[seed] for seed in chosen]
            self.assertGreater(len(set(chosen.values())), 1)
            self.assertEqual([round(x, 12) for x in registered_claims.held_out(runs, design)], [round(x, 12) for x in ours])

    def test_later_claims_have_the_stricter_verdict_alone(self):
        runs = runs_of("x", 1.0, 1.15, 0.95)
        for run in runs:
            run["entropy"] = repr(0.95 * EVEN_ENTROPY)
        claims = judged_strictly(claim("x", "less") + claim("x", "less", 'rules = "stricter"\n').replace('"f"', '"g"'), runs)
        self.assertEqual([one.registered_verdict for one in claims], ["replicated", "not testable"])
        self.assertEqual([cells[8] for cells in verdicts.claim_cells(claims)], ["verdict", "replicated", ""])
        self.assertEqual(verdicts.count_of(claims), "1 claims: 1 replicated. By the stricter rules: 1 not testable. "
                         "1 later claims, by the stricter rules alone: 1 not testable.")


class Refused(unittest.TestCase):
    def message(self, call, *arguments):
        with self.assertRaises(files.BadInput) as caught:
            call(*arguments)
        return str(caught.exception)

    def test_a_table_of_two_recipes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "s-runs.csv"

            def read(runs):
                with path.open("w", newline="") as file:
                    writer = csv.DictWriter(file, list(runs[0]))
                    writer.writeheader()
                    writer.writerows(runs)
                return files.read_runs(path)

            def changed(**values):
                runs = runs_of("x", 1.0, 1.15, 0.95)
                for run in runs:
                    run["initial_sha256"] = "a" * 64
                runs[-1].update(values)
                return runs
            self.assertEqual(len(read(changed())), 6)
            self.assertIn("two complete runs are named x-2", self.message(read, changed(run="x-2", seed="2")))
            read(changed(run="x-2", seed="2", step="9"))  # not complete
            self.assertIn("x-3 has learning rate 0.1 instead of 0.01, as in x-1", self.message(read, changed(learning_rate="0.1")))
            self.assertIn("x-3 has data bbbbbbbbbbbb... instead of aaaaaaaaaaaa..., as in x-1", self.message(read, changed(data_sha256="b" * 64)))
            self.assertIn("x-3 has initial parameters bbbbbbbbbbbb... instead of", self.message(read, changed(initial_sha256="b" * 64)))
            self.assertIn("x-3 has measured context 32 instead of 64", self.message(read, changed(measured_context="32")))
            self.assertIn("has learning rate ?[2J instead", self.message(read, changed(learning_rate="\x1b[2J")))
            self.assertLess(len(self.message(read, changed(learning_rate="9" * 10**5))), 500)
            self.assertIn("x-3 has no seed or no steps", self.message(read, changed(seed="three")))
            self.assertIn("alpha_1 of x-3 is `much`, expected a number", self.message(files.MEASURES["excess_1"], read(changed(alpha_1="much"))[-1]))
            self.assertTrue(math.isnan(files.MEASURES["excess_1"](files.Run(changed(measured_context="1" + 12 * "0")[-1]))))
            path.write_bytes(b"run,seed\n\xff,1\n")
            self.assertIn("is no table of `sweep`", self.message(files.read_runs, path))
            path.write_text("run,seed\nx-1,1\n")
            self.assertIn("has no column ablation, alpha_1, extra", self.message(files.read_runs, path))
            path.write_text(",".join(changed()[0]) + "\nx-1,1\n")
            self.assertIn("another number of cells", self.message(files.read_runs, path))
        self.assertIn("is not a regular file", self.message(files.read_runs, "/dev/zero"))

    def test_a_preregistration(self):
        for text, words in ((claim("x", "fewer"), "claim 1: expected is one of equal, greater, less"), (claim("x", "less", "sed = 1\n"), "unknown key `sed`"),
                            ('[[claim]]\nrun = "x"\n', "claim 1 has no key `says`"), (claim("x", "less", 'measure = "val_loss"\n'), "needs `smallest`"),
                            (claim("x", "less", 'measure = "sink_lead"\n'), "in steps"), (claim("x", "less", 'measure = "loss"\n'), "measure is one of"),
                            (claim("baseline", "equal"), "run baseline is compared with itself"), ("[judged]\nseeds = [1]\n", "two or more"),
                            ("[judged]\nseeds = [1, 2, 2]\n", "seed 2 is given twice"), ("[judged]\nseeds = [1, 2]\nlevel = 5\n", "above 0 and below 1"),
                            ('[judged]\nseeds = ["0", 1]\n', "'0' is no seed"), (claim("x", "less", "smallest = nan\n"), "not negative"),
                            (claim("x", "less", "study = 1\n"), "p.toml: "),
                            (claim("x", "less", TUNED.replace("even", "y")), 'against = "even"'), (claim("x", "less", TUNED.replace("2", "0")), "above 0"),
                            (claim("x", "less", 'rules = "lax"\n'), "rules is stricter"), ("[judged]\nseeds = 3\n", "of another type")):
            self.assertIn(words, self.message(registered, text), text)
        one = registered(claim("x", "less") + claim("y", "less", 'against = "basline"\n') + claim("x", "less", 'against = "even"\n') +
                         claim("z", "less", 'not-testable = "too small"\n'))
        runs = runs_of("x", 1.0, 1.15, 0.95)
        self.assertEqual(science.unknown_runs(one, {"s": runs}), ["s-runs.csv has no run y", "s-runs.csv has no run basline"])
        self.assertEqual(science.unknown_runs(one, {}), [])


class Picture(unittest.TestCase):
    def runs(self):
        def run(group, seed, first, row_mass, loss, extra="none", **more):
            return run_of(group, seed, first / EVEN, loss, fixed_token=1, sink_1=40, row_mass=row_mass, alpha_1_raw=first, **more) | {"extra": extra}
        runs = []
        for seed in (1, 2, 3):
            change = 0.01 * (seed - 2)
            runs += [run("baseline", seed, 0.3 + change, 1, 5), run("bias_k", seed, 0.05 + change / 10, 0.6, 4.9 + change, "key", extra_key_mass=0.4),
                     run("op_sigmoid_none", seed, 0.5, 10, 5.1)]
        runs += [run("gate_head", 1, 0.07, 1, 4.8), run("bias_sinktoken", 1, 0.1, 1, 4.8, "token", alpha_star_raw=0.4), run("pos_nope", 4, 0.1, 1, 4.8)]
        return [files.Run(each) for each in runs]

    def test_values_make_one(self):
        of = registered(claim("bias_k", "less"))
        found = budget_picture.rows_of(of, self.runs(), "s", science.judge(of, {"s": self.runs()}))
        rows = {row.group: row for _, some in found for row in some}
        softmax, key, sigmoid, token = (rows[name] for name in ("baseline", "bias_k", "op_sigmoid_none", "bias_sinktoken"))
        for value, expected in ((softmax.first, 0.3), (softmax.others, 0.7), (softmax.missing, 0), (softmax.even, EVEN), (key.extra, 0.4),
                                (key.others, 0.55), (key.missing, 0), (key.first_and_extra.mean.mean, 0.45), (key.loss.mean.mean, -0.1),
                                (sigmoid.missing, -9), (sigmoid.others, 9.5), (token.extra, (0.4 * 65 - 1) / 64)):
            self.assertAlmostEqual(value, expected)
        self.assertEqual((softmax.paper_sink_1, softmax.loss, softmax.verdict), (74.11, None, None))  # data-fix1: the same kind of input
        self.assertEqual((key.paper_sink_1, key.verdict), (None, "replicated"))
        self.assertEqual(found[0][0], "Softmax")
        self.assertNotIn("pos_nope", rows)  # a seed that judges nothing
        self.assertEqual(budget_picture.svg_of(of, [], "s", []), "")

    def test_bars_are_at_their_values(self):
        of = registered(claim("bias_k", "less"))
        svg = budget_picture.svg_of(of, self.runs(), "s", science.judge(of, {"s": self.runs()}))
        # The scale of weights is 330 pixels from 360 on. softmax: 0.3 and 0.7; bias_k: 0.05, 0.4 and 0.55; sigmoid: 0.5 of 10.
        for text in ('class="first" x="360.0" y="158.5" width="99.0"', 'class="others" x="459.0" y="158.5" width="231.0"',
                     'class="extra" x="376.5" y="250.5" width="132.0"', 'class="first" x="360.0" y="315.5" width="16.5"', "\u00d7 10<", ">replicated</text>",
                     '<g class="one"><title>gate_head</title>', "<g><title>bias_k</title>", ">1 of 3 seeds</text>", 'class="paper"'):
            self.assertIn(text, svg)
        self.assertNotIn("nan", svg)
        other = self.runs()
        other[1]["alpha_1"] = "0.9"
        self.assertNotIn(">replicated</text>", budget_picture.svg_of(of, other, "s", science.judge(of, {"s": other})))


class Program(unittest.TestCase):
    def call(self, *words):
        return subprocess.run([sys.executable, "-B", SCIENCE / "verdicts.py", *map(str, words)], capture_output=True, text=True)

    def test_committed_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "new/out"
            done = self.call("--out", out)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("120 claims: 64 replicated, 18 contradicted, 32 underpowered, 1 not testable, 5 not run. By the stricter rules: "
                          "58 replicated, 12 contradicted, 24 underpowered, 8 undefined, 13 not testable, 5 not run. "
                          "45 later claims, by the stricter rules alone: 15 replicated, 8 contradicted, 22 underpowered.\n", done.stdout)
            for name in ("verdicts.md", "atlas-budget.svg"):
                self.assertEqual((out / name).read_text(), (RESULTS / name).read_text(), name)
            rows = list(csv.DictReader((out / "verdicts.csv").read_text().splitlines()))
            self.assertEqual(len(rows), 165)
            self.assertEqual(done.stdout, self.call().stdout)
            # A file of somebody else stays, ours is replaced.
            (out / "verdicts.csv").write_text("my notes")
            done = self.call("--out", out)
            self.assertEqual(done.returncode, 2)
            self.assertIn("verdicts.csv already exists and is not what this program writes", done.stderr)
            self.assertEqual((out / "verdicts.csv").read_text(), "my notes")
            self.assertEqual([path.name for path in out.iterdir() if path.name.startswith(".")], [])

    def test_what_a_killed_program_left_is_removed(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.csv"
            kept = [f".a.csv.tmp-{process}-{machine}-x" for process, machine in ((os.getpid(), output.this_machine()), (ended.pid, "00000000"))] + [
                f".b.csv.tmp-{ended.pid}-{output.this_machine()}-x"]
            for name in [*kept, f".a.csv.tmp-{ended.pid}-{output.this_machine()}-x"]:
                (path.parent / name).write_text("half")
            output.write(path, "whole")
            self.assertEqual(sorted(each.name for each in path.parent.iterdir()), sorted(["a.csv", *kept]))
            self.assertEqual(path.read_text(), "whole")

    def test_wrong_arguments(self):
        self.assertEqual(self.call("--reslts", "x").returncode, 2)
        done = self.call("--results", "nowhere")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
        done = self.call("--registered", "nowhere.toml")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1))

    def test_no_markup_from_names(self):
        cells = verdicts.markdown([["a", "b"], ["<script>x", "p | q < 1"]])
        self.assertEqual(cells, "| a | b |\n|---|---|\n| &lt;script>x | p \\| q < 1 |\n")
        self.assertTrue(re.search("&lt;b&gt;", budget_picture.escape("<b>")))


if __name__ == "__main__":
    unittest.main()
