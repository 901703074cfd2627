"""train/studies/science/tables.py: every verdict from values computed by hand, the marks of the figure, the matching row of the paper, and what is
refused. make_tables.py --check compares the committed tables, byte by byte."""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCIENCE, RESULTS = ROOT / "train/studies/science", ROOT / "train/studies/results"
sys.path.insert(0, str(SCIENCE))
import paper
import runs as files
import student
import study as science
import study_picture
import study_table

SETTINGS = {"task": "text", "layers": "2", "heads": "8", "width": "128", "context": "64", "steps": "2000", "batch": "32", "optimizer": "adamw",
            "learning-rate": "0.01", "weight-decay": "0.05", "fixed-token": "-1", "fixed-position": "1"}


def group_of(name, row="", ablation=None, planned_steps=0, origin="", **settings):
    settings = {key.replace("_", "-"): str(value) for key, value in settings.items()}
    return {"name": name, "ablation": ablation or name, "from": origin, "row": row, "planned_steps": planned_steps, "tokens_per_step": 2048,
            "settings": SETTINGS | settings}


class Made:
    """A study with its jobs, as `sweep` writes them."""

    def __init__(self, *groups, baseline="baseline", question="Why?", note=""):
        self.said = {"schema": 1, "name": "s", "size": "cpu", "question": question, "section": "", "note": note, "baseline": baseline,
                     "groups": list(groups), "jobs": []}
        self.rows = []

    def run(self, group, seed, sink_1, loss=4, problem="", file="", before=None, **more):
        row = {"run": f"{self.said['groups'][group]['name']}-{seed}", "extra": "none", "sink_1": str(sink_1), "sink_1_raw": str(sink_1), "val_loss": str(loss),
               "alpha_1": "", "commit": "abc", "machine": "", "threads": "2", "seconds": "1800", "skipped_steps": "0", "first_skipped": "0"}
        self.job(group, seed, problem, file, row | {key: str(value) for key, value in more.items()}, before)
        return self

    def job(self, group, seed, problem="", file="", row=None, before=None):
        self.said["jobs"].append({"group": group, "seed": seed, "row": None if row is None else len(self.rows), "problem": problem, "file": file,
                                  "before": before or {}})
        self.rows += [files.Run(row)] if row is not None else []
        return self

    def study(self):
        return science.study_of(json.loads(json.dumps(self.said)), [files.Run(row) for row in self.rows])


def made():
    """baseline 10, 12, 11; sigmoid 1, 2, 0; elu 8, 15, 11; kernel has one seed, and one that failed."""
    found = Made(group_of("baseline", "base-60m"), group_of("sigmoid", "op-sigmoid-none"), group_of("elu", "kern-elu-none"), group_of("kernel", "kern-mlp-norm"))
    for seed in (1, 2, 3):
        for group, sinks in enumerate(((10, 12, 11), (1, 2, 0), (8, 15, 11))):
            found.run(group, seed, sinks[seed - 1], 4.5 + 0.01 * seed if group == 1 else 4.4)
    found.run(3, 1, 50, 5, skipped_steps=1, first_skipped=2)
    return found.job(3, 2, "failed: the loss was not finite").job(3, 3, "not begun")


def with_papers(study, *values):
    """The study with these values of Sink_1 (and the loss) in the paper instead."""
    for group, value in zip(study.groups, values):
        sink_1, valid = value if isinstance(value, tuple) else (value, "")
        group.row = dict.fromkeys(paper.TABLE["columns"], "") | {"id": group.name, "ablation": group.name, "sink_1": sink_1, "valid": valid, "preset": "60m"}
    return study


def results():
    return with_papers(made().study(), ("18.18", "3.73"), ("0.44*", "3.70"), ("0.80*", "3.69"), ("failed", "failed"))


