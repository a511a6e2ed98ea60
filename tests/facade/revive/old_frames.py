"""Calls of pandas; run under pandas 0.25.3 it prints old_frames.txt."""

import io

import numpy as np
import pandas as pd

frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [4.0, 5.0, 6.0]})
days = pd.Series([3, 1, 2], index=pd.date_range("2020-01-01", periods=3, freq="H"))
text = pd.DataFrame({"t": ["y", "x"]})

# Arguments by place.
print(list(frame.drop("a", 1).columns), frame.drop(0).shape, frame.dropna(0, "any").shape)
print(frame.sort_values("b", 0, False).b.tolist(), frame.a.sort_values(0, False).tolist())
print(frame.sort_index(0).shape, frame.set_index("a", False).shape, frame.any(1).tolist())
print(frame.pivot("a", "b", "a").shape, pd.concat([frame, frame], 1).shape)
print(pd.read_csv(io.StringIO("a b\n1 2\n"), " ").values.tolist(), frame.to_csv(None, ";")[:5])

# Arguments and names that there were.
print(frame.fillna(method="ffill").a.tolist(), frame.a.fillna(method="bfill").tolist())
print(frame.fillna(0).a.tolist(), frame.fillna({"a": 5.0}).a.tolist())
print(pd.read_csv(io.StringIO("a  b\n1   2\n"), delim_whitespace=True).values.tolist())
print(pd.read_csv(io.StringIO("a,b\n1,2\n3,4\n"), usecols=["a"], squeeze=True).tolist())
table = io.StringIO("a,b\n1,2\n1,2,3\n")
print(pd.read_csv(table, error_bad_lines=False, warn_bad_lines=False).shape)
print(days.resample("M").sum().tolist(), days.resample("2H").sum().tolist())
print(pd.date_range("2020-01-31", periods=2, freq="3M")[1], len(list(frame.iteritems())))
print(frame.applymap(lambda x: x * 2).b.tolist(), pd.np is np, pd.datetime(2020, 1, 2).day)
try:
    pd.date_range("2020-01-31", periods=2, freq="nonsense")
except ValueError:
    print("ValueError")

# Values and text.
frame.values[0, 1] = 9.0
frame.b.values[1] = 8.0
print(frame.b.tolist(), text.t.dtype, text.values.dtype, np.asarray(frame).flags.writeable)

# Assignments to a column of a frame.
frame["a"][0] = 7.0
frame.b[frame.b > 7] = 0.0
print(frame.values[:, 1].tolist(), frame.a[0])
frame["a"].fillna(-1.0, inplace=True)
frame["b"].replace(0.0, 2.0, inplace=True)
print(frame.values.tolist())
kept = {"a": {0: 1}}
kept["a"][0] = 5
print(kept)
