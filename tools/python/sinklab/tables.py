"""Tables of pandas, which is imported at the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas


def imported_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("a table needs pandas: pip install pandas") from None
    return pandas


def table_of(axes: tuple[str, ...], columns: dict[str, np.ndarray]) -> pandas.DataFrame:
    """One row per element of the arrays, which have one shape: first its indices, by the names of the axes."""
    shape = next(iter(columns.values())).shape
    indices = {name: index.ravel() for name, index in zip(axes, np.indices(shape), strict=True)}
    return imported_pandas().DataFrame({**indices, **{name: array.ravel() for name, array in columns.items()}})