class Statistics(unittest.TestCase):
    def test_sign(self):
        for mean, half, n, sign in ((5, 4.9, 3, 1), (5, 5.1, 3, 0), (-5, 4.9, 3, -1), (5, math.nan, 1, 0), (0, 0, 3, 0), (5, 0, 3, 0)):
            self.assertEqual(student.Estimate(n, mean, half).sign, sign, (mean, half))
        self.assertEqual(student.estimate([]).sign, 0)

    def test_kendall_tau_is_scipys(self):
        self.assertAlmostEqual(student.kendall_tau([18.18, 0.44, 30.24, 0.8, 53.65, 0.44], [14, 0, 20, 0, 3, 1]), 0.5)
        self.assertEqual([student.kendall_tau([1, 2, 3], y) for y in ([5, 6, 9], [9, 6, 5])], [1, -1])
        self.assertTrue(math.isnan(student.kendall_tau([1], [1])) and math.isnan(student.kendall_tau([1, 1], [1, 2])))

    def test_order(self):
        # The paper: a < b < c = d. Ours by seed: a 10, 11, 10.5; b 1, 1.5, 1; c 20, 40, 10; d has no run.
        a, b, c = {1: 10, 2: 11, 3: 10.5}, {1: 1, 2: 1.5, 3: 1}, {1: 20, 2: 40, 3: 10}
        # b - a: below 0, and the paper's is above. c - a: 10, 29, -0.5 and c - b: 19, 38.5, 9, half 34 and 37: undecided.
        order = science.order_of([(1, a), (2, b), (3, c), (3, {})])
        self.assertEqual((order.agree, order.disagree, order.undecided, order.not_tested, order.groups), (0, 1, 2, 0, 3))
        self.assertAlmostEqual(order.tau, 1 / 3)
        order = science.order_of([(1, a), (2, b), (3, {1: 20, 2: 21.5, 3: 21})])  # clearly above both
        self.assertEqual((order.agree, order.undecided), (2, 0))
        order = science.order_of([(1, {1: 0}), (2, {1: 50})])
        self.assertEqual((order.undecided, order.not_tested), (0, 1))
        self.assertEqual(science.order_sentence("Loss", science.order_of([(1, {1: 0})])), "Loss: the paper tells no two of the runs that are done apart.")


class Paper(unittest.TestCase):
    def test_values_are_numbers_or_none(self):
        self.assertEqual([paper.value_of(text) for text in ("18.18", "0.44*", "0.00")], [18.18, 0.44, 0.0])
        for text in ("", "*", "n.r.", "failed", "diverged", "inf", "nan", "<1", "1.2.3"):
            self.assertIsNone(paper.value_of(text), text)

    def test_matching_row(self):
        rows = {row["id"]: row for row in paper.ROWS}

        def match(row, **flags):
            found = paper.matching_row(rows[row], paper.input_of(lambda name: str(flags.get(name, ""))))
            return found and found["id"]
        for flags, expected in (({}, "base-60m"), ({"fixed_token": 1}, "data-fix1"), ({"fixed_token": 0, "fixed_position": 3}, "data-fix3"),
                                ({"fixed_token": 1, "fixed_position": 4}, None), ({"fixed_token": 1, "fixed_probability": 0.5}, None),
                                ({"fixed_token": 1, "fixed_probability": 1}, "data-fix1"), ({"random_from": 1, "random_to": 2}, "data-rand12"), ({"window": 32}, "mask-win32"),
                                ({"prefix": 3}, "loss-prefix3"), ({"task": "bigram-backcopy"}, None)):
            self.assertEqual(match("base-60m", **flags), expected, flags)
        self.assertEqual((match("data-fix1"), match("bias-k"), match("bias-k", fixed_token=1)), ("base-60m", "bias-k", None))
        self.assertIsNone(match("opt-lr8e4-10k", fixed_token=1))  # only the default settings were trained with a fixed token

    def test_inputs_in_words(self):
        for flags, words in (({}, "natural text"), ({"fixed_token": 1, "fixed_position": 3, "window": 32}, "text with a fixed token at position 3, window 32"),
                             ({"fixed_token": 1, "fixed_to": 5, "prefix": 5}, "text with a fixed token at a drawn position, 1 to 5, prefix 5"),
                             ({"fixed_token": 1, "fixed_probability": 0.25}, "text with a fixed first token in 0.25 of the training sequences"),
                             ({"fixed_token": 1, "fixed_probability": 0}, "natural text"),
                             ({"random_from": 1, "random_to": 3}, "text with random tokens at positions 1 to 3"),
                             ({"fixed_token": 1, "random_from": 2, "random_to": 2}, "text with a fixed first token and random tokens at position 2"),
                             ({"task": "bigram-backcopy"}, "Bigram-Backcopy")):
            self.assertEqual(paper.describe(paper.input_of(lambda name: str(flags.get(name, "")))), words)


