"""C4.5, against the figures of Weka's J48 and an installed Weka."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from shoal.utility.c45 import added_errors, predict_classes, train_tree

WEKA = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))
CONFIDENCES = (0.25, 0.1, None)
J48 = {
    0: ((5, 151), (5, 151), (31, 146)),
    1: ((3, 149), (3, 149), (48, 140)),
    2: ((4, 146), (1, 141), (28, 141)),
    3: ((5, 144), (1, 124), (21, 141)),
    4: ((4, 158), (4, 158), (61, 148)),
    5: ((4, 151), (4, 151), (55, 142)),
    6: ((5, 154), (5, 154), (15, 150)),
    7: ((5, 131), (5, 131), (72, 118)),
}
"""Leaves, and correct answers of 200, of Weka 3.6.14 by seed: -C 0.25, -C 0.1 and -U."""


def generated(seed, rows=400):
    """Return codes with unknown values, classes, and the sizes of columns."""
    random = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in random.integers(2, 6, 5))
    codes = np.stack([random.integers(0, size, rows) for size in sizes], 1).astype(np.int32)
    score = (codes[:, 0] == 0) * 2 + (codes[:, 1] == codes[:, 2]) * 1.5 + (codes[:, 3] > 1) * 1.0 - 2
    labels = (random.random(rows) < 1 / (1 + np.exp(-2 * score))).astype(np.int64)
    labels += (random.random(rows) < 0.1) * (seed % 2)
    return np.where(random.random(codes.shape) < 0.15, -1, codes).astype(np.int32), labels, sizes


def leaves_and_correct(codes, labels, sizes, confidence):
    tree = train_tree(codes[:200], labels[:200], sizes, 3, confidence)
    return tree.leaves(), int((predict_classes(tree, codes[200:]) == labels[200:]).sum())


@pytest.mark.parametrize("seed", J48)
def test_trees_are_those_of_j48(seed):
    for confidence, expected in zip(CONFIDENCES, J48[seed], strict=True):
        assert leaves_and_correct(*generated(seed), confidence) == expected


@pytest.mark.skipif(not WEKA.is_file() or shutil.which("java") is None, reason="Weka is not installed (apt: weka)")
@pytest.mark.parametrize("seed", [11, 12])
def test_trees_are_those_of_the_installed_weka(tmp_path, seed):
    codes, labels, sizes = generated(seed)
    for name, rows in (("train", slice(0, 200)), ("test", slice(200, 400))):
        lines = ["@relation r"]
        lines += [
            f"@attribute a{j} {{{','.join(f'v{value}' for value in range(size))}}}" for j, size in enumerate(sizes)
        ]
        lines += ["@attribute c {c0,c1,c2}", "@data"]
        for row, label in zip(codes[rows], labels[rows], strict=True):
            lines.append(",".join("?" if value < 0 else f"v{value}" for value in row) + f",c{label}")
        (tmp_path / f"{name}.arff").write_text("\n".join(lines) + "\n")
    options = ["-t", str(tmp_path / "train.arff"), "-T", str(tmp_path / "test.arff")]
    command = ["java", "-cp", str(WEKA), "weka.classifiers.trees.J48", *options]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    leaves = int(next(line for line in output if "Number of Leaves" in line).split()[-1])
    correct = int([line for line in output if "Correctly" in line][-1].split()[3])
    assert leaves_and_correct(codes, labels, sizes, 0.25) == (leaves, correct)


def test_pessimistic_errors_of_quinlans_book():
    """Estimate 0.206, 0.143 and 0.750 for 6, 9 and 1 faultless records."""
    for records, rate in ((6, 0.206), (9, 0.143), (1, 0.750)):
        assert added_errors(records, 0, 0.25) / records == pytest.approx(rate, abs=5e-4)
    assert added_errors(4, 4, 0.25) == 0
    assert added_errors(10, 1, 0.1) > added_errors(10, 1, 0.25) > 0


def test_gain_ratio_of_the_golf_table():
    """Choose outlook first, as in Quinlan's example of fourteen days."""
    outlook = [0, 0, 1, 2, 2, 2, 1, 0, 0, 2, 0, 1, 1, 2]
    windy = [0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1]
    humid = [1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    play = [0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0]
    codes = np.stack([outlook, windy, humid], 1).astype(np.int32)
    tree = train_tree(codes, np.asarray(play), (3, 2, 2), 2)
    assert tree.column == 0
    assert (tree.leaves(), [child.column for child in tree.children]) == (5, [2, -1, 1])
    assert predict_classes(tree, codes).tolist() == play


def test_unknown_values_go_down_every_branch():
    codes = np.asarray([[0]] * 6 + [[1]] * 3 + [[-1]], np.int32)
    labels = np.asarray([0] * 6 + [1] * 3 + [1])
    tree = train_tree(codes, labels, (2,), 2, None)
    assert tree.shares.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert [child.classes.sum() for child in tree.children] == pytest.approx([6 + 2 / 3, 3 + 1 / 3])
    assert predict_classes(tree, np.asarray([[-1]], np.int32)).tolist() == [0]
