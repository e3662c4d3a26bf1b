import numpy as np

from voxaudit.stats.regression import Dependence, dependent_columns, separation

GENERATOR = np.random.default_rng(11)


def test_constant_and_determined_columns_are_found() -> None:
    year = GENERATOR.integers(1940, 2005, 50).astype(float)
    case = (np.arange(50) % 2).astype(float)
    design = np.column_stack([np.ones(50), year, np.full(50, 7.0), case, 2 * year - case, 1 - case])
    assert dependent_columns(design) == (Dependence(2, ()), Dependence(4, (1, 3)), Dependence(5, (3,)))


def test_nearly_collinear_columns_stay() -> None:
    age = GENERATOR.integers(20, 80, 60).astype(float)
    design = np.column_stack([np.ones(60), age, age - 6 + GENERATOR.normal(0, 0.01, 60)])
    assert dependent_columns(design) == ()


def test_more_columns_than_rows() -> None:
    design = np.column_stack([np.ones(3), np.eye(3)])
    assert [one.column for one in dependent_columns(design)] == [3]


def test_a_level_without_errors_is_separated() -> None:
    level = np.repeat([0, 1, 2], 20)
    design = np.column_stack([np.ones(60), level == 1, level == 2, GENERATOR.normal(0, 1, 60)]).astype(float)
    errors = np.where(level == 2, 0.0, GENERATOR.integers(0, 3, 60))
    found = separation(design, errors)
    assert found.direction.tolist() == [0.0, 0.0, -1.0, 0.0]
    assert (found.cells == (level == 2)).all()


def test_a_reference_without_errors_sends_everything_else_up() -> None:
    level = np.repeat([0, 1, 2], 20)
    design = np.column_stack([np.ones(60), level == 1, level == 2]).astype(float)
    found = separation(design, (level > 0).astype(float))
    assert found.direction.tolist() == [-1.0, 1.0, 1.0]


def test_a_number_can_separate_too() -> None:
    x = np.append(np.zeros(20), GENERATOR.uniform(1, 5, 10))
    found = separation(np.column_stack([np.ones(30), x]), np.append(np.ones(20), np.zeros(10)))
    assert found.direction.tolist() == [0.0, -1.0]
    assert found.cells.tolist() == [False] * 20 + [True] * 10


def test_zeros_on_both_sides_do_not_separate() -> None:
    # The rows with errors leave a direction free, but cells without errors lie on both sides of it.
    x = np.append(np.zeros(20), [-1.0, 1.0])
    assert not separation(np.column_stack([np.ones(22), x]), np.append(np.ones(20), [0, 0])).cells.any()