class Results(unittest.TestCase):
    def test_means_differences_directions(self):
        found = results()
        baseline, sigmoid, elu, kernel = found.groups
        self.assertEqual((found.baseline, found.complete, found.runs, found.core_hours), (baseline, 10, 12, 10))  # half an hour on two threads each
        self.assertAlmostEqual(baseline.estimate("sink_1").half, 2.484138, delta=1e-6)  # mean 11, s = 1: 4.302653 / sqrt 3
        self.assertEqual(found.difference(baseline, "sink_1").n, 0)
        difference = found.difference(sigmoid, "sink_1")  # -9, -10, -11
        self.assertAlmostEqual(difference.mean, -10)
        self.assertAlmostEqual(difference.half, 2.484138, delta=1e-6)
        # elu: -2, 3, 0: 1/3 +- 4.303 * 2.517 / sqrt 3.
        self.assertEqual([science.direction(found, group) for group in found.groups], ["", "supported: less", "undecided [-5.9, 6.6]", "not tested: one run"])
        self.assertEqual(kernel.remarks, ["seed 1: 1 step not finite, the first 2", "seed 2: failed: the loss was not finite", "seed 3: not begun"])
        said = science.verdicts(found)
        self.assertEqual(len(said), 2)  # nothing has an extra key
        # Of the paper: sigmoid < elu < baseline. elu - sigmoid: 7, 13, 11, half 7.6: in its order. Tau: means 11, 1, 11.33 against 18.18, 0.44, 0.8.
        self.assertEqual(said[0], "Sink_1 proxy: of 3 pairs that the paper tells apart, 2 in its order, 0 in the opposite order, 1 undecided (the 95 % "
                                  "interval of our difference holds 0 or has no width); Kendall's tau of the means of 3 runs 0.33.")
        # Loss of the paper: elu < sigmoid < baseline. sigmoid - baseline: 0.11 to 0.13: the opposite. elu - baseline: 0, no difference at all.
        self.assertIn("1 in its order, 1 in the opposite order, 1 undecided", said[1])

    def test_against_the_paper(self):
        for papers, expected in (("40.00", "contradicted: less"), ("n.r.", "less"), ("18.18", "less")):
            found = with_papers(results(), "18.18", papers)
            self.assertEqual(science.direction(found, found.groups[1]), expected)
        found.baseline_name = "another"
        self.assertEqual(science.direction(found, found.groups[1]), "")

    def test_row_sum_includes_the_extra_key(self):
        groups = group_of("baseline"), group_of("key")
        found = Made(*groups).run(0, 1, 10, row_mass=1).run(1, 1, 0)
        self.assertNotIn("Row sum:", study_table.markdown_of(found.study()))
        found.rows[1].update(extra="key", row_mass="0.625", extra_key_mass="0.25", alpha_star="0.25")
        self.assertEqual(found.study().groups[1].estimate("row_sum").mean, 0.875)
        self.assertIn("Row sum: with the extra key's weight.", study_table.markdown_of(found.study()))
        heading = study_table.csv_of(found.study()).partition("\n")[0].split(",")
        self.assertTrue("row_sum" in heading and "row_mass" not in heading)

    def test_a_loss_that_is_not_finite(self):
        found = Made(group_of("baseline")).run(0, 1, 10, 4.4).run(0, 2, 12, "").run(0, 3, 11, 4.6).study().groups[0]
        self.assertAlmostEqual(found.estimate("val_loss").mean, 4.5)
        self.assertEqual(found.estimate("sink_1").n, 3)
        self.assertEqual(found.remarks, ["seed 2: the loss is not finite or not measured, and not in the mean"])

    def test_scores_in_the_order_of_the_loss_without_the_first_token(self):
        # Losses rise by 0.1, 0.3, 0.2, 0.4: alpha_1 raw is in that order, Sink_1 in the opposite one but for one pair of six.
        found = Made(*map(group_of, "abcd"), baseline="a")
        for i, (rise, sink, raw) in enumerate(((0.1, 40, 1), (0.3, 10, 3), (0.2, 20, 2), (0.4, 15, 9))):
            found.run(i, 1, sink, change_removed_1=rise, alpha_1_raw=raw, value_share=0.5 if i > 0 else "")
        said = science.verdicts(found.study())[-1]
        # sqrt(2 (2 n + 5) / (9 n (n - 1))) = 0.49
        for text in ("over 4 runs", "Sink_1 proxy -0.67,", "alpha_1 raw +1.00,", "value share not known (3 runs)", "alpha_1 proxy not known (0 runs)", "0 +- 0.49 "):
            self.assertIn(text, said)
        found.said["jobs"] = found.said["jobs"][:2]
        self.assertNotIn("Kendall's tau, over", science.verdicts(found.study())[-1])

    def test_the_same_difference_of_every_seed(self):
        found = Made(group_of("baseline"), group_of("more"), group_of("equal"))
        for seed in (1, 2, 3):
            for group in range(3):
                found.run(group, seed, (8.33333333 if seed == 1 else 27.0833333) + 6.25 * (group == 1))
        study = with_papers(found.study(), "18.18", "20.00", "0.44*")
        self.assertEqual(science.direction(study, study.groups[1]), "undecided [6.2, 6.2]")
        self.assertEqual(study.groups[1].remarks,
                         ["Sink_1 proxy differs from the baseline by exactly +6.2 for every seed: too coarse here for an interval"])
        self.assertEqual((science.direction(study, study.groups[2]), study.groups[2].remarks), ("too small to tell", []))
        self.assertIn("0 in its order, 0 in the opposite order, 3 undecided", science.verdicts(study)[0])

    def test_few_seeds_or_steps_test_nothing(self):
        def found(seeds, **more):
            study = Made(group_of("baseline", **more), group_of("sigmoid", **more))
            for seed in range(1, seeds + 1):
                study.run(0, seed, 40 + seed).run(1, seed, 1)
            return with_papers(study.study(), "18.18", "0.44*")
        for seeds, words in ((1, "not tested: one run"), (2, "not tested: 2 runs"), (3, "supported: less")):
            study = found(seeds)
            self.assertEqual(science.direction(study, study.groups[1]), words)
        self.assertIn("0 undecided", science.verdicts(found(2))[0])
        self.assertIn("1 not tested (fewer than 3 seeds)", science.verdicts(found(2))[0])
        for shorter in ([0, 1], [0], [1]):
            study = found(3, planned_steps=2000, steps=2000)
            for group in shorter:
                study.groups[group].settings["steps"] = "500"
            self.assertEqual(science.direction(study, study.groups[1]), "not tested: 3 runs, 500 of 2,000 steps", shorter)

    def test_nearly_even_attention_tests_nothing(self):
        even = sum(math.log(i) for i in range(1, 65)) / 64
        keys = {"measured_context": 64, "window": 0, "prefix": 0}
        for shares, words in (((0.9, 0.93), "supported: less"), ((0.9, 0.94), "not testable: nearly even"),
                              ((0.94, 0.9), "not testable: nearly even baseline")):
            study = Made(group_of("baseline"), group_of("sigmoid"))
            for seed in (1, 2, 3):
                for group, share in enumerate(shares):
                    study.run(group, seed, 1 if group else 40 + seed, entropy=share * even, **keys)
            found = with_papers(study.study(), "18.18", "0.44*")
            self.assertAlmostEqual(found.groups[1].estimate("entropy_over_even").mean, shares[1])
            self.assertEqual(science.direction(found, found.groups[1]), words)
            self.assertIn("| entropy / even |", study_table.markdown_of(found))

    def test_alpha_over_that_of_zero_scores(self):
        found = Made(group_of("baseline")).run(0, 1, 40, alpha_1=0.3, zero_score_alpha_1=0.05).run(0, 2, 40, alpha_1=0.3, zero_score_alpha_1=0)
        self.assertAlmostEqual(found.study().groups[0].estimate("alpha_1_over_zero_score").mean, 6)
        self.assertEqual(found.study().groups[0].estimate("alpha_1_over_zero_score").n, 1)
        self.assertIn("at zero scores: if all products q . k were zero", study_table.markdown_of(found.study()))

    def test_an_unfinished_run_is_in_no_mean(self):
        study = Made(group_of("baseline")).run(0, 1, 10).run(0, 2, 99, problem="not finished, at step 3").study()
        self.assertEqual((study.groups[0].estimate("sink_1").mean, study.complete), (10, 1))

    def test_before_tuning(self):
        found = Made(group_of("baseline")).run(0, 1, 10, before={"val_loss": 5.5, "sink_1": 3, "sink_1_raw": None, "alpha_1": 0.25}).study()
        self.assertEqual(found.groups[0].estimate("val_loss_before").mean, 5.5)
        self.assertFalse(found.has("sink_1_raw_before"))
        self.assertIn("before: the checkpoint that a run starts from", study_table.text_of(found))

    def test_runs_of_earlier_tables(self):
        found = Made(group_of("baseline"))
        for seed in (1, 2, 3):
            found.run(0, seed, seed, file="" if seed == 2 else "before-runs.csv", machine="" if seed == 2 else "A\x1b[2J")
        study = found.study()
        self.assertEqual((study.complete, study.core_hours, study.groups[0].estimate("sink_1").mean), (3, 3, 2))
        self.assertEqual(study.groups[0].remarks, ["2 of 3 runs from before-runs.csv"])
        text = study_table.text_of(study)
        self.assertIn("2 of 3 runs are rows of before-runs.csv, not trained again.", text)
        self.assertIn("on A?[2J, commit abc", text)
        found.rows[1]["ranks"] = "4"
        found.said["jobs"][1]["file"] = "before-runs.csv"  # all of them: said once, below the table
        study = found.study()
        self.assertEqual((study.core_hours, study.groups[0].remarks), (1 + 4 + 1, []))
        self.assertIn("3 of 3 runs are rows of before-runs.csv, not trained again.", study_table.text_of(study))
        self.assertIn("0 of 1 runs complete, 0.00 core-hours.", study_table.text_of(Made(group_of("baseline")).run(0, 1, 1, problem="not begun").study()))


