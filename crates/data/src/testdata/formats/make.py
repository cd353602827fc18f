"""Makes the files beside this script: encodings, compressions and formats that people have, each with what it is about.

Needs: pyarrow, zstandard. The tests read what is committed; run it again only to add a file.
"""

import bz2
import gzip
import io
import json
import lzma
import pathlib
import sqlite3
import zipfile

HERE = pathlib.Path(__file__).resolve().parent

SALES = "id,city,price\n" + "".join(f"{row},{city},{row * 1.25:.2f}\n" for row, city in enumerate(["Köln", "Bonn", "Ulm"] * 4, 1))

JAPANESE = ["商品,説明,価格"] + [
    f"{name},{text},{price}"
    for name, text, price in [
        ("りんご", "青森県で採れた甘い果物です", 120),
        ("みかん", "冬に食べる人気の果物です", 80),
        ("お茶", "静岡の緑茶、百グラム入り", 540),
        ("カメラ", "デジタルカメラの新しい型", 39800),
        ("自転車", "通勤に使える軽い自転車", 25600),
    ]
]
CHINESE = ["编号,城市,说明"] + [
    f"{row},{city},{text}"
    for row, (city, text) in enumerate(
        [
            ("北京", "中华人民共和国的首都，历史悠久"),
            ("上海", "经济和贸易的中心城市"),
            ("广州", "南方最大的城市之一"),
            ("成都", "以美食和大熊猫闻名"),
            ("西安", "古代的都城，有很多名胜"),
        ],
        1,
    )
]
RUSSIAN = ["номер;город;описание"] + [
    f"{row};{city};{text}"
    for row, (city, text) in enumerate(
        [
            ("Москва", "столица и крупнейший город страны"),
            ("Казань", "город на левом берегу Волги"),
            ("Новосибирск", "научный и промышленный центр"),
            ("Екатеринбург", "расположен на границе Европы и Азии"),
        ],
        1,
    )
]
POLISH = ["numer;miasto;opis"] + [
    f"{row};{city};{text}"
    for row, (city, text) in enumerate(
        [
            ("Łódź", "duże miasto w środkowej części kraju, znane z włókiennictwa"),
            ("Kraków", "dawna stolica, siedziba królów i świątyń"),
            ("Gdańsk", "port nad Bałtykiem, który słynie z żeglugi"),
            ("Wrocław", "leży nad Odrą i ma ponad sto mostów, także źródła"),
        ],
        1,
    )
]
GERMAN = ["nr;stadt;text"] + [
    f"{row};{city};{text}"
    for row, (city, text) in enumerate(
        [("Köln", "am Rhein, größte Stadt des Landes"), ("München", "südlich, für Bräuche berühmt"), ("Lübeck", "schöne Häuser, früher mächtig")],
        1,
    )
]


def write(name: str, content: bytes) -> None:
    (HERE / name).write_bytes(content)


def lines(rows: list[str]) -> str:
    return "\n".join(rows) + "\n"


def encodings() -> None:
    write("japanese.csv", lines(JAPANESE).encode("cp932"))
    write("chinese.csv", lines(CHINESE).encode("gb18030"))
    write("russian.csv", lines(RUSSIAN).encode("cp1251"))
    write("polish.csv", lines(POLISH).encode("iso8859-2"))
    write("german.csv", lines(GERMAN).encode("latin-1"))
    write("japanese-utf8.csv", lines(JAPANESE).encode())
    # The third line was written by another program than the rest.
    mixed = [row.encode("utf-8" if number == 2 else "latin-1") for number, row in enumerate(GERMAN)]
    write("mixed.csv", b"\n".join(mixed) + b"\n")


def archive(files: dict[str, str], compression: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as target:
        for name, text in files.items():
            target.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text, compression)
    return packed.getvalue()


def compressions() -> None:
    text = SALES.encode()
    write("sales.csv.gz", gzip.compress(text, mtime=0))
    write("sales.csv.bz2", bz2.compress(text))
    write("two-streams.csv.bz2", bz2.compress(text) + bz2.compress(b"13,Trier,1\n"))
    write("sales.csv.xz", lzma.compress(text))
    write("sales.csv.zip", archive({"sales.csv": SALES}, zipfile.ZIP_DEFLATED))
    write("stored.zip", archive({"sales.csv": SALES}, zipfile.ZIP_STORED))
    write("several.zip", archive({"sales.csv": SALES, "read me.txt": "two files\n"}, zipfile.ZIP_DEFLATED))
    write("bzip2-inside.zip", archive({"sales.csv": SALES}, zipfile.ZIP_BZIP2))


