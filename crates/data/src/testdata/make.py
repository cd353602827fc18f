"""Makes the small Parquet files and workbooks beside this script with pandas, pyarrow, DuckDB, Polars and openpyxl.

Needs: pandas pyarrow duckdb polars openpyxl. The tests read what is committed; run it again only to add a file.
"""

import datetime as dt
import decimal
import pathlib
import uuid

import duckdb
import openpyxl
import openpyxl.chart
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
UTC = dt.timezone.utc


def pandas_file() -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2, None, 4],
            "price": [2.5, None, 0.1, float("nan")],
            "city": ["Köln", "", None, "NA"],
            "paid": [True, False, None, True],
            "kind": pd.Categorical(["a", "b", "a", None]),
            "at": pd.to_datetime(["2026-01-01", "2026-01-02 12:30", None, "2026-01-04"], format="ISO8601"),
        },
        index=pd.Index([10, 20, 30, 40], name="id"),
    )
    frame.to_parquet(HERE / "pandas.parquet")


def pyarrow_file() -> None:
    """Every type that pyarrow writes and the reader tells apart."""
    columns = {
        "i8": pa.array([-128, None], pa.int8()),
        "u64": pa.array([2**64 - 1, 0], pa.uint64()),
        "f16": pa.array([1.5, None], pa.float16()),
        "f32": pa.array([0.1, None], pa.float32()),
        "price": pa.array([decimal.Decimal("12345678901234567890.12"), None], pa.decimal128(38, 2)),
        "day": pa.array([dt.date(2026, 1, 31), dt.date(1, 1, 1)], pa.date32()),
        "clock": pa.array([dt.time(12, 30, 0, 500000), None], pa.time64("us")),
        "local": pa.array([dt.datetime(2026, 1, 1, 12), None], pa.timestamp("ms")),
        "zoned": pa.array([dt.datetime(2026, 1, 1, 12, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "nanos": pa.array([1_767_225_600_000_000_001, None], pa.timestamp("ns")),
        "raw": pa.array([b"\x00\xff", b"text"], pa.binary()),
        "id": pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes], pa.uuid()),
        "nothing": pa.nulls(2),
        "tags": pa.array([["a", None], []], pa.list_(pa.string())),
        "user": pa.array([{"city": "Köln", "zip": None}, None]),
        "items": pa.array([[{"price": 1.5}, {"price": 2.0}], None]),
        "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
    }
    pq.write_table(pa.table(columns), HERE / "pyarrow.parquet", compression="zstd")


def duckdb_file() -> None:
    target = HERE / "duckdb.parquet"
    query = """
        SELECT range AS id, 'city ' || (range % 3) AS city, range * 1.5::DECIMAL(9, 2) AS price,
               DATE '2026-01-01' + range::INT AS day, {'a': range % 2, 'b': [range, NULL]} AS nested
        FROM range(100)
    """
    duckdb.sql(f"COPY ({query}) TO '{target}' (FORMAT parquet, COMPRESSION lz4_raw)")


def polars_file() -> None:
    frame = pl.DataFrame(
        {"id": range(100), "name": [f"n{row % 7}" for row in range(100)], "x": [row / 4 if row % 9 else None for row in range(100)]}
    )
    frame.write_parquet(HERE / "polars.parquet", compression="gzip", row_group_size=30)


def brotli_file() -> None:
    table = pa.table({"n": [1, 2, 3], "city": ["a", None, "b"]})
    pq.write_table(table, HERE / "brotli.parquet", compression="brotli")


def int96_file() -> None:
    table = pa.table({"at": pa.array([dt.datetime(2026, 1, 1, 12, 30), None], pa.timestamp("us"))})
    pq.write_table(table, HERE / "int96.parquet", use_deprecated_int96_timestamps=True)


def openpyxl_file() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    sheet.append(["code", "n", "on", "day", "at", "clock", "formula", 2026, "code"])
    for row in range(3):
        moment = dt.datetime(2026, 1, row + 1, 12, 30)
        sheet.append([f"0{row}", row + 0.5, row == 0, moment.date(), moment, moment.time(), f"=B{row + 2}*2", row, "NA"])
    sheet.append([])
    sheet.append(["09", None])
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(sheet, min_col=2, min_row=1, max_row=4), titles_from_data=True)
    book.create_chartsheet("Chart").add_chart(chart)
    book.save(HERE / "openpyxl.xlsx")


if __name__ == "__main__":
    pandas_file()
    pyarrow_file()
    duckdb_file()
    polars_file()
    brotli_file()
    int96_file()
    openpyxl_file()