class Tables(unittest.TestCase):
    def test_nothing_breaks_out_of_its_field(self):
        found = results()
        found.groups[1].remarks = ["=1+1 | <b>"]
        found.question, found.note = "Is 1 < 2? <img src=x onerror=y> `<i>`", "</section><script>"
        found.groups[0].values["val_loss"] = {1: 2019311909999999975424.0}
        text, markdown, csv = study_table.text_of(found), study_table.markdown_of(found), study_table.csv_of(found)
        page = study_table.page_of(found, study_picture.svg_of(found))
        for one in ("1.0 ± 2.5", "-10.0 ± 2.5", " 50.0 ", " +40.0 ", " 2.02e+21 "):  # one seed: no interval
            self.assertIn(one, text)
        self.assertNotIn("nan", text)
        self.assertTrue(markdown.startswith("<!-- made by sweep -->\n"))
        self.assertIn("=1+1 \\| &lt;b>", markdown)
        self.assertIn("Is 1 < 2? &lt;img src=x onerror=y> `&lt;i>`", markdown)
        for tag in ("<b>", "<img", "<i>", "</section>", "<script>"):
            self.assertNotIn(tag, markdown + page)
        self.assertIn(",'=1+1 | <b>\n", csv)
        self.assertIn("\ns,cpu,kernel,kernel,3,1,50,,,40,,,", csv)
        self.assertNotIn("nan", csv)
        self.assertIn("Sinklab report", page)
        self.assertIn("1.0&nbsp;±&nbsp;2.5", page)

    def test_the_papers_value_is_of_the_same_kind_of_input(self):
        def found(fixed_token=-1, position=1, task="text"):
            study = Made(*(group_of(name, row, task=task, fixed_token=fixed_token, fixed_position=position)
                           for name, row in (("baseline", "base-60m"), ("bias_k", "bias-k"))))
            for seed in (1, 2, 3):
                study.run(0, seed, 40 + seed).run(1, seed, 1)
            return study.study()

        def line(study, group):
            return next(line for line in study_table.markdown_of(study).splitlines() if line.startswith("| " + group))
        natural, fixed, third, bigram = found(), found(1), found(1, 3), found(task="bigram-backcopy")
        self.assertIn("| 18.18 ", line(natural, "baseline"))
        self.assertIn("| 0.00 ", line(natural, "bias_k"))
        self.assertEqual(science.direction(natural, natural.groups[1]), "supported: less")
        self.assertIn(",base-60m,18.18,,3.73,", study_table.csv_of(natural))
        self.assertIn("| 74.11 ", line(fixed, "baseline"))
        self.assertNotIn("18.18", line(fixed, "baseline"))
        self.assertIn("| no matching row ", line(fixed, "bias_k"))
        self.assertIn("paper on natural text: Sink_1 0.00 %, Sink_* 73.34 %", line(fixed, "bias_k"))
        self.assertEqual(science.direction(fixed, fixed.groups[1]), "less")
        self.assertIn(",data-fix1,74.11,,n.r.,", study_table.csv_of(fixed))
        self.assertNotIn("73.34", study_table.csv_of(fixed))
        self.assertIn("same kind of input (ours: text with a fixed first token)", study_table.text_of(fixed))
        self.assertIn("| 0.00 ", line(third, "baseline"))  # at token 1; its note has Sink_3
        self.assertIn("Sink_3 69.64", line(third, "baseline"))
        self.assertIn("| no matching row ", line(bigram, "baseline"))
        for mark in ('class="paper"', 'class="papers-value"'):
            self.assertEqual([study_picture.svg_of(study).count(mark) for study in (natural, fixed, bigram)], [2, 1, 0])
        self.assertIn(">74.11<", study_picture.svg_of(fixed))
        # Orders are compared on the same input, or both inputs are named.
        for study, words in ((natural, "Sink_1 proxy: of 1 pair that the paper tells apart, 1 in its order"),
                             (fixed, "Sink_1 proxy (paper: natural text; ours: text with a fixed first token): of 1 pair that"),
                             (bigram, "Sink_1 proxy (paper: natural text; ours: Bigram-Backcopy): of 1 pair that")):
            self.assertTrue(science.verdicts(study)[0].startswith(words), science.verdicts(study)[0])

    def test_every_sink_and_alpha_is_labelled_raw_or_proxy(self):
        for measure in science.MEASURES:
            if "Sink" in measure.title or "alpha" in measure.title:
                self.assertEqual((" raw" in measure.title) + (" proxy" in measure.title), 1, measure.title)

    def test_no_committed_table_sets_a_fixed_token_next_to_natural_text(self):
        tables = natural = 0
        for path in RESULTS.rglob("*.md"):
            if path.name in ("README.md", "verdicts.md", "exploratory.md", "demand_before_supply.md", "not_idle.md"):
                continue
            tables += 1
            text, column = path.read_text(), None
            # It has no row with the decay of these recipes.
            has_row = path.stem not in ("key_bias_at_high_decay", "optimizer_or_rate", "conditions", "tuning") and not re.match("recipe_|decay_", path.stem)
            is_natural = "(ours: natural text" in text and path.stem != "demand"  # whose baseline has the token
            for line in text.splitlines():
                if not line.startswith("| "):
                    continue
                cells = [cell.strip() for cell in line.replace("\\|", "/").split("|")]
                if column is None:
                    column = cells.index("paper, same input: Sink_1 %")
                    continue
                if "(ours: text with a fixed first token)" in text:
                    self.assertIn(cells[column], ("74.11", "no matching row"), path)
                if "-fixed-position-" in cells[1]:
                    self.assertEqual(cells[column], "0.00", path)
                if cells[1] == "baseline":
                    self.assertEqual(cells[column], ("18.18" if is_natural else "74.11") if has_row else "no matching row", path)
                    natural += is_natural
            self.assertIsNotNone(column, path)
        self.assertEqual(tables, 44)
        self.assertGreater(natural, 0)


    def test_the_same_in_pandas(self):
        try:
            import pandas, scipy  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        code = re.search("```python\n(.*?)```", (ROOT / "train/studies/README.md").read_text(), re.DOTALL).group(1)
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = {cells[1]: cells[3:5] for line in (RESULTS / "atlas.md").read_text().splitlines() if (cells := [cell.strip() for cell in line.split("|")])[1:]}
        rows = [line.split() for line in done.stdout.splitlines()[2:]]
        self.assertEqual(rows[0][0], "baseline")
        for name, mean, difference, half in rows[1:]:
            self.assertEqual((table[name][0].split(" ")[0], table[name][1]), (mean, f"{difference} ± {half}"))