def zstd() -> None:
    import zstandard

    packer = zstandard.ZstdCompressor(level=3)
    write("sales.csv.zst", packer.compress(SALES.encode()))
    write("two-frames.csv.zst", packer.compress(SALES.encode()) + packer.compress(b"13,Trier,1\n"))


def texts() -> None:
    write("open-quote.csv", b'id,note,price\n1,good,2.5\n2,"12 inch,3.5\n3,fine,4.5\n4,"big,5.5\n5,old,6.5\n')
    write("notes.csv", b'id,note,price\n1,"first line\nsecond, with a comma",2.5\n2,"say ""hi""\nand leave",3.5\n')
    write("concatenated.json", b'{"id":1,"city":"Bonn"}{"id":2,"city":"Ulm"}{"id":3,"city":null}')
    write("pretty.json", "\n".join(json.dumps({"id": row, "tags": ["a", "b"]}, indent=2) for row in range(1, 4)).encode() + b"\n")
    write("one.json", json.dumps([{"id": 1}, {"id": 2}], indent=2).encode() + b"\n")
    write("settings.toml", b'title = "shop"\n\n[server]\nhost = "localhost"\nports = [8000, 8001]\nsince = 2026-01-31\n')
    write("settings.ini", b"[server]\nhost = localhost\nports = 8000,8001\n[client]\nname = x\n")
    rows = "".join(f'  <order id="{row}"><city>Bonn</city><price>{row}.5</price></order>\n' for row in range(1, 4))
    write("orders.xml", f'<?xml version="1.0" encoding="UTF-8"?>\n<orders>\n{rows}</orders>\n'.encode())
    cells = "".join(f"<tr><td>{row}</td><td>Bonn</td></tr>\n" for row in range(1, 4))
    write("page.html", f"<!DOCTYPE html>\n<html><body><p>Orders</p>\n<table>\n<tr><th>id</th><th>city</th></tr>\n{cells}</table></body></html>\n".encode())
    report = [("id", "city", "price"), (1, "Bonn", "2.50"), (12, "Bad Homburg", "12.00"), (345, "Ulm", "1.25"), (7, "Trier", "3.75")]
    write("report.txt", "".join(f"{n!s:<6}{city:<16}{price:>8}\n" for n, city, price in report).encode())


def avro() -> None:
    """One record, the number 1."""
    entries = b"\x04\x14avro.codec\x08null\x16avro.schema\x0c\"long\"\x00"
    mark = bytes(range(16))
    write("numbers.avro", b"Obj\x01" + entries + mark + b"\x02\x02\x02" + mark)


def sqlite() -> None:
    path = HERE / "shop.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT)")
        shop.executemany("INSERT INTO orders (city) VALUES (?)", [("Bonn",), ("Ulm",)])
    shop.close()


def arrow() -> None:
    import datetime as dt
    import decimal

    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.orc

    rows = pa.table({"id": [1, 2, 3], "city": ["Bonn", None, "Ulm"], "price": [2.5, 3.5, float("nan")]})
    pa.feather.write_feather(rows, HERE / "sales.feather", compression="lz4")
    zone = pa.timestamp("us", "Europe/Berlin")
    types = {
        "i8": pa.array([-128, None], pa.int8()),
        "u64": pa.array([2**63 - 1, 0], pa.uint64()),
        "f16": pa.array([1.5, None], pa.float16()),
        "price": pa.array([decimal.Decimal("12.50"), None], pa.decimal128(10, 2)),
        "day": pa.array([dt.date(2026, 1, 31), None], pa.date32()),
        "clock": pa.array([dt.time(12, 30), None], pa.time32("s")),
        "local": pa.array([dt.datetime(2026, 1, 1, 12), None], pa.timestamp("s")),
        "zoned": pa.array([dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc), None], zone),
        "took": pa.array([dt.timedelta(seconds=90), None], pa.duration("s")),
        "kind": pa.array(["a", "b"]).dictionary_encode(),
        "raw": pa.array([b"\x00\xff", None], pa.binary()),
        "long": pa.array(["a", None], pa.large_string()),
        "view": pa.array(["b", None], pa.string_view()),
        "tags": pa.array([["x", None], []], pa.list_(pa.string())),
        "user": pa.array([{"city": "Köln", "zip": 50667}, None]),
        "nothing": pa.nulls(2),
    }
    table = pa.table(types)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(HERE / "types.arrow", table.schema, options=options) as target:
        target.write_table(table)
    with pa.ipc.new_stream(HERE / "stream.arrows", rows.schema) as target:
        target.write_table(rows)
    pa.orc.write_table(rows, HERE / "sales.orc")


if __name__ == "__main__":
    encodings()
    compressions()
    texts()
    avro()
    sqlite()
    zstd()
    arrow()