class Picture(unittest.TestCase):
    def test_marks_are_at_their_values(self):
        svg = study_picture.svg_of(results())
        for text, n in (('class="title"', 1 + 2),  # the question; Sink_1 and the loss minus the baseline's
                        ('class="paper"', 3),      # kernel failed in the paper
                        ('class="ours" cx', 3 + 2),  # the baseline has no difference from itself
                        ('class="ours one" cx', 2), ('class="value one"', 2)):  # kernel has one seed
            self.assertEqual(svg.count(text), n, text)
        # Sink_1: the scale goes from 0 to 50 + 6 %, over 200 pixels from 330 on; the baseline's mean is 11, its seeds 10, 12, 11. Rows are sorted by
        # their means: kernel 50, elu 11.3, baseline 11, sigmoid 1. Our value and the paper's are next to it.
        for text in ("grey: one seed", 'class="ours" cx="371.5" cy="134.0"', 'class="seed" cx="367.7', 'class="seed" cx="375.3', 'class="seed" cx="371.5',
                     'class="seed" cx="674.6',  # sigmoid's loss minus the baseline's, 0.11 of 0 to 0.6 + 6 %
                     "sorted by Sink_1", '>50.0</text><text class="papers-value" x="582.0" y="98.0">failed<',
                     '>11.0</text><text class="papers-value" x="582.0" y="138.0">18.18<'):
            self.assertIn(text, svg)
        self.assertGreater(svg.index(">sigmoid</text>"), svg.index(">baseline</text>"))
        self.assertGreater(svg.index(">baseline</text>"), svg.index(">kernel</text>"))

    def test_labels_are_words_and_one_setting_sorts(self):
        def svg(*groups):
            found = Made(*groups)
            for i, group in enumerate(groups):
                found.run(i, 1, 10 + float(group["settings"]["weight-decay"]))
            return study_picture.svg_of(found.study())
        decays = [group_of("baseline" if decay == "0.05" else "baseline-weight-decay-" + decay, ablation="baseline", fixed_token=1, weight_decay=decay)
                  for decay in ("0.05", "0.5", "0.0")]
        text = svg(*decays)
        places = [text.index(f">weight decay {words}</text>") for words in ("0", "0.05 (baseline)", "0.5")]
        self.assertIn("sorted by weight decay", text)
        self.assertEqual(places, sorted(places))
        text = svg(group_of("baseline"), group_of("op_sigmoid_none"), group_of("op_softmax1"))
        for label in ("sigmoid of the score", "softmax off by one: an extra score of zero without a value", "baseline"):
            self.assertIn(f">{label}</text>", text)
        # Where many settings differ, a label has those that differ from the baseline, and space for them.
        text = svg(group_of("baseline"), group_of("b", ablation="baseline", batch=33),
                   group_of("c", ablation="baseline", optimizer="orthoadam", learning_rate="0.0025", weight_decay="2.4"))
        for label in ("batch 33", "optimizer orthoadam, learning rate 0.0025, weight decay 2.4", "baseline"):
            self.assertIn(f">{label}</text>", text)


class Program(unittest.TestCase):
    def call(self, *words):
        return subprocess.run([sys.executable, "-B", SCIENCE / "tables.py", *map(str, words)], capture_output=True, text=True)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder, found = pathlib.Path(folder), made()
            names = dict.fromkeys(name for row in found.rows for name in row) | dict.fromkeys(("seed", "steps", "step", "finished", "ablation"), "1")
            lines = [",".join(str(row.get(name, "1")) for name in names) for row in found.rows]
            (folder / "s.json").write_text(json.dumps(found.said))
            (folder / "s-runs.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
            done = self.call(folder / "s.json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, study_table.text_of(made().study()))
            made_files = {path.name: path.read_bytes() for path in folder.iterdir()}
            self.assertEqual(sorted(made_files), ["s-runs.csv", "s.csv", "s.html", "s.json", "s.md", "s.svg"])
            self.call(folder / "s.json")
            self.assertEqual(made_files, {path.name: path.read_bytes() for path in folder.iterdir()})  # same input, same bytes
            for name in ("s.md", "s.csv", "s.svg", "s.html"):  # a file of somebody else stays
                (folder / name).write_text("my notes")
                done = self.call(folder / "s.json")
                self.assertEqual((done.returncode, (folder / name).read_text()), (2, "my notes"), done.stderr)
                self.assertEqual(self.call(folder / "s.json", "--force").returncode, 0)
            (folder / "s.json").write_text(json.dumps(found.said).replace('"row": 9', '"row": 99'))
            for text in (None, "{}", "{", "[1]", json.dumps(found.said | {"jobs": 3}), json.dumps(found.said | {"groups": []})):
                if text is not None:
                    (folder / "s.json").write_text(text)
                done = self.call(folder / "s.json")
                self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), (text, done.stderr))
        self.assertEqual([self.call(path).returncode for path in ("nowhere.json", "/dev/zero")], [3, 3])


if __name__ == "__main__":
    unittest.main()
